"""The sign test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.registry import deferred
from cranfield.compare.differences import TestResult, paired_differences, significance_test

with deferred:
    from scipy import stats


@significance_test("sign", title="sign test", counts_signs=True)
def sign(a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator) -> TestResult:
    """The sign test: do wins and losses fall like coins? How large they are does not count. Nothing is drawn.

        statistic = wins − losses,  p = min(1, 2 · P(X ≤ min(wins, losses))),  X binomial(wins + losses, ½)

    Ties are left out. With nothing but ties p = 1. Exact always.

    Source: Arbuthnott 1710; Conover, "Practical Nonparametric Statistics".
    """
    differences = paired_differences(a, b)
    wins = (differences.values > 0).sum(axis=1)
    losses = (differences.values < 0).sum(axis=1)
    p = 2 * stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
    return differences.result(wins - losses, p, exact=np.ones(len(wins), dtype=bool), degenerate=wins + losses == 0)
