"""What known judgments predict: the yield of deeper pools, and the number of topics that a difference needs.

The cost of a depth is counted in the runs. Its yield is counted down to the depth of the known pool; below that it
follows the curve that Zobel fitted to it: a lower bound, since documents that no run retrieved are in no curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.base.tables import Column, Number, Result, Table, Value, table_of
from cranfield.compare.by_measure import residual_deviation, topics_needed
from cranfield.evaluate.measure import Measure
from cranfield.pool.extend import new_by_depth as documents_by_depth
from cranfield.reuse.collection import extrapolated, extrapolated_pool, new_by_depth
from cranfield.reuse.provenance import provenance_of
from cranfield.simulate.study import Known, Outcome

_DEPTHS = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
"""The depths of a forecast, beside the pool's own and the last."""


@dataclass(frozen=True)
class AtDepth:
    """A pool of one depth: its documents and the relevant ones among them, from `low` to `high`.

    Down to the depth of the known pool all three are counted, below it they are extrapolated.
    """

    depth: int
    documents: int
    relevant: float
    low: float
    high: float
    is_extrapolated: bool


@dataclass(frozen=True, eq=False)
class Forecast(Result):
    """Pools of increasing depth.

    `refusal` says why nothing is extrapolated, where deeper pools were requested. `unjudged` is the share of
    unjudged documents down to the depth of the known pool. Judging takes `seconds` per document.
    """

    at: tuple[AtDepth, ...]
    refusal: str
    unjudged: float
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    wide = True

    def table(self) -> Table:
        """One row for each depth: documents, relevant ones, and how many of those it adds to the previous depth."""
        rows: list[tuple[Value, ...]] = []
        documents, relevant = 0, 0.0
        for one in self.at:
            more = one.documents - documents
            ends = (round(one.low), round(one.high)) if one.is_extrapolated else (None, None)
            gained = 100 * (one.relevant - relevant) / more if more else None
            hours = one.documents * self.seconds / 3600
            rows.append((one.depth, one.documents, hours, round(one.relevant), *ends, gained, one.is_extrapolated))
            documents, relevant = one.documents, one.relevant
        columns = [
            Number("depth"),
            Number("documents"),
            Number("hours", digits=1),
            Number("relevant"),
            Number("low", "from"),
            Number("high", "to"),
            Number("gained", "per 100 more", digits=1),
            Column("foreseen", "forecast"),
        ]
        notes = ["per 100 more: relevant documents among 100 that this depth adds to the previous one"]
        if any(one.is_extrapolated for one in self.at):
            notes.append(
                "forecast: extrapolated from smaller depths, with one standard error, without documents that no run"
                " has"
            )
        return table_of(columns, rows, caption="Pools of increasing depth", notes=notes)


def forecast(known: Known, *, pool_depth: int, to_depth: int) -> Forecast:
    """Predict cost and yield of pools down to `to_depth` from the judgments of a pool of `pool_depth`."""
    longest = known.pooled.depth
    if to_depth > longest:
        raise UsageError(
            f"the longest ranking has {longest:,} documents: forecast at most to that depth, not {to_depth:,}"
        )
    provenance = provenance_of(known.alignment, known.qrels, known.runs, known.contributors, depth=pool_depth)
    new = new_by_depth(known.alignment, provenance, rel=known.relevant_from)
    documents = np.cumsum(documents_by_depth(known.pooled, topics=known.topics))
    found = np.cumsum(new.relevant.sum(axis=0))
    refusal = extrapolated_pool(new, to_depth=to_depth).refusal if to_depth > pool_depth else ""
    wanted = sorted({depth for depth in _DEPTHS if depth < to_depth} | {min(pool_depth, to_depth), to_depth})
    at = []
    for depth in [depth for depth in wanted if depth <= (pool_depth if refusal else to_depth)]:
        relevant = low = high = float(found[min(depth, pool_depth) - 1])
        if depth > pool_depth:
            more = extrapolated(new.relevant.sum(axis=0), to_depth=depth)
            relevant, low, high = (more.found + value for value in (more.expected, more.low, more.high))
        at.append(AtDepth(depth, int(documents[depth - 1]), relevant, low, high, depth > pool_depth))
    judged = int(new.judged.sum())
    return Forecast(tuple(at), refusal, 1 - judged / int(documents[min(pool_depth, len(documents)) - 1]))


def needed(outcome: Outcome, measure: Measure, *, difference: float) -> tuple[float, int, int] | None:
    """How many topics, judged by the plan, detect a difference between two runs with 80% power.

    By a two-sided paired t-test, with the standard deviation of the differences between two runs over topics, pooled
    over all runs (`compare.by_measure`). Gives that deviation, the number of topics, and the documents to judge for
    them; None where fewer than two runs or topics are scored. The difference is one of the plan's own scores.
    """
    values = outcome.scores.of(measure)[outcome.scores.scored.all(axis=1)]
    if min(values.shape) < 2:
        return None
    deviation = residual_deviation(values)
    topics = topics_needed(difference=difference, deviation=deviation)
    return deviation, topics, round(topics * outcome.cost.mean)
