"""The labels that unjudged documents may get, and the lowest and highest value of a measure over all of them.

Here are the engines that many measures share: all documents alike for measures that go one way, the highest or
lowest ones for measures that go by order, and every labelling where nothing is known. `extremes` has those of AP,
nDCG, Q and R-precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Lists, Values, log2_of_ranks, ratio
from cranfield.evaluate.measure import Measure
from cranfield.evaluate.measures.precision import ELEVEN, documents_needed

Mask = NDArray[np.bool_]
Grades = NDArray[np.int32]
Reach = int | Counts | None
"""How far down unjudged documents count: to a rank, to one for each topic, or to the end of the list."""

MOST_COMPLETIONS = 256
"""How many completions of one list are tried; with more, the ends are the bounds that the measure has anyway."""

_PLACES_AT_ONCE = 1 << 17
"""How many places of matrices are worked on at once, so that they stay near the processor."""

_ROWS_AT_ONCE = 1 << 22
_FAR = 1 << 40
"""The rank of what is not there."""


class Ends(NamedTuple):
    """The lowest and the highest value of each list."""

    lower: Values
    upper: Values


@dataclass(frozen=True, eq=False)
class Completions:
    """Lists, the `unjudged` documents of theirs that may get any grade from 0 to `highest`, and what else may exist.

    `further` documents of the highest grade may exist that no list has, and `beside` counts for each cell documents
    that other lists have and this one not, which may get any grade. `values` are the scores as they stand, with
    everything unjudged taken as not relevant. A label is for good: 0 makes a document judged and not relevant.
    """

    measure: Measure
    lists: Lists
    unjudged: Found
    further: int
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
        return self.unjudged.count - self.inside.count + self.beside + self.further

    @cached_property
    def is_open(self) -> Mask:
        """Which cells can change at all."""
        can_change: Mask = self.unjudged.count + self.beside + self.further > 0
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


def as_matrix(found: Found, values: NDArray[np.generic], *, fill: float = 0.0) -> Values:
    """Give one value per document found as a matrix: a row for each cell, its documents from the left."""
    matrix = np.full((len(found.starts) - 1, int(found.count.max(initial=0))), fill)
    matrix[found.cell, found.ordinal - 1] = values
    return matrix


def count_above(others: Found, found: Found) -> Counts:
    """Count for each document found those of the others that stand above it in its cell."""
    stride = max(int(others.rank.max(initial=0)), int(found.rank.max(initial=0))) + 1
    places = np.searchsorted(others.cell * stride + others.rank, found.cell * stride + found.rank)
    return places - others.starts[found.cell]


# Every labelling, for measures without an algorithm, on lists with few unjudged documents.


def enumerated_ends(open_lists: Completions) -> Ends:
    """Give the ends of any measure, exact where a list has few completions, and its general bounds elsewhere."""
    cells, grades = open_lists.cells, open_lists.highest + 1
    size = open_lists.unjudged.count[cells] * np.log(grades) + np.log(open_lists.further + 1)
    few = (size <= np.log(MOST_COMPLETIONS) + 1e-9) & (open_lists.beside[cells] == 0)
    lower, upper = open_lists.values.copy(), open_lists.values.copy()
    lower[cells[~few]], upper[cells[~few]] = open_lists.measure.bounds
    lower[cells[few]], upper[cells[few]] = np.inf, -np.inf
    counts = open_lists.unjudged.count[cells[few]]
    for count in np.unique(counts).tolist():
        alike = cells[few][counts == count]
        labels = np.indices((grades,) * count, dtype=np.int32).reshape(count, grades**count).T
        longest = max(int(open_lists.lists.length[alike].max(initial=1)), 1)
        step = max(_ROWS_AT_ONCE // (longest * len(labels)), 1)
        for further, start in product(range(open_lists.further + 1), range(0, len(alike), step)):
            some = alike[start : start + step]
            repeated = np.repeat(some, len(labels))
            unjudged, _ = of_cells(open_lists.unjudged, repeated)
            given = np.broadcast_to(labels, (len(some), *labels.shape)).ravel()
            inside = np.broadcast_to(open_lists.cutoff is None or unjudged.rank <= open_lists.cutoff, len(unjudged))
            outside = np.bincount((unjudged.cell * grades + given)[~inside], minlength=len(repeated) * grades)
            others = outside.reshape(-1, grades)
            others[:, open_lists.highest] += further
            lists = open_lists.filled(repeated, unjudged.where(inside), given[inside], outside=others)
            values = open_lists.measure.values(lists).reshape(len(some), len(labels))
            lower[some] = np.minimum(lower[some], values.min(axis=1))
            upper[some] = np.maximum(upper[some], values.max(axis=1))
    return Ends(lower, upper)


# Measures that go one way: each unjudged document only helps, or only hurts, whatever the others are.


def monotone_ends(open_lists: Completions) -> Ends:
    """Give the ends of a measure that goes one way: all unjudged documents at the worst grade, or at the best.

    Those that the measure looks at, those beyond its cutoff and those that no list has may go different ways.
    """
    highest, measure = open_lists.highest, open_lists.measure
    gains = measure.gains(highest) if "gains" in measure.kind.parameters else None
    grades = (0, highest) if gains is None else (int(np.argmin(gains)), int(np.argmax(gains)))
    beyond = len(open_lists.unjudged) > len(open_lists.inside) or bool(open_lists.beside.any())
    cases = list(product(grades, grades if beyond else grades[:1], {0, open_lists.further}))
    outside_count = open_lists.unjudged.count - open_lists.inside.count + open_lists.beside
    lower, upper = open_lists.values.copy(), open_lists.values.copy()
    step = max(_ROWS_AT_ONCE // max(int(open_lists.lists.length.max(initial=1)), 1), 1)
    for start in range(0, len(open_lists.cells), step):
        cells = open_lists.cells[start : start + step]
        unjudged, _ = of_cells(open_lists.inside, cells)
        tried = []
        for inside, outside, further in cases:
            others = np.zeros((len(cells), highest + 1), dtype=np.int64)
            others[:, outside] += outside_count[cells]
            others[:, highest] += further
            labels = np.full(len(unjudged), inside, dtype=np.int32)
            tried.append(measure.values(open_lists.filled(cells, unjudged, labels, outside=others)))
        lower[cells], upper[cells] = np.min(tried, axis=0), np.max(tried, axis=0)
    return Ends(lower, upper)


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


# Measures that go by order: given how many are relevant, the highest places are best and the lowest worst.


@dataclass(frozen=True, eq=False)
class Filling:
    """Some cells with some of their unjudged documents chosen to be relevant: what stands in each, by rank.

    Only documents known to be relevant and unjudged ones have columns; `relevant` marks the former and the chosen
    ones. `count` is the number of relevant documents of the topic, found or not, and `outside` how many more there
    may be. `nonrelevant_above` counts for each column the judged documents above that are not relevant, all that are
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


def ordered_ends(open_lists: Completions, lowest: Value, highest: Value, *, with_nonrelevant: bool = False) -> Ends:
    """Give the ends, from functions that give the lowest and the highest value of a filling.

    These functions answer for the documents outside, which may be relevant as well, or not. What is judged and not
    relevant is counted only if asked for.
    """
    lower, upper = np.full(len(open_lists.lists), np.inf), np.full(len(open_lists.lists), -np.inf)
    columns = open_lists.lists.relevant(open_lists.rel).count + open_lists.inside.count
    for cells in open_lists.blocks(int(columns[open_lists.cells].max(initial=0)) + 1):
        for top, bottom in _fillings(open_lists, cells, with_nonrelevant=with_nonrelevant):
            some = cells[: len(top.count)]
            upper[some] = np.maximum(upper[some], highest(top))
            lower[some] = np.minimum(lower[some], lowest(bottom))
    values = open_lists.values
    return Ends(np.where(np.isfinite(lower), lower, values), np.where(np.isfinite(upper), upper, values))


def falling_ends(open_lists: Completions, value: Value) -> Ends:
    """Give the ends where relevant documents outside can only hurt."""
    return ordered_ends(
        open_lists, lambda filling: value(replace(filling, count=filling.count + filling.outside)), value
    )


def _fillings(open_lists: Completions, cells: Counts, *, with_nonrelevant: bool) -> Iterator[tuple[Filling, Filling]]:
    """Give for each m those of the cells that have m unjudged documents, with the m highest and m lowest relevant.

    The cells come with those first that have many, so that they are always the first ones.
    """
    lists, rel = open_lists.lists, open_lists.rel
    known, _ = of_cells(lists.relevant(rel).within(open_lists.cutoff), cells)
    unjudged, _ = of_cells(open_lists.inside, cells)
    cell, rank = (np.concatenate([getattr(one, name) for one in (known, unjudged)]) for name in ("cell", "rank"))
    order = np.lexsort((rank, cell))
    merged = Found(cell[order], rank[order], np.zeros(len(rank), dtype=np.int32), known.starts + unjudged.starts)
    ranks = as_matrix(merged, merged.rank, fill=_FAR).astype(np.int64)
    is_known, is_unjudged = (as_matrix(merged, one) > 0 for one in (order < len(known), order >= len(known)))
    number = np.cumsum(is_unjudged, axis=1)
    above = np.zeros(ranks.shape, dtype=np.int64)
    if with_nonrelevant:
        judged, _ = of_cells(lists.judged, cells)
        above = as_matrix(merged, count_above(judged.where(judged.grade < rel), merged)).astype(np.int64)
    relevant, outside = lists.relevant_count(rel)[cells], open_lists.outside[cells]
    nonrelevant, counts = lists.nonrelevant_count(rel)[cells], unjudged.count

    def filling(some: slice, chosen: int, turned: Mask) -> Filling:
        left = is_unjudged[some] & ~turned
        return Filling(
            rank=ranks[some],
            relevant=is_known[some] | (is_unjudged[some] & turned),
            count=relevant[some] + chosen,
            outside=outside[some],
            nonrelevant_above=above[some] + np.cumsum(left, axis=1) - left,
            nonrelevant=nonrelevant[some] + counts[some] - chosen,
        )

    for chosen in range(int(counts.max(initial=0)) + 1):
        some = slice(int(np.searchsorted(-counts, -chosen, side="right")))
        highest, lowest = number[some] <= chosen, number[some] > counts[some, np.newaxis] - chosen
        yield filling(some, chosen, highest), filling(some, chosen, lowest)


def binary_g_ends(open_lists: Completions) -> Ends:
    """Give the ends of binary G."""

    def value(filling: Filling) -> Values:
        misses = np.where(filling.relevant, filling.rank - filling.ordinal, 0)
        terms = np.where(filling.relevant, 1.0 / log2_of_ranks(misses + 1), 0.0)
        return ratio(terms.sum(axis=1), filling.count)

    return falling_ends(open_lists, value)


def interpolated_ends(open_lists: Completions) -> Ends:
    """The ends of interpolated precision at a recall level, or of its mean over the eleven."""
    cutoff, rounding = open_lists.measure.cutoff, open_lists.measure.parameters["rounding"]
    levels = ELEVEN if cutoff is None else (float(cutoff),)

    def value(filling: Filling) -> Values:
        highest = []
        for level in levels:
            needed = documents_needed(level, filling.count, rounding)[:, np.newaxis]
            reached = filling.relevant & (filling.ordinal >= needed)
            highest.append(np.where(reached, filling.ordinal / filling.rank, 0.0).max(axis=1, initial=0.0))
        return np.asarray(np.sum(highest, axis=0) / len(levels))

    return falling_ends(open_lists, value)


def preference_ends(open_lists: Completions) -> Ends:
    """Give the ends of Bpref when the unjudged documents get judged, relevant or not.

    The score itself passes them over and may lie outside. Each further relevant document lowers what a misplaced one
    costs as long as there are more judged non-relevant documents than relevant ones, so that their number matters in
    both directions.
    """
    return ordered_ends(
        open_lists,
        lambda filling: np.min(_preferences(filling), axis=0),
        lambda filling: np.max(_preferences(filling), axis=0),
        with_nonrelevant=True,
    )


def _preferences(filling: Filling) -> list[Values]:
    """Give values of Bpref among which are the lowest and the highest over all numbers of relevant documents.

    n judged non-relevant documents stand above a relevant one, N are there in all. Up to R = N the value is
    Σ (R - n)+ / R². Between two of the n it is (c R - s) / R², c and s the number and the sum of the n below R: it
    rises up to R = 2 s / c and falls from there. Beyond N the value is Σ (1 - n / N) / R, and falls.
    """
    above, least, most = filling.nonrelevant_above, filling.count, filling.count + filling.outside

    def value(relevant: Counts) -> Values:
        count = relevant[:, np.newaxis]
        cost = ratio(np.minimum(above, count), np.minimum(filling.nonrelevant[:, np.newaxis], count))
        terms = np.where(filling.relevant, np.where(above > 0, 1.0 - cost, 1.0), 0.0)
        return ratio(terms.sum(axis=1), relevant)

    ends = [value(least), value(most)]
    if not filling.outside.any():
        return ends
    ends.append(value(np.clip(filling.nonrelevant, least, most)))
    # The lowest and the highest value between two successive n, over all of these.
    far = np.iinfo(np.int64).max
    from_here = np.where(filling.relevant, above, far)
    following = np.minimum.accumulate(from_here[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([following[:, 1:], np.full((len(above), 1), far)], axis=1)
    low = np.maximum(np.maximum(from_here, least[:, np.newaxis]), 1)
    high = np.minimum(np.minimum(following, filling.nonrelevant[:, np.newaxis]), most[:, np.newaxis])
    number, total = filling.ordinal, np.cumsum(np.where(filling.relevant, above, 0), axis=1)
    turn = 2.0 * ratio(total, number)
    real = filling.relevant & (low <= high)
    lowest, highest = np.full(len(above), np.inf), np.full(len(above), -np.inf)
    for tried in (low, high, np.floor(turn), np.ceil(turn)):
        relevant = np.clip(tried, low, np.maximum(low, high)).astype(np.float64)
        values = ratio(number * relevant - total, relevant * relevant)
        lowest = np.minimum(lowest, np.where(real, values, np.inf).min(axis=1, initial=np.inf))
        highest = np.maximum(highest, np.where(real, values, -np.inf).max(axis=1, initial=-np.inf))
    here = np.isfinite(lowest)
    return [*ends, np.where(here, lowest, ends[0]), np.where(here, highest, ends[0])]
