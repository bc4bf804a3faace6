"""From digits typed to a grade of the scale.

A digit judges at once where no other grade begins with what was typed: on a scale of 0 to 3 every digit does. Where
one does (1 and 10), the program waits for the next digit, or for Enter.
"""

from dataclasses import dataclass
from typing import Literal

from assessor_ui import messages
from assessor_ui.messages import Notice
from cranfield.records import GradeScale


@dataclass(frozen=True, slots=True)
class Typed:
    """What the digits typed so far mean: a grade, the beginning of one, or nothing on this scale."""

    state: Literal["grade", "open", "unknown"]
    digits: str
    grade: int | None = None
    """The grade the digits name by themselves, if any."""


def typed(scale: GradeScale, digits: str) -> Typed:
    """Say what the digits typed so far mean."""
    names = {str(step.grade): step.grade for step in scale.grades}
    grade = names.get(digits)
    if any(name != digits and name.startswith(digits) for name in names):
        return Typed("open", digits, grade)
    return Typed("unknown" if grade is None else "grade", digits, grade)


class GradeKeys:
    """The digits somebody is typing."""

    def __init__(self, scale: GradeScale) -> None:
        self._scale, self.digits = scale, ""

    def press(self, digit: str) -> int | Notice:
        """Take a digit: give the grade that is meant, or say what is still open."""
        meaning = typed(self._scale, self.digits + digit)
        self.digits = meaning.digits if meaning.state == "open" else ""
        if meaning.state == "open":
            return messages.grade_open(meaning.digits, meaning.grade)
        return messages.not_on_scale(meaning.digits, self._scale) if meaning.grade is None else meaning.grade

    def enter(self) -> int | Notice | None:
        """Take what was typed as it stands; None where nothing was."""
        digits, self.digits = self.digits, ""
        if not digits:
            return None
        grade = typed(self._scale, digits).grade
        return messages.not_on_scale(digits, self._scale) if grade is None else grade

    def clear(self) -> bool:
        """Forget what was typed; say whether there was anything."""
        digits, self.digits = self.digits, ""
        return bool(digits)
