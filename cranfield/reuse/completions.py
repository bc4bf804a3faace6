"""The labels that unjudged documents may get, and the lowest and highest value of a measure over all of them.

Here are the engines that many measures share: all documents alike for measures that go one way, the highest or
lowest ones for measures that go by order, and general bounds where nothing is known. `extremes` has those of AP,
nDCG and R-precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Lists, Values
from cranfield.evaluate.measure import Measure

Mask = NDArray[np.bool_]
Grades = NDArray[np.int32]
Reach = int | Counts | None
"""How far down unjudged documents count: to a rank, to one for each topic, or to the end of the list."""

_PLACES_AT_ONCE = 1 << 17
"""How many places of matrices are worked on at once, so that they stay near the processor."""

_ROWS_AT_ONCE = 1 << 22


class Ends(NamedTuple):
    """The lowest and the highest value of each list."""

    lower: Values
    upper: Values


@dataclass(frozen=True, eq=False)
class Completions:
    """Lists, the `unjudged` documents of theirs that may get any grade from 0 to `highest`, and what else may exist.

    `beside` counts for each cell documents that its list does not have and that may get any grade. `values` are the
    scores as they stand, with everything unjudged taken as not relevant. A label is for good: 0 makes a
    document judged and not relevant.
    """

    measure: Measure
    lists: Lists
    unjudged: Found
    beside: Counts
    highest: int
    values: Values

    @property
    def rel(self) -> int:
        """The lowest grade that is relevant; 1 where the measure has no threshold."""
        return 1 if self.measure.rel is None else self.measure.rel

    @property
    def cutoff(self) -> int | None:
        """The last rank that the measure looks at; None where it looks at all."""
        return self.measure.cutoff if isinstance(self.measure.cutoff, int) else None

    @cached_property
    def inside(self) -> Found:
        """The unjudged documents that the measure looks at."""
        return self.unjudged.within(self.cutoff)

    @cached_property
    def outside(self) -> Counts:
        """How many documents of each cell may be relevant without standing where the measure looks."""
        return self.unjudged.count - self.inside.count + self.beside

    @cached_property
    def is_open(self) -> Mask:
        """Which cells can change at all."""
        can_change: Mask = self.unjudged.count + self.beside > 0
        return can_change

    @cached_property
    def cells(self) -> Counts:
        """The cells that can change, those with many unjudged documents first."""
        cells = np.flatnonzero(self.is_open)
        return cells[np.argsort(-self.inside.count[cells], kind="stable")]

    @cached_property
    def grade_counts(self) -> Counts:
        """How many documents of each topic have each grade from 0 to the highest."""
        counts = np.zeros((len(self.lists.level_counts), self.highest + 1), dtype=np.int64)
        counts[:, self.lists.levels] = self.lists.level_counts
        return counts

    def blocks(self, width: int = 0) -> Iterator[Counts]:
        """Give the open cells in parts, so that a matrix with a column per unjudged document (or more) is small."""
        start = 0
        while start < len(self.cells):
            columns = max(int(self.inside.count[self.cells[start]]) + 1, width)
            end = start + max(_PLACES_AT_ONCE // columns, 1)
            yield self.cells[start:end]
            start = end

    def row_blocks(self) -> Iterator[Counts]:
        """Give the open cells in parts whose lists have not too many rows together."""
        step = max(_ROWS_AT_ONCE // max(int(self.lists.length.max(initial=1)), 1), 1)
        for start in range(0, len(self.cells), step):
            yield self.cells[start : start + step]

    def filled(self, cells: Counts, unjudged: Found, grades: Grades, *, outside: Counts) -> Lists:
        """Give lists of some cells, each with a topic of its own, in which unjudged documents have got grades.

        `cells` may name a cell several times. `unjudged` are those of the new lists (their cells count from 0), and
        `grades` what stands there now. `outside[c, g]` counts documents of grade g that are beyond the cutoff, or
        that no list has. The lists end at the cutoff, if there is one.
        """
        source = self.lists
        length = source.length[cells] if self.cutoff is None else np.minimum(source.length[cells], self.cutoff)
        offsets = np.concatenate([[0], np.cumsum(length)])
        rows = np.repeat(source.offsets[cells] - offsets[:-1], length) + np.arange(int(offsets[-1]))
        changed = source.grades[rows]
        changed[offsets[unjudged.cell] + unjudged.rank - 1] = grades
        width = self.highest + 1
        added = np.bincount(unjudged.cell * width + grades, minlength=len(cells) * width).reshape(-1, width)
        return replace(
            source,
            grades=changed,
            offsets=offsets,
            topics=np.arange(len(cells)),
            levels=np.arange(width, dtype=np.int32),
            level_counts=self.grade_counts[source.topics[cells]] + added + outside,
            highest_grade=self.highest,
            pooled_count=None,
            stratified=None,
            _relevant={},
        )


def unjudged_within(lists: Lists, depth: Reach) -> Found:
    """Give the unjudged rows at ranks up to the depth: one for all topics, one for each, or None for all rows."""
    longest = int(lists.length.max(initial=0))
    topics = len(lists.level_counts)
    reach = np.minimum(np.broadcast_to(longest if depth is None else depth, topics)[lists.topics], lists.length)
    if (reach == lists.length).all():
        return lists.unjudged
    matrix = first_ranks(lists, np.arange(len(lists)), int(reach.max(initial=0)))
    cell, column = np.nonzero(matrix < 0)
    real = column < reach[cell]
    cell, column = cell[real], column[real]
    starts = np.searchsorted(cell, np.arange(len(lists) + 1))
    return Found(cell, column + 1, matrix[cell, column], starts)


def first_ranks(lists: Lists, cells: Counts, width: int) -> Grades:
    """Give the grades of the first ranks of some lists, one row each; NOT_POOLED after the end of a list."""
    columns = np.arange(width)
    rows = lists.offsets[cells][:, np.newaxis] + columns
    if not len(lists.grades):
        return np.full(rows.shape, NOT_POOLED, dtype=np.int32)
    matrix: Grades = lists.grades[np.minimum(rows, len(lists.grades) - 1)]
    matrix[columns >= lists.length[cells][:, np.newaxis]] = NOT_POOLED
    return matrix


def of_cells(found: Found, cells: Counts) -> tuple[Found, Counts]:
    """Give what is found in some cells, which then count from 0, and where each stands in `found`."""
    starts = np.concatenate([[0], np.cumsum(found.count[cells])])
    owner = np.repeat(np.arange(len(cells)), np.diff(starts))
    places = np.arange(int(starts[-1])) - starts[owner] + found.starts[cells][owner]
    return Found(owner, found.rank[places], found.grade[places], starts), places


# Labellings that are tried one after the other: the measure itself gives the value of each.

Labelling = tuple[Counts, Found, Grades, Counts]
"""Cells, those of their unjudged documents that get grades, the grades, and how many outside get each grade."""


def _tried_ends(open_lists: Completions, labellings: Iterable[Labelling]) -> Ends:
    """Give the lowest and the highest value over some labellings of the open cells."""
    lower, upper = np.full(len(open_lists.lists), np.inf), np.full(len(open_lists.lists), -np.inf)
    for cells, unjudged, grades, outside in labellings:
        values = open_lists.measure.values(open_lists.filled(cells, unjudged, grades, outside=outside))
        lower[cells], upper[cells] = np.minimum(lower[cells], values), np.maximum(upper[cells], values)
    return Ends(lower, upper)


def bounds_ends(open_lists: Completions) -> Ends:
    """Give the general bounds of a measure of which nothing else is known: true, and as wide as can be."""
    low, high = (np.full(len(open_lists.lists), bound) for bound in open_lists.measure.bounds)
    return Ends(low, high)


def monotone_ends(open_lists: Completions) -> Ends:
    """Give the ends of a measure that goes one way: all unjudged documents at the worst grade, or at the best.

    Those that the measure looks at and those outside may go different ways.
    """
    highest, measure = open_lists.highest, open_lists.measure
    gains = measure.gains(highest) if "gains" in measure.kind.parameters else None
    grades = (0, highest) if gains is None else (int(np.argmin(gains)), int(np.argmax(gains)))
    outside_too = grades if open_lists.outside.any() else grades[:1]

    def labellings() -> Iterator[Labelling]:
        for cells in open_lists.row_blocks():
            unjudged, _ = of_cells(open_lists.inside, cells)
            for inside, beyond in product(grades, outside_too):
                outside = np.zeros((len(cells), highest + 1), dtype=np.int64)
                outside[:, beyond] = open_lists.outside[cells]
                yield cells, unjudged, np.full(len(unjudged), inside, dtype=np.int32), outside

    return _tried_ends(open_lists, labellings())


def ordered_ends(open_lists: Completions) -> Ends:
    """Give the ends of a measure that goes by order: given how many are relevant, the highest are best.

    For each m the m highest unjudged documents are relevant, and the m lowest; those outside all or none: a relevant
    document outside lowers what was found of all, but in Bpref it also lowers what a misplaced one costs.
    """
    highest, others = open_lists.highest, open_lists.outside

    def labellings() -> Iterator[Labelling]:
        for block in open_lists.row_blocks():
            counts = open_lists.inside.count[block]
            for number in range(int(counts.max(initial=0)) + 1):
                cells = block[counts >= number]
                unjudged, _ = of_cells(open_lists.inside, cells)
                from_below = unjudged.count[unjudged.cell] - unjudged.ordinal
                for chosen in (unjudged.ordinal <= number, from_below < number):
                    grades = np.where(chosen, highest, 0).astype(np.int32)
                    for beyond in (0, 1) if others.any() else (0,):
                        outside = np.zeros((len(cells), highest + 1), dtype=np.int64)
                        outside[:, highest] = beyond * others[cells]
                        yield cells, unjudged, grades, outside

    return _tried_ends(open_lists, labellings())


def reciprocal_ends(open_lists: Completions) -> Ends:
    """Give the ends of reciprocal rank: at least as it is, at most as if the first unjudged one were relevant."""
    best = open_lists.inside.highest(1.0 / open_lists.inside.rank)
    return Ends(open_lists.values, np.maximum(open_lists.values, best))


def persistence_ends(open_lists: Completions) -> Ends:
    """Give the ends of rank-biased precision: the weight of unjudged documents above the base.

    By the topic's own highest grade h an unjudged document can raise h, which takes from all others. Those of grade h
    add their whole weight, so the value is base / h + weights: highest where h stays as it is, and lowest with none
    relevant, or with the highest grade of the scale at the one place where it gains least.
    Source: Moffat and Zobel, TOIS 2008.
    """
    inside, values, highest = open_lists.inside, open_lists.values, open_lists.highest
    weight = open_lists.measure.weight(inside.rank)
    assert weight is not None
    upper = values + inside.total(weight)
    if open_lists.measure.gains(highest) is not None:
        return Ends(values, upper)
    present = np.where(open_lists.grade_counts > 0, np.arange(highest + 1), 0).max(axis=1, initial=0)
    now = np.maximum(present, 1)[open_lists.lists.topics]
    least = np.where(open_lists.outside > 0, 0.0, 1.0 - inside.highest(1.0 - weight))
    return Ends(np.minimum(values, values * now / highest + least), upper)
