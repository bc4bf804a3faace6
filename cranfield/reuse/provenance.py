"""Who contributed what to the pool: for each judgment the group that alone retrieved its document.

The pooled prefix of a contributing run is its list down to the pool depth of the topic, in the order that the
alignment has; where the pool was kept, its entries tell it instead. A row of the qrels is *unique* to a group if only
this group's contributing runs have its document in their pooled prefixes.

Where contributing runs or pool depth are not known, they are inferred from what is judged.

Source: Zobel, How reliable are the results of large-scale information retrieval experiments?, SIGIR 1998.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.evaluate.align import Alignment, AnyRun, align
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values, crossed, ratio, rows_of
from cranfield.qrels.qrels import Qrels, pair_keys
from cranfield.runs.columns import TEXT, Mask, places_in

Numbers = NDArray[np.int32]
Level = Literal["group", "run", "family"]
"""What is held out together: a team's runs, a single run, or all runs of one kind."""

Method = Literal["deletion", "replay"]
"""How a group is held out: what it alone contributed is deleted, or the plan is replayed without it."""

MANY = -1
"""Owner of a document that several groups contributed."""

NOBODY = -2
"""Owner of a document in no contributor's pooled prefix: an orphan, where it is judged."""


@dataclass(frozen=True, slots=True)
class Contributor:
    """Who a run belongs to, and whether it contributed to the pool. Without a group a run is a group of its own."""

    run: str
    group: str
    family: str = ""
    contributing: bool = True

    def member_of(self, level: Level) -> str:
        """What the run is held out with."""
        return {"group": self.group or self.run, "run": self.run, "family": self.family}[level]


def groups_of(
    run_names: Sequence[str], contributors: Sequence[Contributor], level: Level
) -> tuple[tuple[str, ...], Numbers, Numbers]:
    """The contributing groups, sorted by their bytes, and each run's place among them, -1 for no contributor.

    Then the same, also for a run that did not contribute, but whose group did with another.
    """
    members = {one.run: one.member_of(level) for one in contributors}
    groups = sorted({members[one.run] for one in contributors if one.contributing})
    place = {group: number for number, group in enumerate(groups)}
    own = np.array([place.get(members.get(run, ""), -1) for run in run_names], dtype=np.int32)
    contributing = {one.run for one in contributors if one.contributing}
    return tuple(groups), np.where([run in contributing for run in run_names], own, np.int32(-1)), own


def qrels_rows(alignment: Alignment, qrels: Qrels, runs: Sequence[AnyRun]) -> tuple[Numbers, Numbers, Numbers]:
    """Give the qrels row at each rank, and the alignment's topic and the grade level of each qrels row."""
    wanted = set(alignment.topic_ids)
    chosen = np.flatnonzero([topic in wanted for topic in qrels.topics])
    if (row := alignment.qrels_row) is None:
        again = align(qrels, runs, topics=alignment.topic_ids, reference=alignment.reference, keep_rows=True)
        row = np.asarray(again.qrels_row)
    place = np.full(len(qrels.topic_ids), -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen))
    level = np.searchsorted(alignment.lists.levels, qrels.grades).astype(np.int32)
    level[qrels.grades < 0] = -1
    return row, place[qrels.topic_of_row], level


def pooled_places(alignment: Alignment, contributing: Mask, depth: Counts) -> tuple[Counts, ...]:
    """Give run, rank and place in the lists of each document that a contributing run has down to the depth."""
    lists, topics = alignment.lists, len(depth)
    taken = np.where(np.repeat(contributing, topics), np.minimum(lists.length, depth[lists.topics]), 0)
    cell, places = np.repeat(np.arange(len(lists)), taken), rows_of(lists.offsets[:-1], taken)
    return cell // topics, places - lists.offsets[cell] + 1, places


def rows_of_pairs(qrels: Qrels, topics: Sequence[str], documents: Sequence[str]) -> Numbers:
    """Give the row of the qrels that each pair is; -1 where they lack it."""
    topic = places_in(qrels.topic_ids, pa.array(topics, TEXT))
    document = places_in(qrels.document_ids, pa.array(documents, TEXT))
    known = pair_keys(qrels.topic_of_row, qrels.documents)
    asked = pair_keys(topic, document)
    rows = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
    found = (topic >= 0) & (document >= 0)
    found[found] = known[rows[found]] == asked[found]
    return np.where(found, rows, -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Provenance:
    """What the contributors brought into the pool, and who alone brought each row of the qrels.

    `rows` (of the qrels) and `brought_by` (runs of the alignment) are parallel: one for each document of a pooled
    prefix that the qrels have, and topics of the alignment alone. `qrels_row`, parallel to the grades of the lists,
    is the row in the qrels, -1 for none. `depth` is the pool depth of each topic of the alignment.

    `topic_of_row` and `level_of_row` tell of each row of the qrels its topic in the alignment (-1: not there, and
    then nobody is said to have brought it) and its grade as a place in the levels of the lists (-1: pooled but not
    judged); `level_count` is the number of these.

    `groups` are the contributing groups (or runs, or families: `level` says which), sorted by their bytes;
    `group_of_run` gives the place of each run's group, -1 for one that did not contribute, and `own_group` the same
    also for a run that did not, but whose group contributed with another. `removed` is there where a plan was played
    again without each group: groups by rows, what is then not judged.
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
    level: Level
    groups: tuple[str, ...]
    group_of_run: Numbers
    own_group: Numbers
    removed: Mask | None = None

    def by(self, level: Level) -> Provenance:
        """The same by run, group or family."""
        groups, group_of_run, own_group = groups_of(self.run_names, self.contributors, level)
        return replace(self, level=level, groups=groups, group_of_run=group_of_run, own_group=own_group)

    def levels(self) -> Levels:
        """The provenance at all levels; by family only where every contributor has one."""
        levels: list[Level] = ["group", "run"]
        if all(one.family for one in self.contributors if one.contributing):
            levels.append("family")
        return {level: self.by(level) for level in levels}

    @cached_property
    def owner(self) -> Numbers:
        """The only group that brought each row of the qrels, MANY or NOBODY."""
        brought_by = self.group_of_run[self.brought_by]
        owner = np.full(len(self.topic_of_row), NOBODY, dtype=np.int32)
        owner[self.rows] = brought_by  # one of several is written, and then found out
        owner[self.rows[owner[self.rows] != brought_by]] = MANY
        return owner

    @cached_property
    def groups_of_row(self) -> Counts:
        """How many groups brought each row of the qrels."""
        flags = np.zeros((len(self.topic_of_row), max(len(self.groups), 1)), dtype=bool)
        flags[self.rows, self.group_of_run[self.brought_by]] = True  # to sort the pairs takes longer
        return np.asarray(flags.sum(axis=1))

    @property
    def method(self) -> Method:
        """How a group is held out."""
        return "deletion" if self.removed is None else "replay"

    @cached_property
    def removed_rows(self) -> tuple[Counts, ...]:
        """The rows of the qrels that are held out with each group."""
        if self.removed is not None:
            return tuple(np.flatnonzero(rows) for rows in self.removed)
        return _by_owner(self.owner, len(self.groups))

    @cached_property
    def removed_places(self) -> tuple[Counts, ...]:
        """The places in the lists where documents stand that are held out with each group."""
        if self.removed is not None:
            padded = np.concatenate([self.removed, np.zeros((len(self.groups), 1), dtype=bool)], axis=1)
            return tuple(np.flatnonzero(rows[self.qrels_row]) for rows in padded)
        return _by_owner(np.append(self.owner, np.int32(NOBODY))[self.qrels_row], len(self.groups))

    def is_removed(self, rows: Numbers, groups: Numbers) -> Mask:
        """Whether rows of the qrels (-1 for none) are held out with the groups beside them."""
        if self.removed is None:
            return np.asarray(np.append(self.owner, np.int32(NOBODY))[rows] == groups)
        gone = np.zeros(len(rows), dtype=bool)
        some = np.flatnonzero((rows >= 0) & (groups >= 0))
        gone[some] = self.removed[groups[some], rows[some]]
        return gone

    @cached_property
    def removed_counts(self) -> Counts:
        """Groups by topics by grade levels: the judged documents that are held out with the group."""
        judged = (rows[self.level_of_row[rows] >= 0] for rows in self.removed_rows)
        shape = (len(self.depth), self.level_count)
        return np.array([crossed(self.topic_of_row[rows], self.level_of_row[rows], shape) for rows in judged])

    @cached_property
    def judged(self) -> Mask:
        """Which rows of the qrels are judgments on topics of the alignment."""
        return (self.level_of_row >= 0) & (self.topic_of_row >= 0)

    @property
    def orphans(self) -> int:
        """How many judged documents no contributor explains: they are never held out."""
        return int((self.judged & (self.owner == NOBODY)).sum())


Levels = dict[Level, Provenance]
"""The same by what is held out together."""


def _by_owner(owners: Numbers, groups: int) -> tuple[Counts, ...]:
    """The places of each owner, rising."""
    owned = np.flatnonzero(owners >= 0)
    in_turn = owned[np.argsort(owners[owned], kind="stable")]
    ends = np.cumsum(np.bincount(owners[owned], minlength=groups))
    return tuple(np.split(in_turn, ends[:-1]))


def replayed(provenance: Provenance, qrels: Qrels, chosen: Mapping[str, Iterable[tuple[str, str]]]) -> Provenance:
    """The same provenance with groups held out by replay; `chosen` are (topic, document) without each group.

    Rows that no contributor explains stay judged, as they do in a deletion.
    """
    removed = np.tile(provenance.owner != NOBODY, (len(provenance.groups), 1))
    for number, group in enumerate(provenance.groups):
        pairs = list(chosen[group])
        rows = rows_of_pairs(qrels, [topic for topic, _ in pairs], [document for _, document in pairs])
        removed[number, rows[rows >= 0]] = False
    return replace(provenance, removed=removed)


def provenance_of(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    contributors: Sequence[Contributor],
    *,
    depth: int | Counts | None = None,
    entries: Iterable[tuple[str, str, str]] = (),
) -> Provenance:
    """Find what the contributors brought into a pool of their first `depth` documents, which may differ by topic.

    `qrels` and `runs` are those that the alignment was made of. A run that no contributor names did not contribute.
    Of a pool that was kept, whatever made it, there are `entries` instead, as (topic, document, run): the depth of a
    topic is then the deepest down to which every contributor's list is in the qrels. Entries that the qrels lack say
    nothing, nor do those of runs that are no contributors.
    """
    depths = None if depth is None else np.broadcast_to(depth, len(alignment.topic_ids)).astype(np.int64)
    place = {name: number for number, name in enumerate(alignment.run_names)}
    contributing = np.array(sorted(place[one.run] for one in contributors if one.contributing), dtype=np.int64)
    if not len(contributing):
        raise InputError("no contributing run, so that no group can be held out")
    qrels_row, topic_of_row, level_of_row = qrels_rows(alignment, qrels, runs)
    lists, topics = alignment.lists, len(alignment.topic_ids)
    if depths is not None:
        run, _, places = pooled_places(alignment, np.isin(np.arange(len(alignment.run_names)), contributing), depths)
        rows, brought_by = qrels_row[places], run.astype(np.int32)
        known = rows >= 0
    else:
        place = {alignment.run_names[one]: one for one in contributing.tolist()}
        kept = [(topic, document, place[run]) for topic, document, run in entries if run in place]
        rows = rows_of_pairs(qrels, [topic for topic, _, _ in kept], [document for _, document, _ in kept])
        brought_by = np.array([run for _, _, run in kept], dtype=np.int32)
        known = (rows >= 0) & (np.append(topic_of_row, -1)[rows] >= 0)
        # A list that ends is no limit; where all end so, the depth is the length of the longest.
        missing = np.append(np.flatnonzero(qrels_row < 0), len(qrels_row))
        first = missing[np.searchsorted(missing, lists.offsets[:-1])] - lists.offsets[:-1]
        clear, length = (one.reshape(-1, topics)[contributing] for one in (first, lists.length))
        limit = np.where(clear < length, clear, np.iinfo(np.int64).max)
        depths = np.minimum(limit.min(axis=0), length.max(axis=0))
    return Provenance(
        alignment.run_names,
        tuple(contributors),
        rows[known],
        brought_by[known],
        qrels_row,
        depths,
        topic_of_row,
        level_of_row,
        len(alignment.lists.levels),
        "group",
        *groups_of(alignment.run_names, contributors, "group"),
    )


def places_of_prefixes(alignment: Alignment, provenance: Provenance) -> tuple[Counts, ...]:
    """Give run, rank and place in the lists of each document in a pooled prefix."""
    return pooled_places(alignment, provenance.group_of_run >= 0, provenance.depth)


def pooled_shares(alignment: Alignment, provenance: Provenance) -> Values:
    """Give for each run which share of its documents down to the pool depth is in the qrels; NaN for none there.

    Of a contributor it should be 1: whatever it had there was pooled.
    """
    run, _, places = places_of_prefixes(alignment, provenance)
    size = np.bincount(run, minlength=len(alignment.run_names))
    known = np.bincount(run[provenance.qrels_row[places] >= 0], minlength=len(alignment.run_names))
    return np.where(size > 0, known / np.maximum(size, 1), np.nan)


def prefix_of(lists: Lists, depth: Counts) -> tuple[Lists, Counts]:
    """All lists cut at the depth of their topic, and the place of each row left among those of the whole lists."""
    taken = np.minimum(lists.length, depth[lists.topics])
    offsets, places = np.append(0, np.cumsum(taken)), rows_of(lists.offsets[:-1], taken)
    return replace(lists, grades=lists.grades[places], offsets=offsets, stratified=None), places


# Which runs contributed, where that is not known: those that are judged down to one common edge.

COVERED = 0.95
"""The share of its documents down to the edge that a contributor has in the qrels. Not all: contributors of TREC-2
have .991 to 1 down to rank 100; a non-contributing run has .869."""

COVERED_AT_EDGE = 0.98
"""The same right above the edge, where those who come close part from those who were there: contributors of TREC-2
have at least .990 at ranks 81 to 100, the sister of a contributor some .93."""

EVIDENCE = 6.5
"""How much likelier two shares must be than one, for the average run and as a logarithm: 650 to 1. That is much,
since the best of many depths is taken; a shallow edge shows in few documents and needs more topics to reach it."""

STEEPNESS = 6.5
"""How many times more unjudged documents must be below the edge than above it, one more above being granted to
chance. Over so few ranks a smooth curve does not rise like that; nine of ten right edges have 10 and more."""

FITTING = 0.9
"""The share of the known contributing runs that must be covered down to an inferred depth."""

_FEWEST_RUNS = 2
_FEWEST_TOPICS = 3
_NARROWEST = 3


@dataclass(frozen=True, eq=False)
class InferredPool:
    """A pool as it shows in what is judged: its depth (0 where none is believed), and which runs contributed.

    `fed` says which runs pass for contributors, and `refusal` why nothing could be inferred.
    """

    run_names: tuple[str, ...]
    depth: int
    fed: Mask
    refusal: str = ""

    @property
    def contributors(self) -> list[Contributor]:
        """The runs with what is inferred of them. Nothing is known of groups: each run stands alone."""
        fed = zip(self.run_names, self.fed.tolist(), strict=True)
        return [Contributor(run, "", contributing=contributing) for run, contributing in fed]


def infer_pool(alignment: Alignment, *, contributing: Mask | None = None, depth: int | None = None) -> InferredPool:
    """Infer pool depth and contributors from what is judged; where one of them is known, only the other.

    Judged means in the qrels, also where a grade is still missing. Topics that a run lacks do not count against it.
    Where the contributors are known there must be an edge, so the best is it: of 2,455 drawn pools on five topics or
    more, 98.5% got the right depth by this, 0.1% a wrong one, the rest none.
    """
    names, lists = alignment.run_names, alignment.lists

    def refused(reason: str) -> InferredPool:
        return InferredPool(names, 0, np.zeros(len(names), dtype=bool), reason)

    # After how many documents the first comes that is not in the qrels; -1 where none does.
    clear = lists.first_below(int(NOT_POOLED) + 1) - 1
    clear = np.where(clear < lists.length, clear, -1)
    if alignment.present.any() and (clear < 0).all():
        return refused("every ranking is judged to its end, so that no pool depth shows")
    if lists.levels.min(initial=1) > 0:
        return refused("no document is judged not relevant, so that the pool does not show in the qrels")
    if alignment.present.any(axis=0).sum() < _FEWEST_TOPICS:
        return refused(f"at least {_FEWEST_TOPICS} topics are needed to infer a pool depth")
    among = np.ones(len(names), dtype=bool) if contributing is None else contributing
    edges = _Edges(alignment, int(clear.max(initial=0)), among)
    least = _FEWEST_RUNS if contributing is None else FITTING * contributing.sum()
    weighed = np.where(edges.fed.sum(axis=0) >= least, edges.evidence, 0.0)
    no_edge = "the share of judged documents drops at no common rank"
    if depth is not None:
        no_edge = f"the share of judged documents does not drop at rank {depth}"
        weighed[np.arange(1, len(weighed) + 1) != depth] = 0.0
    if not weighed.any():
        return refused(
            "no two runs are judged to a common depth" if contributing is None and depth is None else no_edge
        )
    best = int(weighed.argmax())
    if contributing is None and (weighed[best] < EVIDENCE * edges.runs[best] or edges.steepness[best] < STEEPNESS):
        return refused(no_edge)
    return InferredPool(names, best + 1, edges.fed[:, best])


class _Edges:
    """What stands on both sides of each depth down to the deepest that a fully judged list reaches, of some runs.

    `fed`, runs by depths, are those that pass for contributors there. `runs` is how many of
    them have documents there, `evidence` how much better two shares of unjudged documents, above and below the edge,
    explain them than one (0 where fewer are below), and `steepness` how many times more the average run has unjudged
    below, one more above granted to chance. Both sides are w ranks wide: a fifth of the depth; at shallow ones up to
    three ranks, and up to half of it.
    """

    def __init__(self, alignment: Alignment, deepest: int, among: Mask) -> None:
        depth = np.arange(1, deepest + 1)
        wide = np.maximum(-(-depth // 5), np.minimum(_NARROWEST, -(-depth // 2)))
        # Runs by ranks from 0 on: how many unjudged documents, and how many in all, topics have down to there. Only
        # the ranks that are asked about are counted: most of a list lies below them.
        reach, (runs, topics) = int((depth + wide).max(initial=0)), alignment.scored.shape
        lists, shape = prefix_of(alignment.lists, np.full(topics, reach))[0], (runs, reach + 1)
        places = np.flatnonzero(lists.grades == NOT_POOLED)
        cells = np.repeat(np.arange(len(lists)), np.diff(np.searchsorted(places, lists.offsets)))
        unjudged = np.cumsum(crossed(cells // topics, places - lists.offsets[cells] + 1, shape), axis=1)
        ends = crossed(np.repeat(np.arange(runs), topics), lists.length, shape)
        longer = topics - np.cumsum(ends, axis=1)
        seen = np.concatenate([np.zeros((runs, 1), dtype=np.int64), np.cumsum(longer[:, :-1], axis=1)], axis=1)
        below = [counts[:, depth + wide] - counts[:, depth] for counts in (unjudged, seen)]
        above = [counts[:, depth] - counts[:, depth - wide] for counts in (unjudged, seen)]
        shares = 1.0 - ratio(unjudged[:, depth], seen[:, depth])
        fed = (seen[:, depth] > 0) & (shares >= COVERED) & (above[0] <= (1 - COVERED_AT_EDGE) * above[1])
        self.fed = fed & among[:, None]
        self.runs: Counts = ((above[1] > 0) & self.fed).sum(axis=0)
        (b, m), (a, n) = ([(counts * self.fed).sum(axis=0) for counts in side] for side in (above, below))
        apart = _log_likelihood(b, m) + _log_likelihood(a, n) - _log_likelihood(a + b, n + m)
        self.evidence = np.where(a * m > b * n, apart, 0.0)
        self.steepness = ratio(a * (m + self.runs), n * (b + self.runs))


def _log_likelihood(unjudged: Counts, seen: Counts) -> Values:
    """Give that of so many unjudged documents among those seen, at the share that makes them most likely."""
    share = ratio(unjudged, seen)
    inner = (share > 0) & (share < 1)
    safe = np.where(inner, share, 0.5)
    return np.where(inner, unjudged * np.log(safe) + (seen - unjudged) * np.log1p(-safe), 0.0)
