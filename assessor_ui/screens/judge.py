"""The screen with a topic and a document: for judging and for adjudication."""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, HorizontalScroll, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from assessor_ui.page import Page
from assessor_ui.reader import FOLDS, Reading
from assessor_ui.screens.lists import Chooser, HistoryScreen, SearchScreen, TopicsScreen
from assessor_ui.screens.sheets import Prompt, Sheet, TopicCard, guidelines_parts, keys_parts
from assessor_ui.session import Session
from assessor_ui.widgets.bars import HintLine, NoticeBar, ScaleBar, StatusLine
from assessor_ui.widgets.document_view import DocumentView, TopicPanel
from cranfield.base.text import visible, visible_line
from cranfield.judge.session import Item

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
}
"""What is asked, and what is meant by it, before the session does something with the words."""

LISTS: dict[str, type[Chooser]] = {"topics": TopicsScreen, "history": HistoryScreen, "search": SearchScreen}


class JudgeScreen(Screen[None]):
    """A topic, a document, the scale, and what was just saved; below a disagreement, what was said of the document.

    `do_…` is what a command of the keymap does here; one without goes to the session, with words where it needs some.
    """

    ALLOW_SELECT = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    app: AssessorApp

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.groups = keymap.ADJUDICATION if session.adjudicates else keymap.GROUPS
        commands = [command for _, group in self.groups for command in group]
        self._words = {command.word: command for command in commands}
        self._commands, self._marking = (
            {key: command for command in some for key in command.keys.split(",")}
            for some in (commands, keymap.MARKING)
        )
        self._shown: Reading | None = None
        self._last_key, self._painted = ("", 0.0), 0.0

    def compose(self) -> ComposeResult:
        yield StatusLine()
        with Container(id="judging"):
            yield TopicPanel()
            with Container(id="case") if self.session.adjudicates else nullcontext():
                yield DocumentView()
                if self.session.adjudicates:
                    yield Opinions()
        yield ScaleBar(self.session.scale)
        yield NoticeBar()
        yield HintLine()

    def on_mount(self) -> None:
        if self.app.size.height < LOW:
            self.session.fold = "short"
        self.app.perform(self.session.start)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice beside the latest answer."""
        self.query_one(NoticeBar).show(notice, self.session.last)

    def refresh_all(self) -> None:
        """Show the state of the session; what has not changed is left alone."""
        session, reading, view = self.session, self.session.reading, self.query_one(DocumentView)
        scale, is_open = self.query_one(ScaleBar), session.open is not None
        self.query_one(StatusLine).status = session.status
        self.query_one(TopicPanel).show(session.open.topic if session.open else None, session.fold)
        scale.display = is_open
        scale.before, scale.typed = session.grade_before, session.digits
        hints = keymap.HINTS if is_open else keymap.HINTS_AT_THE_END
        self.query_one(HintLine).commands = [self._words[word] for word in hints if word in self._words]
        self.show_notice(session.notice)
        if not is_open:
            view.show(Reading(page=Page("\n\n".join(session.nothing), 0, 0, 0)))
        elif reading is not self._shown:
            view.show(reading)
            self._note_painted()
            self.call_after_refresh(self._note_painted)
        else:
            view.look()
        self._shown = reading
        if session.card and session.open is not None and not isinstance(self.app.screen, TopicCard):
            todo = session.status[0] if session.adjudicates else f"documents: {session.status[0]}"
            self.app.push_screen(TopicCard(session.open.topic, todo, session.last), self._read_on)
        if session.adjudicates:
            self.run_worker(self.query_one(Opinions).show(session), group="opinions")

    def _read_on(self, _: None) -> None:
        """Show the document behind the topic: from now on it is on the screen."""
        self.session.read_on()
        self._note_painted()
        self.call_after_refresh(self._note_painted)

    def _note_painted(self) -> None:
        self._painted = time.monotonic()

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Find out what a key means here and now: while a span is being marked, it never judges."""
        session = self.session
        session.watch.touch()
        marking = session.reading.marker is not None
        command = (self._marking if marking else self._commands).get(event.key)
        if marking or command is not None:
            event.stop()
            if command is not None:
                self.call_next(self._obey, command)
        elif (digit := event.character) is not None and digit in "0123456789":
            event.stop()
            typed = session.digits + digit
            if not session.digits and self._is_hasty(digit):
                return
            if typed in session.grades and not session.may_go_on(typed):
                self.app.perform(lambda: session.digit(digit), answers=True)
            else:
                session.digit(digit)
                self.refresh_all()
        elif event.key == "enter":
            event.stop()
            self.app.perform(session.enter, answers=True)

    def _obey(self, command: keymap.Command) -> None:
        session, action = self.session, command.action
        arguments = () if command.step is None else (command.step,)
        if (own := getattr(self, f"do_{action}", None) or getattr(self.app, f"do_{action}", None)) is not None:
            own(*arguments)
        elif action in ("undo", "later"):
            # A key held down takes back one, and what was not yet seen can be taken back.
            if not self._is_hasty(command.keys, unseen=action == "later"):
                self.app.perform(getattr(session, action), answers=True)
        elif action in LISTS:
            self.app.push_screen(LISTS[action](session))
        elif action not in PROMPTS:
            self.app.perform(lambda: getattr(session, action)(*arguments))
        elif session.open is None:
            self.show_notice(messages.NOTHING_HERE)
        else:
            question, hint = PROMPTS[action]

            def answered(text: str | None) -> None:
                session.watch.touch()
                if text is not None:
                    self.app.perform(lambda: getattr(session, action)(text))

            value = session.note if action == "set_note" else ""
            self.app.push_screen(Prompt(question, value, hint=hint), answered)

    def _is_hasty(self, key: str, *, unseen: bool = True) -> bool:
        """Whether a key is ignored: a repeat of one held down, or one for a document that was not yet `seen`."""
        now = time.monotonic()
        before, self._last_key = self._last_key, (key, now)
        if before[0] == key and now - before[1] < self.app.held:
            self.show_notice(messages.HELD_KEY)
            return True
        if unseen and self.session.open is not None and now - self._painted < self.app.seen:
            self.show_notice(messages.TOO_QUICK)
            return True
        return False

    # What commands do here

    def do_scroll(self, lines: int) -> None:
        self.query_one(DocumentView).scroll_relative(y=lines, animate=False, immediate=True)

    def do_page(self, pages: int) -> None:
        """Scroll the document by pages, with one line of overlap."""
        self.do_scroll(pages * max(self.query_one(DocumentView).scrollable_content_region.height - 1, 1))

    def do_scroll_topic(self, lines: int) -> None:
        """Scroll the topic, and the opinions where there are any."""
        for side in self.query("TopicPanel, Opinions VerticalScroll"):
            side.scroll_relative(y=lines, animate=False)

    def do_fold(self) -> None:
        self.session.fold = FOLDS[(FOLDS.index(self.session.fold) + 1) % len(FOLDS)]
        self.refresh_all()

    def do_mark(self) -> None:
        """Start marking at the top of what is in sight."""
        position = self.query_one(DocumentView).top_position
        self.app.perform(lambda: self.session.begin_mark(position))

    def do_guidelines(self) -> None:
        topic = self.session.open.topic if self.session.open else None
        parts = partial(guidelines_parts, topic, self.session.scale, self.session.guidelines)
        self.app.push_screen(Sheet("Topic, scale and guidelines", parts))

    def do_help(self) -> None:
        self.app.push_screen(Sheet("All keys", partial(keys_parts, self.groups)))


class Opinions(HorizontalScroll, can_focus=False):
    """The opinions on a document, side by side: grade, note, evidence."""

    _case: Item | None = None

    async def show(self, deciding: Session) -> None:
        """Show the opinions of a case; the same case again costs nothing."""
        if deciding.open is self._case:
            return
        self._case = deciding.open
        await self.remove_children()
        columns = []
        for number, opinion in enumerate(self._case.opinions if self._case else ()):
            grade = messages.opinion(number, opinion, deciding.scale)
            parts = [Content.styled(grade, "bold $key")]
            if opinion.note.strip():
                parts.append(Content(visible(opinion.note.strip())))
            parts += [Content.styled(f"“{visible_line(piece.text)}”", "$saved") for piece in opinion.evidence]
            if len(parts) == 1:
                parts.append(Content.styled("no note, no evidence", "$quiet"))
            columns.append(VerticalScroll(Static(Content("\n").join(parts)), can_focus=False))
        await self.mount_all(columns)
