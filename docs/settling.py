"""Writes the table of docs/reuse.md that shows how many judgments settle takes, on pairs whose labels are known.

    python docs/settling.py FOLDER [PAIRS] > table.md

FOLDER has TREC-2, PAIRS is how many pairs are drawn. Each group has one run. Both runs
of a pair are held out: the pool is made of the others, the model of unjudged documents learned from them. Then
documents are judged one at a time, each chosen after the label of the one before, until the pair is decided.

- The oracle knows the labels, and judges only what raises the lowest lead of the run that wins, the heaviest first.
- The random order takes the documents that can change the difference in any order, and stops by the same rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from left_out import Collection, trec_2

from cranfield.base.tables import table_of
from cranfield.evaluate.align import align
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measure import own_measures, parse_measures
from cranfield.report.rendering import renderers
from cranfield.reuse.assess import measure_depths
from cranfield.reuse.expected_loss import ModelCache
from cranfield.reuse.intervals import identities, interval_depth
from cranfield.reuse.pairs import TOLERANCE, OpenScore, open_score
from cranfield.reuse.provenance import prefixes_of
from cranfield.reuse.settle import Goal, Judging, learned_chances
from cranfield.runs.run import Run

DEPTHS = (10, 20)
MEASURES = ("P@10", "DCG@10", "nDCG@10")
PAIRS, RANDOM_ORDERS, SEED = 30, 2, 1
GOALS: tuple[Goal, Goal] = ("certain", "likely")
COLUMNS = (
    "measure",
    "pool depth",
    "pairs",
    "unjudged",
    "certain: oracle",
    "settle",
    "ratio",
    "random / oracle",
    "not likely at first",
    "likely: random",
    "settle",
    "ratio",
    "of medians",
    "likely right",
    "within range",
)


@dataclass(frozen=True)
class Course:
    """How many judgments one pair took, by each order, and whether what was called likely came true."""

    unjudged: int
    oracle: int
    certain: int
    random_certain: float
    likely: int
    random_likely: float
    is_right: bool
    is_within: bool


def main() -> None:
    """Read, judge, write."""
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else PAIRS
    sys.stdout.write(table(binary(trec_2(Path(sys.argv[1]))), pairs))


def binary(collection: Collection) -> Collection:
    """The same with two grades."""
    return replace(collection, grades={pair: min(grade, 1) for pair, grade in collection.grades.items()})


def table(collection: Collection, pairs: int) -> str:
    """The table as Markdown."""
    rng = np.random.default_rng(SEED)
    groups = {one.run: one.group for one in collection.contributors}
    of_group = {groups[run.tag]: run for run in sorted(collection.runs, key=lambda _: rng.random())}
    chosen, lines = list(of_group.values()), []
    both = [(one, two) for one in range(len(chosen)) for two in range(one)]
    drawn = [both[place] for place in rng.permutation(len(both))[:pairs].tolist()]
    for depth in DEPTHS:
        found = [courses(collection, chosen, pair, depth, rng) for pair in drawn]
        of_measure = zip(MEASURES, zip(*found, strict=True), strict=True)
        lines += [(measure, str(depth), *line(some)) for measure, some in of_measure]
    return renderers.get("markdown")(table_of(list(COLUMNS), lines))


def line(found: Sequence[Course]) -> Iterator[str]:
    """Give one line of the table: means over pairs, and ratios of them."""
    certain = [one for one in found if one.certain]
    open_ones = [one for one in found if one.likely]

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if values else float("nan")

    oracle, settled = mean([one.oracle for one in certain]), mean([one.certain for one in certain])
    likely, random = [one.likely for one in open_ones], [one.random_likely for one in open_ones]
    yield str(len(certain))
    yield f"{mean([one.unjudged for one in certain]):.0f}"
    yield f"{oracle:.0f}"
    yield f"{settled:.0f}"
    yield f"{settled / oracle:.2f}"
    yield f"{mean([one.random_certain for one in certain]) / oracle:.2f}"
    yield str(len(open_ones))
    yield f"{mean(random):.0f}"
    yield f"{mean(likely):.0f}"
    yield f"{mean(likely) / mean(random):.2f}"
    yield f"{np.median(likely) / np.median(random):.2f}" if likely else "-"
    yield f"{100 * mean([one.is_right for one in found]):.0f}%"
    yield f"{100 * mean([one.is_within for one in certain]):.0f}%"


def courses(
    collection: Collection, runs: Sequence[Run], pair: tuple[int, int], depth: int, rng: np.random.Generator
) -> list[Course]:
    """Settle one pair of runs that did not contribute to the pool of the others, by each measure."""
    others = [run for place, run in enumerate(runs) if place not in pair]
    field, qrels = [*(runs[place] for place in pair), *others], replace(collection, runs=others).qrels(depth)
    aligned = align(qrels, field, keep_rows=True)
    contributors = [one for one in collection.contributors if one.run in {run.tag for run in others}]
    provenance = prefixes_of(aligned, qrels, field, contributors, depth=depth).by("group")
    cache, documents = ModelCache(aligned, provenance), identities(aligned, field)
    grades, found = collection.grades, list[Course]()
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
    certain, likely = (walk(contest, judging, goal, labels) for goal in GOALS)
    number, ahead = judging.expected_number("certain", rng), likely.ahead(likely.expected)
    randomly = [
        np.mean([judged(walk(contest, judging, goal, labels, rng)) for _ in range(RANDOM_ORDERS)]) for goal in GOALS
    ]
    return Course(
        unjudged=int((judging.moves.max(axis=0) > TOLERANCE).sum()),
        oracle=oracle(judging, labels, truth),
        certain=judged(certain),
        random_certain=float(randomly[0]),
        likely=judged(likely),
        random_likely=float(randomly[1]),
        is_right=abs(truth) <= TOLERANCE or (ahead > 0.5) == (truth > 0),
        is_within=number.low <= judged(certain) <= number.high,
    )


def walk(
    contest: OpenScore, judging: Judging, goal: Goal, labels: Values, rng: np.random.Generator | None = None
) -> Judging:
    """Judge until the pair is decided; for certain, by its true interval. With `rng` in a random order."""
    rest, random = deepcopy(judging), None if rng is None else rng.random(len(labels))
    matters = judging.moves.max(axis=0) > TOLERANCE
    while (rest.is_open & matters).any():
        if rest.is_decided(goal):
            places = np.flatnonzero(~rest.is_open)
            known = contest.after(places, labels[places].astype(np.int32)).difference
            if goal == "likely" or known.is_decided:
                break
        gain = rest.gain(goal) if random is None else random
        place = np.argmax(np.where(rest.is_open & matters, gain, -1.0), keepdims=True)
        rest.judge(place, labels[place].astype(np.int64))
    return rest


def judged(judging: Judging) -> int:
    """Count the documents that were judged."""
    return int((~judging.is_open).sum())


def oracle(judging: Judging, labels: Values, truth: float) -> int:
    """Count what has to be judged to raise the lowest lead above 0 if the labels are known; all for a tie."""
    (mine, other), low = judging.moves, judging.low
    if truth < 0:
        (other, mine), low = judging.moves, -judging.high
    raised = np.sort(labels * mine + (1 - labels) * other)[::-1]
    enough = low + np.concatenate([[0.0], np.cumsum(raised)]) > TOLERANCE
    return int(np.argmax(enough)) if enough.any() else int((judging.moves.max(axis=0) > TOLERANCE).sum())


if __name__ == "__main__":
    main()
