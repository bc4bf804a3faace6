"""Writes the tables of docs/reuse.md that show how many judgments settle takes, on pairs whose labels are known.

    python docs/settling.py FOLDER > tables.md

FOLDER has TREC-2: a quarter of an hour of one core. Each group has one run. Both runs of a pair are held out: the
pool is made of the others, the model of unjudged documents learned from them. Then documents are judged one at a
time, each chosen after the label of the one before, until the pair is decided.

- The oracle knows the labels, and judges only what raises the lowest lead of the run that wins, the heaviest first.
- The order that knows the winner has the chances of settle, but need not find out which run will win.
- The random order takes the documents that can change the difference in any order, and stops by the same rule.
- Effects known: the order that knows the winner has the chances that follow from all grades, as if it knew how far
  the documents of each run and topic are better than expected, and not which of them are relevant.
- By variance: the order of *likely* without the rule `decisive`, that what will decide by itself comes first.
- The least for *likely*: what an order needs to take away as much variance of the difference as the random order had
  when it stopped. Of many small labels no order decides sooner: the mean moves as far as variance is gone.
- By topic: as a live queue hands documents out, a topic after the other.
- If the chances are right: labels are drawn by the chances of settle. For *certain* the order knows the winner too:
  with equal weights no order that does not know the labels needs fewer judgments on average. For *likely* it is the
  order of settle, and that by variance, against a random one; and how often settle is right then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from left_out import Collection, trec_2

from cranfield.base.text import table_of
from cranfield.evaluate.align import align
from cranfield.evaluate.lists import Counts, Values
from cranfield.evaluate.measure import own_measures, parse_measures
from cranfield.report.rendering import renderers
from cranfield.reuse.assess import measure_depths
from cranfield.reuse.expected_loss import ModelCache
from cranfield.reuse.intervals import identities, interval_depth
from cranfield.reuse.pairs import TOLERANCE, OpenScore, open_score
from cranfield.reuse.provenance import provenance_of
from cranfield.reuse.settle import Goal, Judging, learned_chances
from cranfield.reuse.verdict import Thresholds
from cranfield.runs.run import Run

DEPTHS = (10, 20)
MEASURES = ("P@10", "DCG@10", "nDCG@10")
RANDOM_ORDERS, RESAMPLES, SEED, LABELS = 10, 1000, 1, 20
CERTAIN = (
    *("measure", "pool depth", "pairs", "unjudged", "oracle", "settle", "ratio", "of medians"),
    *("by topic", "winner known", "effects known", "chances right", "random", "within range"),
)
PROBABLE = (
    "measure",
    "pool depth",
    "pairs",
    "random",
    "settle",
    "ratio",
    "of medians",
    "at most half",
    "by variance",
    "least",
    "chances right",
    "by variance then",
    "right then",
    "right",
    "of all pairs",
)

Line = tuple[str, ...]

Next = Callable[[Judging], int]
"""Chooses the place of the document that is judged next."""


@dataclass(frozen=True)
class Course:
    """How many judgments one pair took, by each order, and whether what was called likely came true."""

    unjudged: int
    oracle: int
    certain: int
    by_topic: int
    winner_known: int
    effects_known: int
    drawn_oracle: float
    drawn_known: float
    random_certain: float
    likely: int
    by_variance: int
    random_likely: float
    least_likely: float
    drawn_likely: float
    drawn_variance: float
    drawn_random: float
    drawn_right: float
    is_right: bool
    is_within: bool


def main() -> None:
    """Read, judge, write."""
    sys.stdout.write(tables(binary(trec_2(Path(sys.argv[1])))))


def binary(collection: Collection) -> Collection:
    """The same with two grades."""
    return replace(collection, grades={pair: min(grade, 1) for pair, grade in collection.grades.items()})


def tables(collection: Collection) -> str:
    """The tables of certain and of likely as Markdown, of all pairs of groups."""
    rng = np.random.default_rng(SEED)
    groups = {one.run: one.group for one in collection.contributors}
    of_group = {groups[run.tag]: run for run in sorted(collection.runs, key=lambda _: rng.random())}
    chosen, certain, likely, every = list(of_group.values()), list[Line](), list[Line](), list[Course]()
    pairs = [(one, two) for one in range(len(chosen)) for two in range(one)]
    resampled = _resampled(pairs, len(chosen), rng)
    for depth in DEPTHS:
        found = [courses(collection, chosen, pair, depth) for pair in pairs]
        for measure, some in zip(MEASURES, zip(*found, strict=True), strict=True):
            certain.append((measure, str(depth), *of_certain(some, resampled)))
            likely.append((measure, str(depth), *of_likely(some, resampled)))
            every += some
    cells = len(DEPTHS) * len(MEASURES)
    likely.append(("all", "all", *of_likely(every, np.tile(resampled, cells))))
    write = renderers.get("markdown")
    return write(table_of(list(CERTAIN), certain)) + "\n" + write(table_of(list(PROBABLE), likely))


def _resampled(pairs: Sequence[tuple[int, int]], groups: int, rng: np.random.Generator) -> Values:
    """How often each pair counts when groups are drawn with replacement: draws by pairs."""
    times = rng.multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)
    one, two = np.array(pairs).T
    return np.asarray(times[:, one] * times[:, two], dtype=float)


def columns_of(found: Sequence[Course]) -> dict[str, Values]:
    """The numbers of all pairs, by name."""
    return {
        one.name: np.array([getattr(course, one.name) for course in found], dtype=float) for one in fields(Course)
    }


def ratio(over: Values, under: Values, kept: Values, resampled: Values) -> str:
    """The ratio of the means over some pairs, with its interval from drawn groups."""
    draws = (resampled @ (over * kept)) / np.maximum(resampled @ (under * kept), TOLERANCE)
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{over[kept].sum() / under[kept].sum():.2f} ({low:.2f}–{high:.2f})"


def of_medians(over: Values, under: Values, kept: Values) -> str:
    """The ratio of the medians."""
    return f"{np.median(over[kept]) / np.median(under[kept]):.2f}"


def of_certain(found: Sequence[Course], resampled: Values) -> Iterator[str]:
    """Give one line of the table of certain: means over the pairs that are open."""
    of = columns_of(found)
    oracle, kept = of["oracle"], of["certain"] > 0
    yield str(int(kept.sum()))
    yield from (f"{of[name][kept].mean():.0f}" for name in ("unjudged", "oracle", "certain"))
    yield ratio(of["certain"], oracle, kept, resampled)
    yield of_medians(of["certain"], oracle, kept)
    for name, under in (
        *(("by_topic", "oracle"), ("winner_known", "oracle"), ("effects_known", "oracle")),
        *(("drawn_known", "drawn_oracle"), ("random_certain", "oracle")),
    ):
        yield f"{of[name][kept].sum() / of[under][kept].sum():.2f}"
    yield f"{100 * of['is_within'][kept].mean():.0f}%"


def of_likely(found: Sequence[Course], resampled: Values) -> Iterator[str]:
    """Give one line of the table of likely: means over the pairs that are not likely at first."""
    of = columns_of(found)
    likely, random = of["likely"], of["random_likely"]
    kept = likely > 0
    yield str(int(kept.sum()))
    yield from (f"{one[kept].mean():.0f}" for one in (random, likely))
    yield ratio(likely, random, kept, resampled)
    yield of_medians(likely, random, kept)
    yield f"{100 * (2 * likely <= random)[kept].mean():.0f}%"
    for name, under in (
        *(("by_variance", "random_likely"), ("least_likely", "random_likely")),
        *(("drawn_likely", "drawn_random"), ("drawn_variance", "drawn_random")),
    ):
        yield f"{of[name][kept].sum() / of[under][kept].sum():.2f}"
    for right in (of["drawn_right"][kept], of["is_right"][kept], of["is_right"]):
        yield f"{100 * right.mean():.1f}%"


def courses(collection: Collection, runs: Sequence[Run], pair: tuple[int, int], depth: int) -> list[Course]:
    """Settle one pair of runs that did not contribute to the pool of the others, by each measure."""
    others = [run for place, run in enumerate(runs) if place not in pair]
    field, qrels = [*(runs[place] for place in pair), *others], replace(collection, runs=others).qrels(depth)
    aligned = align(qrels, field, keep_rows=True)
    contributors = [one for one in collection.contributors if one.run in {run.tag for run in others}]
    provenance = provenance_of(aligned, qrels, field, contributors, depth=depth).by("group")
    cache, documents = ModelCache(aligned, provenance), identities(aligned, field)
    grades, found, rng = collection.grades, list[Course](), np.random.default_rng([SEED, depth, *pair])
    for measure in own_measures(parse_measures(MEASURES)):
        deep = measure_depths(measure, provenance.depth)
        reach = interval_depth(measure, pool_depth=provenance.depth)
        contest = open_score(aligned, documents, measure, 0, 1, depth=reach, highest=1)
        unjudged, lists = contest.unjudged, aligned.lists
        run, place = np.nonzero(unjudged.ranks)
        at = lists.offsets[run * len(aligned.topic_ids) + unjudged.topic[place]] + unjudged.ranks[run, place] - 1
        popularity = cache.popularity(deep)
        chances = learned_chances(contest, cache.model(deep), deep, None if popularity is None else popularity[at])
        names = zip(unjudged.topic.tolist(), documents.names(unjudged.document), strict=True)
        labels = np.array([grades.get((aligned.topic_ids[topic], name), 0) for topic, name in names], dtype=float)
        found.append(course(contest, Judging(contest, chances), labels, rng))
    return found


def course(contest: OpenScore, judging: Judging, labels: Values, rng: np.random.Generator) -> Course:
    """Judge one pair by all orders."""
    truth = contest.after(np.arange(len(labels)), labels.astype(np.int32)).difference.value
    matters = judging.is_open
    by_variance = Judging(contest, judging.chances, Thresholds(decisive=1.0))

    def count(goal: Goal, following: Next) -> int:
        return judged(walk(contest, judging, goal, labels, following))

    def in_any_order(rng: np.random.Generator = rng) -> Next:
        turn = iter(rng.permutation(np.flatnonzero(matters)).tolist())
        return lambda _: int(next(turn))

    def randomly(goal: Goal) -> list[Judging]:
        return [walk(contest, judging, goal, labels, in_any_order()) for _ in range(RANDOM_ORDERS)]

    def of_drawn_labels(rng: np.random.Generator) -> list[float]:
        drawn = judging.drawn(rng)
        ways = (judging, best("likely")), (by_variance, best("likely")), (judging, in_any_order(rng))
        ends = [walk(contest, of, "likely", drawn, following) for of, following in ways]
        return [*(judged(one) for one in ends), is_right(ends[0], true_lead(judging, drawn))]

    likely = walk(contest, judging, "likely", labels, best("likely"))
    number, certain = judging.expected_number("certain", rng), best("certain")
    found, by_chance = count("certain", certain), randomly("likely") if judged(likely) else [judging]
    known = np.mean([if_chances_are_right(judging, rng) for _ in range(LABELS)], axis=0).tolist()
    by_drawn = [[0.0, 0.0, 0.0, 1.0]]
    if judged(likely):
        apart = rng.spawn(1)[0]
        by_drawn = [of_drawn_labels(apart) for _ in range(RANDOM_ORDERS)]
    drawn_likely, drawn_variance, drawn_random, drawn_right = np.mean(by_drawn, axis=0).tolist()
    afterwards = deepcopy(judging)
    afterwards.take(np.flatnonzero(matters), labels[matters])
    effects = afterwards.expected
    return Course(
        unjudged=int(matters.sum()),
        oracle=oracle(judging, labels, truth),
        certain=found,
        by_topic=count("certain", TopicByTopic(contest.unjudged.topic)),
        winner_known=count("certain", lambda rest: int(np.argmax(known_gain(rest, truth, rest.expected)))),
        effects_known=count("certain", lambda rest: int(np.argmax(known_gain(rest, truth, effects)))),
        drawn_oracle=known[0],
        drawn_known=known[1],
        random_certain=float(np.mean([judged(one) for one in randomly("certain")])),
        likely=judged(likely),
        by_variance=judged(walk(contest, by_variance, "likely", labels, best("likely"))),
        random_likely=float(np.mean([judged(one) for one in by_chance])),
        least_likely=least(judging, by_chance),
        drawn_likely=drawn_likely,
        drawn_variance=drawn_variance,
        drawn_random=drawn_random,
        drawn_right=drawn_right,
        is_right=is_right(likely, truth),
        is_within=number.low <= found <= number.high,
    )


def is_right(rest: Judging, truth: float) -> bool:
    """Whether the run that is likely ahead is ahead in the end; of a tie any is."""
    return abs(truth) <= TOLERANCE or (rest.ahead(rest.expected) > 0.5) == (truth > 0)


def best(goal: Goal) -> Next:
    """The order of settle."""
    return lambda rest: int(rest.order(goal)[0][0])


def known_gain(rest: Judging, truth: float, expected: Values) -> Values:
    """What open documents with these chances bring to the run that wins."""
    return np.where(rest.is_open, rest.raises(expected)[0 if truth >= 0 else 1], -1.0)


class TopicByTopic:
    """The order in which a live queue hands documents out: the present topic while it has something needed."""

    def __init__(self, topics: Counts) -> None:
        self._topics, self._now = topics, -1

    def __call__(self, rest: Judging) -> int:
        """The next place."""
        order, enough = rest.order("certain")
        needed = order[:enough]
        here = needed[self._topics[needed] == self._now]
        chosen = int((here if len(here) else needed)[0])
        self._now = int(self._topics[chosen])
        return chosen


def walk(contest: OpenScore, judging: Judging, goal: Goal, labels: Values, following: Next) -> Judging:
    """Judge until the pair is decided; for certain, by its true interval."""
    rest = deepcopy(judging)
    while rest.is_open.any():
        if rest.is_decided(goal):
            places = np.flatnonzero(rest.is_judged)
            known = contest.after(places, labels[places].astype(np.int32)).difference
            if goal == "likely" or known.is_decided:
                break
        place = np.array([following(rest)])
        rest.judge(place, labels[place].astype(np.int64))
    return rest


def least(judging: Judging, stopped: Sequence[Judging]) -> float:
    """The mean number of documents that take away as much variance as an order had when it stopped, the best first.

    Labels are as expected here, so that the chances stay as they are.
    """
    expected = judging.expected

    def variance(places: Counts) -> float:
        rest.take(places, expected[places])
        return rest.difference(expected)[1]

    left = []
    for one in stopped:
        rest = deepcopy(judging)
        left.append(variance(np.flatnonzero(one.is_judged)))
    rest, course = deepcopy(judging), [judging.difference(expected)[1]]
    while course[-1] > min(left) * (1 + TOLERANCE) and rest.is_open.any():
        gain = np.where(rest.is_open, rest.teaches(expected)[0], -1.0)
        course.append(variance(np.array([np.argmax(gain)])))
    return float(np.mean([(np.array(course) > one * (1 + TOLERANCE)).sum() for one in left]))


def if_chances_are_right(judging: Judging, rng: np.random.Generator) -> tuple[int, int]:
    """Count what an oracle judges of labels drawn by the chances, and an order that knows winner and chances."""
    expected, moves = judging.expected, judging.moves
    labels = (rng.random(len(expected)) < expected).astype(float)
    truth = true_lead(judging, labels)
    low, (mine, other) = (judging.low, moves) if truth >= 0 else (-judging.high, moves[::-1])
    order = np.argsort(-judging.raises(expected)[0 if truth >= 0 else 1], kind="stable")
    enough = low + np.cumsum((labels * mine + (1 - labels) * other)[order]) > TOLERANCE
    every = int(judging.is_open.sum())
    return oracle(judging, labels, truth), int(np.argmax(enough)) + 1 if enough.any() else every


def true_lead(judging: Judging, labels: Values) -> float:
    """The difference when all documents have these labels, if it is a sum."""
    mine, other = judging.moves
    return judging.low + float((labels * mine + (1 - labels) * other).sum())


def judged(judging: Judging) -> int:
    """Count the documents that were judged."""
    return int(judging.is_judged.sum())


def oracle(judging: Judging, labels: Values, truth: float) -> int:
    """Count what has to be judged to raise the lowest lead above 0 if the labels are known; all for a tie."""
    (mine, other), low = judging.moves, judging.low
    if truth < 0:
        (other, mine), low = judging.moves, -judging.high
    raised = np.sort(labels * mine + (1 - labels) * other)[::-1]
    enough = low + np.concatenate([[0.0], np.cumsum(raised)]) > TOLERANCE
    return int(np.argmax(enough)) if enough.any() else int(judging.is_open.sum())


if __name__ == "__main__":
    main()
