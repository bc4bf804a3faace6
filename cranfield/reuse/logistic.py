"""Logistic regression on counts, drawn towards a prior and tempered by how much groups differ."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.evaluate.lists import Counts, Values

_ROUNDS = 40
_LONGEST_STEP = 2.0
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """The weights of the columns, and what is needed to fit again without a group.

    `dispersion` is how many times more the groups differ than chance alone would have it, at least 1.
    """

    columns: Values
    passed: Counts
    tried: Counts
    group: NDArray[np.int32]
    prior: Values
    precision: Values
    dispersion: float
    weights: Values

    def expected_from_others(self) -> dict[int, float]:
        """Give for each group how many of its documents should pass by a fit to the other groups."""
        expected = {}
        for group in np.unique(self.group).tolist():
            mine = self.group == group
            weights = _newton(
                self.columns[~mine],
                self.passed[~mine],
                self.tried[~mine],
                self.prior,
                self.precision,
                1.0 / self.dispersion,
                self.weights,
            )
            expected[group] = float((self.tried[mine] * chances(self.columns[mine] @ weights)).sum())
        return expected


def fitted(
    columns: Values, passed: Counts, tried: Counts, group: NDArray[np.int32], *, prior: Values, spread: Values
) -> Fit:
    """Fit chances of passing to counts, one row each; `spread` is how far each weight may lie from its `prior`."""
    precision = 1.0 / spread**2
    first = _newton(columns, passed, tried, prior, precision, 1.0, prior)
    dispersion = _dispersion(columns @ first, passed, tried, group)
    weights = _newton(columns, passed, tried, prior, precision, 1.0 / dispersion, first)
    return Fit(columns, passed, tried, group, prior, precision, dispersion, weights)


def chances(values: ArrayLike) -> Values:
    """Give 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0))), dtype=np.float64)


def logit(share: ArrayLike) -> Values:
    """Give ln(x / (1 - x)) of shares between 0 and 1."""
    shares = np.asarray(share, dtype=np.float64)
    return np.asarray(np.log(shares / (1.0 - shares)), dtype=np.float64)


def _dispersion(seen: Values, passed: Counts, tried: Counts, group: NDArray[np.int32]) -> float:
    """Give Pearson's chi-square of whole groups over their number less one."""
    if not len(group):
        return 1.0
    chance = chances(seen)
    off = np.bincount(group, passed - tried * chance)
    variance = np.bincount(group, tried * chance * (1.0 - chance))
    counted = variance > 0
    squares = float((off[counted] ** 2 / variance[counted]).sum())
    return max(1.0, squares / max(int(counted.sum()) - 1, 1))


def _newton(
    columns: Values, passed: Counts, tried: Counts, prior: Values, precision: Values, weight: float, start: Values
) -> Values:
    """Climb to the maximum of weight · log likelihood - Σ precision (w - prior)² / 2, which is concave."""
    weights = start.copy()
    for _ in range(_ROUNDS):
        chance = chances(columns @ weights)
        slope = weight * (columns.T @ (passed - tried * chance)) - precision * (weights - prior)
        bend = weight * (columns.T * (tried * chance * (1.0 - chance))) @ columns + np.diag(precision)
        step = np.clip(np.linalg.solve(bend, slope), -_LONGEST_STEP, _LONGEST_STEP)
        weights = weights + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return weights
