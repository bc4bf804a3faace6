"""Strings as 64-bit keys: equal strings have equal keys, and unequal ones very rarely do.

Made with whole-column operations, eight bytes at a time, outside the interpreter lock. A key is a hint, never a
proof: whoever finds two equal keys still compares the strings.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.runs.run import Codes

Keys = NDArray[np.uint64]

_WORDS = 8
"""How many words of eight bytes from the start of a string enter its key; its last word and length always do."""

_MULTIPLIER = 0x9E3779B97F4A7C15
_MIXER = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(32)
_KEPT_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


def keys_of(ids: pa.Array) -> Keys:
    """Give the key of each string of an array."""
    _, offsets, data = ids.buffers()
    width = np.int64 if pa.types.is_large_string(ids.type) else np.int32
    ends = np.frombuffer(offsets, dtype=width)[ids.offset : ids.offset + len(ids) + 1].astype(np.int64)
    if not len(ids) or data is None:
        return np.zeros(len(ids), dtype=np.uint64)
    words = _words(np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])])
    ends -= ends[0]
    starts, lengths = ends[:-1], np.diff(ends)
    longest = int(lengths.max())
    left = np.int64(longest) if int(lengths.min()) == longest else lengths  # ids of one length need no mask per row
    keys = lengths.astype(np.uint64) * _MIXER
    for number in range(min(_WORDS, -(-longest // 8))):
        keys += _mixed(words, starts + 8 * number, left - 8 * number, number)
    if longest > 8 * _WORDS:
        keys += _mixed(words, ends[1:] - 8, np.where(lengths > 8 * _WORDS, 8, 0), _WORDS)
    return keys


def _words(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Give the eight bytes that start at each byte, as a view that overlaps itself."""
    padded = np.concatenate([data, np.zeros(16, dtype=np.uint8)])
    return np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))


def _mixed(
    words: NDArray[np.uint64], places: NDArray[np.int64], left: "NDArray[np.int64] | np.int64", number: int
) -> Keys:
    """Give what one word adds to the keys: nothing where the string ends before it, however long others are.

    A place beyond the end is clipped; there is nothing left of the string then, and the word becomes zero.
    """
    # `take` on this overlapping view would copy all of it each time.
    word = words[np.clip(places, 0, len(words) - 1)]
    word &= _KEPT_BYTES[np.clip(left, 0, 8)]
    word *= np.uint64(_MULTIPLIER + 2 * number)
    word ^= word >> _SHIFT
    word *= _MIXER
    return word


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """Keys in rising order, and the code each belongs to."""

    keys: Keys
    codes: Codes

    @staticmethod
    def of(keys: Keys, *, first_code: int = 0) -> "KeyIndex":
        """Give the index of keys whose codes count up from `first_code`."""
        order = np.argsort(keys)
        return KeyIndex(keys[order], (order + first_code).astype(np.int32))

    def merged(self, other: "KeyIndex") -> "KeyIndex":
        """Give one index over both."""
        places = np.searchsorted(self.keys, other.keys)
        return KeyIndex(np.insert(self.keys, places, other.keys), np.insert(self.codes, places, other.codes))

    def candidates(self, keys: Keys) -> Codes:
        """Give a code with each key, -1 where there is none."""
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.codes[places], np.int32(-1))
