"""What one unjudged document is worth at a rank, for measures in which it is worth that whatever the others are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.evaluate.lists import Counts, Values
from cranfield.evaluate.measures.gain import discounts
from cranfield.evaluate.measures.user_models import powers
from cranfield.reuse.bounds_freedom import gains_possible

Weight = Callable[[Counts], Values]


@dataclass(frozen=True, eq=False)
class Weighing:
    """How a document at a rank counts: its gain times `weight(rank)`.

    Under `sum` the value is the sum of that over all documents, under `best` the highest of them. `gains` are those
    of the grades from 0 up; `cutoff` is the last rank that counts.
    """

    kind: Literal["sum", "best"]
    weight: Weight
    gains: Values
    cutoff: int | None

    @property
    def least(self) -> float:
        """The lowest gain."""
        return float(self.gains.min())

    @property
    def most(self) -> float:
        """The highest gain."""
        return float(self.gains.max())

    def at(self, ranks: Counts) -> Values:
        """Give the weight at each rank; 0 beyond the cutoff, and where there is no rank, which is 0."""
        counts = ranks > 0 if self.cutoff is None else (ranks > 0) & (ranks <= self.cutoff)
        return np.where(counts, self.weight(np.maximum(ranks, 1)), 0.0)


def weighing_of(measure: AnyMeasure, highest: int) -> Weighing | None:
    """Give how a measure weighs documents; None where what one is worth depends on others."""
    if not isinstance(measure, Measure) or dict(measure.settings).get("judged_only"):
        return None
    if measure.name not in _WEIGHTS or (measure.rel is not None and measure.rel < 1):
        return None
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    kind: Literal["sum", "best"] = "best" if measure.name in ("RR", "Success") else "sum"
    gains = _gains(measure, highest)
    weight = _WEIGHTS[measure.name](measure)
    return None if gains is None else Weighing(kind, weight, gains, cutoff)


def can_only_rise(measure: AnyMeasure, highest: int) -> bool:
    """Say whether a hole that turns out relevant can only raise a measure: P, Success, RR, CG, DCG, RBP."""
    weighing = weighing_of(measure, highest)
    return weighing is not None and weighing.least >= 0 and float(weighing.gains[0]) == 0.0


def _setting(measure: Measure, name: str) -> object:
    return dict(measure.settings).get(name, measure.kind.parameters[name].default)


def _gains(measure: Measure, highest: int) -> Values | None:
    """Give the gain of each grade from 0 up; None where it depends on the other documents of the topic."""
    if "gains" in measure.kind.parameters:
        return gains_possible(measure, highest)
    grades = np.arange(highest + 1)
    if measure.name != "RBP" or _setting(measure, "gain") == "binary":
        return (grades >= (measure.rel or 1)).astype(float)
    return grades / float(highest) if _setting(measure, "gain") == "scaled" else None


def _precision(measure: Measure) -> Weight:
    return lambda ranks: np.full(ranks.shape, 1.0 / float(measure.cutoff or 1))


def _one(_: Measure) -> Weight:
    return lambda ranks: np.ones(ranks.shape)


def _reciprocal(_: Measure) -> Weight:
    return lambda ranks: 1.0 / ranks


def _discounted(measure: Measure) -> Weight:
    discount, base = _setting(measure, "discount"), float(_setting(measure, "base"))  # type: ignore[arg-type]
    return lambda ranks: 1.0 / discounts(ranks, discount, base)  # type: ignore[arg-type]


def _persistent(measure: Measure) -> Weight:
    p = float(_setting(measure, "p"))  # type: ignore[arg-type]
    return lambda ranks: (1.0 - p) * powers(p, ranks)


_WEIGHTS: dict[str, Callable[[Measure], Weight]] = {
    "P": _precision,
    "CG": _one,
    "DCG": _discounted,
    "RBP": _persistent,
    "NumRelRet": _one,
    "RR": _reciprocal,
    "Success": _one,
}
