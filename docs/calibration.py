"""Writes the page that shows how good expected losses and verdicts are, on runs whose losses are known.

    python docs/calibration.py RUNS QRELS GROUPS > docs/calibration.md

RUNS is a folder of run files, QRELS a TREC qrels file, GROUPS an XML file with `<tag>` and `<organization>` for each
run. Broken runs are mended as `runs check --repair` does. The pool is re-made from the runs at several depths.
Each group in turn is made an outsider of the pool of the others. What its runs have lost is known, because their
documents were judged. Where the pool is less deep than k the truth itself has holes.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cranfield.base.files import Source
from cranfield.base.tables import table_of
from cranfield.compare.differences import repeated
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measure import Measure, own_measures, parse_measures
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.report.rendering import renderers
from cranfield.reuse.assess import Coverage, coverage_of, measure_depths, why_untaught, why_untestable
from cranfield.reuse.expected_loss import Loss, ModelCache, expected_loss, scale_model
from cranfield.reuse.hold_out import lists_without
from cranfield.reuse.provenance import Contributor, Prefixes, Provenance, prefixes_of
from cranfield.reuse.unjudged_model import UnjudgedModel
from cranfield.reuse.verdict import Level, Thresholds, verdict_of
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows
from cranfield.runs.run import Run

DEPTHS = (10, 20, 50, 100)
MEASURES = ("nDCG@10", "P@10", "AP")
LEFT_OUT = ("rutfmed",)
SEED = 1
COLUMNS = (
    "pool depth",
    "ratio",
    "expected loss",
    "true loss",
    "correlation",
    "of 1 - judged@k",
    "loss ≤ .01",
    "max loss",
    "SAFE",
    "SAFE max loss",
    "SAFE 95%",
    "below upper end",
)
HEAD = """\
# Calibration

How accurate are expected losses and verdicts? Here the truth is known: {runs} runs of {groups} groups contributed to
the pool of a real collection ({topics} topics, {judged:,} judged documents at depth {deepest}). Each group is left
out in turn: the pool is rebuilt without it, the unjudged relevance ratio is estimated from the other groups alone,
and the expected loss of its runs is compared with their true loss. This page is written by `docs/calibration.py`, not
by hand.
"""
KEY = """\
- *ratio*: the unjudged relevance ratio, that is how often an unjudged document is relevant, relative to the other
  judged documents of the top k; mean over the groups left out.
- *expected loss*, *true loss*: means over all runs, in points of the measure.
- *correlation* of the expected with the true loss; beside it that of 1 - judged@k: coverage alone predicts the loss
  much less well.
- *loss ≤ .01*: runs whose expected loss is within the tolerance; *max loss* is the largest true loss among them.
- *SAFE*: runs with this verdict, with the maximum and the 95th percentile of their true losses. The verdict also
  considers coverage and the upper end of the loss.
- *below upper end*: the share of the runs whose true loss does not exceed the upper end.

Pool depths below k are left out: the truth itself would contain unjudged documents.
"""


def main() -> None:
    """Read, calibrate, write."""
    folder, qrels, groups = (Path(name) for name in sys.argv[1:4])
    runs = runs_in(folder, topics_of(qrels))
    sys.stdout.write(page(runs, rows_of(qrels), groups_of(groups)))


def page(runs: Sequence[Run], rows: Sequence[tuple[str, str, int]], groups: dict[str, str]) -> str:
    """Give the page as Markdown."""
    by_depth = {depth: calibrations(runs, rows, groups, depth) for depth in DEPTHS}
    deepest = repooled(runs, rows, max(DEPTHS))
    parts = [
        HEAD.format(
            runs=len(runs),
            groups=len({groups[run.tag] for run in runs}),
            topics=len(deepest.topics),
            judged=len(deepest),
            deepest=max(DEPTHS),
        )
    ]
    for place, measure in enumerate(MEASURES):
        lines = [line(depth, found[place]) for depth, found in by_depth.items()]
        parts.append(f"## {measure}\n\n{renderers.get('markdown')(table_of(list(COLUMNS), lines))}")
    return "\n".join([*parts, "## The columns\n", KEY])


def calibrations(
    runs: Sequence[Run], rows: Sequence[tuple[str, str, int]], groups: dict[str, str], depth: int
) -> list[Calibration]:
    """Leave each group out of the pool rebuilt at a depth."""
    qrels = repooled(runs, rows, depth)
    alignment = align(qrels, runs, keep_rows=True)
    prefixes = prefixes_of(
        alignment, qrels, runs, [Contributor(run.tag, groups[run.tag]) for run in runs], depth=depth
    )
    return calibrated(alignment, prefixes, own_measures(parse_measures(MEASURES)), rng=np.random.default_rng(SEED))


def line(depth: int, found: Calibration) -> tuple[str, ...]:
    """Give one line of a table."""
    small, safe = found.true[found.expected <= 0.01], found.true_where("SAFE")
    return (
        str(depth),
        f"{found.kappas.mean():.2f}",
        f"{found.expected.mean():.4f}",
        f"{found.true.mean():.4f}",
        f"{found.correlation:.2f}",
        f"{found.correlation_of_coverage:.2f}",
        str(len(small)),
        f"{small.max():.4f}" if len(small) else "-",
        str(len(safe)),
        f"{safe.max():.4f}" if len(safe) else "-",
        f"{np.quantile(safe, 0.95):.4f}" if len(safe) else "-",
        f"{100 * found.covered:.0f}%",
    )


def repooled(runs: Sequence[Run], rows: Sequence[tuple[str, str, int]], depth: int) -> Qrels:
    """Give the judgments of what is among the first documents of any run."""
    labels = {(topic, document): grade for topic, document, grade in rows}
    pooled = {pair for run in runs for pair in _first(run, depth) if pair in labels}
    return qrels_of([(*pair, labels[pair]) for pair in pooled])


def _first(run: Run, depth: int) -> Iterator[tuple[str, str]]:
    return ((topic, document) for topic, documents, _ in run for document in documents[:depth])


def rows_of(path: Path) -> list[tuple[str, str, int]]:
    """Read TREC qrels."""
    columns = [text.split() for text in path.read_text(encoding="utf-8").splitlines()]
    return [(topic, document, int(grade)) for topic, _, document, grade in columns]


def topics_of(path: Path) -> frozenset[str]:
    """Give the topics of qrels."""
    return frozenset(topic for topic, _, _ in rows_of(path))


def groups_of(path: Path) -> dict[str, str]:
    """Give the group of each run."""
    records = ElementTree.fromstring(path.read_text(encoding="utf-8")).iter("runs")
    return {str(record.findtext("tag")): str(record.findtext("organization")) for record in records}


def runs_in(folder: Path, topics: frozenset[str]) -> list[Run]:
    """Read and mend the runs of a folder, named after their files."""
    runs = []
    for path in sorted(folder.iterdir()):
        name = path.name.removeprefix("input.").removesuffix(".gz")
        if name not in LEFT_OUT:
            rows = read_rows(Source(path))
            run = repair(rows, check(rows, Expectations(topics=topics)), name=name)[0]
            runs += [run] if run is not None else []
    return runs


@dataclass(frozen=True, eq=False)
class Calibration:
    """Contributing runs, each left out with its group: true and expected loss, judged@k, and verdict of each.

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
    """Leave each contributing group out in turn, and compare the expected loss of its runs with the true loss.

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
    """One group that was left out."""

    runs: np.ndarray
    true: Values
    coverage: Coverage
    loss: Loss
    model: UnjudgedModel
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
    depth = measure_depths(measure, others.depth)
    coverage = coverage_of(reduced, measure, pool_depth=others.depth, provenance=others)
    cache = ModelCache(reduced, others)
    model = scale_model(measure, cache.model(depth), cache, depth=depth, rng=rng)
    loss = expected_loss(
        reduced, measure, model, depth=depth, rng=rng, runs=runs.tolist(), popularity=cache.popularity(depth)
    )
    before, after = (measure.values(one.lists).reshape(full.shape)[runs] for one in (reduced, full))
    true = np.array(
        [(after - before)[place][full.scored[run]].mean() for place, run in enumerate(runs.tolist())], dtype=float
    )
    reason = why_untestable(reduced, others, table) or why_untaught(model, table)
    levels = tuple(_level(coverage, loss, model, reason, run, table) for run in runs.tolist())
    return _Part(runs, true, coverage, loss, model, levels)


def _level(coverage: Coverage, loss: Loss, model: UnjudgedModel, reason: str, run: int, table: Thresholds) -> Level:
    evidence = replace(
        coverage.evidence(run, topic_judged=table.topic_judged),
        pooled=False,
        missing=0,
        loss=None if reason else float(loss.mean[run]),
        upper=None if reason else float(loss.upper[run]),
        groups=model.groups,
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
        judged=np.array(
            [part.coverage.evidence(run, topic_judged=0.5).judged for part in parts for run in part.runs.tolist()]
        ),
        levels=tuple(level for part in parts for level in part.levels),
        kappas=np.array([part.model.ratio for part in parts]),
    )


def _correlation(one: Values, other: Values) -> float:
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


if __name__ == "__main__":
    main()
