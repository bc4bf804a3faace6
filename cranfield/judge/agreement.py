"""How far assessors agree: coefficients with intervals, in all, by topic, by pair of assessors, and over time.

Intervals are percentiles of a bootstrap over items. The conventional bars for alpha (.667, .8) come from content
analysis; judgments of relevance rarely reach them, and rankings of systems stand all the same: figures inform here,
they do not gate.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cranfield.judge import coefficients as by

Codes = NDArray[np.int64]
Coefficient = Callable[[by.Numbers], by.Numbers]

DRAWS = 1000
CONFIDENCE = 0.95
COEFFICIENTS: Mapping[str, str] = {
    "raw": "share of pairs of opinions with the same grade",
    "positive": "positive agreement: 2a / (2a + b + c), relevant or not",
    "overlap": "relevant for both over relevant for one of them: a / (a + b + c)",
    "kappa": "Cohen's kappa",
    "kappa-linear": "Cohen's kappa, weighted by distance",
    "kappa-quadratic": "Cohen's kappa, weighted by squared distance",
    "fleiss": "Fleiss' kappa",
    "alpha-nominal": "Krippendorff's alpha, grades as names",
    "alpha-ordinal": "Krippendorff's alpha, grades as ranks",
    "alpha-interval": "Krippendorff's alpha, grades as numbers",
}
"""The names of the coefficients, and what they are."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient with its interval, over so many items; all None where it is not defined."""

    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    items: int


@dataclass(frozen=True, slots=True)
class Steps:
    """The grades in question, lowest first, and the place of the first that counts as relevant.

    Where a scale was changed, a grade can stand twice: as one that was not relevant, and as one that is.
    """

    grades: tuple[int, ...]
    relevant_from: int

    @property
    def names(self) -> tuple[int | str, ...]:
        """What to call each step: its grade, and where that is not enough whether it is relevant."""
        return tuple(
            grade
            if self.grades.count(grade) == 1
            else f"{grade} {'' if place >= self.relevant_from else 'not '}relevant"
            for place, grade in enumerate(self.grades)
        )

    @property
    def values(self) -> by.Numbers:
        """The grades as numbers."""
        return np.array(self.grades, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Labels:
    """Opinions, one per row: which item (a document of a topic), by whom, which place on the scale, and when.

    `topics` gives each row's topic; no assessor judges an item twice.
    """

    steps: Steps
    items: Codes
    assessors: Codes
    places: Codes
    topics: Codes
    moments: NDArray[np.str_]
    assessor_names: tuple[str, ...]
    topic_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.items)

    def of(self, rows: NDArray[np.bool_]) -> "Labels":
        """Give some of the rows."""
        return replace(
            self,
            items=self.items[rows],
            assessors=self.assessors[rows],
            places=self.places[rows],
            topics=self.topics[rows],
            moments=self.moments[rows],
        )

    @cached_property
    def counts(self) -> by.Numbers:
        """How many assessors gave each grade, for each item with two opinions or more."""
        codes, items = np.unique(self.items, return_inverse=True)
        counts = np.zeros((len(codes), len(self.steps.grades)))
        np.add.at(counts, (items, self.places), 1)
        several: by.Numbers = counts[counts.sum(1) > 1]
        return several


def agreement(
    labels: Labels, *, rng: np.random.Generator, draws: int = DRAWS, confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Give the coefficients for any number of assessors; items with one opinion say nothing and are left out.

    Fleiss' kappa wants the same number of opinions for every item: it takes those with the commonest number.
    """
    patterns, times = _kinds(labels.counts)
    steps = labels.steps
    sample = partial(_estimates, rng=rng, draws=draws, confidence=confidence)
    pairs = partial(by.pair_coincidences, patterns)
    said = partial(by.label_coincidences, patterns)
    found = sample(times, {**_of_pairs(pairs, steps), **_alphas(said, steps)})
    even, even_times = _kinds(_evenly_labelled(labels.counts))
    return _in_order([*found, *sample(even_times, {"fleiss": partial(by.fleiss_kappa, even)})])


def agreement_of_two(
    table: NDArray[np.int64],
    steps: Steps,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
) -> list[Estimate]:
    """Give the coefficients for two assessors, from the table of their grades (first by rows, second by columns)."""
    size = len(steps.grades)

    def tables(times: by.Numbers) -> by.Numbers:
        return times.reshape(*times.shape[:-1], size, size)

    def both_ways(times: by.Numbers) -> by.Numbers:
        return tables(times) + np.swapaxes(tables(times), -2, -1)

    kappas: dict[str, Coefficient] = {
        "kappa": lambda times: by.kappa(tables(times)),
        "kappa-linear": lambda times: by.kappa(tables(times), weights="linear"),
        "kappa-quadratic": lambda times: by.kappa(tables(times), weights="quadratic"),
    }
    wanted = {**_of_pairs(both_ways, steps), **kappas, **_alphas(both_ways, steps)}
    times = table.astype(np.float64).reshape(-1)
    return _in_order(_estimates(times, wanted, rng=rng, draws=draws, confidence=confidence))


def confusion(labels: Labels, first: int, second: int) -> NDArray[np.int64]:
    """Count the items that two assessors both judged, by the grade of the first (rows) and of the second."""
    size = len(labels.steps.grades)
    table = np.zeros((size, size), dtype=np.int64)
    one, other = labels.assessors == first, labels.assessors == second
    _, here, there = np.intersect1d(labels.items[one], labels.items[other], return_indices=True)
    np.add.at(table, (labels.places[one][here], labels.places[other][there]), 1)
    return table


def pooled_confusion(labels: Labels) -> NDArray[np.int64]:
    """Count all pairs of opinions on the same item by their two grades, the lower one by rows."""
    patterns, times = _kinds(labels.counts)
    pairs = by.pair_coincidences(patterns, times)
    return np.rint(np.triu(pairs) - np.diag(np.diag(pairs)) / 2).astype(np.int64)


def by_pair(labels: Labels) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Give (assessor, assessor, table of their grades) for all who judged something in common."""
    for first, second in combinations(range(len(labels.assessor_names)), 2):
        table = confusion(labels, first, second)
        if table.any():
            yield labels.assessor_names[first], labels.assessor_names[second], table


def by_topic(labels: Labels) -> Iterator[tuple[str, Labels]]:
    """Give (topic, its opinions) for the topics in which something was judged by two."""
    for place, name in enumerate(labels.topic_names):
        part = labels.of(labels.topics == place)
        if len(part.counts):
            yield name, part


def over_time(labels: Labels, *, blocks: int = 5) -> Iterator[tuple[str, str, Labels]]:
    """Give (from, to, opinions) of items with two opinions or more, divided by when the last of them was given.

    The blocks have equally many items: a drift shows as coefficients that fall, or as a share of relevant that moves.
    """
    order = np.lexsort((labels.moments, labels.items))
    codes, starts, sizes = np.unique(labels.items[order], return_index=True, return_counts=True)
    last = labels.moments[order][starts + sizes - 1]
    several = np.flatnonzero(sizes > 1)
    in_time = several[np.argsort(last[several], kind="stable")]
    for part in np.array_split(in_time, min(blocks, len(in_time)) or 1):
        if len(part):
            yield str(last[part[0]]), str(last[part[-1]]), labels.of(np.isin(labels.items, codes[part]))


def share_relevant(labels: Labels) -> float:
    """Give the share of opinions that say relevant."""
    return float(np.mean(labels.places >= labels.steps.relevant_from))


def _kinds(counts: by.Numbers) -> tuple[by.Numbers, by.Numbers]:
    """Give the different kinds of items, and how many there are of each: few, however many items there are."""
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    return patterns, times.astype(np.float64)


def _evenly_labelled(counts: by.Numbers) -> by.Numbers:
    """Give the items with the commonest number of opinions; the larger number where two are as common."""
    sizes, often = np.unique(counts.sum(1), return_counts=True)
    if not len(sizes):
        return counts
    commonest = sizes[::-1][np.argmax(often[::-1])]
    even: by.Numbers = counts[counts.sum(1) == commonest]
    return even


def _of_pairs(pairs: Coefficient, steps: Steps) -> dict[str, Coefficient]:
    start = steps.relevant_from
    return {
        "raw": lambda times: by.raw_agreement(pairs(times)),
        "positive": lambda times: by.positive_agreement(pairs(times), relevant_from=start),
        "overlap": lambda times: by.overlap(pairs(times), relevant_from=start),
    }


def _alphas(said: Coefficient, steps: Steps) -> dict[str, Coefficient]:
    return {
        "alpha-nominal": lambda times: by.alpha(said(times), level="nominal", values=steps.values),
        "alpha-ordinal": lambda times: by.alpha(said(times), level="ordinal", values=steps.values),
        "alpha-interval": lambda times: by.alpha(said(times), level="interval", values=steps.values),
    }


def _estimates(
    times: by.Numbers,
    wanted: Mapping[str, Coefficient],
    *,
    rng: np.random.Generator,
    draws: int,
    confidence: float,
) -> list[Estimate]:
    """Compute coefficients, and again for items drawn with replacement.

    Items of one kind are interchangeable, so that a draw of n items is a draw of how often each kind occurs.
    """
    items = int(times.sum())
    if not items:
        return [Estimate(name, None, None, None, 0) for name in wanted]
    drawn = rng.multinomial(items, times / items, size=draws).astype(np.float64)
    edges = (1 - confidence) / 2, (1 + confidence) / 2
    return [_estimate(name, compute(times), compute(drawn), edges, items) for name, compute in wanted.items()]


def _estimate(name: str, value: by.Numbers, drawn: by.Numbers, edges: tuple[float, float], items: int) -> Estimate:
    """Make an estimate; draws in which the coefficient is not defined are left out."""
    known = drawn[~np.isnan(drawn)]
    if np.isnan(value) or not len(known):
        return Estimate(name, None, None, None, items)
    low, high = np.quantile(known, edges)
    return Estimate(name, float(value), float(low), float(high), items)


def _in_order(found: Sequence[Estimate]) -> list[Estimate]:
    names = list(COEFFICIENTS)
    return sorted(found, key=lambda one: names.index(one.coefficient))
