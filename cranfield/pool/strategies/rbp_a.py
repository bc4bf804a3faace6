"""Documents by the weight of rank-biased precision: method A."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Places


@strategies.register("rbp-a")
@dataclass(frozen=True)
class RankBiasedA:
    """By Σ over runs s that have d:  (1 − p) · p^(r_s(d) − 1), what RBP can gain from the document.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, "Strategic system comparisons via targeted relevance judgments", SIGIR 2007
    (method A, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP, summed over runs (method A)"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        check_options(self)

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the weights."""
        parts = (1 - self.p) * np.power(self.p, candidates.listed_ranks - 1.0)
        return best_first(candidates.summed(parts))
