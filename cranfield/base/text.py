"""Text from outside, made fit to be shown.

Documents, runs and notes are hostile until shown otherwise: an escape sequence in a title can repaint a
terminal, a bidi override can turn a file name round. Every front shows foreign text through `visible`.
"""

from __future__ import annotations

import os
import re
import unicodedata

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_KEPT = "\n\t"
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HOSTILE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ufeff\ud800-\udfff]")

HIT_START, HIT_END = "\ufdd0", "\ufdd1"
"""What stands around a hit in a snippet; Unicode keeps these two for such inner uses, no document may hold them."""


def visible(text: str) -> str:
    """Give `text` with control, escape and bidi-override characters replaced by something harmless to see.

    Line feeds and tabs stay. The other ASCII controls become their control pictures (ESC is ␛); C1 controls,
    directional overrides, exotic line separators and lone surrogates become `<U+202E>` and the like.
    Right-to-left letters stay as they are: ordering them is the terminal's work.
    """
    return _HOSTILE.sub(_replacement, text)


def visible_line(text: str) -> str:
    """Give `text` as one visible line: line feeds and tabs are shown as pictures too."""
    return "".join(_PICTURES[ord(letter)] if letter in _KEPT else letter for letter in visible(text))


def _replacement(match: re.Match[str]) -> str:
    code = ord(match.group())
    return _PICTURES.get(code) or f"<U+{code:04X}>"


def storable(name: str) -> str:
    """Give a file's name with bytes that are not UTF-8 as backslash escapes: SQLite stores nothing but UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def shortened(text: str, width: int) -> str:
    """Give `text` with white space folded and cut to `width` characters, an ellipsis marking the cut."""
    folded = " ".join(text.split())
    return folded if len(folded) <= width else f"{folded[: max(width - 1, 0)]}…"


def cell_width(text: str) -> int:
    """Give how many cells of a terminal a visible line takes: wide letters two, marks upon other letters none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def shortened_in_the_middle(text: str, width: int, *, head: int | None = None) -> str:
    """Give a visible line cut to `width` cells, an ellipsis in the middle: names of one group often begin alike.

    `head` is how many cells before the ellipsis are kept, half of them unless told.
    """
    if cell_width(text) <= width:
        return text
    kept = min(width // 2 if head is None else head, width - 1)
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
    """Say whether a text begins with its title, as that of a file whose first line was taken for one.

    White space and the marks of a Markdown heading do not matter; of a title that was cut, what is left of it counts.
    """
    first = " ".join(text.lstrip().partition("\n")[0].strip("# \t").split())
    whole = " ".join(title.split())
    return bool(whole) and (first == whole or (whole.endswith("…") and first.startswith(whole[:-1])))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Give "1 run", "2 runs", "1,000 runs"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
