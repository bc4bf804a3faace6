"""A guess at which runs fed the pool, where nobody has told: those that are judged down to one common depth.

A contributor's list is judged down to the pool depth and, soon after it, is not. So the pool depth is where most
lists stop being judged, counting only lists of runs that are judged down to there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Lists, ratio
from cranfield.reuse.contributors import Contributor
from cranfield.reuse.prefix import prefix_of

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
    candidates = np.unique(clear[clear > 0])
    best, most = 0, 0
    # Only the ranks that are asked about are counted: most of a list lies below them.
    deepest = np.full(len(alignment.topic_ids), int(candidates.max(initial=0)))
    lists = prefix_of(alignment.lists, deepest).lists
    for depth in candidates.tolist():
        fed = _shares_at(lists, alignment.shape, depth) >= COVERED
        ending = int((clear[fed] == depth).sum())
        if fed.sum() >= _FEWEST_RUNS and ending >= max(most, _FEWEST_LISTS):
            best, most = depth, ending
    shares = _shares_at(lists, alignment.shape, best)
    seen = int(alignment.present[shares >= COVERED].sum()) if best else 0
    return Guess(alignment.run_names, best, shares, most, seen, "" if best else why_not)


def _clear_depths(alignment: Alignment) -> NDArray[np.int64]:
    """Give runs by topics: after how many documents the first comes that is not in the qrels; -1 where none does."""
    lists = alignment.lists
    clear = lists.first_not_pooled - 1
    return np.where(clear < lists.length, clear, -1).reshape(alignment.shape)


def _shares_at(lists: Lists, shape: tuple[int, int], depth: int) -> NDArray[np.float64]:
    """Give for each run the share of its first documents of all topics that is in the qrels."""
    reach = np.minimum(lists.length, depth)
    known = lists.pooled_so_far.until(reach).reshape(shape).sum(axis=1)
    return ratio(known, reach.reshape(shape).sum(axis=1))
