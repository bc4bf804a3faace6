"""How much the runs of a pool agree, and what each group brings that nobody else does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import Problem
from cranfield.base.text import counted
from cranfield.pool.candidates import PooledRuns, by_group, candidates_of, clusters_of
from cranfield.pool.extend import collapsed_topic, numbers_of
from cranfield.pool.pool import Pool
from cranfield.runs.columns import Places

MOST = 0.5
"""The share of the documents that only one group brought from which on that group is said to supply most."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """Who has how much of a pool in common.

    `shared` counts the documents that two of `names` both brought; its diagonal is what each brought at all. `unique`
    counts what each brought alone.
    """

    names: tuple[str, ...]
    shared: Places
    unique: Places

    @property
    def jaccard(self) -> NDArray[np.float64]:
        """What two have in common as a share of what they have together; 0 where they have nothing."""
        own = np.diag(self.shared)
        both = np.maximum(own[:, None] + own[None, :] - self.shared, 1)
        return np.asarray(self.shared / both, dtype=np.float64)


def overlap_of(pool: Pool, level: Literal["run", "group"]) -> Overlap:
    """Compare the runs by what they have within the pooled part, or the groups by what one of their runs has."""
    names, brought = _brought(pool, level)
    alone = brought[brought.sum(axis=1) == 1].sum(axis=0)
    return Overlap(names, np.rint(brought.T @ brought).astype(np.int64), alone.astype(np.int64))


def contributions_of_runs(pool: Pool) -> list[tuple[int, int]]:
    """Give for each run how many documents it contributed, and how many of these no other group did."""
    alone = _brought(pool, "group")[1].sum(axis=1) == 1
    runs = _brought(pool, "run")[1]
    return list(zip(runs.sum(axis=0).astype(int).tolist(), runs[alone].sum(axis=0).astype(int).tolist(), strict=True))


def dominant_group(pool: Pool) -> Problem | None:
    """Warn where one of at least three groups brought most of what only one group brought.

    Such a pool judges that group's documents and few others: others, and outsiders, may be wronged.
    """
    found = overlap_of(pool, "group")
    total = int(found.unique.sum())
    if len(found.names) < 3 or not total or found.unique.max() <= MOST * total:
        return None
    most = int(np.argmax(found.unique))
    share = found.unique[most] / total
    message = f"{found.names[most]} alone brought {counted(int(found.unique[most]), 'document')}, {share:.0%} of all"
    remedy = "pool by group (by=group), or ask for more diverse runs"
    return Problem("one-group-dominates", f"{message} that only one group brought", severity="warning", remedy=remedy)


def new_by_depth(runs: PooledRuns, *, topics: Sequence[str] | None = None, merge_groups: bool = False) -> Places:
    """Give how many documents each depth adds to a depth pool: place 0 is depth 1.

    With `merge_groups` the lists of the groups are merged first.
    """
    total = np.zeros(1, dtype=np.int64)
    for topic in runs.topics if topics is None else topics:
        candidates = candidates_of(runs, topic)
        counts = np.bincount((by_group(candidates) if merge_groups else candidates).best_rank)
        size = max(len(total), len(counts))
        total = np.pad(total, (0, size - len(total))) + np.pad(counts, (0, size - len(counts)))
    return total[1:].astype(np.int64)


def missing_by_depth(pool: Pool, runs: PooledRuns, *, clusters: Mapping[str, object] | None = None) -> Places:
    """Give how many documents that are not in the pool each depth of the runs would bring: place 0 is depth 1.

    With `clusters`, near-duplicates of what is in the pool are not missing, and of others only one is.
    """
    codes = clusters_of(runs, clusters)
    total = np.zeros(runs.depth + 1, dtype=np.int64)
    for topic in pool.topics:
        candidates = collapsed_topic(pool, runs, topic, codes)
        missing = np.ones(len(candidates), dtype=bool)
        missing[numbers_of(candidates, pool.documents_of(topic))] = False
        total += np.bincount(candidates.best_rank[missing], minlength=len(total))
    return total[1:]


def _brought(pool: Pool, level: Literal["run", "group"]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Give the names of the runs or groups, and which of them brought which entry, as ones and zeros."""
    owners = [source.name if level == "run" else source.group for source in pool.sources]
    names = owners if level == "run" else sorted(set(owners), key=str.encode)
    member = np.array([names.index(owner) for owner in owners], dtype=np.int64)
    brought: NDArray[np.float32] = np.zeros((len(pool), len(names)), dtype=np.float32)
    entries = np.repeat(np.arange(len(pool)), np.diff(pool.contribution_offsets))
    brought[entries, member[pool.contribution_runs]] = 1
    return tuple(names), brought
