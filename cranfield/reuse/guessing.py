"""A guess at which runs fed the pool, where nobody has told: those that are judged down to one common depth.

A contributor's list is judged down to the pool depth and, soon after it, is not. So the pool depth is where most
lists stop being judged, counting only lists of runs that are judged down to there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import NOT_POOLED
from cranfield.reuse.contributors import Contributor

COVERED = 0.95
"""The share of its first documents that must be in the qrels for a run to pass for a contributor."""

_FEWEST_LISTS = 2
_FEWEST_RUNS = 2
_NO_COMMON_DEPTH = "no two runs are judged down to a common depth"
_ALL_JUDGED = "every list is judged to its end, so that no pool depth can be seen"


@dataclass(frozen=True, eq=False)
class Guess:
    """A guessed pool: its depth (0 where none is seen), and who seems to have fed it.

    `shares` has for each run the share of its first `depth` documents that is in the qrels. `lists_ending` of
    `lists_seen` lists of the seeming contributors stop being judged exactly at the depth. `refusal` says why nothing
    could be guessed.
    """

    run_names: tuple[str, ...]
    depth: int
    shares: NDArray[np.float64]
    lists_ending: int
    lists_seen: int
    refusal: str = ""

    @property
    def contributors(self) -> list[Contributor]:
        """The runs with what is guessed of them. Nothing is known of groups: each run stands alone."""
        covered = (self.shares >= COVERED) & (self.depth > 0)
        return [
            Contributor(run, "", contributing=bool(fed))
            for run, fed in zip(self.run_names, covered.tolist(), strict=True)
        ]


def guess_contributors(alignment: Alignment) -> Guess:
    """Guess pool depth and contributors from what is judged.

    Judged means in the qrels, also where a grade is still missing. Topics that a run lacks do not count against it.
    """
    clear = _clear_depths(alignment)
    why_not = _ALL_JUDGED if alignment.present.any() and (clear < 0).all() else _NO_COMMON_DEPTH
    if len(alignment.run_names) < _FEWEST_RUNS:
        nothing = np.zeros(len(alignment.run_names))
        return Guess(alignment.run_names, 0, nothing, 0, 0, why_not)
    shares = _shares_by_depth(alignment)
    candidates = np.unique(clear[clear > 0])
    best, most = 0, 0
    for depth in candidates[candidates < shares.shape[1]].tolist():
        fed = shares[:, depth] >= COVERED
        ending = int((clear[fed] == depth).sum())
        if fed.sum() >= _FEWEST_RUNS and ending >= max(most, _FEWEST_LISTS):
            best, most = depth, ending
    seen = int(alignment.present[shares[:, best] >= COVERED].sum()) if best else 0
    refusal = "" if best else why_not
    return Guess(alignment.run_names, best, shares[:, best] if best else shares[:, 0], most, seen, refusal)


def _clear_depths(alignment: Alignment) -> NDArray[np.int64]:
    """Give runs by topics: after how many documents the first comes that is not in the qrels; -1 where none does."""
    lists = alignment.lists
    missing = np.append(np.flatnonzero(lists.grades == NOT_POOLED), len(lists.grades))
    first = missing[np.searchsorted(missing, lists.offsets[:-1])] - lists.offsets[:-1]
    return np.where(first < lists.length, first, -1).reshape(alignment.shape)


def _shares_by_depth(alignment: Alignment) -> NDArray[np.float64]:
    """Give runs by depths from 0 up: the share of the first documents of all topics that is in the qrels."""
    lists, (runs, topics) = alignment.lists, alignment.shape
    deepest = int(lists.length.max(initial=0))
    pooled = np.bincount(
        lists.pooled.cell // topics * (deepest + 1) + lists.pooled.rank, minlength=runs * (deepest + 1)
    )
    ends = np.bincount(
        np.repeat(np.arange(runs), topics) * (deepest + 1) + lists.length, minlength=runs * (deepest + 1)
    ).reshape(runs, -1)
    longer = topics - np.cumsum(ends, axis=1) + ends  # lists of at least this length
    longer[:, 0] = 0
    size = np.cumsum(longer, axis=1)
    known = np.cumsum(pooled.reshape(runs, -1), axis=1)
    return np.divide(known, size, out=np.zeros(size.shape), where=size > 0)
