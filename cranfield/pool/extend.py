"""A pool that grows: what later runs add, and what lets an outsider in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.assembling import TopicPart, assembled, contributions, part_of
from cranfield.pool.build import TopicBuilder, static_steps
from cranfield.pool.candidates import candidates_of
from cranfield.pool.clusters import Clusters, Collapsed, clusters_of, collapse
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.inputs import checked_topics
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Addition, Stratum, TopicPool
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
    are strata of their own, so that every probability stays true. Nothing leaves, and nothing moves.
    """
    _check_runs(pool, runs)
    wanted = checked_topics(pool.plan, runs, sorted({*pool.topics, *(topics or ())}, key=str.encode))
    pooled = runs.cut(pool.plan.reach)
    made = clusters_of(pooled, clusters) if clusters is not None else None
    grown = [_grown(pool, pooled, topic, made) for topic in wanted]
    builder = _Extension(pooled, wanted, seed=pool.seed, begun={kept.topic: kept for kept, _ in grown})
    builder.known = {collapsed.candidates.topic: collapsed for _, collapsed in grown}
    builder.built(static_steps(pool.plan), order="plan")
    parts = [_joined(pool, builder.pools[kept.topic], kept, collapsed) for kept, collapsed in grown]
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
    numbers = collapsed.candidates.numbers
    begun = TopicPool(topic, len(collapsed.candidates), pool.seed, suffix=f" +{pool.version}")
    old = np.array([numbers[name] for name in names], dtype=np.int64)
    begun.barred = np.concatenate([old, _passed_over(pool, topic, numbers)])
    begun.rates = _rates(pool, topic)
    for step in begun.rates:
        steps = np.array([pool.stratum_table[pool.strata[row]].step for row in kept])
        begun.drawn_before[step] = old[steps == step]
    return begun, collapsed


def _rows(pool: Pool, topic: str) -> Places:
    if topic not in pool.topics:
        return np.empty(0, dtype=np.int64)
    place = pool.topics.index(topic)
    return np.arange(pool.offsets[place], pool.offsets[place + 1])


def _passed_over(pool: Pool, topic: str, numbers: Mapping[str, int]) -> Places:
    if topic not in pool.topics:
        return np.empty(0, dtype=np.int64)
    topics, documents, _ = pool.undrawn
    names = pool.document_ids.take(documents[topics == pool.topics.index(topic)]).to_pylist()
    return np.array([numbers[name] for name in names if name in numbers], dtype=np.int64)


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


def _joined(pool: Pool, grown: TopicPool, kept: TopicPool, collapsed: Collapsed) -> TopicPart:
    """Give the columns of a topic: what was there, then what is new."""
    rows = _rows(pool, kept.topic)
    numbers = collapsed.candidates.numbers
    old = np.array([numbers[pool.ids[row]] for row in rows], dtype=np.int64)
    is_old = np.zeros(len(collapsed.candidates), dtype=bool)
    is_old[old] = True
    fresh = TopicPool(grown.topic, grown.size, grown.seed)
    for one in grown.additions:
        new = ~is_old[one.chosen]
        fresh.add(Addition(one.stratum, one.chosen[new], one.probabilities[new], one.undrawn))
    part = part_of(fresh, collapsed, order=pool.order)
    counts, runs, ranks = contributions(collapsed.candidates, old)
    used, strata = np.unique(pool.strata[rows], return_inverse=True)
    sizes = _old_sizes(pool, kept.topic)
    table = [*sizes, *part.stratum_sizes]
    place_of = {stratum: place for place, (stratum, _, _) in enumerate(sizes)}
    old_places = np.array([place_of[pool.stratum_table[code]] for code in used] or [0], dtype=np.int32)
    undrawn, undrawn_strata = _undrawn(pool, collapsed, part, place_of)
    return replace(
        part,
        undrawn=undrawn,
        undrawn_strata=undrawn_strata,
        documents=np.concatenate([collapsed.candidates.documents[old], part.documents]),
        strata=np.concatenate([old_places[strata], part.strata + len(sizes)]).astype(np.int32),
        stratum_sizes=tuple(table),
        probabilities=np.concatenate([pool.probabilities[rows], part.probabilities]),
        contribution_counts=np.concatenate([counts, part.contribution_counts]),
        contribution_runs=np.concatenate([runs, part.contribution_runs]),
        contribution_ranks=np.concatenate([ranks, part.contribution_ranks]),
    )


def _old_sizes(pool: Pool, topic: str) -> list[tuple[Stratum, int, int]]:
    if topic not in pool.topics:
        return []
    place = pool.topics.index(topic)
    return [
        (stratum, int(pool.populations[place, code]), int(pool.drawn[place, code]))
        for code, stratum in enumerate(pool.stratum_table)
    ]


def _undrawn(
    pool: Pool, collapsed: Collapsed, part: TopicPart, place_of: Mapping[Stratum, int]
) -> tuple[Codes, Codes]:
    """Give what samples passed over, before and now."""
    candidates = collapsed.candidates
    topics, documents, strata = pool.undrawn
    mine = topics == (pool.topics.index(candidates.topic) if candidates.topic in pool.topics else -1)
    names = pool.document_ids.take(documents[mine]).to_pylist()
    known = np.array([name in candidates.numbers for name in names], dtype=bool)
    codes = candidates.documents[[candidates.numbers[name] for name in names if name in candidates.numbers]]
    places = np.array([place_of[pool.stratum_table[code]] for code in strata[mine][known]], dtype=np.int32)
    later = (part.undrawn_strata + len(place_of)).astype(np.int32)
    return np.concatenate([codes, part.undrawn]), np.concatenate([places, later])


def _versions(pool: Pool, extended: Pool) -> Codes:
    """Give the version that each entry came with: earlier entries stand first in their topic."""
    versions = np.full(len(extended), extended.version, dtype=np.int32)
    for place, topic in enumerate(extended.topics):
        rows = _rows(pool, topic)
        start = int(extended.offsets[place])
        versions[start : start + len(rows)] = pool.versions[rows]
    return versions
