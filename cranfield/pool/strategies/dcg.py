"""Documents by the discount of their ranks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("dcg")
@dataclass(frozen=True)
class DiscountedGain:
    """By Σ over runs s that have d:  1 / log2(r_s(d) + 1), the weight that DCG gives the document's ranks.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "weights of DCG, summed over runs"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the discounts."""
        parts = 1 / np.log2(candidates.listed_ranks + 1.0)
        return best_first(candidates.summed(parts))
