"""What makes hold-outs say nothing, or less than they seem to: found in the data before a verdict is given.

Doubts that are errors make a collection untestable; the others are warnings that stand beside its verdict.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import Problem, quoted
from cranfield.evaluate.align import Alignment
from cranfield.reuse.leave_out import Uniques
from cranfield.reuse.pooled_rows import first_of_cells
from cranfield.reuse.provenance import Provenance
from cranfield.text import counted


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers behind a collection's verdict and its doubts.

    `fair` and `unfair` are mean relative drops: below the one a collection is fair to outsiders, from the other on
    it is not. Fewer than `fewest_groups` cannot be tested, fewer than `enough_groups` are told. `fitting` is the
    share of the contributors' pooled documents that must be in the qrels, of all together and of each. With more than
    `most_orphans` of the judged documents brought by nobody at hand nothing can be said; from `told_orphans` on it is
    told. One group may own `largest_share` of the unique relevant documents. Where all groups together have fewer
    than `fewest_unique` judged documents of their own, holding them out shows nothing.
    """

    fair: float = 0.02
    unfair: float = 0.06
    fewest_groups: int = 3
    enough_groups: int = 10
    fitting: float = 0.9
    most_orphans: float = 0.5
    told_orphans: float = 0.05
    largest_share: float = 0.5
    fewest_unique: int = 5


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
    alignment: Alignment, provenance: Provenance, uniques: Uniques, *, rel: int = 1, limits: Limits | None = None
) -> list[Problem]:
    """Find everything that speaks against trusting hold-outs at this level."""
    table = limits or Limits()
    found = [
        _few_groups(provenance, table),
        _positives_only(alignment, rel),
        *_depth_that_does_not_fit(alignment, provenance, table),
        _orphans(provenance, table),
        _little_unique(uniques, table),
        _one_owner(uniques, table),
        _not_fully_judged(provenance),
    ]
    return [problem for problem in found if problem is not None]


def _few_groups(provenance: Provenance, limits: Limits) -> Problem | None:
    noun = {"run": "run", "group": "group", "family": "family"}[provenance.level]
    number = counted(
        len(provenance.groups), f"contributing {noun}", "contributing families" if noun == "family" else ""
    )
    if len(provenance.groups) < limits.fewest_groups:
        message = f"there is {number}" if len(provenance.groups) == 1 else f"there are {number}"
        why = "nearly everything would be unique to one of them"
        return Problem("few-groups", f"{message}, and a hold-out needs {limits.fewest_groups}: {why}")
    if len(provenance.groups) < limits.enough_groups:
        message = f"there are only {number}; from {limits.enough_groups} on hold-outs tell more"
        return Problem("few-groups", message, severity="warning")
    return None


def _little_unique(uniques: Uniques, limits: Limits) -> Problem | None:
    """Say so where contributors found the same: a hold-out takes nothing away then, whatever an outsider finds."""
    own = int(uniques.judged.sum())
    if own >= limits.fewest_unique or len(uniques.groups) < limits.fewest_groups:
        return None
    message = (
        f"only {counted(own, 'judged document')} came from one group alone, and {limits.fewest_unique} are needed"
    )
    return Problem("little-unique", f"{message}: holding groups out takes too little away to show anything")


def _positives_only(alignment: Alignment, rel: int) -> Problem | None:
    lists = alignment.lists
    if lists.level_counts[:, lists.levels < rel].sum():
        return None
    message = "no document is judged not relevant: what was judged cannot be told from what was not"
    return Problem("positives-only", message, remedy="give the qrels with all judged documents, grade 0 included")


def _depth_that_does_not_fit(alignment: Alignment, provenance: Provenance, limits: Limits) -> list[Problem]:
    shares = pooled_shares(alignment, provenance)
    known = np.flatnonzero(~np.isnan(shares))
    if not len(known):
        return [Problem("no-pooled-documents", "the contributors have no documents on these topics")]
    remedy = "give the depth that the pool really had, and the runs that really fed it"
    overall = float(shares[known].mean())
    if overall < limits.fitting:
        message = f"of what the contributors are said to have pooled, only {overall:.0%} is in the qrels"
        return [Problem("depth-does-not-fit", message, remedy=remedy)]
    short = known[shares[known] < limits.fitting]
    return [
        Problem(
            "run-does-not-fit",
            f"of what {quoted(alignment.run_names[run])} is said to have pooled, {shares[run]:.0%} is in the qrels",
            severity="warning",
            remedy=remedy,
        )
        for run in short.tolist()
    ]


def _orphans(provenance: Provenance, limits: Limits) -> Problem | None:
    share = provenance.orphans / max(provenance.judged_count, 1)
    message = f"{counted(provenance.orphans, 'judged document')} ({share:.1%}) were brought by no contributor at hand"
    remedy = "give all contributing runs, and the depth that the pool really had"
    if share > limits.most_orphans:
        return Problem("orphans", f"{message}: what hold-outs show is far too small", remedy=remedy)
    if share > limits.told_orphans:
        return Problem("orphans", f"{message}: hold-outs show too little", severity="warning", remedy=remedy)
    return None


def _one_owner(uniques: Uniques, limits: Limits) -> Problem | None:
    total = int(uniques.relevant.sum())
    most = int(np.argmax(uniques.relevant))
    if len(uniques.groups) < 2 or not total or uniques.relevant[most] <= limits.largest_share * total:
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
