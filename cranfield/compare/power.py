"""What a topic set can show: discriminative power, topics needed, the smallest difference that would be found."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.compare.differences import as_scores, check_share, significant

with deferred:
    import scipy.optimize as optimize
    import scipy.special as special

MOST_TOPICS = 10**9


@dataclass(frozen=True, slots=True)
class DiscriminativePower:
    """How many pairs of systems a measure and topic set tell apart, and the smallest difference that it took."""

    pairs: int
    significant: int
    smallest_difference: float

    @property
    def share(self) -> float:
        """The share of pairs that are significant."""
        return self.significant / self.pairs


def discriminative_power(p: ArrayLike, differences: ArrayLike, *, alpha: float = 0.05) -> DiscriminativePower:
    """Discriminative power: the share of all pairs with p ≤ alpha, by one test with a fixed number of draws.

    `p` and `differences` have one value per pair. Published figures use p-values that are not corrected, or those of
    Tukey's test: say which. `smallest_difference` is the smallest |difference| that was significant, NaN if none was.
    High power does not make a measure valid: one that always prefers the longer name has it too.

    Source: Sakai, "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006.
    """
    found, sizes = significant(p, alpha=alpha), np.abs(np.asarray(differences, dtype=np.float64))
    if found.ndim != 1 or found.shape != sizes.shape or not found.size:
        raise UsageError("discriminative power needs one p-value and one difference for each of at least one pair")
    smallest = float(sizes[found].min()) if found.any() else math.nan
    return DiscriminativePower(found.size, int(found.sum()), smallest)


def residual_deviation(scores: ArrayLike) -> float:
    """The standard deviation of paired differences, estimated from all runs: √(2 · V_E).

        V_E = Σ (x − run mean − topic mean + mean)² / ((runs − 1)(topics − 1))

    the residual variance of a two-way analysis of variance; `scores` is runs × topics. With two runs it is the
    deviation of their differences. It supposes that every pair of runs differs equally much around its mean.

    Source: Sakai, "Topic set size design", Information Retrieval Journal 19, 2016.
    """
    matrix = as_scores(scores)
    if matrix.ndim != 2 or min(matrix.shape) < 2:
        raise UsageError("the residual deviation needs at least two runs and two topics")
    rest = matrix - matrix.mean(axis=1, keepdims=True) - matrix.mean(axis=0, keepdims=True) + matrix.mean()
    freedom = (matrix.shape[0] - 1) * (matrix.shape[1] - 1)
    return math.sqrt(2 * float((rest**2).sum()) / freedom)


def t_test_power(topics: int, *, difference: float, deviation: float, alpha: float = 0.05) -> float:
    """The chance that a two-sided paired t-test finds a true difference of means.

        P(|T| ≥ t₁₋α/₂),  T noncentral t with n − 1 degrees of freedom, noncentrality √n · difference / deviation

    Fewer than two topics: 0. A deviation of 0: 1 for any true difference, alpha for none.
    """
    _check_positive(alpha=alpha, deviation=deviation)
    if topics < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else alpha
    return _power_at(topics, math.sqrt(topics) * abs(difference) / deviation, alpha)


def topics_needed(*, difference: float, deviation: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """The fewest topics on which a two-sided paired t-test finds `difference` with chance `power`.

    `deviation` is that of the paired differences: see `residual_deviation`.
    At least 2. A true difference of 0 is never found: an error.

    Source: Sakai 2016, with the exact power in place of the approximation.
    """
    _check_positive(alpha=alpha, deviation=deviation)
    check_share("power", power)
    if not abs(difference) > 0:
        raise UsageError("no number of topics detects a difference of 0")

    def enough(topics: int) -> bool:
        return t_test_power(topics, difference=difference, deviation=deviation, alpha=alpha) >= power

    few, many = 1, 2
    while not enough(many):
        few, many = many, many * 2
        if many > MOST_TOPICS:
            raise UsageError(f"more than {MOST_TOPICS:,} topics would be needed for so small a difference")
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


def detectable_difference(topics: int, *, deviation: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference that a two-sided paired t-test on that many topics finds with chance `power`.

    Fewer than two topics: ∞. A deviation of 0: 0. A power not above alpha is an error: it needs no difference.
    """
    _check_positive(alpha=alpha, deviation=deviation)
    check_share("power", power)
    if power <= alpha:
        raise UsageError(f"power {power} must exceed alpha {alpha}")
    if topics < 2:
        return math.inf
    high = 1.0
    while _power_at(topics, high, alpha) < power:
        high *= 2
    shift = optimize.brentq(lambda value: _power_at(topics, value, alpha) - power, 0.0, high, xtol=1e-10)
    return float(shift) * deviation / math.sqrt(topics)


def _power_at(topics: int, shift: float, alpha: float) -> float:
    """Give the chance that |T| reaches the critical value, for a noncentrality `shift` ≥ 0.

    T² is noncentral F with 1 and n − 1 degrees of freedom, which takes both tails in one; scipy's noncentral t gives
    NaN for a tail that is far out. A noncentrality 40 times the critical value is found with certainty.
    """
    freedom = topics - 1
    critical = float(special.stdtrit(freedom, 1 - alpha / 2))
    if shift > 40 * (1 + critical):
        return 1.0
    missed = float(special.ncfdtr(1, freedom, shift**2, critical**2))
    if math.isnan(missed):
        raise UsageError(f"the power of {topics} topics at alpha {alpha} cannot be computed")
    return 1.0 - missed


def _check_positive(*, alpha: float, deviation: float) -> None:
    check_share("alpha", alpha)
    if not 0 <= deviation < math.inf:
        raise UsageError(f"the standard deviation must be a number of at least 0, not {deviation!r}")
