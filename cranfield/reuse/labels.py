"""What is known of the documents within k of each run: labels, those its own group alone contributed, popularity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.runs.columns import Keys, KeyTable

MOST_FLAGS = 50_000_000
"""Up to so many pairs of a row and a group are counted with a flag for each; sorting them takes longer."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents within k, one row each: run and topic as places, and the octave of the rank.

    `popularity` is the logarithm of a document's reciprocal-rank-fusion score over the lists of other groups. None
    where these are not at hand.
    """

    run: Counts
    topic: Counts
    octave: Counts
    popularity: Values | None = None

    def where(self, kept: NDArray[np.bool_]) -> Documents:
        """Some of the documents."""
        popularity = None if self.popularity is None else self.popularity[kept]
        return Documents(self.run[kept], self.topic[kept], self.octave[kept], popularity)


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels within k. `judged` are counts as runs by topics by grade levels, lowest first, of documents that
    have a label without the run's group too; `size` are all documents of each run within k.

    `own` are documents that only the run's group contributed, and `own_level` their levels: with the group held out
    they would be unjudged, and their labels are known. `shared` counts by level those that one other group
    contributed too: without that group as well they would be unjudged. `group_of_run` is -1 for a non-contributing
    run, which has neither.
    """

    levels: tuple[int, ...]
    groups: tuple[str, ...]
    group_of_run: NDArray[np.int32]
    judged: Counts
    size: Counts
    own: Documents
    own_level: Counts
    shared: Counts

    @cached_property
    def coverage(self) -> Values:
        """The share of each run's documents that is judged, as a logit."""
        return logit(np.clip(ratio(self.judged.sum(axis=(1, 2)), self.size), 0.02, 0.98))

    def chosen(self, runs: Counts) -> Labels:
        """The labels of some runs, for learning: those of the others are empty."""
        kept = np.isin(np.arange(len(self.group_of_run)), runs)
        of_own = kept[self.own.run]
        return replace(
            self,
            group_of_run=np.where(kept, self.group_of_run, np.int32(-1)),
            judged=np.where(kept[:, np.newaxis, np.newaxis], self.judged, 0),
            own=self.own.where(of_own),
            own_level=self.own_level[of_own],
        )


def count_labels(
    alignment: Alignment,
    depth: Counts,
    provenance: Provenance | None = None,
    *,
    popularity: Values | None = None,
    groups_of_row: Counts | None = None,
) -> Labels:
    """Count what all runs have within `depth`, one number per topic. Without provenance no run contributed.

    Topics that do not count for a run are left out. `popularity` is parallel to the grades of the lists;
    `groups_of_row` is what `count_groups_of_rows` gives, if known.
    """
    lists, places = prefix_of(alignment.lists, depth)
    judged = lists.judged
    found = judged.where(alignment.scored.ravel()[judged.cell])
    levels, topics = alignment.lists.levels, len(alignment.topic_ids)
    level, run = np.searchsorted(levels, found.grade), found.cell // topics
    groups: tuple[str, ...] = ()
    group_of_run = np.full(len(alignment.run_names), -1, dtype=np.int32)
    own = shared = np.zeros(len(found), dtype=bool)
    at = places[lists.offsets[found.cell] + found.rank - 1]
    if provenance is not None:
        group_of_run, groups = provenance.group_of_run, provenance.groups
        group, rows = group_of_run[run], provenance.qrels_row[at]
        own = provenance.is_removed(rows, group) & (group >= 0)  # -1 stands for no group, but also for many owners
        if provenance.method == "deletion":
            counts = count_groups_of_rows(alignment, provenance) if groups_of_row is None else groups_of_row
            pooled = found.rank <= provenance.depth[alignment.lists.topics[found.cell]]
            shared = pooled & (group >= 0) & (counts[rows] == 2)
    shape = (*alignment.shape, len(levels))
    cells = found.cell[~own] * len(levels) + level[~own]
    popular = None if popularity is None else popularity[at[own]]
    return Labels(
        levels=tuple(levels.tolist()),
        groups=groups,
        group_of_run=group_of_run,
        judged=np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape),
        size=np.where(alignment.scored, lists.length.reshape(alignment.shape), 0).sum(axis=1),
        own=Documents(run[own], found.cell[own] % topics, octave_of(found.rank[own]), popular),
        own_level=level[own],
        shared=np.bincount(level[shared], minlength=len(levels)),
    )


def octave_of(rank: Counts) -> Counts:
    """The octave of ranks: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    return np.ceil(np.log2(np.maximum(rank, 1))).astype(np.int64)


def count_groups_of_rows(alignment: Alignment, provenance: Provenance) -> Counts:
    """Count the groups that have each row of the qrels in a pooled prefix."""
    lists, places = prefix_of(alignment.lists, provenance.depth)
    group = np.repeat(np.repeat(provenance.group_of_run, len(alignment.topic_ids)), lists.length)
    row = provenance.qrels_row[places]
    brought = (row >= 0) & (group >= 0)
    size, rows = max(len(provenance.groups), 1), len(provenance.owner)
    pairs = row[brought].astype(np.int64) * size + group[brought]
    if rows * size > MOST_FLAGS:
        return np.bincount(np.unique(pairs) // size, minlength=rows)
    flags = np.zeros(rows * size, dtype=bool)
    flags[pairs] = True
    counts: Counts = flags.reshape(rows, size).sum(axis=1)
    return counts


def logit(share: ArrayLike) -> Values:
    """Give ln(x / (1 - x)) of shares between 0 and 1."""
    shares = np.asarray(share, dtype=np.float64)
    return np.asarray(np.log(shares / (1.0 - shares)), dtype=np.float64)


# How popular a document is among the contributors.

RANK_CONSTANT = 60
"""Reciprocal-rank fusion adds 1 / (60 + rank). Source: Cormack, Clarke and Büttcher, SIGIR 2009."""

NOBODY = 1e-3
"""What is added to a fusion score, so that a document that nobody else retrieves has a logarithm."""


def popularity_of(alignment: Alignment, provenance: Provenance, depth: Counts) -> Values:
    """How popular each document down to `depth` is among the groups other than its run's own, by place.

    The logarithm of the sum over groups of the mean of 1 / (60 + rank) over the group's runs, at whatever rank.
    Places below `depth` have 0.
    """
    lists, topics, keys = alignment.lists, len(alignment.topic_ids), alignment.pair_keys
    if keys is None:
        raise UsageError("popularity needs an alignment that knows its documents")
    places = prefix_of(lists, depth)[1]
    wanted, number = np.unique(keys[places], return_inverse=True)
    run = np.searchsorted(lists.offsets[:: max(topics, 1)], places, side="right") - 1
    fusion, own = np.zeros(len(wanted)), np.zeros(len(places))
    for group, score in enumerate(fusion_by_group(alignment, provenance, wanted)):
        fusion += score
        mine = provenance.own_group[run] == group
        own[mine] = score[number[mine]]
    popularity = np.zeros(len(lists.grades))
    popularity[places] = np.log(np.maximum(fusion[number] - own, 0.0) + NOBODY)
    return popularity


def fusion_by_group(alignment: Alignment, provenance: Provenance, wanted: Keys) -> Iterator[Values]:
    """What each group adds to the fusion scores of pairs of topic and document, given by their keys."""
    lists, topics, table = alignment.lists, len(alignment.topic_ids), KeyTable.of(wanted)
    keys = wanted[:0] if alignment.pair_keys is None else alignment.pair_keys
    for group in range(len(provenance.groups)):
        members = np.flatnonzero(provenance.group_of_run == group)
        score = np.zeros(len(wanted))
        for member in members.tolist():
            first, last = lists.offsets[member * topics], lists.offsets[(member + 1) * topics]
            cells = slice(member * topics, (member + 1) * topics)
            rank = np.arange(first, last) - np.repeat(lists.offsets[cells], lists.length[cells]) + 1
            at = table.places(keys[first:last])
            found = at >= 0
            score[at[found]] += 1.0 / (RANK_CONSTANT + rank[found]) / len(members)
        yield score
