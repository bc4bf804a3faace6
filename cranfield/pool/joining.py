"""What a pool has of a topic, and what comes behind it: earlier entries keep their places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cranfield.pool.assembling import TopicPart, assembled, contributions, part_of, represented
from cranfield.pool.beginning import collapsed_topic
from cranfield.pool.clusters import Collapsed, clusters_of
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.kept import Kept, kept_of
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Addition, Stratum, TopicPool
from cranfield.runs.run import Codes


@dataclass(frozen=True, slots=True)
class Chosen:
    """A document that was chosen by looking at judgments, or by a step after that; NaN is no probability."""

    document: str
    stratum: Stratum
    probability: float


@dataclass(frozen=True, slots=True)
class Later:
    """What came into a topic after its fixed part: documents in order, and what samples passed over, by stratum."""

    chosen: Sequence[Chosen] = ()
    passed_over: Mapping[Stratum, Sequence[str]] = field(default_factory=dict)


def with_chosen(
    pool: Pool, runs: PooledRuns, later: Mapping[str, Later], *, clusters: Mapping[str, object] | None = None
) -> Pool:
    """Give the same version of a pool with what was chosen since it was made, behind what is there."""
    made = clusters_of(runs, clusters) if clusters is not None else None
    parts = []
    for topic in pool.topics:
        collapsed = collapsed_topic(pool, runs, topic, made)
        fresh = _fresh(collapsed, later.get(topic, Later()), pool.seed)
        parts.append(joined(kept_of(pool, collapsed.candidates), part_of(fresh, collapsed, order="plan"), collapsed))
    whole = assembled(pool.plan, runs, parts, seed=pool.seed, order=pool.order, version=pool.version)
    return replace(whole, versions=versions_of(pool, whole))


def joined(kept: Kept, part: TopicPart, collapsed: Collapsed) -> TopicPart:
    """Give the columns of a topic: what was kept, then what is new."""
    counts, runs, ranks = contributions(collapsed.candidates, kept.numbers)
    shift = len(kept.sizes)
    documents = np.concatenate([collapsed.candidates.documents[kept.numbers], part.documents])
    return replace(
        part,
        documents=documents,
        duplicates=represented(collapsed, documents),
        strata=np.concatenate([kept.strata, part.strata + shift]).astype(np.int32),
        stratum_sizes=(*kept.sizes, *part.stratum_sizes),
        probabilities=np.concatenate([kept.probabilities, part.probabilities]),
        contribution_counts=np.concatenate([counts, part.contribution_counts]),
        contribution_runs=np.concatenate([runs, part.contribution_runs]),
        contribution_ranks=np.concatenate([ranks, part.contribution_ranks]),
        undrawn=np.concatenate([collapsed.candidates.documents[kept.undrawn], part.undrawn]),
        undrawn_strata=np.concatenate([kept.undrawn_strata, part.undrawn_strata + shift]).astype(np.int32),
    )


def versions_of(pool: Pool, grown: Pool) -> Codes:
    """Give the version that each entry came with: earlier entries stand first in their topic."""
    versions = np.full(len(grown), grown.version, dtype=np.int32)
    places = {topic: place for place, topic in enumerate(pool.topics)}
    for place, topic in enumerate(grown.topics):
        if topic in places:
            before = pool.versions[pool.offsets[places[topic]] : pool.offsets[places[topic] + 1]]
            start = int(grown.offsets[place])
            versions[start : start + len(before)] = before
    return versions


def _fresh(collapsed: Collapsed, later: Later, seed: int) -> TopicPool:
    known = collapsed.candidates.numbers
    fresh = TopicPool(collapsed.candidates.topic, len(collapsed.candidates), seed)
    nothing = np.empty(0, dtype=np.int64)
    for one in later.chosen:
        number = np.array([known[one.document]], dtype=np.int64)
        fresh.add(Addition(one.stratum, number, np.array([one.probability]), nothing))
    for stratum, documents in later.passed_over.items():
        fresh.add(Addition(stratum, nothing, np.empty(0), np.array([known[name] for name in documents], np.int64)))
    return fresh
