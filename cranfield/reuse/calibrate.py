"""How good the expected loss is here: each group in turn is made an outsider of the pool of the others.

The pool is re-made without the group, and kappa learned from the other groups alone. What the group's runs have lost
is known, because their documents were judged. Where the pool is less deep than k the truth itself has holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.compare.differences import repeated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Lists, Values
from cranfield.reuse.assess import Holes, depths_that_matter, holes_of, why_untaught, why_untestable
from cranfield.reuse.expected_loss import Lessons, Loss, expected_loss, scaled
from cranfield.reuse.hold_out import lists_without
from cranfield.reuse.provenance import Prefixes, Provenance
from cranfield.reuse.unjudged_model import Kappa
from cranfield.reuse.verdict import Evidence, Level, Thresholds, verdict_of


@dataclass(frozen=True, eq=False)
class Calibration:
    """Contributing runs as outsiders: for each its true and its expected loss, judged@k, and the verdict on it.

    `kappas` has one number per group, learned without it. Runs are in the order of the groups.
    """

    measure: Measure
    run_names: tuple[str, ...]
    true: Values
    expected: Values
    upper: Values
    judged: Values
    levels: tuple[Level, ...]
    kappas: Values

    @property
    def correlation(self) -> float:
        """The correlation of the expected with the true loss."""
        return _correlation(self.expected, self.true)

    @property
    def correlation_of_coverage(self) -> float:
        """The correlation of 1 - judged@k with the true loss."""
        return _correlation(1.0 - self.judged, self.true)

    @property
    def covered(self) -> float:
        """The share of the runs whose true loss is not beyond the upper end, on the side where that lies."""
        beyond = np.where(self.upper >= 0, self.true - self.upper, self.upper - self.true)
        return float((beyond <= 1e-12).mean())

    def true_where(self, level: Level) -> Values:
        """Give the true losses of the runs with a verdict."""
        return np.array([true for true, one in zip(self.true, self.levels, strict=True) if one == level])


def calibrated(
    alignment: Alignment,
    prefixes: Prefixes,
    measures: Sequence[Measure],
    *,
    rng: np.random.Generator,
    thresholds: Thresholds | None = None,
) -> list[Calibration]:
    """Make each contributing group an outsider in turn, and compare what it is expected to lose with what it lost.

    All groups and measures have the same draws, so that no line depends on which others are asked for.
    """
    table = thresholds or Thresholds()
    provenance = prefixes.by("group")
    found: dict[Measure, list[_Part]] = {measure: [] for measure in measures}
    draws = repeated(rng)
    for group in range(len(provenance.groups)):
        reduced, others = _without(alignment, prefixes, provenance, group)
        runs = np.flatnonzero(provenance.group_of_run == group)
        for measure in measures:
            found[measure].append(_part(alignment, reduced, others, measure, runs, next(draws), table))
    return [_put_together(measure, parts, alignment.run_names) for measure, parts in found.items()]


@dataclass(frozen=True, eq=False)
class _Part:
    """One group as an outsider."""

    runs: np.ndarray
    true: Values
    holes: Holes
    loss: Loss
    kappa: Kappa
    levels: tuple[Level, ...]


def _without(
    alignment: Alignment, prefixes: Prefixes, provenance: Provenance, group: int
) -> tuple[Alignment, Provenance]:
    """Give the alignment and the provenance of the pool without a group."""
    cells = np.full(len(alignment.lists), group, dtype=np.int32)
    reduced: Lists = lists_without(alignment.lists, provenance, cells)
    mine = provenance.group_of_run == group
    left = {alignment.run_names[run] for run in np.flatnonzero(mine).tolist()}
    kept = ~mine[prefixes.brought_by]
    contributors = tuple(one for one in prefixes.contributors if one.run not in left)
    others = replace(
        prefixes, contributors=contributors, rows=prefixes.rows[kept], brought_by=prefixes.brought_by[kept]
    )
    return replace(alignment, lists=reduced), others.by("group")


def _part(
    full: Alignment,
    reduced: Alignment,
    others: Provenance,
    measure: Measure,
    runs: np.ndarray,
    rng: np.random.Generator,
    table: Thresholds,
) -> _Part:
    depth = depths_that_matter(measure, others.depth)
    holes = holes_of(reduced, measure, pool_depth=others.depth, provenance=others)
    lessons = Lessons(reduced, others)
    kappa = scaled(measure, lessons.kappa(depth), lessons, depth=depth, rng=rng)
    loss = expected_loss(reduced, measure, kappa, depth=depth, rng=rng, runs=runs.tolist())
    before, after = (measure.values(one.lists).reshape(full.shape)[runs] for one in (reduced, full))
    true = np.array(
        [(after - before)[place][full.scored[run]].mean() for place, run in enumerate(runs.tolist())], dtype=float
    )
    reason = why_untestable(reduced, others, table) or why_untaught(kappa, table)
    levels = tuple(_level(holes, loss, kappa, reason, run, table) for run in runs.tolist())
    return _Part(runs, true, holes, loss, kappa, levels)


def _level(holes: Holes, loss: Loss, kappa: Kappa, reason: str, run: int, table: Thresholds) -> Level:
    evidence = Evidence(
        judged=holes.mean(run),
        topics=holes.topics(run),
        low_topics=holes.low(run, below=table.topic_judged),
        holes=holes.total(run),
        loss=None if reason else float(loss.mean[run]),
        upper=None if reason else float(loss.upper[run]),
        groups=kappa.groups,
        untestable=reason,
        tolerance=table.tolerance,
    )
    return verdict_of(evidence, table).level


def _put_together(measure: Measure, parts: Sequence[_Part], names: Sequence[str]) -> Calibration:
    return Calibration(
        measure=measure,
        run_names=tuple(names[run] for part in parts for run in part.runs.tolist()),
        true=np.concatenate([part.true for part in parts]),
        expected=np.concatenate([part.loss.mean[part.runs] for part in parts]),
        upper=np.concatenate([part.loss.upper[part.runs] for part in parts]),
        judged=np.array([part.holes.mean(run) for part in parts for run in part.runs.tolist()]),
        levels=tuple(level for part in parts for level in part.levels),
        kappas=np.array([part.kappa.value for part in parts]),
    )


def _correlation(one: Values, other: Values) -> float:
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])
