"""Two runs against each other: how far apart their scores can be, whatever the unjudged documents turn out to be.

A document that both runs rank gets one label in both. For measures that add up what documents are worth at their
ranks (P, CG, DCG, RBP) the difference is lowest where exactly those documents are relevant that weigh more for the
second run: this is exact. So it is for RR and Success, where at most one unjudged document decides. For all others
the bounds of the two scores are subtracted, as if the labels had nothing to do with each other: true, and called
conservative. Both scores then know the holes of both runs, for one that only the other run has can raise R and the
ideal as well. Source: Moffat and Zobel, TOIS 2008, for the residual of a difference.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.aggregate import aggregated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.evaluate.lists import Counts, Found, Values
from cranfield.reuse.bounds import (
    Closure,
    Part,
    check_further,
    counts_holes_as_nonrelevant,
    has_no_depth,
    part_of,
    with_highest_grade,
)
from cranfield.reuse.bounds_freedom import Ends, Reach
from cranfield.reuse.identities import Identities, of_runs, with_judgments
from cranfield.reuse.pair_weights import Weighing, weighing_of
from cranfield.runs.run import Codes


@dataclass(frozen=True, eq=False)
class SharedHoles:
    """The unjudged documents of two runs, each once: topic, document, and its rank in each run, 0 where it has none.

    Topics are places in the alignment's. At least one of the two ranks is within the depth that matters.
    """

    topic: Counts
    document: Codes
    first_rank: Counts
    second_rank: Counts

    def __len__(self) -> int:
        return len(self.topic)


@dataclass(frozen=True, eq=False)
class Contest:
    """Two runs, aligned, with their documents, and how they are compared: by which measure, down to which depth.

    `highest` is the highest grade a hole can have.
    """

    alignment: Alignment
    documents: Identities
    measure: AnyMeasure
    depth: Reach
    closure: Closure
    further: int
    highest: int

    @cached_property
    def part(self) -> Part:
        """Score and bounds of each list, with the holes of both runs free in both.

        A hole that only the other run has can raise R and the ideal here. What lies beyond the end of a list is no
        document, so that RBP has no tail. Measures that pass holes over have no bounds in a pair.
        """
        lists = with_highest_grade(self.alignment.lists, self.highest)
        found = part_of(self.measure, lists, self._rows, further=self.further, beside=self._beside)
        plain = not isinstance(self.measure, Measure) or counts_holes_as_nonrelevant(self.measure, self.highest)
        if self.weighing is None and not plain:
            unknown = np.full(len(lists), np.nan)
            has_gains = "gains" in dict(self.measure.settings)  # type: ignore[union-attr]
            reason = _NO_GAIN if has_gains else _PASSES_OVER
            return Part(found.values, Ends(unknown, unknown), "none", reason)
        return found

    @cached_property
    def _rows(self) -> Found:
        """The rows of both runs that hold one of the holes."""
        lists, holes = self.alignment.lists, self.holes
        ranks = [holes.first_rank, holes.second_rank]
        cells = [holes.topic + run * len(self.alignment.topic_ids) for run in range(2)]
        cell = np.concatenate([one[rank > 0] for one, rank in zip(cells, ranks, strict=True)])
        rank = np.concatenate([one[one > 0] for one in ranks])
        order = np.lexsort((rank, cell))
        cell, rank = cell[order], rank[order]
        starts = np.searchsorted(cell, np.arange(len(lists) + 1))
        return Found(cell, rank, lists.grades[lists.offsets[cell] + rank - 1], starts)

    @cached_property
    def _beside(self) -> Counts:
        """How many of the holes each list does not have."""
        count = len(self.alignment.topic_ids)
        return np.concatenate(
            [
                np.bincount(self.holes.topic[rank == 0], minlength=count)
                for rank in (self.holes.first_rank, self.holes.second_rank)
            ]
        )

    def ends_of(self, run: int) -> tuple[Values, Values, Values]:
        """Give score, lower and upper bound of a run on each common topic."""
        shape = self.alignment.shape
        rows = (self.part.values, self.part.ends.lower, self.part.ends.upper)
        values, lower, upper = (one.reshape(shape)[run][self.topics] for one in rows)
        return values, lower, upper

    @cached_property
    def weighing(self) -> Weighing | None:
        """How the measure weighs one document, where it does."""
        return weighing_of(self.measure, self.highest)

    @cached_property
    def topics(self) -> Counts:
        """The places of the topics that are scored for both runs."""
        return np.flatnonzero(self.alignment.scored.all(axis=0))

    @property
    def reach(self) -> Reach:
        """The depth down to which holes count."""
        whole = self.closure != "at-k" or has_no_depth(self.measure)
        return None if whole else self.depth

    @cached_property
    def holes(self) -> SharedHoles:
        """The unjudged documents that count, each once."""
        return shared_holes(self.alignment, self.documents, self.topics, self.reach)

    def after(self, chosen: Counts, grades: NDArray[np.int32]) -> "Contest":
        """Give the contest as it would be with some of the holes judged."""
        holes = self.holes
        judged = with_judgments(self.alignment, self.documents, holes.topic[chosen], holes.document[chosen], grades)
        return replace(self, alignment=judged)


@dataclass(frozen=True, eq=False)
class Difference:
    """The score of the first run minus that of the second on each common topic: as it is, at least and at most.

    `exact` says that shared documents were labelled once; else the bounds are true but conservative. `value` is the
    difference of the two summaries and `ends` its lowest and highest. `open_count` says how many unjudged documents
    each run has within the depth that matters.
    """

    measure: AnyMeasure
    names: tuple[str, str]
    topic_ids: tuple[str, ...]
    values: Values
    lower: Values
    upper: Values
    exact: bool
    value: float
    ends: tuple[float, float]
    open_count: tuple[int, int]

    @property
    def is_decided(self) -> bool:
        """Whether no label can change which run is ahead, or that they are equal."""
        return decided(*self.ends)


_PASSES_OVER = "it passes unjudged documents over, so that nothing about a pair follows from bounds"
_NO_GAIN = "grade 0 has a gain and an unjudged document has none, so that nothing about a pair follows from bounds"

TOLERANCE = 1e-12
"""Differences up to this are rounding."""


def decided(lower: float, upper: float) -> bool:
    """Say whether an interval of differences leaves no doubt."""
    return lower > TOLERANCE or upper < -TOLERANCE or upper - lower <= TOLERANCE


def contest_of(
    alignment: Alignment,
    documents: Identities,
    measure: AnyMeasure,
    first: int,
    second: int,
    *,
    depth: Reach,
    closure: Closure = "at-k",
    further: int = 0,
    highest: int | None = None,
) -> Contest:
    """Give two runs of an alignment, by their numbers, to be compared. `depth` is the depth that matters."""
    if first == second:
        raise UsageError("a run is not compared with itself")
    check_further(closure, further)
    pair, shared = of_runs(alignment, documents, (first, second))
    top = max(pair.lists.highest_grade if highest is None else highest, 1)
    return Contest(pair, shared, measure, depth, closure, further, top)


def difference_of(contest: Contest) -> Difference:
    """Give the difference of two runs, with its bounds; topics do not interact, so means of exact ends are exact."""
    how, first, second = contest.measure.aggregate, contest.ends_of(0), contest.ends_of(1)
    values, lower, upper = first[0] - second[0], first[1] - second[2], first[2] - second[1]
    if contest.weighing is not None:
        lower, upper = _labelled_once(contest.weighing, contest)
    adds_up = how in ("mean", "sum")
    if adds_up:
        value, ends = aggregated(values, how), (aggregated(lower, how), aggregated(upper, how))
    else:
        mine, other = ([aggregated(one, how) for one in each] for each in (first, second))
        value, ends = mine[0] - other[0], (mine[1] - other[2], mine[2] - other[1])
    return Difference(
        measure=contest.measure,
        names=(contest.alignment.run_names[0], contest.alignment.run_names[1]),
        topic_ids=tuple(contest.alignment.topic_ids[topic] for topic in contest.topics.tolist()),
        values=values,
        lower=lower,
        upper=upper,
        exact=contest.weighing is not None and adds_up,
        value=value,
        ends=ends,
        open_count=_open_count(contest),
    )


def shared_holes(alignment: Alignment, documents: Identities, topics: Counts, reach: Reach) -> SharedHoles:
    """Give the unjudged documents of the two runs of an alignment on some topics, each once."""
    keys, ranks = zip(*(_holes_of(alignment, documents, run) for run in range(2)), strict=True)
    union = np.union1d(*keys)
    both = np.zeros((2, len(union)), dtype=np.int64)
    for run in range(2):
        both[run, np.searchsorted(union, keys[run])] = ranks[run]
    topic = union >> 32
    kept = np.isin(topic, topics)
    if reach is not None:
        limit = np.broadcast_to(reach, len(alignment.topic_ids))[topic]
        kept &= ((both > 0) & (both <= limit)).any(axis=0)
    code = (union & 0xFFFFFFFF).astype(np.int32)
    return SharedHoles(topic[kept], code[kept], both[0][kept], both[1][kept])


def _holes_of(alignment: Alignment, documents: Identities, run: int) -> tuple[Counts, Counts]:
    """Give key and rank of each unjudged document of a run; the key joins topic and document."""
    lists, count = alignment.lists, len(alignment.topic_ids)
    offsets = lists.offsets[run * count : (run + 1) * count + 1]
    rows = np.flatnonzero(lists.grades[offsets[0] : offsets[-1]] < 0) + offsets[0]
    topic = np.searchsorted(offsets, rows, side="right") - 1
    return (topic << 32) | documents.codes[rows], rows - offsets[topic] + 1


def _open_count(contest: Contest) -> tuple[int, int]:
    holes, reach = contest.holes, contest.reach
    limit = np.broadcast_to(np.iinfo(np.int64).max if reach is None else reach, len(contest.alignment.topic_ids))
    first, second = (
        int(((one > 0) & (one <= limit[holes.topic])).sum()) for one in (holes.first_rank, holes.second_rank)
    )
    return first, second


def _labelled_once(weighing: Weighing, contest: Contest) -> tuple[Values, Values]:
    """Give the ends of the difference on each topic, each document with one label."""
    holes, topics = contest.holes, contest.topics
    here = np.searchsorted(topics, holes.topic)
    first, second = (contest.ends_of(run)[0] for run in range(2))
    mine, other = weighing.at(holes.first_rank), weighing.at(holes.second_rank)
    lower, upper = first - second, first - second
    if weighing.kind == "sum":
        tried = [gain * (mine - other) for gain in (weighing.least, weighing.most)]
        lower += np.bincount(here, np.minimum(*tried), minlength=len(topics))
        upper += np.bincount(here, np.maximum(*tried), minlength=len(topics))
    elif weighing.most > 0:
        alone = np.maximum(first[here], mine) - np.maximum(second[here], other)
        np.minimum.at(lower, here, alone)
        np.maximum.at(upper, here, alone)
    return lower, upper


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """The best and the worst rank that each run can have; 1 is the top, and equal runs share the better rank."""

    best: Counts
    worst: Counts


def rank_interval(lower: ArrayLike, upper: ArrayLike) -> RankIntervals:
    """Give the ranks that intervals of scores leave open.

    best = 1 + runs surely better, worst = 1 + runs possibly better. The intervals may be exact bounds, or plausible
    ones from the score to the score plus its largest likely loss. A run without an interval (NaN) can have any rank,
    and stand before or behind anybody.
    """
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, -np.inf), np.where(known, high, np.inf)
    surely = low[np.newaxis, :] > high[:, np.newaxis]
    possibly = high[np.newaxis, :] > low[:, np.newaxis]
    np.fill_diagonal(possibly, val=False)
    return RankIntervals(1 + surely.sum(axis=1), 1 + possibly.sum(axis=1))
