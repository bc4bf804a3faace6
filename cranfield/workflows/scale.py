"""How a user writes down a scale: by name, on one line, or as a TOML file."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cranfield.errors import InputError, Problem, ProblemsFound, UnknownName, quoted
from cranfield.records import BINARY, Grade, GradeScale
from cranfield.workflows.opening import read_text

NAMED = {
    "binary": BINARY,
    "graded": GradeScale(
        (
            Grade(0, "not relevant", 0.0),
            Grade(1, "marginal", 1.0),
            Grade(2, "relevant", 2.0),
            Grade(3, "highly relevant", 3.0),
        ),
        relevant_from=2,
    ),
}
_STEP = re.compile(r"\s*(-?\d+)\s*=\s*([^=,]+?)\s*")


def parse_scale(words: str, *, relevant_from: int | None = None) -> GradeScale:
    """Give the scale that `words` mean: a known name, a TOML file, or a line like `0=no, 1=partly, 2=fully`."""
    if words in NAMED:
        scale = NAMED[words]
        return scale if relevant_from is None else GradeScale(scale.grades, relevant_from)
    if words.endswith(".toml"):
        return _from_toml(Path(words), relevant_from)
    if "=" not in words:
        raise UnknownName("scale", words, [*NAMED, "FILE.toml", "0=LABEL, 1=LABEL, …"])
    return _from_line(words, relevant_from)


def _from_line(words: str, relevant_from: int | None) -> GradeScale:
    steps = [_STEP.fullmatch(part) for part in words.split(",")]
    if not all(steps):
        wrong = next(part for part, step in zip(words.split(","), steps, strict=True) if not step)
        raise InputError(f"{quoted(wrong.strip())} is not a grade; write NUMBER=LABEL, divided by commas")
    pairs = sorted((int(step[1]), step[2]) for step in steps if step)
    grades = tuple(Grade(number, label, float(number - pairs[0][0])) for number, label in pairs)
    return GradeScale(grades, _second(grades) if relevant_from is None else relevant_from)


def _from_toml(path: Path, relevant_from: int | None) -> GradeScale:
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    return scale_from(content, file=str(path), relevant_from=relevant_from)


def scale_from(content: Mapping[str, Any], *, file: str, relevant_from: int | None = None) -> GradeScale:
    """Give the scale that a TOML file describes: `relevant_from` and a list of `[[grade]]` tables."""
    unknown = [name for name in content if name not in ("grade", "relevant_from")]
    if unknown:
        raise InputError(f"{file}: unknown entry {quoted(unknown[0])} (known: relevant_from, [[grade]])")
    entries = content.get("grade")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{file}: no [[grade]] tables; each needs grade, label, and may have gain and text")
    problems = [text for index, entry in enumerate(entries, start=1) for text in _entry_problems(index, entry)]
    if problems:
        raise ProblemsFound("this is not a scale", [Problem("bad-scale", text, file=file) for text in problems])
    lowest = min(entry["grade"] for entry in entries)
    grades = tuple(
        Grade(
            entry["grade"], entry["label"], float(entry.get("gain", entry["grade"] - lowest)), entry.get("text", "")
        )
        for entry in sorted(entries, key=lambda entry: int(entry["grade"]))
    )
    chosen = content.get("relevant_from", _second(grades)) if relevant_from is None else relevant_from
    if not isinstance(chosen, int) or isinstance(chosen, bool):
        raise InputError(f"{file}: relevant_from is {quoted(chosen)}; it must be a grade")
    return GradeScale(grades, chosen)


def _entry_problems(index: int, entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return [f"grade {index} is not a table"]
    kinds: dict[str, tuple[type, ...]] = {"grade": (int,), "label": (str,), "gain": (int, float), "text": (str,)}
    problems = [f"grade {index} has no {quoted(name)}" for name in ("grade", "label") if name not in entry]
    problems += [f"grade {index} has an unknown entry {quoted(name)}" for name in entry if name not in kinds]
    problems += [
        f"grade {index}: {name} is {quoted(entry[name])}, which is of the wrong kind"
        for name, kind in kinds.items()
        if name in entry and (not isinstance(entry[name], kind) or isinstance(entry[name], bool))
    ]
    return problems


def _second(grades: tuple[Grade, ...]) -> int:
    return grades[min(1, len(grades) - 1)].grade
