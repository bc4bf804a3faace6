"""A table: the one shape in which commands hand their results to a renderer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

Value = str | int | float | bool | None | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in data formats, its heading for people, and how its values are printed.

    `kind` tells a renderer that can show it what the values are: a verdict stands out. A `p` that would be printed as
    0 is printed as below the smallest number that is not: no finite experiment shows a 0.
    """

    name: str
    heading: str = ""
    digits: int = 4
    numeric: bool = False
    kind: str = ""

    @property
    def title(self) -> str:
        """What people read above the column."""
        return self.heading or self.name.replace("_", " ")


@dataclass(frozen=True, slots=True)
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

    def records(self) -> list[dict[str, Value]]:
        """Give the rows as dictionaries by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def table_of(
    columns: Sequence[Column | str], rows: Sequence[Sequence[Value]], *, caption: str = "", notes: Sequence[str] = ()
) -> Table:
    """Make a table; a column given by name alone is numeric when all its values are numbers."""
    made = [
        column if isinstance(column, Column) else Column(column, numeric=_all_numbers(row[index] for row in rows))
        for index, column in enumerate(columns)
    ]
    return Table(tuple(made), tuple(tuple(row) for row in rows), caption, tuple(notes))


def with_best(table: Table, columns: Sequence[int]) -> Table:
    """Give the table with the highest value of each of these columns in bold; equal ones, as printed, all of them."""
    if len(table.rows) < 2:
        return table
    found = set()
    for place in columns:
        column = table.columns[place]
        values = (row[place] for row in table.rows)
        known = [value for value in values if isinstance(value, int | float) and value == value]
        best = printed(max(known, default=None), column)
        found |= {(number, place) for number, row in enumerate(table.rows) if best == printed(row[place], column)}
    return replace(table, bold=table.bold | found)


def facts_table(facts: Mapping[str, Value], *, caption: str = "", notes: Sequence[str] = ()) -> Table:
    """Make a two-column table of named facts."""
    return replace(table_of(["fact", Column("value")], list(facts.items()), caption=caption, notes=notes), facts=True)


def printed(value: Value, column: Column) -> str:
    """Give a value as people read it: numbers rounded to the column's digits, nothing for None, - for no number."""
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


def _all_numbers(values: object) -> bool:
    found = [value for value in values if value is not None]  # type: ignore[attr-defined]
    return bool(found) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found)
