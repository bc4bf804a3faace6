"""How many documents of each grade a run has among its first k: judged anyway, or brought by its own group alone."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Found
from cranfield.reuse.prefix import Prefix, prefix_of
from cranfield.reuse.provenance import Provenance

Mask = NDArray[np.bool_]

MOST_FLAGS = 50_000_000
"""Up to so many pairs of a row and a group are counted with a flag for each; sorting them takes longer."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of documents within k as runs by topics by grade levels, lowest first.

    `judged` are those with a label that would be there without the run's group too; `own` those that only the group
    brought: with the group held out they would be holes, and their labels are known. `shared` are those of the first
    kind that one other group brought: without that group too they would be holes. `group_of_run` is -1 for an
    outsider, which has only the first kind. `own` is told apart by octaves of ranks too: runs by topics by octaves by
    levels.
    """

    levels: tuple[int, ...]
    groups: tuple[str, ...]
    group_of_run: NDArray[np.int32]
    judged: Counts
    own: Counts
    shared: Counts

    def of(self, runs: Counts) -> "Tally":
        """Give the tally of some of the runs."""
        by_run = ("group_of_run", "judged", "own", "shared")
        return replace(
            self, **{one.name: getattr(self, one.name)[runs] for one in fields(self) if one.name in by_run}
        )


def tally_of(
    alignment: Alignment,
    depth: Counts,
    provenance: Provenance | None = None,
    *,
    groups_of_row: Counts | None = None,
) -> Tally:
    """Count what all runs have within `depth`, one number per topic. Without provenance all runs are outsiders.

    Topics that do not count for a run are left out. `groups_of_row` is what `groups_of_rows` gives, if it is known.
    """
    prefix = prefix_of(alignment.lists, depth)
    judged = prefix.lists.judged
    found = judged.where(alignment.scored.ravel()[judged.cell])
    groups: tuple[str, ...] = ()
    group_of_run = np.full(len(alignment.run_names), -1, dtype=np.int32)
    own = shared = np.zeros(len(found), dtype=bool)
    if provenance is not None:
        group_of_run, groups = provenance.group_of_run, provenance.groups
        own, shared = _brought(alignment, prefix, found, provenance, groups_of_row)
    return Tally(
        levels=tuple(alignment.lists.levels.tolist()),
        groups=groups,
        group_of_run=group_of_run,
        judged=_counted(alignment, found.where(~own)),
        own=_by_octave(alignment, found.where(own), int(octave_of(depth).max(initial=0)) + 1),
        shared=_counted(alignment, found.where(shared)),
    )


def octave_of(rank: Counts) -> Counts:
    """Give the octave of ranks: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    return np.ceil(np.log2(np.maximum(rank, 1))).astype(np.int64)


def _brought(
    alignment: Alignment, prefix: Prefix, found: Found, provenance: Provenance, groups_of_row: Counts | None
) -> tuple[Mask, Mask]:
    """Say of documents whether they go with the run's own group, and whether they would with one other group."""
    places = prefix.places_of(found)
    group = np.repeat(provenance.group_of_run, len(alignment.topic_ids))[found.cell]
    here = replace(provenance, qrels_row=provenance.qrels_row[places])
    own = here.removed_at_rank(group) & (group >= 0)  # -1 stands for an outsider, but also for many owners
    if provenance.method != "deletion":
        return own, np.zeros(len(found), dtype=bool)
    pooled = (found.rank <= provenance.depth[alignment.lists.topics[found.cell]]) & (group >= 0)
    counts = groups_of_rows(alignment, provenance) if groups_of_row is None else groups_of_row
    return own, pooled & (counts[here.qrels_row] == 2)


def groups_of_rows(alignment: Alignment, provenance: Provenance) -> Counts:
    """Count the groups that have each row of the qrels in a pooled prefix."""
    prefix = prefix_of(alignment.lists, provenance.depth)
    group_of_cell = np.repeat(provenance.group_of_run, len(alignment.topic_ids))
    group = np.repeat(group_of_cell, prefix.lists.length)
    row = provenance.qrels_row[prefix.places]
    brought = (row >= 0) & (group >= 0)
    size, rows = max(len(provenance.groups), 1), len(provenance.owner)
    pairs = row[brought].astype(np.int64) * size + group[brought]
    if rows * size > MOST_FLAGS:
        return np.bincount(np.unique(pairs) // size, minlength=rows)
    flags = np.zeros(rows * size, dtype=bool)
    flags[pairs] = True
    counts: Counts = flags.reshape(rows, size).sum(axis=1)
    return counts


def _by_octave(alignment: Alignment, found: Found, octaves: int) -> Counts:
    octave = octave_of(found.rank)
    parts = [_counted(alignment, found.where(octave == one)) for one in range(octaves)]
    return np.stack(parts, axis=2)


def _counted(alignment: Alignment, found: Found) -> Counts:
    levels = alignment.lists.levels
    cells = found.cell * len(levels) + np.searchsorted(levels, found.grade)
    shape = (*alignment.shape, len(levels))
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
