"""Writes the page that shows how good expected losses and verdicts are, on runs whose losses are known.

    python docs/calibration.py RUNS QRELS GROUPS > docs/calibration.md

RUNS is a folder of run files, QRELS a TREC qrels file, GROUPS an XML file with `<tag>` and `<organization>` for each
run. Broken runs are mended as `runs check --repair` does. The pool is re-made from the runs at several depths.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cranfield.base.files import Source
from cranfield.base.tables import table_of
from cranfield.evaluate.align import align
from cranfield.evaluate.expression import own_measures, parse_measures
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.report.rendering import renderers
from cranfield.reuse.calibrate import Calibration, calibrated
from cranfield.reuse.provenance import Contributor, prefixes_of
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows
from cranfield.runs.run import Run

DEPTHS = (10, 20, 50, 100)
MEASURES = ("nDCG@10", "P@10", "AP")
LEFT_OUT = ("rutfmed",)
SEED = 1
COLUMNS = (
    "pool depth",
    "kappa",
    "expected loss",
    "true loss",
    "correlation",
    "of 1 - judged@k",
    "loss ≤ .01",
    "lost at most",
    "SAFE",
    "SAFE lost at most",
    "95 % of SAFE",
    "below upper end",
)
HEAD = """\
# Calibration

How good are expected losses and verdicts? Here the answer is known: {runs} runs of {groups} groups fed the pool of a
real collection ({topics} topics, {judged:,} judged documents at depth {deepest}). Each group in turn is made an
outsider: the pool is re-made without it, kappa is learned from the other groups alone, and what its runs are expected
to lose is compared with what they lose. This page is written by `docs/calibration.py` and not by hand.
"""
KEY = """\
- *kappa*: how often a hole is relevant, as a share of how often the other judged documents of the first k are; mean
  over the groups left out.
- *expected loss*, *true loss*: means over all runs, in points of the measure.
- *correlation* of the expected with the true loss; beside it that of the share of the first k that is not judged:
  coverage alone says much less.
- *loss ≤ .01*: runs that are expected to lose no more than the tolerance; *lost at most* is the largest true loss of
  them.
- *SAFE*: runs with that verdict, with the largest and the 95th percentile of their true losses. The verdict also
  looks at coverage and at the upper end of the loss.
- *below upper end*: the share of the runs whose true loss is not above the upper end that is printed beside it.

Where the pool is less deep than k the truth itself would have holes, so no such line is here.
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
    """Make each group an outsider of the pool re-made at a depth."""
    qrels = repooled(runs, rows, depth)
    alignment = align(qrels, runs)
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
        f"{100 * found.covered:.0f} %",
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


if __name__ == "__main__":
    main()
