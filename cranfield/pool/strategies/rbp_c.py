"""Documents by what RBP still can gain from them in good runs: method C."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.pool.weighing import WeighedState
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Scores


@strategies.register("rbp-c")
@dataclass(frozen=True)
class RankBiasedC:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s · (b_s + e_s / 2)³.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s does not have d; the base b_s = Σ of c_s over the relevant, the
    residual e_s = 1 − Σ of c_s over all that is judged. So runs that are likely to end with a high score count
    more. A document that got no label lowers the residual only. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, SIGIR 2007 (method C, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP, for runs that are likely to be good (method C)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with all bases at 0 and all residuals at 1."""
        gains = np.where(candidates.found, (1 - self.p) * np.power(self.p, candidates.ranks - 1.0), 0.0)
        return WeighedState(gains, _Prospects(len(candidates.runs)))


class _Prospects:
    """Base and residual of each run's RBP."""

    def __init__(self, runs: int) -> None:
        self._bases, self._residuals = np.zeros(runs), np.ones(runs)

    def values(self) -> Scores:
        return self._residuals * (self._bases + self._residuals / 2) ** 3

    def learn(self, gains: Scores, label: Label) -> None:
        self._residuals = self._residuals - gains
        if label:
            self._bases = self._bases + gains
