"""What is drawn on a screen: tables on a terminal, and progress bars.

Rich draws on a terminal. It is not quick to load, so nothing here loads it before something is drawn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from html import escape
from importlib import import_module
from threading import Lock, Timer
from time import monotonic
from typing import Any, TextIO

from cranfield.base import files
from cranfield.base.registry import deferred
from cranfield.base.text import Table, cell_width, column_texts, visible_line

with deferred:
    from rich import box
    from rich import console as rich_console
    from rich import progress as rich_progress
    from rich import table as rich_table
    from rich import text as rich_text

PATIENCE = 1.0
"""How many seconds work may take before a Python user sees a bar."""

_PAUSE = 0.1
"""How many seconds lie at least between two drawings of a bar in a notebook."""

_ENDLESS = 100_000

_GAP, _EDGE = 2, 1
"""What a terminal has between two columns, and after all of them."""

_FOLDED_TITLE = 3
"""To how many cells a title is folded before a name is."""

_UNCUT, _LONGEST_NUMBER = 14, 24
"""Words up to these many cells are not folded; what is longer than the other is no number."""


_COLOURS = {
    **dict.fromkeys(("SAFE", "POOLED", "fair"), "green"),
    **dict.fromkeys(("CAUTION", "PROVISIONAL", "with"), "yellow"),
    **dict.fromkeys(("UNRELIABLE", "unfair"), "red"),
}
"""The colour of a verdict, by its first word; rich leaves it out where there is no terminal or NO_COLOR is set."""


def colour_of(verdict: str) -> str:
    """The colour of a verdict; nothing for one that has none."""
    return _COLOURS.get(verdict.partition(" ")[0], "")


def print_on(console: rich_console.Console, table: Table) -> None:
    """Print a table. On a narrow console words fold; a number is never cut, a line is longer than that instead."""
    width = console.width
    for part in _parts(table, width=width):
        if isinstance(part, rich_table.Table):
            console.width = max(width, console.measure(part, options=console.options.update(width=_ENDLESS)).maximum)
        console.print(part)
        console.width = width


def grouped(
    tables: Iterable[Table], *, heading: str, notes: Iterable[str], width: int
) -> Iterator[rich_table.Table | rich_text.Text]:
    """Tables one below the other, under a heading and above sentences."""
    yield rich_text.Text(visible_line(heading), style="bold")
    for table in tables:
        yield from _parts(table, width=width)
    yield from (rich_text.Text(visible_line(note)) for note in notes)


def _parts(table: Table, *, width: int) -> Iterator[rich_table.Table | rich_text.Text]:
    """What is printed for a table, one thing after the other: caption, rows, notes.

    What came from outside is made harmless, and is never read as markup. `width` is the room there is.
    """
    if table.caption:
        yield rich_text.Text(visible_line(table.caption), style="bold")
    if table.rows:
        texts = [column_texts(table, place) for place in range(len(table.columns))]
        numeric = [column.numeric for column in table.columns]
        widths = _folded_widths(texts, numeric, width)
        drawn = rich_table.Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for place, (title, *_) in enumerate(texts):
            drawn.add_column(
                rich_text.Text(title),
                justify="right" if numeric[place] else "left",
                overflow="fold",
                min_width=1,
                width=None if widths is None else widths[place],
            )
        for cells in table.cells(visible_line):
            styles = [colour_of(cell.text) if cell.is_verdict else "bold" if cell.bold else "" for cell in cells]
            drawn.add_row(*(rich_text.Text(cell.text, style) for cell, style in zip(cells, styles, strict=True)))
        yield drawn
    for note in table.notes:
        yield rich_text.Text(visible_line(note))


def _folded_widths(texts: Sequence[Sequence[str]], numeric: Sequence[bool], width: int) -> list[int] | None:
    """How wide columns are in a width that is too narrow for them; None where it is not.

    Rich would do it itself, but takes from numbers too where words do not suffice. Words fold first, then the titles
    of numbers, and the names of rows (the first of several columns) last.
    """
    natural = [max(1, *map(cell_width, column)) for column in texts]
    room = width + 1 - 2 * len(natural)
    if sum(natural) <= room:
        return None
    least, tight = (
        [_least_width(column, numeric=one, title_whole=whole) for column, one in zip(texts, numeric, strict=True)]
        for whole in (True, False)
    )
    names = natural[:1] if len(natural) > 2 else []
    for floors in ([*names, *least[len(names) :]], [*names, *tight[len(names) :]], least):
        for most in range(max(room, 1), 0, -1):
            widths = [max(low, min(wide, most)) for wide, low in zip(natural, floors, strict=True)]
            if sum(widths) <= room:
                return widths
    return least


def _least_width(texts: Sequence[str], *, numeric: bool, title_whole: bool = True) -> int:
    """How narrow a column can be, its title the first of its texts: numbers stay whole, other words fold.

    A title folds between its words, over numbers too; within them if it need not stay whole. What is longer than any
    number among numbers is a name there.
    """
    title, *cells = texts
    whole = [cell for cell in cells if cell_width(cell) <= _LONGEST_NUMBER] if numeric else []
    others = [word for cell in (() if numeric and len(whole) == len(cells) else cells) for word in cell.split()]
    folding = min(max(map(cell_width, others), default=1), _UNCUT)
    longest = max(map(cell_width, title.split()), default=1)
    heading = longest if title_whole else min(longest, _FOLDED_TITLE)
    return max([folding, heading if numeric else min(heading, _UNCUT), *map(cell_width, whole)])


# Tables that are too wide for a surface, cut into several that fit.


def fitted(table: Table, width: int) -> list[Table]:
    """A table of key columns and numbers as tables that fit into `width` characters.

    The columns are dealt out from the first number on, and each table repeats the columns before that. Where these
    leave no room for the others the table stays whole: its words fold, and a number is never cut.
    """
    widths = [max(map(cell_width, column_texts(table, place))) + _GAP for place in range(len(table.columns))]
    numbers = [place for place, column in enumerate(table.columns) if column.numeric]
    first = max(numbers[0], 1) if numbers else len(widths)
    room = width - _EDGE + _GAP - sum(widths[:first])
    if sum(widths) - _GAP + _EDGE <= width or room < max(widths[first:], default=0):
        return [table]
    shares: list[list[int]] = [[]]
    left = room
    for place in range(first, len(widths)):
        if widths[place] > left:
            shares.append([])
            left = room
        shares[-1].append(place)
        left -= widths[place]
    parts = [replace(table.select([*range(first), *share]), caption="", notes=()) for share in shares]
    parts[0] = replace(parts[0], caption=table.caption)
    parts[-1] = replace(parts[-1], notes=table.notes)
    return parts


# Bars that show how far work has come: on a terminal, in a notebook, and nowhere else.

Latest = dict[str, tuple[int, int | None]]
"""How much is done of each thing that is being done, and how much there is."""


@contextmanager
def bar_on(stream: TextIO) -> Iterator[files.Progress]:
    """What draws one bar per thing that is being done, and takes them away at the end."""

    class RateColumn(rich_progress.ProgressColumn):
        """How much is done and how fast it goes: "1,200 (300/s)"."""

        def render(self, task: rich_progress.Task) -> rich_text.Text:
            rate = f" ({task.speed:,.0f}/s)" if task.speed else ""
            return rich_text.Text(f"{task.completed:,.0f}{rate}")

    description = rich_progress.TextColumn("{task.description}", markup=False)
    columns = (description, rich_progress.BarColumn(), RateColumn(), rich_progress.TimeRemainingColumn())
    with rich_progress.Progress(*columns, console=rich_console.Console(file=stream), transient=True) as progress:
        tasks: dict[str, rich_progress.TaskID] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(visible_line(what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield report


@contextmanager
def shown_progress(*, wanted: bool = True, patience: float = PATIENCE) -> Iterator[files.Progress]:
    """Progress of what is called from Python: a bar on a terminal and in a notebook, nothing elsewhere.

    It appears when `patience` has ended, whatever the work is doing then.
    """
    ipython: Any = sys.modules.get("IPython")  # a notebook's kernel has imported it, and its shell has the kernel
    is_notebook = ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not wanted or not (is_notebook or is_terminal):
        yield files.silent
        return
    lock, latest, shown, ended = Lock(), Latest(), list[files.Progress](), list[bool]()
    with ExitStack() as stack:

        def show() -> None:
            with lock:
                if not ended:
                    shown.append(stack.enter_context(_in_notebook() if is_notebook else bar_on(sys.stderr)))
                    for what, known in latest.items():
                        shown[0](what, *known)

        def report(what: str, done: int, total: int | None) -> None:
            with lock:
                latest[what] = (done, total)
                if shown:
                    shown[0](what, done, total)

        timer = Timer(patience, show)
        timer.daemon = True
        timer.start()
        try:
            yield report
        finally:
            timer.cancel()
            with lock:
                ended.append(True)


@contextmanager
def _in_notebook() -> Iterator[files.Progress]:
    """A reporter that draws into the output of the cell. That needs no widgets: every front end shows HTML."""
    notebook: Any = import_module("IPython.display")

    def drawn() -> str:
        """Bars as HTML, one for each thing that is being done; one without an end just moves."""
        rows = []
        for what, (done, total) in latest.items():
            label = escape(visible_line(what))
            if total:
                rows.append(f'<progress value="{done}" max="{total}"></progress> {label}: {done:,} of {total:,}')
            else:
                rows.append(f"<progress></progress> {label}" + (f": {done:,}" if done else ""))
        return "".join(f"<div>{row}</div>" for row in rows or ["<progress></progress>"])

    latest, last_drawn = Latest(), 0.0
    handle = notebook.display(notebook.HTML(drawn()), display_id=True)

    def report(what: str, done: int, total: int | None) -> None:
        nonlocal last_drawn
        is_new = what not in latest
        latest[what] = (done, total)
        if is_new or done == total or monotonic() - last_drawn > _PAUSE:
            last_drawn = monotonic()
            handle.update(notebook.HTML(drawn()))

    try:
        yield report
    finally:
        handle.update(notebook.HTML(""))
