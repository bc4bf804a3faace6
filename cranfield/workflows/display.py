"""Tables as rich draws them; imported only where somebody is looking, since rich is not quick to load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, TextIO

from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from cranfield.base import files
from cranfield.base.tables import Column, Table, Value, column_texts, printed
from cranfield.base.text import cell_width, shortened_in_the_middle, visible_line

_ENDLESS = 100_000


def print_on(console: Console, table: Table) -> None:
    """Print a table. On a narrow console words fold; a number is never cut, a line is longer than that instead."""
    width = console.width
    for part in drawn(table, width=width):
        if isinstance(part, RichTable):
            console.width = max(width, console.measure(part, options=console.options.update(width=_ENDLESS)).maximum)
        console.print(part)
        console.width = width


def drawn(table: Table, *, width: int | None = None) -> Iterator[RichTable | Text]:
    """Give what is printed for a table, one thing after the other: caption, rows, notes."""
    if table.caption:
        yield Text(visible_line(table.caption), style="bold")
    if table.rows:
        yield rich_table(table, width=width)
    for note in table.notes:
        yield Text(visible_line(note))


def grouped(tables: Iterable[Table], *, heading: str = "", notes: Iterable[str] = ()) -> Group:
    """Give tables one below the other, under a heading and above sentences."""
    head = [Text(visible_line(heading), style="bold")] if heading else []
    parts = (part for table in tables for part in drawn(table))
    return Group(*head, *parts, *(Text(visible_line(note)) for note in notes))


def rich_table(table: Table, *, width: int | None = None) -> RichTable:
    """Give the rows of a table. What came from outside is made harmless, and is never read as markup.

    `width` is the room there is for it; without one rich sees to it where it prints.
    """
    texts = [column_texts(table, place) for place in range(len(table.columns))]
    least = [least_width(column, numeric=one.numeric) for column, one in zip(texts, table.columns, strict=True)]
    widths = None if width is None else _folded(texts, [one.numeric for one in table.columns], width)
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, column in enumerate(table.columns):
        justify: Literal["right", "left"] = "right" if column.numeric else "left"
        made.add_column(
            Text(texts[place][0]),
            justify=justify,
            overflow="fold",
            no_wrap=widths is None and _is_last_to_fold(place, len(texts)),
            min_width=least[place] if widths is None else widths[place],
            width=None if widths is None else widths[place],
        )
    for number, cells in enumerate(zip(*(column[1:] for column in texts), strict=True)):
        styles = ("bold" if (number, place) in table.bold else "" for place in range(len(cells)))
        made.add_row(*(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    return made


def _is_last_to_fold(place: int, columns: int) -> bool:
    """Say whether a column is what a row is about."""
    return place == 0 and columns > 2


def _folded(texts: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> list[int] | None:
    """Give how wide columns are in a width that is too narrow for them; None where it is not.

    Rich would do it itself, but takes from numbers too where words do not suffice. Words fold first, then the titles
    of numbers, and the names of rows last.
    """
    natural = [max(1, *map(cell_width, column)) for column in texts]
    room = width + 1 - 2 * len(natural)
    if sum(natural) <= room:
        return None
    least, tight = (
        [least_width(column, numeric=one, title_whole=whole) for column, one in zip(texts, numeric, strict=True)]
        for whole in (True, False)
    )
    for floors in (_names_whole(least, natural), _names_whole(tight, natural), least):
        for most in range(max(room, 1), 0, -1):
            widths = [max(low, min(wide, most)) for wide, low in zip(natural, floors, strict=True)]
            if sum(widths) <= room:
                return widths
    return list(least)


def _names_whole(floors: Sequence[int], natural: Sequence[int]) -> list[int]:
    return [
        wide if _is_last_to_fold(place, len(natural)) else low
        for place, (wide, low) in enumerate(zip(natural, floors, strict=True))
    ]


# Tables that are too wide for a surface, turned on their side or cut into several that fit.

_GAP, _EDGE = 2, 1
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
    return sum(_column_width(table, place) + _GAP for place in range(len(table.columns))) - _GAP + _EDGE


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


def _column_width(table: Table, place: int) -> int:
    return max(map(cell_width, column_texts(table, place)))


def _with_short_keys(table: Table, first: int, width: int) -> Table:
    """Give the table with the columns before the first number so narrow that the widest number fits beside them."""
    others = range(first, len(table.columns))

    def needed(place: int) -> int:
        texts, numeric = column_texts(table, place), table.columns[place].numeric
        return max(least_width(texts, numeric=numeric), cell_width(texts[0]) if numeric else 0)

    widths = [_column_width(table, place) for place in range(first)]
    room = width - _EDGE - max(map(needed, others), default=0) - _GAP * first
    if sum(widths) <= room or not others:
        return table
    words = [place for place in range(first) if not table.columns[place].numeric]
    # The widest are cut first, until all of them take no more than the room, or half of the width.
    most = min(room, width // 2)
    fitting = (size for size in range(max(widths), _SHORTEST, -1) if sum(min(one, size) for one in widths) <= most)
    # One list for all columns: a run must not look like the one that stands against it.
    names = [text for place in words for text in column_texts(table, place)[1:]]
    short = _short_names(names, next(fitting, _SHORTEST))
    rows = []
    for row in table.rows:
        seen = {place: visible_line(printed(row[place], table.columns[place])) for place in words}
        rows.append(tuple(short.get(seen[place], one) if place in seen else one for place, one in enumerate(row)))
    return replace(table, rows=tuple(rows))


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
    columns = (Column("measure"), *(Column(key, key, "number") for key in keys))
    rows: list[tuple[Value, ...]] = [
        (column.title, *(printed(row[place], column) for row in table.rows))
        for place, column in enumerate(table.columns[1:], start=1)
    ]
    bold = frozenset((column - 1, row + 1) for row, column in table.bold)
    return replace(table, columns=columns, rows=tuple(rows), bold=bold)


def _dealt_out(table: Table, first: int, width: int) -> list[Table]:
    keys = list(range(first))
    room = width - _EDGE + _GAP - sum(_column_width(table, place) + _GAP for place in keys)
    shares: list[list[int]] = []
    left = 0
    for place in range(first, len(table.columns)):
        needed = _column_width(table, place) + _GAP
        if not shares or needed > left:
            shares.append([])
            left = room
        shares[-1].append(place)
        left -= needed
    parts = [table.select([*keys, *share]) for share in shares] or [table]
    last = len(parts) - 1
    return [
        replace(part, caption="" if place else table.caption, notes=() if place < last else table.notes)
        for place, part in enumerate(parts)
    ]


# Progress bars for people; imported only where somebody is looking, since rich is not quick to load.


class RateColumn(ProgressColumn):
    """How much is done and how fast it goes."""

    def render(self, task: Task) -> Text:
        """Give "1,200 (300/s)"."""
        rate = f" ({task.speed:,.0f}/s)" if task.speed else ""
        return Text(f"{task.completed:,.0f}{rate}")


@contextmanager
def bar_on(stream: TextIO) -> Iterator[files.Progress]:
    """Give a reporter that draws one bar per thing that is being done, and takes them away at the end."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), RateColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible_line(what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield report
