"""A table: how it is read from a file, and the one shape in which results reach people, files and frames."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from math import isfinite
from typing import Any, Literal, NamedTuple

from cranfield.base.errors import LINES_KEPT, Problem, ProblemsFound, Severity, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.text import counted, visible_line

with deferred:
    import html as entities

    import pandas as pd


Value = str | int | float | bool | None | tuple[int, ...]

NUMBERS = ("number", "p")
"""The kinds of column that hold numbers: they stand to the right, and a gap among them is NaN in a frame."""

ROWS_IN_HTML = 60


@dataclass(frozen=True)
class Column:
    """A column: its name in data formats, its heading for people, how its values are printed and what they mean.

    `kind` is text, number, p or verdict. A `p` that would be
    printed as 0 is printed as below the smallest number that is not: no finite experiment shows a 0.
    """

    name: str
    heading: str = ""
    kind: str = "text"
    digits: int = 4
    meaning: str = ""

    @property
    def title(self) -> str:
        """What people read above the column."""
        return self.heading or self.name.replace("_", " ")

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.kind in NUMBERS


Number = partial(Column, kind="number")
"""A column of numbers."""


class Cell(NamedTuple):
    """One cell as people read it: its text, whether that stands out, and what it is made of."""

    column: Column
    value: Value
    text: str
    bold: bool

    @property
    def is_verdict(self) -> bool:
        """Whether it says how far something can be trusted: that stands out where a surface can show it."""
        return self.column.kind == "verdict" and bool(self.value)


@dataclass(frozen=True)
class Table:
    """Columns and rows, with a caption and notes for people; data formats carry the rows alone.

    A table of `facts` has the columns fact and value, and is one object in JSON. `bold` are the (row, column) of
    cells that stand out.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    facts: bool = False
    bold: frozenset[tuple[int, int]] = frozenset()

    def cells(self, escape: Callable[[str], str]) -> Iterator[list[Cell]]:
        """The rows as every surface writes them, in text that is escaped for it."""
        for number, row in enumerate(self.rows):
            texts = map(escape, map(printed, row, self.columns))
            bold = [(number, place) in self.bold for place in range(len(row))]
            yield list(map(Cell, self.columns, row, texts, bold))

    def records(self) -> list[dict[str, Value]]:
        """The rows as dictionaries by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame, under the names of data formats; numbers are never rounded.

        A column of numbers in which some are missing is one of floats, with NaN for them.
        """
        series = {}
        for place, column in enumerate(self.columns):
            cells = [row[place] for row in self.rows]
            gaps = not cells or None in cells
            kind = None if not gaps else "float64" if column.numeric else "object"
            series[column.name] = pd.Series(cells, dtype=kind)
        return pd.DataFrame(series)

    def select(self, places: Sequence[int]) -> Table:
        """The table with these columns alone."""
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
            bold=frozenset((row, places.index(column)) for row, column in self.bold if column in places),
        )


Surface = Literal["terminal", "pipe", "document", "data"]
"""Where a result goes: tables to a terminal or through a pipe, into a document (Markdown, LaTeX), or as data."""


class Shown(NamedTuple):
    """A result as a command shows it: sentences before the tables, the tables, and sentences after them."""

    notes: Sequence[str]
    tables: Iterable[Table]
    remarks: Sequence[str]


class Result:
    """What a command gives, in Python and on the command line.

    A result declares `table`; where people read something else than files and frames carry, `tables` too. Sentences
    go to standard error: `notes` before the table, `remarks` after it. `wide` tables are of many numbers: on a narrow
    terminal they are cut into several, while others fold. With `only_notes` the sentences say
    it all, and people see no table; with `only_rows` they see none that is empty.
    """

    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    wide = False
    only_notes = False
    only_rows = False

    def table(self) -> Table:
        """The rows as data formats and frames have them."""
        raise NotImplementedError

    def tables(self) -> Iterable[Table]:
        """What people read."""
        table = self.table()
        return [] if self.only_notes or (self.only_rows and not table.rows) else [table]

    def on(self, surface: Surface) -> Shown:
        """The result for a surface. One whose tables depend on it says so here."""
        return Shown(self.notes, [self.table()] if surface == "data" else self.tables(), self.remarks)

    def attributes(self) -> Mapping[str, object]:
        """What is the same in all rows, for the attributes of the frame."""
        return {}

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame; its `attrs` have the notes, and what is the same in all rows."""
        frame = self.table().frame()
        frame.attrs.update(self.attributes(), notes=[*self.notes, *self.remarks])
        return frame

    def _repr_html_(self) -> str:
        return html(self.tables(), notes=[*self.notes, *self.remarks])


def table_of(
    columns: Sequence[Column | str], rows: Sequence[Sequence[Value]], *, caption: str = "", notes: Sequence[str] = ()
) -> Table:
    """Make a table; a column given by name alone is one of numbers when all its values are."""
    made = []
    for place, column in enumerate(columns):
        if isinstance(column, str):
            cells = [row[place] for row in rows if row[place] is not None]
            numbers = all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)
            column = Column(column, kind="number" if cells and numbers else "text")
        made.append(column)
    return Table(tuple(made), tuple(tuple(row) for row in rows), caption, tuple(notes))


def facts_table(facts: Mapping[str, Value], *, caption: str = "") -> Table:
    """Make a two-column table of named facts."""
    return replace(table_of(["fact", Column("value")], list(facts.items()), caption=caption), facts=True)


@dataclass(frozen=True)
class Changed(Result):
    """What a command has changed: some facts, and sentences about them, which are all that people see."""

    facts: Mapping[str, Value]
    notes: tuple[str, ...] = field(default=(), compare=False)
    only_notes = True

    def table(self) -> Table:
        """The facts."""
        return facts_table(self.facts)


@dataclass(frozen=True)
class Listing(Result):
    """A table, and perhaps a `short` one for the screen."""

    full: Table
    short: Table | None = None
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()

    def table(self) -> Table:
        """All of it."""
        return self.full

    def tables(self) -> list[Table]:
        """What fits on a screen."""
        return [self.short or self.full]


def with_best(table: Table, columns: Sequence[int]) -> Table:
    """The table with the highest value of each of these columns in bold; equal ones, as printed, all of them."""
    if len(table.rows) < 2:
        return table
    bold = set(table.bold)
    for place in columns:
        column = table.columns[place]
        values = (row[place] for row in table.rows)
        known = [value for value in values if isinstance(value, int | float) and value == value]
        best = printed(max(known, default=None), column)
        bold |= {(number, place) for number, row in enumerate(table.rows) if best == printed(row[place], column)}
    return replace(table, bold=frozenset(bold))


def printed(value: Value, column: Column) -> str:
    """A value as people read it: numbers rounded to the column's digits, nothing for None, - for no number."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not isfinite(value):
        return "-"
    if isinstance(value, float):
        text = f"{value:.{column.digits}f}"
        if column.kind == "p" and 0 <= value < 10.0**-column.digits:
            return f"<{10.0**-column.digits:.{column.digits}f}"
        return text.removeprefix("-") if text.strip("-0.") == "" else text  # a loss of -0.00001 is no minus
    if isinstance(value, tuple):
        return ", ".join(str(number) for number in value)
    return f"{value:,}" if isinstance(value, int) else value


def html_text(text: str) -> str:
    """Foreign text as one harmless line of HTML."""
    return entities.escape(visible_line(text))


def html(tables: Iterable[Table], *, heading: str = "", notes: Iterable[str] = ()) -> str:
    """Tables as HTML that stands in somebody else's page, a notebook: no script, and no style that leaks."""
    parts = [f"<p><strong>{html_text(heading)}</strong></p>"] if heading else []
    for table in tables:
        # Notebooks put everything to the right, as numbers: words need a style of their own.
        sides = ["" if column.numeric else ' style="text-align: left"' for column in table.columns]
        titles = zip(sides, table.columns, strict=True)
        head = "".join(f'<th scope="col"{side}>{html_text(column.title)}</th>' for side, column in titles)
        rows = []
        for cells in islice(table.cells(html_text), ROWS_IN_HTML):
            texts = (f"<strong>{one.text}</strong>" if one.bold or one.is_verdict else one.text for one in cells)
            rows.append("".join(f"<td{side}>{text}</td>" for side, text in zip(sides, texts, strict=True)))
        caption = f"<caption>{html_text(table.caption)}</caption>" if table.caption else ""
        body = f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody>"
        cut = [f"the first {ROWS_IN_HTML} of {len(table.rows):,} rows"] if len(table.rows) > ROWS_IN_HTML else []
        parts.append(f'<table class="dataframe">{caption}<thead><tr>{head}</tr></thead>{body}</table>')
        parts += [f"<p>{html_text(note)}</p>" for note in (*table.notes, *cut)]
    return f"<div>{''.join(parts)}{''.join(f'<p>{html_text(note)}</p>' for note in notes)}</div>"


# A table as plain text, where there is no terminal that it would have to fit.


_OUR_SIGNS = str.maketrans("–…", "-.")
"""What our own tables have beside ASCII, each as wide as one letter: the dash of intervals, and where text is cut."""


def plain_text(table: Table) -> str | None:
    """The text that is drawn on a terminal wide enough, without colours.

    None where there are other letters than ASCII and our own signs: how much room they take is for whoever draws them
    to know.
    """
    columns = [column_texts(table, place) for place in range(len(table.columns))]
    caption, notes = visible_line(table.caption), [visible_line(note) for note in table.notes]
    if not all(text.translate(_OUR_SIGNS).isascii() for texts in (*columns, [caption], notes) for text in texts):
        return None
    lines = [caption] if caption else []
    if table.rows:
        widths = [max(1, *map(len, texts)) for texts in columns]
        head, *rows = [
            "  ".join(
                text.rstrip().rjust(width) if column.numeric else text.ljust(width)
                for text, width, column in zip(cells, widths, table.columns, strict=True)
            )
            for cells in zip(*columns, strict=True)
        ]
        lines += [f"{head} ", "─" * (len(head) + 1), *(f"{row} " for row in rows)]
    return "".join(f"{line}\n" for line in (*lines, *notes))


def column_texts(table: Table, place: int) -> list[str]:
    """What stands in a column, its title first, as it is seen."""
    column = table.columns[place]
    return [visible_line(text) for text in (column.title, *(printed(row[place], column) for row in table.rows))]


# Cells that a spreadsheet would take for a formula, and run: `=cmd|…` in a note, `@SUM(…)` as a name.

_FORMULA = re.compile(r"'*+[=+\-@\t\r].", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?%?")


def harmless_cell(text: str) -> str:
    """Text as a spreadsheet shows it: behind an apostrophe where it would be a formula; numbers are none."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def cell_as_meant(text: str) -> str:
    """The text that `harmless_cell` was made of."""
    return text[1:] if text.startswith("'") and harmless_cell(text[1:]) == text else text


# A table read from a file: a schema in; columns, and everything that is wrong with its lines, out.
#
# A schema says how the columns are usually called, and in which words a file is refused. So all problems of a file
# are reported at once, each with its lines, whatever it is a file of.

Row = tuple[int, dict[str, str]]
"""The line a row begins on, and its cells by column."""


@dataclass(frozen=True)
class Fault:
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
    faults: tuple[Fault, ...]
    needed: tuple[str, ...]
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
        lines: Iterable[int] = (),
        count: int = 1,
        topic: str = "",
        severity: Severity | None = None,
        remedy: str = "",
        repairable: bool = True,
    ) -> Problem:
        """A problem in the words of the schema, unless others fit the case better.

        Without `repairable` it has to be mended by hand, though the schema knows a repair for other cases.
        """
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
    def of(source: Source, columns: Iterable[str], findings: Findings) -> Columns:
        """A table without rows yet."""
        return Columns(source, [], {column: [] for column in columns}, findings)

    def add(self, line: int, cells: Iterable[str]) -> None:
        """Add a row, its cells in the order of the columns."""
        self.lines.append(line)
        for column, cell in zip(self.values.values(), cells, strict=True):
            column.append(cell)

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
    """Read JSON lines or, with a delimiter, rows under a header; in `multiline` ones a quoted cell may span lines.

    A row that lacks what is needed is refused; what it may lack is empty there.
    """
    table = Columns.of(source, schema.columns, Findings(schema))
    for line, row in _separated(table, delimiter, multiline=multiline) if delimiter else _objects(table):
        if all(row.get(role) for role in schema.needed):
            table.add(line, [row.get(role, "") for role in schema.columns])
        else:
            table.findings.add("missing-field", [line], example=str(row))
    return table


def read_list(source: Source, schema: Schema) -> Columns:
    """Read lines with a cell for each column, tabs between them and no header; blank lines and comments are none."""
    table = Columns.of(source, schema.columns, Findings(schema))
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
    """The line that each row begins on, and its cells, or what keeps it from being cut into cells."""
    rows = csv.reader(lines, delimiter=delimiter, strict=strict)
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
