"""Irregular text made regular: one blank between columns, no blank lines, lines of a known number of columns.

All with masks over the bytes of a block: exact, and without a loop over lines.
"""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_LINE_FEED, _RETURN, _TAB, _BLANK, _DELETE = 10, 13, 9, 32, 127
_C1_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")

Lines = NDArray[np.int64]
Block = bytes | memoryview

_PIECE = 1 << 18


@dataclass(frozen=True, eq=False)
class Regular:
    """A block as regular text, and what was wrong with it.

    `text` has one line for each line of the block that has enough columns and no forbidden bytes. `skipped` are
    the other lines, blank ones among them; `found` gives lines per problem code. Lines count from 0 in the block.
    """

    text: bytes
    original: bytes
    line_count: int
    skipped: Lines
    found: dict[str, Lines] = field(default_factory=dict)

    def line(self, number: int) -> str:
        """Give one line of the block, to be shown."""
        return self.original.split(b"\n", number + 1)[number].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Survey:
    """What the bytes of a block say before it is parsed.

    `unusual` means that the block needs the exact way: carriage returns, control characters, or tabs and blanks
    side by side. Whether each line has its columns is the parser's to say.
    """

    lines: int
    delimiter: str
    unusual: bool


def surveyed(block: Block) -> Survey:
    """Look over a block, piece by piece, so that each piece is still in the cache for the next question."""
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = tabs = low = highest = 0
    blanks = False
    for start in range(0, len(letters), _PIECE):
        piece = letters[start : start + _PIECE]
        feeds += int(np.count_nonzero(piece == _LINE_FEED))
        low += int(np.count_nonzero(piece < _BLANK))
        highest = max(highest, int(piece.max()))
        if low != feeds:
            tabs += int(np.count_nonzero(piece == _TAB))
            blanks = blanks or bool((piece == _BLANK).any())
    unusual = low != feeds + tabs or (tabs > 0 and blanks) or (highest >= _DELETE and _has_invisible(bytes(block)))
    lines = feeds + (len(letters) > 0 and letters[-1] != _LINE_FEED)
    return Survey(lines, "\t" if tabs else " ", unusual)


def _has_invisible(block: bytes) -> bool:
    """Say whether DEL or a control character from U+0080 to U+009F is in the block."""
    return b"\x7f" in block or _C1_CONTROL.search(block) is not None


def regularised(block: bytes, *, columns: int) -> Regular:
    """Cut each line at blanks and tabs, keep its first `columns` columns, and sort out the lines that cannot be."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    found = _forbidden(block, letters, feeds)
    starts, ends = _fields(letters)
    line_of = np.searchsorted(feeds, starts)
    counts = np.bincount(line_of, minlength=len(feeds))
    kept = np.ones(len(feeds), dtype=bool)
    for lines in found.values():
        kept[lines] = False
    found["too-few-columns"] = np.flatnonzero(kept & (counts > 0) & (counts < columns))
    found["too-many-columns"] = np.flatnonzero(kept & (counts > columns))
    kept &= counts >= columns
    number = np.arange(len(starts)) - (np.cumsum(counts) - counts)[line_of]
    chosen = kept[line_of] & (number < columns)
    text = _joined(letters, starts[chosen], ends[chosen], columns)
    return Regular(
        text, block, len(feeds), np.flatnonzero(~kept), {code: at for code, at in found.items() if len(at)}
    )


def _fields(letters: NDArray[np.uint8]) -> tuple[Lines, Lines]:
    """Give where the columns start and where they end (the place of the blank, tab or line feed after them)."""
    gap = (letters == _BLANK) | (letters == _TAB) | (letters == _LINE_FEED)
    gap_before = np.concatenate([[True], gap[:-1]])
    return np.flatnonzero(~gap & gap_before), np.flatnonzero(gap & ~gap_before)


def _joined(letters: NDArray[np.uint8], starts: Lines, ends: Lines, columns: int) -> bytes:
    """Put some columns together again, each with the one byte after it made a blank or a line feed."""
    step = np.zeros(len(letters) + 1, dtype=np.int8)
    step[starts] += 1
    step[ends + 1] -= 1
    inside = np.cumsum(step[:-1], dtype=np.int8).view(bool)
    letters = letters.copy()
    letters[ends] = _BLANK
    letters[ends[columns - 1 :: columns]] = _LINE_FEED
    return bytes(letters[inside])


def _forbidden(block: bytes, letters: NDArray[np.uint8], feeds: Lines) -> dict[str, Lines]:
    """Give the lines that hold bytes no run may hold."""
    control = (letters < _BLANK) & (letters != _LINE_FEED) & (letters != _TAB) & (letters != _RETURN)
    places = {
        "lone-carriage-return": np.flatnonzero(letters == _RETURN),
        "control-character": np.flatnonzero(control | (letters == _DELETE)),
    }
    if not block.isascii():
        c1 = [match.start() for match in _C1_CONTROL.finditer(block)]
        places["control-character"] = np.union1d(places["control-character"], np.array(c1, dtype=np.int64))
        places["not-utf-8"] = _undecodable(block)
    return {code: np.unique(np.searchsorted(feeds, at)) for code, at in places.items() if len(at)}


def _undecodable(block: bytes) -> Lines:
    """Give where lines start that are not UTF-8."""
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return np.empty(0, dtype=np.int64)
    places, start = [], 0
    for line in block.split(b"\n"):
        if not _is_utf8(line):
            places.append(start)
        start += len(line) + 1
    return np.array(places, dtype=np.int64)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
