"""The paired bootstrap test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.differences import DRAWS, TestResult, paired_differences, resampled_sums, significance_test


@significance_test("bootstrap", title="paired bootstrap", counts_signs=True)
def bootstrap(a: ArrayLike, b: ArrayLike, *, draws: int = DRAWS, rng: np.random.Generator) -> TestResult:
    """The paired bootstrap test, by the shift method: would topics drawn again, around zero, give as large a mean?

        w = d − mean(d),  p = (1 + #{|mean(w*)| ≥ |mean(d)|}) / (1 + draws),  w* drawn from w with replacement

    The shifted sample is narrower than the population by √((n−1)/n), so few topics give p-values that are too
    small: with fewer than 20 prefer the randomisation test. p is never below 2^(1−n), what n signs can say (with two
    topics the plain method would find everything significant). All differences equal: that bound, or 1 if all are
    zero, marked degenerate. The statistic is the mean difference.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 16; Smucker, Allan and
    Carterette, CIKM 2007.
    """
    differences = paired_differences(a, b)
    mean = differences.values.mean(axis=1)
    shifted = differences.values - mean[:, None]
    threshold = differences.topics * (np.abs(mean) - differences.noise)
    hits = np.zeros(len(mean), dtype=np.int64)
    for sums in resampled_sums(shifted, draws=draws, rng=rng):
        hits += (np.abs(sums) >= threshold).sum(axis=0)
    p = np.maximum((1 + hits) / (1 + draws), differences.smallest_p)
    constant = differences.constant
    return differences.result(mean, np.where(constant, differences.constant_p(), p), degenerate=constant)
