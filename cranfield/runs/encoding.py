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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import CollectionError
from cranfield.runs.packing import joined, packed, unpacked, unpacked_planes
from cranfield.runs.run import Codes, Places, Scores

ENCODING = 1
"""The version `encode` writes; it is stored beside each block."""

_MOST_DIGITS = 9
_SAMPLE = 1024
_PIECE = 1 << 15
_COLUMNS = {"topics": "<i4", "counts": "<i4", "documents": "<i4", "scores": "<f8", "steps": "<i4", "digits": "i1"}


@dataclass(frozen=True, eq=False)
class CodedRun:
    """A ranking whose topics and documents are codes of a collection.

    The topic i has the code `topics[i]` and the rows `offsets[i]` up to `offsets[i + 1]`, from best to worst.
    """

    topics: Codes
    offsets: Places
    documents: Codes
    scores: Scores


@dataclass(frozen=True, eq=False)
class CodedOrder:
    """A ranking whose scores are not needed: `tied` says of each row whether it has the score of the row above.

    That is never so for the first row of a topic. The rest is as in `CodedRun`.
    """

    topics: Codes
    offsets: Places
    documents: Codes
    tied: NDArray[np.bool_]


def encode(topics: Codes, offsets: Places, documents: Codes, scores: Scores) -> bytes:
    """Give the stored form of a ranking in the current encoding."""
    digits, steps = _as_decimals(scores)
    return packed(
        {
            "topics": topics.astype("<i4"),
            "counts": np.diff(offsets).astype("<i4"),
            "documents": documents.astype("<i4", copy=False),
            "scores": scores if steps is None else scores[:0],
            "steps": np.empty(0, dtype="<i4") if steps is None else steps,
            "digits": np.array([digits], dtype="i1"),
        }
    )


def decode(data: bytes, encoding: int = ENCODING) -> CodedRun:
    """Give the ranking back from its stored form."""
    _refuse_other(encoding)
    try:
        return _decoded(data)
    except (ValueError, IndexError) as error:
        raise CollectionError(f"a stored run is damaged: {error}") from None


def decode_order(data: bytes, encoding: int = ENCODING) -> CodedOrder:
    """Give the ranking back without its scores, in half the time."""
    _refuse_other(encoding)
    try:
        return _decoded_order(data)
    except (ValueError, IndexError) as error:
        raise CollectionError(f"a stored run is damaged: {error}") from None


def _refuse_other(encoding: int) -> None:
    if encoding != ENCODING:
        raise CollectionError(
            f"a run is stored in encoding {encoding}, this version of Cranfield reads {ENCODING}; "
            "use the version that wrote the collection, or a newer one"
        )


def _decoded(data: bytes) -> CodedRun:
    columns = unpacked(data, _COLUMNS)
    topics, counts, documents, scores = (columns[name] for name in ("topics", "counts", "documents", "scores"))
    if len(columns["steps"]):
        scores = np.cumsum(columns["steps"], dtype=np.int64) / 10.0 ** int(columns["digits"][0])
    return CodedRun(topics, _offsets(topics, counts, documents, len(scores)), documents, scores)


def _decoded_order(data: bytes) -> CodedOrder:
    planes = unpacked_planes(data, _COLUMNS)
    topics, counts, documents = (joined(planes[name], _COLUMNS[name]) for name in ("topics", "counts", "documents"))
    steps = planes["steps"]
    if steps.size:
        tied = np.bitwise_or.reduce(steps, axis=0) == 0  # no step from the row above: the same score
    else:
        scores = joined(planes["scores"], _COLUMNS["scores"])
        tied = np.concatenate([[False], scores[1:] == scores[:-1]])[: len(scores)]
    offsets = _offsets(topics, counts, documents, len(tied))
    tied[offsets[:-1][counts > 0]] = False
    return CodedOrder(topics, offsets, documents, tied)


def _offsets(topics: Codes, counts: Codes, documents: Codes, rows: int) -> Places:
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if len(topics) != len(counts) or not offsets[-1] == len(documents) == rows or (counts < 0).any():
        raise ValueError("its columns do not fit together")
    return offsets


def _as_decimals(scores: Scores) -> tuple[int, NDArray[np.int32] | None]:
    """Give the number of decimals and the steps between the scores, or None where they are not short decimals.

    A sample tells where to begin, so that scores with all their digits cost next to nothing.
    """
    sample = scores[:: max(len(scores) // _SAMPLE, 1)]
    for digits in range(_MOST_DIGITS + 1):
        if _steps(sample, digits) is not None and (steps := _steps(scores, digits)) is not None:
            return digits, steps
    return 0, None


def _steps(scores: Scores, digits: int) -> NDArray[np.int32] | None:
    """Give the steps between the scores in units of the last decimal, or None where that would not be exact.

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
