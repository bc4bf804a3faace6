"""What to judge next: the unjudged documents that decide between two runs.

Two orders decide between two runs, as in minimal test collections. For a *certain* decision, which no label of the
rest can change, documents come by how much they are expected to raise the lowest lead: one that favours the run
behind does so if it is not relevant, |w| (1 - p), one that favours the leader if it is, |w| p. Which run leads may
itself be open: then documents come first that are needed whichever it is. For a *likely* decision (95%) they come by
the variance of the difference that they take away: w² p (1 - p), and what they teach about the others; before them
comes a document whose label will probably decide by itself, though others may teach more.

p is the chance of a document by the model of unjudged documents. Labels do not fall independently of each other: the
documents of a run may all be better than expected, and so may those of a topic. To the logit of p are added an effect
of the run that the document favours and one of its topic, normal around 0; both are learned as labels arrive, by one
Newton step each, and what is left of their variance makes a decision less likely.

Sources: Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006; for effects
of runs: Carterette, Robust test collections for retrieval evaluation, SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import erf, sqrt
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values, ratio
from cranfield.evaluate.measure import parse_measure
from cranfield.reuse.intervals import Identities
from cranfield.reuse.labels import Documents, count_labels, logit, octave_of
from cranfield.reuse.pairs import TOLERANCE, Difference, OpenScore, QueuedDocument, is_decided, open_score
from cranfield.reuse.unjudged_model import USUAL, UnjudgedModel, chances, expected_chances, is_unlike
from cranfield.reuse.verdict import DEFAULTS, Thresholds
from cranfield.runs.columns import Mask

Goal = Literal["certain", "likely"]

RUN_SPREAD, TOPIC_SPREAD = 0.8, 1.0
"""How far the chances of a run, at the least, and of a topic may all be off: standard deviations of a logit."""

AT_ONCE = 8
"""In draws of the labels so large a part of what is expected to be needed is judged at once: one in so many."""

NORMAL_95 = 1.645
_LEAST = 1e-3
DRAWS = 24
"""How many times labels are drawn to see how many judgments decide."""

FEW = 10
"""Of so many unjudged documents every labelling is tried to say which run is likely to be ahead."""

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

    `popularity` has a row for each rank that is not 0, as `np.nonzero` orders them, and is known down to `depth`. A
    document has the mean of its chances in the runs that have it there; below that, the chance at `depth` without
    popularity. For a run unlike the contributors popularity is left aside too.
    """
    labels, unjudged = count_labels(pair.alignment, depth), pair.unjudged
    if labels.levels != model.levels or not len(unjudged):
        return flat_chances(pair)
    run, place = np.nonzero(unjudged.ranks)
    topic, rank = unjudged.topic[place], unjudged.ranks[run, place]
    within = rank <= depth[topic]
    documents = Documents(run, topic, octave_of(np.minimum(rank, depth[topic])), popularity)
    reached = expected_chances(model, labels, documents).chances
    blind = expected_chances(model, labels, replace(documents, popularity=None)).chances
    is_blind = is_unlike(model, documents.where(within), 2)[run] | ~within
    reached = np.where(is_blind[:, None], blind, reached)
    share = reached - np.column_stack([reached[:, 1:], np.zeros(len(reached))])
    worth, counts = share @ _worth_of_grades(pair)[list(labels.levels)], np.where(within, 1.0, TOLERANCE)
    total, size = (np.bincount(place, each, minlength=len(unjudged)) for each in (worth * counts, counts))
    expected = ratio(total, size)
    chain = model.blind if popularity is None or model.popular is None else model.popular
    usual = float(np.clip(expected.mean(), _LEAST, 0.5))
    beyond = logit(min(usual * chain.factor.value, 1 - _LEAST)) - logit(usual)
    return Chances(expected, max(float(beyond) / NORMAL_95, RUN_SPREAD))


def _worth_of_grades(pair: OpenScore) -> Values:
    """The gain of each grade as a share of the highest."""
    gains = pair.measure.gains(pair.highest)
    if gains is None:
        gains = (np.arange(pair.highest + 1) > 0).astype(float)
    return np.asarray((gains - gains.min()) / max(float(gains.max() - gains.min()), TOLERANCE))


class Judging:
    """A pair while its documents are judged one by one: what can still happen, what probably will, and what is next.

    `low` and `high` are the ends of the difference. Each document moves one of them by `moves`: what it is worth to
    each run, and where a shared document has one label, only by how much more to the one; for measures that are not
    sums by its part of their distance. `value` is the difference by the labels so far, and `effects` by how much each
    label alone moves that. Labels are shares of the highest gain. Open is what is not judged and can have to do with
    the difference.
    """

    def __init__(self, pair: OpenScore, expected: Chances | None = None, thresholds: Thresholds = DEFAULTS) -> None:
        self.chances, self._thresholds = expected or flat_chances(pair), thresholds
        self.moves = pair.worth - (pair.worth.min(axis=0) if pair.difference.exact else 0.0)
        self.low, self.high = pair.difference.ends
        if not pair.difference.exact and np.isfinite(self.high - self.low):
            self.moves *= (self.high - self.low) / max(float(self.moves.sum()), TOLERANCE)
        self.value, self.effects = pair.difference.value, pair.effects
        self.is_judged, self.is_open = np.zeros((2, len(pair.unjudged)), dtype=bool)
        self.is_open[pair.order] = True
        self._worth = _worth_of_grades(pair)
        self._prior = np.clip(self.chances.expected, _LEAST, 1 - _LEAST)
        # Of the effects of runs and topics: whose effect a document has, the surprises so far, and the information.
        topics = pair.unjudged.topic, len(pair.alignment.topic_ids), TOPIC_SPREAD
        self._shared = [
            (group, np.zeros(size), np.full(size, spread**-2))
            for group, size, spread in (((self.effects > 0).astype(np.int64), 2, self.chances.spread), topics)
        ]

    def judge(self, places: Counts, grades: Counts) -> None:
        """Take in the grades of some documents."""
        self.take(places, self._worth[np.clip(grades, 0, len(self._worth) - 1)])

    def take(self, places: Counts, labels: Values) -> None:
        """Take in labels as shares of the highest gain."""
        (mine, other), prior = self.moves[:, places], self._prior[places]
        self.low += float((labels * mine + (1 - labels) * other).sum())
        self.high -= float((labels * other + (1 - labels) * mine).sum())
        self.value += float(labels @ self.effects[places])
        self.is_judged[places], self.is_open[places] = True, False
        for group, surprise, information in self._shared:
            np.add.at(surprise, group[places], labels - prior)
            np.add.at(information, group[places], prior * (1 - prior))

    def follow(self, difference: Difference) -> None:
        """Take over what is true by the grades so far: where they move both scores, single moves do not add up."""
        low, high = difference.ends
        left = float(self.moves[:, ~self.is_judged].sum())
        if np.isfinite(high - low) and left > TOLERANCE:
            self.low, self.high, self.value = low, high, difference.value
            self.moves *= (high - low) / left

    @property
    def expected(self) -> Values:
        """The chance of each document by the labels so far."""
        total = logit(self._prior)
        for group, surprise, information in self._shared:
            total += (surprise / information)[group]
        return chances(total)

    def ahead(self, expected: Values) -> float:
        """The probability that the first run is ahead in the end."""
        mean, variance = self.difference(expected)
        normal = 0.5 * (1 + erf(mean / sqrt(2 * max(variance, TOLERANCE**2))))
        places = np.flatnonzero(self.is_open)
        if len(places) > FEW:
            return normal
        # A sum of few labels is not normal: all of them are tried, and the more cautious answer counts.
        labels = np.arange(1 << len(places))[:, None] >> np.arange(len(places)) & 1
        ends = self.value + labels @ self.effects[places]
        chance = np.where(labels, expected[places], 1 - expected[places]).prod(axis=1)
        tried = float(chance[ends > TOLERANCE].sum() + chance[np.abs(ends) <= TOLERANCE].sum() / 2)
        return min(normal, tried, key=lambda one: abs(one - 0.5))

    def difference(self, expected: Values) -> tuple[float, float]:
        """The mean and the variance of the difference when all is judged."""
        effects = self.effects * self.is_open
        weight = effects * expected * (1 - expected)
        variance = float(effects @ weight)
        for group, _, information in self._shared:
            variance += float((np.bincount(group, weight, minlength=len(information)) ** 2 / information).sum())
        return self.value + float(expected @ effects), variance

    def is_decided(self, goal: Goal) -> bool:
        """Whether who is ahead is certain, or likely enough."""
        if is_decided(self.low, self.high):
            return True
        if goal == "certain" or not self.is_open.any():
            return not self.is_open.any()
        ahead = self.ahead(self.expected)
        return max(ahead, 1 - ahead) >= self._thresholds.likely

    def raises(self, expected: Values) -> Values:
        """By how much each label is expected to raise the lowest lead of the first run, and of the second."""
        mine, other = self.moves
        return np.array([expected * one + (1 - expected) * two for one, two in ((mine, other), (other, mine))])

    def teaches(self, expected: Values) -> tuple[Values, Values]:
        """How much of the variance of the difference each label should take away, and how far it moves the mean.

        Its own part, and some of that of others, by what it teaches about effects that they share: its squared
        covariance with the difference over its own variance; the mean moves by their ratio for a whole label.
        """
        varies, weight = expected * (1 - expected), self.effects
        covaries, spreads = weight.copy(), np.ones(len(weight))
        for group, _, information in self._shared:
            shared = np.bincount(group, weight * varies * self.is_open, minlength=len(information))
            covaries += (shared / information)[group]
            spreads += varies / information[group]
        return np.asarray(varies * covaries**2 / spreads), np.asarray(covaries / spreads)

    def order(self, goal: Goal) -> tuple[Counts, int]:
        """The open documents, those first that bring most, and how many of them are expected to suffice.

        While it is open which run is ahead, what is needed for *certain* whichever it is comes first: of that, what
        tells most about it. For *likely*, what will decide by itself comes first, if that is more likely than not.
        """
        expected = self.expected
        (mean, variance), varies = self.difference(expected), self.effects**2
        first, table = np.zeros(len(expected), dtype=bool), self._thresholds
        if goal == "likely":
            # So many squared standard deviations the mean must lie from 0.
            far = NormalDist().inv_cdf(min(max(table.likely, 0.5), 1 - TOLERANCE)) ** 2
            gain, moves = self.teaches(expected)
            # With v taken away the squared mean is expected to be mean² + v: enough for what is left of the variance?
            enough = self._enough(gain, (far * variance - mean**2) / (1 + far))
            chance = np.zeros(len(expected))
            for probability, label in ((1 - expected, 0.0), (expected, 1.0)):
                decides = (mean + (label - expected) * moves) ** 2 >= far * (variance - gain)
                if self.is_open.sum() <= FEW + 1:  # then the rule tries all labels
                    for place in np.flatnonzero(decides & self.is_open):
                        rest = deepcopy(self)
                        rest.take(np.array([place]), np.array([label]))
                        decides[place] = rest.is_decided(goal)
                chance += probability * decides
            first = chance > table.decisive
            gain = np.where(first, chance, gain)
        else:
            raises, missing, leader = self.raises(expected), (-self.low, self.high), int(mean < 0)
            needed = [self._enough(one, lead) for one, lead in zip(raises, missing, strict=True)]
            gain, enough, ahead = raises[leader], needed[leader], self.ahead(expected)
            if max(ahead, 1 - ahead) < table.clear:
                first = needed[0] & needed[1]
                gain = np.where(first, varies * expected * (1 - expected), gain)
        ranked = np.lexsort([key[self.is_open] for key in (-varies, -gain.round(12), ~first)])
        return np.flatnonzero(self.is_open)[ranked], int(enough.sum())

    def _enough(self, gain: Values, missing: float) -> Mask:
        """The open documents with the highest gains that are together expected to bring what is missing."""
        places = np.flatnonzero(self.is_open)
        ranked = places[np.argsort(-gain[places], kind="stable")]
        count = int(np.searchsorted(np.cumsum(gain[ranked]), missing, side="right")) + 1
        chosen = np.zeros(len(gain), dtype=bool)
        chosen[ranked[:count]] = True
        return chosen

    def until_decided(self, goal: Goal, labels: Values) -> Judging:
        """The judging when the pair is decided, if these are the labels.

        Some documents are judged at once, the fewer the nearer the end is: the order hardly changes by one label.
        """
        rest = deepcopy(self)
        while not rest.is_decided(goal):
            order, enough = rest.order(goal)
            places = order[: 1 + enough // AT_ONCE]
            rest.take(places, labels[places])
        return rest

    def drawn(self, rng: np.random.Generator) -> Values:
        """Labels that fall as expected: effects are drawn first, then labels.

        Effects alone would add more to low chances than they take away: to the second order that is taken back.
        """
        total, bend = logit(self.expected), self.expected - 0.5
        for group, _, information in self._shared:
            effect = rng.standard_normal(len(information)) / np.sqrt(information)
            total += effect[group] + bend / information[group]
        return (rng.random(len(total)) < chances(total)).astype(np.float64)

    def expected_number(self, goal: Goal, rng: np.random.Generator) -> Number:
        """How many judgments will decide, if labels fall as expected."""
        ends = [self.until_decided(goal, self.drawn(rng)) for _ in range(DRAWS)]
        counts = [int((one.is_judged & ~self.is_judged).sum()) for one in ends]
        return Number(float(np.mean(counts)), min(counts), max(counts))


class Number(NamedTuple):
    """An expected number of judgments: the mean of all draws, and the fewest and the most that any of them took."""

    mean: float
    low: int
    high: int


# Queues of documents.


@dataclass(frozen=True)
class Settlement:
    """A judging queue that decides between two runs.

    `if_not_relevant` documents of the queue suffice if all of them turn out not relevant, as most do;
    `for_certain` whatever they are. `expected` is how many the goal probably takes. None is a number that is not
    known, or that there is not: what lies beyond the end of a list counts in RBP.
    """

    queue: tuple[QueuedDocument, ...] = ()
    if_not_relevant: int | None = 0
    for_certain: int | None = 0
    expected: Number | None = None


def settle(pair: OpenScore, judging: Judging | None = None, goal: Goal = "certain") -> Settlement:
    """The documents to judge to decide between two runs, those first that bring most towards the goal.

    `judging` knows the chances of the documents, and labels beyond those that the chances were learned from: what is
    not judged there is what is unjudged in the pair. Where shared documents are not labelled once more may be asked
    for than needed.
    """
    if pair.interval.missing:
        raise UsageError(f"{pair.measure} has no interval: {pair.interval.missing}")
    if pair.difference.is_decided:
        return Settlement()
    judging = judging or Judging(pair)
    place = np.cumsum(~judging.is_judged) - 1  # among what is unjudged in the pair
    order = place[judging.order(goal)[0]]
    low, needed = 0, len(order) if pair.after(order).difference.is_decided else None
    while needed is not None and low < needed:  # more never do less
        middle = (low + needed) // 2
        if pair.after(order[:middle]).difference.is_decided:
            needed = middle
        else:
            low = middle + 1
    if pair.gains is None or not pair.is_sum:
        return Settlement(pair.queued(order), needed, len(order))
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
        sums = np.unique((sums[:, None] + move).round(13))
        sums = sums[(sums + below[number] <= TOLERANCE) & (sums + above[number] >= -TOLERANCE)]
        if not len(sums):
            return number
        if len(sums) > MOST_SUMS:
            break
    return len(moves)


# A pair as a live queue keeps it, as JSON: no run is read while somebody judges.

Answers = Mapping[tuple[str, str], int | None]
"""The grade of each topic and document that was answered; None where it cannot be judged."""


@dataclass(frozen=True, eq=False)
class Contest:
    """Two runs, the goal, and what is expected of their unjudged documents, to be followed while these are judged.

    `judged` are grades that were known before, though nothing was learned from them; `table` are the thresholds.
    """

    pair: OpenScore
    chances: Chances
    goal: Goal
    judged: Mapping[tuple[str, str], int] = field(default_factory=dict)
    table: Thresholds = DEFAULTS

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """The topic and the document of each place."""
        unjudged, topics = self.pair.unjudged, self.pair.alignment.topic_ids
        documents = self.pair.documents.names(unjudged.document)
        return [(topics[topic], name) for topic, name in zip(unjudged.topic.tolist(), documents, strict=True)]

    def after(self, answers: Answers) -> tuple[OpenScore, Judging]:
        """The pair after some answers, and its judging."""
        grades = np.array([answers.get(name, self.judged.get(name)) for name in self.names], dtype=np.float64)
        places, judging = np.flatnonzero(~np.isnan(grades)), Judging(self.pair, self.chances, self.table)
        judging.judge(places, grades[places].astype(np.int64))
        pair = self.pair.after(places, grades[places].astype(np.int32))
        judging.follow(pair.difference)
        return pair, judging

    def needed(self, answers: Answers) -> list[tuple[str, str]] | None:
        """The documents that are expected to be needed still, the best first; None where the pair is decided."""
        pair, judging = self.after(answers)
        if pair.difference.is_decided or (self.goal == "likely" and judging.is_decided("likely")):
            return None
        judging.is_open &= np.array([name not in answers for name in self.names])
        order, enough = judging.order(self.goal)
        return [self.names[place] for place in order[:enough].tolist()]

    @property
    def decision(self) -> str:
        """What is known when it is decided; no run is named, for assessors stay blind."""
        if self.goal == "certain":
            return f"by {self.pair.measure} no further grade can change which run is ahead"
        return f"by {self.pair.measure} one run is ahead with a probability of at least {self.table.likely:.0%}"

    def to_json(self) -> dict[str, Any]:
        """What a queue keeps. Of judged documents it has the grades alone, and no list goes below the cutoff."""
        pair, ranks = self.pair, self.pair.unjudged.ranks
        lists, topics, count = pair.alignment.lists, pair.topics, len(pair.alignment.topic_ids)
        cutoff = pair.measure.cutoff if pair.reach is not None else None
        last = (
            max(cutoff, int(np.max(np.asarray(pair.reach))))
            if isinstance(cutoff, int)
            else int(lists.length.max(initial=0))
        )
        chosen = lists.chosen(np.concatenate([topics, count + topics]))
        rankings = np.split(np.maximum(chosen.grades, -1), chosen.offsets[1:-1])
        expected, ranked = self.chances.expected.tolist(), np.where(ranks > last, 0, ranks).T.tolist()
        return {
            "measure": str(pair.measure),
            "until": self.goal,
            "runs": list(pair.alignment.run_names),
            "topics": [pair.alignment.topic_ids[topic] for topic in topics.tolist()],
            "depth": None if pair.depth is None else np.broadcast_to(pair.depth, count)[topics].tolist(),
            "closure": "at-k",
            "highest": pair.highest,
            "highest_grade": lists.highest_grade,
            "levels": lists.levels.tolist(),
            "level_counts": lists.level_counts[topics].tolist(),
            "grades": [one[:last].tolist() for one in rankings],
            "spread": self.chances.spread,
            "thresholds": {"likely": self.table.likely, "clear": self.table.clear, "decisive": self.table.decisive},
            "documents": [
                [*name, *both, chance, self.judged.get(name)]
                for name, both, chance in zip(self.names, ranked, expected, strict=True)
            ],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Contest:
        """The contest that a queue keeps."""
        topics, documents = kept["topics"], kept["documents"]
        lengths = [len(one) for one in kept["grades"]]
        offsets, place_of = np.cumsum([0, *lengths]), {name: place for place, name in enumerate(topics)}
        grades = np.array([grade for one in kept["grades"] for grade in one], dtype=np.int32)
        codes = len(documents) + np.arange(len(grades), dtype=np.int32)
        for code, (topic, _, *ranks, _, _) in enumerate(documents):
            for run, rank in enumerate(ranks):
                if rank:
                    codes[offsets[run * len(topics) + place_of[topic]] + rank - 1] = code
        lists = Lists(
            np.where(grades < 0, NOT_POOLED, grades),
            offsets,
            np.tile(np.arange(len(topics)), 2),
            np.array(kept["levels"], dtype=np.int32),
            np.array(kept["level_counts"], dtype=np.int64),
            kept["highest_grade"],
        )
        every, untied = np.ones((2, len(topics)), dtype=bool), np.zeros(len(grades), dtype=bool)
        aligned = Alignment(tuple(kept["runs"]), tuple(topics), lists, every, every, ((), ()), untied)
        names = Identities(codes, pa.array([document[1] for document in documents], pa.large_string()))
        # Queues of earlier versions may look at the whole rankings.
        whole = kept["depth"] is None or kept["closure"] != "at-k"
        depth = None if whole else np.array(kept["depth"], dtype=np.int64)
        return cls(
            open_score(aligned, names, parse_measure(kept["measure"]), 0, 1, depth=depth, highest=kept["highest"]),
            Chances(np.array([document[4] for document in documents], dtype=np.float64), kept["spread"]),
            kept["until"],
            {(document[0], document[1]): document[5] for document in documents if document[5] is not None},
            DEFAULTS.with_values(kept.get("thresholds", {})),  # earlier queues have none
        )
