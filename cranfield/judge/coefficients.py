"""Coefficients of agreement, from counts alone, for many resampled counts at once.

Two shapes go in. A *table* counts items by the grade of the first assessor (rows) and of the second (columns).
*Patterns* count, for each kind of item, how many assessors gave each grade; `times` says how often each kind occurs.
Both may have leading axes: a bootstrap is one call. Grades are places on the scale, lowest first. What is not defined
(all grades the same, nothing relevant) is NaN, never 1.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
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


def raw_agreement(coincidences: Numbers) -> Numbers:
    """The share of pairs of opinions with the same grade."""
    return ratio(np.trace(coincidences, axis1=-2, axis2=-1), coincidences.sum((-2, -1)))


def positive_agreement(coincidences: Numbers, *, relevant_from: int) -> Numbers:
    """2a / (2a + b + c): a pairs of opinions say relevant both, b and c only one. Not defined without any."""
    both, one = _relevant(coincidences, relevant_from)
    return ratio(2 * both, 2 * both + one)


def overlap(coincidences: Numbers, *, relevant_from: int) -> Numbers:
    """a / (a + b + c): the relevant sets' intersection over their union, the number of the older TREC papers."""
    both, one = _relevant(coincidences, relevant_from)
    return ratio(both, both + one)


def _relevant(tables: Numbers, place: int) -> tuple[Numbers, Numbers]:
    both = tables[..., place:, place:].sum((-2, -1))
    one = tables[..., place:, :place].sum((-2, -1)) + tables[..., :place, place:].sum((-2, -1))
    return both, one


def alpha(coincidences: Numbers, *, level: Level, values: Numbers) -> Numbers:
    """Krippendorff's alpha: 1 − observed / expected disagreement, of coincidences in which each label counts once.

    δ² is 0 or 1 (nominal); the square of the difference of `values` (interval); the square of how many labels lie
    between, half of both ends included (ordinal). Not defined where all labels are the same. Krippendorff 2011.
    """
    labels = coincidences.sum(-1)
    total = labels.sum(-1)
    if level == "nominal":
        squares = 1 - np.eye(len(values))
    else:
        # Labels below a grade and half of its own: the difference of two of these is Krippendorff's ordinal metric.
        middles = np.cumsum(labels, -1) - labels / 2 if level == "ordinal" else values
        squares = (middles[..., :, None] - middles[..., None, :]) ** 2
    observed = (coincidences * squares).sum((-2, -1))
    expected = (labels[..., :, None] * labels[..., None, :] * squares).sum((-2, -1))
    return 1 - ratio(observed * (total - 1), expected)


def label_coincidences(patterns: Numbers, times: Numbers) -> Numbers:
    """Coincidences as alpha wants them: in each item every label is paired with every other, and counts once."""
    return _paired(patterns, times, 1 / np.maximum(patterns.sum(-1) - 1, 1))


def pair_coincidences(patterns: Numbers, times: Numbers) -> Numbers:
    """All pairs of opinions on the same item, each counted from both sides."""
    return _paired(patterns, times, np.ones(len(patterns)))


def _paired(patterns: Numbers, times: Numbers, weight: Numbers) -> Numbers:
    grades = patterns.shape[-1]
    pairs = patterns[:, :, None] * patterns[:, None, :] - patterns[:, :, None] * np.eye(grades)
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
