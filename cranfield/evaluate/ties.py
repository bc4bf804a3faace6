"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best and worst order put
the higher or the lower grades first within each tie; the expected score is the mean over random orders.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
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
    measures: list[Measure],
    *,
    ties: TieOrder,
    rng: np.random.Generator,
    rounding: Rounding = "exact",
) -> Scores:
    """Score all runs with ties in the canonical, best or worst order, or expected over random orders."""
    if ties == "trec" or not alignment.tied.any():
        return score(alignment, measures, rounding=rounding)
    if ties != "expected":
        return score(_with(alignment, _sorted(alignment, higher_first=ties == "best")), measures, rounding=rounding)
    drawn = [score(_with(alignment, lists), measures, rounding=rounding) for lists in _shuffled(alignment, rng)]
    return replace(drawn[0], values=np.mean([one.values for one in drawn], axis=0))


def moved_by_ties(
    alignment: Alignment, scores: Scores, *, rounding: Rounding = "exact", by: float = TOLD_FROM
) -> list[Moved]:
    """Give the summaries that another order of tied documents could move by more than `by`."""
    if not alignment.tied.any():
        return []
    measures = list(scores.measures)
    ends = [
        score(_with(alignment, _sorted(alignment, higher_first=first)), measures, rounding=rounding).summary
        for first in (False, True)
    ]
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


def _sorted(alignment: Alignment, *, higher_first: bool) -> Lists:
    grades = alignment.lists.grades
    places, group = _members(alignment.tied)
    worth = np.maximum(grades[places], 0).astype(np.int64)
    order = np.lexsort((-worth if higher_first else worth, group))
    return _placed(alignment.lists, places, places[order])


def _shuffled(alignment: Alignment, rng: np.random.Generator) -> Iterator[Lists]:
    places, group = _members(alignment.tied)
    for _ in range(ORDERS):
        order = np.lexsort((rng.random(len(places)), group))
        yield _placed(alignment.lists, places, places[order])


def _members(tied: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the rows that are in a tie, and the number of their tie."""
    member = tied.copy()
    member[:-1] |= tied[1:]
    places = np.flatnonzero(member)
    number = np.cumsum(~tied, dtype=np.int64)
    return places, number[places]


def _placed(lists: Lists, places: NDArray[np.int64], sources: NDArray[np.int64]) -> Lists:
    grades = lists.grades.copy()
    grades[places] = lists.grades[sources]
    return replace(lists, grades=grades, _relevant={})


def _with(alignment: Alignment, lists: Lists) -> Alignment:
    return replace(alignment, lists=lists)
