"""Tables that are too wide for a surface, turned on their side or cut into several that fit."""

from dataclasses import replace

from cranfield.report.table import Column, Table, Value, printed

_GAP, _EDGES = 2, 1
"""What a terminal has between two columns, and after all of them."""


def fitted(table: Table, width: int) -> list[Table]:
    """Give a table of a key column and numbers as tables that fit into `width` characters.

    One with fewer rows than number columns is turned on its side, if that fits: numbers stay below their like.
    Otherwise the columns are dealt out from the first number on, and each table repeats the columns before that.
    """
    if width_of(table) <= width:
        return [table]
    numbers = [place for place, column in enumerate(table.columns) if column.numeric]
    if len(table.columns) - len(numbers) == 1 and len(table.rows) < len(numbers):
        turned = _turned(table)
        if width_of(turned) <= width:
            return [turned]
    return _dealt_out(table, numbers[0] if numbers else len(table.columns), width)


def width_of(table: Table) -> int:
    """Give how many characters a terminal needs for a table."""
    return sum(_column_width(table, place) + _GAP for place in range(len(table.columns))) - _GAP + _EDGES


def _column_width(table: Table, place: int) -> int:
    column = table.columns[place]
    return max([len(column.title), *(len(printed(row[place], column)) for row in table.rows)])


def _turned(table: Table) -> Table:
    """Give the table with a row for each number column, and a column for each row."""
    keys = [printed(row[0], table.columns[0]) for row in table.rows]
    columns = [Column("measure"), *(Column(key, key, numeric=True) for key in keys)]
    rows: list[tuple[Value, ...]] = [
        (column.title, *(row[place] for row in table.rows)) for place, column in enumerate(table.columns[1:], start=1)
    ]
    bold = frozenset((column - 1, row + 1) for row, column in table.bold)
    return replace(table, columns=tuple(columns), rows=tuple(rows), bold=bold)


def _dealt_out(table: Table, first: int, width: int) -> list[Table]:
    keys, others = list(range(first)), list(range(first, len(table.columns)))
    room = width - _EDGES + _GAP - sum(_column_width(table, place) + _GAP for place in keys)
    shares: list[list[int]] = []
    left = 0
    for place in others:
        needed = _column_width(table, place) + _GAP
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
