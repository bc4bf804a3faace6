"""Measures for incomplete judgments, estimates from a sample of the pool, and how incomplete judgments are."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import (
    NOT_POOLED,
    Counts,
    Found,
    Gain,
    GradeGains,
    Lists,
    Running,
    Values,
    gain_function,
    log2_of_ranks,
    ratio,
)
from cranfield.evaluate.measure import measure
from cranfield.evaluate.measures.gain import ideal_dcg

_EPSILON = 0.00001


@measure("Bpref", "BPref", unjudged="skipped", interval="preference")
def binary_preference(lists: Lists, *, rel: int = 1) -> Values:
    """Binary preference: how often relevant documents stand above judged ones that are not relevant.

    Bpref = (1 / R) Σ (1 - min(n, R) / min(N, R)) over the relevant documents found, n the judged non-relevant ones
    above it and N all of the topic. The term is 1 where n = 0, even with N = 0. Unjudged documents are passed over.
    0 where the topic has no relevant document. Source: Buckley and Voorhees, SIGIR 2004, as trec_eval bpref has it.
    """
    found = lists.relevant(rel)
    above = lists.judged_so_far.above(found) - (found.ordinal - 1)
    relevant = lists.relevant_count(rel)[found.cell]
    most = np.minimum(lists.nonrelevant_count(rel)[found.cell], relevant)
    terms = np.where(above > 0, 1.0 - ratio(np.minimum(above, relevant), most), 1.0)
    return ratio(found.total(terms), lists.relevant_count(rel))


@measure("infAP", "InfAP", monotone=False, unjudged="sampled")
def inferred_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Inferred average precision: an estimate of AP when only a random part of the pool was judged.

    At a relevant document of rank k the expected precision is
    1/k + ((k-1)/k) (pooled above / (k-1)) (relevant above + e) / (judged above + 2e), e = 1e-5; infAP is their sum
    over R. Pooled but unjudged documents have a negative grade in the qrels. 0 where R = 0.
    Source: Yilmaz and Aslam, CIKM 2006, as trec_eval infAP has it.
    """
    found = lists.relevant(rel)
    relevant, judged = found.ordinal - 1, lists.judged_so_far.above(found)
    pooled_above = Running.of(lists.grades != NOT_POOLED, lists.offsets).above(found)
    above = (found.rank - 1).astype(float)
    guess = (relevant + _EPSILON) / (judged + 2 * _EPSILON)
    expected = 1.0 / (above + 1.0) + (above / (above + 1.0)) * ratio(pooled_above, above) * guess
    return ratio(found.total(np.where(above > 0, expected, 1.0)), lists.relevant_count(rel))


@measure("Judged", monotone=False, quality=False, rises_with="judged", additive=True, unjudged="counted")
def judged_share(lists: Lists, *, cutoff: int) -> Values:
    """Judged: the share of the first k documents that was judged.

    (judged in the first k) / min(k, N), N the length of the list; 0 for an empty list. A negative grade is not a
    judgment. Judged@k and Unjudged@k add up to 1 on any list that is not empty. Source: ir_measures Judged.
    """
    return ratio(lists.judged_so_far.within(cutoff), np.minimum(lists.length, cutoff))


@measure("Unjudged", "Holes", monotone=False, quality=False, rises_with="unjudged", additive=True, unjudged="counted")
def unjudged_share(lists: Lists, *, cutoff: int, over: Literal["list", "cutoff"] = "list") -> Values:
    """Unjudged: the share of the first k documents that was not judged, also called hole@k.

    (unjudged in the first k) / min(k, N), or over k itself with over='cutoff', as trec_eval 10 has it. 0 for an empty
    list. Source: trec_eval unj_k.
    """
    size = np.minimum(lists.length, cutoff)
    return ratio(size - lists.judged_so_far.within(cutoff), size if over == "list" else float(cutoff))


@measure("FirstUnjudged", bounds=None, monotone=False, quality=False, rises_with="judged", unjudged="counted")
def first_unjudged_rank(lists: Lists) -> Values:
    """First unjudged rank: where the first document stands that nobody judged.

    N + 1 where all N documents are judged. Above this rank no score depends on missing judgments.
    """
    return lists.first_unjudged.astype(float)


# Estimates from judgments that are a sample of the pool.
#
# The qrels name the stratum of each document and give a negative grade to what was not drawn. With n documents in a
# stratum and s of them drawn, each drawn one was included with the probability s/n and stands for n/s documents.
# Qrels without strata are read as one stratum for each topic. Strata from which nothing was drawn add nothing.


@measure("xinfAP", "StratifiedInfAP", monotone=False, unjudged="sampled")
def stratified_inferred_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Stratified inferred AP: an estimate of AP when a random part of each stratum of the pool was judged.

    At a relevant document of rank k the expected precision is (1/k) (1 + Σ m (r + e) / (s + 3e)) over the strata: of
    the documents above k, m are of the stratum, s of these were drawn and r of those are relevant; e = 1e-5. xinfAP
    is their sum, each times n/s of its document's stratum, over the estimated number of relevant documents. Where
    all is drawn it is AP, but for e; 0 where nothing relevant was drawn.
    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008, with the smoothing of NIST's sample_eval, without its rescaling
    of topics that have more relevant documents than a run may return.
    """
    pooled = lists.pooled
    is_relevant, drawn = pooled.grade >= max(rel, 0), pooled.grade >= 0
    stratum, local = _strata(lists, pooled)
    above = np.zeros(len(pooled))
    for number in range(lists.sample.most):
        inside = local == number
        share = (pooled.before(inside & is_relevant) + _EPSILON) / (pooled.before(inside & drawn) + 3 * _EPSILON)
        above += pooled.before(inside) * share
    found = pooled.where(is_relevant)
    terms = lists.sample.weight[stratum[is_relevant]] * (1.0 + above[is_relevant]) / found.rank
    return ratio(found.total(terms), _estimated_relevant(lists, rel))


@measure("infNDCG", "InfNDCG", bounds=None, monotone=False, unjudged="sampled")
def inferred_ndcg(
    lists: Lists, *, cutoff: int | None = None, gain: Gain = "linear", gains: GradeGains = ()
) -> Values:
    """Inferred nDCG: an estimate of nDCG when a random part of each stratum of the pool was judged.

    DCG is estimated as Σ m G / s over the strata: m documents of the stratum are in the list (its first k, with a
    cutoff), s of these were drawn, and G is the sum of their gain / log2(rank + 1). The ideal ranking has of each
    grade the estimated number of documents, Σ (drawn with the grade) n/s, rounded. Gains as in DCG. Where all is
    drawn it is nDCG. 0 where nothing with a gain was drawn; may exceed 1.
    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008; NIST's sample_eval is infNDCG@1000.
    """
    function = gain_function(gain, gains)
    pooled = lists.pooled.within(cutoff)
    most, size = lists.sample.most, len(lists) * lists.sample.most
    group = pooled.cell * most + _strata(lists, pooled)[1]
    drawn = pooled.grade >= 0
    worth = function(pooled.grade[drawn]) / log2_of_ranks(pooled.rank[drawn])
    gained = np.bincount(group[drawn], weights=worth, minlength=size)
    mean = ratio(gained, np.bincount(group[drawn], minlength=size))
    estimate = (np.bincount(group, minlength=size) * mean).reshape(len(lists), most).sum(axis=1)
    whole = np.floor(lists.sample.estimated_counts() + 0.5).astype(np.int64)
    counted = replace(lists, level_counts=whole, _relevant={})
    return ratio(estimate, ideal_dcg(counted, function, cutoff, "log2", 2.0))


@measure("statP", bounds=None, monotone=False, unjudged="sampled")
def sampled_precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Precision estimated from a sample: each relevant document of the first k counts for all it stands for.

    statP@k = (1/k) Σ n/s over the relevant documents drawn in the first k. Without bias: its mean over all samples is
    P@k, if everything outside the pool is not relevant. May exceed 1. Where all is drawn it is P.
    Source: Horvitz and Thompson, JASA 1952; Aslam, Pavlu and Yilmaz, SIGIR 2006.
    """
    found = lists.relevant(rel).within(cutoff)
    return found.total(lists.sample.weight[lists.strata_at(found)]) / float(cutoff)


@measure("statAP", bounds=None, monotone=False, unjudged="sampled")
def sampled_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Average precision estimated from a sample, by pairs of relevant documents that were drawn together.

    (1/R) Σ w(d) (1 + Σ w(d'|d)) / rank(d) over the relevant documents d drawn and those d' of them above d. w = n/s;
    the inner weight is (n - 1) / (s - 1) where both are of one stratum, since d is known to be drawn. R = Σ w(d),
    found or not. The sum has no bias where every stratum has two draws or is whole; over the estimated R it is a
    ratio, with a small one. May exceed 1. Where all is drawn it is AP; 0 where nothing relevant was drawn.
    Source: Aslam, Pavlu and Yilmaz, SIGIR 2006; Pavlu and Aslam, 2007.
    """
    found, sample = lists.relevant(rel), lists.sample
    stratum, local = _strata(lists, found)
    first = sample.first[lists.topics[found.cell]]
    # For a second document, given that one of the stratum was drawn: (n - 1) / (s - 1).
    beside = np.where(sample.drawn > 1, (sample.size - 1) / np.maximum(sample.drawn - 1, 1), 0.0)
    above = np.zeros(len(found))
    for number in range(sample.most):
        inside = local == number
        other = sample.weight[np.minimum(first + number, len(sample.weight) - 1)]
        above += found.before(inside) * np.where(inside, beside[stratum], other)
    terms = sample.weight[stratum] * (1.0 + above) / found.rank
    return ratio(found.total(terms), _estimated_relevant(lists, rel))


def _strata(lists: Lists, found: Found) -> tuple[NDArray[np.int32], Counts]:
    """Give the stratum of each document, and its number among those of the topic."""
    stratum = lists.strata_at(found)
    return stratum, stratum - lists.sample.first[lists.topics[found.cell]]


def _estimated_relevant(lists: Lists, rel: int) -> Values:
    counts = lists.sample.estimated_counts()[:, lists.levels >= rel].sum(axis=1)
    return np.asarray(counts[lists.topics], dtype=np.float64)
