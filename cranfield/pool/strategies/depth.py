"""Depth pooling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.pool.candidates import Candidates, numbers
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.baseline import Option
from cranfield.runs.run import Places

_OWN_DEPTH = re.compile(r"(.+):([0-9]{1,9})", re.DOTALL)


@strategies.register("depth")
@dataclass(frozen=True)
class Depth:
    """Everything that some run has among its first k: { d : min over runs s of r_s(d) ≤ k }.

    The amount is k. Best rank first, ties by document id, descending. A run that is shorter than k gives what it has.
    With by=group the first k of each group's merged list count, so that a team brings k documents however many runs
    it sends. With by=topic the amount is a number of documents: each topic goes to the deepest full rank that does
    not exceed it. `topics` sets other depths for some topics: "101:50,107:20".

    Source: Spärck Jones and van Rijsbergen's ideal collection (1975), and TREC since 1992.
    """

    topics: Annotated[str, Option("topics with a depth of their own, as in 101:50,107:20")] = ""

    summary: ClassVar[str] = "the first k documents of every run"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        _ = self.own_depths  # raises for a word that cannot be meant

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give the candidates by best rank."""
        return np.argsort(candidates.best_rank, kind="stable")

    def size(self, candidates: Candidates, rank: int) -> int:
        """Give how many documents have a best rank up to the topic's depth."""
        return int(np.count_nonzero(candidates.best_rank <= self.own_depths.get(candidates.topic, rank)))

    def reach(self, rank: int) -> int | None:
        """Give the deepest of all depths."""
        return max([rank, *self.own_depths.values()])

    @property
    def own_depths(self) -> dict[str, int]:
        """The topics that have a depth of their own."""
        depths = {}
        for word in filter(None, self.topics.split(",")):
            match = _OWN_DEPTH.fullmatch(word)
            if not match or int(match[2]) < 1:
                raise UsageError(f"option 'topics' takes topics with depths, as in 101:50,107:20; not {quoted(word)}")
            depths[match[1]] = int(match[2])
        return depths


# Take@N: depth pooling cut at a number of documents.


@strategies.register("take")
@dataclass(frozen=True)
class Take:
    """The first documents of all runs, rank by rank; within a rank the runs in byte order of their names.

    `take 100` is the deepest full depth that fits into 100 documents, filled up from the next rank. The order of the
    runs decides who fills it: `fair-take` shuffles it at every rank.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "rank by rank, within a rank run by run"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give the candidates by best rank, then by the first run that has them there."""
        at_best = candidates.ranks == candidates.best_rank
        return np.lexsort((at_best.argmax(axis=0), candidates.best_rank))


# Take@N with the runs in a new order at every rank.


@strategies.register("fair-take")
@dataclass(frozen=True)
class FairTake:
    """The first documents of all runs, rank by rank; within each rank the runs in an order drawn by seed.

    As `take`, but no run is first at every rank. The orders are drawn for seed and topic.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "rank by rank, within a rank the runs shuffled by seed"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give the candidates by best rank, then by the run that comes first in the rank's own order."""
        count = len(candidates.runs)
        deepest = int(candidates.listed_ranks.max(initial=0))
        drawn = numbers(seed, candidates.topic, "fair-take", count=deepest * count)
        turns = np.concatenate([np.zeros(count), drawn]).reshape(deepest + 1, count)
        mine = np.where(
            candidates.ranks == candidates.best_rank, turns[np.minimum(candidates.best_rank, deepest)].T, np.inf
        )
        return np.lexsort((mine.min(axis=0, initial=np.inf), candidates.best_rank))
