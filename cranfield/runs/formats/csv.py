"""CSV and TSV, with a header or in MS MARCO's three columns."""

from __future__ import annotations

import csv
import re
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cranfield.base.files import Source
from cranfield.base.tables import Columns, Findings, csv_rows
from cranfield.runs import reading
from cranfield.runs.columns import LineNumbers
from cranfield.runs.run import Rows, Run
from cranfield.runs.words import WORD, parsed_words

_NUMBER = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]++)?")
_ROWS_LOOKED_AT = 50


class Layout(NamedTuple):
    """The delimiter, the name of each column, the place of each part, and whether the first row is a header."""

    delimiter: str
    columns: tuple[str, ...]
    places: dict[str, int]
    has_header: bool


@reading.run_formats.register("csv", "tsv")
class Csv:
    """Comma, semicolon or tab separated values."""

    summary = "CSV or TSV with a header (topic, document, score, …), or without: topic document rank|score"
    suffixes = (".csv", ".tsv")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a header with the columns of a run, or three columns of which the last has numbers."""
        return layout_of(head) is not None

    @staticmethod
    def read(source: Source) -> Rows:
        """Read rows; where there is a rank and no score, the score is minus the rank."""
        head = source.head()
        layout = layout_of(head)
        if layout is not None:
            # One field too many may be a decimal comma, or one in an id: to drop the last would give another score.
            findings = Findings(reading.RUN, layout.columns, by_hand=["too-many-columns"])
            if not layout.has_header:
                findings.add("guessed-columns", [1], example=", ".join(layout.columns))
            rows = _at_once(source, layout, findings)
            return _row_by_row(source, layout, findings) if rows is None else rows
        if not head.strip():
            return reading.rows_in(Columns.of(source, reading.RUN))
        raise reading.not_a_run(source, "CSV file", [1])

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write a header and topic, document, rank, score and tag of each row, divided by commas."""
        stream.write(b"topic,document,rank,score,tag\n")
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
        for part in reading.columns_of(run):
            pyarrow.csv.write_csv(pa.table(part), stream, options)


def layout_of(head: bytes) -> Layout | None:
    """The layout of a file from its first bytes, or None if it is no CSV file of a run."""
    lines = [line for line in head.decode("utf-8", "replace").split("\n")[:_ROWS_LOOKED_AT] if line.strip()]
    delimiter = next((mark for mark in "\t,;" if mark in lines[0]), None) if lines else None
    if delimiter is None:
        return None
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:  # a field of megabytes is nothing to guess from
        return None
    roles = reading.roles_of(rows[0]) if rows else None
    if roles is not None:
        places = {part: rows[0].index(column) for part, column in roles.items()}
        return Layout(delimiter, tuple(rows[0]), places, has_header=True)
    # Without a header there are three columns: topic, document, and a rank (MS MARCO) or a score.
    fitting = [row for row in rows if len(row) == 3]
    if 2 * sum(_NUMBER.fullmatch(row[2]) is not None for row in fitting) <= len(rows):
        return None
    # Ranks count up by one, from 0 or 1 on, in the first topic of the file.
    first = [row[2] for row in fitting if row[0] == fitting[0][0]]
    is_rank = any(first == [str(rank) for rank in range(start, start + len(first))] for start in (0, 1))
    parts = ("topic", "document", "rank" if is_rank else "score")
    return Layout(delimiter, parts, {part: place for place, part in enumerate(parts)}, has_header=False)


def _at_once(source: Source, layout: Layout, findings: Findings) -> Rows | None:
    """Read a file in perfect order, by pyarrow; None for all others."""
    data = source.head(-1)
    if any(mark in data for mark in (b"\r", b"\0", b"\n\n", b'"')) or data.startswith(b"\n"):
        return None
    first = data.find(b"\n") if layout.has_header else 0
    blanks = [blank for blank in (b" ", b"\t") if blank.decode() != layout.delimiter]
    if any(data.find(blank, first) >= 0 for blank in blanks):  # cells are stripped one by one
        return None
    text, types = data[first:].removeprefix(b"\n"), dict.fromkeys(map(str, range(len(layout.columns))), WORD)
    table = parsed_words(text, layout.delimiter, types, rows=text.count(b"\n") + (not text.endswith(b"\n")))
    if table is None:
        return None
    parts = {part: table[str(place)] for part, place in layout.places.items()}
    return reading.rows_of(source, parts, LineNumbers(np.arange(1, 1 + layout.has_header)), findings)


def _row_by_row(source: Source, layout: Layout, findings: Findings) -> Rows:
    """Read any file at all: a row is a line, since no id has a line feed in it, and line numbers are sure so."""
    table = Columns(source, [], {part: [] for part in layout.places}, findings)
    width, header = len(layout.columns), layout.has_header
    for number, data in source.byte_lines():
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        try:
            _, cells = next(csv_rows([line.decode("utf-8")], layout.delimiter, strict=True), (0, []))
        except UnicodeDecodeError:
            cells = None
        if b"\r" in line:
            findings.add("lone-carriage-return", [number], example=line.decode("utf-8", "replace"))
        elif cells is None:
            findings.add("not-utf-8", [number], example=line.decode("utf-8", "replace"))
        elif isinstance(cells, str):
            findings.add("bad-row", [number], example=cells)
        elif not any(cells) or header:
            header = header and not any(cells)
        elif len(cells) < width:
            findings.add("too-few-columns", [number], example=layout.delimiter.join(cells))
        else:
            if len(cells) > width:
                findings.add("too-many-columns", [number], example=layout.delimiter.join(cells))
            table.add(number, [cells[place].strip() for place in layout.places.values()])
    return reading.rows_in(table)
