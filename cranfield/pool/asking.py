"""What is refused when a pool is asked for: words of a plan that would have no effect.

A pool that is there is rebuilt, extended and played again without these questions: they were asked when it was made.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cranfield.errors import Problem, quoted
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.plan import Plan, Selection
from cranfield.pool.strategies.depth import Depth
from cranfield.pool.strategies.stratified import StratifiedSample
from cranfield.text import counted

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
