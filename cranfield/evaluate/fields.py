"""The columns of ordinary TREC lines, found with masks over bytes: no string is made.

A line is ordinary if it has six columns with one blank (or one tab) between them. Columns are places in the text;
ids become words of eight bytes, which compare exactly and in byte order, and scores are parsed where they stand.
"""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import as_numbers
from cranfield.runs.run import Codes, Places, Scores

Letters = NDArray[np.uint8]
Words = NDArray[np.uint64]

COLUMNS = 6
LONGEST_ID = 256
"""Longer ids are not ordinary: so many bytes may be read past the end of a text."""

_FEED, _TAB, _BLANK, _DELETE = 10, 9, 32, 127
_INVISIBLE = re.compile("[\x7f-\x9f]")
_KEPT_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)
_EVERY_OTHER = 0b01010101


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids as words: `words[k][i]` are the bytes from 8k on of id i, first byte lowest, 0 past its end."""

    lengths: Places
    words: list[Words]

    def take(self, places: Places | Codes) -> "Ids":
        """Give some of the ids."""
        return Ids(self.lengths[places], [word[places] for word in self.words])


@dataclass(frozen=True, eq=False)
class Lines:
    """Whole lines: where their columns begin and end, as places in `letters`, which goes on past its last line."""

    letters: Letters
    starts: Places
    gaps: Places

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, number: int) -> tuple[Places, Places]:
        """Give where a column begins and ends in each line."""
        return self.starts if number == 0 else self.gaps[:, number - 1] + 1, self.gaps[:, number]

    def text(self, line: int, number: int) -> str:
        """Give one column of one line."""
        begin, end = self.column(number)
        return bytes(self.letters[begin[line] : end[line]]).decode()

    def ids(self, number: int) -> Ids | None:
        """Give a column as ids; None where one is too long."""
        begin, end = self.column(number)
        lengths = end - begin
        longest = int(lengths.max())
        return ids_at(self.letters, begin, lengths) if longest <= LONGEST_ID else None

    def numbers(self, number: int) -> Scores | None:
        """Give a column as numbers; None where one is no plain finite number.

        All columns are handed to the parser as one array of strings in which every other one, the text between two
        numbers, is null: so no text is copied.
        """
        count = len(self)
        ends = np.empty(2 * count, dtype=np.int32)
        ends[0::2], ends[1::2] = self.column(number)
        valid = pa.py_buffer(np.full(count // 4 + 1, _EVERY_OTHER, dtype=np.uint8))
        buffers = [valid, pa.py_buffer(ends), pa.py_buffer(self.letters)]
        try:
            parsed = as_numbers(pa.Array.from_buffers(pa.string(), 2 * count - 1, buffers, count - 1))
        except pa.ArrowInvalid:
            return None
        numbers: Scores = np.frombuffer(parsed.buffers()[1], dtype=np.float64)[: 2 * count : 2].copy()
        return numbers if np.isfinite(numbers).all() else None


def with_room(size: int) -> Letters:
    """Give an array for a text of this size, with room after it."""
    return np.empty(size + 1 + LONGEST_ID + 8, dtype=np.uint8)


def ordinary_lines(letters: Letters, size: int) -> Lines | None:
    """Give the lines of the first `size` bytes, after which there is room; None where one of them is not ordinary."""
    if size and letters[size - 1] != _FEED:
        letters[size] = _FEED
        size += 1
    text = letters[:size]
    gap = text <= _BLANK
    if not size or gap[0] or (gap[1:] & gap[:-1]).any() or (text.max() >= _DELETE and not _is_visible(text)):
        return None
    found = np.flatnonzero(gap)
    count, rest = divmod(len(found), COLUMNS)
    if rest:
        return None
    gaps = found.reshape(count, COLUMNS)
    # A line feed at the end of each line, and as many delimiters as other gaps: then all of them stand right.
    delimiter = letters[gaps[0, 0]]
    if (
        delimiter not in (_BLANK, _TAB)
        or np.count_nonzero(text == delimiter) != count * (COLUMNS - 1)
        or not (text[gaps[:, -1]] == _FEED).all()
    ):
        return None
    starts = np.empty(count, dtype=np.int64)
    starts[0], starts[1:] = 0, gaps[:-1, -1] + 1
    return Lines(letters, starts, gaps)


def ids_at(letters: Letters, starts: Places, lengths: Places) -> Ids:
    """Give the ids that stand at some places of a text, after which there is room."""
    words = np.ndarray((len(letters) - 7,), dtype="<u8", buffer=letters, strides=(1,))  # one from each byte on
    longest, shortest = int(lengths.max(initial=0)), int(lengths.min(initial=LONGEST_ID))
    found = []
    for first in range(0, longest, 8):
        word = words[starts + first]
        if shortest < first + 8:
            # Ids of one length need no mask for each.
            word &= _KEPT_BYTES[longest - first if longest == shortest else np.clip(lengths - first, 0, 8)]
        found.append(word)
    return Ids(lengths, found)


def _is_visible(text: Letters) -> bool:
    """Say whether text is UTF-8 without DEL and control characters."""
    try:
        return _INVISIBLE.search(bytes(text).decode()) is None
    except UnicodeDecodeError:
        return False
