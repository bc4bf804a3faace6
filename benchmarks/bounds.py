"""Exact score intervals of all runs, against a plain evaluation of the same runs by the same measures.

    python -m benchmarks.bounds [--runs 129] [--pooled 26] [--repeat 5]

129 runs of 50 topics and 1,000 documents in 43 groups, of which 26 fed a pool of depth 100. `evaluation` is the
scoring of runs that are aligned already, so that reading takes no part on either side. With `--pooled 2` nearly every
list has holes. After the three usual measures, others one by one.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.generate import Shape, _document_ids, _heights, _pairs, _topic_ids, rankings
from benchmarks.measuring import tell
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.measure import Measure, own_measures, parse_measures
from cranfield.evaluate.scores import score
from cranfield.qrels.qrels import sorted_qrels
from cranfield.reuse.intervals import interval_depth, intervals_of_runs
from cranfield.runs.run import Run

THREE = ["AP", "nDCG@10", "P@10"]
MORE = ["R@100", "RR", "nDCG", "nDCG@100", "DCG@10", "RBP", "ERR", "Rprec", "Bpref", "Q@10", "IPrecAvg"]


def aligned(shape: Shape) -> Alignment:
    """Give generated runs, aligned with the qrels of their pool."""
    topic_ids = pa.array([str(topic) for topic in _topic_ids(0, shape.topics)], pa.large_string())
    document_ids = pa.array(_document_ids(np.arange(shape.ids))).cast(pa.large_string())
    offsets = np.arange(shape.topics + 1, dtype=np.int64) * shape.documents
    runs, pooled = [], []
    for number, ranking in enumerate(rankings(shape)):
        documents = ranking.documents.ravel().astype(np.int32)
        runs.append(Run(ranking.tag, topic_ids, offsets, document_ids, documents, ranking.scores.ravel()))
        if number % shape.groups < (shape.pooled_groups or shape.groups):
            pooled.append(_pairs(ranking.documents[:, : shape.pool_depth], shape))
    pairs = np.unique(np.concatenate(pooled))
    topics, documents = (pairs // shape.ids).astype(np.int32), (pairs % shape.ids).astype(np.int32)
    grades = np.searchsorted([1.5, 2.2, 2.8], _heights(topics, documents, shape)).astype(np.int32)
    return align(sorted_qrels((topic_ids, topics), (document_ids, documents), grades), runs)


def fresh(alignment: Alignment) -> Alignment:
    """Give the same alignment without what its lists remember."""
    return replace(alignment, lists=replace(alignment.lists))


def plain(alignment: Alignment, measures: list[Measure]) -> None:
    """Score all runs."""
    score(alignment, measures).summary  # noqa: B018


def intervals(alignment: Alignment, measures: list[Measure], *, depth: int) -> None:
    """Give the intervals of all runs."""
    deep = partial(interval_depth, pool_depth=depth)
    found = intervals_of_runs(alignment, measures, depth=deep)
    found.lowest, found.highest  # noqa: B018


def seconds(work: Callable[[Alignment], None], alignment: Alignment) -> float:
    """Give how long some work takes on lists that remember nothing."""
    given = fresh(alignment)
    started = time.perf_counter()
    work(given)
    return time.perf_counter() - started


def compare(alignment: Alignment, names: list[str], repeat: int, wanted: str, *, depth: int) -> None:
    """Time intervals and evaluation in turns, and print the ratio of the medians."""
    measures = own_measures(parse_measures(names))
    asked = partial(intervals, measures=measures, depth=depth)
    scored = partial(plain, measures=measures)
    times = [(seconds(asked, alignment), seconds(scored, alignment)) for _ in range(repeat)]
    mine, other = (statistics.median(column) * 1000 for column in zip(*times, strict=True))
    tell(f"{' '.join(names)} (ms)", mine, other, wanted)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=129)
    options.add_argument("--pooled", type=int, default=26)
    options.add_argument("--repeat", type=int, default=5)
    asked = options.parse_args()
    shape = Shape(runs=asked.runs, groups=43, pooled_groups=asked.pooled)
    alignment = aligned(shape)
    top = alignment.lists.grades.reshape(-1, shape.documents)
    shares = [float((top[:, :depth] < 0).any(axis=1).mean()) for depth in (10, shape.pool_depth)]
    print(f"{len(top)} lists, {shares[0]:.0%} with a hole in the first 10, {shares[1]:.0%} in the pool depth")
    compare(alignment, THREE, asked.repeat, "at most 5", depth=shape.pool_depth)
    for name in MORE:
        compare(alignment, [name], 1, "no bound", depth=shape.pool_depth)


if __name__ == "__main__":
    main()
