"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best and worst order put
the higher or the lower grades first within each tie; the expected score is the mean over random orders.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, own_measures
from cranfield.evaluate.lists import Lists
from cranfield.evaluate.measures.average import Rounding
from cranfield.evaluate.scores import Scores, score

Grades = NDArray[np.int32]
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
    rng: "np.random.Generator | None" = None,
    rounding: Rounding = "exact",
) -> Scores:
    """Score all runs with ties in the canonical, best or worst order, or expected over random orders by `rng`."""
    scores = score(alignment, measures, rounding=rounding)
    if ties == "trec":
        return scores
    if ties != "expected":
        sortable = _TiedLists.of(alignment, unlike=_worth)
        return replace(sortable.put_into(scores, [sortable.sorted(higher_first=ties == "best")]), ties=ties)
    if rng is None:
        raise UsageError("an expected score needs a generator of random orders")
    # What was sampled from different strata weighs differently, whatever its grade.
    mixed = _TiedLists.of(alignment, unlike=np.asarray if alignment.lists.stratified is None else None)
    return replace(mixed.put_into(scores, mixed.shuffled(rng)), ties=ties)


def moved_by_ties(alignment: Alignment, scores: Scores, *, by: float = TOLD_FROM) -> list[Moved]:
    """Give the summaries that another order of tied documents could move by more than `by`."""
    tied = _TiedLists.of(alignment, unlike=_worth)
    if not len(tied):
        return []
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


def _worth(grades: Grades) -> Grades:
    """Give grades as a measure sees them: what is not judged is worth nothing."""
    return np.maximum(grades, 0)


@dataclass(frozen=True, eq=False)
class _TiedLists:
    """The lists that another order of ties could change, alone, and the places of the tied documents in them."""

    cells: NDArray[np.int64]
    lists: Lists
    places: NDArray[np.int64]
    group: NDArray[np.int64]

    @staticmethod
    def of(alignment: Alignment, *, unlike: Callable[[Grades], Grades] | None) -> "_TiedLists":
        """Give the lists with a tie of documents that differ in what `unlike` makes of grades; None: that all do."""
        everything = alignment.lists
        rows = np.flatnonzero(alignment.tied)
        if unlike is not None:
            rows = rows[unlike(everything.grades[rows]) != unlike(everything.grades[rows - 1])]
        cells = np.unique(np.searchsorted(everything.offsets, rows, side="right") - 1)
        lists = everything.chosen(cells)
        shift = np.repeat(everything.offsets[cells] - lists.offsets[:-1], lists.length)
        tied = alignment.tied[shift + np.arange(len(shift))]
        member = tied.copy()
        member[:-1] |= tied[1:]
        places = np.flatnonzero(member)
        return _TiedLists(cells, lists, places, np.cumsum(~tied, dtype=np.int64)[places])

    def __len__(self) -> int:
        return len(self.cells)

    def sorted(self, *, higher_first: bool) -> Lists:
        """Give the lists with the higher (or lower) grades first in each tie."""
        worth = _worth(self.lists.grades[self.places]).astype(np.int64)
        return self._ordered(-worth if higher_first else worth)

    def shuffled(self, rng: "np.random.Generator") -> Iterator[Lists]:
        """Give the lists with ties in random orders, again and again."""
        for _ in range(ORDERS):
            yield self._ordered(rng.random(len(self.places)))

    def _ordered(self, keys: NDArray[np.generic]) -> Lists:
        order = self.places[np.lexsort((keys, self.group))]
        grades = self.lists.grades.copy()
        grades[self.places] = grades[order]
        sample = self.lists.stratified
        if sample is not None:
            rows = np.arange(len(grades))
            rows[self.places] = order
            sample = sample.only(rows)
        return replace(self.lists, grades=grades, stratified=sample, _relevant={})

    def put_into(self, scores: Scores, orders: Iterable[Lists]) -> Scores:
        """Give the scores with the values of these lists in place of the canonical ones, averaged over the orders."""
        if not len(self):
            return scores
        drawn = np.array([[measure.values(lists) for measure in own_measures(scores.measures)] for lists in orders])
        values = scores.values.copy()
        values.reshape(len(scores.measures), -1)[:, self.cells] = drawn.mean(axis=0)
        return replace(scores, values=values)
