"""Lists to choose from: topics, the assessor's own history, and what a search has found."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from assessor_ui import messages
from assessor_ui.messages import GradeKeys, Notice
from assessor_ui.screens.reading import ChairScreen, indented
from assessor_ui.session import Session
from assessor_ui.widgets.bars import NoticeBar, meter
from cranfield.base.text import shortened, visible_line
from cranfield.judge.session import Found, Past, TopicState
from cranfield.workflows.corpus import HIT_END, HIT_START

STATE_WIDTH = 10


class Chooser(ChairScreen[None]):
    """A list over the whole screen, with a line to type in where it can be searched."""

    BINDINGS = [  # noqa: RUF012
        ("escape,q", "leave", "back"),
        ("slash", "type", "type"),
        ("j", "cursor(1)", ""),
        ("k", "cursor(-1)", ""),
    ]
    heading = ""
    hint = ""
    placeholder = ""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        """Make the frame."""
        with Vertical(id="chooser"):
            yield Static(self.heading, id="heading", markup=False)
            if self.placeholder:
                yield Input(placeholder=self.placeholder, id="words")
            yield OptionList(markup=False)
        yield NoticeBar()
        yield Static(self.hint, id="foot", markup=False)

    def fill(self, lines: Iterator[Content], *, keep: bool = False) -> None:
        """Show these lines; the cursor stays where it is asked to."""
        options = self.query_one(OptionList)
        place = options.highlighted
        options.clear_options()
        options.add_options(list(lines))
        if options.option_count:
            options.highlighted = min(place or 0, options.option_count - 1) if keep else 0
        self.show_notice(self.session.notice if self.session.notice.kind == "trouble" else messages.QUIET)

    @property
    def width(self) -> int:
        """The cells a line of the list has."""
        return self.app.size.width - 4

    @property
    def chosen(self) -> int | None:
        """The number of the line the cursor is on."""
        return self.query_one(OptionList).highlighted

    def on_key(self, event: events.Key) -> None:
        """Somebody is there."""
        self.session.touch()
        if event.key == "down" and isinstance(self.focused, Input):
            self.query_one(OptionList).focus()
            event.stop()

    def action_leave(self) -> None:
        """Go back without choosing."""
        self.dismiss(None)

    def action_type(self) -> None:
        """Go to the line to type in."""
        for words in self.query("#words"):
            words.focus()

    def action_cursor(self, step: int) -> None:
        """Move the cursor."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()


class TopicsScreen(Chooser):
    """All topics with progress."""

    heading = "Topics, and what is done of them by you or others"
    hint = "↓↑ move · Enter goes on with a topic · Esc back"

    def on_mount(self) -> None:
        """Ask for the topics."""
        self._states: list[TopicState] = []
        self.do(self._load)

    async def _load(self) -> None:
        self._states = await self.chair.ask(self.session.topics)
        column = max([14, *(len(messages.topic_line(state)) + 1 for state in self._states)])
        lines = (topic_line(one, here=one.topic.id == self.session.topic, column=column) for one in self._states)
        self.fill(lines)
        places = [number for number, state in enumerate(self._states) if state.topic.id == self.session.topic]
        if places:
            self.query_one(OptionList).highlighted = places[0]
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Go on with the topic."""
        topic = self._states[event.option_index].topic.id
        self.dismiss(None)
        self.chair.perform(lambda: self.session.choose_topic(topic))


def topic_line(state: TopicState, *, here: bool, column: int = 14) -> Content:
    """Give a topic with its progress."""
    return Content.assemble(
        ("▸ " if here else "  ", "$key"),
        (meter(state.done, state.of), "$saved" if state.done >= state.of else "$key"),
        (f" {messages.topic_line(state):<{column}}", "$quiet"),
        (visible_line(shortened(state.topic.title, 120)), "" if state.mine else "$quiet"),
        (f"  {visible_line(state.topic.id)}", "$quiet"),
    )


class HistoryScreen(Chooser):
    """The assessor's own answers, latest first."""

    heading = "Your answers, latest first"
    placeholder = "words of a title, a note, a document's or a topic's id"
    hint = "↓↑ move · Enter opens it again · / search · Esc back"

    def on_mount(self) -> None:
        """Ask for the latest answers."""
        self._past: list[Past] = []
        self.do(self._load)
        self.query_one(OptionList).focus()

    async def _load(self) -> None:
        words = self.query_one("#words", Input).value
        self._past = await self.chair.ask(lambda: self.session.history(words))
        self.fill(past_line(past, self.session, self.width) for past in self._past)

    def on_input_changed(self) -> None:
        """Search while typing."""
        self.do(self._load)

    def on_input_submitted(self) -> None:
        """Go into the list."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the document again."""
        past = self._past[event.option_index]
        self.dismiss(None)
        self.chair.perform(lambda: self.session.reopen(past.topic, past.document))


def past_line(past: Past, session: Session, width: int) -> Content:
    """Give one answer of the past: what was said of which document, and below when and with which note."""
    answer, when = past.answer, past.answer.happened[:16].replace("T", " ")
    column = max(
        len("cannot judge"), *(len(messages.graded(step.grade, session.scale)) for step in session.scale.grades)
    )
    said = f"{messages.answered(answer, session.scale):<{column}}  "
    head = Content.assemble(
        (said, "bold" if answer.kind == "judged" else "$quiet"), visible_line(past.title) or "(no title)"
    )
    facts = " · ".join([visible_line(past.document), visible_line(past.topic), when])
    note = f" · “{visible_line(shortened(answer.note, 200))}”" if answer.note else ""
    below = indented(Content.styled(facts + note, "$quiet"), width, indent=len(said))
    return Content("\n").join([head.truncate(width, ellipsis=True), below])


class SearchScreen(Chooser):
    """A search in the whole collection. What is found can be read, or judged at once."""

    heading = "Search the whole collection"
    placeholder = 'words, or a "phrase"'
    hint = "Enter reads · digit judges · u takes back · / other words · Esc back"

    def on_mount(self) -> None:
        """Begin with the words."""
        self._found: list[Found] = []
        self._words = ""
        self._keys = GradeKeys(self.session.scale)
        self._judging = False
        self.query_one("#words", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search."""
        self._words = event.value
        self.do(self._search)

    async def _search(self, *, again: bool = False) -> None:
        self._found = await self.chair.ask(lambda: self.session.search(self._words))
        notice = self.session.notice
        self.fill((found_line(hit, self.width) for hit in self._found), keep=again)
        if not again:
            self.show_notice(notice)
        if self._found:
            self.query_one(OptionList).focus()

    def on_key(self, event: events.Key) -> None:
        """Judge the document under the cursor, unless somebody is typing."""
        super().on_key(event)
        if isinstance(self.focused, Input) or self.chosen is None or not self._found:
            return
        if event.character is not None and event.character in "0123456789":
            event.stop()
            self._give(self._keys.press(event.character))
        elif event.key == "u":
            event.stop()
            self.action_leave()
            self.chair.perform(self.session.undo)

    def _give(self, meant: int | Notice) -> None:
        if isinstance(meant, Notice):
            self.show_notice(meant)
        elif self._judging:
            self.show_notice(messages.STILL_SAVING)
        elif self.chosen is not None:
            hit, self._judging = self._found[self.chosen], True
            self.do(lambda: self._judge(hit, meant))

    async def _judge(self, hit: Found, grade: int) -> None:
        """Judge a document; until the list shows its grade no other digit is taken."""
        try:
            notice = await self.chair.ask(lambda: self.session.judge_found(hit, self._words, grade))
            if notice.kind == "saved":
                await self._search(again=True)
        finally:
            self._judging = False
        self.show_notice(notice)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """End a grade of several digits, or open the document."""
        meant = self._keys.enter()
        if meant is not None:
            self._give(meant)
            return
        hit = self._found[event.option_index]
        self.dismiss(None)
        self.chair.perform(lambda: self.session.take(hit, self._words))

    def action_leave(self) -> None:
        """Go back to the document in turn."""
        self.session.end_search()
        self.dismiss(None)
        self.chair.show_all()


def found_line(hit: Found, width: int) -> Content:
    """Give a found document: what is known of it, its title, and where the words stand."""
    style = {"judged": "$saved", "pooled": "$quiet", "new": "bold $hit"}[hit.state]
    sign = {"judged": "●", "pooled": "○", "new": "+"}[hit.state]
    head = Content.assemble(
        (f"{sign} {messages.found_state(hit):<{STATE_WIDTH}}", style),
        (f" {visible_line(hit.title) or '(no title)'}", "bold"),
        (f"  {visible_line(hit.document)}", "$quiet"),
    )
    below = indented(Content.assemble(*_snippet(hit.snippet)), width, indent=STATE_WIDTH + 3)
    return Content("\n").join([head.truncate(width, ellipsis=True), below])


def _snippet(snippet: str) -> Iterator[tuple[str, str]]:
    folded = " ".join(snippet.split())
    for number, piece in enumerate(folded.split(HIT_START)):
        word, end, rest = piece.partition(HIT_END)
        if number and end:
            yield visible_line(word), "$hit"
            yield visible_line(rest), "$quiet"
        else:
            yield visible_line(piece), "$quiet"
