"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best and worst order put
the higher or the lower grades first within each tie; the expected score is the mean over random orders.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, own_measures
from cranfield.evaluate.lists import Lists
from cranfield.evaluate.measures.average import Rounding
from cranfield.evaluate.scores import Scores, score

TieOrder = Literal["trec", "best", "worst", "expected"]

ORDERS = 100
"""How many random orders an expected score is the mean of."""

TOLD_FROM = 0.005
"""How far ties must be able to move a summary before it is told."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A summary that ties could move: the score as it is, and the lowest and highest it could be."""

    run: str
    measure: str
    value: float
    worst: float
    best: float


def score_with_ties(
    alignment: Alignment,
    measures: list[AnyMeasure],
    *,
    ties: TieOrder,
    rng: np.random.Generator,
    rounding: Rounding = "exact",
) -> Scores:
    """Score all runs with ties in the canonical, best or worst order, or expected over random orders."""
    scores = score(alignment, measures, rounding=rounding)
    if ties == "trec" or not alignment.tied.any():
        return scores
    tied = _TiedLists(alignment)
    orders = tied.shuffled(rng) if ties == "expected" else [tied.sorted(higher_first=ties == "best")]
    return tied.put_into(scores, orders)


def moved_by_ties(alignment: Alignment, scores: Scores, *, by: float = TOLD_FROM) -> list[Moved]:
    """Give the summaries that another order of tied documents could move by more than `by`."""
    if not alignment.tied.any():
        return []
    tied = _TiedLists(alignment)
    ends = [tied.put_into(scores, [tied.sorted(higher_first=first)]).summary for first in (False, True)]
    lowest, highest = np.minimum(*ends), np.maximum(*ends)
    far = np.argwhere(np.maximum(highest - scores.summary, scores.summary - lowest) > by)
    return [
        Moved(
            run=scores.run_names[run],
            measure=str(scores.measures[measure]),
            value=float(scores.summary[measure, run]),
            worst=float(lowest[measure, run]),
            best=float(highest[measure, run]),
        )
        for measure, run in far.tolist()
    ]


class _TiedLists:
    """The lists that hold ties, alone, and the places of the tied documents in them."""

    def __init__(self, alignment: Alignment) -> None:
        everything = alignment.lists
        cell = np.searchsorted(everything.offsets, np.flatnonzero(alignment.tied), side="right") - 1
        self._cells = np.unique(cell)
        self._lists = everything.chosen(self._cells)
        places = np.repeat(everything.offsets[self._cells] - self._lists.offsets[:-1], self._lists.length)
        tied = alignment.tied[places + np.arange(len(places))]
        member = tied.copy()
        member[:-1] |= tied[1:]
        self._places = np.flatnonzero(member)
        self._group = np.cumsum(~tied, dtype=np.int64)[self._places]

    def sorted(self, *, higher_first: bool) -> Lists:
        """Give the lists with the higher (or lower) grades first in each tie."""
        worth = np.maximum(self._lists.grades[self._places], 0).astype(np.int64)
        return self._ordered(-worth if higher_first else worth)

    def shuffled(self, rng: np.random.Generator) -> Iterator[Lists]:
        """Give the lists with ties in random orders, again and again."""
        for _ in range(ORDERS):
            yield self._ordered(rng.random(len(self._places)))

    def _ordered(self, keys: NDArray[np.generic]) -> Lists:
        order = self._places[np.lexsort((keys, self._group))]
        grades = self._lists.grades.copy()
        grades[self._places] = grades[order]
        sample = self._lists.stratified
        if sample is not None:
            rows = np.arange(len(grades))
            rows[self._places] = order
            sample = sample.only(rows)
        return replace(self._lists, grades=grades, stratified=sample, _relevant={})

    def put_into(self, scores: Scores, orders: Iterable[Lists]) -> Scores:
        """Give the scores with the values of these lists in place of the canonical ones, averaged over the orders."""
        drawn = np.array([[measure.values(lists) for measure in own_measures(scores.measures)] for lists in orders])
        values = scores.values.copy()
        values.reshape(len(scores.measures), -1)[:, self._cells] = drawn.mean(axis=0)
        return replace(scores, values=values)
