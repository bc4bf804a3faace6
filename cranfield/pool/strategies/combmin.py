"""The worst normalised score."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("combmin")
@dataclass(frozen=True)
class CombMin:
    """By the minimum over runs s that have d of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "worst normalised score over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(np.where(candidates.found, candidates.normalised, np.inf).min(axis=0, initial=np.inf))
