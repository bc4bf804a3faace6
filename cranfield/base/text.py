"""Text from outside, made fit to be shown; times as they are stored, and as people write them.

Documents, runs and notes are hostile until shown otherwise: an escape sequence in a title can repaint a
terminal, a bidi override can turn a file name round. Every front shows foreign text through `visible`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime
from datetime import time as datetime_time
from math import ceil
from time import time

from cranfield.base.errors import InputError, quoted

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_KEPT = "\n\t"
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
    return "".join(_PICTURES[ord(letter)] if letter in _KEPT else letter for letter in visible(text))


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
    kept = width // 2
    before, after = _first_cells(text, kept), _first_cells(text[::-1], width - 1 - kept)[::-1]
    return f"{before}…{after}"


def _first_cells(text: str, width: int) -> str:
    taken = 0
    for place, letter in enumerate(text):
        taken += _cells(letter)
        if taken > width:
            return text[:place]
    return text


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


def few(words: Sequence[str], shown: int) -> str:
    """The first words, and how many more there are."""
    more = len(words) - shown
    return ", ".join(words[:shown]) + (f" and {more:,} more" if more > 0 else "")


# The clock, and moments as people and files write them.

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


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
        if len(words) <= len("2026-01-31"):
            moment = datetime.combine(
                date.fromisoformat(words), datetime_time.max if end_of_day else datetime_time.min, UTC
            )
        else:
            moment = datetime.fromisoformat(words)
    except ValueError:
        raise InputError(f"{quoted(text)} is not a date or time; write 2026-01-31 or 2026-01-31T17:30Z") from None
    return _stored(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))


def _stored(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_words(seconds: float) -> str:
    """How long something may take, rounded up: minutes, from two hours on hours, from two days on days."""
    for unit, name in ((_DAY, "day"), (_HOUR, "hour")):
        if seconds > 2 * unit:
            return counted(ceil(seconds / unit), name)
    return counted(max(ceil(seconds / _MINUTE), 1), "minute")
