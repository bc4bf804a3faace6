"""The lowest and highest AP, nDCG and R-precision over all labels of unjudged documents.

In AP a relevant document at rank r adds 1 / r (1 + relevant documents above it). Given how many unjudged documents
are relevant, the sum is highest where they are the highest ones and lowest where they are the lowest: what moves up
from q to p gains at the documents in between at least what it loses by having fewer above it. So the highest value is
that of the m highest for some m, and each further one adds to the sum what prefix and suffix sums tell: its own term,
and 1 / r for each relevant document below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.lists import Counts, Found, Values, ratio
from cranfield.evaluate.measures.gain import discounted_cumulated_gain, discounts
from cranfield.reuse.completions import (
    Completions,
    Ends,
    Mask,
    first_ranks,
    of_cells,
)

_MOST_STEPS = 60


def average_ends(open_lists: Completions) -> Ends:
    """Give the ends of average precision."""
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
        is_relevant = first_ranks(open_lists.lists, cells, width) >= open_lists.rel
        is_unjudged = np.zeros(is_relevant.shape, dtype=bool)
        is_unjudged[unjudged.cell, unjudged.rank - 1] = True
        ordinal = np.cumsum(is_unjudged, axis=1, dtype=np.float64)
        above = np.cumsum(is_relevant, axis=1, dtype=np.int64)
        own, count = total[cells][:, np.newaxis], relevant[cells][:, np.newaxis]
        # At each unjudged document: what the sum has grown by when it and all above (below) are relevant.
        grown = _growth(above + ordinal - 1, is_relevant, deep[cells])
        added = np.cumsum(np.where(is_unjudged, grown, 0.0), axis=1)
        tried = np.where(is_unjudged, ratio(own + added, count + ordinal), -np.inf)
        upper[cells] = np.maximum(upper[cells], tried.max(axis=1, initial=-np.inf))
        grown = _growth(above, is_relevant | is_unjudged, deep[cells])
        added = np.cumsum(np.where(is_unjudged, grown, 0.0)[:, ::-1], axis=1)[:, ::-1]
        from_below = unjudged.count[:, np.newaxis] - ordinal + 1
        most = from_below + (relevant + open_lists.outside)[cells][:, np.newaxis]
        tried = np.where(is_unjudged, ratio(own + added, most), np.inf)
        lower[cells] = np.minimum(lower[cells], tried.min(axis=1, initial=np.inf))
    return Ends(lower, upper)


def _growth(above: Values | Counts, relevant: Mask, deep: Values) -> Values:
    """Give at each rank what a relevant document there adds: its own term, and 1 / r for each relevant one below."""
    share = 1.0 / np.arange(1, relevant.shape[1] + 1)
    worth = np.where(relevant, share, 0.0)
    from_here = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
    return share + share * above + (from_here - worth + deep[:, np.newaxis])


# Normalized DCG, whose ideal moves with every unjudged document that turns out to have a gain.


@dataclass(frozen=True, eq=False)
class _GainLevels:
    """The gains a document can have, falling; `step[l]` is how much `worth[l]` is above the next.

    `known[t, l]` counts the documents of topic t with at least that gain, and every judged document has the `least`.
    """

    worth: Values
    step: Values
    known: Counts
    least: float


def normalized_gain_ends(open_lists: Completions) -> Ends:
    """Give the ends of nDCG."""
    parameters = open_lists.measure.parameters

    def weight(rank: Counts) -> Values:
        return 1.0 / discounts(rank, parameters["discount"], float(parameters["base"]))

    by_grade = open_lists.measure.gains(open_lists.highest)
    assert by_grade is not None
    worth = np.unique(by_grade)[::-1]
    known = np.stack([open_lists.grade_counts[:, by_grade >= level].sum(axis=1) for level in worth], axis=1)
    gains = _GainLevels(worth, worth[:-1] - worth[1:], known, float(worth[-1]))
    base = discounted_cumulated_gain(open_lists.lists, **parameters)
    weights = weight(open_lists.inside.rank)
    # The sum of the discounts at the first n ranks, n up to the most that can have a gain, or the cutoff.
    with_gain = known.max(axis=1)[open_lists.lists.topics] + open_lists.unjudged.count + open_lists.beside
    most = int(with_gain.max(initial=0))
    depth = most if open_lists.cutoff is None else min(most, open_lists.cutoff)
    running = np.concatenate([[0.0], np.cumsum(weight(np.arange(1, depth + 1)))])
    lower, upper = open_lists.values.copy(), open_lists.values.copy()
    for cells in open_lists.blocks():
        unjudged, places = of_cells(open_lists.inside, cells)
        # A row for each cell: 0, and then its documents from the left.
        sums = np.zeros((len(cells), 1 + int(unjudged.count.max(initial=0))))
        sums[unjudged.cell, unjudged.ordinal] = weights[places]
        np.cumsum(sums, axis=1, out=sums)
        case = _GainRatio(open_lists, cells, gains, base[cells] + gains.least * sums[:, -1], sums, running)
        lower[cells], upper[cells] = case.lowest(), case.highest()
    return Ends(lower, upper)


class _GainRatio:
    """Some cells, their DCG without unjudged documents, and sums of discounts: at these (`sums`) and at all ranks."""

    def __init__(
        self,
        open_lists: Completions,
        cells: Counts,
        gains: _GainLevels,
        base: Values,
        sums: Values,
        running: Values,
    ) -> None:
        self._gains, self._base, self._sums, self._running = gains, base, sums, running
        self._known = gains.known[open_lists.lists.topics[cells]]
        self._count = open_lists.inside.count[cells]
        self._all = open_lists.unjudged.count[cells]
        self._beside = open_lists.beside[cells]

    def lowest(self) -> Values:
        """Give the lowest ratio over m: the greatest gain at all places outside and at the m lowest unjudged ones."""
        chosen = np.arange(self._sums.shape[1])
        place = np.maximum(self._count[:, np.newaxis] - chosen, 0)
        lowest_sums = self._sums[:, -1:] - np.take_along_axis(self._sums, place, axis=1)
        gained = self._base[:, np.newaxis] + (self._gains.worth[0] - self._gains.least) * lowest_sums
        best = np.zeros(gained.shape)
        others = self._all - self._count + self._beside
        for level, step in enumerate(self._gains.step):
            best += step * self._ideal((self._known[:, level] + others)[:, np.newaxis] + chosen)
        everything = self._known[:, -1] + self._all + self._beside
        best += (self._gains.least * self._ideal(everything))[:, np.newaxis]
        tried = np.where(chosen <= self._count[:, np.newaxis], ratio(gained, best), np.inf)
        lowest: Values = tried.min(axis=1)
        return lowest

    def highest(self) -> Values:
        """Give the highest ratio, by Dinkelbach's method: the ratio of the completion with the highest
        DCG - value * ideal DCG, as long as that rises. `chosen[:, l]` unjudged documents have a gain of at least l's.
        """
        value = np.zeros(len(self._base))
        active = np.arange(len(value))
        for _ in range(_MOST_STEPS):
            sums, known = self._sums[active], self._known[active]
            numbers = np.arange(sums.shape[1])
            chosen = np.empty((len(active), len(self._gains.step)), dtype=np.int64)
            for level in range(chosen.shape[1]):
                ideal = self._ideal(known[:, level, np.newaxis] + numbers)
                chosen[:, level] = np.argmax(sums - value[active][:, np.newaxis] * ideal, axis=1)
            np.maximum.accumulate(chosen, axis=1, out=chosen)
            gained = self._base[active] + np.take_along_axis(sums, chosen, axis=1) @ self._gains.step
            best = self._ideal(known[:, :-1] + chosen) @ self._gains.step
            best = best + self._gains.least * self._ideal(known[:, -1] + self._all[active])
            better = ratio(gained, best)
            rising = better > value[active]
            value[active[rising]] = better[rising]
            active = active[rising]
            if not len(active):
                break
        return value

    def _ideal(self, count: Counts) -> Values:
        return self._running[np.minimum(count, len(self._running) - 1)]


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
        counts = np.bincount(some.cell * (longest + 1) + some.rank, minlength=len(cells) * (longest + 1))
        return np.take_along_axis(np.cumsum(counts.reshape(len(cells), longest + 1), axis=1), depths, axis=1)

    for cells in open_lists.blocks(max(longest, most) + 1):
        unjudged, outside = (one[cells][:, np.newaxis] for one in (open_lists.inside.count, open_lists.outside))
        depth = relevant[cells][:, np.newaxis] + chosen
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
