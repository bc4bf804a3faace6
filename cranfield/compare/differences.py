"""Paired differences, and how near two numbers must be to count as the same.

Scores are sums and quotients in doubles: 0.3 − 0.2 and 0.2 − 0.1 differ in the last digit, and a rank test that
believes it sees no tie. Whatever is nearer than `noise`, 2⁻⁴⁰ (about 10⁻¹²) of the largest score of the pair, is
the same number here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.compare.result import Flags, TestResult, Values
from cranfield.errors import InputError, UsageError
from cranfield.text import counted

RELATIVE_NOISE = 2.0**-40
LARGEST = 1e100
SMALLEST = 1e-100
SMALLEST_P = float(np.finfo(np.float64).tiny)
"""What a p-value becomes that is too small for a double: it is never 0."""


@dataclass(frozen=True, eq=False)
class Differences:
    """a − b for one or more pairs of systems: one row per pair, one column per topic.

    Differences up to the row's `noise` are exactly 0. `shape` is that of a result: () where the caller gave one row.
    """

    values: Values
    noise: Values
    shape: tuple[int, ...]

    @property
    def topics(self) -> int:
        """The number of topics, at least 1."""
        return int(self.values.shape[1])

    @property
    def constant(self) -> Flags:
        """Which pairs have the same difference on every topic; with one topic, all."""
        return np.asarray(np.ptp(self.values, axis=1) <= self.noise)

    @property
    def smallest_p(self) -> float:
        """2^(1−n), the smallest two-sided p that n signs can give."""
        return max(2.0 ** (1 - min(self.topics, 1023)), SMALLEST_P)

    def constant_p(self) -> Values:
        """What p is where the spread is zero: 1 if all differences are zero, else that of n equal signs, 2^(1−n)."""
        return np.where((self.values == 0).all(axis=1), 1.0, self.smallest_p)

    def result(
        self, statistic: Values, p: Values, *, exact: Flags | None = None, degenerate: Flags | None = None
    ) -> TestResult:
        """Give a test's outcome in the shape the caller asked in."""
        none = np.zeros(len(self.values), dtype=bool)
        return TestResult(
            statistic=np.reshape(np.asarray(statistic, dtype=np.float64), self.shape),
            p=np.reshape(np.clip(p, SMALLEST_P, 1.0), self.shape),
            exact=np.reshape(none if exact is None else exact, self.shape),
            degenerate=np.reshape(none if degenerate is None else degenerate, self.shape),
        )


def paired_differences(a: ArrayLike, b: ArrayLike) -> Differences:
    """Give a − b, topic by topic, with what is only noise of arithmetic set to 0.

    `a` and `b` are single rows of scores or matrices with one row per pair. No topics, NaN or infinity are errors.
    """
    left, right = as_scores(a), as_scores(b)
    if left.shape != right.shape:
        raise UsageError(f"paired scores have one shape, but these have {left.shape} and {right.shape}")
    rows, others = np.atleast_2d(left), np.atleast_2d(right)
    noise = np.maximum(noise_of(rows), noise_of(others))
    values = rows - others
    values[np.abs(values) <= noise[:, None]] = 0.0
    return Differences(values, noise, left.shape[:-1])


def as_scores(values: ArrayLike) -> Values:
    """Give scores as doubles, topics last, or say why they cannot be compared."""
    scores: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise UsageError(
            f"scores are a row or a matrix with topics as columns, not an array of {scores.ndim} dimensions"
        )
    if scores.shape[-1] == 0:
        raise InputError("there are no topics to compare on")
    bad = int(np.count_nonzero(~(np.abs(scores) <= LARGEST)))
    if bad:
        raise InputError(f"{counted(bad, 'score')} of {scores.size:,} cannot be compared: not a number, or infinite")
    return scores


def noise_of(scores: Values) -> Values:
    """Give for each row the distance up to which two of its numbers are the same."""
    return np.asarray(np.maximum(np.abs(scores).max(axis=-1) * RELATIVE_NOISE, SMALLEST))
