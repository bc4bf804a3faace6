"""The median of normalised scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("combmed")
@dataclass(frozen=True)
class CombMed:
    """By the median over runs s that have d of y_s(d); of an even number the mean of the middle two.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "median of normalised scores over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        values = np.sort(np.where(candidates.found, candidates.normalised, np.inf), axis=0)
        count = candidates.found.sum(axis=0)
        columns = np.arange(len(candidates))
        return best_first((values[(count - 1) // 2, columns] + values[count // 2, columns]) / 2)
