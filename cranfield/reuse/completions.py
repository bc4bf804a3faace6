"""The labels that unjudged documents may get, and the lowest and highest value of a measure over all of them.

Here are the engines that many measures share: all documents alike for measures that go one way, the highest or
lowest ones for measures that go by order, and general bounds where nothing is known. AP, nDCG and R-precision have
their own at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from cranfield.evaluate.lists import Counts, Found, Lists, Values, crossed, ratio, rows_of
from cranfield.evaluate.measure import Measure
from cranfield.evaluate.measures.gain import discounted_cumulated_gain, discounts
from cranfield.qrels.qrels import Grades
from cranfield.reuse.provenance import prefix_of
from cranfield.runs.columns import Mask

Reach = int | Counts | None
"""How far down unjudged documents count: to a rank, to one for each topic, or to the end of the list."""

_PLACES_AT_ONCE = 1 << 17
"""How many places of matrices are worked on at once, so that they stay near the processor."""

_ROWS_AT_ONCE = 1 << 22
_MOST_STEPS = 60


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

    def blocks(self, width: int = 0, *, places: int = _PLACES_AT_ONCE) -> Iterator[Counts]:
        """Give the open cells in parts, so that a matrix with a column per unjudged document (or more) is small."""
        start = 0
        while start < len(self.cells):
            columns = max(int(self.inside.count[self.cells[start]]) + 1, width)
            end = start + max(places // columns, 1)
            yield self.cells[start:end]
            start = end

    @property
    def row_blocks(self) -> Iterator[Counts]:
        """The open cells in parts whose lists have not too many rows together."""
        return self.blocks(int(self.lists.length.max(initial=1)), places=_ROWS_AT_ONCE)

    def filled(self, cells: Counts, unjudged: Found, grades: Grades, *, outside: Counts) -> Lists:
        """Give lists of some cells, each with a topic of its own, in which unjudged documents have got grades.

        `cells` may name a cell several times. `unjudged` are those of the new lists (their cells count from 0), and
        `grades` what stands there now. `outside[c, g]` counts documents of grade g that are beyond the cutoff, or
        that no list has. The lists end at the cutoff, if there is one.
        """
        source = self.lists
        length = source.length[cells] if self.cutoff is None else np.minimum(source.length[cells], self.cutoff)
        offsets = np.concatenate([[0], np.cumsum(length)])
        changed = source.grades[rows_of(source.offsets[cells], length)]
        changed[offsets[unjudged.cell] + unjudged.rank - 1] = grades
        width = self.highest + 1
        added = crossed(unjudged.cell, grades, (len(cells), width))
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
        )


def unjudged_within(lists: Lists, depth: Reach) -> Found:
    """Give the unjudged rows at ranks up to the depth: one for all topics, one for each, or None for all rows."""
    if depth is None:
        return lists.unjudged
    return prefix_of(lists, np.broadcast_to(depth, len(lists.level_counts)))[0].unjudged


def of_cells(found: Found, cells: Counts) -> tuple[Found, Counts]:
    """Give what is found in some cells, which then count from 0, and where each stands in `found`."""
    counts = found.count[cells]
    starts, owner = np.append(0, np.cumsum(counts)), np.repeat(np.arange(len(cells)), counts)
    places = rows_of(found.starts[cells], counts)
    return Found(owner, found.rank[places], found.grade[places], starts), places


# Labellings that are tried one after the other: the measure itself gives the value of each.

Labelling = tuple[Counts, Found, Grades, int | None]
"""Cells, those of their unjudged documents that get grades, the grades, and that of all outside, if they get one."""


def _tried_ends(open_lists: Completions, labellings: Iterable[Labelling]) -> Ends:
    """Give the lowest and the highest value over some labellings of the open cells."""
    lower, upper = np.full(len(open_lists.lists), np.inf), np.full(len(open_lists.lists), -np.inf)
    for cells, unjudged, grades, beyond in labellings:
        outside = np.zeros((len(cells), open_lists.highest + 1), dtype=np.int64)
        if beyond is not None:
            outside[:, beyond] = open_lists.outside[cells]
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
        for cells in open_lists.row_blocks:
            unjudged, _ = of_cells(open_lists.inside, cells)
            for inside, beyond in product(grades, outside_too):
                yield cells, unjudged, np.full(len(unjudged), inside, dtype=np.int32), beyond

    return _tried_ends(open_lists, labellings())


def ordered_ends(open_lists: Completions) -> Ends:
    """Give the ends of a measure that goes by order: given how many are relevant, the highest are best.

    For each m the m highest unjudged documents are relevant, and the m lowest; those outside all or none: a relevant
    document outside lowers what was found of all, but in Bpref it also lowers what a misplaced one costs.
    """
    outside = (None, open_lists.highest) if open_lists.outside.any() else (None,)

    def labellings() -> Iterator[Labelling]:
        for block in open_lists.row_blocks:
            counts = open_lists.inside.count[block]
            for number in range(int(counts.max(initial=0)) + 1):
                cells = block[counts >= number]
                unjudged, _ = of_cells(open_lists.inside, cells)
                from_below = unjudged.count[unjudged.cell] - unjudged.ordinal
                for chosen in (unjudged.ordinal <= number, from_below < number):
                    grades = np.where(chosen, open_lists.highest, 0).astype(np.int32)
                    for beyond in outside:
                        yield cells, unjudged, grades, beyond

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


# Average precision, nDCG and R-precision.


def average_ends(open_lists: Completions) -> Ends:
    """Give the ends of average precision.

    In AP a relevant document at rank r adds 1 / r (1 + relevant documents above it). Given how many unjudged
    documents are relevant, the sum is highest where they are the highest ones and lowest where they are the lowest:
    what moves up from q to p gains at the documents in between at least what it loses by having fewer above it. So
    the highest value is that of the m highest for some m, and each further one adds to the sum what prefix and suffix
    sums tell: its own term, and 1 / r for each relevant document below.
    """
    known = open_lists.lists.relevant(open_lists.rel).within(open_lists.cutoff)
    share = 1.0 / known.rank
    total = known.total(share + share * (known.ordinal - 1))
    relevant = open_lists.lists.relevant_count(open_lists.rel).astype(float)
    # The score as it stands, not the same sum again: it is right to the measure's own last digit.
    lower = np.where(open_lists.outside > 0, ratio(total, relevant + open_lists.outside), open_lists.values)
    upper = open_lists.values.copy()
    width = int(open_lists.inside.rank.max(initial=0))
    deep = known.total(np.where(known.rank > width, share, 0.0))
    for cells in open_lists.blocks(width):
        unjudged, _ = of_cells(open_lists.inside, cells)
        rank, offsets = np.arange(width), open_lists.lists.offsets[cells, None]
        rows = np.minimum(offsets + rank, len(open_lists.lists.grades) - 1)
        is_there = rank < open_lists.lists.length[cells, None]
        is_relevant = is_there & (open_lists.lists.grades[rows] >= open_lists.rel)
        is_unjudged = np.zeros(is_relevant.shape, dtype=bool)
        is_unjudged[unjudged.cell, unjudged.rank - 1] = True
        ordinal = np.cumsum(is_unjudged, axis=1, dtype=np.float64)
        above = np.cumsum(is_relevant, axis=1, dtype=np.int64)
        own, count = total[cells][:, None], relevant[cells][:, None]
        # At each unjudged document: what the sum has grown by when it and all above (below) are relevant.
        grown = _growth(above + ordinal - 1, is_relevant, deep[cells])
        added = np.cumsum(np.where(is_unjudged, grown, 0.0), axis=1)
        tried = np.where(is_unjudged, ratio(own + added, count + ordinal), -np.inf)
        upper[cells] = np.maximum(upper[cells], tried.max(axis=1, initial=-np.inf))
        grown = _growth(above, is_relevant | is_unjudged, deep[cells])
        added = np.cumsum(np.where(is_unjudged, grown, 0.0)[:, ::-1], axis=1)[:, ::-1]
        from_below = unjudged.count[:, None] - ordinal + 1
        most = from_below + (relevant + open_lists.outside)[cells][:, None]
        tried = np.where(is_unjudged, ratio(own + added, most), np.inf)
        lower[cells] = np.minimum(lower[cells], tried.min(axis=1, initial=np.inf))
    return Ends(lower, upper)


def _growth(above: Values | Counts, relevant: Mask, deep: Values) -> Values:
    """Give at each rank what a relevant document there adds: its own term, and 1 / r for each relevant one below."""
    share = 1.0 / np.arange(1, relevant.shape[1] + 1)
    worth = np.where(relevant, share, 0.0)
    from_here = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
    return share + share * above + (from_here - worth + deep[:, None])


# Normalized DCG, whose ideal moves with every unjudged document that turns out to have a gain.


def normalized_gain_ends(open_lists: Completions) -> Ends:
    """Give the ends of nDCG."""
    parameters, inside = open_lists.measure.parameters, open_lists.inside

    def weight(rank: Counts) -> Values:
        return 1.0 / discounts(rank, parameters["discount"], float(parameters["base"]))

    by_grade = open_lists.measure.gains(open_lists.highest)
    assert by_grade is not None
    worth = np.array(sorted({*by_grade.tolist()}, reverse=True))
    known = np.stack([open_lists.grade_counts[:, by_grade >= level].sum(axis=1) for level in worth], axis=1)
    known = known[open_lists.lists.topics]
    base = discounted_cumulated_gain(open_lists.lists, **parameters)
    weights = weight(inside.rank)
    # The sum of the discounts at the first n ranks, n up to the most that can have a gain, or the cutoff.
    with_gain = known.max(axis=1) + open_lists.unjudged.count + open_lists.beside
    most = int(with_gain.max(initial=0))
    depth = most if open_lists.cutoff is None else min(most, open_lists.cutoff)
    running = np.concatenate([[0.0], np.cumsum(weight(np.arange(1, depth + 1)))])
    lower, upper = open_lists.values.copy(), open_lists.values.copy()
    for cells in open_lists.blocks():
        unjudged, places = of_cells(inside, cells)
        # A row for each cell: 0, and then its documents from the left.
        sums = np.zeros((len(cells), 1 + int(unjudged.count.max(initial=0))))
        sums[unjudged.cell, unjudged.ordinal] = weights[places]
        np.cumsum(sums, axis=1, out=sums)
        counts = (one[cells] for one in (inside.count, open_lists.unjudged.count, open_lists.outside))
        case = _GainRatio(worth, running, known[cells], base[cells] + worth[-1] * sums[:, -1], sums, *counts)
        lower[cells], upper[cells] = case.lowest(), case.highest()
    return Ends(lower, upper)


class _GainRatio(NamedTuple):
    """Some cells, and what their nDCG is made of.

    `worth` are the gains that a document can have, falling; `known` counts for each cell the judged documents with at
    least that gain, and every judged document has the last, the least. `base` is the DCG without unjudged documents,
    and there are sums of discounts: at these (`sums`) and at all ranks (`running`). `inside` counts the unjudged
    documents where the measure looks, `everywhere` those of the whole list, and `outside` those that may be relevant
    without standing where it looks.
    """

    worth: Values
    running: Values
    known: Counts
    base: Values
    sums: Values
    inside: Counts
    everywhere: Counts
    outside: Counts

    def lowest(self) -> Values:
        """Give the lowest ratio over m: the greatest gain at all places outside and at the m lowest unjudged ones."""
        worth, known, inside = self.worth, self.known, self.inside
        chosen = np.arange(self.sums.shape[1])
        place = np.maximum(inside[:, None] - chosen, 0)
        lowest_sums = self.sums[:, -1:] - np.take_along_axis(self.sums, place, axis=1)
        gained = self.base[:, None] + (worth[0] - worth[-1]) * lowest_sums
        best = np.zeros(gained.shape)
        for level, step in enumerate(-np.diff(worth)):
            best += step * self.ideal((known[:, level] + self.outside)[:, None] + chosen)
        best += (worth[-1] * self.ideal(known[:, -1] + inside + self.outside))[:, None]
        tried = np.where(chosen <= inside[:, None], ratio(gained, best), np.inf)
        lowest: Values = tried.min(axis=1)
        return lowest

    def highest(self) -> Values:
        """Give the highest ratio, by Dinkelbach's method: the ratio of the completion with the highest
        DCG - value * ideal DCG, as long as that rises. `chosen[:, l]` unjudged documents have a gain of at least l's.
        """
        value, steps = np.zeros(len(self.base)), -np.diff(self.worth)
        active = np.arange(len(value))
        for _ in range(_MOST_STEPS):
            sums, known = self.sums[active], self.known[active]
            numbers = np.arange(sums.shape[1])
            chosen = np.empty((len(active), len(steps)), dtype=np.int64)
            for level in range(len(steps)):
                ideal = self.ideal(known[:, level, None] + numbers)
                chosen[:, level] = np.argmax(sums - value[active][:, None] * ideal, axis=1)
            np.maximum.accumulate(chosen, axis=1, out=chosen)
            gained = self.base[active] + np.take_along_axis(sums, chosen, axis=1) @ steps
            best = self.ideal(known[:, :-1] + chosen) @ steps
            best = best + self.worth[-1] * self.ideal(known[:, -1] + self.everywhere[active])
            better = ratio(gained, best)
            rising = better > value[active]
            value[active[rising]] = better[rising]
            active = active[rising]
            if not len(active):
                break
        return value

    def ideal(self, count: Counts) -> Values:
        """The sum of the discounts at the first ranks."""
        return self.running[np.minimum(count, len(self.running) - 1)]


# R-precision, in which every relevant document more makes the measure look deeper.


def r_precision_ends(open_lists: Completions) -> Ends:
    """Give the ends of R-precision: all numbers m of documents that turn out relevant are tried.

    m decides the depth. Then the value is highest with the m highest unjudged documents relevant, and those outside
    only after all of these, and lowest with all outside first, and then the lowest ones. How many of these are down
    to the depth is told by the numbers of known relevant and of unjudged documents there.
    """
    times = float(open_lists.measure.parameters["times"])
    known = open_lists.lists.relevant(open_lists.rel)
    relevant = open_lists.lists.relevant_count(open_lists.rel)
    longest = int(open_lists.lists.length.max(initial=0))
    most = int((open_lists.inside.count + open_lists.outside).max(initial=0))
    chosen = np.arange(most + 1)
    lower, upper = open_lists.values.copy(), open_lists.values.copy()

    def down_to(found: Found, cells: Counts, depths: Counts) -> Counts:
        some, _ = of_cells(found, cells)
        counts = crossed(some.cell, some.rank, (len(cells), longest + 1))
        return np.take_along_axis(np.cumsum(counts, axis=1), depths, axis=1)

    for cells in open_lists.blocks(max(longest, most) + 1):
        unjudged, outside = (one[cells][:, None] for one in (open_lists.inside.count, open_lists.outside))
        depth = relevant[cells][:, None] + chosen
        depth = depth if times == 1.0 else np.floor(times * depth + 0.9).astype(np.int64)
        at = np.minimum(depth, longest)
        found, within = (down_to(one, cells, at) for one in (known, open_lists.inside))
        highest = ratio(found + np.minimum(chosen, within), depth)
        below = unjudged - within
        lowest = ratio(found + np.maximum(np.maximum(chosen - outside, 0) - below, 0), depth)
        possible = chosen <= unjudged + outside
        lower[cells] = np.where(possible, lowest, np.inf).min(axis=1)
        upper[cells] = np.where(possible, highest, -np.inf).max(axis=1)
    return Ends(lower, upper)
