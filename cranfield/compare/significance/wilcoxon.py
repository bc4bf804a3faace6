"""Wilcoxon's signed-rank test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.registry import deferred
from cranfield.compare.differences import (
    Counts,
    Differences,
    TestResult,
    Values,
    paired_differences,
    significance_test,
)

with deferred:
    from scipy import stats


LARGEST_TABLE = 2**20
"""Additions that one exact p-value may cost."""


@significance_test("wilcoxon", "signed-rank", title="Wilcoxon's signed ranks", counts_signs=True)
def wilcoxon(a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator) -> TestResult:
    """Wilcoxon's signed-rank test: do the ranks of the differences balance? Nothing is drawn.

        W = Σ sign(d) · rank(|d|),  p = P(|W*| ≥ |W|) over all signs

    Zero differences are left out before ranking, equal ones share the mean of their ranks. Up to about 100 non-zero
    differences p is exact, ties included (which scipy's exact method does not do); beyond that it is the normal
    approximation with the correction for ties and none for continuity. With nothing but zeros p = 1. It tests
    symmetry about zero, not the mean: a skewed measure can be significant here with a mean difference of 0.

    Source: Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1, 1945.
    """
    differences = paired_differences(a, b)
    ranks = signed_ranks(differences)
    statistic = ranks.sum(axis=1)
    count = np.count_nonzero(ranks, axis=1)
    # Σ ±r has mean 0 and variance Σ r², in which ties are already counted.
    deviation = np.sqrt((ranks**2).sum(axis=1))
    scaled = np.divide(statistic, deviation, out=np.zeros(len(ranks)), where=deviation > 0)
    p = np.asarray(2 * stats.norm.sf(np.abs(scaled)))
    exact = count * count * (count + 1) <= LARGEST_TABLE
    # Twice a mean of ranks is an integer, and the two-sided sum is what the doubled ranks reach. Rows with the same
    # ranks and sum share the work.
    doubled = np.sort(np.abs(np.rint(2 * ranks[exact])).astype(np.int64), axis=1)
    observed = np.abs(np.rint(2 * statistic[exact])).astype(np.int64)
    rows, back = np.unique(np.column_stack([observed, doubled]), axis=0, return_inverse=True)
    p[exact] = np.array([two_sided_tail(row[1:][row[1:] > 0], int(row[0])) for row in rows])[back.ravel()]
    return differences.result(statistic, p, exact=exact, degenerate=count == 0)


def signed_ranks(differences: Differences) -> Values:
    """The rank of each |d| among the non-zero ones of its row, with the sign of d; zeros have rank 0."""
    values = differences.values
    sizes = np.abs(values)
    order = np.argsort(sizes, axis=1, kind="stable")
    ordered = np.take_along_axis(sizes, order, axis=1)
    starts = np.ones(values.shape, dtype=bool)
    starts[:, 1:] = np.diff(ordered, axis=1) > differences.noise[:, None]
    group = np.cumsum(starts.ravel()) - 1
    place = np.broadcast_to(np.arange(1.0, differences.topics + 1), values.shape).ravel()
    middle = np.bincount(group, weights=place) / np.bincount(group)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, middle[group].reshape(values.shape), axis=1)
    zeros = (values == 0).sum(axis=1, keepdims=True)
    return np.asarray(np.sign(values) * (ranks - zeros))


def two_sided_tail(weights: Counts, observed: int) -> float:
    """P(|Σ ±w| ≥ observed) for positive integer weights, by convolution of one weight after the other.

    With U the sum of the weights whose coin says plus, Σ ±w = 2U − Σw, so the distribution of U is enough.
    """
    if observed <= 0:
        return 1.0
    total = int(weights.sum())
    chance = np.zeros(total + 1)
    chance[0], reach = 1.0, 0
    for weight in np.sort(weights).tolist():
        half = chance[: reach + 1] * 0.5
        reach += weight
        chance[: len(half)] = half
        chance[weight : reach + 1] += half
    return min(1.0, 2.0 * float(chance[(total + observed + 1) // 2 :].sum()))
