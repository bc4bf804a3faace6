"""Tables as rich draws them; imported only where somebody is looking, since rich is not quick to load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, TextIO

from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from cranfield.base import progress as watching
from cranfield.base.tables import Table, column_texts, least_width
from cranfield.base.text import cell_width, visible_line

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


# Progress bars for people; imported only where somebody is looking, since rich is not quick to load.


class RateColumn(ProgressColumn):
    """How much is done and how fast it goes."""

    def render(self, task: Task) -> Text:
        """Give "1,200 (300/s)"."""
        rate = f" ({task.speed:,.0f}/s)" if task.speed else ""
        return Text(f"{task.completed:,.0f}{rate}")


@contextmanager
def bar_on(stream: TextIO) -> Iterator[watching.Progress]:
    """Give a reporter that draws one bar per thing that is being done, and takes them away at the end."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), RateColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible_line(what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield report
