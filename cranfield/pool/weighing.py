"""Runs with weights: the next document is the one that the weighed runs want most.

What Hedge and the adaptive methods of rank-biased precision have in common: a matrix of what each run gives each
candidate, and weights of the runs that change with every judgment.
"""

from typing import Protocol

import numpy as np

from cranfield.pool.candidates import Mask
from cranfield.pool.rounding import rounded
from cranfield.pool.strategy import Label
from cranfield.runs.run import Scores


class Weights(Protocol):
    """The weights of the runs."""

    def values(self) -> Scores:
        """Give the weight of each run."""
        ...

    def learn(self, gains: Scores, label: Label) -> None:
        """Take in a judgment of a document, by what each run gave it."""
        ...


class WeighedState:
    """One topic: the candidate with the largest Σ over runs s of weight(s) · gains(s, d) is next.

    Sums are rounded; ties by document id, descending.
    """

    def __init__(self, gains: Scores, weights: Weights) -> None:
        self._gains, self._weights = gains, weights
        self._judged = np.zeros(gains.shape[1], dtype=bool)
        self._sums = self._summed()

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        if not self._judged[candidate]:
            self._judged[candidate] = True
            self._weights.learn(self._gains[:, candidate], label)
            self._sums = self._summed()

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the free candidate with the largest sum."""
        free = np.where(self._judged | excluded, -np.inf, self._sums)
        if not (free > -np.inf).any():
            return None
        best = int(np.argmax(free))
        return best, f"weight {self._sums[best]:.4g}"

    @property
    def claim(self) -> float:
        """The largest sum."""
        return float(np.where(self._judged, -np.inf, self._sums).max(initial=-np.inf))

    def _summed(self) -> Scores:
        return rounded(self._weights.values() @ self._gains)
