"""A stored ranking: integer codes and scores as one compressed Arrow block.

Encoding 1 is an Arrow IPC stream with one record batch of one row, its buffers compressed with zstd:

    topics      list<int32>    codes into the collection's topic ids
    counts      list<int32>    rows of each topic
    documents   large_binary   int32 codes into the collection's document ids, in ranked order
    digits      int8           how many decimals the scores have; -1 where they are kept as doubles
    scores      large_binary   doubles; or, with digits >= 0, the steps between the scores times 10^digits, as int32

The binary columns are little-endian and split into planes: all first bytes, then all second bytes, and so on. High
bytes repeat, so zstd packs them well. Scores come back bit for bit: decimals are used only where every score is
exactly its whole number divided by that power of ten.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from cranfield.errors import CollectionError
from cranfield.runs.run import Codes, Places, Scores

ENCODING = 1
"""The version `encode` writes; it is stored beside each block."""

_LEVEL = 1
_MOST_DIGITS = 9
_SAMPLE = 1024
_AS_DOUBLES = -1
_SCHEMA = pa.schema(
    [
        ("topics", pa.list_(pa.int32())),
        ("counts", pa.list_(pa.int32())),
        ("documents", pa.large_binary()),
        ("digits", pa.int8()),
        ("scores", pa.large_binary()),
    ]
)


@dataclass(frozen=True, eq=False)
class CodedRun:
    """A ranking whose topics and documents are codes of a collection.

    The topic i has the code `topics[i]` and the rows `offsets[i]` up to `offsets[i + 1]`, from best to worst.
    """

    topics: Codes
    offsets: Places
    documents: Codes
    scores: Scores


def encode(topics: Codes, offsets: Places, documents: Codes, scores: Scores) -> bytes:
    """Give the stored form of a ranking in the current encoding."""
    digits = _digits(scores)
    packed = _planes(scores, "<f8") if digits == _AS_DOUBLES else _planes(_steps(scores, digits), "<i4")
    values = [
        _one_list(topics),
        _one_list(np.diff(offsets)),
        _one_binary(_planes(documents, "<i4")),
        pa.array([digits], pa.int8()),
        _one_binary(packed),
    ]
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=_LEVEL))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA, options=options) as writer:
        writer.write_batch(pa.record_batch(values, schema=_SCHEMA))
    return bytes(sink.getvalue())


def decode(data: bytes, encoding: int = ENCODING) -> CodedRun:
    """Give the ranking back from its stored form."""
    if encoding != ENCODING:
        raise CollectionError(
            f"a run is stored in encoding {encoding}, this version of Cranfield reads {ENCODING}; "
            "use the version that wrote the collection, or a newer one"
        )
    try:
        return _decoded(data)
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise CollectionError(f"a stored run is damaged: {error}") from None


def _decoded(data: bytes) -> CodedRun:
    with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
        batch = reader.read_next_batch()
    batch.validate(full=True)  # what lies in a file may be damaged, and Arrow believes it otherwise
    if batch.schema != _SCHEMA or batch.num_rows != 1:
        raise ValueError("its columns are not those of a run")
    topics, counts = (batch.column(name).flatten().to_numpy() for name in ("topics", "counts"))
    documents = _from_planes(batch.column("documents"), "<i4")
    digits = batch.column("digits")[0].as_py()
    if digits == _AS_DOUBLES:
        scores = _from_planes(batch.column("scores"), "<f8")
    else:
        scores = np.cumsum(_from_planes(batch.column("scores"), "<i4"), dtype=np.int64) / 10.0**digits
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if len(topics) != len(counts) or not offsets[-1] == len(documents) == len(scores):
        raise ValueError("its columns differ in length")
    return CodedRun(topics.astype(np.int32), offsets, documents.astype(np.int32), scores.astype(np.float64))


def _digits(scores: Scores) -> int:
    """Give the number of decimals that all scores have at most, or -1 where that is not worth knowing."""
    sample = scores[:: max(len(scores) // _SAMPLE, 1)]
    for digits in range(_MOST_DIGITS + 1):
        if _is_decimal(sample, digits):
            return digits if _is_decimal(scores, digits) else _AS_DOUBLES
    return _AS_DOUBLES


def _is_decimal(scores: Scores, digits: int) -> bool:
    """Say whether all scores are whole numbers over a power of ten, bit for bit, and their steps are small."""
    power = 10.0**digits
    with np.errstate(over="ignore"):
        scaled = np.rint(scores * power)
    if not (np.abs(scaled) < 2.0**53).all():
        return False
    whole = scaled.astype(np.int64)  # -0.0 becomes 0 here, and so is found out
    same = np.array_equal((whole / power).view(np.int64), scores.view(np.int64))
    return same and bool((np.abs(np.diff(whole, prepend=np.int64(0))) < 2**31).all())


def _steps(scores: Scores, digits: int) -> NDArray[np.int64]:
    steps = np.rint(scores * 10.0**digits).astype(np.int64)
    steps[1:] -= steps[:-1].copy()
    return steps


def _one_list(values: NDArray[np.integer]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values.astype(np.int32)))


def _one_binary(data: pa.Buffer) -> pa.Array:
    ends = pa.py_buffer(np.array([0, data.size], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, data])


def _planes(values: NDArray[np.generic], kind: DTypeLike) -> pa.Buffer:
    little = np.ascontiguousarray(values, dtype=kind)
    return pa.py_buffer(np.ascontiguousarray(little.view(np.uint8).reshape(-1, little.itemsize).T))


def _from_planes(column: pa.Array, kind: DTypeLike) -> NDArray[np.generic]:
    planes = np.frombuffer(column[0].as_buffer(), dtype=np.uint8)
    width = np.dtype(kind).itemsize
    return np.ascontiguousarray(planes.reshape(width, -1).T).view(kind).ravel()
