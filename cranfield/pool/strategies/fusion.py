"""Orders by fusion: of ranks, of scores, of votes, and of the weights that measures give to ranks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cranfield.base.registry import Option
from cranfield.pool.candidates import FAR, Candidates
from cranfield.pool.strategy import fixed, scored
from cranfield.runs.columns import Places, Scores

_NARROW = np.iinfo(np.int16).max
_BLOCK = 1 << 18
_FEW_VOTES = np.iinfo(np.uint8).max
_THREADS = 2

Votes = NDArray[np.unsignedinteger]


@scored("rrf", summary="reciprocal rank fusion")
def reciprocal_rank_fusion(
    candidates: Candidates, *, k: Annotated[float, Option("constant that dampens the top ranks", at_least=0)] = 60
) -> Scores:
    """By Σ over runs s that have d:  1 / (k + r_s(d)).

    A run without the document adds nothing. Ties by document id, descending.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet …", SIGIR 2009 (k = 60).
    """
    return candidates.summed(1 / (k + candidates.listed_ranks))


@scored("dcg", summary="weights of DCG, summed over runs")
def discounted_gain(candidates: Candidates) -> Scores:
    """By Σ over runs s that have d:  1 / log2(r_s(d) + 1), the weight that DCG gives the document's ranks.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """
    return candidates.summed(1 / np.log2(candidates.listed_ranks + 1.0))


@scored("rbp-a", summary="weights of RBP, summed over runs (method A)")
def rbp_a(
    candidates: Candidates,
    *,
    p: Annotated[float, Option("persistence of the user", at_least=0.001, at_most=0.999)] = 0.8,
) -> Scores:
    """By Σ over runs s that have d:  (1 − p) · p^(r_s(d) − 1), what RBP can gain from the document.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, "Strategic system comparisons via targeted relevance judgments", SIGIR 2007
    (method A).
    """
    return candidates.summed((1 - p) * np.power(p, candidates.listed_ranks - 1.0))


@fixed("popularity", "pri", summary="most runs first, then smallest sum of ranks (NTCIR priority)")
def popularity(
    candidates: Candidates,
    seed: int,
    *,
    k: Annotated[int, Option("the depth within which a run counts", at_least=1)] = 30,
) -> Places:
    """By the number of runs that have the document among their first k, then by the sum of those ranks.

    More runs first; of equally many, the smaller sum of ranks. Documents that no run has among its first k come last.
    Ties by document id, descending.

    Source: the prioritised order (PRI) of NTCIR's pooling script; Sakai et al., "Relevance assessments for web
    search evaluation: should we randomise or prioritise the pooled documents?", TOIS 2022. The usual k is the pool
    depth.
    """
    within = candidates.found & (candidates.ranks <= k)
    return np.lexsort((np.where(within, candidates.ranks, 0).sum(axis=0), -within.sum(axis=0)))


@scored("borda", summary="Borda count")
def borda(candidates: Candidates) -> Scores:
    """By Σ over runs s of the points c − r_s(d) + 1, where c is the number of documents that the runs have.

    The points that a run of length n does not assign are shared evenly among the candidates it did not retrieve:
    (c − n + 1) / 2 each. A run without the topic thus gives all candidates the same. Ties by document id, descending.

    Source: Aslam and Montague, "Models for metasearch", SIGIR 2001.
    """
    count = candidates.documents_found
    for_absent = (count - candidates.lengths + 1) / 2
    points = np.where(candidates.found, count - candidates.ranks + 1.0, for_absent[:, None])
    scores: Scores = points.sum(axis=0)
    return scores


@scored("combsum", summary="sum of normalised scores")
def combsum(candidates: Candidates) -> Scores:
    """By Σ over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Absent from a run: y = 0. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    scores: Scores = candidates.normalised.sum(axis=0)
    return scores


@scored("combmnz", summary="sum of normalised scores, times the number of runs that have it")
def combmnz(candidates: Candidates) -> Scores:
    """By |{s : d in s}| · Σ over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Absent from a run: y = 0. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    scores: Scores = candidates.normalised.sum(axis=0) * candidates.found.sum(axis=0)
    return scores


@scored("combanz", summary="mean of normalised scores over the runs that have it")
def combanz(candidates: Candidates) -> Scores:
    """By Σ over runs s of y_s(d), divided by |{s : d in s}|.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    scores: Scores = candidates.normalised.sum(axis=0) / candidates.found.sum(axis=0)
    return scores


@scored("combmax", summary="best normalised score")
def combmax(candidates: Candidates) -> Scores:
    """By the maximum over runs s of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    scores: Scores = candidates.normalised.max(axis=0, initial=0.0)
    return scores


@scored("combmin", summary="worst normalised score over the runs that have it")
def combmin(candidates: Candidates) -> Scores:
    """By the minimum over runs s that have d of y_s(d).

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    present = np.where(candidates.found, candidates.normalised, np.inf)
    scores: Scores = present.min(axis=0, initial=np.inf)
    return scores


@scored("combmed", summary="median of normalised scores over the runs that have it")
def combmed(candidates: Candidates) -> Scores:
    """By the median over runs s that have d of y_s(d); of an even number the mean of the middle two.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 if all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """
    values = np.sort(np.where(candidates.found, candidates.normalised, np.inf), axis=0)
    count = candidates.found.sum(axis=0)
    columns = np.arange(len(candidates))
    scores: Scores = (values[(count - 1) // 2, columns] + values[count // 2, columns]) / 2
    return scores


@scored("condorcet", summary="number of documents beaten in pairwise votes (Copeland)")
def condorcet(candidates: Candidates) -> Scores:
    """By the number of documents that d beats, pair by pair (Copeland's count).

    d beats e if more runs rank d above e than e above d. A run that has d and not e ranks d above e; one that has
    neither does not vote. Ties by document id, descending.

    Source: Montague and Aslam, "Condorcet fusion for improved retrieval", CIKM 2002, sort with that comparison; it
    can be cyclic, and then their result depends on the order of the input. The count does not.
    """
    ranks = np.where(candidates.found, candidates.ranks, FAR)
    if int(candidates.listed_ranks.max(initial=0)) < _NARROW:
        ranks = np.minimum(ranks, _NARROW).astype(np.int16)
    count = len(candidates)
    wins = np.zeros(count)
    at_once = max(1, _BLOCK // max(count, 1))
    lacking = (~candidates.found).astype(np.float32)

    def elections(first: int) -> tuple[int, Places, Places]:
        """Let some documents stand against themselves and those after them."""
        some = slice(first, first + at_once)
        size = ranks[:, some].shape[1], count - first
        # Votes are counted in bytes where they fit.
        above: Votes = np.zeros(size, dtype=np.uint8 if len(ranks) <= _FEW_VOTES else np.uint32)
        vote = np.empty(size, dtype=bool)
        for run in ranks:
            np.less(run[some, None], run[None, first:], out=vote)
            np.add(above, vote.view(np.uint8), out=above)
        # Runs that lack both documents do not vote.
        voting = len(ranks) - (lacking[:, some].T @ lacking[:, first:]).astype(above.dtype)
        half = voting >> 1
        beaten = (above < voting - half)[:, at_once:]
        return first, np.count_nonzero(above > half, axis=1), np.count_nonzero(beaten, axis=0)

    # Threads help: comparing whole arrays leaves the interpreter free.
    with ThreadPoolExecutor(_THREADS) as threads:
        for first, won, lost in threads.map(elections, range(0, count, at_once)):
            wins[first : first + at_once] += won
            wins[first + at_once :] += lost
    return wins
