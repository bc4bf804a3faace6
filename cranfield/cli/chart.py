"""Charts in the terminal: bars, each perhaps with an interval, and curves, in the room that there is."""

from __future__ import annotations

import locale
import sys
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size
from typing import NamedTuple

from cranfield.base.registry import deferred
from cranfield.base.text import cell_width, shortened_in_the_middle, visible_line

with deferred:
    from rich import console as rich_console
    from rich import text as rich_text

    from cranfield.workflows import display

_EIGHTHS, _LEVELS = " ▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█"
_SHADE, _ASCII, _ASCII_SHADE, _ASCII_LEVELS = "░", "#", ".", "_.-=+*%#"
_NARROWEST, _LONGEST_LABEL, _STEP = 10, 30, 3


class Bar(NamedTuple):
    """A bar from 0 to `value`, shaded on to `high`; what stands behind it, and a verdict that gives it a colour."""

    label: str
    value: float
    high: float | None
    text: str
    verdict: str = ""


class Curve(NamedTuple):
    """Values between 0 and 1 from left to right, and what stands behind them."""

    label: str
    values: Sequence[float]
    text: str


def put(title: str, rows: Sequence[Bar | Curve], *, legend: str = "") -> None:
    """Draw a chart on standard output; without a terminal as wide as $COLUMNS says, else 80."""
    console = rich_console.Console(file=sys.stdout, highlight=False, soft_wrap=True)
    has_blocks = _can_show(_EIGHTHS + _LEVELS + _SHADE)
    lines = [(visible_line(title), "bold"), *_lines(rows, get_terminal_size().columns, has_blocks=has_blocks)]
    if legend:
        lines.append((legend.format(full="█" if has_blocks else _ASCII, shade=_shade(has_blocks)), ""))
    for line, style in lines:
        plain = line if has_blocks else line.replace("–", "-").replace("…", "..")
        console.print(rich_text.Text(plain.rstrip(), style=style))
    sys.stdout.flush()


def _can_show(signs: str) -> bool:
    """Whether the terminal has these signs: that of the locale, for standard output is written as UTF-8 anyway."""
    try:
        signs.encode(locale.getencoding())
    except UnicodeEncodeError:
        return False
    return True


def _shade(has_blocks: bool) -> str:
    return _SHADE if has_blocks else _ASCII_SHADE


def _lines(rows: Sequence[Bar | Curve], width: int, *, has_blocks: bool) -> Iterator[tuple[str, str]]:
    """Each row as a line, with its colour."""
    labels = [shortened_in_the_middle(visible_line(row.label), _LONGEST_LABEL) for row in rows]
    widest, texts = max(map(cell_width, labels), default=0), max((len(row.text) for row in rows), default=0)
    room = max(width - widest - texts - 3, _NARROWEST)
    bars = [row for row in rows if isinstance(row, Bar)]
    most = max((one for row in bars for one in (row.value, row.high or 0.0) if one == one), default=0.0)
    for label, row in zip(labels, rows, strict=True):
        if isinstance(row, Bar):
            drawn, colour = _bar(row, room, most, has_blocks=has_blocks), display.colour_of(row.verdict)
        else:
            levels = _LEVELS if has_blocks else _ASCII_LEVELS
            step = max(1, min(_STEP, room // max(len(row.values), 1)))
            heights = (round(min(max(value, 0.0), 1.0) * (len(levels) - 1)) for value in row.values)
            drawn, colour = "".join(levels[height] * step for height in heights), ""
        yield f"{label}{' ' * (widest - cell_width(label))} {drawn} {row.text}", colour


def _bar(row: Bar, room: int, most: float, *, has_blocks: bool) -> str:
    """A bar in the room; where there are blocks, it ends at an eighth of a cell."""
    scale = room / most if most > 0 else 0.0
    eighths = round(max(row.value, 0.0) * scale * 8) if row.value == row.value else 0
    if has_blocks:
        drawn = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    else:
        drawn = _ASCII * round(eighths / 8)
    end = round((row.high or 0.0) * scale)
    return (drawn + _shade(has_blocks) * (end - len(drawn))).ljust(room)
