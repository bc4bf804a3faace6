"""What is known of the documents within k of each run: labels, those its own group alone contributed, popularity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment, KeyTable
from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.qrels.qrels import Grades
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.runs.columns import Mask


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

    def where(self, kept: Mask) -> Documents:
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
    run, which has neither. `of_one_group` is what a group that retrieves a document usually adds to its fusion score.
    """

    levels: tuple[int, ...]
    groups: tuple[str, ...]
    group_of_run: Grades
    judged: Counts
    size: Counts
    own: Documents
    own_level: Counts
    shared: Counts
    of_one_group: float = 0.0

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
            judged=np.where(kept[:, None, None], self.judged, 0),
            own=self.own.where(of_own),
            own_level=self.own_level[of_own],
        )


def count_labels(
    alignment: Alignment, depth: Counts, provenance: Provenance | None = None, *, retrieved: Retrieved | None = None
) -> Labels:
    """Count what all runs have within `depth`, one number per topic. Without provenance no run contributed.

    Topics that do not count for a run are left out. `retrieved` tells how popular documents are.
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
            pooled = found.rank <= provenance.depth[alignment.lists.topics[found.cell]]
            shared = pooled & (group >= 0) & (provenance.groups_of_row[rows] == 2)
    shape = (*alignment.scored.shape, len(levels))
    cells = found.cell[~own] * len(levels) + level[~own]
    popular = None if retrieved is None else retrieved.popularity[at[own]]
    return Labels(
        levels=tuple(levels.tolist()),
        groups=groups,
        group_of_run=group_of_run,
        judged=np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape),
        size=np.where(alignment.scored, lists.length.reshape(alignment.scored.shape), 0).sum(axis=1),
        own=Documents(run[own], found.cell[own] % topics, octave_of(found.rank[own]), popular),
        own_level=level[own],
        shared=np.bincount(level[shared], minlength=len(levels)),
        of_one_group=0.0 if retrieved is None else retrieved.of_one_group,
    )


def octave_of(rank: Counts) -> Counts:
    """The octave of ranks: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    return np.ceil(np.log2(np.maximum(rank, 1))).astype(np.int64)


def logit(share: ArrayLike) -> Values:
    """Give ln(x / (1 - x)) of shares between 0 and 1."""
    shares = np.asarray(share, dtype=np.float64)
    return np.log(shares / (1.0 - shares))


# How popular a document is among the contributors.

RANK_CONSTANT = 60
"""Reciprocal-rank fusion adds 1 / (60 + rank). Source: Cormack, Clarke and Büttcher, SIGIR 2009."""

NOBODY = 1e-3
"""What is added to a fusion score, so that a document that nobody else retrieves has a logarithm."""


class Retrieved:
    """The pairs of topic and document that runs retrieve down to `depth`, one number per topic, and who does.

    `keys` are those of the pairs, rising, and `of_row` is the pair at each row of the lists, -1 for none. `rows` are
    those of contributors with such a pair, at whatever rank; `pair`, `run`, `rank` and `weight` are theirs. Of each
    pair `fusion` is the sum over groups of the mean of 1 / (60 + rank) over the group's runs, and `groups` how many
    retrieve it. `popularity` is that of each row down to `depth` among the groups other than its run's own, 0 below.
    `of_one_group` is the mean of 1 / (60 + rank) over all rows of the contributors.
    """

    def __init__(self, alignment: Alignment, provenance: Provenance, depth: Counts) -> None:
        lists, keys = alignment.lists, alignment.pair_keys
        if keys is None:
            raise UsageError("popularity needs an alignment that knows its documents")
        group, ends = provenance.group_of_run, lists.offsets[:: max(len(alignment.topic_ids), 1)]
        places = prefix_of(lists, depth)[1]
        self.keys = np.unique(keys[places])
        self.of_row = KeyTable.of(self.keys).places(keys)
        self.rows = np.flatnonzero((self.of_row >= 0) & np.repeat(group >= 0, np.diff(ends)))
        self.pair, of_run = self.of_row[self.rows], np.searchsorted(self.rows, ends)
        self.run = np.repeat(np.arange(len(group)), np.diff(of_run))
        self.rank = self.rows + 1 - np.repeat(lists.offsets[:-1], np.diff(np.searchsorted(self.rows, lists.offsets)))
        self.weight = 1.0 / (RANK_CONSTANT + self.rank) / np.bincount(group[group >= 0])[group[self.run]]
        self.fusion, self.groups = np.zeros(len(self.keys)), np.zeros(len(self.keys), dtype=np.int64)
        own, pair_there, places_of_run = np.zeros(len(places)), self.of_row[places], np.searchsorted(places, ends)
        for number in range(len(provenance.groups)):
            score = np.zeros(len(self.keys))
            for run in np.flatnonzero(group == number).tolist():  # which has each pair once
                mine = slice(of_run[run], of_run[run + 1])
                score[self.pair[mine]] += self.weight[mine]
            self.fusion += score
            self.groups += score > 0
            for run in np.flatnonzero(provenance.own_group == number).tolist():
                here = slice(places_of_run[run], places_of_run[run + 1])
                own[here] = score[pair_there[here]]
        lengths = lists.length.reshape(alignment.scored.shape)[group >= 0]
        self.of_one_group = float(np.log1p(lengths / RANK_CONSTANT).sum() / max(int(lengths.sum()), 1))
        self.popularity = np.zeros(len(keys))
        self.popularity[places] = np.log(np.maximum(self.fusion[pair_there] - own, 0.0) + NOBODY)
