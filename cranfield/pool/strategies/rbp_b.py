"""Documents by what RBP still can gain from them: method B."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.pool.weighing import WeighedState
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Scores


@strategies.register("rbp-b")
@dataclass(frozen=True)
class RankBiasedB:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s does not have d; the residual e_s = 1 − Σ of c_s over what is judged:
    runs about which much is unknown count more. Only what is judged matters, not the label. Ties by document id,
    descending.

    Source: Moffat, Webber and Zobel, SIGIR 2007 (method B, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP times what is still unknown of the run (method B)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with all residuals at 1."""
        gains = np.where(candidates.found, (1 - self.p) * np.power(self.p, candidates.ranks - 1.0), 0.0)
        return WeighedState(gains, _Residuals(len(candidates.runs)))


class _Residuals:
    """How much of each run's RBP is still unknown."""

    def __init__(self, runs: int) -> None:
        self._residuals = np.ones(runs)

    def values(self) -> Scores:
        return self._residuals

    def learn(self, gains: Scores, label: Label) -> None:
        self._residuals = self._residuals - gains
