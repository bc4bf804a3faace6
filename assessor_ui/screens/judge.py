"""The screens with a topic and a document on them: judging, and deciding between assessors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, HorizontalScroll, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from assessor_ui import keymap, messages
from assessor_ui.adjudication import Adjudication
from assessor_ui.keymap import Command, Groups
from assessor_ui.messages import Notice
from assessor_ui.reader import Reading
from assessor_ui.screens.lists import Chooser, HistoryScreen, SearchScreen, TopicsScreen
from assessor_ui.screens.sheets import Prompt, guidelines_sheet, keys_sheet
from assessor_ui.session import Session
from assessor_ui.widgets.bars import HintLine, NoticeBar, ScaleBar, StatusLine
from assessor_ui.widgets.document_view import DocumentView, TopicPanel
from cranfield.base.text import visible, visible_line
from cranfield.judge.session import Case

if TYPE_CHECKING:
    from assessor_ui.app import AssessorApp

LOW = 22
"""A terminal with fewer lines begins with the narrative folded away."""

HELD = 0.15
"""Seconds between two events of one key below which it is held down: systems repeat a key every 30 to 90 ms."""

SEEN = 0.2
"""Seconds a document must have been on the screen before a key answers: nobody has seen it sooner."""

PROMPTS = {
    "set_note": ("Note", ""),
    "cannot": ("Cannot judge, because", "the language, broken text, …"),
    "find": ("Find in this document", ""),
    "highlight": ("Highlight", "a word or a phrase"),
}
"""What is asked, and what is meant by it, before the session does something with the words."""

LISTS: dict[str, type[Chooser]] = {"topics": TopicsScreen, "history": HistoryScreen, "search": SearchScreen}

Judging = TypeVar("Judging", Session, Adjudication)


class ReadingScreen(Screen[None], Generic[Judging]):
    """A topic, a document, the scale, and what was just saved.

    `do_…` is what a command of the keymap does here; one without goes to the session, with words where it needs some.
    """

    ALLOW_SELECT = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    app: AssessorApp

    groups: Groups = keymap.GROUPS

    def __init__(self, session: Judging) -> None:
        super().__init__()
        self.session: Judging = session
        self._commands = _by_key(*(command for _, group in self.groups for command in group))
        self._marking = _by_key(*keymap.MARKING)
        self._shown: Reading | None = None
        self._last_key, self._painted = ("", 0.0), 0.0

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield StatusLine()
        with Container(id="judging"):
            yield TopicPanel()
            yield from self.compose_document()
        yield ScaleBar(self.session.scale)
        yield NoticeBar()
        yield HintLine(self.groups)

    def compose_document(self) -> ComposeResult:
        """Make the part with the document."""
        yield DocumentView()

    def on_mount(self) -> None:
        """Open the first document."""
        if self.app.size.height < LOW:
            self.session.fold = "short"
        self.app.perform(self.session.start)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice beside the latest answer."""
        self.query_one(NoticeBar).show(notice, self.session.last)

    def refresh_all(self) -> None:
        """Show the state of the session; what has not changed is left alone."""
        session, reading, view = self.session, self.session.reading, self.query_one(DocumentView)
        self.query_one(StatusLine).show(*session.status)
        self.query_one(TopicPanel).show(session.open.topic if session.open else None, session.fold)
        self.query_one(ScaleBar).display = reading is not None
        self.query_one(ScaleBar).show(session.grade_before, session.keys.digits)
        self.query_one(HintLine).show(is_open=reading is not None)
        self.show_notice(session.notice)
        if reading is None:
            view.show("\n\n".join(session.nothing))
        elif reading is not self._shown:
            view.show(reading, others_evidence=session.others_evidence)
            self._note_painted()
            self.call_after_refresh(self._note_painted)
        else:
            view.look()
        self._shown = reading

    def _note_painted(self) -> None:
        self._painted = time.monotonic()

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Find out what a key means here and now: while a span is being marked, it never judges."""
        self.session.touch()
        marking = self.session.reading is not None and self.session.reading.marker is not None
        command = (self._marking if marking else self._commands).get(event.key)
        if marking:
            event.stop()
        elif event.character is not None and event.character in "0123456789":
            event.stop()
            self._press_digit(event.character)
            return
        elif event.key == "enter":
            event.stop()
            self.app.perform(self.session.enter, answers=True)
            return
        if command is not None:
            event.stop()
            self.call_next(self._obey, command)

    def _obey(self, command: Command) -> None:
        arguments = () if command.step is None else (command.step,)
        if (own := getattr(self, f"do_{command.action}", None)) is not None:
            own(*arguments)
        elif command.action in PROMPTS:
            self._ask(command.action)
        elif command.action in LISTS and isinstance(self.session, Session):
            self.app.push_screen(LISTS[command.action](self.session))
        elif (of_app := getattr(self.app, f"do_{command.action}", None)) is not None:
            of_app()
        else:
            act = getattr(self.session, command.action)
            self.app.perform(lambda: act(*arguments))

    def _ask(self, action: str) -> None:
        """Ask for one line, then let the session do something with it."""
        session, (question, hint) = self.session, PROMPTS[action]
        if session.open is None:
            self.show_notice(messages.NOTHING_HERE)
            return
        own = session.own_terms.get(session.open.topic.id, ()) if action == "highlight" else ()
        hint = f"now: {', '.join(own)}" if own else hint

        def answered(text: str | None) -> None:
            session.touch()
            if text is not None:
                self.app.perform(lambda: getattr(session, action)(text))

        value = session.note if action == "set_note" else ""
        self.app.push_screen(Prompt(question, value, hint=hint), answered)

    def _press_digit(self, digit: str) -> None:
        keys = self.session.keys
        typed = keys.digits + digit
        if not keys.digits and self._is_hasty(digit):
            return
        if typed in keys.grades and not keys.is_open(typed):
            self.app.perform(lambda: self.session.digit(digit), answers=True)
        else:
            self.session.digit(digit)
            self.refresh_all()

    def _is_hasty(self, key: str, *, unseen: bool = True) -> bool:
        """Say whether a key is ignored: a repeat of one held down, or one for a document that was not yet `seen`."""
        now = time.monotonic()
        before, self._last_key = self._last_key, (key, now)
        if before[0] == key and now - before[1] < self.app.held:
            self.show_notice(messages.HELD_KEY)
            return True
        if unseen and self.session.reading is not None and now - self._painted < self.app.seen:
            self.show_notice(messages.TOO_QUICK)
            return True
        return False

    def on_scale_bar_chosen(self, message: ScaleBar.Chosen) -> None:
        """Judge with the grade that was clicked."""
        self.session.touch()
        if not self._is_hasty("click"):
            self.app.perform(lambda: self.session.judge(message.grade), answers=True)

    # What commands do here

    def do_undo(self) -> None:
        """Take the last answer back; a key held down takes back one."""
        if not self._is_hasty("u", unseen=False):
            self.app.perform(self.session.undo, answers=True)

    def do_later(self) -> None:
        """Put the document off."""
        if not self._is_hasty("l"):
            self.app.perform(self.session.later, answers=True)

    def do_scroll(self, lines: int) -> None:
        """Scroll the document by lines."""
        view = self.query_one(DocumentView)
        view.scroll_to(y=view.scroll_offset.y + lines, animate=False, immediate=True)

    def do_page(self, pages: int) -> None:
        """Scroll the document by pages, with one line of overlap."""
        self.do_scroll(pages * max(self.query_one(DocumentView).scrollable_content_region.height - 1, 1))

    def do_scroll_topic(self, lines: int) -> None:
        """Scroll the topic, and the opinions where there are any."""
        for side in self.query("TopicPanel, Opinions VerticalScroll"):
            side.scroll_relative(y=lines, animate=False)

    def do_fold(self) -> None:
        """Show less of the topic, or more."""
        self.session.switch_fold()
        self.refresh_all()

    def do_guidelines(self) -> None:
        """Show topic, scale and guidelines."""
        topic = self.session.open.topic if self.session.open else None
        self.app.push_screen(guidelines_sheet(topic, self.session.scale, self.session.guidelines))

    def do_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(keys_sheet(self.groups))


def _by_key(*commands: Command) -> dict[str, Command]:
    return {key: command for command in commands for key in command.keys.split(",")}


class JudgeScreen(ReadingScreen[Session]):
    """One document, one topic, one key."""

    def refresh_all(self) -> None:
        """Show the state of the session; above the document, a long narrative is folded away."""
        item = self.session.item
        if item is not None and not self.has_class("-wide"):
            self.session.fold_if_crowded(item, lines=self.query_one(DocumentView).scrollable_content_region.height)
        super().refresh_all()

    def on_document_view_dragged(self, message: DocumentView.Dragged) -> None:
        """Mark what was drawn with the mouse."""
        self.app.perform(lambda: self.session.drag_mark(message.span))

    def do_mark(self) -> None:
        """Start marking at the top of what is in sight."""
        position = self.query_one(DocumentView).top_position
        self.app.perform(lambda: self.session.begin_mark(position))


class Opinions(HorizontalScroll, can_focus=False):
    """What was said of a document, side by side: grade, note, evidence."""

    _case: Case | None = None

    async def show(self, deciding: Adjudication) -> None:
        """Show the opinions of a case; the same case again costs nothing."""
        if deciding.case is self._case:
            return
        self._case = deciding.case
        await self.remove_children()
        columns = []
        for number, opinion in enumerate(deciding.opinions):
            grade = messages.opinion(number, opinion.grade, deciding.scale, given_on=opinion.scale)
            parts = [Content.styled(grade, "bold $key")]
            if opinion.note.strip():
                parts.append(Content(visible(opinion.note.strip())))
            parts += [Content.styled(f"“{visible_line(piece.text)}”", "$saved") for piece in opinion.evidence]
            if len(parts) == 1:
                parts.append(Content.styled("no note, no evidence", "$quiet"))
            columns.append(VerticalScroll(Static(Content("\n").join(parts)), can_focus=False))
        await self.mount_all(columns)


class AdjudicateScreen(ReadingScreen[Adjudication]):
    """One disagreement, one key: the document, and below it what was said of it."""

    groups = keymap.ADJUDICATION

    def compose_document(self) -> ComposeResult:
        """Make the part with the document and the opinions."""
        with Container(id="case"):
            yield DocumentView()
            yield Opinions()

    def refresh_all(self) -> None:
        """Show the state of the session."""
        super().refresh_all()
        self.run_worker(self.query_one(Opinions).show(self.session), group="opinions")
