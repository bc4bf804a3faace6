"""A table: the one shape in which results reach people, files and frames; and a result, which has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import isfinite

from cranfield.base.lazy import deferred
from cranfield.base.text import cell_width, shortened_in_the_middle, visible_line

with deferred:
    import pandas as pd

Value = str | int | float | bool | None | tuple[int, ...]

NUMBERS = ("number", "p")
"""The kinds of column that hold numbers: they stand to the right, and a gap among them is NaN in a frame."""

DATA_FORMATS = ("csv", "json", "jsonl")
"""The formats that carry one table with full precision, for programs; the others are for people."""

ROWS_IN_HTML = 60


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in data formats, its heading for people, how its values are printed and what they mean.

    `kind` is text, number, p or verdict. A verdict stands out where a surface can show it. A `p` that would be
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

    def frame(self) -> pd.DataFrame:
        """Give the rows as a pandas frame, under the names of data formats; numbers are never rounded.

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
        """Give the table with these columns alone."""
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
            bold=frozenset((row, places.index(column)) for row, column in self.bold if column in places),
        )


class Result:
    """What a command gives, in Python and on the command line.

    A result declares `table`; where people read something else than files and frames carry, `tables` too. Sentences
    go to standard error: `notes` before the table, `remarks` after it. `wide` tables are of many numbers: on a narrow
    terminal they are turned on their side or cut into several, while others fold.
    """

    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    wide = False

    def table(self) -> Table:
        """Give the rows as data formats and frames have them."""
        raise NotImplementedError

    def tables(self) -> Iterable[Table]:
        """Give what people read."""
        return [self.table()]

    def attributes(self) -> Mapping[str, object]:
        """Give what is the same in all rows, for the attributes of the frame."""
        return {}

    def frame(self) -> pd.DataFrame:
        """Give the rows as a pandas frame; its `attrs` have the notes, and what is the same in all rows."""
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


def facts_table(facts: Mapping[str, Value], *, caption: str = "", notes: Sequence[str] = ()) -> Table:
    """Make a two-column table of named facts."""
    return replace(table_of(["fact", Column("value")], list(facts.items()), caption=caption, notes=notes), facts=True)


def with_best(table: Table, columns: Sequence[int]) -> Table:
    """Give the table with the highest value of each of these columns in bold; equal ones, as printed, all of them."""
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


def html(tables: Iterable[Table], *, heading: str = "", notes: Iterable[str] = ()) -> str:
    """Give tables as HTML that stands in somebody else's page, a notebook: no script, and no style that leaks."""

    def line(text: str) -> str:
        return escape(visible_line(text))

    def whole(table: Table) -> str:
        # Notebooks put everything to the right, as numbers: words need a style of their own.
        sides = ["" if column.numeric else ' style="text-align: left"' for column in table.columns]
        rows = []
        for number, row in enumerate(table.rows[:ROWS_IN_HTML]):
            cells = []
            for place, (column, value, side) in enumerate(zip(table.columns, row, sides, strict=True)):
                text = line(printed(value, column))
                stands_out = (number, place) in table.bold or (column.kind == "verdict" and value)
                cells.append(f"<td{side}>{f'<strong>{text}</strong>' if stands_out else text}</td>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        head = "".join(
            f'<th scope="col"{side}>{line(column.title)}</th>'
            for column, side in zip(table.columns, sides, strict=True)
        )
        caption = f"<caption>{line(table.caption)}</caption>" if table.caption else ""
        cut = [f"the first {ROWS_IN_HTML} of {len(table.rows):,} rows"] if len(table.rows) > ROWS_IN_HTML else []
        below = "".join(f"<p>{line(note)}</p>" for note in (*table.notes, *cut))
        body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        return f'<table class="dataframe">{caption}{body}</table>{below}'

    parts = [f"<p><strong>{line(heading)}</strong></p>"] if heading else []
    parts += [*map(whole, tables), *(f"<p>{line(note)}</p>" for note in notes)]
    return f"<div>{''.join(parts)}</div>"


# A table as plain text, where there is no terminal that it would have to fit.


def plain_text(table: Table) -> str | None:
    """Give the text that is drawn on a terminal wide enough, without colours.

    None where not everything is ASCII: how much room other letters take is for whoever draws them to know.
    """
    columns = [column_texts(table, place) for place in range(len(table.columns))]
    caption, notes = visible_line(table.caption), [visible_line(note) for note in table.notes]
    if not all(text.isascii() for texts in (*columns, [caption], notes) for text in texts):
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
    """Give what stands in a column, its title first, as it is seen."""
    column = table.columns[place]
    return [visible_line(text) for text in (column.title, *(printed(row[place], column) for row in table.rows))]


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
