"""What Arrow computes on columns, for the paths that every evaluation takes.

`pyarrow.compute` writes the documentation of its 290 functions each time it is loaded, most methods of arrays load
it, and `pa.array` of numpy's numbers loads numpy's masked arrays: a tenth of a short command. The same functions are
reached by their names through the one call behind all of them, and nothing of that is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

try:
    from pyarrow._compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function
except ImportError:  # a version that keeps them elsewhere
    from pyarrow.compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function

TEXT = pa.large_string()
"""The type of all ids."""

_BYTES = pa.large_binary()
_NONE = -1


def column_of(values: NDArray[Any]) -> pa.Array:
    """Give numbers as an Arrow array, without a copy."""
    kept = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(kept)])


def taken(values: pa.Array, places: NDArray[np.integer]) -> pa.Array:
    """Give the values at some places, in that order."""
    return call_function("take", [values, column_of(places)])


def as_text(values: pa.Array) -> pa.Array:
    """Give strings in the type that all ids have."""
    return values if values.type == TEXT else call_function("cast", [values], CastOptions.safe(TEXT))


def as_numbers(texts: pa.Array) -> pa.Array:
    """Read strings as doubles; one that is no number is an `ArrowInvalid`."""
    return call_function("cast", [texts], CastOptions.safe(pa.float64()))


def as_digits(numbers: NDArray[np.integer]) -> pa.Array:
    """Give whole numbers in decimal digits."""
    return call_function("cast", [column_of(numbers)], CastOptions.safe(TEXT))


def byte_order(ids: pa.Array) -> NDArray[np.uint64]:
    """Give the places of ids in the order of their bytes."""
    words = as_text(ids)
    found = call_function("array_sort_indices", [words.view(_BYTES)], ArraySortOptions())
    order: NDArray[np.uint64] = found.to_numpy()
    return order


def places_in(known: pa.Array, ids: pa.Array) -> NDArray[np.int32]:
    """Give the place of each id among the known ones, -1 where it is not there."""
    found = call_function("index_in", [as_text(ids)], SetLookupOptions(value_set=as_text(known)))
    if found.null_count:
        found = call_function("coalesce", [found, pa.scalar(_NONE, pa.int32())])
    return np.array(found.to_numpy(), dtype=np.int32)


def equal(first: pa.Array, second: pa.Array) -> NDArray[np.bool_]:
    """Say row by row whether two columns of strings, without nulls, are the same."""
    return np.asarray(call_function("equal", [first, second]).to_numpy(zero_copy_only=False), dtype=bool)


def coded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column as codes into its distinct values; the last chunk knows them all. An empty one has no chunk."""
    return call_function("dictionary_encode", [values])


def joined(*words: pa.Array | str, between: str) -> pa.Array:
    """Join columns of strings row by row; a single string stands in every row."""
    parts = [pa.scalar(word, TEXT) if isinstance(word, str) else as_text(word) for word in words]
    return call_function("binary_join_element_wise", [*parts, pa.scalar(between, TEXT)], JoinOptions())


def lengths_of(words: pa.Array) -> NDArray[np.integer]:
    """Give the length of each string in bytes."""
    is_large = pa.types.is_large_string(words.type) or pa.types.is_large_binary(words.type)
    ends = np.frombuffer(words.buffers()[1] or b"", dtype=np.int64 if is_large else np.int32)
    return np.diff(ends[words.offset : words.offset + len(words) + 1])


# Arrow arrays and numpy arrays of codes, each seen as the other without a copy.


def indices(codes: NDArray[np.integer]) -> pa.Array:
    """Give codes as an Arrow array, to take ids with."""
    whole = np.ascontiguousarray(codes, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def named(ids: pa.Array, codes: NDArray[np.integer]) -> list[str]:
    """Give the ids that some codes stand for."""
    return list(ids.take(indices(codes)).to_pylist())


def places(found: pa.Array) -> NDArray[np.uint64]:
    """Give the result of `sort_indices` as numbers."""
    return np.frombuffer(found.buffers()[1], dtype=np.uint64, count=len(found) + found.offset)[found.offset :]
