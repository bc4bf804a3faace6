"""A pool that grows: what later runs add, and what was chosen by looking at judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.base.errors import quoted, refuse
from cranfield.pool.build import assembled, checked_topics, grown, part_of
from cranfield.pool.candidates import Candidates, Clusters, PooledRuns, candidates_of, clusters_of, collapse
from cranfield.pool.plan import Selection
from cranfield.pool.pool import Pool, Stratum, TopicPool
from cranfield.runs.columns import Places, named

# What a pool has of a topic.

OUT = -1
"""The number of a document that is no candidate."""


def earlier_of(pool: Pool, candidates: Candidates) -> TopicPool:
    """What the pool has of the candidates' topic; nothing where it does not have the topic."""
    topic, size = candidates.topic, len(candidates)
    if topic not in pool.topics:
        return TopicPool(topic, size, pool.seed, pool.version)
    place = pool.topics.index(topic)
    entries = pool.entries[slice(*pool.offsets[place : place + 2])].copy()
    entries["document"] = numbers_of(candidates, pool.documents_of(topic))
    # What a sample passed over may be out by now: a near-duplicate stands for it.
    undrawn = pool.undrawn[pool.undrawn["topic"] == place]
    undrawn["document"] = [
        candidates.numbers.get(name, OUT) for name in named(pool.document_ids, undrawn["document"])
    ]
    undrawn = undrawn[undrawn["document"] != OUT]
    counts = np.bincount(undrawn["stratum"], minlength=len(pool.stratum_table))
    return TopicPool(
        topic,
        size,
        pool.seed,
        pool.version,
        strata=list(pool.stratum_table),
        entries=entries,
        undrawn=undrawn,
        unlisted=dict(enumerate((pool.populations[place] - pool.drawn[place] - counts).tolist())),
    )


def numbers_of(candidates: Candidates, names: Sequence[str]) -> Places:
    """The candidate numbers of documents of a pool; an error says which of them no run has."""
    unknown = [name for name in names if name not in candidates.numbers]
    if unknown:
        where = f"in the pool of topic {quoted(candidates.topic)}"
        message = f"{quoted(unknown[0])} is {where}, but none of its runs retrieved it"
        refuse("this pool is not of these runs", "not-in-runs", [message])
    return np.array([candidates.numbers[name] for name in names], dtype=np.int64)


def collapsed_topic(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None) -> Candidates:
    """The candidates of a topic; what is in the pool goes on standing for its near-duplicates."""
    everything = candidates_of(runs, topic)
    if clusters is None:
        return everything
    preferred = np.zeros(len(everything), dtype=bool)
    preferred[numbers_of(everything, pool.documents_of(topic) if topic in pool.topics else [])] = True
    return collapse(everything, clusters, preferred=preferred)


# What comes behind what is there: earlier entries stay in their places.


Chosen = tuple[str, Stratum, float]
"""A document that was chosen by looking at judgments, or by a step after that, and its probability: NaN is none."""


def with_chosen(
    pool: Pool,
    runs: PooledRuns,
    chosen: Mapping[str, Sequence[Chosen]],
    *,
    passed_over: Mapping[str, Mapping[Stratum, Sequence[str]]] | None = None,
    clusters: Mapping[str, object] | None = None,
) -> Pool:
    """The same version of a pool with what was chosen, or passed over, since it was made, by topic."""
    codes = clusters_of(runs, clusters)
    parts = []
    for topic in pool.topics:
        candidates = collapsed_topic(pool, runs, topic, codes)
        topic_pool, known = earlier_of(pool, candidates), candidates.numbers
        for document, stratum, probability in chosen.get(topic, ()):
            topic_pool.add(stratum, [known[document]], probability)
        for stratum, documents in (passed_over or {}).get(topic, {}).items():
            topic_pool.add(stratum, [], 1.0, undrawn=[known[name] for name in documents])
        parts.append(part_of(topic_pool, candidates, order="plan"))
    return assembled(pool.plan, runs, parts, seed=pool.seed, order=pool.order, version=pool.version)


# A pool with later runs.


def extend(
    pool: Pool, runs: PooledRuns, *, topics: Sequence[str] | None = None, clusters: Mapping[str, object] | None = None
) -> Pool:
    """The next version of a pool: everything that is in it, and what its plan adds with all runs.

    `runs` are those of the pool and the later ones. Fixed steps are made anew with all runs, and what they bring
    besides is added. Samples are drawn at their earlier rate from the documents that could not be drawn before: these
    are strata of their own. A document that was drawn by chance and now comes by a fixed step is certain, and counts
    with that step. So every probability stays true. No document leaves, and none changes its place.
    """
    wanted = checked_topics(pool.plan, runs, sorted({*pool.topics, *(topics or ())}))
    pooled = runs.cut(pool.plan.reach)
    codes, version = clusters_of(pooled, clusters), pool.version + 1
    extensions = grown(
        wanted,
        pool.plan.static_steps,
        candidates=lambda topic: collapsed_topic(pool, pooled, topic, codes),
        begin=lambda some: TopicPool(
            some.topic, len(some), pool.seed, earlier=earlier_of(pool, some), suffix=f" +{pool.version}"
        ),
    )
    parts = []
    for extension, candidates in extensions:
        topic_pool = earlier_of(pool, candidates)
        first, topic_pool.version = len(topic_pool.chosen), version
        for code, stratum in enumerate(extension.strata):
            mine = extension.entries[extension.entries["stratum"] == code]
            step = pool.plan.steps[stratum.step - 1]
            if isinstance(step, Selection) and step.strategy.kind != "sampling":
                topic_pool.make_certain(mine["document"], stratum)
            new = mine[~np.isin(mine["document"], topic_pool.chosen[:first])]
            undrawn = extension.undrawn["document"][extension.undrawn["stratum"] == code]
            topic_pool.add(stratum, new["document"], new["probability"], undrawn)
        parts.append(part_of(topic_pool, candidates, order=pool.order, first=first))
    return assembled(pool.plan, pooled, parts, seed=pool.seed, order=pool.order, version=version)


# How many documents deeper pools would have.


def missing_by_depth(pool: Pool, runs: PooledRuns, *, clusters: Mapping[str, object] | None = None) -> Places:
    """How many documents that are not in the pool each depth of the runs would bring: place 0 is depth 1.

    With `clusters`, near-duplicates of what is in the pool are not missing, and of others only one is.
    """
    codes = clusters_of(runs, clusters)
    total = np.zeros(runs.depth + 1, dtype=np.int64)
    for topic in pool.topics:
        candidates = collapsed_topic(pool, runs, topic, codes)
        missing = np.ones(len(candidates), dtype=bool)
        missing[numbers_of(candidates, pool.documents_of(topic))] = False
        total += np.bincount(candidates.best_rank[missing], minlength=len(total))
    return total[1:]
