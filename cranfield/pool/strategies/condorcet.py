"""Elections between every two documents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places

_BLOCK = 1 << 18


@strategies.register("condorcet")
@dataclass(frozen=True)
class Condorcet:
    """By the number of documents that d beats, pair by pair (Copeland's count).

    d beats e if more runs rank d above e than e above d. A run that has d and not e ranks d above e; one that has
    neither does not vote. Ties by document id, descending.

    Source: Montague and Aslam, "Condorcet fusion for improved retrieval", CIKM 2002, sort with that comparison; it
    can run in circles, and then their result hangs on the order of the input. The count does not.
    """

    summary: ClassVar[str] = "number of documents beaten in pairwise votes (Copeland)"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Count the wins, some documents against all others at a time."""
        far = np.iinfo(np.int32).max
        ranks = np.where(candidates.found, candidates.ranks, far)
        if int(candidates.listed_ranks.max(initial=0)) < np.iinfo(np.int16).max:
            ranks = np.minimum(ranks, np.iinfo(np.int16).max).astype(np.int16)
        at_once = max(1, _BLOCK // max(len(candidates), 1))
        parts = [_wins(ranks, slice(first, first + at_once)) for first in range(0, len(candidates), at_once)]
        return best_first(np.concatenate([np.empty(0), *parts]))


def _wins(ranks: NDArray[np.signedinteger], some: slice) -> NDArray[np.float64]:
    """Give how many documents each of some documents beats."""
    size = ranks[0, some].shape[0], ranks.shape[1]
    margin = np.zeros(size, dtype=np.int16)
    above, below = np.empty(size, dtype=bool), np.empty(size, dtype=bool)
    for run in ranks:
        np.less(run[some, None], run[None, :], out=above)
        np.greater(run[some, None], run[None, :], out=below)
        margin += above
        margin -= below
    return np.asarray(np.count_nonzero(margin > 0, axis=1), dtype=np.float64)
