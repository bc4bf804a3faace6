"""How a CSV file is read: by pyarrow where it is in order, else row by row."""

import csv
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cranfield.errors import ProblemsFound
from cranfield.runs.csv_layout import Layout, layout_of
from cranfield.runs.fields import expected_columns
from cranfield.runs.loose import LooseRows
from cranfield.runs.problems import Findings, problem
from cranfield.runs.run import Rows
from cranfield.runs.tables import clean_rows
from cranfield.source import UTF8_BOM, Source


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
