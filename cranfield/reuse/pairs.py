"""Two runs against each other: how far apart their scores can be, whatever the unjudged documents turn out to be.

A document that both runs rank gets one label in both. For measures that add up what documents are worth at their
ranks (P, CG, DCG, RBP) the difference is lowest where exactly those documents are relevant that weigh more for the
second run: this is exact. So it is for RR and Success, where at most one unjudged document decides. For all others
the bounds of the two scores are subtracted, as if the labels had nothing to do with each other: true, and called
conservative. Both scores then know the holes of both runs, for one that only the other run has can raise R and the
ideal as well. Source: Moffat and Zobel, TOIS 2008, for the residual of a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure
from cranfield.evaluate.lists import Counts, Found, Values
from cranfield.evaluate.measure import aggregated
from cranfield.evaluate.measures.gain import discounts
from cranfield.evaluate.measures.user_models import powers
from cranfield.reuse.completions import Ends, Mask, Reach, gains_possible
from cranfield.reuse.intervals import (
    Closure,
    Identities,
    Part,
    check_further,
    counts_holes_as_nonrelevant,
    has_no_depth,
    narrowings,
    of_runs,
    part_of,
    with_highest_grade,
    with_judgments,
)
from cranfield.runs.run import Codes

# What one unjudged document is worth at a rank, for measures in which it is worth that whatever the others are.

Weight = Callable[[Counts], Values]


@dataclass(frozen=True, eq=False)
class Weighing:
    """How a document at a rank counts: its gain times `weight(rank)`.

    Under `sum` the value is the sum of that over all documents, under `best` the highest of them. `gains` are those
    of the grades from 0 up; `cutoff` is the last rank that counts.
    """

    kind: Literal["sum", "best"]
    weight: Weight
    gains: Values
    cutoff: int | None

    @property
    def least(self) -> float:
        """The lowest gain."""
        return float(self.gains.min())

    @property
    def most(self) -> float:
        """The highest gain."""
        return float(self.gains.max())

    def at(self, ranks: Counts) -> Values:
        """Give the weight at each rank; 0 beyond the cutoff, and where there is no rank, which is 0."""
        counts = ranks > 0 if self.cutoff is None else (ranks > 0) & (ranks <= self.cutoff)
        return np.where(counts, self.weight(np.maximum(ranks, 1)), 0.0)


def weighing_of(measure: AnyMeasure, highest: int) -> Weighing | None:
    """Give how a measure weighs documents; None where what one is worth depends on others."""
    if not isinstance(measure, Measure) or dict(measure.settings).get("judged_only"):
        return None
    if measure.name not in _WEIGHTS or (measure.rel is not None and measure.rel < 1):
        return None
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    kind: Literal["sum", "best"] = "best" if measure.name in ("RR", "Success") else "sum"
    gains = _gains(measure, highest)
    weight = _WEIGHTS[measure.name](measure)
    return None if gains is None else Weighing(kind, weight, gains, cutoff)


def can_only_rise(measure: AnyMeasure, highest: int) -> bool:
    """Say whether a hole that turns out relevant can only raise a measure: P, Success, RR, CG, DCG, RBP."""
    weighing = weighing_of(measure, highest)
    return weighing is not None and weighing.least >= 0 and float(weighing.gains[0]) == 0.0


def _setting(measure: Measure, name: str) -> object:
    return dict(measure.settings).get(name, measure.kind.parameters[name].default)


def _gains(measure: Measure, highest: int) -> Values | None:
    """Give the gain of each grade from 0 up; None where it depends on the other documents of the topic."""
    if "gains" in measure.kind.parameters:
        return gains_possible(measure, highest)
    grades = np.arange(highest + 1)
    if measure.name != "RBP" or _setting(measure, "gain") == "binary":
        return (grades >= (measure.rel or 1)).astype(float)
    return grades / float(highest) if _setting(measure, "gain") == "scaled" else None


def _precision(measure: Measure) -> Weight:
    return lambda ranks: np.full(ranks.shape, 1.0 / float(measure.cutoff or 1))


def _one(_: Measure) -> Weight:
    return lambda ranks: np.ones(ranks.shape)


def _reciprocal(_: Measure) -> Weight:
    return lambda ranks: 1.0 / ranks


def _discounted(measure: Measure) -> Weight:
    discount, base = _setting(measure, "discount"), float(_setting(measure, "base"))  # type: ignore[arg-type]
    return lambda ranks: 1.0 / discounts(ranks, discount, base)  # type: ignore[arg-type]


def _persistent(measure: Measure) -> Weight:
    p = float(_setting(measure, "p"))  # type: ignore[arg-type]
    return lambda ranks: (1.0 - p) * powers(p, ranks)


_WEIGHTS: dict[str, Callable[[Measure], Weight]] = {
    "P": _precision,
    "CG": _one,
    "DCG": _discounted,
    "RBP": _persistent,
    "NumRelRet": _one,
    "RR": _reciprocal,
    "Success": _one,
}


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

    def after(self, chosen: Counts, grades: NDArray[np.int32]) -> Contest:
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


# The unjudged documents of a comparison, each with what judging it is good for.


@dataclass(frozen=True, slots=True)
class QueuedDocument:
    """An unjudged document, and how much of the doubt hangs on it.

    `weight` is by how much the difference of the summaries can move by its label, or the interval narrows if it is
    not relevant. `run` is the run that gains if it is relevant (where it stands at `rank`); the other run has it at
    `other_rank`, None where it does not rank it.
    """

    topic: str
    document: str
    weight: float
    run: str
    rank: int
    other_rank: int | None = None


def leanings(contest: Contest) -> Values:
    """Give for each hole of a contest its weight in the difference; above 0 where it is good for the first run.

    For sums of weights by how much its label can move the difference; for RR and Success by how much it does so when
    no other is relevant; else by how much its being not relevant narrows the two intervals.
    """
    holes, weighing = contest.holes, contest.weighing
    share = 1.0 / max(len(contest.topics), 1) if contest.measure.aggregate == "mean" else 1.0
    if weighing is None:
        first, second = (_narrowed(contest, run) for run in range(2))
        return np.where(first >= second, 1.0, -1.0) * (first + second) * share
    mine, other = weighing.at(holes.first_rank), weighing.at(holes.second_rank)
    if weighing.kind == "sum":
        return (weighing.most - weighing.least) * (mine - other) * share
    here = np.searchsorted(contest.topics, holes.topic)
    first, second = (contest.ends_of(run)[0][here] for run in range(2))
    moved: Values = np.maximum(first, mine) - first - (np.maximum(second, other) - second)
    return moved * weighing.most * share


def can_matter(contest: Contest) -> Mask:
    """Say of each hole of a contest whether its label can have to do with the difference, now or later.

    In a sum one that weighs the same for both runs cannot. For RR and Success a document that helps both alike may
    still matter once another is known, unless both runs have something better already.
    """
    holes, weighing = contest.holes, contest.weighing
    if weighing is None or contest.measure.aggregate not in ("mean", "sum"):
        return np.ones(len(holes), dtype=bool)
    mine, other = weighing.at(holes.first_rank), weighing.at(holes.second_rank)
    if weighing.kind == "sum":
        return np.abs(mine - other) * (weighing.most - weighing.least) > TOLERANCE
    here = np.searchsorted(contest.topics, holes.topic)
    first, second = (contest.ends_of(run)[0][here] for run in range(2))
    return ((mine > first + TOLERANCE) | (other > second + TOLERANCE)) & (weighing.most > 0)


def _narrowed(contest: Contest, run: int) -> Values:
    """Give by how much the interval of one run narrows with each hole; 0 where it does not rank it."""
    ranks = contest.holes.first_rank if run == 0 else contest.holes.second_rank
    here = np.flatnonzero(ranks > 0)
    narrowed = np.zeros(len(ranks))
    narrowed[here] = narrowings(
        contest.alignment,
        contest.measure,
        run * len(contest.alignment.topic_ids) + contest.holes.topic[here],
        ranks[here],
        depth=contest.reach,
        closure=contest.closure,
        further=contest.further,
        highest=contest.highest,
    )
    return np.maximum(narrowed, 0.0)


def by_weight(weights: Values, contest: Contest) -> Counts:
    """Give the holes in order: the heaviest first, equal ones by topic and document."""
    return np.lexsort((contest.holes.document, contest.holes.topic, -np.abs(weights).round(12)))


def queued(contest: Contest, order: Counts, weights: Values) -> tuple[QueuedDocument, ...]:
    """Give some holes as documents to be judged."""
    holes, names = contest.holes, contest.alignment.run_names
    found = []
    for place, document in zip(order.tolist(), contest.documents.names(holes.document[order]), strict=True):
        ranks = (int(holes.first_rank[place]), int(holes.second_rank[place]))
        mine = 0 if (weights[place] > 0 and ranks[0]) or not ranks[1] else 1
        found.append(
            QueuedDocument(
                topic=contest.alignment.topic_ids[int(holes.topic[place])],
                document=document,
                weight=abs(float(weights[place])),
                run=names[mine],
                rank=ranks[mine],
                other_rank=ranks[1 - mine] or None,
            )
        )
    return tuple(found)
