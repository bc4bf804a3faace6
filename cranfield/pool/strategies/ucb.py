"""The bandit that pulls the run with the highest upper bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.arms import ArmState, Beliefs, Known, Update
from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, State, Texts
from cranfield.runs.options import check_options
from cranfield.runs.run import Scores


@strategies.register("ucb1-tuned")
@dataclass(frozen=True)
class UpperBound:
    """Judges the next document of the run with the highest upper bound of its mean.

        mean_s + sqrt( (ln n / n_s) · min(1/4, V_s) ),   V_s = var_s + sqrt(2 ln n / n_s)

    with n_s judged documents of run s, n of all runs, and var_s = mean_s · (1 − mean_s). A run without a judged
    document comes before all others. Ties by seed.

    Source: Auer, Cesa-Bianchi and Fischer, Machine Learning 2002; for pooling Losada, Parapar and Barreiro, SAC 2016.
    """

    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: the highest upper bound (UCB1-Tuned)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        return ArmState(candidates, _Bounds(len(candidates.runs)), seed=seed, update=self.update, known=self.known)


class _Bounds(Beliefs):
    """Values runs by the upper bound of their mean."""

    def values(self, pull: int) -> Scores:
        judged = np.maximum(self.judged, 1)
        mean = self.relevant / judged
        spread = np.log(max(self.judged.sum(), 1)) / judged
        bound = mean + np.sqrt(spread * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * spread)))
        return np.where(self.judged > 0, bound, np.inf)
