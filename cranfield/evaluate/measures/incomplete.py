"""Measures for incomplete judgments, and measures of how incomplete they are."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cranfield.evaluate.lists import Lists, Values, ratio
from cranfield.evaluate.measure import measure

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
    pooled_above = lists.pooled_so_far.above(found)
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
