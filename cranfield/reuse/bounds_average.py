"""Bounds of average precision and its kin: sums over pairs of relevant documents.

A relevant document at rank r adds a(r) + b(r) (relevant documents above it); for AP both are 1 / r. Given how many
holes are relevant, the sum is highest where they are the highest ones and lowest where they are the lowest: what
moves up from q to p gains at the documents in between, b above q, at least what it loses by having fewer above it.
So the highest value is that of the m highest holes for some m, and each further hole adds to the sum what prefix and
suffix sums tell: its own term, and b for each relevant document below.
"""

from collections.abc import Callable

import numpy as np

from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Values, ratio
from cranfield.reuse.bounds_freedom import Ends, Freedom, Grades, Mask, first_ranks, of_cells

Finish = Callable[[Values, Values], Values]
"""From the sum of terms and the number of relevant documents to the value."""

_EPSILON = 0.00001


def average_ends(freedom: Freedom) -> Ends:
    """Give the ends of average precision."""
    return _ends(freedom, ratio)


def logit_ends(freedom: Freedom) -> Ends:
    """Give the ends of yet another average precision, which rises with the sum and falls with R."""
    return _ends(freedom, lambda total, relevant: np.log((1.0 + total) / (1.0 + relevant - total)))


def inferred_ends(freedom: Freedom) -> Ends:
    """Give the ends of inferred AP. All holes get judged, so that nothing is inferred above the last of them.

    The score itself may lie outside: it takes holes for documents as good as the judged ones above them.
    """
    return _ends(freedom, ratio, inferred=True)


def _ends(freedom: Freedom, finish: Finish, *, inferred: bool = False) -> Ends:
    known = freedom.lists.relevant(freedom.rel).within(freedom.cutoff)
    first, second = _inferred_terms(freedom, known) if inferred else (1.0 / known.rank, 1.0 / known.rank)
    total = known.total(first + second * (known.ordinal - 1))
    relevant = freedom.lists.relevant_count(freedom.rel).astype(float)
    lower, upper = finish(total, relevant + freedom.outside), finish(total, relevant)
    if not inferred:
        # The same sums, but in the measure's own last digit where there is no hole.
        lower, upper = np.where(freedom.outside > 0, lower, freedom.values), freedom.values.copy()
    width = int(freedom.inside.rank.max(initial=0))
    deep = known.total(np.where(known.rank > width, second, 0.0))
    for cells in freedom.blocks(width):
        steps = _Steps(freedom, cells, width, inferred=inferred)
        added = steps.highest_first(deep[cells])
        tried = finish(total[cells][:, np.newaxis] + added, relevant[cells][:, np.newaxis] + steps.ordinal)
        upper[cells] = np.maximum(upper[cells], np.where(steps.hole, tried, -np.inf).max(axis=1, initial=-np.inf))
        added = steps.lowest_first(deep[cells])
        count = steps.from_below + (relevant + freedom.outside)[cells][:, np.newaxis]
        tried = finish(total[cells][:, np.newaxis] + added, count)
        lower[cells] = np.minimum(lower[cells], np.where(steps.hole, tried, np.inf).min(axis=1, initial=np.inf))
    return Ends(lower, upper)


class _Steps:
    """The first ranks of some cells as matrices, and what the sum grows by with each hole that becomes relevant."""

    def __init__(self, freedom: Freedom, cells: Counts, width: int, *, inferred: bool) -> None:
        grades = first_ranks(freedom.lists, cells, width)
        holes, _ = of_cells(freedom.inside, cells)
        self.hole = np.zeros(grades.shape, dtype=bool)
        self.hole[holes.cell, holes.rank - 1] = True
        self._known = grades >= freedom.rel
        self.ordinal = np.cumsum(self.hole, axis=1, dtype=np.float64)
        self.from_below = holes.count[:, np.newaxis] - self.ordinal + 1
        self._first, self._second = _terms(width) if not inferred else _terms_when_judged(grades, self.hole)

    def highest_first(self, deep: Values) -> Values:
        """Give at each hole what the sum has grown by when it and all above are relevant."""
        above = np.cumsum(self._known, axis=1) + self.ordinal - 1
        return np.cumsum(np.where(self.hole, self._own(above) + self._below(self._known, deep), 0.0), axis=1)

    def lowest_first(self, deep: Values) -> Values:
        """Give at each hole what the sum has grown by when it and all below are relevant."""
        grown = self._own(np.cumsum(self._known, axis=1, dtype=np.int64)) + self._below(self._known | self.hole, deep)
        return np.cumsum(np.where(self.hole, grown, 0.0)[:, ::-1], axis=1)[:, ::-1]

    def _own(self, above: Values | Counts) -> Values:
        return self._first + self._second * above

    def _below(self, relevant: Mask, deep: Values) -> Values:
        """Give at each rank the sum of b over the relevant documents below."""
        worth = np.where(relevant, self._second, 0.0)
        from_here = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
        return from_here - worth + deep[:, np.newaxis]


def _terms(width: int) -> tuple[Values, Values]:
    share = 1.0 / np.arange(1, width + 1)
    return share, share


def _terms_when_judged(grades: Grades, hole: Mask) -> tuple[Values, Values]:
    """Give a and b of inferred AP at each rank, when the holes are judged."""
    judged, pooled = (grades >= 0) | hole, (grades != NOT_POOLED) | hole
    rank = np.arange(1, grades.shape[1] + 1)
    return _inferred(rank, np.cumsum(pooled, axis=1) - pooled, np.cumsum(judged, axis=1) - judged)


def _inferred_terms(freedom: Freedom, known: Found) -> tuple[Values, Values]:
    """Give a and b of the relevant documents that are known, when the holes are judged."""
    lists, holes = freedom.lists, freedom.holes
    stride = int(lists.length.max(initial=0)) + 1

    def above(others: Found) -> Counts:
        keys = others.cell * stride + others.rank
        return np.searchsorted(keys, known.cell * stride + known.rank) - others.starts[known.cell]

    new = holes.where(holes.grade == NOT_POOLED)
    return _inferred(known.rank, above(lists.pooled) + above(new), above(lists.judged) + above(holes))


def _inferred(rank: Counts, pooled: Counts, judged: Counts) -> tuple[Values, Values]:
    """Give 1/r (1 + pooled e / (judged + 2e)) and 1/r pooled / (judged + 2e); 1 and 0 at the first rank."""
    slope = pooled / (judged + 2 * _EPSILON)
    is_first = rank == 1
    return np.where(is_first, 1.0, (1.0 + slope * _EPSILON) / rank), np.where(is_first, 0.0, slope / rank)
