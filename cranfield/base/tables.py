"""A table read from a file: a schema in; columns, and everything that is wrong with its lines, out.

A schema says how the columns are usually called, and in which words a file is refused. So all problems of a file
are reported at once, each with its lines, whatever it is a file of.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from cranfield.base.errors import LINES_KEPT, Problem, ProblemsFound, Severity, quoted
from cranfield.base.files import Source
from cranfield.base.text import counted

Row = tuple[int, dict[str, str]]
"""The line a row begins on, and its cells by column."""


class Fault(NamedTuple):
    """One thing that is looked for: its code, what it means, what to do, and what `--repair` does about it."""

    code: str
    meaning: str
    remedy: str = ""
    repair: str = ""
    severity: Severity = "error"


LINE_FAULTS = (
    Fault("bad-row", "a row cannot be parsed at all", "write one JSON object, or one CSV row, per line"),
    Fault("not-utf-8", "a line is not UTF-8", "convert the file to UTF-8 first"),
    Fault("control-character", "a line contains NUL or another control character", "remove the character"),
    Fault("lone-carriage-return", "a carriage return without a line feed", "end lines with a line feed"),
)
"""What can be wrong with a line, whatever it is a line of."""


@dataclass(frozen=True, eq=False)
class Schema:
    """What a table must have, and the words for what can be wrong with it.

    `columns` has the usual spellings of each column, best first; case does not matter, and a dash or a blank is as
    good as an underscore. A line that begins with `comment` is none. `wording` is how a message is made of a
    fault's meaning, how often it occurs, and what was seen first.
    """

    columns: Mapping[str, tuple[str, ...]]
    faults: tuple[Fault, ...] = ()
    needed: tuple[str, ...] = ()
    comment: str = ""
    wording: str = "{meaning}{often}{seen}"

    def roles(self, names: Iterable[str]) -> Mapping[str, str]:
        """The name of the column that is each of ours; one serves once, and the first of two alike."""
        return _roles(self, tuple(names))

    def problem(
        self,
        code: str,
        message: str = "",
        *,
        meaning: str = "",
        example: str = "",
        lines: Collection[int] = (),
        count: int = 0,
        topic: str = "",
        severity: Severity | None = None,
        remedy: str = "",
        repairable: bool = True,
    ) -> Problem:
        """A problem in the words of the schema, unless others fit the case better.

        It occurs on each of the lines, unless its count is another. Without `repairable` it has to be mended by hand,
        though the schema knows a repair for other cases.
        """
        count = count or max(len(lines), 1)
        fault = next(fault for fault in self.faults if fault.code == code)
        seen = f": {quoted(example)}" if example else ""
        often = f" ({counted(count, 'line')})" if count > 1 else ""
        remedy, repairable = remedy or fault.remedy, repairable and bool(fault.repair)
        return Problem(
            code,
            message or self.wording.format(meaning=meaning or fault.meaning, often=often, seen=seen),
            severity=severity or fault.severity,
            lines=tuple(int(line) for line, _ in zip(lines, range(LINES_KEPT), strict=False)),
            count=count,
            topic=topic,
            remedy=f"{remedy}; --repair {fault.repair}" if repairable else remedy,
            repairable=repairable,
        )


def spelled(name: str) -> str:
    """The name of a column as the spellings of a schema have it."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


@lru_cache(maxsize=1024)
def _roles(schema: Schema, names: tuple[str, ...]) -> Mapping[str, str]:
    free = {spelled(name): name for name in reversed(names)}
    found = {}
    for role, spellings in schema.columns.items():
        if spelling := next((word for word in spellings if word in free), None):
            found[role] = free.pop(spelling)
    return found


@dataclass
class Findings:
    """What a reader finds wrong while it goes through a file, gathered by code.

    `columns` are those that a line should have; `by_hand` are codes that have no one right answer in this format.
    """

    schema: Schema
    columns: Sequence[str] = ()
    by_hand: Sequence[str] = ()
    _found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, code: str, lines: Sequence[int] | Any, *, example: str = "", meaning: str = "") -> None:
        """Note that `code` occurs on some lines, which rise; `example` is what stands on the first."""
        if len(lines):
            words = {"example": example, "meaning": meaning, "lines": [], "count": 0}
            found = self._found.setdefault(code, words)
            found["lines"] = sorted([*found["lines"], *lines[:LINES_KEPT]])[:LINES_KEPT]
            found["count"] += len(lines)

    def problems(self) -> tuple[Problem, ...]:
        """One problem per code, in the order of the schema."""
        found = []
        for code in [fault.code for fault in self.schema.faults if fault.code in self._found]:
            problem = self.schema.problem(code, **self._found[code], repairable=code not in self.by_hand)
            if code in ("too-few-columns", "too-many-columns") and self.columns:
                expected = f"; expected {quoted(', '.join(self.columns), limit=200)}"
                problem = replace(problem, message=problem.message + expected)
            found.append(problem)
        return tuple(found)


@dataclass(frozen=True)
class Columns:
    """The rows of a table as columns of text, the line of each row, and what is wrong with the others."""

    source: Source
    lines: list[int]
    values: dict[str, list[str]]
    findings: Findings

    @staticmethod
    def of(source: Source, schema: Schema) -> Columns:
        """A table with the columns of a schema, without rows yet."""
        return Columns(source, [], {column: [] for column in schema.columns}, Findings(schema))

    def add(self, line: int, cells: Iterable[str]) -> None:
        """Add a row, its cells in the order of the columns."""
        self.lines.append(line)
        for column, cell in zip(self.values.values(), cells, strict=True):
            column.append(cell)

    def fill(self, rows: Iterable[Row]) -> Columns:
        """Add rows; one that lacks what is needed is refused, what it may lack is empty there."""
        schema = self.findings.schema
        for line, row in rows:
            if all(row.get(role) for role in schema.needed):
                self.add(line, [row.get(role, "") for role in schema.columns])
            else:
                self.findings.add("missing-field", [line], example=str(row))
        return self

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The line and the cells of each row."""
        return zip(self.lines, *self.values.values(), strict=True)

    def refuse(self, summary: str) -> None:
        """Raise everything that was found, in the order of the file; a file without rows is found empty."""
        if not self.lines:
            self.findings.add("empty", [] if self.findings.problems() else [1])
        if problems := self.findings.problems():
            placed = [problem.at(self.source.name) for problem in problems]
            raise ProblemsFound(f"{self.source.name}: {summary}", sorted(placed, key=lambda problem: problem.lines))


def read_table(source: Source, schema: Schema, *, delimiter: str = "", multiline: bool = False) -> Columns:
    """Read JSON lines or, with a delimiter, rows under a header; in `multiline` ones a quoted cell may span lines."""
    table = Columns.of(source, schema)
    return table.fill(_separated(table, delimiter, multiline=multiline) if delimiter else _objects(table))


def read_list(source: Source, schema: Schema) -> Columns:
    """Read lines with a cell for each column, tabs between them and no header; blank lines and comments are none."""
    table = Columns.of(source, schema)
    for line, text in source.lines():
        cells = [cell.strip() for cell in text.strip().split("\t")]
        if not text.strip() or (schema.comment and text.startswith(schema.comment)):
            continue
        if len(cells) == len(schema.columns) and all(cells):
            table.add(line, cells)
        else:
            table.findings.add("bad-row", [line], example=text)
    return table


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a line is, if it is one. Deep nesting and endless digits are none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def csv_rows(
    lines: Iterable[str], delimiter: str = ",", *, strict: bool = False
) -> Iterator[tuple[int, list[str] | str]]:
    """The line that each row begins on, and its cells, or what keeps it from being cut into cells.

    Semicolons serve as commas where the first line has no comma: so spreadsheets write where numbers have one.
    """
    lines = iter(lines)
    first = next(lines, "")
    delimiter = ";" if delimiter == "," and ";" in first and "," not in first else delimiter
    rows = csv.reader(chain([first], lines) if first else [], delimiter=delimiter, strict=strict)
    while True:
        line = rows.line_num + 1
        try:
            yield line, next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, str(error)


def _objects(table: Columns) -> Iterator[Row]:
    for line, text in table.source.lines():
        if not text.strip():
            continue
        if (record := object_in(text)) is None:
            table.findings.add("bad-row", [line], example=text)
            continue
        roles, row = table.findings.schema.roles(record), dict.fromkeys(table.values, "")
        for role, name in roles.items():
            value = record[name]
            if value is not None:  # as a table would have it: numbers as they are written, nothing for null
                row[role] = json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
        yield line, row


def _separated(table: Columns, delimiter: str, *, multiline: bool) -> Iterator[Row]:
    schema, places = table.findings.schema, dict[str, int]()
    lines = table.source.lines()
    rows: Iterable[tuple[int, list[str] | str]] = (
        csv_rows((f"{text}\n" for _, text in lines), delimiter)
        if multiline
        else ((line, cells) for line, text in lines for _, cells in csv_rows([text], delimiter))
    )
    for line, cells in rows:
        if isinstance(cells, str):
            table.findings.add("bad-row", [line])
        elif not any(cell.strip() for cell in cells):
            continue
        elif not places:
            places = {role: cells.index(name) for role, name in schema.roles(cells).items()}
            if missing := [quoted(role) for role in schema.needed if role not in places]:
                message = f"no column for {' or '.join(missing)} in the header"
                problem = schema.problem("missing-field", lines=[1], example=message).at(table.source.name)
                raise ProblemsFound(f"{table.source.name}: {message}", [problem])
        elif len(cells) <= max(places[role] for role in schema.needed):
            table.findings.add("missing-field", [line], example=delimiter.join(cells))
        else:
            by_place = sorted(places.items(), key=lambda item: item[1])
            yield line, {role: cells[place].strip() for role, place in by_place if place < len(cells)}
