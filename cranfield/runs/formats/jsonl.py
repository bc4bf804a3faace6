"""JSON lines: one object per row, with the usual spellings of topic, document and score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.json

from cranfield.base.errors import ProblemsFound
from cranfield.base.files import UTF8_BOM, Source
from cranfield.runs.columns import SPELLINGS, LooseRows, Roles, clean_rows, expected_columns, named_fields, roles_of
from cranfield.runs.problems import Findings, problem
from cranfield.runs.reading import run_formats
from cranfield.runs.run import Rows

if TYPE_CHECKING:
    from cranfield.runs.run import Run


@run_formats.register("jsonl", "json-lines", "ndjson")
class JsonLines:
    """One JSON object per line."""

    summary: ClassVar[str] = (
        'JSON lines: {"topic": "51", "document": "AP880212-0001", "score": 12.5}, rank and tag if you like'
    )
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a first line that is an object with the columns of a run."""
        line = next((line for line in head.split(b"\n") if line.strip()), b"")
        if not line.lstrip().startswith(b"{"):
            return False
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return name.endswith((".jsonl", ".ndjson"))
        return isinstance(value, dict) and roles_of(value) is not None

    @staticmethod
    def read(source: Source) -> Rows:
        """Read an object per line; ids that come as whole numbers become their decimal digits."""

        return read(source)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row."""
        from cranfield.runs.columns import write_json_lines

        write_json_lines(run, stream)


# How JSON lines are read: by pyarrow where all objects are alike, else one by one.

_ID_TYPES: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64()}


def read(source: Source) -> Rows:
    """Read a JSON lines run."""
    first = _first_object(source)
    if first is None:
        return _one_by_one(source, None)
    roles = roles_of(first)
    if roles is None:
        text = f"the fields of a run were not found in the first object; expected {expected_columns()}"
        raise ProblemsFound("this is not a JSON lines run", [problem("bad-row", text, lines=[1]).at(source.name)])
    return _at_once(source, roles, first) or _one_by_one(source, roles)


def _first_object(source: Source) -> dict[str, Any] | None:
    values = (_parsed(line) for _, line in source.byte_lines() if line.strip())
    return next((value for value in values if isinstance(value, dict)), None)


def _at_once(source: Source, roles: Roles, first: dict[str, Any]) -> Rows | None:
    """Read a file whose objects all have the types of the first; None for all others.

    Naming the types keeps pyarrow from guessing them: it would take an id like 2020-01-01 for a date. Parts that the
    first object does not have are looked out for in the others: they may carry a score that it lacks.
    """
    schema = _schema(roles, first)
    if schema is None:
        return None
    with source.open() as stream:
        data = stream.read().removeprefix(UTF8_BOM)
    if not data.isascii() and not _is_utf8(data):
        return None
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="ignore" if len(schema) == len(SPELLINGS) else "infer",
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if table.num_rows != data.count(b"\n") + (not data.endswith(b"\n")):
        return None
    if roles_of(table.column_names) != roles:
        return None
    parts = {part: _as_text(table[name], part) for part, name in roles.items()}
    return clean_rows(source, parts, skipped=np.empty(0, dtype=np.int64))


def _schema(roles: Roles, first: dict[str, Any]) -> pa.Schema | None:
    types: dict[str, pa.DataType | None] = {"score": pa.float64(), "rank": pa.int64()}
    fields = [(name, types.get(part) or _ID_TYPES.get(type(first.get(name)))) for part, name in roles.items()]
    if any(kind is None for _, kind in fields) or len({name for name, _ in fields}) < len(fields):
        return None
    return pa.schema(fields)


def _as_text(column: pa.ChunkedArray, part: str) -> pa.ChunkedArray:
    return column if part == "score" else column.cast(pa.string())


def _one_by_one(source: Source, roles: Roles | None) -> Rows:
    """Read each line by itself; the first object says what the fields are usually called."""
    rows = LooseRows(Findings(), has_scores=roles is None or _has_scores(source, roles))
    for number, line in source.byte_lines():
        if not line.strip():
            rows.skip(number)
        elif not _is_utf8(line):
            rows.refuse(number, "not-utf-8", line.decode("utf-8", "replace").strip())
        elif not isinstance(value := _parsed(line), dict) or roles is None:
            rows.refuse(number, "bad-row", line.decode("utf-8").strip())
        else:
            rows.add(number, **named_fields(value, roles))
    return rows.rows(source)


def _has_scores(source: Source, roles: Roles) -> bool:
    """Say whether any object has a score; in most files the first one has."""
    if roles.score is not None:
        return True
    values = (_parsed(line) for _, line in source.byte_lines() if line.strip())
    return any(named_fields(value, roles)["score"] is not None for value in values if isinstance(value, dict))


def _parsed(line: bytes) -> Any:
    """Give the value of a line; None if it is not JSON. Deep nesting and endless digits are no run either."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
