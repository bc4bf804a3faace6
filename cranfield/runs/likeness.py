"""How alike two runs are: the share of top places in which both have the same document."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.runs.run import Codes, Places

NEARLY_IDENTICAL = 0.95
"""From this share on two runs count as nearly identical."""

DEPTH = 10
EMPTY = -1
"""Stands in a place where a run has no document."""


@dataclass(frozen=True, eq=False)
class Top:
    """The best documents of a run: one row of document codes per topic code, filled up with `EMPTY`."""

    topics: Codes
    documents: NDArray[np.int32]


def top(topics: Codes, offsets: Places, documents: Codes, *, depth: int = DEPTH) -> Top:
    """Give the first `depth` documents of each topic of a run, as codes of the collection."""
    counts = np.minimum(np.diff(offsets), depth)
    inside = np.arange(depth) < counts[:, None]
    places = offsets[:-1, None] + np.arange(depth)
    best = np.full(inside.shape, EMPTY, dtype=np.int32)
    best[inside] = documents[places[inside]]
    return Top(topics, best)


def likeness(one: Top, other: Top) -> float:
    """Give the share of places with the same document.

    A place is a topic and a rank (up to 10) that at least one of the two runs fills; a topic that only one of them
    has counts as different. Two runs without a place at all are not alike: 0.
    """
    common, in_one, in_other = np.intersect1d(one.topics, other.topics, assume_unique=True, return_indices=True)
    mine, theirs = one.documents[in_one], other.documents[in_other]
    same = np.count_nonzero((mine == theirs) & (mine != EMPTY))
    shared = np.count_nonzero((mine != EMPTY) | (theirs != EMPTY)) if len(common) else 0
    alone = _filled(one) - np.count_nonzero(mine != EMPTY) + _filled(other) - np.count_nonzero(theirs != EMPTY)
    places = shared + alone
    return same / places if places else 0.0


def likenesses(one: Top, others: Sequence[Top]) -> list[float]:
    """Give the likeness to each of some other runs; those with the same topics are compared all at once."""
    alike = [other for other in others if np.array_equal(one.topics, other.topics)]
    if not alike:
        return [likeness(one, other) for other in others]
    stacked = np.stack([other.documents for other in alike])
    filled = one.documents != EMPTY
    same = np.count_nonzero((stacked == one.documents) & filled, axis=(1, 2))
    places = np.count_nonzero((stacked != EMPTY) | filled, axis=(1, 2))
    shares = iter((same / np.maximum(places, 1)).tolist())
    return [next(shares) if np.array_equal(one.topics, other.topics) else likeness(one, other) for other in others]


def _filled(best: Top) -> int:
    return int(np.count_nonzero(best.documents != EMPTY))
