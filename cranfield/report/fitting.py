"""Tables that are too wide for a surface, turned on their side or cut into several that fit."""

from collections.abc import Sequence
from dataclasses import replace

from cranfield.report.table import Column, Table, Value, printed
from cranfield.text import cell_width, shortened_in_the_middle, visible_line

_GAP, _EDGES = 2, 1
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
    return sum(_column_width(table, place) + _GAP for place in range(len(table.columns))) - _GAP + _EDGES


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
    room = width - _EDGES - widest - _GAP * first
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
