"""A bench in memory: what deciding between assessors is tested on."""

from dataclasses import dataclass, field, replace

from fake_desk import BREAD, DOCUMENTS, FOUR_GRADES, PANS

from cranfield.base.errors import CranfieldError
from cranfield.base.records import GradeScale
from cranfield.judge.events import Evidence
from cranfield.judge.session import Case, Opinion

CASES = (
    Case(
        PANS,
        DOCUMENTS[0],
        (
            Opinion(3, "A full method.", (Evidence(0, 24, "Soda cleans a burnt pan."),)),
            Opinion(1, "", (Evidence(13, 41, "a burnt pan. Wait an hour. T"),)),
        ),
        1,
        2,
    ),
    Case(BREAD, DOCUMENTS[2], (Opinion(0, "No."), Opinion(2), Opinion(3, "Yes.")), 2, 2),
)


@dataclass
class FakeBench:
    """The seat of the one who decides, without a collection. Set `trouble` to let the next calls fail."""

    cases: tuple[Case, ...] = CASES
    scale: GradeScale = FOUR_GRADES
    guidelines: str = "# Guidelines\n\nDecide.\n"
    trouble: CranfieldError | None = None
    log: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = list(self.cases)
        self._decided: list[tuple[Case, int]] = []

    def next_case(self) -> Case | None:
        self._check()
        return self._open[0] if self._open else None

    def decide(self, case: Case, grade: int, *, note: str = "") -> None:
        self._check()
        plain = replace(case, before=None)
        self._open.remove(plain)
        self._decided.append((plain, grade))
        self.log.append(("decide", case.document.id, grade, note))

    def postpone(self, case: Case) -> None:
        self._check()
        self._open.append(self._open.pop(self._open.index(replace(case, before=None))))
        self.log.append(("postpone", case.document.id))

    def undo(self) -> Case | None:
        self._check()
        if not self._decided:
            return None
        case, grade = self._decided.pop()
        self._open.insert(0, case)
        self.log.append(("undo", case.document.id))
        return replace(case, before=grade)

    def leave(self) -> None:
        self._check()
        self.log.append(("leave",))

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble
