"""Borda's count."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import FAR, Candidates, Mask, best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.baseline import Option, check_options
from cranfield.runs.run import Places


@strategies.register("borda")
@dataclass(frozen=True)
class Borda:
    """By Σ over runs s of the points c − r_s(d) + 1, where c is the number of documents that the runs have.

    The points that a run of length n does not give out are shared evenly among the candidates it does not have:
    (c − n + 1) / 2 each. A run without the topic so gives everybody the same. Ties by document id, descending.

    Source: Aslam and Montague, "Models for metasearch", SIGIR 2001, from memory of the literature.
    """

    summary: ClassVar[str] = "Borda count"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the points."""
        count = candidates.documents_found
        for_absent = (count - candidates.lengths + 1) / 2
        given = np.where(candidates.found, count - candidates.ranks + 1.0, for_absent[:, None])
        return best_first(given.sum(axis=0))


# The mean of normalised scores.


@strategies.register("combanz")
@dataclass(frozen=True)
class CombAnz:
    """By Σ over runs s of y_s(d), divided by |{s : d in s}|.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "mean of normalised scores over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(candidates.normalised.sum(axis=0) / candidates.found.sum(axis=0))


# The best normalised score.


@strategies.register("combmax")
@dataclass(frozen=True)
class CombMax:
    """By the maximum over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "best normalised score"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(candidates.normalised.max(axis=0, initial=0.0))


# The median of normalised scores.


@strategies.register("combmed")
@dataclass(frozen=True)
class CombMed:
    """By the median over runs s that have d of y_s(d); of an even number the mean of the middle two.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "median of normalised scores over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        values = np.sort(np.where(candidates.found, candidates.normalised, np.inf), axis=0)
        count = candidates.found.sum(axis=0)
        columns = np.arange(len(candidates))
        return best_first((values[(count - 1) // 2, columns] + values[count // 2, columns]) / 2)


# The worst normalised score.


@strategies.register("combmin")
@dataclass(frozen=True)
class CombMin:
    """By the minimum over runs s that have d of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "worst normalised score over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(np.where(candidates.found, candidates.normalised, np.inf).min(axis=0, initial=np.inf))


# The sum of normalised scores, times the number of runs.


@strategies.register("combmnz")
@dataclass(frozen=True)
class CombMnz:
    """By |{s : d in s}| · Σ over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Absent from a run: y = 0. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "sum of normalised scores, times the number of runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(candidates.normalised.sum(axis=0) * candidates.found.sum(axis=0))


# The sum of normalised scores.


@strategies.register("combsum")
@dataclass(frozen=True)
class CombSum:
    """By Σ over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Absent from a run: y = 0. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "sum of normalised scores"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(candidates.normalised.sum(axis=0))


# Elections between every two documents.

_NARROW = np.iinfo(np.int16).max
_BLOCK = 1 << 18
_FEW_VOTES = np.iinfo(np.uint8).max
_THREADS = 2

Votes = NDArray[np.unsignedinteger]


@strategies.register("condorcet")
@dataclass(frozen=True)
class Condorcet:
    """By the number of documents that d beats, pair by pair (Copeland's count).

    d beats e if more runs rank d above e than e above d. A run that has d and not e ranks d above e; one that has
    neither does not vote. Ties by document id, descending.

    Source: Montague and Aslam, "Condorcet fusion for improved retrieval", CIKM 2002, sort with that comparison; it
    can run in circles, and then their result hangs on the order of the input. The count does not.
    """

    summary: ClassVar[str] = "number of documents beaten in pairwise votes (Copeland)"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Count the wins."""
        ranks = np.where(candidates.found, candidates.ranks, FAR)
        if int(candidates.listed_ranks.max(initial=0)) < _NARROW:
            ranks = np.minimum(ranks, _NARROW).astype(np.int16)
        return best_first(_wins(ranks, ~candidates.found).astype(np.float64))


def _wins(ranks: NDArray[np.integer], absent: Mask) -> Places:
    """Give how many documents each document beats: some at a time against themselves and those after them.

    Two threads: comparing whole arrays leaves the interpreter free.
    """
    count = ranks.shape[1]
    wins = np.zeros(count, dtype=np.int64)
    at_once = max(1, _BLOCK // max(count, 1))
    lacking = _packed(absent)

    def elections(first: int) -> tuple[int, Places, Places]:
        above = _votes(ranks[:, first : first + at_once], ranks[:, first:])
        voting = len(ranks) - _both(lacking[:, first : first + at_once], lacking[:, first:], above.dtype)
        half = voting >> 1
        beaten = (above < voting - half)[:, at_once:]
        return first, np.count_nonzero(above > half, axis=1), np.count_nonzero(beaten, axis=0)

    with ThreadPoolExecutor(_THREADS) as threads:
        for first, won, lost in threads.map(elections, range(0, count, at_once)):
            wins[first : first + at_once] += won
            wins[first + at_once :] += lost
    return wins


def _votes(some: NDArray[np.integer], rest: NDArray[np.integer]) -> Votes:
    """Give the number of runs that rank each of some documents above each of the rest, in bytes where they fit."""
    size = some.shape[1], rest.shape[1]
    above: Votes = np.zeros(size, dtype=np.uint8 if len(some) <= _FEW_VOTES else np.uint32)
    vote = np.empty(size, dtype=bool)
    for mine, theirs in zip(some, rest, strict=True):
        np.less(mine[:, None], theirs[None, :], out=vote)
        np.add(above, vote.view(np.uint8), out=above)
    return above


def _packed(absent: Mask) -> NDArray[np.uint64]:
    """Give for each document which runs lack it, as the bits of a few words (words by documents)."""
    octets = np.packbits(absent, axis=0)
    padded = np.pad(octets, ((0, -len(octets) % 8), (0, 0)))
    return np.ascontiguousarray(padded.reshape(-1, 8, absent.shape[1]).transpose(0, 2, 1)).view(np.uint64)[:, :, 0]


def _both(some: NDArray[np.uint64], rest: NDArray[np.uint64], kind: np.dtype[np.unsignedinteger]) -> Votes:
    """Give the number of runs that lack both documents, and so do not vote between them."""
    total: Votes = np.zeros((some.shape[1], rest.shape[1]), dtype=kind)
    for mine, theirs in zip(some, rest, strict=True):
        total += np.bitwise_count(mine[:, None] & theirs[None, :])
    return total


# Reciprocal rank fusion.


@strategies.register("rrf")
@dataclass(frozen=True)
class ReciprocalRankFusion:
    """By Σ over runs s that have d:  1 / (k + r_s(d)).

    A run without the document adds nothing. Ties by document id, descending.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet …", SIGIR 2009 (k = 60).
    """

    k: Annotated[float, Option("how little the first ranks stand out", at_least=0)] = 60

    summary: ClassVar[str] = "reciprocal rank fusion"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        check_options(self)

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the reciprocals."""
        parts = 1 / (self.k + candidates.listed_ranks)
        return best_first(candidates.summed(parts))
