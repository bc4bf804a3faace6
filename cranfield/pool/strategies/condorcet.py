"""Elections between every two documents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import FAR, Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places

_NARROW = np.iinfo(np.int16).max
_BLOCK = 1 << 18
_MOST_VOTES = np.iinfo(np.int8).max


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
        """Count the wins."""
        ranks = np.where(candidates.found, candidates.ranks, FAR)
        if int(candidates.listed_ranks.max(initial=0)) < _NARROW:
            ranks = np.minimum(ranks, _NARROW).astype(np.int16)
        return best_first(_wins(ranks).astype(np.float64))


def _wins(ranks: NDArray[np.integer]) -> Places:
    """Give how many documents each document beats: some at a time against themselves and those after them."""
    count = ranks.shape[1]
    wins = np.zeros(count, dtype=np.int64)
    at_once = max(1, _BLOCK // max(count, 1))
    for first in range(0, count, at_once):
        margin = _margin(ranks[:, first : first + at_once], ranks[:, first:])
        wins[first : first + at_once] += np.count_nonzero(margin > 0, axis=1)
        wins[first + at_once :] += np.count_nonzero(margin[:, at_once:] < 0, axis=0)
    return wins


def _margin(some: NDArray[np.integer], rest: NDArray[np.integer]) -> NDArray[np.integer]:
    """Give the votes for each of some documents against each of the rest, less the votes for the other.

    Summed in bytes, which is several times faster than in wider numbers; so not more votes at once than fit.
    """
    size = some.shape[1], rest.shape[1]
    totals = [np.zeros(size, dtype=np.int8)]
    above, below = np.empty(size, dtype=bool), np.empty(size, dtype=bool)
    for number, (mine, theirs) in enumerate(zip(some, rest, strict=True), start=1):
        np.less(mine[:, None], theirs[None, :], out=above)
        np.greater(mine[:, None], theirs[None, :], out=below)
        np.add(totals[-1], above.view(np.int8), out=totals[-1])
        np.subtract(totals[-1], below.view(np.int8), out=totals[-1])
        if number % _MOST_VOTES == 0:
            totals.append(np.zeros(size, dtype=np.int8))
    return totals[0] if len(totals) == 1 else np.sum(totals, axis=0, dtype=np.int32)
