"""What ties do to scores: documents with equal scores can stand in any order, and the order decides.

The canonical order breaks ties by document id, which says nothing about the system. The best order of a tie is the
one with the highest value of the measure, the worst the one with the lowest; the expected score is the mean over all.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measures.average import Rounding
from cranfield.evaluate.measures.gain import GradeGains, gain_function
from cranfield.evaluate.scores import Scores, score
from cranfield.evaluate.tied_lists import Places, TiedLists

Grades = NDArray[np.int32]
TieOrder = Literal["trec", "best", "worst", "expected"]

TOLD_FROM = 0.005
"""How far ties must be able to move a summary before it is told."""


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
        """Give the worth of documents with these grades."""
        if self.kind != "grade":
            return ((grades >= 0) if self.kind == "judged" else (grades < 0)).astype(float)
        if not self.gains:
            return np.maximum(grades, 0).astype(float)
        return np.where(grades >= 0, gain_function(self.gain, self.gains)(np.maximum(grades, 0)), 0.0)


def worth_of(measure: Measure) -> Worth | None:
    """Give what a measure rises with; None where no order of kinds of documents is the best for every list."""
    rises_with = measure.kind.rises_with
    if rises_with == "unknown":
        return None
    named = dict(measure.settings)
    if rises_with == "grade" and "gains" in named:
        return Worth(gain=named.get("gain", "linear"), gains=named["gains"])  # type: ignore[arg-type]
    return Worth(rises_with)


def score_with_ties(
    alignment: Alignment,
    measures: list[AnyMeasure],
    *,
    ties: TieOrder,
    rng: "np.random.Generator | None" = None,
    rounding: Rounding = "exact",
) -> Scores:
    """Score all runs with ties in the canonical, best or worst order, or expected over all orders.

    Where there are too many to try, `rng` draws some.
    """
    scores = score(alignment, measures, rounding=rounding)
    if ties == "trec":
        return scores
    if ties == "expected":
        from cranfield.evaluate.expected import expected_scores

        if rng is None:
            raise UsageError("an expected score needs a generator of random orders")
        return expected_scores(alignment, scores, rng=rng).scores
    _refuse_unknown(own_measures(scores.measures), ties)
    values = scores.values.copy()
    for worth, places in _by_worth(own_measures(scores.measures)).items():
        if worth is not None:
            _put(values, places, _End.of(alignment, worth), scores, highest=ties == "best")
    return replace(scores, values=values, ties=ties)


def moved_by_ties(alignment: Alignment, scores: Scores, *, by: float = TOLD_FROM) -> list[Moved]:
    """Give the summaries that another order of tied documents could move by more than `by`."""
    reached = _reached(alignment, scores)
    if reached is None:
        return []
    ends = [replace(scores, values=values).summary for values in reached]
    low, high = np.minimum(*ends), np.maximum(*ends)
    far = np.argwhere(np.maximum(high - scores.summary, scores.summary - low) > by)
    measures = own_measures(scores.measures)
    return [
        Moved(
            run=scores.run_names[run],
            measure=str(measures[measure]),
            value=float(scores.summary[measure, run]),
            worst=float(low[measure, run]),
            best=float(high[measure, run]),
            exact=worth_of(measures[measure]) is not None,
        )
        for measure, run in far.tolist()
    ]


def _reached(alignment: Alignment, scores: Scores) -> tuple[Values, Values] | None:
    """Give the lowest and the highest value of each list; None where no order of ties changes anything.

    Where it is not known what a measure rises with, some orders are tried.
    """
    low, high = scores.values.copy(), scores.values.copy()
    found = False
    for worth, places in _by_worth(own_measures(scores.measures)).items():
        for one in [worth] if worth is not None else [Worth(), Worth("judged")]:
            end = _End.of(alignment, one)
            found = found or len(end.tied) > 0
            for first in (False, True) if len(end.tied) else ():
                values = scores.values.copy()
                _put(values, places, end, scores, highest=first)
                low[places] = np.minimum(low[places], values[places])
                high[places] = np.maximum(high[places], values[places])
    return (low, high) if found else None


@dataclass(frozen=True, eq=False)
class _End:
    """The lists whose ties differ in worth, and the worth of the tied documents."""

    tied: TiedLists
    worth: Values

    @staticmethod
    def of(alignment: Alignment, worth: Worth) -> "_End":
        def kinds(rows: Places) -> Values:
            return worth(alignment.lists.grades[rows])

        tied = TiedLists.of(alignment, kinds)
        return _End(tied, worth(tied.lists.grades[tied.places]))


def _put(values: Values, places: list[int], end: _End, scores: Scores, *, highest: bool) -> None:
    """Put the values of some measures at one end into those of all."""
    if not len(end.tied):
        return
    lists = end.tied.ordered(-end.worth if highest else end.worth)
    flat = values.reshape(len(values), -1)
    for place in places:
        flat[place, end.tied.cells] = own_measures([scores.measures[place]])[0].values(lists)


def _by_worth(measures: Iterable[Measure]) -> dict[Worth | None, list[int]]:
    """Give the places of measures by what they rise with."""
    found: dict[Worth | None, list[int]] = {}
    for place, measure in enumerate(measures):
        found.setdefault(worth_of(measure), []).append(place)
    return found


def _refuse_unknown(measures: Iterable[Measure], ties: str) -> None:
    names = [str(measure) for measure in measures if worth_of(measure) is None]
    if names:
        raise UsageError(
            f"which order of ties is {ties} for {', '.join(names)} would have to be tried out, order by order; "
            "ask for other measures, or for the expected score"
        )
