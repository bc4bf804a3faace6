"""Hold-outs: every group left out in turn, against one plain evaluation and against re-evaluation with pytrec_eval.

    python -m benchmarks.reuse [--repeat 5] [--runs 129] [--contributing 77] [--groups 43]

129 runs of 50 topics and 1,000 documents, 77 of them contributing, from 43 groups; AP, nDCG@10 and P@10. A plain
evaluation aligns the runs with the qrels and scores them; a hold-out finds out who brought what and scores again.
pytrec_eval evaluates a few runs with the qrels without a few groups, runs and qrels being in memory already, and its
time is scaled to all of them. Medians of the repetitions, all in one process, taking turns.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pyarrow as pa

from benchmarks.generate import Shape, _document_ids, _heights, _pairs, _topic_ids, rankings
from benchmarks.measuring import tell
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.measure import Measure, own_measures, parse_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.qrels.qrels import Qrels, sorted_qrels
from cranfield.reuse.hold_out import AllHoldOut, hold_out_all
from cranfield.reuse.provenance import Contributor, Provenance, provenance_of
from cranfield.runs.run import Run

PART_OF_RUNS = 4
PART_OF_GROUPS = 3


@dataclass(frozen=True)
class Made:
    """A generated collection, in memory."""

    qrels: Qrels
    runs: list[Run]
    contributors: list[Contributor]
    depth: int


def made(shape: Shape, *, contributing: int) -> Made:
    """Give runs, the qrels of a pool of the contributing ones, and who belongs to whom."""
    documents = _document_ids(np.arange(shape.ids)).cast(pa.large_string())
    topics = pa.array([str(topic) for topic in _topic_ids(0, shape.topics)], pa.large_string())
    offsets = np.arange(shape.topics + 1, dtype=np.int64) * shape.documents
    runs, pairs, contributors = [], [], []
    for number, ranking in enumerate(rankings(shape)):
        rows = ranking.documents.ravel().astype(np.int32)
        runs.append(Run(ranking.tag, topics, offsets, documents, rows, ranking.scores.ravel()))
        fed = number < contributing
        contributors.append(Contributor(ranking.tag, f"group{number % shape.groups:03d}", contributing=fed))
        if fed:
            pairs.append(_pairs(ranking.documents[:, : shape.pool_depth], shape))
    pooled = np.unique(np.concatenate(pairs))
    topic, document = pooled // shape.ids, pooled % shape.ids
    grades = np.searchsorted([1.5, 2.2, 2.8], _heights(topic, document, shape)).astype(np.int32)
    qrels = sorted_qrels((topics, topic.astype(np.int32)), (documents, document.astype(np.int32)), grades)
    return Made(qrels, runs, contributors, shape.pool_depth)


def plain(data: Made, measures: list[Measure]) -> tuple[Alignment, Scores]:
    """Evaluate once."""
    aligned = align(data.qrels, data.runs, keep_rows=True)
    scores = score(aligned, measures)
    _ = scores.summary
    return aligned, scores


def everything(data: Made, aligned: Alignment, scores: Scores, measures: list[Measure]) -> AllHoldOut:
    """Hold every group out and rank all runs again."""
    held_out = hold_out_all(aligned, provenance(data, aligned), measures, full=scores)
    _ = [held_out.rerankings(measure) for measure in measures]
    return held_out


def provenance(data: Made, aligned: Alignment) -> Provenance:
    """Find out who brought what."""
    return provenance_of(aligned, data.qrels, data.runs, data.contributors, depth=data.depth)


def by_re_evaluation(data: Made, groups: Provenance) -> tuple[float, float]:
    """Give the seconds that pytrec_eval takes for its evaluators of all groups, and for one run with one of them."""
    import pytrec_eval

    judged: dict[str, dict[str, int]] = {}
    owners = groups.owner.tolist()
    without: list[dict[str, dict[str, int]]] = [{} for _ in range(PART_OF_GROUPS)]
    for (topic, document, grade), owner in zip(data.qrels, owners, strict=True):
        judged.setdefault(topic, {})[document] = grade
        for group, kept in enumerate(without):
            if owner != group:
                kept.setdefault(topic, {})[document] = grade
    runs = [
        {topic: dict(zip(ids, scores.tolist(), strict=True)) for topic, ids, scores in run}
        for run in data.runs[:PART_OF_RUNS]
    ]
    started = time.perf_counter()
    evaluators = [pytrec_eval.RelevanceEvaluator(kept, {"map", "ndcg_cut.10", "P.10"}) for kept in without]
    prepared = time.perf_counter()
    for evaluator in evaluators:
        for run in runs:
            evaluator.evaluate(run)
    done = time.perf_counter()
    return (prepared - started) / PART_OF_GROUPS, (done - prepared) / (PART_OF_GROUPS * PART_OF_RUNS)


def in_turns(timers: dict[str, Callable[[], object]], *, repeat: int) -> dict[str, float]:
    """Time everything in turns, and give the median of each."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(repeat):
        for name, timer in timers.items():
            started = time.perf_counter()
            timer()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(some) for name, some in times.items()}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("repeat", 5), ("runs", 129), ("contributing", 77), ("groups", 43)):
        options.add_argument(f"--{name}", type=int, default=default)
    asked = options.parse_args()
    shape = Shape(runs=asked.runs, groups=asked.groups, consensus=0.2, pool_depth=20)
    data, measures = made(shape, contributing=asked.contributing), own_measures(parse_measures(["AP nDCG@10 P@10"]))
    aligned, scores = plain(data, measures)
    found = everything(data, aligned, scores, measures)
    lost = found.own.spreads(measures[0])[1]
    print(f"{len(data.qrels):,} judged; AP falls by {lost.mean:.2%} on average, by {lost.largest:.2%} at most")
    times = in_turns(
        {
            "plain": lambda: plain(data, measures),
            "all": lambda: everything(data, aligned, scores, measures),
            "reversals": lambda: [found.reversals(measure) for measure in measures],
        },
        repeat=asked.repeat,
    )
    tell(
        "all runs without each group, with tau, against plain scores (s)", times["all"], times["plain"], "at most 20"
    )
    tell(
        "significant differences reversed without each group against that (s)",
        times["reversals"],
        times["plain"],
        "-",
    )
    if not find_spec("pytrec_eval"):
        print("pytrec_eval is not installed, and left out")
        return
    prepared, evaluated = by_re_evaluation(data, provenance(data, aligned))
    theirs = asked.groups * (prepared + asked.runs * evaluated)
    tell("re-evaluation with pytrec_eval, scaled, against ours (s)", theirs, times["all"], "at least 50")


if __name__ == "__main__":
    main()
