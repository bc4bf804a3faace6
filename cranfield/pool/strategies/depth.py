"""Orders by rank, and the order that is drawn."""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import Option
from cranfield.pool.candidates import Candidates, document_draws, numbers
from cranfield.pool.strategy import RankAmount, fixed
from cranfield.runs.columns import Places

_OWN_DEPTH = re.compile(r"(.+):([0-9]{1,9})", re.DOTALL)


def _own_depths(topics: str) -> RankAmount:
    depths = {}
    for word in filter(None, topics.split(",")):
        match = _OWN_DEPTH.fullmatch(word)
        if not match or int(match[2]) < 1:
            raise UsageError(f"option 'topics' must be topics with depths, as in 101:50,107:20; not {quoted(word)}")
        depths[match[1]] = int(match[2])
    return RankAmount(depths)


@fixed("depth", summary="the first k documents of every run", read_amount=_own_depths)
def depth(
    candidates: Candidates,
    seed: int,
    *,
    topics: Annotated[str, Option("topics with a depth of their own, as in 101:50,107:20")] = "",
) -> Places:
    """All documents that some run ranks at k or above: { d : min over runs s of r_s(d) ≤ k }.

    The amount is k. Best rank first, ties by document id, descending. A run shorter than k contributes all its
    documents. With by=group the top k of each group's merged ranking count, so that a group contributes k documents
    however many runs it submits. With by=topic the amount is a number of documents: each topic goes to the deepest
    full rank that does not exceed it. `topics` sets other depths for some topics: "101:50,107:20".

    Source: Spärck Jones and van Rijsbergen's ideal collection (1975), and TREC since 1992.
    """
    return np.argsort(candidates.best_rank, kind="stable")


@fixed("take", summary="rank by rank, within a rank run by run")
def take(candidates: Candidates, seed: int) -> Places:
    """The first documents of all runs, rank by rank; within a rank the runs in byte order of their names.

    `take 100` is the deepest full depth that fits into 100 documents, filled up from the next rank. The order of the
    runs decides which fill it: `fair-take` shuffles them at every rank.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """
    at_best = candidates.ranks == candidates.best_rank
    return np.lexsort((at_best.argmax(axis=0), candidates.best_rank))


@fixed("fair-take", summary="rank by rank, within a rank the runs shuffled by seed")
def fair_take(candidates: Candidates, seed: int) -> Places:
    """The first documents of all runs, rank by rank; within each rank the runs in an order drawn by seed.

    As `take`, but no run is first at every rank. The orders are drawn for seed and topic.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """
    count = len(candidates.runs)
    deepest = int(candidates.listed_ranks.max(initial=0))
    drawn = numbers(seed, candidates.topic, "fair-take", count=deepest * count)
    turns = np.concatenate([np.zeros(count), drawn]).reshape(deepest + 1, count)
    mine = np.where(
        candidates.ranks == candidates.best_rank, turns[np.minimum(candidates.best_rank, deepest)].T, np.inf
    )
    return np.lexsort((mine.min(axis=0, initial=np.inf), candidates.best_rank))


@fixed("shuffle", summary="an order drawn by seed")
def shuffle(candidates: Candidates, seed: int) -> Places:
    """All candidates, shuffled by seed: the baseline for every other order.

    Each document's place comes from a hash of seed, topic and document. It is an order and not a sample: for
    documents with inclusion probabilities use `sample`.
    """
    return np.argsort(document_draws(seed, "shuffle", candidates.topic, candidates.ids), kind="stable")
