"""A screen with a topic and a document on it: how it is laid out and read. What all who judge have in common."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Input, Static

from assessor_ui import keymap, messages
from assessor_ui.keymap import Command, Groups
from assessor_ui.messages import Notice, typed
from assessor_ui.page import markdown_content, wrap
from assessor_ui.reader import Reader, Reading
from assessor_ui.widgets.bars import HintLine, NoticeBar, ScaleBar, StatusLine
from assessor_ui.widgets.document_view import DocumentView, Layers, TopicPanel, topic_content
from cranfield.base.records import GradeScale, Topic
from cranfield.base.text import visible, visible_line

if TYPE_CHECKING:
    from assessor_ui.app import ReaderApp


# What all screens have in common: they ask the desk without freezing, and show notices.

Asked = TypeVar("Asked")


class ChairScreen(Screen[ScreenResultType]):
    """A screen of the chair."""

    ALLOW_SELECT = False

    @property
    def chair(self) -> ReaderApp:
        """The program this screen is part of."""
        from assessor_ui.app import ReaderApp

        assert isinstance(self.app, ReaderApp)
        return self.app

    def show_notice(self, notice: Notice) -> None:
        """Show a notice where this screen has a place for it."""
        for bar in self.query(NoticeBar):
            bar.show(notice)

    def do(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that asks the desk, after what was asked before."""
        self.run_worker(work(), group="desk")


def indented(text: Content, width: int, *, indent: int, first: Content | None = None) -> Content:
    """Give a text wrapped at `width` with every line indented; `first` stands before its first line instead."""
    blank = Content(" " * indent)
    lines = [text[line.start : line.end] for line in wrap(text.plain, max(width - indent, 10))]
    heads = [first if first is not None else blank, *([blank] * (len(lines) - 1))]
    return Content("\n").join(head + line for head, line in zip(heads, lines, strict=True))


# Screens that are only read: the guidelines with scale and topic, and all keys.


class Sheet(ModalScreen[None]):
    """A sheet of paper that scrolls and is put away with Esc, q or the key that brought it."""

    BINDINGS = [  # noqa: RUF012
        ("escape,q,g,question_mark,enter", "dismiss", "close"),
        ("down,j", "scroll(1)", ""),
        ("up,k", "scroll(-1)", ""),
        ("space,pagedown", "page(1)", ""),
        ("pageup", "page(-1)", ""),
        ("home", "edge(0)", ""),
        ("end", "edge(1)", ""),
    ]

    def compose(self) -> ComposeResult:
        """Make the sheet."""
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title = self.heading
            sheet.border_subtitle = "↓↑ Space scroll · Esc closes"
            yield from self.matter()

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        raise TypeError("a sheet has a heading")

    def matter(self) -> ComposeResult:
        """Give what is on the sheet."""
        raise TypeError("a sheet has something on it")

    @property
    def width(self) -> int:
        """The cells a line of the sheet has."""
        return min(self.app.size.width * 9 // 10, 92) - 7

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one("#sheet").scroll_relative(y=lines, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by pages."""
        sheet = self.query_one("#sheet")
        sheet.scroll_relative(y=pages * max(sheet.size.height - 2, 1), animate=False)

    def action_edge(self, end: int) -> None:
        """Go to the top or to the end."""
        sheet = self.query_one("#sheet")
        sheet.scroll_to(y=sheet.max_scroll_y if end else 0, animate=False)


class GuidelinesSheet(Sheet):
    """The topic in full, the scale in full, and the guidelines."""

    def __init__(self, topic: Topic | None, scale: GradeScale, guidelines: str) -> None:
        super().__init__()
        self._topic, self._scale, self._guidelines = topic, scale, guidelines

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        return "Topic, scale and guidelines"

    def matter(self) -> ComposeResult:
        """Give topic, scale and guidelines, the rarest need last."""
        if self._topic is not None:
            yield Static(topic_content(self._topic), classes="part")
        yield Static(scale_content(self._scale, self.width), classes="part")
        text = visible(self._guidelines.strip()) or messages.NO_GUIDELINES
        yield Static(markdown_content(text, self.width), classes="part")


def scale_content(scale: GradeScale, width: int) -> Content:
    """Give the scale with what each grade means, and from where on a document counts as relevant."""
    lines = []
    for step in scale.grades:
        counts = " · counts as relevant" if step.grade >= scale.relevant_from else ""
        key = (f" {step.grade} ", "bold $key on $rule")
        lines.append(Content.assemble(key, (f" {visible_line(step.label)}", "bold"), (counts, "$quiet")))
        if step.text.strip():
            lines.append(indented(Content(visible_line(step.text.strip())), width, indent=4))
    return Content("\n").join(lines)


class KeysSheet(Sheet):
    """All keys."""

    def __init__(self, groups: keymap.Groups) -> None:
        super().__init__()
        self._groups = groups

    @property
    def heading(self) -> str:
        """What stands in the frame."""
        return "All keys"

    def matter(self) -> ComposeResult:
        """Give the keys in their groups."""
        yield Static(Content("\n").join(key_lines(self._groups, self.width)), classes="part")


def key_lines(groups: keymap.Groups, width: int) -> Iterator[Content]:
    """Give a line for each key, under the headings of the groups."""
    yield Content.styled("Judging", "bold")
    yield _key_line("0 1 2 …", "judge with this grade, save, and go on (grades of two digits: then Enter)", width)
    marking = [("While marking evidence", keymap.MARKING)] if groups == keymap.GROUPS else []
    for heading, group in [*groups, *marking]:
        yield Content("")
        yield Content.styled(heading, "bold")
        for command in group:
            yield _key_line(command.shown, command.help, width)


def _key_line(keys: str, text: str, width: int) -> Content:
    return indented(Content(text), width, indent=14, first=Content.styled(f"  {keys:<12}", "bold $key"))


# One line to be typed at the foot of the screen. The document stays in sight, and no judging key fires.


class Prompt(ModalScreen[str | None]):
    """A question with one line for the answer; Esc gives None."""

    BINDINGS = [("escape", "dismiss(None)", "leave")]  # noqa: RUF012

    def __init__(self, question: str, value: str = "", *, hint: str = "") -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint

    def compose(self) -> ComposeResult:
        """Make the line."""
        with Horizontal(id="prompt"):
            yield Static(self._question, markup=False, id="question")
            yield Input(self._value, placeholder=self._hint, select_on_focus=False, id="answer")
        yield Static("Enter takes it · Esc leaves", id="prompt-hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give what was typed."""
        self.dismiss(event.value)


LOW = 22
"""A terminal with fewer lines begins with the narrative folded away."""

HELD = 0.15
"""Seconds between two events of one key below which it is held down: systems repeat a key every 30 to 90 ms."""

SEEN = 0.2
"""Seconds a document must have been on the screen before a key answers: nobody has seen it sooner."""


class ReadingScreen(ChairScreen[None]):
    """A topic, a document, the scale, and what was just saved."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012

    def __init__(self, session: Reader, groups: Groups) -> None:
        super().__init__()
        self.session: Reader = session
        self._groups = groups
        self._keys = table_of_keys(command for _, group in groups for command in group)
        self._shown: Reading | None = None
        self._last_key, self._painted = ("", 0.0), 0.0

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield StatusLine()
        with Container(id="desk"):
            yield TopicPanel()
            yield from self.compose_document()
        yield ScaleBar(self.session.scale)
        yield NoticeBar()
        yield HintLine(self._groups)

    def compose_document(self) -> ComposeResult:
        """Make the part with the document."""
        yield DocumentView()

    def on_mount(self) -> None:
        """Open the first document."""
        if self.app.size.height < LOW:
            self.session.fold = "short"
        self.chair.perform(self.session.start)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice beside the latest answer."""
        self.query_one(NoticeBar).show(notice, self.session.last)

    def refresh_all(self) -> None:
        """Show the state of the session; what has not changed is left alone."""
        topic = self.session.open.topic if self.session.open else None
        self.query_one(TopicPanel).show(topic, self.session.fold)
        is_open = self.session.reading is not None
        self.query_one(ScaleBar).display = is_open
        self.query_one(ScaleBar).show(self.before, self.session.keys.digits)
        self.query_one(HintLine).show(is_open=is_open)
        self.show_notice(self.session.notice)
        self._show_document()

    @property
    def before(self) -> int | None:
        """The grade that the open document had before."""
        return None

    @property
    def extra_layers(self) -> Layers:
        """What is to be seen in the document besides hits and marks."""
        return []

    @property
    def nothing(self) -> tuple[str, str]:
        """What to say where all is done."""
        return messages.ALL_DONE, messages.ALL_DONE_MORE

    def _show_document(self) -> None:
        view, reading = self.query_one(DocumentView), self.session.reading
        if reading is None:
            self._shown = None
            stuck = (messages.STUCK, messages.STUCK_MORE)
            view.show_sentence("\n\n".join(stuck if self.session.stuck else self.nothing))
        elif reading is not self._shown:
            self._shown = reading
            view.show(reading, extra=self.extra_layers)
            self._note_painted()
            self.call_after_refresh(self._note_painted)
        else:
            view.look()

    def _note_painted(self) -> None:
        self._painted = time.monotonic()

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Find out what a key means here and now."""
        self.session.touch()
        if self.handle_first(event):
            event.stop()
        elif event.character is not None and event.character in "0123456789":
            event.stop()
            self._digit(event.character)
        elif event.key == "enter":
            event.stop()
            self.chair.answer(self.session.enter)
        elif (action := self._keys.get(event.key)) is not None:
            event.stop()
            self.call_next(self.run_action, action)

    def handle_first(self, event: events.Key) -> bool:
        """Take a key before it has its usual meaning; say whether it was taken."""
        return False

    def _digit(self, digit: str) -> None:
        if not self.session.keys.digits and self._is_hasty(digit):
            return
        if typed(self.session.scale, self.session.keys.digits + digit).state == "grade":
            self.chair.answer(lambda: self.session.digit(digit))
        else:
            self.session.digit(digit)
            self.refresh_all()

    def _is_hasty(self, key: str, *, unseen: bool = True) -> bool:
        """Say whether a key is ignored: a repeat of one held down, or one for a document that was not yet `seen`."""
        now = time.monotonic()
        before, self._last_key = self._last_key, (key, now)
        if before[0] == key and now - before[1] < self.chair.held:
            self.show_notice(messages.HELD_KEY)
            return True
        if unseen and self.session.reading is not None and now - self._painted < self.chair.seen:
            self.show_notice(messages.TOO_QUICK)
            return True
        return False

    def on_scale_bar_chosen(self, message: ScaleBar.Chosen) -> None:
        """Judge with the grade that was clicked."""
        self.session.touch()
        if not self._is_hasty("click"):
            self.chair.answer(lambda: self.session.judge(message.grade))

    def ask(self, question: str, then: Callable[[str], Notice], *, value: str = "", hint: str = "") -> None:
        """Ask for one line, then do something with it."""
        if self.session.open is None:
            self.show_notice(messages.NOTHING_HERE)
            return

        def answered(text: str | None) -> None:
            self.session.touch()
            if text is not None:
                self.chair.perform(lambda: then(text))

        self.app.push_screen(Prompt(question, value, hint=hint), answered)

    # Answers that all can give

    def action_undo(self) -> None:
        """Take the last answer back; a key held down takes back one."""
        if not self._is_hasty("u", unseen=False):
            self.chair.answer(self.session.undo)

    def action_later(self) -> None:
        """Put the document off."""
        if not self._is_hasty("l"):
            self.chair.answer(self.session.later)

    def action_note(self) -> None:
        """Ask for a note."""
        self.ask("Note", self.session.set_note, value=self.session.note)

    # Reading

    def action_line_down(self) -> None:
        """Scroll a line down."""
        self._scroll(1)

    def action_line_up(self) -> None:
        """Scroll a line up."""
        self._scroll(-1)

    def action_page_down(self) -> None:
        """Scroll a page down, with one line of overlap."""
        self._scroll(max(self.query_one(DocumentView).scrollable_content_region.height - 1, 1))

    def action_page_up(self) -> None:
        """Scroll a page up."""
        self._scroll(-max(self.query_one(DocumentView).scrollable_content_region.height - 1, 1))

    def action_top(self) -> None:
        """Go to the top of the document."""
        self._scroll(-self.query_one(DocumentView).virtual_size.height)

    def action_bottom(self) -> None:
        """Go to its end."""
        self._scroll(self.query_one(DocumentView).virtual_size.height)

    def _scroll(self, lines: int) -> None:
        view = self.query_one(DocumentView)
        view.scroll_to(y=view.scroll_offset.y + lines, animate=False, immediate=True)

    def action_next_hit(self) -> None:
        """Go to the next hit."""
        self.chair.perform(lambda: self.session.jump(1))

    def action_previous_hit(self) -> None:
        """Go to the hit before."""
        self.chair.perform(lambda: self.session.jump(-1))

    def action_find(self) -> None:
        """Ask what to find in the document."""
        self.ask("Find in this document", self.session.find)

    def action_best(self) -> None:
        """Go to the best passage."""
        self.chair.perform(self.session.best)

    def action_best_first(self) -> None:
        """Open documents at their best passage, or not."""
        self.chair.perform(self.session.switch_best_first)

    def action_highlight(self) -> None:
        """Ask for words to highlight."""
        own = self.session.own_terms.get(self.session.open.topic.id, ()) if self.session.open else ()
        self.ask("Highlight", self.session.highlight, hint=f"now: {', '.join(own)}" if own else "a word or a phrase")

    def action_fold(self) -> None:
        """Show less of the topic, or more."""
        self.session.switch_fold()
        self.refresh_all()

    def action_topic_down(self) -> None:
        """Scroll the topic down."""
        self.query_one(TopicPanel).scroll_relative(y=1, animate=False)

    def action_topic_up(self) -> None:
        """Scroll the topic up."""
        self.query_one(TopicPanel).scroll_relative(y=-1, animate=False)

    # Places

    def action_guidelines(self) -> None:
        """Show topic, scale and guidelines."""
        topic = self.session.open.topic if self.session.open else None
        self.app.push_screen(GuidelinesSheet(topic, self.session.scale, self.session.guidelines))

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(KeysSheet(self._groups))

    def action_theme(self) -> None:
        """Change between dark and light."""
        self.chair.switch_theme()

    def action_leave(self) -> None:
        """End the sitting."""
        self.chair.leave()


def table_of_keys(commands: Iterable[Command]) -> dict[str, str]:
    """Give the action of every key."""
    return {key: command.action for command in commands for key in command.keys.split(",") if key}
