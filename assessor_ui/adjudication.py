"""Deciding between assessors: only the disagreements, grades without names, notes and evidence side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Span
from assessor_ui.plain import ask_back, grade_of
from assessor_ui.reader import FAILURES, Reader
from cranfield.base.text import shortened, visible, visible_line
from cranfield.judge.session import AdjudicationSession, Case, Opinion

PROMPT = "decision> "


class Adjudication(Reader[Case]):
    """The one who decides, over one adjudication session. Nobody's time is measured here."""

    def __init__(self, judging: AdjudicationSession) -> None:
        super().__init__(judging.scale, judging.guidelines, language="english", clock=time.monotonic)
        self.judging = judging
        self.opinions: tuple[Opinion, ...] = ()
        """The opinions from the lowest grade up: their order tells nothing of who said it."""

    def start(self) -> Notice:
        """Open the first case."""
        return self._go_on(messages.QUIET)

    def judge(self, grade: int) -> Notice:
        """Decide with a grade and go on."""
        if self.open is not None and isinstance(unknown := self.keys.meaning(str(grade)), Notice):
            return self._say(unknown)
        given = messages.graded(grade, self.scale)
        return self._answer(
            lambda case: self.judging.decide(case, grade, note=self.note), messages.DECIDED, grade=given
        )

    def later(self) -> Notice:
        """Put the case off."""
        return self._answer(self.judging.postpone, messages.PUT_OFF)

    def _answer(self, send: Callable[[Case], None], notice: Notice, **fields: object) -> Notice:
        case = self.open
        if case is None:
            return self._say(messages.NOTHING_HERE)
        self.doing = "saving"
        try:
            send(case)
        except FAILURES as error:
            return self._refuse(error)
        return self._go_on(self._say(notice, document=case.document.id, **fields))

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
        return messages.GOODBYE

    @property
    def status(self) -> tuple[str, tuple[int, int] | None, None]:
        """Which of the cases this is, and the share that is decided."""
        case = self.open
        return (f"{case.position} of {case.of}", (case.position - 1, case.of), None) if case else ("", None, None)

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


def run_plain(deciding: Adjudication, *, lines: TextIO, out: TextIO) -> int:
    """Let somebody decide over plain lines; give the exit status: 1 where a decision could not be saved.

    A line is a grade (`2`, or `2: TEXT` with a note), `later`, `undo`, `guidelines`, or `quit`. Where nobody can be
    asked back, a line that may have been meant as a grade counts as a decision that was not saved.
    """
    failed, shown = False, None
    notice = deciding.start()
    while True:
        out.write(f"{notice.words}\n" if notice.text else "")
        if deciding.open is not shown or deciding.open is None:
            shown = deciding.open
            out.write(_case_text(deciding))
        out.write(PROMPT)
        out.flush()
        line = lines.readline()
        word = line.strip()
        if not line or word in ("q", "quit"):
            break
        out.write("\n")
        notice = messages.QUIET
        if word in ("g", "guidelines"):
            out.write(f"{visible(deciding.guidelines.strip()) or messages.NO_GUIDELINES}\n")
        elif (typed := grade_of(word)) is not None:
            deciding.note = typed[1] or deciding.note
            notice = deciding.judge(typed[0])
        elif question := ask_back(word):
            failed = failed or not lines.isatty()
            out.write(f"{question}\n")
        elif word in ("u", "undo"):
            notice = deciding.undo()
        elif word in ("l", "later"):
            notice = deciding.later()
        elif word:
            known = "GRADE, GRADE: NOTE, later, undo, guidelines, quit"
            out.write(f"not understood: {visible_line(shortened(word, 40))}; commands: {known}\n")
    out.write(f"{deciding.leave().words}\n")
    return 1 if failed or deciding.refused else 0


def _case_text(deciding: Adjudication) -> str:
    case, reading, scale = deciding.open, deciding.reading, deciding.scale
    if case is None or reading is None:
        return f"{deciding.nothing[0]}\n"
    topic = case.topic
    parts = [f"case {case.position} of {case.of}: {visible_line(topic.title)}"]
    parts += [visible(text.strip()) for text in (topic.description, topic.narrative) if text.strip()]
    parts += ["", reading.page.text.strip(), ""]
    for number, opinion in enumerate(deciding.opinions):
        parts.append(f"opinion {messages.opinion(number, opinion.grade, scale, given_on=opinion.scale)}")
        parts += [f"  note: {visible(opinion.note)}"] if opinion.note else []
        parts += [f"  evidence: {visible_line(piece.text)}" for piece in opinion.evidence]
    grades = ", ".join(messages.graded(step.grade, scale) for step in scale.grades)
    return "\n".join([*parts, f"grades: {grades}"]) + "\n"
