"""A live pool: the next documents, chosen from what has been judged so far.

Everything is a function of the plan, the runs, the seed and the judgments in their order, so that a restart stands
where the program stood. A document that is being judged elsewhere is not offered.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cranfield.errors import Problem, ProblemsFound, UsageError
from cranfield.pool.assembling import TopicPart, assembled, part_of
from cranfield.pool.budgets import check_budget, levels
from cranfield.pool.build import TopicBuilder, is_adaptive, static_steps
from cranfield.pool.clusters import Collapsed, clusters_of
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.inputs import check_seed, checked_topics
from cranfield.pool.live_topic import IN_POOL, LiveTopic, Reading
from cranfield.pool.plan import Plan, Selection
from cranfield.pool.pool import JudgingOrder, Pool
from cranfield.pool.selecting import eligible, view
from cranfield.pool.strategy import Label, Texts


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgment as a pool sees it: relevant, not relevant, or (None) seen without a label."""

    topic: str
    document: str
    relevant: Label


@dataclass(frozen=True, slots=True)
class Choice:
    """A document to judge next, the step of the plan (from 1) that chose it, and why.

    `known` is the number of judgments that the choice was made from: with it and what was under judgment then, the
    choice can be checked later.
    """

    topic: str
    document: str
    step: int
    reason: str
    known: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents to judge next, and the topics whose adaptive step has ended, with the rule that ended it."""

    choices: tuple[Choice, ...]
    ended: Mapping[str, str] = field(default_factory=dict)


class LivePool:
    """All topics of a plan with an adaptive step, while they are judged."""

    def __init__(
        self,
        plan: Plan,
        runs: PooledRuns,
        *,
        topics: Sequence[str] | None = None,
        seed: int = 0,
        order: JudgingOrder = "plan",
        clusters: Mapping[str, object] | None = None,
        texts: Texts | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> None:
        if not plan.is_live:
            raise UsageError(f"'{plan}' has no adaptive step: build it as it is")
        check_seed(seed)
        self.plan, self.runs, self.seed, self.order = plan, runs, seed, order
        self.topics = checked_topics(plan, runs, topics)
        self.known = 0
        made = clusters_of(runs, clusters) if clusters is not None else None
        self._builder = TopicBuilder(runs, self.topics, seed=seed, clusters=made)
        parts = self._builder.built(static_steps(plan), order=order)
        self._step = next(step for step in plan.steps if is_adaptive(step))
        assert isinstance(self._step, Selection)
        self._collapsed: dict[str, Collapsed] = {topic: self._builder.collapsed(topic) for topic in self.topics}
        limits = self._limits(self._step)
        readings = {topic: Reading(texts, (queries or {}).get(topic, "")) for topic in self.topics}
        self._live = {part.topic: self._begun(part, limits[part.topic], readings[part.topic]) for part in parts}

    def told(self, judged: Judged) -> None:
        """Take in one judgment. What is not a candidate of one of the topics is passed over."""
        self.known += 1
        live = self._live.get(judged.topic)
        candidate = None if live is None else live.candidates.numbers.get(judged.document)
        if live is not None and candidate is not None:
            live.told(candidate, judged.relevant)
        if self._is_spent(()):
            self._end_all()

    def offer(
        self,
        size: int = 1,
        *,
        under_judgment: Collection[tuple[str, str]] = (),
        topics: Collection[str] | None = None,
    ) -> Batch:
        """Give at most `size` documents to judge next, of some topics if asked; asking changes nothing."""
        pending: dict[str, list[int]] = {topic: [] for topic in self.topics}
        for topic, document in under_judgment:
            number = self._live[topic].candidates.numbers.get(document) if topic in self._live else None
            if number is not None:
                pending[topic].append(number)
        choices: list[Choice] = []
        asked = [topic for topic in self.topics if topics is None or topic in topics]
        while len(choices) < size and (choice := self._next(asked, pending)) is not None:
            choices.append(choice)
            pending[choice.topic].append(self._live[choice.topic].candidates.numbers[choice.document])
        return Batch(tuple(choices), self.ended)

    @property
    def ended(self) -> dict[str, str]:
        """The topics whose adaptive step has ended, and which rule ended it."""
        return {topic: live.ended for topic, live in self._live.items() if live.ended}

    def snapshot(self) -> Pool:
        """Give the pool as it stands: the warm-up and what was chosen since, in the order of judging."""
        parts = [part_of(live.so_far(), self._collapsed[topic], order="plan") for topic, live in self._live.items()]
        return assembled(self.plan, self.runs, parts, seed=self.seed, order=self.order)

    def _begun(self, part: TopicPart, limit: int | None, reading: Reading) -> LiveTopic:
        candidates = self._collapsed[part.topic].candidates
        place = {int(code): number for number, code in enumerate(candidates.documents)}
        queue = [place[int(code)] for code in part.documents]
        numbered = list(enumerate(self.plan.steps, start=1))
        return LiveTopic(candidates, self._builder.pools[part.topic], queue, numbered, limit=limit, reading=reading)

    def _limits(self, step: Selection) -> dict[str, int | None]:
        """Give the size each topic may reach where a budget is shared evenly; None leaves it to the step."""
        nobody: dict[str, int | None] = dict.fromkeys(self.topics)
        if step.amount.kind != "budget":
            return nobody
        have = np.array([self._builder.pools[topic].count for topic in self.topics])
        check_budget(int(have.sum()), int(step.amount.number))
        if step.scope.across_topics:
            self._check_floor(step)
            return nobody
        free = [np.count_nonzero(self._free(topic, step)) for topic in self.topics]
        shared = levels(have, np.array(free), int(step.amount.number))
        return dict(zip(self.topics, shared.tolist(), strict=True))

    def _free(self, topic: str, step: Selection) -> np.ndarray:
        return eligible(self._builder.pools[topic], view(self._collapsed[topic].candidates, step), step)

    def _check_floor(self, step: Selection) -> None:
        needed = (step.scope.floor or 0) * len(self.topics)
        if needed > step.amount.number:
            message = f"a floor of {step.scope.floor} for {len(self.topics)} topics needs {needed:,} documents"
            remedy = f"lower the floor, or raise the budget of {step.amount.number:,.0f}"
            raise ProblemsFound("this pool cannot be built", [Problem("budget-below-floor", message, remedy=remedy)])

    def _next(self, topics: Sequence[str], pending: Mapping[str, Sequence[int]]) -> Choice | None:
        for topic in self._in_turn(topics, pending):
            offered = self._live[topic].offer(pending[topic])
            if offered is None:
                continue
            candidate, number, reason = offered
            if self.spreads and reason != IN_POOL and self._is_spent(pending.values()):
                return None
            return Choice(topic, self._live[topic].candidates.ids[candidate], number, reason, self.known)
        return None

    @property
    def spreads(self) -> bool:
        """Whether a budget goes across topics."""
        assert isinstance(self._step, Selection)
        return self._step.scope.across_topics

    def _in_turn(self, topics: Sequence[str], pending: Mapping[str, Sequence[int]]) -> list[str]:
        """Give the topics in the order they are served.

        Without a budget across topics one after the other. With one: first what is in the pool already; then topics
        below the floor, fewest documents first; then the topic with the highest yield of late (or the strategy's own
        claim, where it compares topics), of equals the one with fewest documents.
        """
        if not self.spreads:
            return list(topics)
        floor = self._floor

        def turn(topic: str) -> tuple[int, float, int]:
            live = self._live[topic]
            size = live.size + len(pending[topic])
            if live.waits(pending[topic]):
                return 0, 0.0, 0
            return (1, float(size), size) if size < floor else (2, -self._merit(live), size)

        return sorted(topics, key=turn)

    @property
    def _merit(self) -> Callable[[LiveTopic], float]:
        assert isinstance(self._step, Selection)
        if getattr(self._step.strategy, "compares_topics", False):
            return lambda live: live.claim
        return lambda live: live.recent_yield

    @property
    def _floor(self) -> int:
        """The floor of the plan; half of an even share where it gives none."""
        assert isinstance(self._step, Selection)
        given = self._step.scope.floor
        return int(self._step.amount.number) // (2 * len(self.topics)) if given is None else given

    def _is_spent(self, pending: Iterable[Sequence[int]]) -> bool:
        if not self.spreads:
            return False
        assert isinstance(self._step, Selection)
        away = sum(
            not live.pool.present[candidate]
            for live, some in zip(self._live.values(), pending, strict=False)
            for candidate in some
        )
        return sum(live.size for live in self._live.values()) + away >= self._step.amount.number

    def _end_all(self) -> None:
        for live in self._live.values():
            live.end(f"{self._step.amount} reached")  # type: ignore[union-attr]


def next_batch(
    plan: Plan,
    runs: PooledRuns,
    judged: Iterable[Judged],
    *,
    size: int = 1,
    under_judgment: Collection[tuple[str, str]] = (),
    topics: Sequence[str] | None = None,
    seed: int = 0,
    order: JudgingOrder = "plan",
) -> Batch:
    """Give the next documents after some judgments: what a `LivePool` gives that was told them all."""
    live = LivePool(plan, runs, topics=topics, seed=seed, order=order)
    for one in judged:
        live.told(one)
    return live.offer(size, under_judgment=under_judgment)


def wrong_choices(
    live: LivePool, judged: Sequence[Judged], recorded: Sequence[tuple[Choice, Collection[tuple[str, str]]]]
) -> list[tuple[Choice, Choice | None]]:
    """Check recorded choices: give those that the plan would not have made, with what it would have chosen instead.

    `recorded` are choices in the order they were made, each with what was under judgment then; `judged` are all
    judgments in order. A choice was made for its topic after the first `known` judgments.
    """
    wrong = []
    told = iter(judged)
    for choice, pending in recorded:
        while live.known < choice.known:
            live.told(next(told))
        again = live.offer(1, under_judgment=pending, topics=[choice.topic]).choices
        if [one.document for one in again] != [choice.document]:
            wrong.append((choice, again[0] if again else None))
    return wrong
