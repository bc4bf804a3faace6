"""What one topic can be judged on: every document that a pooled run has for it, as arrays."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.pool.arrow import named
from cranfield.pool.entrants import PooledRuns, PoolRun
from cranfield.runs.run import Codes, Places, Scores

Mask = NDArray[np.bool_]

FAR = np.iinfo(np.int32).max
"""The best rank of a document that no run has any more; it sorts behind every rank."""

_SPARSE = 16


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents of one topic and the rankings they come from.

    Candidate i is the document with the shared code `documents[i]`. Candidates are numbered by document id,
    descending in byte order, as ties within a run are: so a smaller number wins every tie. The list of run s is
    `listed[offsets[s]:offsets[s + 1]]`, candidate numbers from best to worst, with `listed_ranks` (from 1; they have
    gaps where candidates were taken out) and `listed_scores`. A run that does not have the topic has an empty list.

    Where candidates were taken out, `whole` is the topic before, and `kept` says which of its candidates are left:
    their scores are what they would be if nothing had been taken out.
    """

    topic: str
    runs: tuple[PoolRun, ...]
    documents: Codes
    document_ids: pa.Array
    offsets: Places
    listed: Codes
    listed_ranks: Codes
    listed_scores: Scores
    whole: "Candidates | None" = None
    kept: Mask | None = None

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def ids(self) -> list[str]:
        """The id of each candidate."""
        return named(self.document_ids, self.documents)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each candidate, by id."""
        return {document: number for number, document in enumerate(self.ids)}

    @cached_property
    def run_of_row(self) -> Codes:
        """The number of the run that each row of `listed` belongs to."""
        return np.repeat(np.arange(len(self.runs), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def ranks(self) -> Codes:
        """The rank of each candidate in each run (runs by candidates); 0 where the run does not have it."""
        ranks = np.zeros((len(self.runs), len(self)), dtype=np.int32)
        ranks[self.run_of_row, self.listed] = self.listed_ranks
        return ranks

    @cached_property
    def found(self) -> Mask:
        """Which run has which candidate."""
        return np.asarray(self.ranks > 0)

    @cached_property
    def best_rank(self) -> Codes:
        """The best rank of each candidate over all runs."""
        best: Codes = np.where(self.found, self.ranks, FAR).min(axis=0, initial=FAR)
        return best

    @property
    def documents_found(self) -> int:
        """How many documents the runs have for the topic, before any were taken out."""
        return len(self) if self.whole is None else len(self.whole)

    @cached_property
    def lengths(self) -> Places:
        """How many documents each run has for the topic, before any were taken out: its last rank."""
        if self.whole is not None:
            return self.whole.lengths
        lengths = np.zeros(len(self.runs), dtype=np.int64)
        np.maximum.at(lengths, self.run_of_row, self.listed_ranks)
        return lengths

    @cached_property
    def normalised(self) -> Scores:
        """Scores brought to 0 … 1 (runs by candidates): (score − min) / (max − min) over the run's whole list.

        1 where all scores of the list are equal. 0 where the run does not have the candidate.
        """
        if self.whole is not None and self.kept is not None:
            return self.whole.normalised[:, self.kept]
        values = np.zeros((len(self.runs), len(self)))
        for number, (start, end) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            values[number, self.listed[start:end]] = _normalised(self.listed_scores[start:end])
        return values

    def summed(self, parts: Scores) -> Scores:
        """Give the sum of what each row of `listed` adds to its candidate."""
        return np.bincount(self.listed, weights=parts, minlength=len(self)).astype(np.float64)

    def list_of(self, run: int) -> Codes:
        """Give the candidates of a run, from best to worst."""
        return self.listed[self.offsets[run] : self.offsets[run + 1]]

    def only(self, kept: Mask) -> "Candidates":
        """Give the topic with some candidates taken out; the others keep their ranks and get new numbers."""
        if kept.all():
            return self
        numbers = np.cumsum(kept) - 1
        rows = kept[self.listed]
        counts = np.bincount(self.run_of_row[rows], minlength=len(self.runs))
        return Candidates(
            self.topic,
            self.runs,
            self.documents[kept],
            self.document_ids,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            numbers[self.listed[rows]].astype(np.int32),
            self.listed_ranks[rows],
            self.listed_scores[rows],
            *self._origin(kept),
        )

    def _origin(self, kept: Mask) -> "tuple[Candidates, Mask]":
        """Give the topic before anything was taken out, and what of it is left when only `kept` of these stay."""
        if self.whole is None or self.kept is None:
            return self, kept
        left = self.kept.copy()
        left[left] = kept
        return self.whole, left


def candidates_of(runs: PooledRuns, topic: str) -> Candidates:
    """Give the candidates of a topic that some run has."""
    places = runs.places[:, runs.codes_by_topic[topic]]
    parts = [(run.ranking, int(place)) for run, place in zip(runs.runs, places, strict=True)]
    spans = [
        (ranking.offsets[place], ranking.offsets[place + 1]) if place >= 0 else (0, 0) for ranking, place in parts
    ]
    offsets = np.cumsum([0, *(end - start for start, end in spans)]).astype(np.int64)
    codes = np.concatenate([part.documents[start:end] for (part, _), (start, end) in zip(parts, spans, strict=True)])
    scores = np.concatenate([part.scores[start:end] for (part, _), (start, end) in zip(parts, spans, strict=True)])
    used, listed = _distinct(runs.numbering.numbers[codes], len(runs.numbering.documents))
    counts = np.diff(offsets)
    ranks = np.arange(1, len(codes) + 1) - np.repeat(offsets[:-1], counts)
    return Candidates(
        topic,
        runs.runs,
        runs.numbering.documents[used],
        runs.document_ids,
        offsets,
        listed,
        ranks.astype(np.int32),
        scores,
    )


def _distinct(values: Codes, size: int) -> tuple[Places, Codes]:
    """Give the distinct values below `size`, rising, and the place of each value among them, without sorting."""
    if len(values) * _SPARSE < size:
        used, inverse = np.unique(values, return_inverse=True)
        return used.astype(np.int64), inverse.astype(np.int32)
    seen = np.zeros(size, dtype=bool)
    seen[values] = True
    found = np.flatnonzero(seen)
    places: Codes = np.empty(size, dtype=np.int32)
    places[found] = np.arange(len(found), dtype=np.int32)
    return found.astype(np.int64, copy=False), places[values]


def _normalised(scores: Scores) -> Scores:
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        return np.ones(len(scores))
    # Divided by two before the difference is taken: the range of two finite doubles may be infinite.
    return (scores / 2 - low / 2) / (high / 2 - low / 2)
