"""Student's paired t-test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.registry import deferred
from cranfield.compare.differences import TestResult, paired_differences, significance_test

with deferred:
    from scipy import special


@significance_test("t", "student", "paired-t", title="paired t")
def student(a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator) -> TestResult:
    """The paired t-test: is the mean difference zero, where differences are normal? Nothing is drawn.

        t = mean(d) / (sd(d) / √n),  p = P(|T| ≥ |t|) with n − 1 degrees of freedom

    Without spread t is not defined. All differences zero: t = 0, p = 1. All equal but not zero, or one topic only:
    t = ±∞, and p = 2^(1−n), that of the randomisation test, because a p of 0 would claim a certainty that n equal
    numbers do not give; the result is marked degenerate.

    Source: Student, "The probable error of a mean", Biometrika 6, 1908; for retrieval Smucker, Allan and
    Carterette, CIKM 2007.
    """
    differences = paired_differences(a, b)
    values, constant = differences.values, differences.constant
    p = differences.constant_p()
    statistic = np.where(values[:, 0] == 0, 0.0, np.copysign(np.inf, values[:, 0]))
    if not constant.all():
        spread = values[~constant]
        topics = spread.shape[1]
        t = spread.mean(axis=1) / np.sqrt(spread.var(axis=1, ddof=1) / topics)
        # Not `scipy.stats`, which takes longer to load than most comparisons take.
        statistic[~constant], p[~constant] = t, 2 * special.stdtr(topics - 1, -np.abs(t))
    return differences.result(statistic, p, degenerate=constant)
