"""What makes hold-outs say nothing, or less than they seem to: found in the data before a verdict is given.

Doubts that are errors make a collection untestable; the others are warnings that stand beside its verdict.
"""

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import Problem, quoted
from cranfield.evaluate.align import Alignment
from cranfield.reuse.leave_out import Uniques
from cranfield.reuse.pooled_rows import first_of_cells
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.thresholds import Thresholds
from cranfield.text import counted

_RANKS_TO_SEE = 5
_FALL = 0.15
"""A depth beyond the pool shows where so much less of the last tenth is in the qrels than of the first half."""


def pooled_shares(alignment: Alignment, provenance: Provenance) -> NDArray[np.float64]:
    """Give for each run which share of its documents down to the pool depth is in the qrels; NaN for outsiders.

    Of a contributor it should be 1: whatever it had there was pooled.
    """
    topics = provenance.topic_count
    runs = np.flatnonzero(provenance.group_of_run >= 0)
    cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
    places, taken = first_of_cells(alignment.lists, cells, np.tile(provenance.depth, len(runs)))
    run_of_place = np.repeat(cells // topics, taken)
    size = np.bincount(run_of_place, minlength=len(alignment.run_names))
    known = np.bincount(run_of_place[provenance.qrels_row[places] >= 0], minlength=len(alignment.run_names))
    return np.where(size > 0, known / np.maximum(size, 1), np.nan)


def doubts(
    alignment: Alignment,
    provenance: Provenance,
    uniques: Uniques,
    *,
    rel: int = 1,
    thresholds: Thresholds | None = None,
) -> list[Problem]:
    """Find everything that speaks against trusting hold-outs at this level."""
    table = thresholds or Thresholds()
    found = [
        _few_groups(provenance, table),
        _positives_only(alignment, rel),
        *_pool_that_does_not_fit(alignment, provenance, table),
        _orphans(provenance, table),
        _little_unique(uniques, table),
        _one_owner(uniques, table),
        _not_fully_judged(provenance),
    ]
    return [problem for problem in found if problem is not None]


def _few_groups(provenance: Provenance, table: Thresholds) -> Problem | None:
    noun = {"run": "run", "group": "group", "family": "family"}[provenance.level]
    number = counted(
        len(provenance.groups), f"contributing {noun}", "contributing families" if noun == "family" else ""
    )
    if len(provenance.groups) < table.fewest_groups:
        message = f"there is {number}" if len(provenance.groups) == 1 else f"there are {number}"
        why = "nearly everything would be unique to one of them"
        return Problem("few-groups", f"{message}, and a hold-out needs {table.fewest_groups:g}: {why}")
    if len(provenance.groups) < table.enough_groups:
        message = f"there are only {number}; from {table.enough_groups:g} on hold-outs tell more"
        return Problem("few-groups", message, severity="warning")
    return None


def _little_unique(uniques: Uniques, table: Thresholds) -> Problem | None:
    """Say so where contributors found the same: a hold-out takes nothing away then, whatever an outsider finds."""
    own = int(uniques.judged.sum())
    if own >= table.fewest_unique or len(uniques.groups) < table.fewest_groups:
        return None
    message = (
        f"only {counted(own, 'judged document')} came from one group alone, and {table.fewest_unique:g} are needed"
    )
    return Problem("little-unique", f"{message}: holding groups out takes too little away to show anything")


def _positives_only(alignment: Alignment, rel: int) -> Problem | None:
    lists = alignment.lists
    if lists.level_counts[:, lists.levels < rel].sum():
        return None
    message = "no document is judged not relevant: what was judged cannot be told from what was not"
    return Problem("positives-only", message, remedy="give the qrels with all judged documents, grade 0 included")


def _pool_that_does_not_fit(alignment: Alignment, provenance: Provenance, table: Thresholds) -> list[Problem]:
    """Give what speaks against depth or contributors; runs that do not fit a depth beyond the pool are no news."""
    misfits, beyond = _misfits(alignment, provenance, table), _depth_beyond_the_pool(alignment, provenance)
    if beyond is None:
        return misfits
    return [*(problem for problem in misfits if problem.severity == "error"), beyond]


def _misfits(alignment: Alignment, provenance: Provenance, table: Thresholds) -> list[Problem]:
    shares = pooled_shares(alignment, provenance)
    known = np.flatnonzero(~np.isnan(shares))
    if not len(known):
        return [Problem("no-pooled-documents", "the contributors have no documents on these topics")]
    remedy = "give the depth that the pool really had, and the runs that really fed it"
    overall = float(shares[known].mean())
    if overall < table.fitting_share:
        message = f"of what the contributors are said to have pooled, only {overall:.0%} is in the qrels"
        return [Problem("depth-does-not-fit", message, remedy=remedy)]
    short = known[shares[known] < table.fitting_share]
    return [
        Problem(
            "run-does-not-fit",
            f"of what {quoted(alignment.run_names[run])} is said to have pooled, {shares[run]:.0%} is in the qrels",
            severity="warning",
            remedy=remedy,
        )
        for run in short.tolist()
    ]


def _depth_beyond_the_pool(alignment: Alignment, provenance: Provenance) -> Problem | None:
    """Say so where contributors are judged down to a rank above the depth that was told, and seldom below it."""
    shares = shares_by_rank(alignment, provenance)
    if len(shares) < _RANKS_TO_SEE:
        return None
    last = max(len(shares) // 10, 3)
    above, below = float(np.nanmean(shares[: len(shares) // 2])), float(np.nanmean(shares[-last:]))
    if not above - below > _FALL:
        return None
    middle = (above + below) / 2
    seen = int(np.flatnonzero(shares >= middle).max()) + 1
    message = (
        f"contributors are said to have pooled down to rank {len(shares)}, but below rank {seen} only {below:.0%} of"
        f" their documents are in the qrels, and above it {above:.0%}: the pool seems to end there"
    )
    remedy = f"give the depth that the pool really had; {seen}, if that is right"
    return Problem("depth-beyond-the-pool", message, severity="warning", remedy=remedy)


def shares_by_rank(alignment: Alignment, provenance: Provenance) -> NDArray[np.float64]:
    """Give for each rank down to the deepest pool depth the share of contributors' documents that the qrels have."""
    topics = provenance.topic_count
    runs = np.flatnonzero(provenance.group_of_run >= 0)
    cells = (runs[:, np.newaxis] * topics + np.arange(topics)).ravel()
    places, taken = first_of_cells(alignment.lists, cells, np.tile(provenance.depth, len(runs)))
    rank = np.arange(len(places)) - np.repeat(np.cumsum(taken) - taken, taken)
    size = np.bincount(rank)
    known = np.bincount(rank[provenance.qrels_row[places] >= 0], minlength=len(size))
    return known / np.maximum(size, 1)


def _orphans(provenance: Provenance, table: Thresholds) -> Problem | None:
    share = provenance.orphans / max(provenance.judged_count, 1)
    message = f"{counted(provenance.orphans, 'judged document')} ({share:.1%}) were brought by no contributor at hand"
    remedy = "give all contributing runs, and the depth that the pool really had"
    if share > table.most_orphans:
        return Problem("orphans", f"{message}: what hold-outs show is far too small", remedy=remedy)
    if share > table.told_orphans:
        return Problem("orphans", f"{message}: hold-outs show too little", severity="warning", remedy=remedy)
    return None


def _one_owner(uniques: Uniques, table: Thresholds) -> Problem | None:
    total = int(uniques.relevant.sum())
    most = int(np.argmax(uniques.relevant))
    if len(uniques.groups) < 2 or not total or uniques.relevant[most] <= table.largest_share * total:
        return None
    share = uniques.relevant[most] / total
    message = f"{quoted(uniques.groups[most])} owns {share:.0%} of the relevant documents that only one group brought"
    return Problem("one-group-dominates", message, severity="warning")


def _not_fully_judged(provenance: Provenance) -> Problem | None:
    here = provenance.topic_of_row >= 0
    open_rows = int((here & (provenance.level_of_row < 0)).sum())
    if not open_rows:
        return None
    message = f"{counted(open_rows, 'pooled document')} ({open_rows / int(here.sum()):.1%}) not judged yet"
    return Problem("not-fully-judged", message, severity="warning", remedy="judge the rest of the pool")
