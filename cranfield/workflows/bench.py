"""What deciding between assessors needs of a collection: the disagreements, and a way to settle each.

Nobody is named: an opinion is a grade, a note and the marked evidence. Its place among the others tells nothing
either: a bench gives the opinions of a case in an order that does not follow the assessors.
"""

from dataclasses import dataclass
from typing import Protocol

from cranfield.judge.events import Evidence
from cranfield.records import Document, GradeScale, Topic


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one assessor said, without who it was; `scale` is that of the grade, where it is not the present one."""

    grade: int
    note: str = ""
    evidence: tuple[Evidence, ...] = ()
    scale: GradeScale | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A document that assessors see differently. `position` of `of` is its place among the open cases, from 1.

    `before` is the decision that was just taken back, where there is one.
    """

    topic: Topic
    document: Document
    opinions: tuple[Opinion, ...]
    position: int = 1
    of: int = 1
    before: int | None = None


class Bench(Protocol):
    """The seat of the one who decides. Every method that decides has committed when it returns."""

    scale: GradeScale
    guidelines: str

    def next_case(self) -> Case | None:
        """Give the next disagreement that is neither decided nor put off; None: all done."""

    def decide(self, case: Case, grade: int, *, note: str = "") -> None:
        """Record the decision."""

    def postpone(self, case: Case) -> None:
        """Put a case off: the others come first."""

    def undo(self) -> Case | None:
        """Take the latest decision of this sitting back and give its case again; None where nothing is left."""

    def leave(self) -> None:
        """The sitting is over."""
