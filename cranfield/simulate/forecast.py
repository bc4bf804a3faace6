"""What known judgments foretell: what deeper pools would bring, and how many topics a difference would need.

What a depth costs is counted in the runs. What it finds is counted down to the depth of the known pool, and below
that follows the curve that Zobel fitted to it: a floor, since documents that no run has are in no curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.compare.by_measure import residual_deviation, topics_needed
from cranfield.evaluate.measure import Measure
from cranfield.pool.extend import new_by_depth as documents_by_depth
from cranfield.reuse.collection import Extrapolation, extrapolated, extrapolated_pool, new_by_depth
from cranfield.reuse.provenance import provenance_of
from cranfield.simulate.study import Known, Outcome

_DEPTHS = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
"""The depths that a forecast tells of, beside the pool's own and the last."""


@dataclass(frozen=True)
class AtDepth:
    """A pool of one depth: the documents it takes and the relevant ones it finds, from `low` to `high`.

    Down to the depth of the known pool all three are what was found; `is_foreseen` below it.
    """

    depth: int
    documents: int
    relevant: float
    low: float
    high: float
    is_foreseen: bool


@dataclass(frozen=True, eq=False)
class Forecast:
    """Pools of rising depth. `deeper` extrapolates to the last depth; where it refuses, nothing is foreseen.

    `unknown` is the share of the documents down to the depth of the known pool that nobody judged.
    """

    at: tuple[AtDepth, ...]
    deeper: Extrapolation | None
    unknown: float

    @property
    def refusal(self) -> str:
        """Why nothing is foreseen; empty where something is, or nothing deeper was asked for."""
        return "" if self.deeper is None else self.deeper.refusal


@dataclass(frozen=True)
class TopicsNeeded:
    """How many topics find a difference under a plan, and what they would cost at its documents a topic.

    `deviation` is that of the differences between two runs over topics, by the plan's own judgments.
    """

    deviation: float
    topics: int
    documents: int


def forecast(known: Known, *, pool_depth: int, to_depth: int) -> Forecast:
    """Tell what pools down to `to_depth` cost and find, known judgments being those of a pool of `pool_depth`."""
    longest = known.pooled.depth
    if to_depth > longest:
        raise UsageError(
            f"the longest ranking has {longest:,} documents: forecast at most to that depth, not {to_depth:,}"
        )
    provenance = provenance_of(known.alignment, known.qrels, known.runs, known.contributors, depth=pool_depth)
    new = new_by_depth(known.alignment, provenance, rel=known.relevant_from)
    documents = np.cumsum(documents_by_depth(known.pooled, topics=known.topics))
    found = np.cumsum(new.relevant.sum(axis=0))
    deeper = extrapolated_pool(new, to_depth=to_depth) if to_depth > pool_depth else None
    wanted = sorted({depth for depth in _DEPTHS if depth < to_depth} | {min(pool_depth, to_depth), to_depth})
    last = to_depth if deeper is None or not deeper.refusal else pool_depth
    at = []
    for depth in [depth for depth in wanted if depth <= last]:
        relevant = low = high = float(found[min(depth, pool_depth) - 1])
        if depth > pool_depth:
            more = extrapolated(new.relevant.sum(axis=0), to_depth=depth)
            relevant, low, high = (more.found + value for value in (more.expected, more.low, more.high))
        at.append(AtDepth(depth, int(documents[depth - 1]), relevant, low, high, is_foreseen=depth > pool_depth))
    judged = int(new.judged.sum())
    return Forecast(tuple(at), deeper, 1 - judged / int(documents[min(pool_depth, len(documents)) - 1]))


def needed(outcome: Outcome, measure: Measure, *, difference: float, power: float = 0.8) -> TopicsNeeded | None:
    """Say how many topics, judged as the plan judges them, find a difference between two runs.

    A two-sided paired t-test, with the deviation that all runs show together (`compare.by_measure`). None where fewer
    than two runs or topics are there to measure it. The difference is one of the plan's own scores.
    """
    values = outcome.scores.of(measure)[outcome.scores.scored.all(axis=1)]
    if min(values.shape) < 2:
        return None
    deviation = residual_deviation(values)
    topics = topics_needed(difference=difference, deviation=deviation, power=power)
    return TopicsNeeded(deviation, topics, round(topics * outcome.cost.mean))
