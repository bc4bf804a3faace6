"""How far assessors agree: coefficients with intervals, in all, by topic, and by pair of assessors.

Confidence intervals are percentiles of a bootstrap over items. The customary thresholds for alpha (.667, .8) come
from content analysis; relevance judgments rarely reach them, and system rankings are stable nevertheless. No
threshold is enforced here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

DRAWS = 1000
CONFIDENCE = 0.95
COEFFICIENTS: Mapping[str, str] = {
    "raw": "share of pairs of opinions with the same grade",
    "positive": "positive agreement on relevance: 2a / (2a + b + c)",
    "overlap": "overlap of the relevant sets: a / (a + b + c)",
    "kappa": "Cohen's kappa",
    "kappa-linear": "Cohen's kappa, linear weights",
    "kappa-quadratic": "Cohen's kappa, quadratic weights",
    "fleiss": "Fleiss' kappa",
    "alpha-nominal": "Krippendorff's alpha, nominal",
    "alpha-ordinal": "Krippendorff's alpha, ordinal",
    "alpha-interval": "Krippendorff's alpha, interval",
}
"""The names of the coefficients, and what they are."""


@dataclass(frozen=True)
class Estimate:
    """An agreement coefficient with its confidence interval over `items` documents; None where it is undefined."""

    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    items: int


@dataclass(frozen=True)
class Steps:
    """The grades that were given, lowest first, and the index of the first that counts as relevant.

    After a change of scale a grade can occur twice: once below and once above the relevance threshold.
    """

    grades: tuple[int, ...]
    relevant_from: int

    @property
    def names(self) -> tuple[int | str, ...]:
        """The label of each step: its grade, and where a grade occurs twice, whether it is relevant."""
        return tuple(
            grade
            if self.grades.count(grade) == 1
            else f"{grade} {'' if place >= self.relevant_from else 'not '}relevant"
            for place, grade in enumerate(self.grades)
        )

    @property
    def values(self) -> Numbers:
        """The grades as numbers."""
        return np.array(self.grades, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Labels:
    """Judgments of several assessors, one per row: item (a document of a topic), assessor, grade and topic.

    `places` are indexes into the grades of `steps`; no assessor judges an item twice.
    """

    steps: Steps
    items: Codes
    assessors: Codes
    places: Codes
    topics: Codes
    assessor_names: tuple[str, ...]
    topic_names: tuple[str, ...]

    @cached_property
    def counts(self) -> Numbers:
        """Assessors per grade, one row for each item with two or more judgments."""
        codes, items = np.unique(self.items, return_inverse=True)
        counts = np.zeros((len(codes), len(self.steps.grades)))
        np.add.at(counts, (items, self.places), 1)
        several: Numbers = counts[counts.sum(1) > 1]
        return several


def agreement(labels: Labels, *, rng: np.random.Generator) -> list[Estimate]:
    """The coefficients for any number of assessors; items with a single judgment are excluded.

    Fleiss' kappa requires the same number of judgments for every item: it uses the items with the most common number.
    """
    counts = labels.counts
    patterns, times = _kinds(counts)
    sizes, often = np.unique(counts.sum(1), return_counts=True)
    # Of two equally common numbers, the larger.
    commonest = sizes[::-1][np.argmax(often[::-1])] if len(sizes) else 0
    even, even_times = _kinds(counts[counts.sum(1) == commonest])
    once = partial(coincidences, each_label_once=True)
    return _estimates(
        rng,
        (times, lambda some: _of_coincidences(coincidences(patterns, some), once(patterns, some), labels.steps)),
        (even_times, lambda some: {"fleiss": fleiss_kappa(even, some)}),
    )


def agreement_of_two(table: Codes, steps: Steps, *, rng: np.random.Generator) -> list[Estimate]:
    """The coefficients for two assessors, from the table of their grades (first by rows, second by columns)."""
    size = len(steps.grades)

    def compute(times: Numbers) -> dict[str, Numbers]:
        tables = times.reshape(*times.shape[:-1], size, size)
        both_ways = tables + np.swapaxes(tables, -2, -1)
        return {
            **_of_coincidences(both_ways, both_ways, steps),
            "kappa": kappa(tables),
            "kappa-linear": kappa(tables, weights="linear"),
            "kappa-quadratic": kappa(tables, weights="quadratic"),
        }

    return _estimates(rng, (table.astype(np.float64).reshape(-1), compute))


def pooled_confusion(labels: Labels) -> Codes:
    """Count the pairs of judgments of the same item by their two grades, the lower one by row."""
    patterns, times = _kinds(labels.counts)
    pairs = coincidences(patterns, times)
    return np.rint(np.triu(pairs) - np.diag(np.diag(pairs)) / 2).astype(np.int64)


def by_pair(labels: Labels) -> Iterator[tuple[str, str, Codes]]:
    """(assessor, assessor, confusion table) of every two assessors with items in common.

    The table counts the items that both judged, by the grade of the first (rows) and of the second (columns).
    """
    size = len(labels.steps.grades)
    for first, second in combinations(range(len(labels.assessor_names)), 2):
        one, other = labels.assessors == first, labels.assessors == second
        _, here, there = np.intersect1d(labels.items[one], labels.items[other], return_indices=True)
        if len(here):
            table = np.zeros((size, size), dtype=np.int64)
            np.add.at(table, (labels.places[one][here], labels.places[other][there]), 1)
            yield labels.assessor_names[first], labels.assessor_names[second], table


def by_topic(labels: Labels) -> Iterator[tuple[str, Labels]]:
    """(topic, its labels) of the topics with items judged twice or more."""
    for place, name in enumerate(labels.topic_names):
        rows = labels.topics == place
        columns = ("items", "assessors", "places", "topics")
        part = replace(labels, **{column: getattr(labels, column)[rows] for column in columns})
        if len(part.counts):
            yield name, part


def _kinds(counts: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct patterns of grades, and how many items have each: few, however many items there are."""
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    return patterns, times.astype(np.float64)


def _estimates(
    rng: np.random.Generator, *parts: tuple[Numbers, Callable[[Numbers], dict[str, Numbers]]]
) -> list[Estimate]:
    """Compute coefficients from how often each pattern occurs, and bootstrap their intervals.

    Items with one pattern are interchangeable: a bootstrap sample is a multinomial draw of how often each occurs.
    """
    made, edges = list[Estimate](), ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    for times, compute in parts:
        items = int(times.sum())
        drawn = rng.multinomial(items, times / items, size=DRAWS).astype(np.float64) if items else times[None]
        again = compute(drawn)
        for name, value in compute(times).items():
            # Draws in which the coefficient is not defined are left out.
            defined = again[name][~np.isnan(again[name])]
            if not items or np.isnan(value) or not len(defined):
                made.append(Estimate(name, None, None, None, items))
            else:
                low, high = np.quantile(defined, edges)
                made.append(Estimate(name, float(value), float(low), float(high), items))
    return sorted(made, key=lambda one: list(COEFFICIENTS).index(one.coefficient))


# Coefficients of agreement, from counts alone, for many resampled counts at once.

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]


def ratio(above: Numbers, below: Numbers) -> Numbers:
    """Divide; NaN where the divisor is 0."""
    result = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    np.divide(above, below, out=result, where=np.asarray(below) != 0)
    return result


def kappa(tables: Numbers, *, weights: Weights = "none") -> Numbers:
    """Cohen's kappa, plain or weighted: 1 − Σ w·observed / Σ w·expected.

    w is 1 off the diagonal, or the distance of the two places, or its square. Not defined where both assessors gave
    one and the same grade throughout: nothing could have differed. Cohen 1960, 1968.
    """
    apart = np.abs(np.subtract.outer(np.arange(tables.shape[-1]), np.arange(tables.shape[-1]))).astype(np.float64)
    cost = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    total = tables.sum((-2, -1))
    expected = tables.sum(-1)[..., :, None] * tables.sum(-2)[..., None, :]
    return 1 - ratio((cost * tables).sum((-2, -1)) * total, (cost * expected).sum((-2, -1)))


def _of_coincidences(pairs: Numbers, single: Numbers, steps: Steps) -> dict[str, Numbers]:
    """The coefficients of `pairs` of opinions, and alpha of coincidences in which each label counts once.

    In a pairs of opinions both say relevant, in b and c only one. Raw is the share of pairs with the same grade;
    positive agreement 2a / (2a + b + c); overlap a / (a + b + c), the relevant sets' intersection over their union,
    the number of the older TREC papers. The last two are not defined where nobody says relevant.
    """
    place = steps.relevant_from
    both = pairs[..., place:, place:].sum((-2, -1))
    one = pairs[..., place:, :place].sum((-2, -1)) + pairs[..., :place, place:].sum((-2, -1))
    return {
        "raw": ratio(np.trace(pairs, axis1=-2, axis2=-1), pairs.sum((-2, -1))),
        "positive": ratio(2 * both, 2 * both + one),
        "overlap": ratio(both, both + one),
        **{f"alpha-{level}": alpha(single, level=level, values=steps.values) for level in get_args(Level)},
    }


def alpha(pairs: Numbers, *, level: Level, values: Numbers) -> Numbers:
    """Krippendorff's alpha: 1 − observed / expected disagreement, of coincidences in which each label counts once.

    δ² is 0 or 1 (nominal); the square of the difference of `values` (interval); the square of how many labels lie
    between, half of both ends included (ordinal). Not defined where all labels are the same. Krippendorff 2011.
    """
    labels = pairs.sum(-1)
    total = labels.sum(-1)
    if level == "nominal":
        squares = 1 - np.eye(len(values))
    else:
        # Labels below a grade and half of its own: the difference of two of these is Krippendorff's ordinal metric.
        middles = np.cumsum(labels, -1) - labels / 2 if level == "ordinal" else values
        squares = (middles[..., :, None] - middles[..., None, :]) ** 2
    observed = (pairs * squares).sum((-2, -1))
    expected = (labels[..., :, None] * labels[..., None, :] * squares).sum((-2, -1))
    return 1 - ratio(observed * (total - 1), expected)


def coincidences(patterns: Numbers, times: Numbers, *, each_label_once: bool = False) -> Numbers:
    """All pairs of opinions on the same item, each counted from both sides.

    As alpha wants them, every label of an item counts once, however many others it is paired with.
    """
    grades = patterns.shape[-1]
    pairs = patterns[:, :, None] * patterns[:, None, :] - patterns[:, :, None] * np.eye(grades)
    weight = 1 / np.maximum(patterns.sum(-1) - 1, 1) if each_label_once else np.ones(len(patterns))
    flat = (pairs * weight[:, None, None]).reshape(len(patterns), grades * grades)
    return (times @ flat).reshape(*times.shape[:-1], grades, grades)


def fleiss_kappa(patterns: Numbers, times: Numbers) -> Numbers:
    """Fleiss' kappa: (P − Pe) / (1 − Pe), P the mean agreement in an item, Pe by the shares of the grades.

    Every item must have the same number of labels, two or more. Not defined where all are the same. Fleiss 1971.
    """
    labels = patterns.sum(-1)[0] if len(patterns) else 0.0
    within = ((patterns**2).sum(-1) - labels) / max(labels * (labels - 1), 1)
    items = times.sum(-1)
    observed = ratio(times @ within, items)
    shares = ratio(times @ patterns, (items * labels)[..., None])
    by_chance = (shares**2).sum(-1)
    return ratio(observed - by_chance, 1 - by_chance)
