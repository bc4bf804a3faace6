"""Rows that come one by one, with values of any type: the exact way of the readers that name their columns."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from cranfield.runs.columns import assembled, encoded
from cranfield.runs.problems import Findings
from cranfield.runs.run import NO_RANK, Rows
from cranfield.source import Source

Value = TypeVar("Value", str, float)

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_BLANK = re.compile(r"[ \t\n\r\f\v]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class _Refused(Exception):
    """A value that cannot be used, with the code that says why and what was seen."""

    def __init__(self, code: str, seen: object) -> None:
        super().__init__(code)
        self.code, self.seen = code, str(seen)


@dataclass
class LooseRows:
    """Rows gathered one by one; everything that is wrong with a row is noted.

    A row whose ids cannot be used is left out; one whose score cannot stays, with NaN, so that its ids are checked.
    Only a file without a score column takes its scores from the ranks: one missing score among others is an error.
    """

    findings: Findings
    has_scores: bool = True
    skipped: list[int] = field(default_factory=list)
    _columns: list[tuple[str, str, float, int]] = field(default_factory=list)
    _tags: dict[str, int] = field(default_factory=dict)
    _has_ranks: bool = False

    def skip(self, line: int) -> None:
        """Note a line that is not meant to give a row: a header, a blank line."""
        self.skipped.append(line)

    def refuse(self, line: int, code: str, seen: object = "") -> None:
        """Note a line that should give a row and cannot."""
        self.skipped.append(line)
        self.findings.add(code, [line], example=str(seen))

    def add(self, line: int, *, topic: object, document: object, score: object, rank: object, tag: object) -> None:
        """Add one row, or note why it cannot be."""
        place, wrong = _rank(rank), dict[str, str]()
        of_topic, of_document = _tried(_id, topic, wrong), _tried(_id, document, wrong)
        number = _tried(lambda value: self._score(value, place), score, wrong)
        name = None if tag is None or tag == "" else _tried(_id, tag, wrong)
        for code, seen in wrong.items():
            self.findings.add(code, [line], example=seen)
        if name is not None:
            self._tags.setdefault(name, line)
        if of_topic is None or of_document is None:
            self.skipped.append(line)
            return
        self._columns.append((of_topic, of_document, float("nan") if number is None else number, place))
        self._has_ranks |= rank is not None

    def _score(self, value: object, rank: int) -> float:
        if self.has_scores:
            return _score(value)
        if rank == NO_RANK:
            raise _Refused("missing-field", "")
        return -float(rank)

    def rows(self, source: Source) -> Rows:
        """Give all rows gathered."""
        topics, documents, scores, ranks = zip(*self._columns, strict=True) if self._columns else ([], [], [], [])
        return assembled(
            source,
            topics=encoded(pa.chunked_array([pa.array(topics, pa.large_string())])),
            documents=encoded(pa.chunked_array([pa.array(documents, pa.large_string())])),
            scores=np.array(scores, dtype=np.float64),
            ranks=np.array(ranks, dtype=np.int64) if self._has_ranks else None,
            tags=list(self._tags.items()),
            skipped=np.array(sorted(self.skipped), dtype=np.int64),
            findings=self.findings,
        )


def _tried(read: Callable[[object], Value], value: object, wrong: dict[str, str]) -> Value | None:
    """Give what a value is read as; None, and what is wrong noted, where it cannot be used."""
    try:
        return read(value)
    except _Refused as refused:
        wrong.setdefault(refused.code, refused.seen)
        return None


def _id(value: object) -> str:
    """Give an id as text. A whole number is its decimal digits; a fraction names nothing."""
    if value is None or value == "":
        raise _Refused("missing-field", "")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _Refused("bad-row", f"the id {value!r}")
    text = str(value)
    if _BLANK.search(text):
        raise _Refused("blank-in-id", text)
    if _CONTROL.search(text):
        raise _Refused("control-character", text)
    if _SURROGATE.search(text):
        raise _Refused("not-utf-8", text)
    return text


def _score(value: object) -> float:
    if value is None or value == "":
        raise _Refused("missing-field", "")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Refused("score-not-a-number", value)
    number = _number(value) if isinstance(value, str) else _as_double(value)
    if np.isnan(number):
        raise _Refused("score-nan", value)
    if np.isinf(number):
        raise _Refused("score-infinite", value)
    return number


def _number(text: str) -> float:
    if not any(pattern.fullmatch(text) for pattern in (_NUMBER, _NAN, _INFINITE)):
        raise _Refused("score-not-a-number", text)
    return float(text)


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _rank(value: object) -> int:
    if isinstance(value, bool):
        return NO_RANK
    if isinstance(value, int) and abs(value) < 10**18:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**15:
        return int(value)
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else NO_RANK
