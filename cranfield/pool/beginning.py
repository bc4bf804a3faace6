"""Where a live pool begins: what an earlier pool has of each topic, told apart by who brought it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cranfield.pool.candidates import candidates_of
from cranfield.pool.clusters import Clusters, Collapsed, collapse
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.kept import Kept, kept_of, numbers_of
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Addition, TopicPool
from cranfield.runs.run import Codes, Places


@dataclass(frozen=True, eq=False)
class Begun:
    """One topic: its candidates, what its fixed steps have brought, what waits, and what was chosen by judgments.

    `queue` is in judging order. Both are candidate numbers.
    """

    collapsed: Collapsed
    pool: TopicPool
    queue: Sequence[int]
    chosen: Sequence[int]


def steps_of_entries(pool: Pool) -> Codes:
    """Give the number of the step that brought each entry."""
    steps = np.array([stratum.step for stratum in pool.stratum_table], dtype=np.int32)
    return steps[pool.strata] if len(steps) else np.empty(0, dtype=np.int32)


def collapsed_topic(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None) -> Collapsed:
    """Give the candidates of a topic; what is in the pool goes on standing for its near-duplicates."""
    everything = candidates_of(runs, topic)
    if clusters is None:
        return collapse(everything, None)
    preferred = np.zeros(len(everything), dtype=bool)
    names = [] if topic not in pool.topics else pool.documents_of(topic)
    preferred[numbers_of(everything, names)] = True
    return collapse(everything, clusters, preferred=preferred)


def begun_topic(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None, *, adaptive: int) -> Begun:
    """Take a topic of a pool apart; `adaptive` is the number of the step that looks at judgments."""
    collapsed = collapsed_topic(pool, runs, topic, clusters)
    kept = kept_of(pool, collapsed.candidates)
    steps = np.array([stratum.step for stratum, _, _ in kept.sizes], dtype=np.int32)[kept.strata]
    begun = TopicPool(topic, len(collapsed.candidates), pool.seed)
    fixed = steps != adaptive
    for addition in _additions(kept, fixed):
        begun.add(addition)
    return Begun(collapsed, begun, kept.numbers[fixed].tolist(), kept.numbers[~fixed].tolist())


def _additions(kept: Kept, fixed: Places) -> list[Addition]:
    """Give what fixed steps brought, in judging order: one addition for each stretch of entries of one stratum.

    What a sample passed over goes with the first stretch of its stratum; it has an empty one if nothing was drawn.
    """
    numbers, strata, chances = kept.numbers[fixed], kept.strata[fixed], kept.probabilities[fixed]
    bounds = np.append(np.flatnonzero(np.diff(strata, prepend=-1)), len(strata))
    spans = [(int(strata[start]), start, end) for start, end in pairwise(bounds.tolist())]
    missing = sorted(set(kept.undrawn_strata.tolist()) - {code for code, _, _ in spans})
    additions, seen = [], set[int]()
    for code, start, end in [*spans, *((code, 0, 0) for code in missing)]:
        passed_over = np.empty(0, np.int64) if code in seen else kept.undrawn[kept.undrawn_strata == code]
        additions.append(Addition(kept.sizes[code][0], numbers[start:end], chances[start:end], passed_over))
        seen.add(code)
    return additions
