"""Columns of text as Arrow and numpy have them: files become columns, ids codes, without a Python object per row.

`pyarrow.compute` writes the documentation of its 290 functions each time it is loaded, most methods of arrays load
it, and `pa.array` of numpy's numbers loads numpy's masked arrays: a tenth of a short command. So the functions that
every evaluation takes are reached by their names, through the one call behind all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

try:
    from pyarrow._compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function
except ImportError:  # a version that keeps them elsewhere
    from pyarrow.compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function

Codes = NDArray[np.int32]
Places = NDArray[np.int64]
Scores = NDArray[np.float64]
Mask = NDArray[np.bool_]
Lines = NDArray[np.int64]

Coded = tuple[pa.Array, Codes]
"""The distinct strings of a column, and each row's code among them."""

TEXT = pa.large_string()
"""The type of all ids."""

_ROWS_AT_ONCE = 1 << 18


def column_of(values: NDArray[Any]) -> pa.Array:
    """Numbers as an Arrow array, without a copy."""
    kept = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(kept)])


def values_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The integers of an Arrow column without gaps, as they lie there: `to_numpy` would look for pandas first."""
    kind = np.dtype(str(column.type))
    parts = [
        np.frombuffer(part.buffers()[1] or b"", dtype=kind)[part.offset : part.offset + len(part)]
        for part in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=kind), *parts])


def text_of(words: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array: `pa.array` would look for pandas first."""
    letters = [word.encode() for word in words]
    buffers = [None, pa.py_buffer(running_sum([*map(len, letters)])), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(TEXT, len(letters), buffers)


def running_sum(counts: ArrayLike) -> Places:
    """The sums before each place and after the last: of the lengths of lists that lie in a row, where each begins."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def taken(values: pa.Array, places: NDArray[np.integer]) -> pa.Array:
    """The values at some places, in that order."""
    return call_function("take", [values, column_of(places)])


def as_text(values: pa.Array) -> pa.Array:
    """Strings in the type that all ids have."""
    return values if values.type == TEXT else call_function("cast", [values], CastOptions.safe(TEXT))


def as_numbers(texts: pa.Array) -> pa.Array:
    """Read strings as doubles; one that is no number is an `ArrowInvalid`."""
    return call_function("cast", [texts], CastOptions.safe(pa.float64()))


def byte_order(ids: pa.Array) -> NDArray[np.uint64]:
    """The places of ids in the order of their bytes."""
    words = as_text(ids)
    return values_of(call_function("array_sort_indices", [words.view(pa.large_binary())], ArraySortOptions()))


def places_in(known: pa.Array, ids: pa.Array) -> Codes:
    """The place of each id among the known ones, -1 where it is not there."""
    found = call_function("index_in", [as_text(ids)], SetLookupOptions(value_set=as_text(known)))
    if found.null_count:
        found = call_function("coalesce", [found, column_of(np.array([-1], dtype=np.int32))[0]])
    return np.array(values_of(found), dtype=np.int32)


def joined(*words: pa.Array | str, between: str = "") -> pa.Array:
    """Join columns of strings row by row; a single string stands in every row."""
    parts = [text_of([word])[0] if isinstance(word, str) else as_text(word) for word in (*words, between)]
    return call_function("binary_join_element_wise", parts, JoinOptions())


def lengths_of(words: pa.Array) -> NDArray[np.integer]:
    """The length of each string in bytes."""
    is_large = pa.types.is_large_string(words.type) or pa.types.is_large_binary(words.type)
    ends = np.frombuffer(words.buffers()[1] or b"", dtype=np.int64 if is_large else np.int32)
    return np.diff(ends[words.offset : words.offset + len(words) + 1])


def joined_text(values: pa.Array) -> memoryview:
    """The bytes of all strings of a large string array, one directly after the other, without a copy."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    return memoryview(data if data is not None else b"")[int(ends[0]) : int(ends[-1])]


def named(ids: pa.Array, codes: NDArray[np.integer]) -> list[str]:
    """The ids that some codes stand for."""
    return list(taken(ids, codes).to_pylist())


def in_pieces(size: int, columns: Mapping[str, Coded | NDArray[Any]]) -> Iterator[dict[str, pa.Array]]:
    """Columns of coded ids and of numbers as Arrow arrays, some rows at a time: what writers join."""
    for start in range(0, size, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        yield {
            name: taken(as_text(one[0]), one[1][rows]) if isinstance(one, tuple) else column_of(one[rows])
            for name, one in columns.items()
        }


# Strings as 64-bit keys: equal strings have equal keys, and unequal ones very rarely do.

Keys = NDArray[np.uint64]

_WORDS = 32
"""How many words of eight bytes from the start of a string enter its key; its last word and length always do."""

_MULTIPLIER = 0x9E3779B97F4A7C15
MIXER = np.uint64(0xBF58476D1CE4E5B9)
_SPARE_BITS = 2
"""How many slots there are for each key: 2^2 to 2^3."""
_SHIFT = np.uint64(32)
_KEPT_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


def keys_of(ids: pa.Array) -> Keys:
    """The key of each string of an array."""
    _, offsets, data = ids.buffers()
    width = np.int64 if pa.types.is_large_string(ids.type) else np.int32
    ends = np.frombuffer(offsets, dtype=width)[ids.offset : ids.offset + len(ids) + 1].astype(np.int64)
    if not len(ids) or data is None:
        return np.zeros(len(ids), dtype=np.uint64)
    letters = np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
    padded = np.concatenate([letters, np.zeros(16, dtype=np.uint8)])
    # The eight bytes that start at each byte, as a view that overlaps itself.
    words = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    ends -= ends[0]
    starts, lengths = ends[:-1], np.diff(ends)
    longest = int(lengths.max())
    left = np.int64(longest) if int(lengths.min()) == longest else lengths  # ids of one length need no mask per row
    in_turn = [(starts + 8 * number, left - 8 * number) for number in range(min(_WORDS, -(-longest // 8)))]
    if longest > 8 * _WORDS:
        in_turn.append((ends[1:] - 8, np.where(lengths > 8 * _WORDS, 8, 0)))
    # A place beyond the end is clipped; nothing is left of the string then, and the word becomes zero. `take` on this
    # overlapping view would copy all of it each time.
    return keys_of_words(
        lengths,
        (words[np.clip(place, 0, len(words) - 1)] & _KEPT_BYTES[np.clip(rest, 0, 8)] for place, rest in in_turn),
    )


def keys_of_words(lengths: NDArray[np.int64], words: Iterable[Keys]) -> Keys:
    """The keys of strings from their lengths and their words of eight bytes, 0 past the end of a string."""
    keys = lengths.astype(np.uint64) * MIXER
    for number, word in enumerate(words):
        mixed = word * np.uint64(_MULTIPLIER + 2 * number)
        mixed ^= mixed >> _SHIFT
        mixed *= MIXER
        keys += mixed
    return keys


def keys_of_pairs(topics: Sequence[str], counts: NDArray[np.integer], documents: Keys) -> Keys:
    """The keys of pairs of topic and document, from the keys of documents that stand topic by topic."""
    keys = np.repeat(_keys_of_topics(topics), counts)
    keys += documents
    keys ^= keys >> _SHIFT
    keys *= MIXER
    return keys


def documents_of_pairs(topics: Sequence[str], topic: NDArray[np.integer], keys: Keys) -> Keys:
    """The keys of the documents of pairs, from the keys of these and the places of their topics."""
    mixed = keys * np.uint64(pow(int(MIXER), -1, 1 << 64))
    return np.asarray((mixed ^ (mixed >> _SHIFT)) - _keys_of_topics(topics)[topic])


def _keys_of_topics(topics: Sequence[str]) -> Keys:
    hashes = [blake2b(name.encode(), digest_size=8).digest() for name in topics]
    return np.array([int.from_bytes(one, "little") for one in hashes], dtype=np.uint64)


def encoded(values: pa.Array | pa.ChunkedArray | Sequence[str]) -> Coded:
    """The distinct strings of a column, and each row's code among them."""
    if not isinstance(values, pa.ChunkedArray):
        values = pa.chunked_array([values if isinstance(values, pa.Array) else text_of(values)])
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries()
    else:
        values = call_function("dictionary_encode", [values])  # the last chunk knows all distinct values
    if not values.num_chunks:
        return text_of([]), np.empty(0, dtype=np.int32)
    codes = np.concatenate([values_of(chunk.indices) for chunk in values.chunks])
    return as_text(values.chunk(values.num_chunks - 1).dictionary), codes.astype(np.int32, copy=False)


def repeats(keys: Places) -> Places:
    """The places, rising, of numbers that stand at an earlier place too; that there are none is found fast."""
    has_any = has_repeats(keys.view(np.uint64) * MIXER)
    order = np.argsort(keys, kind="stable") if has_any else np.empty(0, dtype=np.int64)
    return np.sort(order[1:][keys[order][1:] == keys[order][:-1]])


def has_repeats(keys: Keys) -> bool:
    """Whether two keys are equal, if their first bits differ as a rule.

    Each key goes to the slot that its first bits name, where one of several stays. Only the others are sorted.
    """
    bits = len(keys).bit_length() + _SPARE_BITS
    slots = (keys >> np.uint64(64 - bits)).view(np.int64)
    places, staying = np.arange(len(keys), dtype=np.int32), np.empty(1 << bits, dtype=np.int32)
    staying[slots] = places
    there = staying.take(slots, mode="clip")
    gone = np.flatnonzero(there != places)
    others = keys[gone]
    in_order = np.sort(others)
    return bool((keys[there[gone]] == others).any() or (in_order[1:] == in_order[:-1]).any())


def used_only(ids: pa.Array, codes: Codes) -> Coded:
    """Drop the ids that no row uses (their rows were refused)."""
    used = np.zeros(len(ids), dtype=bool)
    used[codes] = True
    if used.all():
        return ids, codes
    new_code = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return taken(ids, np.flatnonzero(used)), new_code[codes]


# Where rows stand in a file, without keeping one number per row.


@dataclass(frozen=True, eq=False)
class LineNumbers:
    """The line numbers of rows that stand on every line but the `skipped` ones.

    `skipped` holds line numbers (from 1, rising) that gave no row: blank lines, refused lines, a header. Row i
    (from 0) then stands on the line i + 1 + k, where k skipped lines lie before it. An ordinary file has none,
    and its line numbers cost nothing.
    """

    skipped: Lines = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def of(self, rows: Places) -> Lines:
        """The line numbers of some rows."""
        rows_before = self.skipped - np.arange(1, len(self.skipped) + 1)
        return rows + 1 + np.searchsorted(rows_before, rows, side="right")

    @staticmethod
    def of_rows(lines: Sequence[int] | Lines) -> LineNumbers:
        """The numbering of rows that stand on these lines."""
        return LineNumbers(np.setdiff1d(np.arange(1, max(lines, default=0) + 1), lines))

    def without(self, lines: Lines) -> LineNumbers:
        """The numbering after the rows on these lines were taken out."""
        return LineNumbers(np.union1d(self.skipped, lines).astype(np.int64))
