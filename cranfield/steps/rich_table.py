"""Tables as rich draws them; imported only where somebody is looking, since rich is not quick to load."""

from collections.abc import Iterable, Iterator
from typing import Literal

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from cranfield.report.table import Table, printed
from cranfield.text import visible_line

_UNCUT = 14


def drawn(table: Table) -> Iterator[RichTable | Text]:
    """Give what is printed for a table, one thing after the other: caption, rows, notes."""
    if table.caption:
        yield Text(visible_line(table.caption), style="bold")
    if table.rows:
        yield rich_table(table)
    for note in table.notes:
        yield Text(visible_line(note))


def grouped(tables: Iterable[Table], *, heading: str = "", notes: Iterable[str] = ()) -> Group:
    """Give tables one below the other, under a heading and above sentences."""
    head = [Text(visible_line(heading), style="bold")] if heading else []
    parts = (part for table in tables for part in drawn(table))
    return Group(*head, *parts, *(Text(visible_line(note)) for note in notes))


def rich_table(table: Table) -> RichTable:
    """Give the rows of a table. What came from outside is made harmless, and is never read as markup."""
    rows = [
        [visible_line(printed(value, column)) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, column in enumerate(table.columns):
        justify: Literal["right", "left"] = "right" if column.numeric else "left"
        title = visible_line(column.title)
        # What a row is about is never cut, and no short word is; the rest folds on a narrow terminal.
        whole = place == 0 and len(table.columns) > 2
        words = " ".join([title, *(cells[place] for cells in rows)]).split()
        least = min(_UNCUT, max((len(word) for word in words), default=1))
        made.add_column(Text(title), justify=justify, overflow="fold", no_wrap=whole, min_width=least)
    for number, cells in enumerate(rows):
        styles = ("bold" if (number, place) in table.bold else "" for place in range(len(cells)))
        made.add_row(*(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    return made
