"""Adjudication: only the disagreements, grades without names, notes and evidence side by side."""

from __future__ import annotations

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Span
from assessor_ui.reader import FAILURES, Reader
from cranfield.judge.session import AdjudicationSession, Case, Opinion


class Adjudication(Reader[Case]):
    """An adjudicator in one adjudication session. No time is measured here."""

    judging: AdjudicationSession

    def __init__(self, judging: AdjudicationSession) -> None:
        super().__init__(judging)
        self.opinions: tuple[Opinion, ...] = ()
        """The opinions from the lowest grade up: their order tells nothing of who said it."""

    def start(self) -> Notice:
        """Open the first case."""
        return self._go_on(messages.QUIET)

    def judge(self, grade: int) -> Notice:
        """Decide with a grade and go on."""
        if self.open is not None and isinstance(unknown := self.keys.meaning(str(grade)), Notice):
            return self._say(unknown)

        def decide(case: Case) -> Notice:
            self.judging.decide(case, grade, note=self.note)
            return messages.DECIDED.filled(grade=messages.graded(grade, self.scale), document=case.document.id)

        return self._answer(decide)

    def later(self) -> Notice:
        """Put the case off."""

        def postpone(case: Case) -> Notice:
            self.judging.postpone(case)
            return messages.PUT_OFF.filled(document=case.document.id)

        return self._answer(postpone)

    def undo(self) -> Notice:
        """Take the latest decision back and return to its case."""
        self.doing = "saving"
        try:
            case = self.judging.undo()
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        if case is None:
            return self._say(messages.NOTHING_TO_UNDO)
        self._open(case)
        answer = f" ({messages.graded(case.before, self.scale)})" if case.before is not None else ""
        return self._say(messages.UNDONE, answer=answer, document=case.document.id)

    def leave(self) -> Notice:
        """End the session; there is nothing to give back."""
        return self.ended if self.ended.text else messages.GOODBYE

    @property
    def status(self) -> tuple[str, tuple[int, int] | None, None]:
        """Which of the cases this is, and the share that is decided."""
        case = self.open
        return (
            (f"case {case.position} of {case.of}", (case.position - 1, case.of), None) if case else ("", None, None)
        )

    @property
    def nothing(self) -> tuple[str, str]:
        """Why no case is open, and what can be done."""
        if self.stuck:
            return messages.STUCK, messages.STUCK_MORE
        return messages.ALL_DECIDED, messages.ALL_DECIDED_MORE

    def _go_on(self, notice: Notice) -> Notice:
        self._close()
        self.opinions, self.stuck = (), False
        try:
            if (case := self.judging.next_case()) is not None:
                self._open(case)
        except FAILURES as error:
            self.stuck = True
            return self._fail(notice, error)
        return self._say(notice)

    def _open(self, case: Case) -> None:
        """Open a case; what anybody marked is one span where it overlaps."""
        self.opinions = tuple(sorted(case.opinions, key=lambda opinion: (opinion.grade, opinion.note)))
        page = self._show(case, grade_before=case.before).page
        spans = [(piece.start, piece.end) for opinion in self.opinions for piece in opinion.evidence]
        joined: list[Span] = []
        for start, end in sorted(page.from_document(span) for span in spans):
            if joined and start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((start, end))
        self.others_evidence = joined
