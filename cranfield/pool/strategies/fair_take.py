"""Take@N with the runs in a new order at every rank."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import numbers
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("fair-take")
@dataclass(frozen=True)
class FairTake:
    """The first documents of all runs, rank by rank; within each rank the runs in an order drawn by seed.

    As `take`, but no run is first at every rank. The orders are drawn for seed and topic.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "rank by rank, within a rank the runs shuffled by seed"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give the candidates by best rank, then by the run that comes first in the rank's own order."""
        count = len(candidates.runs)
        deepest = int(candidates.listed_ranks.max(initial=0))
        drawn = numbers(seed, candidates.topic, "fair-take", count=deepest * count)
        turns = np.concatenate([np.zeros(count), drawn]).reshape(deepest + 1, count)
        mine = np.where(
            candidates.ranks == candidates.best_rank, turns[np.minimum(candidates.best_rank, deepest)].T, np.inf
        )
        return np.lexsort((mine.min(axis=0, initial=np.inf), candidates.best_rank))
