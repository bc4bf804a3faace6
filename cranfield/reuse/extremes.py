"""Bounds of average precision and its kin: sums over pairs of relevant documents.

A relevant document at rank r adds a(r) + b(r) (relevant documents above it); for AP both are 1 / r. Given how many
holes are relevant, the sum is highest where they are the highest ones and lowest where they are the lowest: what
moves up from q to p gains at the documents in between, b above q, at least what it loses by having fewer above it.
So the highest value is that of the m highest holes for some m, and each further hole adds to the sum what prefix and
suffix sums tell: its own term, and b for each relevant document below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np

from cranfield.evaluate.lists import NOT_POOLED, Counts, Found, Values, ratio
from cranfield.evaluate.measures.gain import discounted_cumulated_gain, discounts
from cranfield.reuse.completions import (
    Ends,
    Filling,
    Freedom,
    Grades,
    Mask,
    falling_ends,
    first_ranks,
    gains_possible,
    of_cells,
    spread,
)

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


# Bounds of normalized DCG, whose ideal moves with every hole that turns out to have a gain.

_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class _Gains:
    """The gains a document can have, falling; `step[l]` is how much `worth[l]` is above the next.

    `known[t, l]` counts the documents of topic t with at least that gain. `of_highest` is the gain of the highest
    grade, which need not be the greatest.
    """

    worth: Values
    step: Values
    known: Counts
    of_highest: float

    @property
    def least(self) -> float:
        """The gain that every judged document has at least."""
        return float(self.worth[-1])


def normalized_gain_ends(freedom: Freedom) -> Ends:
    """Give the ends of nDCG."""
    gains = _gains(freedom)
    settings = {name: freedom.setting(name) for name in ("gain", "discount", "base", "gains")}
    base = discounted_cumulated_gain(freedom.lists, cutoff=freedom.cutoff, **settings)
    weight = _weights(freedom, freedom.inside.rank)
    worth = _running_weights(freedom, gains)
    lower, upper = freedom.values.copy(), freedom.values.copy()
    for cells in freedom.blocks():
        holes, places = of_cells(freedom.inside, cells)
        running = np.cumsum(spread(holes, weight[places]), axis=1)
        sums = np.concatenate([np.zeros((len(cells), 1)), running], axis=1)
        case = _Case(freedom, cells, gains, base[cells] + gains.least * sums[:, -1], sums, worth)
        lower[cells], upper[cells] = case.lowest(), case.highest()
    return Ends(lower, upper)


def _gains(freedom: Freedom) -> _Gains:
    by_grade = gains_possible(freedom.measure, freedom.highest)
    worth = np.unique(by_grade)[::-1]
    known = np.stack([freedom.grade_counts[:, by_grade >= level].sum(axis=1) for level in worth], axis=1)
    return _Gains(worth, worth[:-1] - worth[1:], known, float(by_grade[-1]))


def _weights(freedom: Freedom, rank: Counts) -> Values:
    divisor = discounts(rank, freedom.setting("discount"), float(freedom.setting("base")))  # type: ignore[arg-type]
    return 1.0 / divisor


def _running_weights(freedom: Freedom, gains: _Gains) -> Values:
    """Give the sum of the discounts at the first n ranks, n up to the most that can have a gain, or the cutoff."""
    known = gains.known.max(axis=1)[freedom.lists.topics]
    most = int((known + freedom.holes.count + freedom.beside).max(initial=0)) + freedom.further
    depth = most if freedom.cutoff is None else min(most, freedom.cutoff)
    return np.concatenate([[0.0], np.cumsum(_weights(freedom, np.arange(1, depth + 1)))])


class _Case:
    """Some cells, their DCG without holes, and the sums of the discounts at their holes (H) and at all ranks (W)."""

    def __init__(
        self, freedom: Freedom, cells: Counts, gains: _Gains, base: Values, sums: Values, worth: Values
    ) -> None:
        self._gains, self._base, self._sums, self._worth = gains, base, sums, worth
        self._known = gains.known[freedom.lists.topics[cells]]
        self._count = freedom.inside.count[cells]
        self._all_holes = freedom.holes.count[cells]
        self._beside, self._further = freedom.beside[cells], freedom.further

    def lowest(self) -> Values:
        """Give the lowest ratio over m: the greatest gain at all places outside and at the m lowest holes."""
        chosen = np.arange(self._sums.shape[1])
        place = np.maximum(self._count[:, np.newaxis] - chosen, 0)
        hole_sums = self._sums[:, -1:] - np.take_along_axis(self._sums, place, axis=1)
        gained = self._base[:, np.newaxis] + (self._gains.worth[0] - self._gains.least) * hole_sums
        best = np.zeros(gained.shape)
        others = self._all_holes - self._count + self._beside
        for level, step in enumerate(self._gains.step):
            more = others + (self._further if self._gains.of_highest >= self._gains.worth[level] else 0)
            best += step * self._ideal((self._known[:, level] + more)[:, np.newaxis] + chosen)
        everything = self._known[:, -1] + self._all_holes + self._beside + self._further
        best += (self._gains.least * self._ideal(everything))[:, np.newaxis]
        tried = np.where(chosen <= self._count[:, np.newaxis], ratio(gained, best), np.inf)
        lowest: Values = tried.min(axis=1)
        return lowest

    def highest(self) -> Values:
        """Give the highest ratio, by Dinkelbach's method."""
        value = np.zeros(len(self._base))
        active = np.arange(len(value))
        for _ in range(_MOST_STEPS):
            better = self._step(value, active)
            rising = better > value[active]
            value[active[rising]] = better[rising]
            active = active[rising]
            if not len(active):
                break
        return value

    def _step(self, value: Values, active: Counts) -> Values:
        """Give the ratio of the completion with the highest DCG - value * ideal DCG, for the active cells."""
        sums = self._sums[active]
        numbers = np.arange(sums.shape[1])
        chosen = np.empty((len(active), len(self._gains.step)), dtype=np.int64)
        for level in range(chosen.shape[1]):
            ideal = self._ideal(self._known[active, level, np.newaxis] + numbers)
            chosen[:, level] = np.argmax(sums - value[active][:, np.newaxis] * ideal, axis=1)
        np.maximum.accumulate(chosen, axis=1, out=chosen)
        gained = self._base[active] + np.take_along_axis(sums, chosen, axis=1) @ self._gains.step
        return ratio(gained, self._ideal_of(chosen, active))

    def _ideal_of(self, chosen: Counts, cells: Counts | slice = slice(None)) -> Values:
        """Give the ideal DCG of completions that have `chosen[:, l]` holes with a gain of at least that of l."""
        best = self._ideal(self._known[cells][:, :-1] + chosen) @ self._gains.step
        return best + self._gains.least * self._ideal(self._known[cells][:, -1] + self._all_holes[cells])

    def _ideal(self, count: Counts) -> Values:
        return self._worth[np.minimum(count, len(self._worth) - 1)]


# Bounds of the Q-measure: graded, with an ideal that moves, and no order of grades that is always best.

MOST_STATES = 20_000
"""How many states one walk may have: 10 holes with three relevant grades, 15 with two."""

State = tuple[int, ...]


def q_ends(freedom: Freedom) -> Ends:
    """Give the ends of the Q-measure."""
    if freedom.rel == freedom.highest:
        return _ends_of_one_grade(freedom)
    lower, upper = freedom.values.copy(), freedom.values.copy()
    loose = np.zeros(len(lower), dtype=bool)
    counts = freedom.inside.count[freedom.cells]
    grades = freedom.highest - freedom.rel + 1
    for holes in np.unique(counts).tolist():
        cells = freedom.cells[counts == holes]
        group = _Group(freedom, cells)
        if comb(holes + 2 * grades + 1, 2 * grades + 1) <= MOST_STATES:
            lower[cells] = group.best(np.minimum, group.outside)
            upper[cells] = group.best(np.maximum, np.zeros_like(group.outside))
        else:
            lower[cells], upper[cells], loose[cells] = group.loose_lower(), group.loose_upper(), True
    return Ends(lower, upper, loose)


def _beta(freedom: Freedom) -> float:
    return float(freedom.setting("beta"))  # type: ignore[arg-type]


def _divisor(freedom: Freedom, relevant: Counts) -> Counts:
    return relevant if freedom.cutoff is None else np.minimum(relevant, freedom.cutoff)


def _ends_of_one_grade(freedom: Freedom) -> Ends:
    beta, grade = _beta(freedom), freedom.rel

    def value(filling: Filling) -> Values:
        best = np.minimum(filling.rank, filling.count[:, np.newaxis])
        terms = filling.ordinal * (1.0 + beta * grade) / (filling.rank + beta * grade * best)
        return ratio(np.where(filling.relevant, terms, 0.0).sum(axis=1), _divisor(freedom, filling.count))

    return falling_ends(freedom, value)


class _Group:
    """Cells with equally many holes: their relevant documents and holes as matrices, one row for each cell.

    `weight` is 1 + b grade for each relevant grade, the highest first. `_sum_at` is C + b cg of the documents known,
    at each of these; `_sum_above` the same above each hole; `_holes_above` counts the holes above each document.
    """

    def __init__(self, freedom: Freedom, cells: Counts) -> None:
        known, _ = of_cells(freedom.lists.relevant(freedom.rel).within(freedom.cutoff), cells)
        holes, _ = of_cells(freedom.inside, cells)
        grades = np.arange(freedom.highest, freedom.rel - 1, -1)
        counts = freedom.grade_counts[freedom.lists.topics[cells]]
        self._freedom, self._beta = freedom, _beta(freedom)
        self.weight = 1.0 + self._beta * grades
        self._steps = np.append(np.ones(len(grades) - 1), float(freedom.rel))
        self._relevant = np.cumsum(counts[:, grades], axis=1)
        self.outside = freedom.outside[cells]
        self.holes = int(holes.count.max(initial=0))
        self._is_real = spread(known, np.ones(len(known))) > 0
        self._rank = spread(known, known.rank, fill=1.0)
        self._hole_rank = spread(holes, holes.rank)
        worth = 1.0 + self._beta * known.grade
        sums = np.cumsum(spread(known, worth), axis=1)
        self._sum_at = sums
        self._holes_above = spread(known, _above(holes, known)).astype(np.int64)
        padded = np.concatenate([np.zeros((len(cells), 1)), sums], axis=1)
        self._sum_above = np.take_along_axis(padded, spread(holes, _above(known, holes)).astype(np.int64), axis=1)

    def best(self, choose: Callable[[Values, Values], Values], outside: Counts) -> Values:
        """Give the lowest or highest value over all ways to grade the holes, with so many more relevant outside."""
        ranges = [range(self.holes + 1)] * len(self.weight)
        found = [self._walk(counts, choose, outside) for counts in product(*ranges) if sum(counts) <= self.holes]
        best = found[0]
        for value in found[1:]:
            best = choose(best, value)
        return best

    def _walk(self, counts: State, choose: Callable[[Values, Values], Values], outside: Counts) -> Values:
        """Give the lowest or highest value where so many holes get each relevant grade, the highest grade first."""
        reached = np.cumsum(counts) + outside[:, np.newaxis]
        cost, hole_cost = self._cost(self._rank, reached), self._cost(self._hole_rank, reached)
        fixed, below = self._known_terms(cost)
        values: dict[State, Values] = {(0,) * len(counts): fixed}
        rest = self.holes - sum(counts)
        for hole in range(self.holes):
            following: dict[State, Values] = {}
            for state, value in values.items():
                if hole - sum(state) < rest:
                    _offer(following, state, value, choose)
                for grade in range(len(counts)):
                    if state[grade] < counts[grade]:
                        to = (*state[:grade], state[grade] + 1, *state[grade + 1 :])
                        own = (self._sum_above[:, hole] + self._worth(to)) / hole_cost[:, hole]
                        _offer(following, to, value + own, choose)
            values = {state: value + self._worth(state) * below[:, hole + 1] for state, value in following.items()}
        (total,) = values.values()
        return self._share(total, outside + sum(counts))

    def loose_upper(self) -> Values:
        """Give a value that none exceeds: the highest weight at the m highest holes, against the least ideal."""
        tried = []
        for chosen in range(self.holes + 1):
            reached = np.zeros((len(self.outside), len(self.weight)))
            reached[:, -1] = chosen
            cost, hole_cost = self._cost(self._rank, reached), self._cost(self._hole_rank, reached)
            above = self._sum_at + self.weight[0] * np.minimum(self._holes_above, chosen)
            own = self._sum_above + self.weight[0] * np.arange(1, self.holes + 1)
            total = np.where(self._is_real, above / cost, 0.0).sum(axis=1) + (own / hole_cost)[:, :chosen].sum(axis=1)
            tried.append(self._share(total, np.full(len(total), chosen)))
        highest: Values = np.max(tried, axis=0)
        return np.minimum(highest, 1.0)

    def loose_lower(self) -> Values:
        """Give a value that none is below: each hole with the lowest weight, the m that add least, all far below."""
        tried, weight = [], self.weight[-1]
        for chosen in range(self.holes + 1):
            reached = np.repeat(self.outside[:, np.newaxis] + chosen, len(self.weight), axis=1)
            hole_cost = self._cost(self._hole_rank, reached)
            fixed, below = self._known_terms(self._cost(self._rank, reached))
            under = np.cumsum(below[:, :0:-1], axis=1)[:, ::-1]
            alone = np.sort((self._sum_above + weight) / hole_cost + weight * under, axis=1)[:, :chosen].sum(axis=1)
            together = weight * (np.arange(chosen) / hole_cost[:, self.holes - chosen :]).sum(axis=1)
            tried.append(self._share(fixed + alone + together, self.outside + chosen))
        lowest: Values = np.min(tried, axis=0)
        return lowest

    def _known_terms(self, cost: Values) -> tuple[Values, Values]:
        """Give what the documents known add by themselves, and between each two holes what one more above adds."""
        share = np.where(self._is_real, 1.0 / cost, 0.0)
        between = [np.where(self._holes_above == number, share, 0.0).sum(axis=1) for number in range(self.holes + 1)]
        return (share * self._sum_at).sum(axis=1), np.stack(between, axis=1)

    def _cost(self, rank: Values, reached: Values | Counts) -> Values:
        """Give r + b cg*(r) where so many documents more have at least each grade."""
        best = np.zeros(rank.shape)
        for level, step in enumerate(self._steps):
            best += step * np.minimum(rank, (self._relevant[:, level] + reached[:, level])[:, np.newaxis])
        return rank + self._beta * best

    def _worth(self, state: State) -> float:
        return float(np.dot(state, self.weight))

    def _share(self, total: Values, more: Counts) -> Values:
        return ratio(total, _divisor(self._freedom, self._relevant[:, -1] + more))


def _offer(
    values: dict[State, Values], state: State, value: Values, choose: Callable[[Values, Values], Values]
) -> None:
    values[state] = choose(values[state], value) if state in values else value


def _above(others: Found, found: Found) -> Counts:
    """Count for each document found those of the others that stand above it in its cell."""
    stride = max(int(others.rank.max(initial=0)), int(found.rank.max(initial=0))) + 1
    places = np.searchsorted(others.cell * stride + others.rank, found.cell * stride + found.rank)
    return places - others.starts[found.cell]


# Bounds of R-precision, in which every relevant document more makes the measure look deeper.


def r_precision_ends(freedom: Freedom) -> Ends:
    """Give the ends of R-precision: all numbers m of documents that turn out relevant are tried.

    m decides the depth. Then the value is highest with the m highest holes relevant, and documents outside only after
    all holes, and lowest with all outside before any hole, and the lowest holes first. How many of these are down to
    the depth is told by the numbers of known relevant documents and of holes there.
    """
    relevant = freedom.lists.relevant_count(freedom.rel)
    known = freedom.lists.relevant(freedom.rel)
    longest = int(freedom.lists.length.max(initial=0))
    most = int((freedom.inside.count + freedom.outside).max(initial=0))
    lower, upper = freedom.values.copy(), freedom.values.copy()
    for cells in freedom.blocks(max(longest, most) + 1):
        holes, outside = freedom.inside.count[cells][:, np.newaxis], freedom.outside[cells][:, np.newaxis]
        chosen = np.arange(most + 1)
        depth = _depth(freedom, relevant[cells][:, np.newaxis] + chosen)
        at = np.minimum(depth, longest)
        found = np.take_along_axis(_running_counts(known, cells, longest), at, axis=1)
        within = np.take_along_axis(_running_counts(freedom.inside, cells, longest), at, axis=1)
        highest = ratio(found + np.minimum(chosen, within), depth)
        below = holes - within
        lowest = ratio(found + np.maximum(np.maximum(chosen - outside, 0) - below, 0), depth)
        possible = chosen <= holes + outside
        lower[cells] = np.where(possible, lowest, np.inf).min(axis=1)
        upper[cells] = np.where(possible, highest, -np.inf).max(axis=1)
    return Ends(lower, upper)


def _depth(freedom: Freedom, relevant: Counts) -> Counts:
    times = float(freedom.setting("times"))  # type: ignore[arg-type]
    return relevant if times == 1.0 else np.floor(times * relevant + 0.9).astype(np.int64)


def _running_counts(found: Found, cells: Counts, longest: int) -> Counts:
    """Give how many documents stand at the first n ranks of each cell, n from 0."""
    some, _ = of_cells(found, cells)
    width = longest + 1
    counts = np.bincount(some.cell * width + some.rank, minlength=len(cells) * width)
    return np.cumsum(counts.reshape(len(cells), width), axis=1)
