"""Take@N: depth pooling cut at a number of documents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("take")
@dataclass(frozen=True)
class Take:
    """The first documents of all runs, rank by rank; within a rank the runs in byte order of their names.

    `take 100` is the deepest full depth that fits into 100 documents, filled up from the next rank. The order of the
    runs decides who fills it: `fair-take` shuffles it at every rank.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "rank by rank, within a rank run by run"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give the candidates by best rank, then by the first run that has them there."""
        at_best = candidates.ranks == candidates.best_rank
        return np.lexsort((at_best.argmax(axis=0), candidates.best_rank))
