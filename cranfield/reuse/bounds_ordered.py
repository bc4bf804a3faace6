"""Bounds of measures for which relevance is worth more the higher it stands, given how much of it there is.

Interpolated precision, binary G, Bpref: with m holes relevant the value is highest where these are the m highest
ones, and lowest where they are the m lowest. So every m is tried.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.evaluate.lists import Counts, Found, Values, log2_of_ranks, ratio
from cranfield.evaluate.measures.average import ELEVEN, Rounding, documents_needed
from cranfield.reuse.bounds_freedom import Ends, Freedom, Mask, of_cells, spread

_FAR = 1 << 40
"""The rank of what is not there."""


@dataclass(frozen=True, eq=False)
class Filling:
    """Some cells with some of their holes chosen to be relevant: what stands in each, by rank.

    Only documents known to be relevant and holes have columns; `relevant` marks the former and the chosen ones.
    `count` is the number of relevant documents of the topic, found or not, and `outside` how many more there may be.
    `nonrelevant_above` counts for each column the judged documents above that are not relevant, all holes that are
    not chosen among them, and `nonrelevant` those of the topic.
    """

    rank: Counts
    relevant: Mask
    count: Counts
    outside: Counts
    nonrelevant_above: Counts
    nonrelevant: Counts

    @cached_property
    def ordinal(self) -> Counts:
        """The number of relevant documents down to each column."""
        return np.cumsum(self.relevant, axis=1)


Value = Callable[[Filling], Values]


def ordered_ends(freedom: Freedom, lowest: Value, highest: Value, *, with_nonrelevant: bool = False) -> Ends:
    """Give the ends, from functions that give the lowest and the highest value of a filling.

    These functions answer for the documents outside, which may be relevant as well, or not. What is judged and not
    relevant is counted only if asked for.
    """
    lower, upper = np.full(len(freedom.lists), np.inf), np.full(len(freedom.lists), -np.inf)
    for cells in freedom.blocks(_widest(freedom)):
        items = _Items(freedom, cells, with_nonrelevant=with_nonrelevant)
        for number, filling in items.fillings(highest_first=True):
            some = cells[:number]
            upper[some] = np.maximum(upper[some], highest(filling))
        for number, filling in items.fillings(highest_first=False):
            some = cells[:number]
            lower[some] = np.minimum(lower[some], lowest(filling))
    return Ends(
        np.where(np.isfinite(lower), lower, freedom.values), np.where(np.isfinite(upper), upper, freedom.values)
    )


def falling_ends(freedom: Freedom, value: Value) -> Ends:
    """Give the ends where relevant documents outside can only hurt."""
    return ordered_ends(
        freedom, lambda filling: value(replace(filling, count=filling.count + filling.outside)), value
    )


def binary_g_ends(freedom: Freedom) -> Ends:
    """Give the ends of binary G."""

    def value(filling: Filling) -> Values:
        misses = np.where(filling.relevant, filling.rank - filling.ordinal, 0)
        terms = np.where(filling.relevant, 1.0 / log2_of_ranks(misses + 1), 0.0)
        return ratio(terms.sum(axis=1), filling.count)

    return falling_ends(freedom, value)


def interpolated_ends(freedom: Freedom) -> Ends:
    """Give the ends of interpolated precision at a recall level."""
    level, rounding = float(freedom.measure.cutoff or 0.0), freedom.setting("rounding")
    return falling_ends(freedom, lambda filling: _interpolated(filling, level, rounding))  # type: ignore[arg-type]


def eleven_point_ends(freedom: Freedom) -> Ends:
    """Give the ends of the eleven-point average."""
    rounding = freedom.setting("rounding")

    def value(filling: Filling) -> Values:
        levels = [_interpolated(filling, level, rounding) for level in ELEVEN]  # type: ignore[arg-type]
        total: Values = np.sum(levels, axis=0)
        return total / len(ELEVEN)

    return falling_ends(freedom, value)


def _interpolated(filling: Filling, level: float, rounding: Rounding) -> Values:
    needed = documents_needed(level, filling.count, rounding)[:, np.newaxis]
    reached = filling.relevant & (filling.ordinal >= needed)
    highest: Values = np.where(reached, filling.ordinal / filling.rank, 0.0).max(axis=1, initial=0.0)
    return highest


def _widest(freedom: Freedom) -> int:
    count = freedom.lists.relevant(freedom.rel).count + freedom.inside.count
    return int(count[freedom.cells].max(initial=0)) + 1


class _Items:
    """The relevant documents and the holes of some cells as matrices, those with many holes first."""

    def __init__(self, freedom: Freedom, cells: Counts, *, with_nonrelevant: bool) -> None:
        lists, rel = freedom.lists, freedom.rel
        known, _ = of_cells(lists.relevant(rel).within(freedom.cutoff), cells)
        holes, _ = of_cells(freedom.inside, cells)
        cell = np.concatenate([known.cell, holes.cell])
        rank = np.concatenate([known.rank, holes.rank])
        order = np.lexsort((rank, cell))
        starts = known.starts + holes.starts
        merged = Found(cell[order], rank[order], np.zeros(len(rank), dtype=np.int32), starts)
        self._rank = spread(merged, merged.rank, fill=_FAR).astype(np.int64)
        self._known = spread(merged, order < len(known)) > 0
        self._hole = spread(merged, order >= len(known)) > 0
        self._number = np.cumsum(self._hole, axis=1)
        self._holes = holes.count
        self._relevant = lists.relevant_count(rel)[cells]
        self._outside = freedom.outside[cells]
        self._nonrelevant = lists.nonrelevant_count(rel)[cells]
        self._nonrelevant_above = np.zeros(self._rank.shape, dtype=np.int64)
        if with_nonrelevant:
            self._nonrelevant_above = spread(merged, _nonrelevant_above(freedom, cells, merged)).astype(np.int64)

    def fillings(self, *, highest_first: bool) -> Iterator[tuple[int, Filling]]:
        """Give how many of the cells have m holes, and these with the m highest or lowest relevant, for all m."""
        for chosen in range(int(self._holes.max(initial=0)) + 1):
            number = int(np.searchsorted(-self._holes, -chosen, side="right"))
            holes = self._holes[:number, np.newaxis]
            if highest_first:
                turned = self._hole[:number] & (self._number[:number] <= chosen)
            else:
                turned = self._hole[:number] & (self._number[:number] > holes - chosen)
            unchosen = self._hole[:number] & ~turned
            yield (
                number,
                Filling(
                    rank=self._rank[:number],
                    relevant=self._known[:number] | turned,
                    count=self._relevant[:number] + chosen,
                    outside=self._outside[:number],
                    nonrelevant_above=self._nonrelevant_above[:number] + np.cumsum(unchosen, axis=1) - unchosen,
                    nonrelevant=self._nonrelevant[:number] + self._holes[:number] - chosen,
                ),
            )


def _nonrelevant_above(freedom: Freedom, cells: Counts, merged: Found) -> Counts:
    """Count for each item the judged documents above it that are known not to be relevant."""
    judged, _ = of_cells(freedom.lists.judged, cells)
    bad = judged.where(judged.grade < freedom.rel)
    stride = _FAR // max(len(cells), 1)
    places = np.searchsorted(bad.cell * stride + bad.rank, merged.cell * stride + merged.rank)
    return places - bad.starts[merged.cell]
