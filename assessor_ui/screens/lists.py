"""Lists to choose from: topics, the assessor's own history, and what a search has found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.screens.sheets import indent
from assessor_ui.session import Session
from assessor_ui.widgets.bars import NoticeBar, meter
from cranfield.base.text import HIT_END, HIT_START, shortened, visible_line

if TYPE_CHECKING:
    from assessor_ui.app import AssessorApp

STATE_WIDTH = 10


class Lines(OptionList):
    """Lines to choose from, moved through with letters too."""

    BINDINGS = [("j", "cursor_down", ""), ("k", "cursor_up", "")]  # noqa: RUF012


class Chooser(Screen[None]):
    """A list over the whole screen, with a line to type in where it can be searched."""

    ALLOW_SELECT = False
    BINDINGS = [  # noqa: RUF012
        ("escape,q", "dismiss", "back"),
        ("slash", "type", "type"),
    ]
    heading = ""
    hint = ""
    placeholder = ""
    app: AssessorApp

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session, self.options = session, Lines(markup=False)
        self._choices: Sequence[Callable[[], Notice]] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="chooser"):
            yield Static(self.heading, id="heading", markup=False)
            if self.placeholder:
                yield Input(placeholder=self.placeholder, id="words")
            yield self.options
        yield NoticeBar()
        yield Static(self.hint, id="foot", markup=False)

    def show_notice(self, notice: Notice) -> None:
        """Show a notice below the list."""
        self.query_one(NoticeBar).show(notice)

    def fill(self, lines: Sequence[Content], choices: Sequence[Callable[[], Notice]]) -> None:
        """Show these lines, and know what choosing each of them does."""
        self._choices = choices
        self.options.clear_options()
        self.options.add_options(lines)
        self.options.highlighted = 0 if lines else None
        self.show_notice(self.session.notice)

    def on_key(self, event: events.Key) -> None:
        """Count a key as attention."""
        self.session.watch.touch()
        if event.key == "down" and isinstance(self.focused, Input):
            self.options.focus()
            event.stop()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go back, and do what the line stands for."""
        self.dismiss(None)
        self.app.perform(self._choices[event.option_index])

    def action_type(self) -> None:
        """Go to the line to type in."""
        for words in self.query("#words"):
            words.focus()


class TopicsScreen(Chooser):
    """The topics of the assessor with progress."""

    heading = "Topics, with how many of your documents are done"
    hint = "↓↑ move · Enter switches to a topic · Esc back"

    @work(group="judging")
    async def on_mount(self) -> None:
        states = await self.app.ask(self.session.topics)
        progress = [messages.topic_progress(state) for state in states]
        column = max([14, *(len(text) + 1 for text in progress)])
        here = [state.topic.id == self.session.topic for state in states]
        self.fill(
            [
                Content.assemble(
                    ("▸ " if current else "  ", "$key"),
                    (meter(state.done, state.of), "$saved" if state.done >= state.of else "$key"),
                    (f" {text:<{column}}", "$quiet"),
                    visible_line(shortened(state.topic.title, 120)),
                    (f"  {visible_line(state.topic.id)}", "$quiet"),
                )
                for state, text, current in zip(states, progress, here, strict=True)
            ],
            [partial(self.session.choose_topic, state.topic.id) for state in states],
        )
        if True in here:
            self.options.highlighted = here.index(True)
        self.options.focus()


class HistoryScreen(Chooser):
    """The assessor's own answers: the grade of each document, and below it the time and the note."""

    heading = "Your answers, latest first"
    placeholder = "words of a title or note, a document or topic id"
    hint = "↓↑ move · Enter reopens · / search · Esc back"

    def on_mount(self) -> None:
        self.on_input_changed()
        self.options.focus()

    @work(group="judging")
    async def on_input_changed(self) -> None:
        """Search while typing."""
        words, scale, width = self.query_one("#words", Input).value, self.session.scale, self.app.size.width - 4
        history = await self.app.ask(lambda: self.session.history(words))
        grades = [messages.graded(step.grade, scale) for step in scale.grades]
        column = max(map(len, ["cannot judge", *grades]))
        lines = []
        for entry in history:
            answer = entry.answer
            given = f"{messages.answered(answer, scale):<{column}}  "
            look = "bold" if answer.kind == "judged" else "$quiet"
            head = Content.assemble((given, look), visible_line(entry.title) or "(no title)")
            when = answer.happened[:16].replace("T", " ")
            facts = " · ".join([visible_line(entry.document), visible_line(entry.topic), when])
            note = f" · “{visible_line(shortened(answer.note, 200))}”" if answer.note else ""
            below = indent(Content.styled(facts + note, "$quiet"), width, by=len(given))
            lines.append(Content("\n").join([head.truncate(width, ellipsis=True), below]))
        self.fill(lines, [partial(self.session.reopen, entry.topic, entry.document) for entry in history])

    def on_input_submitted(self) -> None:
        """Go into the list."""
        self.options.focus()


class SearchScreen(Chooser):
    """A search in the whole collection. It begins with what was found last for the topic."""

    heading = "Search the whole collection"
    placeholder = 'words, or a "phrase"'
    hint = "Enter opens · / new search · Esc back"

    def on_mount(self) -> None:
        topic, words = self.session.searched
        line = self.query_one("#words", Input)
        if words and topic == self.session.topic:
            line.value = words
            line.action_select_all()
            self.search(words)
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.search(event.value)
        self.options.focus()

    @work(group="judging")
    async def search(self, words: str) -> None:
        """Show each document with what is known of it, its title, and where the words stand."""
        hits = await self.app.ask(lambda: self.session.search(words))
        width, lines = self.app.size.width - 4, []
        for hit in hits:
            sign, style = {"judged": ("●", "$saved"), "pooled": ("○", "$quiet"), "new": ("+", "bold $hit")}[hit.state]
            head = Content.assemble(
                (f"{sign} {messages.found_state(hit):<{STATE_WIDTH}}", style),
                (f" {visible_line(hit.title) or '(no title)'}", "bold"),
                (f"  {visible_line(hit.document)}", "$quiet"),
            )
            first, *marked = " ".join(hit.snippet.split()).split(HIT_START)
            pieces = [(first, "$quiet")]
            for piece in marked:
                word, end, rest = piece.partition(HIT_END)
                pieces += [(word, "$hit"), (rest, "$quiet")] if end else [(piece, "$quiet")]
            snippet = Content.assemble(*((visible_line(text), look) for text, look in pieces))
            below = indent(snippet, width, by=STATE_WIDTH + 3)
            lines.append(Content("\n").join([head.truncate(width, ellipsis=True), below]))
        self.fill(lines, [partial(self.session.take, hit) for hit in hits])

    async def action_dismiss(self, result: None = None) -> None:
        """Go back to the document in turn."""
        self.session.end_search()
        await super().action_dismiss(result)
        self.app.reading.refresh_all()
