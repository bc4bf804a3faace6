"""What people read: text from outside, made fit to be shown; numbers and times in words; tables.

Documents, runs and notes are hostile until shown otherwise: an escape sequence in a title can repaint a
terminal, a bidi override can turn a file name round. Every front shows foreign text through `visible`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate, islice
from math import ceil, isfinite
from pathlib import Path
from time import time
from typing import Literal, NamedTuple

from cranfield.base.errors import InputError, Problem, quoted
from cranfield.base.registry import deferred

with deferred:
    import html as entities

    import pandas as pd

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HOSTILE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ufeff\ud800-\udfff]")

HIT_START, HIT_END = "\ufdd0", "\ufdd1"
"""What stands around a hit in a snippet; Unicode keeps these two for such inner uses, no document may hold them."""


def visible(text: str) -> str:
    """`text` with control, escape and bidi-override characters replaced by something harmless to see.

    Line feeds and tabs stay. The other ASCII controls become their control pictures (ESC is ␛); C1 controls,
    directional overrides, exotic line separators and lone surrogates become `<U+202E>` and the like.
    Right-to-left letters stay as they are: ordering them is the terminal's work.
    """
    return _HOSTILE.sub(lambda match: _PICTURES.get(ord(match.group())) or f"<U+{ord(match.group()):04X}>", text)


def visible_line(text: str) -> str:
    """`text` as one visible line: line feeds and tabs are shown as pictures too."""
    return visible(text).translate(_PICTURES)


def storable(name: str) -> str:
    """A file's name with bytes that are not UTF-8 as backslash escapes: SQLite stores nothing but UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def shortened(text: str, width: int) -> str:
    """`text` with white space folded and cut to `width` characters, an ellipsis marking the cut."""
    folded = " ".join(text.split())
    return folded if len(folded) <= width else f"{folded[: max(width - 1, 0)]}…"


def cell_width(text: str) -> int:
    """How many cells of a terminal a visible line takes: wide letters two, marks upon other letters none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def shortened_in_the_middle(text: str, width: int) -> str:
    """A visible line cut to `width` cells, an ellipsis in the middle: names of one group often begin alike."""
    if cell_width(text) <= width:
        return text
    ends, kept = [0, *accumulate(map(_cells, text))], width // 2
    first, last = bisect_right(ends, kept) - 1, bisect_left(ends, ends[-1] - (width - 1 - kept))
    return f"{text[:first]}…{text[last:]}"


def _cells(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def begins_with(text: str, title: str) -> bool:
    """Whether a text begins with its title, as that of a file whose first line was taken for one.

    White space and the marks of a Markdown heading do not matter; of a title that was cut, what is left of it counts.
    """
    first = " ".join(text.lstrip().partition("\n")[0].strip("# \t").split())
    whole = " ".join(title.split())
    return bool(whole) and (first == whole or (whole.endswith("…") and first.startswith(whole[:-1])))


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 run, 2 runs, 1,000 runs."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def beside(counts: Mapping[str, int]) -> str:
    """What else there is some of, as the rest of a list: ", 3 unchanged, 2 replaced"."""
    return "".join(f", {number:,} {what}" for what, number in counts.items() if number)


def few(words: Sequence[str], shown: int) -> str:
    """The first words, and how many more there are."""
    more = len(words) - shown
    return ", ".join(words[:shown]) + (f" and {more:,} more" if more > 0 else "")


FILES_NAMED = 5


def lines_about(problems: Sequence[Problem], *, total: int = 0, most: int, by_kind: bool = False) -> Iterator[str]:
    """What is told of problems, errors before warnings, with the places they were seen at; `total` counts all.

    What several files as a whole have is said once; so is everything of one kind, if that is wanted.
    """
    ordered = sorted(problems, key=lambda problem: (not problem.is_error, problem.file))
    alike: dict[object, list[Problem]] = {}
    for problem in ordered:
        is_of_file = problem.count > 1 and not problem.lines
        alike.setdefault(problem.code if by_kind or is_of_file else problem, []).append(problem)
    remedies: set[tuple[str, str]] = set()
    for problem, *same in list(alike.values())[:most]:
        others, unlisted = list(map(str, problem.lines[1:])), problem.count - len(problem.lines)
        files_too = dict.fromkeys(Path(one.file).name for one in same if one.file not in ("", problem.file))
        also = f" ({len(same) + 1:,} times)" if same else ""
        also = f" (also in {few(list(files_too), FILES_NAMED)})" if files_too else also
        if others and not same:
            more = f" and {unlisted:,} more" if unlisted > 0 else ""
            also = f" (also on line{'s' if len(others) > 1 or more else ''} {', '.join(others)}{more})"
        yield f"{problem.severity}: {problem}{also} [{problem.code}]"
        if problem.remedy and (problem.code, problem.remedy) not in remedies:
            yield f"    {problem.remedy}"
        remedies.add((problem.code, problem.remedy))
    more_problems = max(total, len(ordered)) - len(ordered) + max(len(alike) - most, 0)
    if more_problems > 0:
        yield f"… and {more_problems:,} more"


# The clock, and moments as people and files write them.


def now() -> str:
    """The time as it is stored: UTC, ISO 8601, to the millisecond. Nobody else looks at the clock."""
    return _stored(datetime.now(UTC))


def moment() -> float:
    """The time as leases count it: seconds since 1970."""
    return time()


def start_of_today() -> str:
    """The last midnight where the user sits, as times are stored."""
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return _stored(midnight.astimezone(UTC))


def stored_moment(text: str, *, end_of_day: bool = False) -> str:
    """A moment in ISO 8601 as it is stored: UTC, to the millisecond. Without a zone it is taken as UTC.

    A date alone is the beginning of that day, or its end where that is asked for.
    """
    words = text.strip()
    try:
        moment = datetime.fromisoformat(words)
    except ValueError:
        raise InputError(f"{quoted(text)} is not a date or time; write 2026-01-31 or 2026-01-31T17:30Z") from None
    if end_of_day and len(words) <= len("2026-01-31"):
        moment += timedelta(days=1, microseconds=-1)
    return _stored(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))


def _stored(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_words(seconds: float) -> str:
    """How long something may take, rounded up: minutes, from two hours on hours, from two days on days."""
    for unit, name in ((86_400, "day"), (3600, "hour")):
        if seconds > 2 * unit:
            return counted(ceil(seconds / unit), name)
    return counted(max(ceil(seconds / 60), 1), "minute")


# A table: the one shape in which results reach people, files and frames.

Value = str | int | float | bool | None | tuple[int, ...]

NUMBERS = ("number", "p")
"""The kinds of column that hold numbers: they stand to the right, and a gap among them is NaN in a frame."""

ROWS_IN_HTML = 60


@dataclass(frozen=True)
class Column:
    """A column: its name in data formats, its heading for people, and how its values are printed.

    `kind` is text, number, p, moment or verdict. A `p` that would be
    printed as 0 is printed as below the smallest number that is not: no finite experiment shows a 0. A moment is
    printed to the minute.
    """

    name: str
    heading: str = ""
    kind: str = "text"
    digits: int = 4

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
            kind = None if cells and None not in cells else "float64" if column.numeric else "object"
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
    it all, and people see no table; with `only_rows` they see none that is empty. The tables of a `whole` one are
    cut short on a screen alone: whatever is pasted elsewhere has all of it. What is `carried` goes into a document
    with the last table, which stands there without the sentences beside it.
    """

    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    carried: Sequence[str] = ()
    wide = False
    only_notes = False
    only_rows = False
    whole = False

    def table(self) -> Table:
        """The rows as data formats and frames have them."""
        raise NotImplementedError

    def tables(self) -> Iterable[Table]:
        """What people read."""
        table = self.table()
        return [] if self.only_notes or (self.only_rows and not table.rows) else [table]

    def on(self, surface: Surface) -> Shown:
        """The result for a surface. One whose tables depend on it says so here."""
        is_data = surface == "data" or (self.whole and surface == "document")
        tables = [self.table()] if is_data else self.tables()
        if surface == "document" and self.carried:
            *others, last = tables
            tables = [*others, replace(last, notes=(*last.notes, *self.carried))]
        return Shown(self.notes, tables, self.remarks)

    def attributes(self) -> Mapping[str, object]:
        """What is the same in all rows, for the attributes of the frame."""
        return {}

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame; its `attrs` have the notes, and instead of columns what is the same in all."""
        made = self.attributes()
        frame = self.table().frame().drop(columns=list(made), errors="ignore")
        frame.attrs.update(made, notes=[*self.notes, *self.remarks])
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
    whole = True

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
    if column.kind == "moment":
        return str(value)[:16].replace("T", " ")
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
