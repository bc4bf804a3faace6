"""Measures for incomplete judgments: bpref, estimates from sampled judgments, and shares of unjudged documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from cranfield.evaluate.lists import (
    Counts,
    Found,
    Gain,
    GradeGains,
    Lists,
    Values,
    gain_function,
    log2_of_ranks,
    ratio,
)
from cranfield.evaluate.measure import measure
from cranfield.evaluate.measures.gain import ideal_discounted_cumulated_gain
from cranfield.runs.columns import Codes

_EPSILON = 0.00001


@measure("Bpref", "BPref", unjudged="skipped", interval="ordered")
def binary_preference(lists: Lists, *, rel: int = 1) -> Values:
    """Binary preference: how often relevant documents are ranked above documents judged not relevant.

    Bpref = (1 / R) Σ (1 - min(n, R) / min(N, R)) over the relevant documents retrieved, n the number of judged
    non-relevant documents above and N that of the topic. The term is 1 if n = 0, even with N = 0. Unjudged documents
    are ignored. 0 if the topic has no relevant document. Source: Buckley and Voorhees, SIGIR 2004; trec_eval bpref.
    """
    found = lists.relevant(rel)
    above = lists.judged.ordinal[lists.judged.grade >= max(rel, 0)] - found.ordinal
    relevant = lists.relevant_count(rel)[found.cell]
    nonrelevant = lists.level_counts[:, lists.levels < rel].sum(axis=1)[lists.topics]
    most = np.minimum(nonrelevant[found.cell], relevant)
    terms = np.where(above > 0, 1.0 - ratio(np.minimum(above, relevant), most), 1.0)
    return ratio(found.total(terms), lists.relevant_count(rel))


@measure("infAP", "InfAP", monotone=False, unjudged="sampled")
def inferred_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Inferred average precision: an estimate of AP from judgments of a random sample of the pool.

    At a relevant document of rank k the expected precision is
    1/k + ((k-1)/k) (pooled above / (k-1)) (relevant above + e) / (judged above + 2e), e = 1e-5; infAP is their sum
    divided by R. Pooled but unjudged documents have a negative grade in the qrels. 0 if R = 0.
    Source: Yilmaz and Aslam, CIKM 2006; trec_eval infAP.
    """
    found = lists.relevant(rel)
    # Of each relevant document, how many relevant, judged and pooled ones stand above it.
    relevant = found.ordinal - 1
    judged, pooled = ((one.ordinal - 1)[one.grade >= max(rel, 0)] for one in (lists.judged, lists.pooled))
    above = (found.rank - 1).astype(float)
    guess = (relevant + _EPSILON) / (judged + 2 * _EPSILON)
    expected = 1.0 / (above + 1.0) + (above / (above + 1.0)) * ratio(pooled, above) * guess
    return ratio(found.total(np.where(above > 0, expected, 1.0)), lists.relevant_count(rel))


@measure("Judged", monotone=False, quality=False, rises_with="judged", additive=True, unjudged="counted")
def judged_share(lists: Lists, *, cutoff: int) -> Values:
    """Judged: the share of judged documents among the first k.

    (judged in the first k) / min(k, N), N the length of the list; 0 for an empty list. A document with a negative
    grade is unjudged. Judged@k and Unjudged@k sum to 1 for every list that is not empty. Source: ir_measures Judged.
    """
    return ratio(lists.judged.within(cutoff).count, np.minimum(lists.length, cutoff))


@measure("Unjudged", "Holes", monotone=False, quality=False, rises_with="unjudged", additive=True, unjudged="counted")
def unjudged_share(lists: Lists, *, cutoff: int, over: Literal["list", "cutoff"] = "list") -> Values:
    """Unjudged: the share of unjudged documents among the first k, also called hole@k.

    (unjudged in the first k) / min(k, N), or divided by k with over='cutoff', as in trec_eval 10. 0 for an empty
    list. Source: trec_eval unj_k.
    """
    size = np.minimum(lists.length, cutoff)
    return ratio(size - lists.judged.within(cutoff).count, size if over == "list" else float(cutoff))


@measure("FirstUnjudged", bounds=None, monotone=False, quality=False, rises_with="judged", unjudged="counted")
def first_unjudged_rank(lists: Lists) -> Values:
    """First unjudged rank: the rank of the first unjudged document.

    N + 1 if all N documents are judged. A measure with a smaller cutoff does not depend on missing judgments.
    """
    return lists.first_unjudged.astype(float)


# Estimates from sampled judgments.
#
# The qrels name the stratum of each document; documents that were not sampled have a negative grade. If s of the n
# documents of a stratum were sampled, each had inclusion probability s/n and represents n/s documents. Qrels without
# strata are read as one stratum per topic. Strata without a sampled document add nothing.


@measure("xinfAP", "StratifiedInfAP", monotone=False, unjudged="sampled")
def stratified_inferred_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Stratified inferred AP: an estimate of AP from judgments of a random sample of each stratum of the pool.

    At a relevant document of rank k the expected precision is (1/k) (1 + Σ m (r + e) / (s + 3e)) over the strata: of
    the documents above rank k, m belong to the stratum, s of these were sampled and r of those are relevant; e =
    1e-5. xinfAP is their sum, each weighted by n/s of its stratum, divided by the estimated number of relevant
    documents. If every document was sampled it equals AP up to e; 0 if no relevant document was sampled.
    Source: Yilmaz, Kanoulas and Aslam, SIGIR 2008, with the smoothing of NIST's sample_eval, but without its
    rescaling for topics with more relevant documents than a run may return.
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
    """Inferred nDCG: an estimate of nDCG from judgments of a random sample of each stratum of the pool.

    DCG is estimated as Σ m G / s over the strata: m documents of the stratum are in the list (with a cutoff, in its
    first k), s of these were sampled, and G is the sum of their gain / log2(rank + 1). The ideal ranking has the
    estimated number of documents of each grade, Σ (sampled with the grade) n/s, rounded. Gains as in DCG. If every
    document was sampled it equals nDCG. 0 if no document with a gain was sampled. May exceed 1.
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
    counted = replace(lists, level_counts=whole)
    return ratio(estimate, ideal_discounted_cumulated_gain(counted, cutoff=cutoff, gain=gain, gains=gains))


@measure("statP", bounds=None, monotone=False, unjudged="sampled")
def sampled_precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Precision estimated from a sample: each relevant document in the first k is weighted by n/s.

    statP@k = (1/k) Σ n/s over the sampled relevant documents in the first k. Unbiased: its mean over all samples is
    P@k, if no document outside the pool is relevant. May exceed 1. If every document was sampled it equals P.
    Source: Horvitz and Thompson, JASA 1952; Aslam, Pavlu and Yilmaz, SIGIR 2006.
    """
    found = lists.relevant(rel).within(cutoff)
    return found.total(lists.sample.weight[_strata(lists, found)[0]]) / float(cutoff)


@measure("statAP", bounds=None, monotone=False, unjudged="sampled")
def sampled_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Average precision estimated from a sample, from pairs of sampled relevant documents.

    (1/R) Σ w(d) (1 + Σ w(d'|d)) / rank(d) over the sampled relevant documents d and those d' ranked above d. w = n/s;
    the inner weight is (n - 1) / (s - 1) if both are in one stratum, given that d was sampled. R = Σ w(d), retrieved
    or not. The sum is unbiased if every stratum has at least two sampled documents or was judged completely; the
    ratio to the estimated R has a small bias. May exceed 1. If every document was sampled it equals AP; 0 if no
    relevant document was sampled.
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


def _strata(lists: Lists, found: Found) -> tuple[Codes, Counts]:
    """The stratum of each document, and its number among those of the topic."""
    stratum: Codes = lists.sample.at_rank[lists.offsets[found.cell] + found.rank - 1]
    return stratum, stratum - lists.sample.first[lists.topics[found.cell]]


def _estimated_relevant(lists: Lists, rel: int) -> Values:
    counts = lists.sample.estimated_counts()[:, lists.levels >= rel].sum(axis=1)
    return np.asarray(counts[lists.topics], dtype=np.float64)
