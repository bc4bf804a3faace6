"""Elections between every two documents."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import FAR, Candidates, Mask
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places

_NARROW = np.iinfo(np.int16).max
_BLOCK = 1 << 18
_FEW_VOTES = np.iinfo(np.uint8).max
_THREADS = 2

Votes = NDArray[np.unsignedinteger]


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
        return best_first(_wins(ranks, ~candidates.found).astype(np.float64))


def _wins(ranks: NDArray[np.integer], absent: Mask) -> Places:
    """Give how many documents each document beats: some at a time against themselves and those after them.

    Two threads: comparing whole arrays leaves the interpreter free.
    """
    count = ranks.shape[1]
    wins = np.zeros(count, dtype=np.int64)
    at_once = max(1, _BLOCK // max(count, 1))
    lacking = _packed(absent)

    def elections(first: int) -> tuple[int, Places, Places]:
        above = _votes(ranks[:, first : first + at_once], ranks[:, first:])
        voting = len(ranks) - _both(lacking[:, first : first + at_once], lacking[:, first:], above.dtype)
        half = voting >> 1
        beaten = (above < voting - half)[:, at_once:]
        return first, np.count_nonzero(above > half, axis=1), np.count_nonzero(beaten, axis=0)

    with ThreadPoolExecutor(_THREADS) as threads:
        for first, won, lost in threads.map(elections, range(0, count, at_once)):
            wins[first : first + at_once] += won
            wins[first + at_once :] += lost
    return wins


def _votes(some: NDArray[np.integer], rest: NDArray[np.integer]) -> Votes:
    """Give the number of runs that rank each of some documents above each of the rest, in bytes where they fit."""
    size = some.shape[1], rest.shape[1]
    above: Votes = np.zeros(size, dtype=np.uint8 if len(some) <= _FEW_VOTES else np.uint32)
    vote = np.empty(size, dtype=bool)
    for mine, theirs in zip(some, rest, strict=True):
        np.less(mine[:, None], theirs[None, :], out=vote)
        np.add(above, vote.view(np.uint8), out=above)
    return above


def _packed(absent: Mask) -> NDArray[np.uint64]:
    """Give for each document which runs lack it, as the bits of a few words (words by documents)."""
    octets = np.packbits(absent, axis=0)
    padded = np.pad(octets, ((0, -len(octets) % 8), (0, 0)))
    return np.ascontiguousarray(padded.reshape(-1, 8, absent.shape[1]).transpose(0, 2, 1)).view(np.uint64)[:, :, 0]


def _both(some: NDArray[np.uint64], rest: NDArray[np.uint64], kind: np.dtype[np.unsignedinteger]) -> Votes:
    """Give the number of runs that lack both documents, and so do not vote between them."""
    total: Votes = np.zeros((some.shape[1], rest.shape[1]), dtype=kind)
    for mine, theirs in zip(some, rest, strict=True):
        total += np.bitwise_count(mine[:, None] & theirs[None, :])
    return total
