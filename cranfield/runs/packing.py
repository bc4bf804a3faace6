"""Columns of numbers as one compressed block: how everything large about runs is stored.

A block is an Arrow IPC stream of one record batch with one row; each column is the bytes of an array, little-endian,
split into planes: all first bytes, then all second bytes, and so on. High bytes repeat, so zstd packs them well.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Planes = NDArray[np.uint8]
"""The bytes of an array: one row for each byte of a number, one column for each number."""

_LEVEL = 1
"""zstd's fastest: higher levels take twice the time for a few per cent."""


def packed(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Give arrays of any lengths as one block."""
    schema = pa.schema([(name, pa.large_binary()) for name in columns])
    batch = pa.record_batch([_one_value(_planes(values)) for values in columns.values()], schema=schema)
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=_LEVEL))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(data: bytes, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Give the arrays of a block back, each of its kind; a damaged block is a `ValueError`."""
    return {name: joined(planes, kinds[name]) for name, planes in unpacked_planes(data, kinds).items()}


def unpacked_planes(data: bytes, kinds: Mapping[str, str]) -> dict[str, Planes]:
    """Give the planes of each array of a block, for whoever needs only some of it; else as `unpacked`."""
    try:
        options = pa.ipc.IpcReadOptions(use_threads=False)  # blocks are small, and many are unpacked side by side
        with pa.ipc.open_stream(pa.BufferReader(data), options=options) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)  # Arrow believes what it reads, and a damaged length would end the process
        if batch.num_rows != 1 or batch.num_columns != len(kinds):
            raise ValueError("other columns than expected")
        return {name: _planes_of(batch.column(name), np.dtype(kind).itemsize) for name, kind in kinds.items()}
    except (pa.ArrowException, OSError, KeyError, AttributeError, StopIteration) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def joined(planes: Planes, kind: str) -> NDArray[Any]:
    """Give the array whose bytes lie in planes."""
    values = np.empty(planes.shape[::-1], dtype=np.uint8)
    for place, plane in enumerate(planes):
        values[:, place] = plane
    return values.view(np.dtype(kind)).ravel()


def _one_value(data: pa.Buffer) -> pa.Array:
    ends = pa.py_buffer(np.array([0, data.size], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, data])


def _planes(values: NDArray[Any]) -> pa.Buffer:
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return pa.py_buffer(np.ascontiguousarray(little.view(np.uint8).reshape(-1, little.itemsize).T))


def _planes_of(column: pa.Array, size: int) -> Planes:
    return np.frombuffer(column[0].as_buffer(), dtype=np.uint8).reshape(size, -1)
