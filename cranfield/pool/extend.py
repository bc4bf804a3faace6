"""A pool that grows: what later runs add, and what lets an outsider in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.pool.assembling import TopicPart, assembled, part_of
from cranfield.pool.beginning import collapsed_topic
from cranfield.pool.build import TopicBuilder, static_steps
from cranfield.pool.candidates import candidates_of
from cranfield.pool.clusters import Clusters, Collapsed, clusters_of
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.inputs import checked_topics
from cranfield.pool.joining import joined, versions_of
from cranfield.pool.kept import kept_of, made_certain
from cranfield.pool.plan import Selection
from cranfield.pool.pool import Pool
from cranfield.pool.selecting import Addition, TopicPool
from cranfield.pool.strategy import FillsUp


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
