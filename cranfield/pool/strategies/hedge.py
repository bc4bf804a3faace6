"""Hedge: runs gain weight by ranking relevant documents high and others low."""

from dataclasses import dataclass
from math import log
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.pool.weighing import WeighedState
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Scores


@strategies.register("hedge")
@dataclass(frozen=True)
class Hedge:
    """Judges the document with the largest Σ over runs s of w_s · ½ ln(Z / r_s(d)), Z the number of candidates.

    A judgment of d costs run s the loss L_s(d) = ½ · (−1)^x · ln(Z / r_s(d)), x = 1 if d is relevant; then
    w_s ← w_s · β^L_s(d), and the weights are brought to the sum 1. A relevant document ranked high so raises the
    weight. For a document that s does not have, ½ ln(Z / i) is averaged over the ranks i = n_s + 1 … Z that are left.
    Ties by document id, descending.

    Source: Aslam, Pavlu and Savell, "A unified model for metasearch, pooling, and system evaluation", CIKM 2003
    (β = 0.1).
    """

    beta: Annotated[float, Option("how slowly weights move", at_least=0.0001, at_most=0.9999)] = 0.1

    summary: ClassVar[str] = "Hedge: on-line learning of run weights"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with equal weights."""
        return WeighedState(_gains(candidates), _Hedging(len(candidates.runs), self.beta))


class _Hedging:
    """Weights as logarithms, which never vanish."""

    def __init__(self, runs: int, beta: float) -> None:
        self._logarithms, self._step = np.zeros(runs), log(beta)

    def values(self) -> Scores:
        weights: Scores = np.exp(self._logarithms - self._logarithms.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def learn(self, gains: Scores, label: Label) -> None:
        if label is not None:
            self._logarithms += self._step * (-gains if label else gains)


def _gains(candidates: Candidates) -> Scores:
    count = candidates.documents_found
    logarithms = np.log(np.arange(1.0, count + 1))
    sums = np.concatenate([[0.0], np.cumsum(log(max(count, 1)) - logarithms)])
    lengths = np.minimum(candidates.lengths, count)
    absent = np.where(lengths < count, (sums[-1] - sums[lengths]) / np.maximum(count - lengths, 1), 0.0)
    present = log(max(count, 1)) - np.log(np.maximum(candidates.ranks, 1))
    return np.asarray(np.where(candidates.found, np.maximum(present, 0), absent[:, None]) / 2, dtype=np.float64)
