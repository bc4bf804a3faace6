"""Expected scores: the mean over all orders of tied documents.

What is a sum over ranks follows from each tie alone. For other measures a list with few different orders has them all
tried; of the rest random orders are drawn until the means are known well enough, and how well is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure, own_measures
from cranfield.evaluate.lists import NOT_POOLED, Lists, Values
from cranfield.evaluate.scores import Scores
from cranfield.evaluate.tie_orders import every_order, every_turn, orders_of, ties_of, turns_of
from cranfield.evaluate.tied_lists import Places, TiedLists

MOST_ORDERS = 2_000
"""How many different orders of one list are all tried."""

_TRIED_ROWS = 1 << 25
_DRAWN_ROWS = 1 << 27
_DRAWN_TOGETHER, _MOST_DRAWN = 100, 10_000
_NEAR_ENOUGH = 0.0001
"""The standard error of a mean at which drawing stops."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected scores; of `drawn` lists, `orders` random orders were drawn, with this standard error of a summary.

    Where nothing had to be drawn the scores are exact. The error is the largest of all runs and measures.
    """

    scores: Scores
    drawn: int = 0
    orders: int = 0
    error: float = 0.0


def expected_scores(alignment: Alignment, scores: Scores, *, rng: np.random.Generator) -> Expected:
    """Give the scores as they are expected over all orders of tied documents.

    A measure with a cutoff sees the ties that begin within it, and no others.
    """
    kinds = _kinds(alignment.lists)
    tied = TiedLists.of(alignment, lambda rows: kinds[rows])
    values = scores.values.copy()
    flat = values.reshape(len(scores.measures), -1)
    drawn, orders, error = 0, 0, 0.0
    for (depth, additive), places in _alike(own_measures(scores.measures)).items():
        part = tied if depth is None else tied.within(depth)
        if not len(part):
            continue
        measures = [own_measures([scores.measures[place]])[0] for place in places]
        means, found = _means(part, measures, alignment, rng, additive=additive)
        flat[np.array(places)[:, None], part.cells] = means
        drawn, orders, error = max(drawn, found.drawn), max(orders, found.orders), max(error, found.error)
    return Expected(replace(scores, values=values, ties="expected"), drawn, orders, error)


@dataclass(frozen=True, slots=True)
class _Drawn:
    drawn: int = 0
    orders: int = 0
    error: float = 0.0


def _kinds(lists: Lists) -> NDArray[np.int64]:
    """Give what a measure can tell apart: grades, unjudged, not pooled; and strata, where there are any."""
    kinds = np.where(lists.grades == NOT_POOLED, -2, np.maximum(lists.grades, -1)).astype(np.int64)
    return kinds if lists.stratified is None else (kinds << 32) + lists.stratified.at_rank


def _alike(measures: Iterable[Measure]) -> dict[tuple[int | None, bool], list[int]]:
    """Give the places of measures by the depth that they see (None: the whole list), and whether they are sums."""
    found: dict[tuple[int | None, bool], list[int]] = {}
    for place, measure in enumerate(measures):
        condensed = bool(dict(measure.settings).get("judged_only"))
        depth = measure.cutoff if isinstance(measure.cutoff, int) and not condensed else None
        found.setdefault((depth, measure.kind.additive and not condensed), []).append(place)
    return found


def _means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator, *, additive: bool
) -> tuple[Values, _Drawn]:
    """Give the mean of each measure for each list, and what had to be drawn for that."""
    ties = ties_of(tied, _kinds(tied.lists)[tied.places])
    orders = [turns_of(own) if additive else orders_of(own) for own in ties]
    most = None if additive else MOST_ORDERS
    tried, rest = _shared_out(orders, tied.lists.length.tolist(), most=most)
    means = np.zeros((len(measures), len(tied)))
    for cell, lists, weights in every_turn(tied.lists, ties, tried) if additive else ():
        for place, measure in enumerate(measures):
            means[place] += np.bincount(cell, weights=weights * measure.values(lists), minlength=len(tied))
    for cell, lists in () if additive else every_order(tied.lists, ties, tried):
        for place, measure in enumerate(measures):
            means[place] += np.bincount(cell, weights=measure.values(lists), minlength=len(tied))
    if not additive:
        means[:, tried] /= np.array([orders[cell] for cell in tried], dtype=float)
    if not rest:
        return means, _Drawn()
    means[:, rest], found = _drawn_means(tied.only(np.array(rest)), measures, alignment, rng)
    return means, found


def _shared_out(orders: list[int], lengths: list[int], *, most: int | None) -> tuple[list[int], list[int]]:
    """Give the lists whose orders are all tried, those with the least to try first, and the rest, both rising."""
    work = [number * length for number, length in zip(orders, lengths, strict=True)]
    tried, total = set(), 0
    for cell in sorted(range(len(work)), key=lambda cell: work[cell]):
        if (most is None or orders[cell] <= most) and total + work[cell] <= _TRIED_ROWS:
            tried.add(cell)
            total += work[cell]
    return sorted(tried), [cell for cell in range(len(work)) if cell not in tried]


def _drawn_means(
    tied: TiedLists, measures: list[Measure], alignment: Alignment, rng: np.random.Generator
) -> tuple[Values, _Drawn]:
    """Give means over random orders, drawn until they are near enough or it takes too long."""
    most = max(_DRAWN_TOGETHER, min(_MOST_DRAWN, _DRAWN_ROWS // max(len(tied.lists.grades), 1)))
    first: Values = np.array([measure.values(tied.lists) for measure in measures])
    total, squares = np.zeros_like(first), np.zeros_like(first)
    drawn, error = 0, np.inf
    while drawn < most and error > _NEAR_ENOUGH:
        for _ in range(_DRAWN_TOGETHER):
            lists = tied.ordered(rng.random(len(tied.places)))
            # From a value of each list on: sums of squares of small differences lose no digits.
            off = np.array([measure.values(lists) for measure in measures]) - first
            total += off
            squares += off * off
        drawn += _DRAWN_TOGETHER
        error = _error((squares - total * total / drawn) / (drawn - 1) / drawn, tied.cells, alignment)
    return first + total / drawn, _Drawn(len(tied), drawn, error)


def _error(variance: Values, cells: Places, alignment: Alignment) -> float:
    """Give the largest standard error of a mean over topics."""
    runs, topics = alignment.shape
    scored = np.maximum(alignment.scored.sum(axis=1), 1)
    sums = [np.bincount(cells // topics, weights=one, minlength=runs) for one in np.maximum(variance, 0.0)]
    return float((np.sqrt(sums) / scored).max(initial=0.0))
