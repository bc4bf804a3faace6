"""Deciding between assessors: only the disagreements, grades without names, notes and evidence side by side."""

from __future__ import annotations

from typing import TextIO

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Span
from assessor_ui.plain import asked_back, grade_of
from assessor_ui.reader import Reader
from assessor_ui.session import TROUBLE
from cranfield.base.text import shortened, visible, visible_line
from cranfield.judge.session import Bench, Case, Opinion

PROMPT = "decision> "


class Adjudication(Reader):
    """The one who decides, before one bench."""

    def __init__(self, bench: Bench, *, language: str = "english") -> None:
        super().__init__(bench.scale, bench.guidelines, language=language)
        self.bench = bench
        self.case: Case | None = None

    def start(self) -> Notice:
        """Open the first case."""
        return self._go_on(messages.QUIET)

    def again(self) -> Notice:
        """Try once more to open the next case where that failed."""
        return self._go_on(messages.QUIET) if self.case is None else self._say(messages.QUIET)

    def touch(self) -> None:
        """A key was pressed; nobody's time is measured here."""

    def judge(self, grade: int) -> Notice:
        """Decide with a grade and go on."""
        case = self.case
        if case is None:
            return self._say(messages.NOTHING_HERE)
        if all(step.grade != grade for step in self.scale.grades):
            return self._say(messages.not_on_scale(str(grade), self.scale))
        self.doing = "saving"
        try:
            self.bench.decide(case, grade, note=self.note)
        except TROUBLE as error:
            return self._say(messages.not_saved(error))
        return self._go_on(self._say(messages.decided(case.document.id, grade, self.scale)))

    def later(self) -> Notice:
        """Put the case off."""
        case = self.case
        if case is None:
            return self._say(messages.NOTHING_HERE)
        self.doing = "saving"
        try:
            self.bench.postpone(case)
        except TROUBLE as error:
            return self._say(messages.not_saved(error))
        return self._go_on(messages.put_off(case.document.id))

    def undo(self) -> Notice:
        """Take the latest decision back and return to its case."""
        self.doing = "saving"
        try:
            case = self.bench.undo()
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        if case is None:
            return self._say(messages.NOTHING_TO_UNDO)
        self._open(case)
        return self._say(messages.reopened(case.document.id, case.before, self.scale))

    def leave(self) -> Notice:
        """End the sitting."""
        try:
            self.bench.leave()
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        return Notice("hint", messages.GOODBYE)

    @property
    def opinions(self) -> tuple[Opinion, ...]:
        """The opinions from the lowest grade up: their order tells nothing of who said it."""
        if self.case is None:
            return ()
        return tuple(sorted(self.case.opinions, key=lambda opinion: (opinion.grade, opinion.note)))

    @property
    def evidence(self) -> list[Span]:
        """All that anybody marked, in characters of the page; what overlaps is one span."""
        if self.reading is None:
            return []
        spans = [(piece.start, piece.end) for opinion in self.opinions for piece in opinion.evidence]
        joined: list[Span] = []
        for start, end in sorted(self.reading.page.from_document(span) for span in spans):
            if joined and start <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((start, end))
        return joined

    def _go_on(self, notice: Notice) -> Notice:
        self.doing = "opening"
        self.close()
        self.case = None
        self.keys.clear()
        try:
            case = self.bench.next_case()
        except TROUBLE as error:
            self.stuck = True
            return self._say(messages.saved_but(notice, error) if notice.text else messages.trouble(error))
        if case is not None:
            self._open(case)
        return self._say(notice)

    def _open(self, case: Case) -> None:
        self.case, self.stuck = case, False
        self.keys.clear()
        self.show(case)


def run_adjudication(bench: Bench, *, theme: str = "auto", language: str = "english") -> int:
    """Let somebody decide between assessors, on the screen; give the exit status."""
    from assessor_ui.app import ReaderApp
    from assessor_ui.screens.adjudicate import AdjudicateScreen

    deciding = Adjudication(bench, language=language)
    app = ReaderApp(deciding, AdjudicateScreen(deciding), theme=theme)
    status = app.run()
    if status is None:
        deciding.leave()
    return app.return_code or status or 0


def run_plain(bench: Bench, *, lines: TextIO, out: TextIO, language: str = "english") -> int:
    """The same over plain lines; give the exit status: 1 where a decision could not be saved.

    A line is a grade (`2`, or `2: TEXT` with a note), `later`, `undo`, `guidelines`, or `quit`. Where nobody can be
    asked back, a line that may have been meant as a grade counts as a decision that was not saved.
    """
    deciding = Adjudication(bench, language=language)
    failed = False

    def tell(notice: Notice) -> None:
        nonlocal failed
        failed = failed or notice.text.startswith(messages.NOT_SAVED)
        out.write(f"{notice.in_words}\n" if notice.text else "")

    tell(deciding.start())
    shown: Case | None = None
    while True:
        if deciding.case is not shown or deciding.case is None:
            shown = deciding.case
            out.write(_told(deciding))
        out.write(PROMPT)
        out.flush()
        line = lines.readline()
        word = line.strip()
        if not line or word in ("q", "quit"):
            break
        out.write("\n")
        if word in ("g", "guidelines"):
            out.write(f"{visible(deciding.guidelines.strip()) or messages.NO_GUIDELINES}\n")
        elif word:
            failed = failed or (bool(asked_back(word)) and not lines.isatty())
            tell(_obeyed(deciding, word))
    tell(deciding.leave())
    return 1 if failed else 0


def _obeyed(deciding: Adjudication, word: str) -> Notice:
    if (typed := grade_of(word)) is not None:
        deciding.note = typed.note or deciding.note
        return deciding.judge(typed.grade)
    if question := asked_back(word):
        return Notice("hint", question)
    if word in ("u", "undo"):
        return deciding.undo()
    if word in ("l", "later"):
        return deciding.later()
    known = "GRADE, GRADE: NOTE, later, undo, guidelines, quit"
    return Notice("hint", f"not understood: {visible_line(shortened(word, 40))}; there are: {known}")


def _told(deciding: Adjudication) -> str:
    case, reading = deciding.case, deciding.reading
    if case is None or reading is None:
        return f"{messages.STUCK if deciding.stuck else messages.ALL_DECIDED}\n"
    topic = case.topic
    parts = [f"case {case.position} of {case.of}: {visible_line(topic.title)}"]
    parts += [visible(text.strip()) for text in (topic.description, topic.narrative) if text.strip()]
    parts += ["", reading.page.text.strip(), ""]
    for number, opinion in enumerate(deciding.opinions):
        said = messages.opinion(number, opinion.grade, deciding.scale, given_on=opinion.scale)
        parts.append(f"opinion {said}")
        parts += [f"  note: {visible(opinion.note)}"] if opinion.note else []
        parts += [f"  evidence: {visible_line(piece.text)}" for piece in opinion.evidence]
    grades = ", ".join(messages.graded(step.grade, deciding.scale) for step in deciding.scale.grades)
    return "\n".join([*parts, f"grades: {grades}"]) + "\n"
