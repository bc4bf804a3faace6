"""A pool that grows: what later runs add, and what lets an outsider in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.assembling import TopicPart, assembled, contributions, part_of, represented
from cranfield.pool.build import TopicBuilder, static_steps
from cranfield.pool.candidates import candidates_of
from cranfield.pool.clusters import Clusters, Collapsed, clusters_of, collapse
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.inputs import checked_topics
from cranfield.pool.kept import kept_of, made_certain
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Addition, TopicPool
from cranfield.runs.run import Codes, Places


def extend(
    pool: Pool,
    runs: PooledRuns,
    *,
    topics: Sequence[str] | None = None,
    clusters: Mapping[str, object] | None = None,
) -> Pool:
    """Give the next version of a pool: everything that is in it, and what its plan adds with all runs.

    `runs` are those of the pool and the later ones. Fixed steps are made anew with all runs, and what they bring
    besides is added. Samples are drawn at their earlier rate from the documents that could not be drawn before: these
    are strata of their own. A document that was drawn by chance and now comes by a fixed step is certain, and counts
    with that step. So every probability stays true. No document leaves, and none changes its place.
    """
    _check_runs(pool, runs)
    wanted = checked_topics(pool.plan, runs, sorted({*pool.topics, *(topics or ())}, key=str.encode))
    pooled = runs.cut(pool.plan.reach)
    made = clusters_of(pooled, clusters) if clusters is not None else None
    grown = [_grown(pool, pooled, topic, made) for topic in wanted]
    builder = _Extension(pooled, wanted, seed=pool.seed, begun={kept.topic: kept for kept, _ in grown})
    builder.known = {collapsed.candidates.topic: collapsed for _, collapsed in grown}
    builder.built(static_steps(pool.plan), order="plan")
    parts = [_joined(pool, builder.pools[kept.topic], collapsed) for kept, collapsed in grown]
    extended = assembled(pool.plan, pooled, parts, seed=pool.seed, order=pool.order, version=pool.version + 1)
    return replace(extended, versions=_versions(pool, extended))


def top_up(
    runs: PooledRuns, *, depth: int, judged: Mapping[str, Collection[str]], topics: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Give the unjudged documents among the first `depth` of some runs, by topic, best rank first.

    Judging them lets an outsider be scored as if it had been pooled. Topics in which nothing is missing are left out.
    """
    if depth < 1:
        raise UsageError(f"a depth is a number from 1 up, not {depth}")
    cut = runs.cut(depth)
    missing = {}
    for topic in cut.topics if topics is None else [topic for topic in topics if topic in cut.codes_by_topic]:
        candidates = candidates_of(cut, topic)
        known = set(judged.get(topic, ()))
        order = np.argsort(candidates.best_rank, kind="stable")
        missing[topic] = [candidates.ids[number] for number in order if candidates.ids[number] not in known]
    return {topic: documents for topic, documents in missing.items() if documents}


class _Extension(TopicBuilder):
    """A builder whose candidates are known already: what is in the pool stands for its near-duplicates."""

    known: Mapping[str, Collapsed]

    def collapsed(self, topic: str) -> Collapsed:
        """Give the candidates of a topic."""
        return self.known[topic]


def _check_runs(pool: Pool, runs: PooledRuns) -> None:
    given = {run.name: run.content_hash for run in runs.runs}
    problems = [
        Problem("run-missing", f"the run {quoted(source.name)} is in the pool and not among the runs given")
        for source in pool.sources
        if source.name not in given
    ]
    problems += [
        Problem("run-changed", f"the run {quoted(source.name)} is not the one that was pooled: its content differs")
        for source in pool.sources
        if source.name in given and given[source.name] != source.content_hash
    ]
    if problems:
        raise ProblemsFound("this pool cannot be extended", problems)


def _grown(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None) -> tuple[TopicPool, Collapsed]:
    """Give an empty pool of a topic that knows what was drawn before, and its candidates."""
    everything = candidates_of(runs, topic)
    kept = _rows(pool, topic)
    names = [pool.ids[row] for row in kept]
    preferred = np.zeros(len(everything), dtype=bool)
    preferred[[everything.numbers[name] for name in names]] = True
    collapsed = collapse(everything, clusters, preferred=preferred)
    begun = TopicPool(topic, len(collapsed.candidates), pool.seed, suffix=f" +{pool.version}")
    before = kept_of(pool, collapsed.candidates)
    begun.barred = np.concatenate([before.numbers, before.undrawn])
    begun.rates = _rates(pool, topic)
    steps = np.array([before.sizes[place][0].step for place in before.strata], dtype=np.int64)
    begun.drawn_before = {step: before.numbers[steps == step] for step in begun.rates}
    return begun, collapsed


def _rows(pool: Pool, topic: str) -> Places:
    if topic not in pool.topics:
        return np.empty(0, dtype=np.int64)
    place = pool.topics.index(topic)
    return np.arange(pool.offsets[place], pool.offsets[place + 1])


def _rates(pool: Pool, topic: str) -> dict[int, float]:
    """Give the share that each sampling step of the plan drew in its first version, by number of the step."""
    if topic not in pool.topics:
        return {}
    place = pool.topics.index(topic)
    sampling = {number for number, step in static_steps(pool.plan) if _is_sample(step)}
    rates = {}
    for number in sampling:
        codes = [code for code, stratum in enumerate(pool.stratum_table) if stratum.step == number]
        population = int(pool.populations[place, codes].sum())
        if population:
            rates[number] = int(pool.drawn[place, codes].sum()) / population
    return rates


def _is_sample(step: object) -> bool:
    return getattr(getattr(step, "strategy", None), "kind", "") == "sampling"


def _joined(pool: Pool, grown: TopicPool, collapsed: Collapsed) -> TopicPart:
    """Give the columns of a topic: what was there, then what is new."""
    kept = kept_of(pool, collapsed.candidates)
    is_old = np.zeros(len(collapsed.candidates), dtype=bool)
    is_old[kept.numbers] = True
    fresh = TopicPool(grown.topic, grown.size, grown.seed)
    for one in grown.additions:
        new = ~is_old[one.chosen]
        fresh.add(Addition(one.stratum, one.chosen[new], one.probabilities[new], one.undrawn))
    part = part_of(fresh, collapsed, order=pool.order)
    for one in grown.additions:
        if not _is_sample(pool.plan.steps[one.stratum.step - 1]):
            kept = made_certain(kept, one.chosen, one.stratum)
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


def _versions(pool: Pool, extended: Pool) -> Codes:
    """Give the version that each entry came with: earlier entries stand first in their topic."""
    versions = np.full(len(extended), extended.version, dtype=np.int32)
    for place, topic in enumerate(extended.topics):
        rows = _rows(pool, topic)
        start = int(extended.offsets[place])
        versions[start : start + len(rows)] = pool.versions[rows]
    return versions
