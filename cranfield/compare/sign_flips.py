"""The exact null distribution of a sum whose signs are coins.

Under the null hypothesis each paired difference is as likely to be d as −d. The 2^n sums are never all listed:
differences that are multiples of one step (those of P@10, of ranks) are counted by dynamic programming over the
sum, whatever n is; other ones, for small n, by sorting the sums of each half and meeting in the middle.
"""

import numpy as np

from cranfield.compare.result import Counts, Values

LARGEST_TABLE = 2**20
"""Additions that one exact p-value may cost by dynamic programming."""

LARGEST_ENUMERATION = 24
"""Non-zero differences up to which the 2^n sums are counted (two sorted lists of 2^12)."""


def exact_p(differences: Values, *, noise: float) -> float | None:
    """Give P(|Σ ±d| ≥ |Σ d|) over all signs, or None where that would be too much work.

    Zero differences do not matter, since their sign changes nothing. Sums nearer than n · noise are equal.
    """
    nonzero = differences[differences != 0]
    observed, tolerance = abs(float(nonzero.sum())), len(nonzero) * noise
    if observed <= tolerance:
        return 1.0
    steps = on_lattice(nonzero, noise=noise)
    if steps is not None:
        return two_sided_tail(np.abs(steps), abs(int(steps.sum())))
    if len(nonzero) <= LARGEST_ENUMERATION:
        return _met_in_the_middle(np.abs(nonzero), observed - tolerance)
    return None


def two_sided_tail(weights: Counts, observed: int) -> float:
    """Give P(|Σ ±w| ≥ observed) for positive integer weights, by adding one coin after the other.

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


def table_fits(weights: int, total: float) -> bool:
    """Say whether `two_sided_tail` is cheap for that many weights of that sum."""
    return weights * total <= LARGEST_TABLE


def on_lattice(nonzero: Values, *, noise: float) -> Counts | None:
    """Give the differences as multiples of one step, or None where there is no step large enough to be useful."""
    sizes = np.unique(np.abs(nonzero))
    total = float(np.abs(nonzero).sum())
    smallest_step = total * len(nonzero) / LARGEST_TABLE
    if sizes[-1] < smallest_step:
        return None
    step = _common_step(sizes.tolist(), smallest_step)
    multiples = np.rint(nonzero / step)
    step = total / float(np.abs(multiples).sum())
    fits = np.abs(nonzero - multiples * step).max() <= 4 * noise and (multiples != 0).all()
    return multiples.astype(np.int64) if fits and table_fits(len(nonzero), total / step) else None


def _common_step(sizes: list[float], smallest: float) -> float:
    """Give the greatest common divisor of the sizes, taking what is below half the smallest step for zero."""
    step = sizes[0]
    for size in sizes[1:]:
        larger, rest = size, step
        while rest >= smallest / 2:
            quotient = round(larger / rest)
            larger, rest = rest, abs(larger - quotient * rest)
        step = larger
    return max(step, smallest / 2)


def _met_in_the_middle(sizes: Values, threshold: float) -> float:
    """Count the sign vectors with a sum of at least `threshold` > 0; by symmetry as many are at most −threshold."""
    middle = len(sizes) // 2
    first, second = _all_sums(sizes[:middle]), np.sort(_all_sums(sizes[middle:]))
    reaching = len(second) - np.searchsorted(second, threshold - np.sort(first), side="left")
    return 2.0 * float(reaching.sum()) / (len(first) * len(second))


def _all_sums(sizes: Values) -> Values:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums
