"""Charts in the terminal: bars, each perhaps with an interval, and curves, in the room that there is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import NamedTuple

from cranfield.base.registry import deferred

with deferred:
    from rich import console as rich_console
    from rich import text as rich_text

    from cranfield.base import text as texts
    from cranfield.workflows import display

_EIGHTHS, _LEVELS = " ▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█"
_FULL, _SHADE = "█", "░"
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
    lines = [(texts.visible_line(title), "bold")]
    labels = [texts.shortened_in_the_middle(texts.visible_line(row.label), _LONGEST_LABEL) for row in rows]
    widest, longest = max(map(texts.cell_width, labels), default=0), max((len(row.text) for row in rows), default=0)
    room = max(get_terminal_size().columns - widest - longest - 3, _NARROWEST)
    bars = [row for row in rows if isinstance(row, Bar)]
    most = max((one for row in bars for one in (row.value, row.high or 0.0) if one == one), default=0.0)
    scale = room / most if most > 0 else 0.0
    for label, row in zip(labels, rows, strict=True):
        if isinstance(row, Bar):
            # It ends at an eighth of a cell.
            eighths = round(max(row.value, 0.0) * scale * 8) if row.value == row.value else 0
            drawn = _FULL * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
            drawn += _SHADE * (round((row.high or 0.0) * scale) - len(drawn))
            drawn, colour = drawn.ljust(room), display.colour_of(row.verdict)
        else:
            step = max(1, min(_STEP, room // max(len(row.values), 1)))
            heights = (round(min(max(value, 0.0), 1.0) * (len(_LEVELS) - 1)) for value in row.values)
            drawn, colour = "".join(_LEVELS[height] * step for height in heights), ""
        lines.append((f"{label}{' ' * (widest - texts.cell_width(label))} {drawn} {row.text}", colour))
    if legend:
        lines.append((legend.format(full=_FULL, shade=_SHADE), ""))
    console = rich_console.Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for line, style in lines:
        console.print(rich_text.Text(line.rstrip(), style=style))
    sys.stdout.flush()
