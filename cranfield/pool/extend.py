"""A pool that grows: what later runs add, what was chosen by looking at judgments, and what lets a new run in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from cranfield.base.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.build import (
    TopicBuilder,
    TopicPart,
    assembled,
    checked_topics,
    contributions,
    part_of,
    represented,
)
from cranfield.pool.candidates import (
    Candidates,
    Clusters,
    Collapsed,
    PooledRuns,
    candidates_of,
    clusters_of,
    collapse,
)
from cranfield.pool.plan import Selection
from cranfield.pool.pool import Addition, Pool, Stratum, TopicPool
from cranfield.pool.strategy import Strata
from cranfield.runs.run import Codes, Places, Scores, named

# What an earlier version of a pool has of a topic, and how its probabilities stay true when the pool grows.


@dataclass(frozen=True, eq=False)
class Earlier:
    """The entries of a topic as candidate numbers, in their order, and what samples passed over.

    Strata are places in `sizes`, which gives (stratum, N_h, n_h).
    """

    numbers: Places
    strata: Codes
    probabilities: Scores
    undrawn: Places
    undrawn_strata: Codes
    sizes: tuple[tuple[Stratum, int, int], ...]


def earlier_of(pool: Pool, candidates: Candidates) -> Earlier:
    """Give what the pool has of the candidates' topic; nothing where it does not have the topic."""
    if candidates.topic not in pool.topics:
        return _NOTHING
    place = pool.topics.index(candidates.topic)
    rows = slice(int(pool.offsets[place]), int(pool.offsets[place + 1]))
    topics, documents, strata = pool.undrawn
    names = named(pool.document_ids, documents[topics == place])
    known = np.array([name in candidates.numbers for name in names], dtype=bool)
    passed_over = [candidates.numbers[name] for name in names if name in candidates.numbers]
    return Earlier(
        numbers=numbers_of(candidates, pool.ids[rows]),
        strata=pool.strata[rows],
        probabilities=pool.probabilities[rows],
        undrawn=np.array(passed_over, dtype=np.int64),
        undrawn_strata=strata[topics == place][known],
        sizes=tuple(
            (stratum, int(pool.populations[place, code]), int(pool.drawn[place, code]))
            for code, stratum in enumerate(pool.stratum_table)
        ),
    )


def numbers_of(candidates: Candidates, names: Sequence[str]) -> Places:
    """Give the candidate numbers of documents of a pool, or say which of them no run has."""
    unknown = [name for name in names if name not in candidates.numbers]
    if unknown:
        message = (
            f"{quoted(unknown[0])} is in the pool of topic {quoted(candidates.topic)}, and none of its runs has it"
        )
        raise ProblemsFound("this pool is not of these runs", [Problem("not-in-runs", message)])
    return np.array([candidates.numbers[name] for name in names], dtype=np.int64)


def made_certain(earlier: Earlier, certain: Places, stratum: Stratum) -> Earlier:
    """Give the earlier entries when some documents have become certain by a fixed step.

    Had they been left in their sample, those that were drawn would count 1 / π times and the others once: too much
    on average. So they leave the sample, drawn or not. The others were drawn with the probability they had, and keep
    it: one made from what is left would be another one for each draw, and none where nothing is left.
    """
    leaving = np.isin(earlier.numbers, certain) & (earlier.probabilities < 1)
    missed = np.isin(earlier.undrawn, certain)
    if not leaving.any() and not missed.any():
        return earlier
    count = len(earlier.sizes)
    gone_drawn = np.bincount(earlier.strata[leaving], minlength=count)
    gone = gone_drawn + np.bincount(earlier.undrawn_strata[missed], minlength=count)
    sizes = [
        (known, population - int(gone[place]), drawn - int(gone_drawn[place]))
        for place, (known, population, drawn) in enumerate(earlier.sizes)
    ]
    probabilities = earlier.probabilities.copy()
    probabilities[leaving] = 1.0
    return replace(
        earlier,
        strata=np.where(leaving, count, earlier.strata).astype(np.int32),
        probabilities=probabilities,
        undrawn=earlier.undrawn[~missed],
        undrawn_strata=earlier.undrawn_strata[~missed],
        sizes=(*sizes, (stratum, int(leaving.sum()), int(leaving.sum()))),
    )


_NOTHING = Earlier(
    np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), ()
)


# One topic of a live pool taken apart: what its fixed steps brought, and what was chosen by looking at judgments.


@dataclass(frozen=True, eq=False)
class LiveParts:
    """One topic: its candidates, what its fixed steps have brought, and candidate numbers in judging order.

    `queue` are those of the fixed steps, `chosen` those of the adaptive one.
    """

    collapsed: Collapsed
    pool: TopicPool
    queue: Sequence[int]
    chosen: Sequence[int]


def collapsed_topic(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None) -> Collapsed:
    """Give the candidates of a topic; what is in the pool goes on standing for its near-duplicates."""
    everything = candidates_of(runs, topic)
    if clusters is None:
        return collapse(everything, None)
    preferred = np.zeros(len(everything), dtype=bool)
    preferred[numbers_of(everything, pool.documents_of(topic) if topic in pool.topics else [])] = True
    return collapse(everything, clusters, preferred=preferred)


def live_parts(pool: Pool, runs: PooledRuns, topic: str, clusters: Clusters | None, *, adaptive: int) -> LiveParts:
    """Take a topic of a pool apart; `adaptive` is the number of the step that looks at judgments.

    There is one addition for each stretch of entries of one stratum. What a sample passed over goes with the first
    stretch of its stratum; it has an empty one if nothing was drawn.
    """
    collapsed = collapsed_topic(pool, runs, topic, clusters)
    earlier = earlier_of(pool, collapsed.candidates)
    steps = np.array([stratum.step for stratum, _, _ in earlier.sizes], dtype=np.int32)[earlier.strata]
    fixed = steps != adaptive
    numbers, strata, chances = earlier.numbers[fixed], earlier.strata[fixed], earlier.probabilities[fixed]
    bounds = np.append(np.flatnonzero(np.diff(strata, prepend=-1)), len(strata))
    spans = [(int(strata[start]), start, end) for start, end in pairwise(bounds.tolist())]
    missing = sorted(set(earlier.undrawn_strata.tolist()) - {code for code, _, _ in spans})
    parts, seen = TopicPool(topic, len(collapsed.candidates), pool.seed), set[int]()
    for code, start, end in [*spans, *((code, 0, 0) for code in missing)]:
        passed_over = np.empty(0, np.int64) if code in seen else earlier.undrawn[earlier.undrawn_strata == code]
        parts.add(Addition(earlier.sizes[code][0], numbers[start:end], chances[start:end], passed_over))
        seen.add(code)
    return LiveParts(collapsed, parts, numbers.tolist(), earlier.numbers[~fixed].tolist())


# What a pool has of a topic, and what comes behind it: earlier entries stay in their places.


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
    nothing = np.empty(0, dtype=np.int64)
    parts = []
    for topic in pool.topics:
        collapsed = collapsed_topic(pool, runs, topic, made)
        known = collapsed.candidates.numbers
        fresh = TopicPool(topic, len(collapsed.candidates), pool.seed)
        for one in later.get(topic, Later()).chosen:
            number = np.array([known[one.document]], dtype=np.int64)
            fresh.add(Addition(one.stratum, number, np.array([one.probability]), nothing))
        for stratum, documents in later.get(topic, Later()).passed_over.items():
            undrawn = np.array([known[name] for name in documents], np.int64)
            fresh.add(Addition(stratum, nothing, np.empty(0), undrawn))
        part = part_of(fresh, collapsed, order="plan")
        parts.append(_with_earlier(earlier_of(pool, collapsed.candidates), part, collapsed))
    return _with_versions(
        pool, assembled(pool.plan, runs, parts, seed=pool.seed, order=pool.order, version=pool.version)
    )


def _with_earlier(earlier: Earlier, part: TopicPart, collapsed: Collapsed) -> TopicPart:
    """Give the columns of a topic: the earlier entries, then what is new."""
    counts, runs, ranks = contributions(collapsed.candidates, earlier.numbers)
    shift = len(earlier.sizes)
    documents = np.concatenate([collapsed.candidates.documents[earlier.numbers], part.documents])
    return replace(
        part,
        documents=documents,
        duplicates=represented(collapsed, documents),
        strata=np.concatenate([earlier.strata, part.strata + shift]).astype(np.int32),
        stratum_sizes=(*earlier.sizes, *part.stratum_sizes),
        probabilities=np.concatenate([earlier.probabilities, part.probabilities]),
        contribution_counts=np.concatenate([counts, part.contribution_counts]),
        contribution_runs=np.concatenate([runs, part.contribution_runs]),
        contribution_ranks=np.concatenate([ranks, part.contribution_ranks]),
        undrawn=np.concatenate([collapsed.candidates.documents[earlier.undrawn], part.undrawn]),
        undrawn_strata=np.concatenate([earlier.undrawn_strata, part.undrawn_strata + shift]).astype(np.int32),
    )


def _with_versions(pool: Pool, grown: Pool) -> Pool:
    """Give the grown pool with the version that each entry came with: earlier entries stand first in their topic."""
    versions = np.full(len(grown), grown.version, dtype=np.int32)
    places = {topic: place for place, topic in enumerate(pool.topics)}
    for place, topic in enumerate(grown.topics):
        if topic in places:
            before = pool.versions[pool.offsets[places[topic]] : pool.offsets[places[topic] + 1]]
            start = int(grown.offsets[place])
            versions[start : start + len(before)] = before
    return replace(grown, versions=versions)


# A pool with later runs.


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
    known = {topic: collapsed_topic(pool, pooled, topic, made) for topic in wanted}
    builder = _Extension(
        pooled,
        wanted,
        seed=pool.seed,
        pools={topic: _before_extension(pool, collapsed) for topic, collapsed in known.items()},
    )
    builder.known = known
    builder.built(pool.plan.static_steps, order="plan")
    parts = [_extended_part(pool, builder.pools[topic], collapsed) for topic, collapsed in known.items()]
    return _with_versions(
        pool, assembled(pool.plan, pooled, parts, seed=pool.seed, order=pool.order, version=pool.version + 1)
    )


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


def _before_extension(pool: Pool, collapsed: Collapsed) -> TopicPool:
    """Give an empty pool of a topic that knows what was drawn before, and at which rates.

    The rate of a share is the plan's. That of any other amount is the one at which it has drawn so far.
    """
    topic, earlier = collapsed.candidates.topic, earlier_of(pool, collapsed.candidates)
    extension = TopicPool(topic, len(collapsed.candidates), pool.seed, suffix=f" +{pool.version}")
    extension.barred = np.concatenate([earlier.numbers, earlier.undrawn])
    if topic not in pool.topics:
        return extension
    place = pool.topics.index(topic)
    steps = np.array([earlier.sizes[stratum][0].step for stratum in earlier.strata], dtype=np.int64)
    for number, step in pool.plan.static_steps:
        if not isinstance(step, Selection) or step.strategy.kind != "sampling":
            continue
        # (N_h, n_h) of each stratum, all versions together, by the part of its name after the step
        drawn: dict[str, tuple[int, int]] = {}
        for code, stratum in enumerate(pool.stratum_table):
            if stratum.step == number:
                name = stratum.name.removeprefix(str(step)).partition(" +")[0].strip()
                size, taken = drawn.get(name, (0, 0))
                drawn[name] = size + int(pool.populations[place, code]), taken + int(pool.drawn[place, code])
        population = sum(size for size, _ in drawn.values())
        if not population:
            continue
        realised = sum(taken for _, taken in drawn.values()) / population
        extension.rates[number] = step.amount.number / 100 if step.amount.kind == "share" else realised
        if step.amount.kind != "all" and isinstance(step.strategy.amount, Strata):
            extension.own_rates[number] = {name: taken / size for name, (size, taken) in drawn.items() if size}
        extension.drawn_before[number] = earlier.numbers[steps == number]
    return extension


def _extended_part(pool: Pool, extension: TopicPool, collapsed: Collapsed) -> TopicPart:
    """Give the columns of a topic: what was there, then what is new."""
    earlier = earlier_of(pool, collapsed.candidates)
    is_old = np.zeros(len(collapsed.candidates), dtype=bool)
    is_old[earlier.numbers] = True
    fresh = TopicPool(extension.topic, extension.size, extension.seed)
    for one in extension.additions:
        new = ~is_old[one.chosen]
        fresh.add(Addition(one.stratum, one.chosen[new], one.probabilities[new], one.undrawn))
    part = part_of(fresh, collapsed, order=pool.order)
    for one in extension.additions:
        step = pool.plan.steps[one.stratum.step - 1]
        if isinstance(step, Selection) and step.strategy.kind != "sampling":
            earlier = made_certain(earlier, one.chosen, one.stratum)
    return _with_earlier(earlier, part, collapsed)


def top_up(
    runs: PooledRuns, *, depth: int, judged: Mapping[str, Collection[str]], topics: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Give the unjudged documents among the first `depth` of some runs, by topic, best rank first.

    Judging them lets a new run be scored as if it had been pooled. Topics in which nothing is missing are left out.
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
