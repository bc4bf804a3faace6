"""Who brought what into the pool: for each judgment the group that alone found its document.

The pooled prefix of a contributing run is its list down to the pool depth of the topic, in the order that the
alignment has; where the pool was kept, its entries tell it instead. A row of the qrels is *unique* to a group if only
this group's contributing runs have its document in their pooled prefixes.

Source: Zobel, How reliable are the results of large-scale information retrieval experiments?, SIGIR 1998.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment, AnyRun
from cranfield.evaluate.sample import strata_of
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.contributors import Contributor, Level, contributing_places, groups_of
from cranfield.reuse.pooled_rows import (
    Counts,
    Numbers,
    common_depth,
    depth_of_topics,
    first_of_cells,
    qrels_rows,
    rows_of_pairs,
)

__all__ = [
    "MANY",
    "NOBODY",
    "Contributor",
    "Level",
    "Method",
    "Prefixes",
    "Provenance",
    "kept_prefixes",
    "prefixes_of",
    "provenance_of",
]

MANY = -1
"""Owner of a document that several groups brought."""

NOBODY = -2
"""Owner of a document in no contributor's pooled prefix: an orphan, where it is judged."""

Method = Literal["deletion", "replay"]
"""How a group is held out: what it alone brought is deleted, or the plan is played again without it."""


@dataclass(frozen=True, eq=False)
class Provenance:
    """Who alone brought each row of the qrels.

    `groups` are the contributing groups (or runs, or families: `level` says which), sorted by their bytes, and
    `group_of_run` gives for each run of the alignment its place there, -1 for an outsider. `qrels_row`, parallel to
    the grades of the lists, is the row in the qrels, -1 for none. `owner` has one number per row of the qrels: the
    only group that brought it, MANY or NOBODY. `depth` is the pool depth of each topic of the alignment.

    `topic_of_row` and `level_of_row` tell of each row of the qrels its topic in the alignment (-1: not there, and
    then nobody is said to have brought it) and its grade as a place in the levels of the lists (-1: pooled but not
    judged). `topic_count` and `level_count` are the numbers of both. `stratum_of_row` is there where the qrels are a
    sample, and numbers the strata as the lists' sample does.
    """

    groups: tuple[str, ...]
    group_of_run: Numbers
    qrels_row: Numbers
    owner: Numbers
    depth: Counts
    topic_of_row: Numbers
    level_of_row: Numbers
    topic_count: int
    level_count: int
    level: Level = "group"
    stratum_of_row: Numbers | None = None

    @property
    def method(self) -> Method:
        """How a group is held out."""
        return "deletion"

    @cached_property
    def owner_at_rank(self) -> Numbers:
        """The owner at each rank of the lists; NOBODY where the document is not in the qrels."""
        owners: Numbers = np.append(self.owner, np.int32(NOBODY))[self.qrels_row]
        return owners

    @cached_property
    def unique_counts(self) -> Counts:
        """Groups by topics by grade levels: the judged documents that only this group brought."""
        return np.array([self._levels(rows) for rows in _by_owner(self.owner, len(self.groups))])

    @cached_property
    def removed_pooled(self) -> Counts:
        """Groups by topics: the rows of the qrels, judged or not, that are held out with the group."""
        return np.array(
            [np.bincount(self.topic_of_row[rows], minlength=self.topic_count) for rows in self.removed_rows]
        )

    @cached_property
    def removed_counts(self) -> Counts:
        """Groups by topics by grade levels: the judged documents that are held out with the group."""
        return np.array([self._levels(rows) for rows in self.removed_rows])

    @cached_property
    def removed_rows(self) -> tuple[Counts, ...]:
        """The rows of the qrels that are held out with each group: those that it alone brought."""
        return _by_owner(self.owner, len(self.groups))

    @cached_property
    def removed_places(self) -> tuple[Counts, ...]:
        """The places in the lists where documents stand that are held out with each group."""
        return _by_owner(self.owner_at_rank, len(self.groups))

    def removed_at_rank(self, group_at_rank: Numbers) -> NDArray[np.bool_]:
        """Say at which ranks a document stands that is held out with the group beside it."""
        return np.asarray(self.owner_at_rank == group_at_rank)

    def _levels(self, rows: Counts) -> Counts:
        """Count the judged ones of some rows: topics by grade levels."""
        judged = rows[self.level_of_row[rows] >= 0]
        cells = self.topic_of_row[judged].astype(np.int64) * self.level_count + self.level_of_row[judged]
        counts = np.bincount(cells, minlength=self.topic_count * self.level_count)
        return counts.reshape(self.topic_count, self.level_count)

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """Which rows of the qrels are judgments on topics of the alignment."""
        return (self.level_of_row >= 0) & (self.topic_of_row >= 0)

    @property
    def judged_count(self) -> int:
        """How many judgments the topics of the alignment have."""
        return int(self.judged.sum())

    @property
    def orphans(self) -> int:
        """How many judged documents no contributor at hand explains: they are never held out."""
        return int((self.judged & (self.owner == NOBODY)).sum())


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What the contributors brought, before it is asked who is held out together.

    `rows` (of the qrels) and `brought_by` (runs of the alignment) are parallel: one for each document of a pooled
    prefix that the qrels have, and topics of the alignment alone. The rest is as in `Provenance`.
    """

    run_names: tuple[str, ...]
    contributors: tuple[Contributor, ...]
    rows: Numbers
    brought_by: Numbers
    qrels_row: Numbers
    depth: Counts
    topic_of_row: Numbers
    level_of_row: Numbers
    level_count: int
    stratum_of_row: Numbers | None = None

    def by(self, level: Level) -> Provenance:
        """Give the provenance by run, group or family."""
        groups, group_of_run = groups_of(self.run_names, self.contributors, level)
        return Provenance(
            groups=groups,
            group_of_run=group_of_run,
            qrels_row=self.qrels_row,
            owner=_owners(len(self.topic_of_row), self.rows, group_of_run[self.brought_by]),
            depth=self.depth,
            topic_of_row=self.topic_of_row,
            level_of_row=self.level_of_row,
            topic_count=len(self.depth),
            level_count=self.level_count,
            level=level,
            stratum_of_row=self.stratum_of_row,
        )


def provenance_of(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    contributors: Sequence[Contributor],
    *,
    depth: int | Mapping[str, int],
    level: Level = "group",
) -> Provenance:
    """Find who alone brought what into a depth pool; see `prefixes_of`."""
    return prefixes_of(alignment, qrels, runs, contributors, depth=depth).by(level)


def prefixes_of(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    contributors: Sequence[Contributor],
    *,
    depth: int | Mapping[str, int],
) -> Prefixes:
    """Find what the contributors brought into a pool of their first `depth` documents, which may differ by topic.

    `qrels` and `runs` are those that the alignment was made of. A run that no contributor names is an outsider.
    """
    depths = depth_of_topics(alignment.topic_ids, depth)
    contributing = contributing_places(alignment.run_names, contributors)
    qrels_row, topic_of_row, level_of_row = qrels_rows(alignment, qrels, runs)
    cells = (contributing[:, np.newaxis] * len(depths) + np.arange(len(depths))).ravel()
    places, taken = first_of_cells(alignment.lists, cells, np.tile(depths, len(contributing)))
    rows = qrels_row[places]
    brought_by = np.repeat(cells // len(depths), taken).astype(np.int32)
    return Prefixes(
        run_names=alignment.run_names,
        contributors=tuple(contributors),
        rows=rows[rows >= 0],
        brought_by=brought_by[rows >= 0],
        qrels_row=qrels_row,
        depth=depths,
        topic_of_row=topic_of_row,
        level_of_row=level_of_row,
        level_count=len(alignment.lists.levels),
        stratum_of_row=None if qrels.strata is None else strata_of(qrels).of_row,
    )


def kept_prefixes(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    contributors: Sequence[Contributor],
    *,
    entries: Iterable[tuple[str, str, str]],
) -> Prefixes:
    """Give what the contributors brought into a pool that was kept, whatever made it: (topic, document, run).

    The depth of a topic is then the deepest down to which every contributor's list is in the qrels. Entries that the
    qrels lack say nothing, nor do those of runs that are no contributors.
    """
    contributing = contributing_places(alignment.run_names, contributors)
    places = {alignment.run_names[place]: place for place in contributing.tolist()}
    kept = [(topic, document, places[run]) for topic, document, run in entries if run in places]
    qrels_row, topic_of_row, level_of_row = qrels_rows(alignment, qrels, runs)
    rows = rows_of_pairs(qrels, [topic for topic, _, _ in kept], [document for _, document, _ in kept])
    known = (rows >= 0) & (np.append(topic_of_row, -1)[rows] >= 0)
    return Prefixes(
        run_names=alignment.run_names,
        contributors=tuple(contributors),
        rows=rows[known],
        brought_by=np.array([run for _, _, run in kept], dtype=np.int32)[known],
        qrels_row=qrels_row,
        depth=common_depth(alignment, qrels_row, contributing),
        topic_of_row=topic_of_row,
        level_of_row=level_of_row,
        level_count=len(alignment.lists.levels),
        stratum_of_row=None if qrels.strata is None else strata_of(qrels).of_row,
    )


def _by_owner(owners: Numbers, groups: int) -> tuple[Counts, ...]:
    """Give the places of each owner, rising."""
    owned = np.flatnonzero(owners >= 0)
    in_turn = owned[np.argsort(owners[owned], kind="stable")]
    ends = np.cumsum(np.bincount(owners[owned], minlength=groups))
    return tuple(np.split(in_turn, ends[:-1]))


def _owners(size: int, rows: Numbers, groups: Numbers) -> Numbers:
    """Give the only group that stands beside each row. One of several is written first, and then found out."""
    owner = np.full(size, NOBODY, dtype=np.int32)
    owner[rows] = groups
    owner[rows[owner[rows] != groups]] = MANY
    return owner
