"""How the columns of a CSV file lie: told by its header, or guessed from its first rows."""

import csv
import re
from dataclasses import dataclass

from cranfield.runs.fields import Roles, roles_of

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_ROWS_LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class Layout:
    """The delimiter, the name of each column, their parts, and whether the first row is a header."""

    delimiter: str
    columns: tuple[str, ...]
    roles: Roles
    has_header: bool


def layout_of(head: bytes) -> Layout | None:
    """Give the layout of a file from its first bytes, or None if it is no CSV file of a run."""
    text = head.decode("utf-8", "replace")
    lines = [line for line in text.split("\n")[:_ROWS_LOOKED_AT] if line.strip()]
    if not lines:
        return None
    delimiter = next((mark for mark in "\t,;" if mark in lines[0]), None)
    if delimiter is None:
        return None
    rows = _rows(lines, delimiter)
    roles = roles_of(rows[0]) if rows else None
    if roles is not None:
        return Layout(delimiter, tuple(rows[0]), roles, has_header=True)
    return _guessed(rows, delimiter)


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    """Cut lines into fields; what the csv module refuses (a field of megabytes) is no row to guess from."""
    try:
        return [[field.strip() for field in row] for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _guessed(rows: list[list[str]], delimiter: str) -> Layout | None:
    """Guess the parts of three to five columns without a header.

    qid pid rank (MS MARCO), qid docid score, qid docid rank score, qid docid score tag, qid docid rank score tag,
    and qid,Q0,docid,rank,score (with tabs that is a broken TREC file, and read as such). Three columns end in a rank
    if the last counts up by one in the first rows of the file.
    """
    width = len(rows[0]) if rows else 0
    if not 3 <= width <= 5 or sum(len(row) == width for row in rows) * 2 <= len(rows):
        return None
    rows = [row for row in rows if len(row) == width]
    parts = _parts(rows, width)
    if parts is None or ("Q0" in parts and delimiter == "\t"):
        return None
    score, rank, tag = (part if part in parts else None for part in ("score", "rank", "tag"))
    roles = Roles("topic", "document", score, rank, tag)
    return Layout(delimiter, tuple(parts), roles, has_header=False)


def _parts(rows: list[list[str]], width: int) -> list[str] | None:
    numeric = [_mostly(_NUMBER, [row[place] for row in rows]) for place in range(width)]
    if width == 3 and numeric[2]:
        return ["topic", "document", "rank" if _counts_up(rows) else "score"]
    if width == 4 and numeric[2]:
        return ["topic", "document", *(("rank", "score") if numeric[3] else ("score", "tag"))]
    if width == 5 and rows[0][1] == "Q0" and numeric[4]:
        return ["topic", "Q0", "document", "rank", "score"]
    if width == 5 and numeric[2] and numeric[3]:
        return ["topic", "document", "rank", "score", "tag"]
    return None


def _mostly(pattern: re.Pattern[str], values: list[str]) -> bool:
    return sum(pattern.fullmatch(value) is not None for value in values) * 2 > len(values)


def _counts_up(rows: list[list[str]]) -> bool:
    """Say whether the last column looks like ranks: whole, from 0 or 1 on, up by one within the first topic."""
    values = [row[2] for row in rows if row[0] == rows[0][0]]
    if not all(_WHOLE.fullmatch(value) for value in values):
        return False
    numbers = [int(value) for value in values]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
