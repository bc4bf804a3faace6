"""How files with named columns are read: JSON lines, CSV and TSV."""

import csv
import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from cranfield.errors import ProblemsFound, quoted
from cranfield.qrels.names import role_of
from cranfield.qrels.problems import Refusals, refusal
from cranfield.qrels.rows import QrelsRows, rows_of_texts
from cranfield.source import Source

_ROLES = ("topic", "document", "grade")
_Row = tuple[int, dict[str, str]]


def read_json_lines(source: Source) -> QrelsRows:
    """Read objects, one per line; blank lines are passed over."""
    findings = Refusals()
    return _gathered(_objects(source, findings), findings, source)


def read_separated(source: Source, *, delimiter: str) -> QrelsRows:
    """Read rows under a header that names at least topic, document and grade."""
    findings = Refusals()
    return _gathered(_records(source, delimiter, findings), findings, source)


def _objects(source: Source, findings: Refusals) -> Iterator[_Row]:
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            findings.add("bad-row", [number], example=line)
            continue
        named = {role_of(str(name)): value for name, value in record.items()}
        yield number, {role: _text(named.get(role)) for role in _ROLES}


def _text(value: object) -> str:
    """Give a JSON value as the text it would have in a table: numbers as they are written, nothing for null."""
    if value is None or isinstance(value, bool | list | dict):
        return "" if value is None else json.dumps(value)
    return str(value)


def _records(source: Source, delimiter: str, findings: Refusals) -> Iterator[_Row]:
    lines = source.lines()
    header: dict[str, int] = {}
    for number, line in lines:
        if not line.strip():
            continue
        words = _split(line, delimiter)
        if not header:
            header = _header(words, source)
        elif len(words) <= max(header.values()):
            findings.add("missing-field", [number], example=line)
        else:
            yield number, {role: words[place].strip() for role, place in header.items()}


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _header(words: Iterable[str], source: Source) -> dict[str, int]:
    header: dict[str, int] = {}
    for place, word in enumerate(words):
        role = role_of(word)
        if role is not None:
            header.setdefault(role, place)
    missing = [role for role in _ROLES if role not in header]
    if missing:
        message = f"no column for {' or '.join(quoted(role) for role in missing)} in the header"
        problem = refusal("missing-field", lines=[1], example=message).at(source.name)
        raise ProblemsFound(f"{source.name}: {message}", [problem])
    return header


def _gathered(rows: Iterator[_Row], findings: Refusals, source: Source) -> QrelsRows:
    kept: list[dict[str, str]] = []
    lines: list[int] = []
    for number, row in rows:
        if not all(row.values()):
            findings.add("missing-field", [number], example=str(row))
            continue
        kept.append(row)
        lines.append(number)
    columns = {role: pa.array([row[role] for row in kept], pa.string()) for role in _ROLES}
    return rows_of_texts(columns, lines=np.array(lines, dtype=np.int64), findings=findings, source_name=source.name)
