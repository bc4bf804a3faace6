"""What to judge next: the unjudged documents that decide between two runs, or narrow the interval of one score.

Two orders decide between two runs, as in minimal test collections. For a *certain* decision, which no label of the
rest can change, documents come by how much they are expected to raise the lowest lead: one that favours the run
behind does so if it is not relevant, |w| (1 - p), one that favours the leader if it is, |w| p. For a *likely*
decision (95%) they come by the variance of the difference that they take away, w² p (1 - p).

p is the chance of a document by the model of unjudged documents. Labels do not fall independently of each other: the
documents of a run may all be better than expected, and so may those of a topic. To the logit of p are added an effect
of the run that the document favours and one of its topic, normal around 0; both are learned as labels arrive, by one
Newton step each, and what is left of their variance makes a decision less likely.

Sources: Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006; for effects
of runs: Carterette, Robust test collections for retrieval evaluation, SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from math import erf, sqrt
from typing import Literal, NamedTuple

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.evaluate.measure import Measure
from cranfield.reuse.labels import Documents, count_labels, logit, octave_of
from cranfield.reuse.pairs import TOLERANCE, OpenScore, QueuedDocument
from cranfield.reuse.unjudged_model import USUAL, UnjudgedModel, chances, expected_chances, is_unlike

Goal = Literal["certain", "likely"]

LIKELY = 0.95
"""The probability from which the run that is ahead is called likely to be better."""

RUN_SPREAD, TOPIC_SPREAD = 0.8, 1.0
"""How far the chances of a run, at the least, and of a topic may all be off: standard deviations of a logit."""

NORMAL_95 = 1.645
_LEAST = 1e-3
DRAWS = 24
"""How many times labels are drawn to see how many judgments decide."""

MOST_SUMS = 4096
"""How many different sums of labels are followed to see when a pair is decided for certain."""


# How likely each unjudged document is relevant, and what the labels so far say about the others.


@dataclass(frozen=True, eq=False)
class Chances:
    """What is expected of each unjudged document of a pair: a share of the highest gain; with two grades, a chance.

    `spread` is how far those of one run may all be off, as the standard deviation of a logit. `flat` says that no
    model was at hand, so that all documents have the same chance.
    """

    expected: Values
    spread: float
    flat: bool = False


def flat_chances(pair: OpenScore) -> Chances:
    """The same chance for all documents: the usual ratio times the relevance rate of what is judged of the runs."""
    grades = pair.alignment.lists.grades
    rate = ((grades > 0).sum() + 0.5) / ((grades >= 0).sum() + 1.0)
    return Chances(np.full(len(pair.unjudged), USUAL * float(rate)), RUN_SPREAD, flat=True)


def learned_chances(pair: OpenScore, model: UnjudgedModel, depth: Counts, popularity: Values | None) -> Chances:
    """The chances by a model of unjudged documents down to `depth`, one number per topic.

    `popularity` has a row for each rank that is not 0, as `np.nonzero` orders them. A document that both runs rank
    has the mean of two chances. For a run unlike the contributors popularity is left aside.
    """
    labels, unjudged = count_labels(pair.alignment, depth), pair.unjudged
    if labels.levels != model.levels or not len(unjudged):
        return flat_chances(pair)
    run, place = np.nonzero(unjudged.ranks)
    documents = Documents(run, unjudged.topic[place], octave_of(unjudged.ranks[run, place]), popularity)
    reached = expected_chances(model, labels, documents).chances
    blind = expected_chances(model, labels, replace(documents, popularity=None)).chances
    reached = np.where(is_unlike(model, documents, 2)[run, np.newaxis], blind, reached)
    share = reached - np.column_stack([reached[:, 1:], np.zeros(len(reached))])
    worth = share @ _worth_of_grades(pair)[list(labels.levels)]
    expected = ratio(np.bincount(place, worth, minlength=len(unjudged)), np.bincount(place, minlength=len(unjudged)))
    chain = model.blind if popularity is None or model.popular is None else model.popular
    usual = float(np.clip(expected.mean(), _LEAST, 0.5))
    beyond = logit(min(usual * chain.factor.value, 1 - _LEAST)) - logit(usual)
    return Chances(expected, max(float(beyond) / NORMAL_95, RUN_SPREAD))


def _worth_of_grades(pair: OpenScore) -> Values:
    """The gain of each grade as a share of the highest."""
    gains = pair.measure.gains(pair.highest) if isinstance(pair.measure, Measure) else None
    if gains is None:
        gains = (np.arange(pair.highest + 1) > 0).astype(float)
    return np.asarray((gains - gains.min()) / max(float(gains.max() - gains.min()), TOLERANCE))


class Judging:
    """A pair while its documents are judged one by one: what can still happen, what probably will, and what is next.

    `low` and `high` are the ends of the difference. Each document moves one of them by `moves`: what it is worth to
    each run, and where a shared document has one label, only by how much more to the one. For measures that are not
    sums that is an approximation. Labels are shares of the highest gain.
    """

    def __init__(self, pair: OpenScore, expected: Chances | None = None) -> None:
        self.chances = expected or flat_chances(pair)
        self.moves = pair.worth - (pair.worth.min(axis=0) if pair.difference.exact else 0.0)
        self.low, self.high = pair.difference.ends
        self.is_open = np.ones(len(pair.unjudged), dtype=bool)
        self._worth = _worth_of_grades(pair)
        self._prior = np.clip(self.chances.expected, _LEAST, 1 - _LEAST)
        self._groups = (self.moves[0] > self.moves[1]).astype(np.int64), pair.unjudged.topic
        sizes, spreads = (2, len(pair.alignment.topic_ids)), (self.chances.spread, TOPIC_SPREAD)
        self._surprise = [np.zeros(size) for size in sizes]
        self._information = [np.full(size, spread**-2) for size, spread in zip(sizes, spreads, strict=True)]

    def judge(self, places: Counts, grades: Counts) -> None:
        """Take in the grades of some documents."""
        self._take(places, self._worth[np.clip(grades, 0, len(self._worth) - 1)])

    def _take(self, places: Counts, labels: Values) -> None:
        (mine, other), prior = self.moves[:, places], self._prior[places]
        self.low += float((labels * mine + (1 - labels) * other).sum())
        self.high -= float((labels * other + (1 - labels) * mine).sum())
        self.is_open[places] = False
        for group, surprise, information in zip(self._groups, self._surprise, self._information, strict=True):
            np.add.at(surprise, group[places], labels - prior)
            np.add.at(information, group[places], prior * (1 - prior))

    @property
    def expected(self) -> Values:
        """The chance of each document by the labels so far."""
        total = logit(self._prior)
        for group, surprise, information in zip(self._groups, self._surprise, self._information, strict=True):
            total += (surprise / information)[group]
        return chances(total)

    def ahead(self, expected: Values) -> float:
        """The probability that the first run is ahead in the end."""
        (mine, other), varies = self.moves * self.is_open, expected * (1 - expected)
        rises, falls = (float(expected @ one + (1 - expected) @ two) for one, two in ((mine, other), (other, mine)))
        mean = (self.low + rises + self.high - falls) / 2
        weight = (mine - other) * varies
        variance = float((mine - other) @ weight)
        for group, information in zip(self._groups, self._information, strict=True):
            variance += float((np.bincount(group, weight, minlength=len(information)) ** 2 / information).sum())
        return 0.5 * (1 + erf(mean / sqrt(2 * max(variance, TOLERANCE**2))))

    def is_decided(self, goal: Goal) -> bool:
        """Whether who is ahead is certain, or likely enough."""
        if self.low > TOLERANCE or self.high < -TOLERANCE or self.high - self.low <= TOLERANCE:
            return True
        if goal == "certain" or not self.is_open.any():
            return not self.is_open.any()
        ahead = self.ahead(self.expected)
        return max(ahead, 1 - ahead) >= LIKELY

    def gain(self, goal: Goal) -> Values:
        """What judging each document is expected to bring: a higher lowest lead, or less variance."""
        expected = self.expected
        mine, other = self.moves
        if goal == "likely":
            return np.asarray((mine - other) ** 2 * expected * (1 - expected))
        if self.ahead(expected) < 0.5:
            mine, other = other, mine
        return np.asarray(expected * mine + (1 - expected) * other)

    def until_decided(self, goal: Goal, labels: Values) -> Judging:
        """The judging when the pair is decided, if these are the labels: the next document is chosen after each."""
        rest = deepcopy(self)
        while not rest.is_decided(goal):
            place = np.argmax(np.where(rest.is_open, rest.gain(goal), -1.0), keepdims=True)
            rest._take(place, labels[place])
        return rest

    def expected_number(self, goal: Goal, rng: np.random.Generator) -> Number:
        """How many judgments will decide, if labels fall as expected: effects are drawn first, then labels."""
        counts = []
        for _ in range(DRAWS):
            total = logit(self.expected)
            for group, information in zip(self._groups, self._information, strict=True):
                total += (rng.standard_normal(len(information)) / np.sqrt(information))[group]
            labels = (rng.random(len(total)) < chances(total)).astype(float)
            counts.append(int(self.is_open.sum() - self.until_decided(goal, labels).is_open.sum()))
        return Number(float(np.mean(counts)), min(counts), max(counts))


class Number(NamedTuple):
    """An expected number of judgments: the mean of all draws, and the fewest and the most that any of them took."""

    mean: float
    low: int
    high: int


# Queues of documents.


@dataclass(frozen=True)
class Settlement:
    """A judging queue that decides between two runs, or makes the interval of one score narrow enough.

    `if_not_relevant` documents of the queue suffice if all of them turn out not relevant, as most do;
    `for_certain` whatever they are. `expected` is how many the goal probably takes. None is a number that is not
    known, or that there is not: relevant documents that no list has can leave doubt however much is judged, and what
    lies beyond the end of a list counts in RBP.
    """

    queue: tuple[QueuedDocument, ...] = ()
    if_not_relevant: int | None = 0
    for_certain: int | None = 0
    expected: Number | None = None


def settle(pair: OpenScore, judging: Judging | None = None, goal: Goal = "certain") -> Settlement:
    """The documents to judge to decide between two runs, those first that bring most towards the goal.

    `judging` knows the chances of the documents, and labels beyond those that the chances were learned from: what is
    open there is what is unjudged in the pair. Where shared documents are not labelled once more may be asked for
    than needed.
    """
    _refuse_without_interval(pair)
    if pair.difference.is_decided:
        return Settlement()
    judging = judging or Judging(pair)
    gain = judging.gain(goal)[judging.is_open].round(12)
    order = pair.order[np.argsort(-gain[pair.order], kind="stable")]
    needed = _fewest(len(order), lambda count: pair.after(order[:count]).difference.is_decided)
    if pair.gains is None or not pair.is_sum or not pair.difference.exact:
        certain = None if pair.further and pair.gains is None else len(order)
        return Settlement(pair.queued(order), needed, certain)
    enough = _enough_of_sum(pair, pair.gains, order)
    return Settlement(pair.queued(order[:enough]), enough if needed is None else min(needed, enough), enough)


def _enough_of_sum(pair: OpenScore, gains: Values, order: Counts) -> int:
    """How many documents decide between two sums whatever their labels.

    All sums that the labels so far can have made are followed, as long as they leave doubt.
    """
    span = max(float(gains.max() - gains.min()), TOLERANCE)
    moves = [np.unique(pair.weights[place] * gains / span) for place in order.tolist()]
    low, high = (np.array([end(move) for move in moves]) for end in (np.min, np.max))
    below, above = (np.concatenate([np.cumsum(end[::-1])[::-1], [0.0]]) for end in (low, high))
    sums = np.array([pair.difference.value])
    for number, move in enumerate(moves, start=1):
        sums = np.unique((sums[:, np.newaxis] + move).round(13))
        sums = sums[(sums + below[number] <= TOLERANCE) & (sums + above[number] >= -TOLERANCE)]
        if not len(sums):
            return number
        if len(sums) > MOST_SUMS:
            break
    return len(moves)


def make_safe(score: OpenScore, *, tolerance: float) -> Settlement:
    """The documents of a run to judge until its interval is at most as wide as the tolerance.

    They are taken by how much each narrows the interval, the most first. For measures that add up weights that is
    certain; for others it is what happens if the document is not relevant.
    """
    _refuse_without_interval(score)

    def is_safe(judged: Counts) -> bool:
        return score.after(judged).difference.width <= tolerance + TOLERANCE

    if score.difference.width <= tolerance + TOLERANCE:
        return Settlement()
    order = score.order
    needed = certain = _fewest(len(order), lambda count: is_safe(order[:count]))
    if score.is_sum and score.adds_up:
        order = order[:needed]
    else:
        ends_safe = not score.further and is_safe(np.arange(len(score.unjudged)))
        certain = len(order) if ends_safe else None
    return Settlement(score.queued(order), needed, certain)


def _fewest(most: int, suffices: Callable[[int], bool]) -> int | None:
    """The lowest number up to `most` that suffices, when more never do less; None where none does."""
    if not suffices(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle + 1, high)
    return low


def _refuse_without_interval(score: OpenScore) -> None:
    if score.interval.missing:
        raise UsageError(f"{score.measure} has no interval: {score.interval.missing}")
