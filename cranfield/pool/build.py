"""From a plan and runs to a pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from cranfield.base.arrow import named
from cranfield.base.errors import Problem, ProblemsFound, UsageError, quoted
from cranfield.base.text import counted
from cranfield.pool.candidates import (
    Candidates,
    Clusters,
    Collapsed,
    Mask,
    PooledRuns,
    candidates_of,
    clusters_of,
    collapse,
    document_draws,
)
from cranfield.pool.plan import Cap, Plan, PlanStep, Selection
from cranfield.pool.pool import (
    Duplicate,
    JudgingOrder,
    Pool,
    Source,
    Stratum,
    TopicPool,
    apply,
    eligible,
    levels,
    view,
)
from cranfield.pool.strategies.depth import Depth
from cranfield.pool.strategies.sampling import StratifiedSample
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.runs.run import Codes, Places, Scores

# What is refused when a pool is asked for: words of a plan that would have no effect.

_TOPICS_SHOWN = 3


def problems_of_words(plan: Plan, runs: PooledRuns) -> Iterator[Problem]:
    """Say which words of a plan mean nothing for these runs."""
    for step in plan.steps:
        if isinstance(step, Selection):
            yield from _unknown_topics(step, runs)
            yield from _too_deep(step, runs)


def _unknown_topics(step: Selection, runs: PooledRuns) -> Iterator[Problem]:
    if not isinstance(step.strategy, Depth):
        return
    for topic in step.strategy.own_depths:
        if topic not in runs.codes_by_topic:
            message = f"'{step}' sets a depth for the topic {quoted(topic)}, which no selected run has"
            yield Problem("topic-without-runs", message, topic=topic, remedy="leave the topic out of topics=")


def _too_deep(step: Selection, runs: PooledRuns) -> Iterator[Problem]:
    """Look at the depths that runs alone do not settle: of strata, and of the merged lists of groups."""
    deepest, longest, noun = 0, runs.depth, "list"
    if isinstance(step.strategy, StratifiedSample):
        deepest = step.strategy.deepest or 0
    if step.scope.by == "group":
        longest, noun = _longest_of_groups(runs), "list that a group can have"
        deepest = max(deepest, step.reach or 0, step.scope.ranks[1] if step.scope.ranks else 0)
    if deepest > longest > 0:
        message = f"'{step}' goes beyond the runs: the longest {noun} has {counted(longest, 'document')}"
        yield Problem("depth-beyond-runs", message, remedy=f"go no deeper than {longest}")


def _longest_of_groups(runs: PooledRuns) -> int:
    """Give the most documents that the runs of one group have for one topic, as if none of them met."""
    teams = sorted(set(runs.teams))
    totals = np.zeros((len(teams), len(runs.topic_ids)), dtype=np.int64)
    for run in runs.runs:
        totals[teams.index(run.team), run.ranking.topics] += np.diff(run.ranking.offsets)
    return int(totals.max(initial=0))


@dataclass
class Effects:
    """What each step did while a pool was built, by its number.

    `chosen` counts its documents in all topics, `left` whether any topic had a document that was not in the pool, and
    `fewest` is the size of the smallest topic before it. `beyond` names the topics in which the rates of a sample
    took more than its amount.
    """

    chosen: dict[int, int] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    fewest: dict[int, int] = field(default_factory=dict)
    beyond: dict[int, list[str]] = field(default_factory=dict)

    def saw(self, number: int, *, before: int, after: int, size: int) -> None:
        """Take in what a step did to a topic of `size` candidates."""
        self.chosen[number] = self.chosen.get(number, 0) + after - before
        self.fewest[number] = min(self.fewest.get(number, before), before)
        if before < size:
            self.left.add(number)


def problems_of_effects(plan: Plan, effects: Effects) -> Iterator[Problem]:
    """Say which steps chose nothing in any topic though something was left, and which went beyond their amount."""
    for number, step in enumerate(plan.steps, start=1):
        if not isinstance(step, Selection):
            continue
        if effects.chosen.get(number) == 0 and number in effects.left:
            why, remedy = _why_nothing(plan, number, step, effects.fewest[number])
            yield Problem("step-without-effect", f"'{step}' would choose nothing: {why}", remedy=remedy)
        if topics := effects.beyond.get(number):
            some = ", ".join(topics[:_TOPICS_SHOWN]) + (" …" if len(topics) > _TOPICS_SHOWN else "")
            where = f"in {counted(len(topics), 'topic')} ({some})"
            message = f"the rates of '{step}' take more than its amount {where}"
            yield Problem("rates-beyond-amount", message, remedy="raise the amount, or lower the rates")


def _why_nothing(plan: Plan, number: int, step: Selection, fewest: int) -> tuple[str, str]:
    earlier = [one for one in plan.steps[: number - 1] if isinstance(one, Selection)]
    if step.amount.kind == "budget":
        return "the steps before it use the budget up", "raise the budget, or make the steps before it smaller"
    if step.amount.kind == "until" and fewest >= step.amount.number:
        why = f"the steps before it bring at least {fewest:,} to every topic"
        return why, "raise the number, or make the steps before it smaller"
    if step.scope.by == "topic":
        return "the first rank alone has more documents in every topic", "raise the number"
    if step.strategy.kind == "sampling" and any(one.strategy.kind == "sampling" for one in earlier):
        why = "an earlier sample could have drawn all that it looks at, and a document has one chance"
        return why, "draw once, or give the samples ranks= that do not meet"
    return "nothing that is left is within its reach", "leave it out, or let it reach further"


# The pools of single topics put together into one, with where every document comes from.


@dataclass(frozen=True, eq=False)
class TopicPart:
    """The columns of one topic. Strata are (stratum, N_h, n_h) in the order they came."""

    topic: str
    documents: Codes
    strata: Codes
    stratum_sizes: tuple[tuple[Stratum, int, int], ...]
    probabilities: Scores
    contribution_counts: Places
    contribution_runs: Codes
    contribution_ranks: Codes
    undrawn: Codes
    undrawn_strata: Codes
    duplicates: tuple[tuple[int, int], ...]


def part_of(pool: TopicPool, collapsed: Collapsed, *, order: JudgingOrder) -> TopicPart:
    """Give the columns of one topic in judging order, with every (run, rank) of the pooled part."""
    candidates = collapsed.candidates
    chosen = pool.chosen
    strata = np.repeat(np.arange(len(pool.additions)), [len(addition.chosen) for addition in pool.additions])
    probabilities = np.concatenate([np.empty(0), *(addition.probabilities for addition in pool.additions)])
    places = _judging_places(candidates, chosen, pool.seed, order)
    chosen = chosen[places]
    counts, runs, ranks = contributions(candidates, chosen)
    undrawn = [np.empty(0, np.int64), *(addition.undrawn for addition in pool.additions)]
    documents = candidates.documents[chosen]
    return TopicPart(
        candidates.topic,
        documents,
        strata[places].astype(np.int32),
        tuple((addition.stratum, addition.population, len(addition.chosen)) for addition in pool.additions),
        probabilities[places],
        counts,
        runs,
        ranks,
        candidates.documents[np.concatenate(undrawn)],
        np.repeat(np.arange(-1, len(pool.additions)), [len(part) for part in undrawn]).astype(np.int32),
        represented(collapsed, documents),
    )


def represented(collapsed: Collapsed, documents: Codes) -> tuple[tuple[int, int], ...]:
    """Give (document, representative) in codes, where the representative is among some documents."""
    is_in = np.isin(collapsed.representatives, documents)
    return tuple(zip(collapsed.left_out[is_in].tolist(), collapsed.representatives[is_in].tolist(), strict=True))


def contributions(candidates: Candidates, chosen: Places) -> tuple[Places, Codes, Codes]:
    """Give for some candidates how many runs have them, and those runs with their ranks, candidate by candidate."""
    ranks = candidates.ranks.T[chosen]
    entry, runs = np.nonzero(ranks)
    return np.bincount(entry, minlength=len(chosen)).astype(np.int64), runs.astype(np.int32), ranks[entry, runs]


def _judging_places(candidates: Candidates, chosen: Places, seed: int, order: JudgingOrder) -> Places:
    """Give the places of the chosen in judging order: as the plan has them, by document id, or shuffled by seed."""
    if order == "plan":
        return np.arange(len(chosen))
    if order == "id":
        return np.argsort(-chosen, kind="stable")  # candidates are numbered by id, descending
    names = [candidates.ids[number] for number in chosen]
    return np.argsort(document_draws(seed, "judging order", candidates.topic, names), kind="stable")


def assembled(
    plan: Plan, runs: PooledRuns, parts: Sequence[TopicPart], *, seed: int, order: JudgingOrder, version: int = 1
) -> Pool:
    """Put the topics together."""
    table = sorted({stratum for part in parts for stratum, _, _ in part.stratum_sizes}, key=_by_step)
    codes = {stratum: code for code, stratum in enumerate(table)}
    populations, drawn = np.zeros((2, len(parts), len(table)), dtype=np.int64)
    for number, part in enumerate(parts):
        for stratum, population, count in part.stratum_sizes:
            populations[number, codes[stratum]] += population
            drawn[number, codes[stratum]] += count
    sizes = [len(part.documents) for part in parts]
    coding = [np.array([codes[stratum] for stratum, _, _ in part.stratum_sizes] or [0], np.int32) for part in parts]
    pairs = list(zip(parts, coding, strict=True))
    counts = _joined([part.contribution_counts for part in parts], np.int64)
    return Pool(
        plan=plan,
        seed=seed,
        order=order,
        sources=tuple(Source(run.name, run.team, run.content_hash) for run in runs.runs),
        topics=tuple(part.topic for part in parts),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        document_ids=runs.document_ids,
        documents=_joined([part.documents for part in parts], np.int32),
        strata=_joined([code[part.strata] for part, code in pairs], np.int32),
        probabilities=_joined([part.probabilities for part in parts], np.float64),
        versions=np.full(sum(sizes), version, dtype=np.int32),
        stratum_table=tuple(table),
        populations=populations,
        drawn=drawn,
        contribution_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        contribution_runs=_joined([part.contribution_runs for part in parts], np.int32),
        contribution_ranks=_joined([part.contribution_ranks for part in parts], np.int32),
        undrawn=(
            np.repeat(np.arange(len(parts)), [len(part.undrawn) for part in parts]).astype(np.int32),
            _joined([part.undrawn for part in parts], np.int32),
            _joined([code[part.undrawn_strata] for part, code in pairs], np.int32),
        ),
        duplicates=tuple(one for part in parts for one in duplicates_of(part.topic, part.duplicates, runs)),
        version=version,
    )


def _by_step(stratum: Stratum) -> tuple[int, bytes]:
    return stratum.step, stratum.name.encode()


def duplicates_of(topic: str, pairs: Sequence[tuple[int, int]], runs: PooledRuns) -> list[Duplicate]:
    """Give (document, representative) in codes by their ids."""
    codes = [code for pair in pairs for code in pair]
    names = iter(named(runs.document_ids, np.array(codes, dtype=np.int32)))
    return [Duplicate(topic, out, representative) for out, representative in zip(names, names, strict=True)]


def _joined(columns: Sequence[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=kind), *columns]).astype(kind, copy=False)


# What must be right before a pool is built.


def checked_topics(
    plan: Plan, runs: PooledRuns, topics: Sequence[str] | None, *, more: Iterable[Problem] = ()
) -> list[str]:
    """Give the topics to pool, in byte order, or say everything that keeps the pool from being built.

    None means every topic that some run has. `more` is what the caller has found besides.
    """
    wanted = sorted(set(runs.topics if topics is None else topics), key=str.encode)
    problems = [*_run_problems(runs), *_topic_problems(runs, wanted), *_depth_problems(plan, runs), *more]
    if problems:
        raise ProblemsFound("this pool cannot be built", problems)
    return wanted


def check_seed(seed: int) -> None:
    """Refuse a seed that is not a whole number from 0 up."""
    if seed < 0:
        raise UsageError(f"a seed is a whole number from 0 up, not {seed}")


def _run_problems(runs: PooledRuns) -> Iterator[Problem]:
    if not runs.runs:
        yield Problem("no-runs", "no run was selected", remedy="select at least one run")


def _topic_problems(runs: PooledRuns, topics: Sequence[str]) -> Iterator[Problem]:
    if not topics:
        yield Problem("no-topics", "there is no topic to pool: none was selected, or no run has any")
    absent = [topic for topic in topics if topic not in runs.codes_by_topic]
    for topic in absent:
        message = f"no selected run has the topic {quoted(topic)}"
        yield Problem(
            "topic-without-runs", message, topic=topic, remedy="leave the topic out, or add a run that has it"
        )


def _depth_problems(plan: Plan, runs: PooledRuns) -> Iterator[Problem]:
    longest = runs.depth
    if not longest:
        return
    for step in plan.steps:
        deepest = _deepest(step) if isinstance(step, Selection) else 0
        if deepest > longest:
            message = f"'{step}' goes beyond the runs: the longest list has {counted(longest, 'document')}"
            yield Problem("depth-beyond-runs", message, remedy=f"go no deeper than {longest}")


def _deepest(step: Selection) -> int:
    if step.scope.by == "group":
        return 0  # a group's list may be longer than any of its runs
    return max(step.reach or 0, step.scope.ranks[1] if step.scope.ranks else 0)


Numbered = list[tuple[int, PlanStep]]


def build(
    plan: Plan,
    runs: PooledRuns,
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    order: JudgingOrder = "plan",
    clusters: Mapping[str, object] | None = None,
) -> Pool:
    """Give the pool that the plan makes of the runs.

    Of a plan with an adaptive step, the steps before it are built: the warm-up. What comes after hangs on judgments
    and is `cranfield.pool.live`'s. `clusters` maps documents to their near-duplicate clusters. The same plan, seed
    and runs give the same pool, whatever the order in which the runs are given.
    """
    check_seed(seed)
    return _made(plan, runs, checked_topics(plan, runs, topics), seed, order, clusters)[0]


def build_asked(
    plan: Plan,
    runs: PooledRuns,
    *,
    topics: Sequence[str] | None = None,
    seed: int = 0,
    order: JudgingOrder = "plan",
    clusters: Mapping[str, object] | None = None,
) -> Pool:
    """Give the pool that somebody asks for: what `build` gives, unless a part of the plan would have no effect."""
    check_seed(seed)
    wanted = checked_topics(plan, runs, topics, more=problems_of_words(plan, runs))
    pool, effects = _made(plan, runs, wanted, seed, order, clusters)
    problems = list(problems_of_effects(plan, effects))
    if problems:
        raise ProblemsFound("this pool cannot be built", problems)
    return pool


def _made(
    plan: Plan,
    runs: PooledRuns,
    topics: Sequence[str],
    seed: int,
    order: JudgingOrder,
    clusters: Mapping[str, object] | None,
) -> tuple[Pool, Effects]:
    pooled = runs.cut(plan.reach)
    made = clusters_of(pooled, clusters) if clusters is not None else None
    builder = TopicBuilder(pooled, topics, seed=seed, clusters=made)
    parts = builder.built(static_steps(plan), order=order)
    return assembled(plan, pooled, parts, seed=seed, order=order), builder.effects


def static_steps(plan: Plan) -> Numbered:
    """Give the steps, with their numbers from 1, that come before anything adaptive."""
    numbered = list(enumerate(plan.steps, start=1))
    adaptive = [place for place, (_, step) in enumerate(numbered) if is_adaptive(step)]
    return numbered[: adaptive[0]] if adaptive else numbered


def is_adaptive(step: PlanStep) -> bool:
    """Say whether a step needs judgments."""
    return isinstance(step, Selection) and step.strategy.kind == "adaptive"


class TopicBuilder:
    """The pools of all topics while they grow.

    Candidates are made anew for each stretch of steps between two budgets: they are quick to make, and large.
    """

    def __init__(
        self,
        runs: PooledRuns,
        topics: Sequence[str],
        *,
        seed: int,
        clusters: Clusters | None = None,
        begun: Mapping[str, TopicPool] | None = None,
    ) -> None:
        self.runs, self.topics, self.seed, self.clusters = runs, topics, seed, clusters
        self.pools: dict[str, TopicPool] = dict(begun or {})
        self.levels: dict[str, int | None] = dict.fromkeys(topics)
        self.effects = Effects()

    def built(self, steps: Numbered, *, order: JudgingOrder) -> list[TopicPart]:
        """Go through all steps and give the columns of every topic."""
        stretches = _stretches(steps)
        for place, stretch in enumerate(stretches[:-1]):
            self._share(stretch, stretches[place + 1][0])
        return [self._part(topic, stretches[-1], order) for topic in self.topics]

    def collapsed(self, topic: str) -> Collapsed:
        """Give the candidates of a topic, one for each cluster of near-duplicates."""
        return collapse(candidates_of(self.runs, topic), self.clusters)

    def _share(self, stretch: Numbered, budgeted: tuple[int, PlanStep]) -> None:
        """Go through a stretch, and share the budget of the step after it over the topics."""
        have, available = [], []
        for topic in self.topics:
            collapsed = self.collapsed(topic)
            pool = self._advance(collapsed, stretch)
            step = budgeted[1]
            assert isinstance(step, Selection)
            have.append(pool.count)
            available.append(np.count_nonzero(eligible(pool, view(collapsed.candidates, step), step)))
        step = budgeted[1]
        assert isinstance(step, Selection)
        shared = levels(np.array(have), np.array(available), int(step.amount.number))
        self.levels = dict(zip(self.topics, shared.tolist(), strict=True))

    def _part(self, topic: str, stretch: Numbered, order: JudgingOrder) -> TopicPart:
        collapsed = self.collapsed(topic)
        return part_of(self._advance(collapsed, stretch), collapsed, order=order)

    def _advance(self, collapsed: Collapsed, stretch: Numbered) -> TopicPool:
        candidates = collapsed.candidates
        pool = self.pools.setdefault(candidates.topic, TopicPool(candidates.topic, len(candidates), self.seed))
        for number, step in stretch:
            if isinstance(step, Cap):
                pool.cap(step.number)
            else:
                before = pool.count
                apply(pool, candidates, step, number, level=self.levels[candidates.topic])
                self.effects.saw(number, before=before, after=pool.count, size=len(candidates))
                if number in pool.beyond:
                    self.effects.beyond.setdefault(number, []).append(candidates.topic)
        return pool


def _stretches(steps: Numbered) -> list[Numbered]:
    """Cut the steps before every budget: it can be shared only when all topics have come so far."""
    stretches: list[Numbered] = [[]]
    for number, step in steps:
        if isinstance(step, Selection) and step.amount.kind == "budget":
            stretches.append([])
        stretches[-1].append((number, step))
    return stretches


# A plan whose choices cannot be made again on another machine, as far as it can be checked.


def is_reproducible(plan: Plan) -> bool:
    """Say whether the plan chooses the same on every machine."""
    return all(getattr(step.strategy, "reproducible", True) for step in plan.steps if isinstance(step, Selection))


def without_model(plan: Plan) -> Plan:
    """Give the plan with strategies that cannot be repeated replaced by one that takes anything.

    What is left to check: that something was to be chosen, of what could be chosen, before a rule ended the step.
    """
    steps = [
        replace(step, strategy=Anything())
        if isinstance(step, Selection) and not getattr(step.strategy, "reproducible", True)
        else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


@dataclass(frozen=True)
class Anything:
    """Any document that is free; it stands in for what a model chose, and has no name of its own."""

    summary: ClassVar[str] = "any document that is free"
    kind: ClassVar[Kind] = "adaptive"

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with everything free."""
        return _Free(len(candidates))


class _Free:
    """What is not judged yet."""

    def __init__(self, candidates: int) -> None:
        self._judged = np.zeros(candidates, dtype=bool)

    def told(self, candidate: int, label: Label) -> None:
        self._judged[candidate] = True

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        free = np.flatnonzero(~(self._judged | excluded))
        return (int(free[0]), "free") if len(free) else None

    @property
    def claim(self) -> float:
        return 0.0
