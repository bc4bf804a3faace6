"""CSV and TSV, with a header or in MS MARCO's three columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cranfield.base.errors import ProblemsFound
from cranfield.base.files import UTF8_BOM, Source
from cranfield.runs.columns import LooseRows, Roles, clean_rows, expected_columns, roles_of
from cranfield.runs.problems import Findings, problem
from cranfield.runs.reading import run_formats
from cranfield.runs.run import Rows

if TYPE_CHECKING:
    from cranfield.runs.run import Run


# How the columns of a CSV file lie: told by its header, or guessed from its first rows.

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


@run_formats.register("csv", "tsv")
class Csv:
    """Comma, semicolon or tab separated values."""

    summary: ClassVar[str] = (
        "CSV or TSV with a header (topic, document, score, …), or without: topic document rank [score [tag]]"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a header with the columns of a run, or three to five columns that make sense as one."""
        return layout_of(head) is not None

    @staticmethod
    def read(source: Source) -> Rows:
        """Read rows; where there is a rank and no score, the score is minus the rank."""

        return read(source)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write a header and topic, document, rank, score and tag of each row, divided by commas."""
        from cranfield.runs.columns import write_csv

        write_csv(run, stream)


# How a CSV file is read: by pyarrow where it is in order, else row by row.


def read(source: Source) -> Rows:
    """Read a CSV run."""
    head = source.head()
    layout = layout_of(head)
    if layout is None:
        if not head.strip():
            return LooseRows(Findings()).rows(source)
        found = problem("bad-row", f"the columns of a run were not found; expected {expected_columns()}", lines=[1])
        raise ProblemsFound("this is not a CSV file of a run", [found.at(source.name)])
    return _at_once(source, layout) or _row_by_row(source, layout)


def _findings(layout: Layout) -> Findings:
    """Give a list of findings that begins with what had to be guessed.

    One field too many may be a decimal comma or a comma in an id: to drop the last would give another score.
    """
    findings = Findings(layout.columns, by_hand=["too-many-columns"])
    if not layout.has_header:
        findings.add("guessed-columns", [1], example=", ".join(layout.columns))
    return findings


def _at_once(source: Source, layout: Layout) -> Rows | None:
    """Read a file in perfect order; None for all others."""
    with source.open() as stream:
        data = stream.read().removeprefix(UTF8_BOM)
    if any(mark in data for mark in (b"\r", b"\0", b"\n\n", b'"')) or data.startswith(b"\n"):
        return None
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(map(str, range(len(layout.columns)))), skip_rows=int(layout.has_header)
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=layout.delimiter, quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={str(place): pa.string() for place in range(len(layout.columns))},
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    places = {column: str(place) for place, column in reversed(list(enumerate(layout.columns)))}
    parts = {part: table[places[column]] for part, column in layout.roles.items()}
    skipped = np.arange(1, 1 + layout.has_header, dtype=np.int64)
    return clean_rows(source, parts, skipped=skipped, findings=_findings(layout))


def _row_by_row(source: Source, layout: Layout) -> Rows:
    rows = LooseRows(_findings(layout), has_scores=layout.roles.score is not None)
    width = len(layout.columns)
    places = {part: layout.columns.index(column) for part, column in layout.roles.items()}
    header = layout.has_header
    for line, fields in _records(source, layout.delimiter, rows):
        if not any(fields):
            rows.skip(line)
        elif header:
            rows.skip(line)
            header = False
        elif len(fields) < width:
            rows.refuse(line, "too-few-columns", layout.delimiter.join(fields))
        else:
            if len(fields) > width:
                rows.findings.add("too-many-columns", [line], example=layout.delimiter.join(fields))
            values = {part: fields[place].strip() for part, place in places.items()}
            rows.add(line, **{part: values.get(part) for part in ("topic", "document", "score", "rank", "tag")})
    return rows.rows(source)


def _records(source: Source, delimiter: str, rows: LooseRows) -> Iterator[tuple[int, list[str]]]:
    """Give each row with the line it starts on; lines that cannot be cut into fields are noted.

    A field that spans lines would make line numbers guesswork, and no id has a line feed in it: a row is a line.
    """
    for number, data in source.byte_lines():
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in line:
            rows.refuse(number, "lone-carriage-return", line.decode("utf-8", "replace"))
            continue
        try:
            yield number, next(csv.reader([line.decode("utf-8")], delimiter=delimiter, strict=True), [])
        except UnicodeDecodeError:
            rows.refuse(number, "not-utf-8", line.decode("utf-8", "replace"))
        except csv.Error as error:
            rows.refuse(number, "bad-row", str(error))
