"""Bounds of the Q-measure: graded, with an ideal that moves, and no order of grades that is always best.

A relevant document at rank r adds (C(r) + b cg(r)) / (r + b cg*(r)). With one relevant grade, the higher it stands
the better. With several that is not so: a weak document below a strong one can earn more than above it. But given
how many holes get each grade, the ideal is fixed, and what a document adds depends only on how many of each grade
stand above: a walk through those numbers, hole by hole, finds the best and the worst order exactly. Lists with too
many holes for that get bounds that are true but not the narrowest.
"""

from collections.abc import Callable
from itertools import product
from math import comb

import numpy as np

from cranfield.evaluate.lists import Counts, Found, Values, ratio
from cranfield.reuse.bounds_freedom import Ends, Freedom, of_cells, spread
from cranfield.reuse.bounds_ordered import Filling, falling_ends

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
