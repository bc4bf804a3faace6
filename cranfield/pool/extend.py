"""A pool that grows: what later runs add, and what lets an outsider in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from cranfield.base.arrow import named
from cranfield.base.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.build import (
    TopicBuilder,
    TopicPart,
    assembled,
    checked_topics,
    contributions,
    part_of,
    represented,
    static_steps,
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
from cranfield.pool.strategy import FillsUp
from cranfield.runs.run import Codes, Places, Scores

# What an earlier version of a pool has of a topic, and how its probabilities stay true when the pool grows.


@dataclass(frozen=True, eq=False)
class Kept:
    """The entries of a topic as candidate numbers, in their order, and what samples passed over.

    Strata are places in `sizes`, which gives (stratum, N_h, n_h).
    """

    numbers: Places
    strata: Codes
    probabilities: Scores
    undrawn: Places
    undrawn_strata: Codes
    sizes: tuple[tuple[Stratum, int, int], ...]


def kept_of(pool: Pool, candidates: Candidates) -> Kept:
    """Give what the pool has of the candidates' topic; nothing where it does not have the topic."""
    if candidates.topic not in pool.topics:
        return _NOTHING
    place = pool.topics.index(candidates.topic)
    rows = slice(int(pool.offsets[place]), int(pool.offsets[place + 1]))
    topics, documents, strata = pool.undrawn
    names = named(pool.document_ids, documents[topics == place])
    known = np.array([name in candidates.numbers for name in names], dtype=bool)
    passed_over = [candidates.numbers[name] for name in names if name in candidates.numbers]
    return Kept(
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


def made_certain(kept: Kept, certain: Places, stratum: Stratum) -> Kept:
    """Give what was kept when some documents have become certain by a fixed step.

    Had they been left in their sample, those that were drawn would count 1 / π times and the others once: too much
    on average. So they leave the sample, drawn or not. The others were drawn with the probability they had, and keep
    it: one made from what is left would be another one for each draw, and none where nothing is left.
    """
    leaving = np.isin(kept.numbers, certain) & (kept.probabilities < 1)
    missed = np.isin(kept.undrawn, certain)
    if not leaving.any() and not missed.any():
        return kept
    count = len(kept.sizes)
    gone_drawn = np.bincount(kept.strata[leaving], minlength=count)
    gone = gone_drawn + np.bincount(kept.undrawn_strata[missed], minlength=count)
    sizes = [
        (known, population - int(gone[place]), drawn - int(gone_drawn[place]))
        for place, (known, population, drawn) in enumerate(kept.sizes)
    ]
    probabilities = kept.probabilities.copy()
    probabilities[leaving] = 1.0
    return replace(
        kept,
        strata=np.where(leaving, count, kept.strata).astype(np.int32),
        probabilities=probabilities,
        undrawn=kept.undrawn[~missed],
        undrawn_strata=kept.undrawn_strata[~missed],
        sizes=(*sizes, (stratum, int(leaving.sum()), int(leaving.sum()))),
    )


_NOTHING = Kept(
    np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), ()
)


# Where a live pool begins: what an earlier pool has of each topic, told apart by who brought it.


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


# What a pool has of a topic, and what comes behind it: earlier entries keep their places.


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
    return replace(extended, versions=versions_of(pool, extended))


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
    collapsed = collapsed_topic(pool, runs, topic, clusters)
    begun = TopicPool(topic, len(collapsed.candidates), pool.seed, suffix=f" +{pool.version}")
    before = kept_of(pool, collapsed.candidates)
    begun.barred = np.concatenate([before.numbers, before.undrawn])
    begun.rates, begun.own_rates = _rates(pool, topic)
    steps = np.array([before.sizes[place][0].step for place in before.strata], dtype=np.int64)
    begun.drawn_before = {step: before.numbers[steps == step] for step in begun.rates}
    return begun, collapsed


def _rates(pool: Pool, topic: str) -> tuple[dict[int, float], dict[int, dict[str, float]]]:
    """Give the share at which each sampling step draws, by number of the step, and those of single strata by name.

    A share is the plan's. The rate of any other amount is that at which it has drawn so far.
    """
    rates: dict[int, float] = {}
    own_rates: dict[int, dict[str, float]] = {}
    if topic not in pool.topics:
        return rates, own_rates
    for number, step in static_steps(pool.plan):
        if not isinstance(step, Selection) or step.strategy.kind != "sampling":
            continue
        drawn = _drawn_of_strata(pool, topic, number, str(step))
        population = sum(size for size, _ in drawn.values())
        if not population:
            continue
        realised = sum(taken for _, taken in drawn.values()) / population
        rates[number] = step.amount.number / 100 if step.amount.kind == "share" else realised
        if step.amount.kind != "all" and isinstance(step.strategy, FillsUp):
            own_rates[number] = {name: taken / size for name, (size, taken) in drawn.items() if size}
    return rates, own_rates


def _drawn_of_strata(pool: Pool, topic: str, number: int, step: str) -> dict[str, tuple[int, int]]:
    """Give (N_h, n_h) of each stratum of a step, all versions together, by the part of its name after the step."""
    place = pool.topics.index(topic)
    found: dict[str, tuple[int, int]] = {}
    for code, stratum in enumerate(pool.stratum_table):
        if stratum.step == number:
            name = stratum.name.removeprefix(step).partition(" +")[0].strip()
            size, taken = found.get(name, (0, 0))
            found[name] = size + int(pool.populations[place, code]), taken + int(pool.drawn[place, code])
    return found


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
    return joined(kept, part, collapsed)
