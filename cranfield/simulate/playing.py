"""A plan played against known judgments, by itself or at several budgets.

The known judgments are the assessor. A document that nobody judged is taken for not relevant: it costs its time, and
a plan that learns takes it for a miss. How many there were is always told.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.errors import UsageError
from cranfield.evaluate.lists import Counts
from cranfield.pool.budgets import levels
from cranfield.pool.build import build, is_adaptive
from cranfield.pool.entrants import PooledRuns
from cranfield.pool.parsing import parse
from cranfield.pool.plan import Amount, Plan, Selection
from cranfield.pool.replay import replay
from cranfield.pool.shortening import within_lists
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import RankAmount
from cranfield.reuse.pooled_rows import Numbers, rows_of_pairs
from cranfield.simulate.known import Known, Rows


@dataclass(frozen=True, eq=False)
class Play:
    """The documents that a plan asked for, in the order of judging.

    `topics` are those that were played; `topic` gives for each document its place there, and `row` its judgment as a
    row of the known qrels, -1 where nobody judged it.
    """

    plan: str
    topics: tuple[str, ...]
    topic: Counts
    row: Numbers

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def sizes(self) -> Counts:
        """How many documents each topic got."""
        return np.bincount(self.topic, minlength=len(self.topics))

    @property
    def unknown(self) -> int:
        """How many of the documents nobody judged."""
        return int(np.count_nonzero(self.row < 0))

    def kept(self, known: Known) -> Rows:
        """Say which of the known judgments the plan would have made."""
        rows = np.zeros(len(known.qrels), dtype=bool)
        rows[self.row[self.row >= 0]] = True
        return rows

    def found(self, known: Known) -> Counts:
        """Give how many known relevant documents are found with the first 0, 1, 2 … documents."""
        relevant = np.append(known.relevant, False)[self.row]
        return np.concatenate([[0], np.cumsum(relevant)])

    def first(self, sizes: Counts, *, plan: str) -> "Play":
        """Give the first documents of each topic alone, in the same order."""
        in_turn = np.argsort(self.topic, kind="stable")
        place = np.empty(len(self.topic), dtype=np.int64)
        starts = np.cumsum(self.sizes) - self.sizes
        place[in_turn] = np.arange(len(self.topic)) - starts[self.topic[in_turn]]
        kept = place < sizes[self.topic]
        return Play(plan, self.topics, self.topic[kept], self.row[kept])


def play(known: Known, plan: Plan, *, seed: int = 0, runs: PooledRuns | None = None) -> Play:
    """Play a plan; `runs` are other feeding runs than the known ones, such as all but a group's."""
    feeding = known.pooled if runs is None else runs
    topics = [topic for topic in known.topics if topic in feeding.codes_by_topic]
    if not topics:
        return Play(str(plan), known.topics, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))
    told = replay(
        plan if runs is None else within_lists(plan, feeding.depth),
        feeding,
        known.labels,
        topics=topics,
        seed=seed,
        texts=known.texts,
        queries=known.queries,
        unknown=False,
    ).judged
    place = {topic: number for number, topic in enumerate(known.topics)}
    row = rows_of_pairs(known.qrels, [one.topic for one in told], [one.document for one in told])
    row[~np.append(known.judged, False)[row]] = -1
    return Play(str(plan), known.topics, np.array([place[one.topic] for one in told], dtype=np.int64), row)


def open_ended(plan: Plan) -> Plan:
    """Give the plan with its last step going on for ever, to be played at budgets.

    A last step by depth becomes `take`, which goes as deep as a budget allows, and in part into the next rank.
    """
    last = plan.steps[-1]
    if not isinstance(last, Selection):
        raise UsageError(f"'{plan}' ends with '{last}', and a budget needs a step that chooses documents")
    step = replace(last, amount=Amount())
    if isinstance(last.strategy, RankAmount):
        scope = replace(last.scope, by="run" if last.scope.by == "topic" else last.scope.by)
        step = Selection("take", strategies.get("take")(), scope=scope)
    return Plan((*plan.steps[:-1], step))


def with_budget(plan: Plan, budget: int) -> Plan:
    """Give the plan with its last step going on until all topics together have `budget` documents."""
    *before, last = open_ended(plan).steps
    step = replace(last, amount=Amount("budget", budget)) if isinstance(last, Selection) else last
    return parse(str(Plan((*before, step))))  # which refuses what no plan may say


def least_budget(known: Known, plan: Plan) -> Counts:
    """Give the documents that each topic has before the last step: no budget can be smaller than these together."""
    before = plan.steps[:-1]
    if not before:
        return np.zeros(len(known.topics), dtype=np.int64)
    if any(is_adaptive(step) for step in before):
        raise UsageError(f"'{plan}': a budget for all topics cannot follow an adaptive step: topics end one by one")
    sizes = build(Plan(before), known.pooled, topics=known.topics).sizes
    return np.array([sizes[topic] for topic in known.topics], dtype=np.int64)


def play_at(
    known: Known, plan: Plan, budgets: Sequence[int], *, seed: int = 0, runs: PooledRuns | None = None
) -> list[Play]:
    """Play a plan at several budgets, none of which is below its `least_budget`.

    Where the documents of a smaller budget are the first of a larger one, topic by topic, it is played once.
    """
    plans = [with_budget(plan, budget) for budget in budgets]
    if not plans or not _begins_alike(plans[0]):
        return [play(known, one, seed=seed, runs=runs) for one in plans]
    feeding = known if runs is None else replace(known, pooled=runs)
    largest = play(known, with_budget(plan, max(budgets)), seed=seed, runs=runs)
    have = np.zeros(len(known.topics), dtype=np.int64)
    here = [known.topics.index(topic) for topic in feeding.topics]
    if here:
        have[here] = least_budget(feeding, plan if runs is None else within_lists(plan, runs.depth))
    return [
        largest.first(levels(have, largest.sizes - have, budget), plan=str(one))
        for budget, one in zip(budgets, plans, strict=True)
    ]


def _begins_alike(plan: Plan) -> bool:
    """Say whether a smaller budget judges the first documents of a larger one, topic by topic.

    Not so for samples, which are drawn for their size; for budgets across topics, whose floor hangs on the budget;
    nor where a rule can end a topic, since its share is not given to others.
    """
    last = plan.steps[-1]
    if not isinstance(last, Selection) or last.strategy.kind == "sampling":
        return False
    return not last.scope.across_topics and not last.scope.stop
