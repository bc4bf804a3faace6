"""From a plan and runs to a pool."""

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.errors import ProblemsFound
from cranfield.pool.asking import Effects, problems_of_effects, problems_of_words
from cranfield.pool.assembling import TopicPart, assembled, part_of
from cranfield.pool.budgets import levels
from cranfield.pool.candidates import candidates_of
from cranfield.pool.clusters import Clusters, Collapsed, clusters_of, collapse
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.inputs import check_seed, checked_topics
from cranfield.pool.plan import Cap, Plan, PlanStep, Selection
from cranfield.pool.pool import JudgingOrder, Pool
from cranfield.pool.selecting import TopicPool, apply, eligible, view

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
