"""How wide the interval of a difference between two runs is on these topics: what a tolerance is worth beside it."""

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.differences import as_scores


def median_half_width(scores: ArrayLike, *, confidence: float = 0.95) -> float:
    """The median over all pairs of runs of half the t-interval of their mean difference.

        t(n − 1) · √(var(a − b) / n),    var(a − b) = var a + var b − 2 cov(a, b)

    `scores` is runs × topics. NaN with fewer than two runs or topics.
    """
    from scipy.special import stdtrit

    table = as_scores(scores)
    runs, topics = table.shape
    if runs < 2 or topics < 2:
        return float("nan")
    covariance = np.atleast_2d(np.cov(table))
    spread = np.diag(covariance)
    first, second = np.triu_indices(runs, k=1)
    variance = np.maximum(spread[first] + spread[second] - 2 * covariance[first, second], 0.0)
    return float(np.median(stdtrit(topics - 1, 0.5 + confidence / 2) * np.sqrt(variance / topics)))
