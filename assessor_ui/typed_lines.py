"""What a typed line means: a grade, a grade with a note, or neither. Both plain fronts read lines by this."""

import re
from dataclasses import dataclass

_GRADE = re.compile(r"(?P<grade>[0-9]{1,9})(?:(?::| note) +(?P<note>\S.*))?")
_BEGINS_WITH_ONE = re.compile(r"(?P<grade>[0-9]{1,9})\b(?![.][0-9])")

FORMS = "a grade alone judges; GRADE: TEXT or GRADE note TEXT judges with a note"


@dataclass(frozen=True, slots=True)
class TypedGrade:
    """A grade that was typed, with the note that came with it."""

    grade: int
    note: str = ""


def grade_of(line: str) -> TypedGrade | None:
    """Give the grade a line gives: `2`, `2: a note` or `2 note a note`; None for any other line.

    A remark that only begins with a digit ("2 or 3: hard to say") is no grade: nobody can tell whether it was meant
    as one, and a grade must never be given by mistake. After the colon a blank is needed ("2:30 in the oven").
    """
    found = _GRADE.fullmatch(line)
    return None if found is None else TypedGrade(int(found["grade"]), (found["note"] or "").strip())


def asked_back(line: str) -> str:
    """Give the question for a line that begins with a digit and is no grade; empty for any other line."""
    found = _BEGINS_WITH_ONE.match(line)
    if found is None or grade_of(line) is not None:
        return ""
    grade = found["grade"]
    return f"is this a grade? nothing was saved; {grade} alone judges, {grade}: TEXT judges with a note"
