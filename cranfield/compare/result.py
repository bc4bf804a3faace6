"""What a significance test gives, and when a p-value counts as significant."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.errors import UsageError

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TestResult:
    """The outcome of one test on one pair of systems, or on many at once; all fields have one value per pair.

    `statistic` is signed: positive speaks for `a`, and swapping the systems negates it. `p` is two-sided and lies
    in (0, 1]. `exact` says that p is computed from the whole null distribution, not drawn or approximated.
    `degenerate` says that the test is not defined on these differences and p comes from the rule in its docstring.
    """

    statistic: Values
    p: Values
    exact: Flags
    degenerate: Flags


class SignificanceTest(Protocol):
    """A two-sided paired test.

    `a` and `b` have topics as their last axis: one row of scores each, or one row per pair of systems. Further
    keyword options may have defaults.
    """

    def __call__(self, a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator) -> TestResult:
        """Test whether the paired scores differ."""
        ...


def significant(p: ArrayLike, *, alpha: float = 0.05) -> Flags:
    """Say which p-values are significant: p ≤ alpha, so that a test holds its level exactly."""
    check_share("alpha", alpha)
    return np.asarray(np.asarray(p, dtype=np.float64) <= alpha)


def check_share(name: str, value: float) -> None:
    """Refuse a level, a power or an alpha that is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(f"{name} must lie between 0 and 1, not {value!r}")
