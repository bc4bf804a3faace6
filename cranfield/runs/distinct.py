"""The distinct strings of a long column, and each row's code among them.

Arrow's own dictionary encoding walks a hash table at random, which for millions of strings is a cache miss per
row. Here the rows are sorted by a key of their string with the row number in its low bits, on two threads. Strings
whose keys agree by chance are told apart afterwards: every row is compared with the string of its code.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import TEXT, as_text, equal, taken
from cranfield.arrow import coded as coded_column
from cranfield.runs.keys import Keys, keys_of
from cranfield.runs.run import Codes, Places

LONG = 1 << 18
"""From so many rows on sorting is worth it; the hash table of a shorter column fits into the cache."""

_THREADS = 2
_PIECE = 1 << 15
_UPPER = np.uint64(1 << 63)

Mask = NDArray[np.bool_]
Piece = tuple[int, pa.Array]


@dataclass(frozen=True, eq=False)
class _Share:
    """Some rows, sorted by key and then by number: the row numbers, and the places at which a key begins."""

    rows: Places
    starts: Places


def distinct(values: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Give the distinct strings of a column in order of first appearance, and the code of each row.

    Strings told apart only in the end come last, whatever their place.
    """
    if len(values) < LONG:
        return _hashed(values)
    with ThreadPoolExecutor(_THREADS) as threads:
        codes, is_first = _coded_by_key(values, threads)
        ids = pa.concat_arrays([_selected(piece, is_first) for piece in _pieces(values)])
        unlike = np.concatenate(
            list(threads.map(lambda piece: _unlike(piece, is_first, codes, ids), _pieces(values)))
        )
    if not len(unlike):
        return ids, codes
    more, further = _hashed(pa.chunked_array([taken(values, unlike).combine_chunks()]))
    codes[unlike] = further + np.int32(len(ids))
    return pa.concat_arrays([ids, more]), codes


def _hashed(values: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    coded = coded_column(values)
    if not coded.num_chunks:
        return pa.array([], TEXT), np.empty(0, dtype=np.int32)
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in coded.chunks])
    return as_text(coded.chunk(coded.num_chunks - 1).dictionary), codes.astype(np.int32, copy=False)


def _coded_by_key(values: pa.ChunkedArray, threads: ThreadPoolExecutor) -> tuple[Codes, Mask]:
    """Give each row the code of its key, and say which rows are the first of theirs."""
    keys = np.empty(len(values), dtype=np.uint64)
    bits = np.uint64(len(keys).bit_length())
    list(threads.map(lambda piece: _fill(keys, bits, piece), _pieces(values)))
    shares = list(threads.map(lambda upper: _share(keys, bits, upper=upper), (False, True)))
    is_first = np.zeros(len(keys), dtype=bool)
    for share in shares:
        is_first[share.rows[share.starts]] = True
    number = np.cumsum(is_first, dtype=np.int32)
    number -= 1
    codes = np.empty(len(keys), dtype=np.int32)
    list(threads.map(lambda share: _spread(codes, share, number), shares))
    return codes, is_first


def _fill(keys: Keys, bits: np.uint64, piece: Piece) -> None:
    """Write the keys of a piece, with the row numbers in their low bits."""
    start, words = piece
    made = keys_of(words)
    made >>= bits
    made <<= bits
    made |= np.arange(start, start + len(words), dtype=np.uint64)
    keys[start : start + len(words)] = made


def _share(keys: Keys, bits: np.uint64, *, upper: bool) -> _Share:
    """Sort the rows whose key is in the upper (or lower) half of all numbers."""
    mine = keys[keys >= _UPPER] if upper else keys[keys < _UPPER]
    mine.sort()
    begins = np.ones(len(mine), dtype=bool)
    for start in range(1, len(mine), _PIECE):
        end = min(start + _PIECE, len(mine))
        begins[start:end] = (mine[start:end] ^ mine[start - 1 : end - 1]) >> bits != 0
    mine &= np.uint64((1 << int(bits)) - 1)
    return _Share(mine.view(np.int64), np.flatnonzero(begins))


def _spread(codes: Codes, share: _Share, number: Codes) -> None:
    """Give all rows of a key the number of its first row."""
    counts = np.diff(share.starts, append=len(share.rows))
    codes[share.rows] = np.repeat(number[share.rows[share.starts]], counts)


def _pieces(values: pa.ChunkedArray) -> Iterator[Piece]:
    start = 0
    for chunk in values.chunks:
        yield start, as_text(chunk)
        start += len(chunk)


def _selected(piece: Piece, wanted: Mask) -> pa.Array:
    start, words = piece
    return taken(words, np.flatnonzero(wanted[start : start + len(words)]))


def _unlike(piece: Piece, is_first: Mask, codes: Codes, ids: pa.Array) -> Places:
    """Give the rows of a piece whose string is not the one of their code."""
    start, words = piece
    again = np.flatnonzero(~is_first[start : start + len(words)])
    unlike = again[~equal(taken(words, again), taken(ids, codes[start + again]))]
    return np.asarray(start + unlike, dtype=np.int64)
