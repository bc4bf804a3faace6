"""From a plan and runs to a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.base.text import counted, few
from cranfield.pool.candidates import Candidates, PooledRuns, candidates_of, clusters_of, collapse, document_draws
from cranfield.pool.plan import Cap, Plan, PlanStep, Selection
from cranfield.pool.pool import Duplicate, Entries, JudgingOrder, Pool, Source, TopicPool, levels, view
from cranfield.pool.strategy import HighestScore, Start, State, Strategy
from cranfield.runs.columns import Codes, Places, named, running_sum

_TOPICS_SHOWN = 3


def build(
    plan: Plan,
    runs: PooledRuns,
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    order: JudgingOrder = "plan",
    clusters: Mapping[str, object] | None = None,
    refuse_idle: bool = False,
) -> Pool:
    """The pool that the plan makes of the runs.

    Of a plan with an adaptive step, the steps before it are built: the warm-up. What comes after depends on judgments
    and is `cranfield.pool.live`'s. `clusters` maps documents to their near-duplicate clusters. `refuse_idle` refuses
    a plan of which some step would have no effect. The same plan, seed and runs give the same pool, whatever the
    order in which the runs are given.
    """
    if seed < 0:
        raise UsageError(f"a seed must be an integer of at least 0, not {seed}")
    wanted = checked_topics(plan, runs, topics)
    pooled = runs.cut(plan.reach)
    cluster_codes = clusters_of(pooled, clusters)
    topics_built = grown(
        wanted,
        plan.static_steps,
        candidates=lambda topic: collapse(candidates_of(pooled, topic), cluster_codes),
        begin=lambda some: TopicPool(some.topic, len(some), seed),
    )
    parts = [part_of(pool, some, order=order) for pool, some in topics_built]
    built = assembled(plan, pooled, parts, seed=seed, order=order)
    if refuse_idle and (problems := list(_idle_steps(built, parts))):
        raise ProblemsFound("this pool cannot be built", problems)
    return built


def _idle_steps(built: Pool, parts: Sequence[TopicPart]) -> Iterator[Problem]:
    """Which steps brought nothing anywhere though something is left, and which went beyond their amount."""
    used = {built.stratum_table[code].step for code in np.unique(built.entries["stratum"])}
    is_left = not all(part.pool.present.all() for part in parts)
    for number, step in built.plan.static_steps:
        if isinstance(step, Selection) and number not in used and is_left:
            message = f"'{step}' would select nothing that is not there by then"
            remedy = "drop it, raise its number, let it reach deeper, or make the steps before it smaller"
            yield Problem("step-without-effect", message, remedy=remedy)
        if topics := [part.pool.topic for part in parts if number in part.pool.beyond]:
            where = f"in {counted(len(topics), 'topic')} ({few(topics, _TOPICS_SHOWN)})"
            message = f"the rates of '{step}' need more than its amount {where}"
            yield Problem("rates-beyond-amount", message, remedy="raise the amount, or lower the rates")


# What must be right before a pool is built.


def checked_topics(plan: Plan, runs: PooledRuns, topics: Sequence[str] | None) -> list[str]:
    """The topics to pool, in byte order; an error says everything that keeps the pool from being built.

    None means every topic that some run has.
    """
    wanted = sorted(set(runs.codes_by_topic if topics is None else topics))
    problems = []
    if not wanted:
        problems.append(Problem("no-topics", "no topic to pool: none was selected, or no run has any"))
    for topic in wanted:
        if topic not in runs.codes_by_topic:
            message = f"no selected run has the topic {quoted(topic)}"
            remedy = "leave the topic out, or add a run that has it"
            problems.append(Problem("topic-without-runs", message, topic=topic, remedy=remedy))
    for _, step in plan.selections:
        deepest = max(step.reach or 0, step.scope.ranks[1] if step.scope.ranks else 0)
        # The merged list of a group may be longer than any of its runs.
        if deepest > runs.depth > 0 and step.scope.by != "group":
            message = f"'{step}' exceeds the runs: the longest ranking has {counted(runs.depth, 'document')}"
            problems.append(Problem("depth-beyond-runs", message, remedy=f"use a depth of at most {runs.depth}"))
    if problems:
        raise ProblemsFound("this pool cannot be built", problems)
    return wanted


# The pools of all topics while they grow.


def grown(
    topics: Sequence[str],
    steps: Sequence[tuple[int, PlanStep]],
    *,
    candidates: Callable[[str], Candidates],
    begin: Callable[[Candidates], TopicPool],
) -> Iterator[tuple[TopicPool, Candidates]]:
    """The pool of every topic after all steps, with its candidates.

    `candidates` gives those of a topic, `begin` its pool before the first step. Candidates are made anew for each
    part of a plan between two budgets: they are quick to make, and large.
    """
    pools: dict[str, TopicPool] = {}
    shared: dict[str, int] = {}
    waiting: list[tuple[int, PlanStep]] = []

    def advance() -> Iterator[tuple[TopicPool, Candidates]]:
        for topic in topics:
            some = candidates(topic)
            pool = pools[topic] = pools[topic] if topic in pools else begin(some)
            for number, step in waiting:
                if isinstance(step, Cap):
                    pool.keep(slice(step.number))
                else:
                    pool.apply(some, step, number, level=shared.get(topic))
            yield pool, some

    for number, step in steps:
        if isinstance(step, Selection) and step.amount.kind == "budget":
            # A budget can be shared only when all topics have come so far.
            free = [(pool.count, pool.eligible(view(some, step), step).sum()) for pool, some in advance()]
            have, available = np.array(free).T
            reached = levels(have, available, int(step.amount.number))
            shared = dict(zip(topics, reached.tolist(), strict=True))
            waiting.clear()
        waiting.append((number, step))
    yield from advance()


# The pools of single topics put together into one, with where every document comes from.


@dataclass(frozen=True, eq=False)
class TopicPart:
    """A finished topic: its pool, and what is in it and was not drawn with the codes of the documents.

    `contributions` are, for each entry, how many runs have it, then those runs and their ranks.
    """

    pool: TopicPool
    entries: Entries
    undrawn: Entries
    contributions: tuple[Places, Codes, Codes]
    duplicates: list[Duplicate]


def part_of(pool: TopicPool, candidates: Candidates, *, order: JudgingOrder, first: int = 0) -> TopicPart:
    """The columns of one topic; from the place `first` on as the plan has it, by document id, or shuffled."""
    places, new = np.arange(len(pool.chosen)), pool.chosen[first:]
    if order == "id":
        places[first:] = first + np.argsort(-new, kind="stable")  # candidates are numbered by id, descending
    elif order == "random":
        names = [candidates.ids[number] for number in new]
        draws = document_draws(pool.seed, "judging order", candidates.topic, names)
        places[first:] = first + np.argsort(draws, kind="stable")
    pool.keep(places)
    ranks = candidates.ranks.T[pool.chosen]
    entry, runs = np.nonzero(ranks)
    counts = np.bincount(entry, minlength=len(ranks)).astype(np.int64)
    entries, undrawn = pool.entries.copy(), pool.undrawn.copy()
    for some in (entries, undrawn):
        some["document"] = candidates.documents[some["document"]]
    contributions = counts, runs.astype(np.int32), ranks[entry, runs]
    return TopicPart(pool, entries, undrawn, contributions, duplicates_of(candidates, entries["document"]))


def duplicates_of(candidates: Candidates, documents: Codes) -> list[Duplicate]:
    """The near-duplicates that are out because one of some documents, in codes, stands for them."""
    is_in = np.isin(candidates.representatives, documents)
    names = named(candidates.document_ids, candidates.left_out[is_in])
    representatives = named(candidates.document_ids, candidates.representatives[is_in])
    return [Duplicate(candidates.topic, *pair) for pair in zip(names, representatives, strict=True)]


def assembled(
    plan: Plan, runs: PooledRuns, parts: Sequence[TopicPart], *, seed: int, order: JudgingOrder, version: int = 1
) -> Pool:
    """Put the topics together."""
    table = sorted({stratum for part in parts for stratum in part.pool.strata})
    codes = {stratum: code for code, stratum in enumerate(table)}
    populations, drawn = np.zeros((2, len(parts), len(table)), dtype=np.int64)
    for number, part in enumerate(parts):
        for stratum, population, count in part.pool.sizes:
            populations[number, codes[stratum]], drawn[number, codes[stratum]] = population, count
        # From here on strata are places in the common table; a topic without strata has nothing to look up in it.
        coding = np.array([codes[stratum] for stratum in part.pool.strata] or [0], np.int32)
        for some in (part.entries, part.undrawn):
            some["topic"], some["stratum"] = number, coding[some["stratum"]]
    counts, contributing, ranks = map(np.concatenate, zip(*(part.contributions for part in parts), strict=True))
    return Pool(
        plan=plan,
        seed=seed,
        order=order,
        sources=tuple(Source(run.name, run.team, run.priority, run.content_hash) for run in runs.runs),
        topics=tuple(part.pool.topic for part in parts),
        document_ids=runs.document_ids,
        entries=np.concatenate([part.entries for part in parts]),
        undrawn=np.concatenate([part.undrawn for part in parts]),
        stratum_table=tuple(table),
        populations=populations,
        drawn=drawn,
        contribution_offsets=running_sum(counts),
        contribution_runs=contributing,
        contribution_ranks=ranks,
        duplicates=tuple(one for part in parts for one in part.duplicates),
        version=version,
    )


# A plan whose choices cannot be made again on another machine, as far as it can be checked.


def without_model(plan: Plan) -> Plan:
    """The plan with strategies that cannot be repeated replaced by one that takes any document that is free.

    What is left to check: that something was to be chosen, of what could be chosen, before a rule ended the step.
    """

    def any_free(start: Start) -> State:
        nothing = np.zeros(len(start.candidates))
        return HighestScore(len(nothing), scores=lambda: nothing, learn=lambda *_: None, reason=lambda _: "free")

    steps = [
        step
        if not isinstance(step, Selection) or step.strategy.reproducible
        else replace(step, strategy=Strategy(step.name, "any document that is free", any_free, kind="adaptive"))
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))
