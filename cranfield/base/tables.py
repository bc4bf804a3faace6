"""A table: the one shape in which commands hand their results to a renderer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from cranfield.base.text import cell_width, shortened_in_the_middle, visible_line

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


# A table for people as plain text, where there is no terminal that it would have to fit.

_GAP = "  "
_RULE = "─"


def plain_text(table: Table) -> str | None:
    """Give the text that is drawn on a terminal wide enough, without colours.

    None where not everything is ASCII: how much room other letters take is for whoever draws them to know.
    """
    cells = [
        [visible_line(column.title) for column in table.columns],
        *(
            [visible_line(printed(value, column)) for column, value in zip(table.columns, row, strict=True)]
            for row in table.rows
        ),
    ]
    around = [visible_line(text) for text in ([table.caption] if table.caption else [])]
    notes = [visible_line(note) for note in table.notes]
    if not all(text.isascii() for row in (*cells, around, notes) for text in row):
        return None
    lines = [*around, *(_drawn(table, cells) if table.rows else ()), *notes]
    return "".join(f"{line}\n" for line in lines)


def _drawn(table: Table, cells: list[list[str]]) -> list[str]:
    widths = [max(1, *(len(row[place]) for row in cells)) for place in range(len(table.columns))]
    head, *rows = [
        _GAP.join(
            text.rstrip().rjust(width) if column.numeric else text.ljust(width)
            for text, width, column in zip(row, widths, table.columns, strict=True)
        )
        for row in cells
    ]
    return [f"{head} ", _RULE * (len(head) + 1), *(f"{row} " for row in rows)]


# Tables that are too wide for a surface, turned on their side or cut into several that fit.

_GAP_FITTING, _EDGES = 2, 1
"""What a terminal has between two columns, and after all of them."""

_SHORTEST = 8
"""To how many cells a name is cut where there is no room."""

_FOLDED_TITLE = 3
"""To how many cells a title is folded before a name is."""

UNCUT, _LONGEST_NUMBER = 14, 24
"""Words up to these many cells are not folded; what is longer than the other is no number."""


def fitted(table: Table, width: int) -> list[Table]:
    """Give a table of a key column and numbers as tables that fit into `width` characters.

    One with fewer rows than number columns is turned on its side, if that fits: numbers stay below their like.
    Otherwise the columns are dealt out from the first number on, and each table repeats the columns before that;
    where these leave no room for a number they are cut in the middle, as long as different names stay different.
    A number is never cut: where nothing else helps, a table is wider than `width`.
    """
    if width_of(table) <= width:
        return [table]
    numbers = [place for place, column in enumerate(table.columns) if column.numeric]
    if numbers == list(range(1, len(table.columns))) and len(table.rows) < len(numbers):
        turned = _turned(table)
        if width_of(turned) <= width:
            return [turned]
    first = max(numbers[0], 1) if numbers else len(table.columns)
    return _dealt_out(_with_short_keys(table, first, width), first, width)


def width_of(table: Table) -> int:
    """Give how many characters a terminal needs for a table."""
    return (
        sum(_column_width(table, place) + _GAP_FITTING for place in range(len(table.columns))) - _GAP_FITTING + _EDGES
    )


def least_width(texts: Sequence[str], *, numeric: bool, title_whole: bool = True) -> int:
    """Give how narrow a column can be, its title the first of its texts: numbers stay whole, other words fold.

    A title folds between its words, over numbers too; within them if it need not stay whole. What is longer than any
    number among numbers is a name there.
    """
    title, *cells = texts
    whole = [cell for cell in cells if cell_width(cell) <= _LONGEST_NUMBER] if numeric else []
    others = [word for cell in (() if numeric and len(whole) == len(cells) else cells) for word in cell.split()]
    folding = min(max(map(cell_width, others), default=1), UNCUT)
    longest = max(map(cell_width, title.split()), default=1)
    heading = longest if title_whole else min(longest, _FOLDED_TITLE)
    return max([folding, heading if numeric else min(heading, UNCUT), *map(cell_width, whole)])


def column_texts(table: Table, place: int) -> list[str]:
    """Give what stands in a column, its title first, as it is seen."""
    column = table.columns[place]
    return [visible_line(text) for text in (column.title, *(printed(row[place], column) for row in table.rows))]


def _column_width(table: Table, place: int) -> int:
    return max(map(cell_width, column_texts(table, place)))


def _with_short_keys(table: Table, first: int, width: int) -> Table:
    """Give the table with the columns before the first number so narrow that the widest number fits beside them."""
    others = range(first, len(table.columns))
    widest = max((_needed(table, place) for place in others), default=0)
    widths = [_column_width(table, place) for place in range(first)]
    room = width - _EDGES - widest - _GAP_FITTING * first
    if sum(widths) <= room or not others:
        return table
    words = [place for place in range(first) if not table.columns[place].numeric]
    # One list for all of them: a run must not look like the one that stands against it.
    names = [text for place in words for text in column_texts(table, place)[1:]]
    short = _short_names(names, _most_each(widths, min(room, width // 2)))
    return replace(table, rows=tuple(_with_names(table, row, words, short) for row in table.rows))


def _with_names(table: Table, row: tuple[Value, ...], places: list[int], short: dict[str, str]) -> tuple[Value, ...]:
    changed = list(row)
    for place in places:
        changed[place] = short.get(visible_line(printed(row[place], table.columns[place])), row[place])
    return tuple(changed)


def _needed(table: Table, place: int) -> int:
    texts, numeric = column_texts(table, place), table.columns[place].numeric
    return max(least_width(texts, numeric=numeric), cell_width(texts[0]) if numeric else 0)


def _most_each(widths: Sequence[int], room: int) -> int:
    """Give the width to which columns are cut, the widest first, so that all of them take no more than the room."""
    fitting = (most for most in range(max(widths), _SHORTEST, -1) if sum(min(one, most) for one in widths) <= room)
    return next(fitting, _SHORTEST)


def _short_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Give names cut in the middle, somewhat to one side if need be; whole where different ones would look alike."""
    different = set(names)
    for head in (width // 2, width // 3, width - 1 - width // 3, 1, width - 2):
        short = {name: shortened_in_the_middle(name, width, head=head) for name in different}
        if len(set(short.values())) == len(different):
            return short
    return {}


def _turned(table: Table) -> Table:
    """Give the table with a row for each number column, and a column for each row.

    The numbers are text then: each row has the digits that its column had.
    """
    keys = [printed(row[0], table.columns[0]) for row in table.rows]
    columns = [Column("measure"), *(Column(key, key, numeric=True) for key in keys)]
    rows: list[tuple[Value, ...]] = [
        (column.title, *(printed(row[place], column) for row in table.rows))
        for place, column in enumerate(table.columns[1:], start=1)
    ]
    bold = frozenset((column - 1, row + 1) for row, column in table.bold)
    return replace(table, columns=tuple(columns), rows=tuple(rows), bold=bold)


def _dealt_out(table: Table, first: int, width: int) -> list[Table]:
    keys, others = list(range(first)), list(range(first, len(table.columns)))
    room = width - _EDGES + _GAP_FITTING - sum(_column_width(table, place) + _GAP_FITTING for place in keys)
    shares: list[list[int]] = []
    left = 0
    for place in others:
        needed = _column_width(table, place) + _GAP_FITTING
        if not shares or needed > left:
            shares.append([])
            left = room
        shares[-1].append(place)
        left -= needed
    parts = [_with_columns(table, [*keys, *share]) for share in shares] or [table]
    last = len(parts) - 1
    return [
        replace(part, caption="" if place else table.caption, notes=() if place < last else table.notes)
        for place, part in enumerate(parts)
    ]


def _with_columns(table: Table, places: list[int]) -> Table:
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in table.rows),
        bold=frozenset((row, places.index(column)) for row, column in table.bold if column in places),
    )
