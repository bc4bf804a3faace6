"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best order of a tie is the
one with the highest value of the measure, the worst the one with the lowest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment, ties_of
from cranfield.evaluate.lists import NOT_POOLED, GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import AnyMeasure, Measure, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.qrels.qrels import Grades
from cranfield.runs.columns import Places

TOLD_FROM = 0.005
"""Ties that move a summary by less than this are not reported."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A summary that ties could move: the score as it is, and the lowest and highest it could be.

    Where they are not `exact` both can be reached, but others may go further.
    """

    run: str
    measure: str
    value: float
    worst: float
    best: float
    exact: bool = True


@dataclass(frozen=True)
class Worth:
    """What a measure rises with: a list in which more of it stands first within each tie has the highest value."""

    kind: Literal["grade", "judged", "unjudged"] = "grade"
    gain: Literal["linear", "exponential"] = "linear"
    gains: GradeGains = ()

    def __call__(self, grades: Grades) -> Values:
        """The worth of documents with these grades."""
        if self.kind != "grade":
            return ((grades >= 0) if self.kind == "judged" else (grades < 0)).astype(float)
        if not self.gains:
            return np.maximum(grades, 0).astype(float)
        return np.where(grades >= 0, gain_function(self.gain, self.gains)(np.maximum(grades, 0)), 0.0)


def _worth_of(measure: Measure) -> Worth | None:
    """What a measure rises with; None where no order of kinds of documents is the best for every list."""
    rises_with, named = measure.kind.rises_with, dict(measure.settings)
    if rises_with == "grade" and "gains" in named:
        return Worth(gain=named.get("gain", "linear"), gains=named["gains"])  # type: ignore[arg-type]
    return None if rises_with == "unknown" else Worth(rises_with)


class TiedScores(NamedTuple):
    """Scores with ties in some order, and the summaries that another order could move."""

    scores: Scores
    moved: tuple[Moved, ...] = ()


def score_with_ties(
    alignment: Alignment, measures: Sequence[AnyMeasure], ties: Literal["trec", "best", "worst"]
) -> TiedScores:
    """Score with ties by document id as trec_eval has them, or at their best or worst."""
    found = score(alignment, measures)
    if ties != "trec":
        return TiedScores(scores_at_end(alignment, found, ties))
    return TiedScores(found, tuple(moved_by_ties(alignment, found)) if alignment.tied.any() else ())


def scores_at_end(alignment: Alignment, scores: Scores, end: Literal["best", "worst"]) -> Scores:
    """The scores with all ties in the best, or the worst, order."""
    unknown = [str(measure) for measure in own_measures(scores.measures) if _worth_of(measure) is None]
    if unknown:
        raise UsageError(
            f"--ties {end} is not available for {', '.join(unknown)}: all orders would have to be tried; "
            "use other measures"
        )
    values = scores.values.copy()
    for worst, best, measure, place, cells in _ends(alignment, scores):
        values.reshape(len(values), -1)[place, cells] = measure.values(best if end == "best" else worst)
    return replace(scores, values=values, ties=end)


def moved_by_ties(alignment: Alignment, scores: Scores, *, least: float = TOLD_FROM) -> list[Moved]:
    """The summaries that another order of tied documents could move by more than `least`.

    Where it is not known what a measure rises with, some orders are tried.
    """
    low, high = scores.values.copy(), scores.values.copy()
    for worst, best, measure, place, cells in _ends(alignment, scores):
        for lists in (worst, best):
            values = measure.values(lists)
            for every, pick in ((low, np.minimum), (high, np.maximum)):
                end = every[place].reshape(-1)
                end[cells] = pick(end[cells], values)
    ends = [replace(scores, values=values).summary for values in (low, high)]
    bottom, top = np.minimum(*ends), np.maximum(*ends)
    far = np.argwhere(np.maximum(top - scores.summary, scores.summary - bottom) > least)
    moved = []
    for place, run in far.tolist():
        measure, value = own_measures(scores.measures)[place], float(scores.summary[place, run])
        low_end, high_end = float(bottom[place, run]), float(top[place, run])
        exact = _worth_of(measure) is not None
        moved.append(Moved(scores.run_names[run], str(measure), value, low_end, high_end, exact))
    return moved


def _ends(alignment: Alignment, scores: Scores) -> Iterator[tuple[Lists, Lists, Measure, int, Places]]:
    """Lists whose ties matter to a measure in the worst and the best order, it, its place, and their cells."""
    by_worth: dict[Worth | None, list[int]] = {}
    measures = own_measures(scores.measures)
    for place, measure in enumerate(measures):
        by_worth.setdefault(_worth_of(measure), []).append(place)
    for known, places in by_worth.items():
        for worth in [known] if known is not None else [Worth(), Worth("judged")]:
            cells, worst, best = _orders(alignment, worth)
            if len(cells):
                for place in places:
                    yield worst, best, measures[place], place, cells


def _orders(alignment: Alignment, worth: Worth) -> tuple[Places, Lists, Lists]:
    """The lists in which documents of different worth are tied, by their numbers, in the worst and the best order."""
    everything, tied = alignment.lists, alignment.tied
    # Documents that are not in the qrels have the same worth: a look at the others tells all.
    pooled = everything.grades != NOT_POOLED
    pooled[1:] |= pooled[:-1]
    rows = np.flatnonzero(tied & pooled)
    rows = rows[worth(everything.grades[rows]) != worth(everything.grades[rows - 1])]
    cell = np.searchsorted(everything.offsets, rows, side="right") - 1
    cells = cell[np.diff(cell, prepend=-1) != 0]  # np.unique would load masked arrays
    if 2 * len(cells) > len(everything):  # to score all is faster than to copy most
        cells = np.arange(len(everything))
    lists = everything if len(cells) == len(everything) else everything.chosen(cells)
    places, group = ties_of(tied, rows)
    among = np.searchsorted(cells, np.searchsorted(everything.offsets, places, side="right") - 1)
    places += (lists.offsets[:-1] - everything.offsets[cells])[among]
    keys = worth(lists.grades[places])
    worst, best = (lists.moved(places, places[np.lexsort((key, group))]) for key in (keys, -keys))
    return cells, worst, best
