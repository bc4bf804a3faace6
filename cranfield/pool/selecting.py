"""One topic's pool while it grows: each step of a plan adds what is not there yet."""

import math
from dataclasses import dataclass, field

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.grouping import by_group
from cranfield.pool.plan import Amount, Selection
from cranfield.pool.strategy import FillsUp, FixedOrder, RankAmount, Sampling
from cranfield.runs.run import Places, Scores

NO_PROBABILITY = math.nan
"""The inclusion probability of what was chosen by looking at judgments: it is no sample of anything."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """What one step (numbered from 1) drew from: its name, and the part of the step where it has several."""

    step: int
    name: str


@dataclass(frozen=True, eq=False)
class Addition:
    """What a step adds to a topic: candidate numbers in judging order, the stratum and the probability of each.

    `undrawn` are the documents of the stratum that could have been chosen and were not. Only a sample has any.
    """

    stratum: Stratum
    chosen: Places
    probabilities: Scores
    undrawn: Places

    @property
    def population(self) -> int:
        """N_h: how many documents the stratum has."""
        return len(self.chosen) + len(self.undrawn)


@dataclass(eq=False)
class TopicPool:
    """The pool of one topic: what is in it, and every addition in order.

    `barred` are candidates that may not be drawn by chance (they had their chance before). `rates` are the shares at
    which earlier samples were drawn, by step, and `drawn_before` what they drew: an extension draws at the same rate.
    `own_rates` are those of single strata, for samples that have several. `beyond` are the steps that took more than
    their amount: the rates of a sample can ask for more.
    """

    topic: str
    size: int
    seed: int
    present: Mask = field(init=False)
    additions: list[Addition] = field(default_factory=list)
    barred: Places = field(default_factory=lambda: np.empty(0, np.int64))
    rates: dict[int, float] = field(default_factory=dict)
    drawn_before: dict[int, Places] = field(default_factory=dict)
    own_rates: dict[int, dict[str, float]] = field(default_factory=dict)
    beyond: set[int] = field(default_factory=set)
    suffix: str = ""

    def __post_init__(self) -> None:
        self.present = np.zeros(self.size, dtype=bool)

    @property
    def count(self) -> int:
        """How many documents are in the pool."""
        return int(np.count_nonzero(self.present))

    @property
    def chosen(self) -> Places:
        """All documents in the order they came."""
        return np.concatenate([np.empty(0, np.int64), *(addition.chosen for addition in self.additions)])

    def add(self, addition: Addition) -> None:
        """Take in what a step adds."""
        self.present[addition.chosen] = True
        self.additions.append(addition)

    def cap(self, number: int) -> None:
        """Keep the first documents only."""
        left = number
        for place, addition in enumerate(self.additions):
            kept, left = min(left, len(addition.chosen)), max(left - len(addition.chosen), 0)
            self.present[addition.chosen[kept:]] = False
            self.additions[place] = Addition(
                addition.stratum, addition.chosen[:kept], addition.probabilities[:kept], addition.undrawn
            )


def view(candidates: Candidates, step: Selection) -> Candidates:
    """Give the candidates as the step sees them: by run, or by group."""
    return by_group(candidates) if step.scope.by == "group" else candidates


def eligible(pool: TopicPool, seen: Candidates, step: Selection) -> Mask:
    """Say which candidates the step can choose: those in its ranks that are not in the pool.

    What an earlier sample could have drawn is not drawn by a later one: the probability of either would be wrong.
    """
    free = ~pool.present
    if step.scope.ranks:
        first, last = step.scope.ranks
        free &= (seen.best_rank >= first) & (seen.best_rank <= last)
    if step.strategy.kind == "sampling":
        free[pool.barred] = False
        for addition in pool.additions:
            free[addition.undrawn] = False
    return free


def apply(pool: TopicPool, candidates: Candidates, step: Selection, number: int, *, level: int | None = None) -> None:
    """Let a fixed or sampling step, the `number`-th of the plan, add its documents to the topic.

    `level` is the size the topic may reach, where a budget was shared over all topics.
    """
    seen = view(candidates, step)
    free = eligible(pool, seen, step)
    if isinstance(step.strategy, Sampling):
        _add_sample(pool, seen, step, number, free, level)
    elif isinstance(step.strategy, FixedOrder):
        _add_fixed(pool, seen, step, number, free, level)


def wanted(amount: Amount, *, have: int, available: int, level: int | None) -> int:
    """Give how many documents an amount means for a topic that has some and can choose from some more."""
    number = {
        "all": available,
        "count": int(amount.number),
        "until": int(amount.number) - have,
        "share": share_of(available, amount.number / 100),
        "budget": (level if level is not None else have) - have,
    }[amount.kind]
    return max(0, min(number, available))


def share_of(population: int, share: float) -> int:
    """Give a share of a population in whole documents, rounded half up, at least one of a population that has any."""
    return min(population, max(math.floor(population * share + 0.5), 1)) if population else 0


def _add_fixed(
    pool: TopicPool, seen: Candidates, step: Selection, number: int, free: Mask, level: int | None
) -> None:
    assert isinstance(step.strategy, FixedOrder)
    order = step.strategy.order(seen, seed=pool.seed)
    if isinstance(step.strategy, RankAmount):
        order = order[: _size(step, seen, int(step.amount.number))]
        chosen = order[free[order]]
    else:
        order = order[free[order]]
        chosen = order[: wanted(step.amount, have=pool.count, available=len(order), level=level)]
    pool.add(Addition(Stratum(number, str(step) + pool.suffix), chosen, np.ones(len(chosen)), np.empty(0, np.int64)))


def _size(step: Selection, seen: Candidates, amount: int) -> int:
    assert isinstance(step.strategy, RankAmount)
    if step.scope.by != "topic":
        return step.strategy.size(seen, amount)
    counts = np.cumsum(np.bincount(seen.best_rank))
    return int(counts[counts <= amount][-1]) if (counts <= amount).any() else 0


def _add_sample(
    pool: TopicPool, seen: Candidates, step: Selection, number: int, free: Mask, level: int | None
) -> None:
    assert isinstance(step.strategy, Sampling)
    numbers = np.flatnonzero(free)
    strategy, count = step.strategy, _sample_size(pool, step, number, len(numbers), level)
    if number in pool.own_rates and isinstance(strategy, FillsUp):
        strategy, count = strategy.at_rates(pool.own_rates[number], otherwise=pool.rates[number]), None
    sample = strategy.sample(seen, numbers, count, seed=pool.seed)
    if count is not None and len(sample.chosen) > count:
        pool.beyond.add(number)
    is_drawn = np.zeros(seen.documents.shape[0], dtype=bool)
    is_drawn[sample.chosen] = True
    for code, name in enumerate(sample.names):
        mine = sample.strata == code
        left = numbers[(sample.population_strata == code) & ~is_drawn[numbers]]
        label = " ".join(word for word in (str(step), name) if word) + pool.suffix
        pool.add(Addition(Stratum(number, label), sample.chosen[mine], sample.probabilities[mine], left))
    pool.present[pool.drawn_before.get(number, [])] = True


def _sample_size(pool: TopicPool, step: Selection, number: int, available: int, level: int | None) -> int | None:
    """Give how many documents a sample has; None where its own rates say it."""
    if step.amount.kind == "all":
        return None
    if number in pool.rates:
        return share_of(available, pool.rates[number])
    return wanted(step.amount, have=pool.count, available=available, level=level)
