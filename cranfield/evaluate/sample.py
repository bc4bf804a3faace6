"""The sample behind judgments: the strata of each topic, and how much of each was drawn."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.qrels.qrels import Qrels

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Strata, numbered through all topics; those of topic t are `first[t]` up to `first[t] + count[t]`.

    Stratum s has `size[s]` documents, and `level_counts[s]` says how many of those that were drawn have each grade.
    `at_rank` is the stratum at each rank of the lists, and below 0 where a document was not pooled.
    """

    at_rank: NDArray[np.int32]
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

    @cached_property
    def weight_beside(self) -> Values:
        """The same for a second document, given that one of the stratum was drawn: (n - 1) / (drawn - 1)."""
        return np.where(self.drawn > 1, (self.size - 1) / np.maximum(self.drawn - 1, 1), 0.0)

    def estimated_counts(self) -> Values:
        """Give for each topic the estimated number of documents of each grade, drawn or not."""
        return self._by_topic(self.level_counts * self.weight[:, np.newaxis])

    def strata_without_draws(self) -> int:
        """Count the strata of the topics from which nothing was drawn: of their documents nothing is known."""
        return int(self._by_topic((self.drawn == 0)[:, np.newaxis].astype(float)).sum())

    def only(self, rows: NDArray[np.generic] | slice) -> "Sample":
        """Give the sample with some rows of the lists alone, by mask, by place, or from one to another."""
        return replace(self, at_rank=self.at_rank[rows])

    def _by_topic(self, values: Values) -> Values:
        ends = np.stack([self.first, self.first + self.count], axis=1).ravel()
        padded = np.concatenate([values, np.zeros((1, values.shape[1]))])
        return np.asarray(np.add.reduceat(padded, ends, axis=0)[::2], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Strata:
    """The strata of qrels: the number of each row's, and those of topic t as in `Sample`."""

    of_row: NDArray[np.int32]
    first: Counts
    count: Counts


def strata_of(qrels: Qrels) -> Strata:
    """Number the strata of qrels through all topics; a name means another stratum in every topic."""
    if qrels.strata is None:
        raise ValueError("these qrels have no strata")
    pairs = qrels.topic_of_row.astype(np.int64) * len(qrels.stratum_names) + qrels.strata
    distinct, numbers = np.unique(pairs, return_inverse=True)
    bounds = np.searchsorted(distinct, np.arange(len(qrels.topic_ids) + 1) * len(qrels.stratum_names))
    return Strata(numbers.astype(np.int32), bounds[:-1], np.diff(bounds))


def stratified_sample(
    qrels: Qrels, strata: Strata, *, at_rank: NDArray[np.int32], topics: Counts, levels: NDArray[np.int32]
) -> Sample:
    """Count what was drawn. `topics` are the places of the topics that the lists have."""
    total = int(strata.count.sum())
    judged = qrels.grades >= 0
    cells = strata.of_row[judged].astype(np.int64) * len(levels) + np.searchsorted(levels, qrels.grades[judged])
    return Sample(
        at_rank=at_rank,
        first=strata.first[topics],
        count=strata.count[topics],
        size=np.bincount(strata.of_row, minlength=total),
        level_counts=np.bincount(cells, minlength=total * len(levels)).reshape(total, len(levels)),
    )


def one_stratum_each(
    *, topic_at_rank: NDArray[np.int32], pooled_count: Counts | None, level_counts: Counts
) -> Sample:
    """Give the sample that qrels without strata are: each topic one stratum, what is unjudged not drawn."""
    topics = np.arange(len(level_counts))
    size = level_counts.sum(axis=1) if pooled_count is None else pooled_count
    return Sample(topic_at_rank, topics, np.ones_like(topics), size, level_counts)
