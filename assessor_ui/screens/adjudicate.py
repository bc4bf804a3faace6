"""The screen of the one who decides: the document, and below it what was said of it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, HorizontalScroll, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from assessor_ui import keymap, messages
from assessor_ui.adjudication import Adjudication
from assessor_ui.screens.reading import ReadingScreen
from assessor_ui.widgets.bars import StatusLine
from assessor_ui.widgets.document_view import DocumentView, Layers, TopicPanel
from cranfield.base.records import GradeScale
from cranfield.base.text import visible, visible_line
from cranfield.judge.session import Case, Opinion


class Opinions(HorizontalScroll, can_focus=False):
    """What was said of a document, side by side."""

    _case: Case | None = None

    async def show(self, deciding: Adjudication) -> None:
        """Show the opinions of a case; the same case again costs nothing."""
        if deciding.case is self._case:
            return
        self._case = deciding.case
        await self.remove_children()
        columns = [
            VerticalScroll(Static(opinion_content(number, opinion, deciding.scale)), can_focus=False)
            for number, opinion in enumerate(deciding.opinions)
        ]
        await self.mount_all(columns)


def opinion_content(number: int, opinion: Opinion, scale: GradeScale) -> Content:
    """Give an opinion: grade, note, evidence."""
    parts = [Content.styled(messages.opinion(number, opinion.grade, scale, given_on=opinion.scale), "bold $key")]
    if opinion.note.strip():
        parts.append(Content(visible(opinion.note.strip())))
    parts += [Content.styled(f"“{visible_line(piece.text)}”", "$saved") for piece in opinion.evidence]
    if len(parts) == 1:
        parts.append(Content.styled("no note, no evidence", "$quiet"))
    return Content("\n").join(parts)


class AdjudicateScreen(ReadingScreen):
    """One disagreement, one key."""

    session: Adjudication

    def __init__(self, session: Adjudication) -> None:
        super().__init__(session, keymap.adjudication())

    def compose_document(self) -> ComposeResult:
        """Make the part with the document and the opinions."""
        with Container(id="case"):
            yield DocumentView()
            yield Opinions()

    def refresh_all(self) -> None:
        """Show the state of the session."""
        case = self.session.case
        place = f"{case.position} of {case.of}" if case else ""
        self.query_one(StatusLine).show(place, (case.position - 1, case.of) if case else None, None)
        super().refresh_all()
        self.run_worker(self.query_one(Opinions).show(self.session), group="opinions")

    def action_topic_down(self) -> None:
        """Scroll the topic and the opinions down."""
        self._scroll_sides(1)

    def action_topic_up(self) -> None:
        """Scroll the topic and the opinions up."""
        self._scroll_sides(-1)

    def _scroll_sides(self, lines: int) -> None:
        for side in [self.query_one(TopicPanel), *self.query("Opinions VerticalScroll")]:
            side.scroll_relative(y=lines, animate=False)

    @property
    def before(self) -> int | None:
        """The decision that was taken back."""
        return self.session.case.before if self.session.case else None

    @property
    def extra_layers(self) -> Layers:
        """What anybody marked as evidence."""
        return [("evidence", self.session.evidence)]

    @property
    def nothing(self) -> tuple[str, str]:
        """What to say where all is decided."""
        return messages.ALL_DECIDED, messages.ALL_DECIDED_MORE
