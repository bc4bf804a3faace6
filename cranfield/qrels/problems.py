"""Everything qrels can be refused for, each with its stable code."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cranfield.errors import LINES_KEPT, Problem, quoted
from cranfield.text import counted

REFUSALS: dict[str, tuple[str, str]] = {
    "empty": ("the file holds no judgment", "give a file with at least one judged document"),
    "too-few-columns": ("a line has too few columns", "write topic, iteration, document and grade on each line"),
    "too-many-columns": ("a line has too many columns", "write topic, iteration, document and grade on each line"),
    "missing-field": ("a row has no topic, document or grade", "fill the field or remove the row"),
    "bad-row": ("a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    "not-utf-8": ("a line is not UTF-8", "convert the file to UTF-8 first"),
    "control-character": ("a line holds a control character", "remove the character: ids are visible text"),
    "lone-carriage-return": ("a carriage return stands alone, not before a line feed", "end lines with a line feed"),
    "blank-in-id": ("an id holds white space", "rename the id: TREC files divide columns by white space"),
    "grade-not-an-integer": (
        "a grade is not a whole number of at most nine digits",
        "write grades like 0, 1 or 2; a grade below 0 means pooled but not judged",
    ),
    "repeated-pair": ("a topic and document are judged more than once", "keep one row of each pair"),
    "judged-twice": (
        "an assessor judged a topic and document more than once, at no time or the same",
        "keep one row, or give each its time",
    ),
    "bad-time": ("a time cannot be read", "write ISO 8601, like 2026-01-31T17:30Z"),
    "bad-assessor": ("the name of an assessor is not one printable line", "give a name of 1 to 80 letters"),
    "off-the-scale": ("a grade is not on the scale of this collection", "map the grades of the file to the scale"),
    "unknown-topic": ("a topic is not in this collection", "add it with cranfield corpus topics FILE"),
    "unknown-document": ("a document is not in this collection", "add it with cranfield corpus add FILE"),
}
"""Code, what it means, and what to do about it."""


def refusal(code: str, *, lines: Iterable[int] = (), count: int = 1, example: str = "", topic: str = "") -> Problem:
    """Give a problem with the words of the table; `example` is what was seen first."""
    meaning, remedy = REFUSALS[code]
    kept = tuple(int(line) for line, _ in zip(lines, range(LINES_KEPT), strict=False))
    seen = f": {quoted(example)}" if example else ""
    often = f" ({counted(count, 'line')})" if count > 1 else ""
    return Problem(code, f"{meaning}{often}{seen}", lines=kept, count=count, topic=topic, remedy=remedy)


@dataclass
class Refusals:
    """What a reader finds wrong while it goes through a file, gathered per code, in the order of the file."""

    _found: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, lines: Iterable[int], *, example: str = "") -> None:
        """Note that `code` occurs on some lines; `example` is what stands on the first."""
        places = [int(line) for line in lines]
        if not places:
            return
        kept, _ = self._found.setdefault(code, ([], example))
        kept.extend(places[: LINES_KEPT - len(kept)])
        self._counts[code] = self._counts.get(code, 0) + len(places)

    def problems(self) -> tuple[Problem, ...]:
        """Give one problem per code, in the order of the table."""
        return tuple(
            refusal(code, lines=self._found[code][0], count=self._counts[code], example=self._found[code][1])
            for code in REFUSALS
            if code in self._found
        )
