"""How large a difference is: absolute, relative, in standard deviations, in topics won and lost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.differences import Differences, as_scores, paired_differences
from cranfield.compare.result import Counts, Values
from cranfield.errors import UsageError


@dataclass(frozen=True, eq=False)
class Tally:
    """Topics on which `a` wins, ties and loses against `b`, one count per pair."""

    wins: Counts
    ties: Counts
    losses: Counts


def mean_difference(a: ArrayLike, b: ArrayLike) -> Values:
    """The mean over topics of a − b; the same as the difference of the means, with less rounding."""
    differences = paired_differences(a, b)
    return np.reshape(differences.values.mean(axis=1), differences.shape)


def relative_difference(a: ArrayLike, b: ArrayLike) -> Values:
    """The mean difference as a share of b's mean: (mean(a) − mean(b)) / |mean(b)|.

    Where b's mean is 0: 0 if the difference is 0 too, else ±∞. It says nothing about spread, and a percentage of a
    small score looks large.
    """
    differences = paired_differences(a, b)
    change = differences.values.mean(axis=1)
    base = np.abs(np.atleast_2d(as_scores(b)).mean(axis=1))
    return np.reshape(_quotient(change, np.where(base <= differences.noise, 0.0, base)), differences.shape)


def cohen(a: ArrayLike, b: ArrayLike) -> Values:
    """Cohen's d_z, the standardised paired effect: mean(d) / sd(d), with n − 1 in the deviation.

    All differences zero: 0. Equal but not zero: ±∞. One topic: NaN, since there is no spread to measure with. It is
    t / √n, so it tells how consistent a difference is, not how much a user would notice.

    Source: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988.
    """
    differences = paired_differences(a, b)
    return np.reshape(_standardised(differences), differences.shape)


def hedges(a: ArrayLike, b: ArrayLike) -> Values:
    """Hedges' g_z: d_z without its bias upwards on few topics.

        g = d_z · Γ(m/2) / (√(m/2) · Γ((m−1)/2)),  m = n − 1

    Fewer than three topics: NaN, because d_z has no expectation to be corrected. Other edges as d_z.

    Source: Hedges, "Distribution theory for Glass's estimator of effect size", 1981.
    """
    differences = paired_differences(a, b)
    return np.reshape(_standardised(differences) * hedges_factor(differences.topics), differences.shape)


def hedges_factor(topics: int) -> float:
    """The number, below 1, that takes the bias out of d_z."""
    from scipy import special

    freedom = topics - 1
    if freedom < 2:
        return float("nan")
    return float(np.exp(special.gammaln(freedom / 2) - special.gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def tally(a: ArrayLike, b: ArrayLike, *, tolerance: float = 0.0) -> Tally:
    """Count the topics that `a` wins, ties and loses; up to `tolerance` is a tie, and noise always is."""
    if not 0 <= tolerance < np.inf:
        raise UsageError(f"a tolerance is a number from 0 on, not {tolerance!r}")
    differences = paired_differences(a, b)
    limit = (tolerance + differences.noise)[:, None]
    wins = (differences.values > limit).sum(axis=1)
    losses = (differences.values < -limit).sum(axis=1)
    ties = differences.topics - wins - losses
    return Tally(*(np.reshape(count, differences.shape) for count in (wins, ties, losses)))


def _standardised(differences: Differences) -> Values:
    values = differences.values
    if differences.topics == 1:
        return np.full(len(values), np.nan)
    deviation = np.where(differences.constant, 0.0, values.std(axis=1, ddof=1))
    return _quotient(values.mean(axis=1), deviation)


def _quotient(above: Values, below: Values) -> Values:
    """Divide; 0 by 0 is 0, and anything else by 0 is infinite."""
    endless = np.where(above == 0, 0.0, np.copysign(np.inf, above))
    return np.divide(above, below, out=endless, where=below != 0)
