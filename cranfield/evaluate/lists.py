"""What measures see: the grade at each rank, and how many documents of each grade a topic has. No ids, no files.

A cell is one ranked list: one run's answer to one topic. All lists lie one after the other in one array. Sums over a
list are made with `bincount`, which adds in the order of the ranks, as trec_eval does: the last digit depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.qrels.qrels import Grades, Qrels
from cranfield.runs.columns import Codes, Mask, running_sum

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Gains = Callable[[Grades], Values]
Gain = Literal["linear", "exponential"]
GradeGains = tuple[tuple[int, float], ...]
"""What grades are worth, by rising grade; one that is not named keeps its ordinary gain."""

NOT_POOLED = np.int32(np.iinfo(np.int32).min)
"""Stands at a rank whose document is not in the qrels at all. Other negative grades: pooled, but not judged."""


def rows_of(starts: Counts, lengths: Counts) -> Counts:
    """The rows of stretches that begin anywhere, one stretch after the other."""
    ends = np.cumsum(lengths)
    return np.repeat(starts - ends + lengths, lengths) + np.arange(int(lengths.sum()))


def crossed(rows: NDArray[np.integer], columns: NDArray[np.integer], shape: tuple[int, int]) -> Counts:
    """How often each row and column occur together: a table of this shape."""
    cells = rows.astype(np.int64) * shape[1] + columns
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


# The sample behind judgments: the strata of each topic, and how much of each was drawn.


@dataclass(frozen=True, eq=False)
class Sample:
    """Strata, numbered through all topics; those of topic t are `first[t]` up to `first[t] + count[t]`.

    Stratum s has `size[s]` documents, and `level_counts[s]` says how many of those that were drawn have each grade.
    `at_rank` is the stratum at each rank of the lists, and below 0 where a document was not pooled.
    """

    at_rank: Codes
    first: Counts
    count: Counts
    size: Counts
    level_counts: Counts

    @property
    def most(self) -> int:
        """The highest number of strata that a topic has."""
        return int(self.count.max(initial=0))

    @cached_property
    def drawn(self) -> Counts:
        """How many documents of each stratum were drawn, and so judged."""
        drawn: Counts = self.level_counts.sum(axis=1)
        return drawn

    @cached_property
    def weight(self) -> Values:
        """How many documents of its stratum each drawn one stands for: 1 / inclusion probability."""
        return np.where(self.drawn > 0, self.size / np.maximum(self.drawn, 1), 0.0)

    def estimated_counts(self) -> Values:
        """For each topic the estimated number of documents of each grade, drawn or not."""
        estimated = self.level_counts * self.weight[:, None]
        ends = np.stack([self.first, self.first + self.count], axis=1).ravel()
        padded = np.concatenate([estimated, np.zeros((1, estimated.shape[1]))])
        return np.asarray(np.add.reduceat(padded, ends, axis=0)[::2], dtype=np.float64)

    def strata_without_draws(self) -> int:
        """Count the strata of the topics from which nothing was drawn: of their documents nothing is known."""
        return int(np.count_nonzero(self.drawn[rows_of(self.first, self.count)] == 0))


def strata_of(qrels: Qrels) -> tuple[Codes, Counts, Counts]:
    """The stratum of each row of a sample; where those of each topic begin, and how many they are, as in `Sample`.

    They are numbered through all topics: a name means another stratum in every topic.
    """
    names = len(qrels.stratum_names)
    pairs = qrels.topic_of_row.astype(np.int64) * names + np.asarray(qrels.strata)
    distinct, numbers = np.unique(pairs, return_inverse=True)
    bounds = np.searchsorted(distinct, np.arange(len(qrels.topic_ids) + 1) * names)
    return numbers.astype(np.int32), bounds[:-1], np.diff(bounds)


@dataclass(frozen=True, eq=False)
class Found:
    """Some of the retrieved documents, in the order of cells and then ranks: cell, rank from 1, grade.

    `starts[c]` is where cell c begins; the cells have `starts[c + 1] - starts[c]` documents each.
    """

    cell: Counts
    rank: Counts
    grade: Grades
    starts: Counts

    def __len__(self) -> int:
        return len(self.rank)

    @cached_property
    def ordinal(self) -> Counts:
        """The place of each document among those of its cell, from 1."""
        return np.arange(1, len(self.cell) + 1) - self.starts[self.cell]

    @property
    def count(self) -> Counts:
        """How many documents each cell has."""
        return np.diff(self.starts)

    def where(self, kept: Mask) -> Found:
        """Only some of the documents."""
        places = np.flatnonzero(kept)  # once, where three masks would be counted and passed through
        cell, rank = self.cell.take(places, mode="clip"), self.rank.take(places, mode="clip")
        return Found(cell, rank, self.grade.take(places, mode="clip"), np.searchsorted(places, self.starts))

    def within(self, cutoff: Counts | int | None) -> Found:
        """Only the documents at ranks up to the cutoff, one for all cells or one for each; None means all."""
        if cutoff is None:
            return self
        return self.where(self.rank <= (cutoff if isinstance(cutoff, int) else cutoff[self.cell]))

    def total(self, values: Values) -> Values:
        """Add one value per document up for each cell, from the first rank to the last."""
        return np.asarray(np.bincount(self.cell, weights=values, minlength=len(self.starts) - 1), dtype=np.float64)

    def highest(self, values: Values, ordinal: Counts | int = 1) -> Values:
        """The highest value of each cell from a document on, by its place among those of the cell (from 1).

        0 where the cell has no such document.
        """
        begin, end = self.starts[:-1] + np.maximum(ordinal, 1) - 1, self.starts[1:]
        top = np.zeros(len(begin))
        there = begin < end
        if there.any():
            spans = np.stack([begin[there], end[there]], axis=1).ravel()
            top[there] = np.maximum.reduceat(np.append(values, 0.0), spans)[::2]
        return top

    def before(self, marked: Mask) -> Counts:
        """Count for each document the marked ones of its cell that stand above it."""
        running = running_sum(marked)
        above: Counts = running[:-1] - running[self.starts[self.cell]]
        return above

    def running(self, values: Values, *, multiply: bool = False) -> Values:
        """For each document the sum (or product) of the values of its cell up to and with it, in order."""
        matrix = np.full((len(self.starts) - 1, int(self.count.max(initial=0))), 1.0 if multiply else 0.0)
        matrix[self.cell, self.ordinal - 1] = values
        function = np.multiply if multiply else np.add
        function.accumulate(matrix, axis=1, out=matrix)
        return matrix[self.cell, self.ordinal - 1]


@dataclass(frozen=True, eq=False)
class Lists:
    """All ranked lists of an evaluation.

    Cell c has the grades `grades[offsets[c]:offsets[c + 1]]`, best rank first, and belongs to the topic `topics[c]`.
    `levels` are the grades from 0 up that occur, rising, and `level_counts[t]` says how many documents of topic t
    have each. `highest_grade` is the highest grade of the qrels as a whole. `pooled_count` says how many documents of
    each topic are in the qrels, judged or not, and `stratified` by which sample they were chosen; None where unknown.
    """

    grades: Grades
    offsets: Counts
    topics: Counts
    levels: Grades
    level_counts: Counts
    highest_grade: int = 1
    pooled_count: Counts | None = None
    stratified: Sample | None = None
    known_relevant: dict[int, Found] = field(init=False, default_factory=dict, repr=False)  # by `relevant`, so far

    def __len__(self) -> int:
        return len(self.topics)

    @cached_property
    def length(self) -> Counts:
        """The number of documents in each list."""
        return np.diff(self.offsets)

    @cached_property
    def pooled(self) -> Found:
        """The retrieved documents that are in the qrels, judged or not."""
        return self._found(np.flatnonzero(self.grades != NOT_POOLED))

    @cached_property
    def judged(self) -> Found:
        """The retrieved documents that have a grade from 0 up."""
        return self.pooled if not (self.pooled.grade < 0).any() else self.pooled.where(self.pooled.grade >= 0)

    @cached_property
    def first_unjudged(self) -> Counts:
        """The rank of the first document of each list without a grade, one past the end where there is none."""
        return self.first_below(0)

    def first_below(self, grade: int) -> Counts:
        """The rank of the first document of each list with a lower grade, one past the end without one."""
        passed = np.zeros(len(self), dtype=np.int64)
        still = np.flatnonzero(self.length > 0)
        while len(still):  # few lists go on for long, and most of them stop at once: no look at all rows
            still = still[self.grades[self.offsets[still] + passed[still]] >= grade]
            passed[still] += 1
            still = still[passed[still] < self.length[still]]
        return passed + 1

    @cached_property
    def unjudged(self) -> Found:
        """The retrieved documents without a grade from 0 up: not pooled, or pooled and not judged."""
        return self._found(np.flatnonzero(self.grades < 0))

    def relevant(self, rel: int) -> Found:
        """The retrieved documents with a grade of at least `rel`."""
        if rel not in self.known_relevant:
            self.known_relevant[rel] = self._found(np.flatnonzero(self.grades >= max(rel, 0)))
        return self.known_relevant[rel]

    def relevant_count(self, rel: int) -> Counts:
        """For each cell how many documents of its topic have a grade of at least `rel`, retrieved or not."""
        by_topic: Counts = self.level_counts[:, self.levels >= rel].sum(axis=1)
        return by_topic[self.topics]

    @cached_property
    def condensed(self) -> Lists:
        """The same lists with everything unjudged taken out, and the rest moved up."""
        kept = self.grades >= 0
        running = running_sum(kept)
        return self.with_rows(kept, running[self.offsets])

    def cut(self, depth: int) -> Lists:
        """The same lists, cut after the rank `depth`."""
        if int(self.length.max(initial=0)) <= depth:
            return self
        length = np.minimum(self.length, depth)
        rank = np.arange(len(self.grades)) - np.repeat(self.offsets[:-1], self.length)
        return self.with_rows(rank < depth, np.append(0, np.cumsum(length)))

    def chosen(self, cells: Counts) -> Lists:
        """Some of the lists, in the given order."""
        length = self.length[cells]
        places, offsets = rows_of(self.offsets[cells], length), np.append(0, np.cumsum(length))
        return replace(self.with_rows(places, offsets), topics=self.topics[cells])

    def pieces(self, rows: int) -> list[Lists]:
        """The lists in parts of about so many rows each, in their order; no row is copied."""
        marks = np.arange(rows, max(len(self.grades), 1), rows)
        edges = sorted({0, *np.searchsorted(self.offsets, marks).tolist(), len(self)})
        parts = []
        for first, last in pairwise(edges):
            begin, end = int(self.offsets[first]), int(self.offsets[last])
            part = self.with_rows(slice(begin, end), self.offsets[first : last + 1] - begin)
            parts.append(replace(part, topics=self.topics[first:last]))
        return parts or [self]

    def with_rows(self, rows: NDArray[np.generic] | slice, offsets: Counts | None = None) -> Lists:
        """Lists of some of the rows, by mask, by place, or from one to another; of the same shape by default."""
        sample = self.stratified
        if sample is not None:
            sample = replace(sample, at_rank=sample.at_rank[rows])
        shape = self.offsets if offsets is None else offsets
        return replace(self, grades=self.grades[rows], offsets=shape, stratified=sample)

    @cached_property
    def sample(self) -> Sample:
        """The sample behind the judgments; without strata each pool is one, and what is unjudged not drawn."""
        if self.stratified is not None:
            return self.stratified
        topic = np.repeat(self.topics, self.length).astype(np.int32)
        at_rank = np.where(self.grades == NOT_POOLED, np.int32(-1), topic)
        topics, counts = np.arange(len(self.level_counts)), self.level_counts
        size = counts.sum(axis=1) if self.pooled_count is None else self.pooled_count
        return Sample(at_rank, topics, np.ones_like(topics), size, counts)

    def _found(self, places: Counts) -> Found:
        starts = np.searchsorted(places, self.offsets)
        cell = np.repeat(np.arange(len(self)), np.diff(starts))
        return Found(cell, places - self.offsets[cell] + 1, self.grades[places], starts)


def gain_function(gain: Gain, gains: GradeGains) -> Gains:
    """The function from grades to gains; grades that `gains` does not name keep their ordinary gain."""

    def function(grade: Grades) -> Values:
        value = grade.astype(float) if gain == "linear" else np.exp2(grade) - 1.0
        for named, worth in gains:
            value[grade == named] = worth
        return value

    return function


def ideal_of(lists: Lists, gains: Gains) -> Found:
    """The best possible ranking of each topic, as a cell: all its documents with a gain above 0, by falling gain."""
    gain = gains(lists.levels)
    order = np.argsort(-gain, kind="stable")
    order = order[gain[order] > 0]
    counts = lists.level_counts[:, order]
    topic = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    starts = np.searchsorted(topic, np.arange(len(counts) + 1))
    grade = np.repeat(np.tile(lists.levels[order], len(counts)), counts.ravel())
    return Found(topic, np.arange(1, len(topic) + 1) - starts[topic], grade, starts)


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic] | float) -> Values:
    """Divide, giving 0 where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    quotient: Values = np.zeros(top.shape)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


def log2(values: NDArray[np.generic]) -> Values:
    """Logarithms from the C library, as every other evaluator does; numpy's own differ in the last bit."""
    distinct, inverse = np.unique(values, return_inverse=True)
    logarithms: Values = np.array([math.log2(value) for value in distinct.tolist()], dtype=float)
    return logarithms[inverse]


def log2_of_ranks(ranks: Counts, *, shift: int = 1) -> Values:
    """The values log2(rank + shift), from one table for all ranks."""
    return _logarithms(1 << int(ranks.max(initial=0)).bit_length(), shift)[ranks]


@lru_cache(maxsize=8)
def _logarithms(size: int, shift: int) -> Values:
    return np.array([math.nan] + [math.log2(rank + shift) for rank in range(1, size)])
