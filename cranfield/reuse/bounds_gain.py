"""Bounds of normalized DCG, whose ideal moves with every hole that turns out to have a gain.

Let the gains a document can have be γ1 > γ2 > … > γL, N(l) the number of holes with a gain of at least γl, and K(l)
the same for the documents whose grade is known. The best completion has the higher gains higher up, so with H(n) the
sum of the discounts at the n highest holes and W(n) at the first n ranks

    DCG = base + Σ (γl - γ(l+1)) H(N(l)),   ideal DCG = Σ (γl - γ(l+1)) W(K(l) + N(l)).

The ratio is maximised by Dinkelbach's method: with the best ratio θ so far, maximise DCG - θ ideal DCG, which falls
apart into one maximum for each l. K(l) rises with l and W is concave, so these maxima rise with l as well and make a
completion. As a function of one hole's gain the ratio is linear over convex, hence quasi-concave: it is lowest where
each gain is the least or the greatest, the greatest at the lowest places.
Source: Dinkelbach, On nonlinear fractional programming, Management Science 1967.
"""

from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.evaluate.measures.gain import discounted_cumulated_gain, discounts
from cranfield.reuse.bounds_freedom import Ends, Freedom, gains_possible, of_cells, spread

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
