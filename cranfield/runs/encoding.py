"""A stored ranking: integer codes and scores as one compressed block.

Encoding 1 is a block of `packing` with these columns:

    topics      int32     codes into the collection's topic ids
    counts      int32     rows of each topic
    documents   int32     codes into the collection's document ids, in ranked order
    scores      float64   the scores in ranked order, where they are no short decimals; else nothing
    steps       int32     else: the steps from score to score, in units of the last decimal
    digits      int8      and how many decimals there are (one number)

Scores come back bit for bit: decimals are used only where every score is exactly its whole number divided by that
power of ten. Most systems print a few decimals, and then a run takes less than half the room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import CollectionError
from cranfield.runs.columns import (
    TEXT,
    Codes,
    Mask,
    Places,
    Scores,
    as_text,
    joined_text,
    lengths_of,
    running_sum,
    taken,
)
from cranfield.runs.run import Order, Run

# Columns of numbers as one compressed block: how everything large about runs is stored.

Planes = NDArray[np.uint8]
"""The bytes of an array: one row for each byte of a number, one column for each number."""

_LEVEL = 1
"""zstd's fastest: higher levels take twice the time for a few per cent."""


def packed(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of any lengths as one block."""
    schema, cells = pa.schema([(name, pa.large_binary()) for name in columns]), []
    for values in columns.values():
        little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        planes = little.view(np.uint8).reshape(-1, little.itemsize).T
        cells.append(pa.array([planes.tobytes()], pa.large_binary()))
    batch = pa.record_batch(cells, schema=schema)
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=_LEVEL))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(data: bytes, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """The arrays of a block back, each of its kind; a damaged block is a `ValueError`."""
    return {name: from_planes(planes, kinds[name]) for name, planes in unpacked_planes(data, kinds).items()}


def unpacked_planes(data: bytes, kinds: Mapping[str, str]) -> dict[str, Planes]:
    """The planes of each array of a block, for whoever needs only some of it; else as `unpacked`."""
    try:
        options = pa.ipc.IpcReadOptions(use_threads=False)  # blocks are small, and many are unpacked side by side
        with pa.ipc.open_stream(pa.BufferReader(data), options=options) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)  # Arrow believes what it reads, and a damaged length would end the process
        if batch.num_rows != 1 or batch.num_columns != len(kinds):
            raise ValueError("unexpected columns")
        cells = {name: np.frombuffer(batch.column(name)[0].as_buffer(), dtype=np.uint8) for name in kinds}
        return {name: cells[name].reshape(np.dtype(kind).itemsize, -1) for name, kind in kinds.items()}
    except (pa.ArrowException, OSError, KeyError, AttributeError, StopIteration) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def from_planes(planes: Planes, kind: str) -> NDArray[Any]:
    """The array whose bytes lie in planes."""
    values = np.empty(planes.shape[::-1], dtype=np.uint8)
    for place, plane in enumerate(planes):
        values[:, place] = plane
    return values.view(np.dtype(kind)).ravel()


ENCODING = 1
"""The version `encode` writes; it is stored beside each block."""

_MOST_DIGITS = 9
_SAMPLE = 1024
_PIECE = 1 << 15
_COLUMNS = {"topics": "<i4", "counts": "<i4", "documents": "<i4", "scores": "<f8", "steps": "<i4", "digits": "i1"}


class CodedRun(NamedTuple):
    """A ranking whose topics and documents are codes of a collection.

    The topic i has the code `topics[i]` and the rows `offsets[i]` up to `offsets[i + 1]`, from best to worst.
    """

    topics: Codes
    offsets: Places
    documents: Codes
    scores: Scores


class CodedOrder(NamedTuple):
    """A ranking whose scores are not needed: `tied` says of each row whether it has the score of the row above.

    That is never so for the first row of a topic. The rest is as in `CodedRun`.
    """

    topics: Codes
    offsets: Places
    documents: Codes
    tied: Mask


def encode(run: Run, topic_codes: Codes, document_codes: Codes) -> bytes:
    """The stored form of a run: one code of the collection for each of its topic ids and distinct document ids."""
    scores = run.scores
    # A sample tells where to begin, so that scores with all their digits cost next to nothing.
    sample, steps = scores[:: max(len(scores) // _SAMPLE, 1)], None
    for digits in range(_MOST_DIGITS + 1):
        if _steps(sample, digits) is not None and (steps := _steps(scores, digits)) is not None:
            break
    return packed(
        {
            "topics": topic_codes.astype("<i4"),
            "counts": np.diff(run.offsets).astype("<i4"),
            "documents": document_codes[run.documents].astype("<i4", copy=False),
            "scores": scores if steps is None else scores[:0],
            "steps": np.empty(0, dtype="<i4") if steps is None else steps,
            "digits": np.array([0 if steps is None else digits], dtype="i1"),
        }
    )


def decode(data: bytes, encoding: int = ENCODING) -> CodedRun:
    """The ranking back from its stored form."""
    with _sound(encoding):
        topics, counts, documents, scores, steps, digits = unpacked(data, _COLUMNS).values()
        if len(steps):
            scores = np.cumsum(steps, dtype=np.int64) / 10.0 ** int(digits[0])
        return CodedRun(topics, _offsets(topics, counts, documents, len(scores)), documents, scores)


def decode_order(data: bytes, encoding: int = ENCODING) -> CodedOrder:
    """The ranking back without its scores, in half the time."""
    with _sound(encoding):
        planes = unpacked_planes(data, _COLUMNS)
        topics, counts, documents = (
            from_planes(planes[name], _COLUMNS[name]) for name in ("topics", "counts", "documents")
        )
        if planes["steps"].size:
            tied = np.bitwise_or.reduce(planes["steps"], axis=0) == 0  # no step from the row above: the same score
        else:
            scores = from_planes(planes["scores"], _COLUMNS["scores"])
            tied = np.concatenate([[False], scores[1:] == scores[:-1]])[: len(scores)]
        offsets = _offsets(topics, counts, documents, len(tied))
        tied[offsets[:-1][counts > 0]] = False
        return CodedOrder(topics, offsets, documents, tied)


@contextmanager
def _sound(encoding: int) -> Iterator[None]:
    """Refuse another encoding, and say of a damaged block that it is one."""
    if encoding != ENCODING:
        raise CollectionError(
            f"a run is stored in encoding {encoding}, this version of Cranfield reads {ENCODING}; "
            "use the version that wrote the collection, or a newer one"
        )
    try:
        yield
    except (ValueError, IndexError) as error:
        raise CollectionError(f"a stored run is damaged: {error}") from None


def _offsets(topics: Codes, counts: Codes, documents: Codes, rows: int) -> Places:
    offsets = running_sum(counts)
    if len(topics) != len(counts) or not offsets[-1] == len(documents) == rows or (counts < 0).any():
        raise ValueError("its columns are inconsistent")
    return offsets


def _steps(scores: Scores, digits: int) -> Codes | None:
    """The steps between the scores in units of the last decimal, or None where that would not be exact.

    Every score must be a whole number over a power of ten, bit for bit, and no step larger than 32 bits hold. A
    piece at a time, so that it stays in the cache.
    """
    power, before = 10.0**digits, np.int64(0)
    steps = np.empty(len(scores), dtype="<i4")
    for start in range(0, len(scores), _PIECE):
        piece = scores[start : start + _PIECE]
        with np.errstate(over="ignore"):
            scaled = np.rint(piece * power)
        if not (np.abs(scaled) < 2.0**53).all():
            return None
        whole = scaled.astype(np.int64)  # -0.0 becomes 0 here, and so is found out
        step = np.diff(whole, prepend=before)
        if not np.array_equal((whole / power).view(np.int64), piece.view(np.int64)) or (np.abs(step) >= 2**31).any():
            return None
        steps[start : start + _PIECE], before = step, whole[-1]
    return steps


# All ids of one kind that a collection knows: the code of an id is its place. Ids never change or leave, so that a
# code means the same for ever.

UNKNOWN = -1
"""The code of an id that is not known."""


def codes_of(known: pa.Array, lists: Sequence[pa.Array]) -> tuple[list[Codes], pa.Array]:
    """The codes of the ids of each list, and the new ids among them, which get the next codes in their order."""
    coded = pa.concat_arrays([known, *map(as_ids, lists)]).dictionary_encode()
    codes = np.split(np.asarray(coded.indices, dtype=np.int32), np.cumsum([len(known), *map(len, lists)])[:-1])
    return codes[1:], coded.dictionary.slice(len(known))


def as_ids(values: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    """Strings as one Arrow array of the type that all ids have here."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if not isinstance(values, pa.Array):
        return pa.array(values, TEXT)
    return as_text(values)


def encode_page(ids: pa.Array | pa.ChunkedArray | Sequence[str]) -> bytes:
    """The stored form of some ids: their text in one piece and their lengths, as compressed Arrow."""
    ids = as_ids(ids)
    lengths = lengths_of(ids).astype(np.int32)
    return packed({"lengths": lengths, "text": np.frombuffer(joined_text(ids), dtype=np.uint8)})


def decode_page(data: bytes) -> pa.Array:
    """The ids of a stored page."""
    try:
        columns = unpacked(data, {"lengths": "<i4", "text": "u1"})
        ends = running_sum(columns["lengths"])
        ids = pa.Array.from_buffers(TEXT, len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(columns["text"])])
        ids.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise CollectionError(f"a stored page of ids is damaged: {error}") from None
    return ids


def from_coded(coded: CodedRun, topic_ids: pa.Array, document_ids: pa.Array, tag: str, order: Order) -> Run:
    """The run that a stored ranking means, with no more ids than it needs."""
    used = np.unique(coded.documents)
    return Run(
        tag=tag,
        topic_ids=taken(topic_ids, coded.topics),
        offsets=coded.offsets,
        document_ids=taken(document_ids, used),
        documents=np.searchsorted(used, coded.documents).astype(np.int32),
        scores=coded.scores,
        order=order,
    )
