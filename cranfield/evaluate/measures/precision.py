"""Measures of binary relevance: precision and recall at a cutoff, set measures, average precision, counts."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.evaluate.lists import Counts, Lists, Values, log2_of_ranks, ratio
from cranfield.evaluate.measure import Range, measure

Rounding = Literal["exact", "9", "10"]
ELEVEN = tuple(level / 10 for level in range(11))


@measure(
    "P",
    "Precision",
    additive=True,
    interval="monotone",
    weight=lambda rank, *, cutoff, **_: np.full(rank.shape, 1.0 / float(cutoff)),
)
def precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Precision: the share of relevant documents among the first k.

    P@k = (relevant in the first k) / k. Ranks missing from a list shorter than k count as not relevant.
    Source: Cleverdon's Cranfield tests; trec_eval P_k.
    """
    return lists.relevant(rel).within(cutoff).count / float(cutoff)


@measure("R", "Recall", additive=True, interval="monotone")
def recall(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Recall: the share of the relevant documents that is retrieved in the first k.

    R@k = (relevant in the first k) / R, where R is the number of relevant documents of the topic.
    0 if the topic has none. Source: Cleverdon's Cranfield tests; trec_eval recall_k.
    """
    return ratio(lists.relevant(rel).within(cutoff).count, lists.relevant_count(rel))


@measure("RelativeP", "RelP", additive=True, interval="monotone")
def relative_precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Relative precision: precision at k divided by its highest possible value, also called capped recall.

    (relevant in the first k) / min(k, R). 0 if the topic has no relevant document. Source: trec_eval relative_P_k.
    """
    return ratio(lists.relevant(rel).within(cutoff).count, np.minimum(lists.relevant_count(rel), cutoff))


@measure("F", interval="monotone")
def f_measure(
    lists: Lists, *, cutoff: int | None = None, beta: Annotated[float, Range(0)] = 1.0, rel: int = 1
) -> Values:
    """F: the weighted harmonic mean of precision and recall.

    F = (1 + b²) P R / (b² P + R), where b = `beta` is the weight of recall relative to precision. P and R are
    those of the first k documents, or without a cutoff of the whole list (P is then divided by its length). 0 if no
    relevant document was retrieved. Source: van Rijsbergen, Information Retrieval, 1979.
    """
    found = lists.relevant(rel).within(cutoff).count
    size = lists.length if cutoff is None else np.full(len(lists), cutoff)
    exact, complete = ratio(found, size), ratio(found, lists.relevant_count(rel))
    weight = beta * beta
    return ratio((1 + weight) * exact * complete, weight * exact + complete)


@measure("Accuracy", interval="monotone")
def accuracy(
    lists: Lists, *, cutoff: int | None = None, documents: Annotated[int, Range(0)] = 0, rel: int = 1
) -> Values:
    """Accuracy: the share of the collection that was classified correctly as relevant or not relevant.

    (relevant retrieved + not relevant and not retrieved) / `documents`, the size of the collection, which is
    required. The first k documents count as retrieved, or without a cutoff the whole list. Accuracy is misleading in
    retrieval: almost no document is relevant, so an empty list scores close to 1. It is included to show this.
    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 8.3.
    """
    if documents <= 0:
        raise UsageError("Accuracy needs the size of the collection: Accuracy(documents=1400)")
    found = lists.relevant(rel).within(cutoff).count
    size = lists.length if cutoff is None else np.minimum(lists.length, cutoff)
    wrong = (size - found) + (lists.relevant_count(rel) - found)
    return 1.0 - wrong / float(documents)


@measure("Success", interval="monotone", weight=lambda rank, **_: np.ones(rank.shape), best=True)
def success(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Success: whether the first k documents contain a relevant one, also called hit rate.

    1 if they do, else 0. Source: Tomlinson; trec_eval success_k.
    """
    return (lists.relevant(rel).within(cutoff).count > 0).astype(float)


@measure("SetP", interval="monotone")
def set_precision(lists: Lists, *, rel: int = 1, relative: bool = False) -> Values:
    """Set precision: the share of relevant documents in the whole list.

    (relevant retrieved) / N, where N is the length of the list; with `relative` divided by min(N, R), the highest
    possible number. 0 for an empty list. Source: trec_eval set_P, set_relative_P.
    """
    size = np.minimum(lists.length, lists.relevant_count(rel)) if relative else lists.length
    return ratio(lists.relevant(rel).count, size)


@measure("SetR", interval="monotone")
def set_recall(lists: Lists, *, rel: int = 1) -> Values:
    """Set recall: the share of the relevant documents that was retrieved at any rank.

    (relevant retrieved) / R. 0 if the topic has no relevant document. Source: trec_eval set_recall.
    """
    return ratio(lists.relevant(rel).count, lists.relevant_count(rel))


@measure("SetF", interval="monotone")
def set_f(lists: Lists, *, beta: Annotated[float, Range(0)] = 1.0, rel: int = 1) -> Values:
    """Set F: the weighted harmonic mean of set precision and set recall.

    (b + 1) P R / (b P + R) with b = `beta`. trec_eval does not square b; `F` does, as in its definition.
    0 if no relevant document was retrieved. Source: trec_eval set_F.
    """
    found = lists.relevant(rel).count
    exact, complete = ratio(found, lists.length), ratio(found, lists.relevant_count(rel))
    return ratio((beta + 1.0) * exact * complete, beta * exact + complete)


@measure("SetAP", interval="monotone")
def set_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Set average precision: set precision times set recall.

    (relevant retrieved)² / (N R). 0 if undefined. Source: trec_eval set_map.
    """
    found = lists.relevant(rel).count.astype(float)
    return ratio(found * found, lists.length.astype(float) * lists.relevant_count(rel))


@measure("Utility", bounds=None, interval="monotone")
def utility(
    lists: Lists,
    *,
    a: float = 1.0,
    b: float = -1.0,
    c: float = 0.0,
    d: float = 0.0,
    documents: Annotated[int, Range(0)] = 0,
    rel: int = 1,
) -> Values:
    """Utility: a weighted sum over the four classes of documents.

    a (relevant, retrieved) + b (not relevant, retrieved) + c (relevant, not retrieved) + d (neither), where
    `documents` is the size of the collection. Source: trec_eval utility, from the TREC filtering track.
    """
    found, size, relevant = lists.relevant(rel).count, lists.length, lists.relevant_count(rel)
    neither = documents + found - size - relevant
    return np.asarray(a * found + b * (size - found) + c * (relevant - found) + d * neither, dtype=np.float64)


# At the relevant documents: average precision, reciprocal rank and related measures.


@measure("AP", "MAP", "AveP", interval="average")
def average_precision(lists: Lists, *, cutoff: int | None = None, rel: int = 1) -> Values:
    """Average precision: the mean over all relevant documents of the precision at their ranks.

    AP = (1 / R) Σ P@r over the ranks r of the relevant documents retrieved; those not retrieved add 0. With a cutoff
    only the first k ranks count, still divided by R. 0 if the topic has no relevant document. The mean over topics is
    MAP.
    Source: Buckley and Voorhees, Retrieval System Evaluation, 2005; trec_eval map, map_cut_k.
    """
    found = lists.relevant(rel).within(cutoff)
    return ratio(found.total(found.ordinal / found.rank), lists.relevant_count(rel))


@measure("RR", "MRR", interval="reciprocal", whole_list=True, weight=lambda rank, **_: 1.0 / rank, best=True)
def reciprocal_rank(lists: Lists, *, cutoff: int | None = None, rel: int = 1) -> Values:
    """Reciprocal rank: 1 divided by the rank of the first relevant document.

    0 if none is retrieved (with a cutoff, in the first k). Source: Voorhees, TREC-8 question answering track;
    trec_eval recip_rank.
    """
    found = lists.relevant(rel).within(cutoff)
    return found.highest(1.0 / found.rank)


@measure("Rprec", "RPrec", "R_precision", interval="r_precision")
def r_precision(lists: Lists, *, times: Annotated[float, Range(0)] = 1.0, rel: int = 1) -> Values:
    """R-precision: precision at rank R, the number of relevant documents of the topic.

    (relevant in the first R) / R. With `times` at a multiple of R, rounded as in trec_eval: floor(times R + 0.9).
    0 if the topic has no relevant document. Source: Buckley; trec_eval Rprec, Rprec_mult.
    """
    depth = lists.relevant_count(rel)
    if times != 1.0:
        depth = np.floor(times * depth + 0.9).astype(np.int64)
    return ratio(lists.relevant(rel).within(depth).count, depth)


@measure("IPrec", interval="ordered")
def interpolated_precision(lists: Lists, *, cutoff: float, rel: int = 1, rounding: Rounding = "exact") -> Values:
    """Interpolated precision: the highest precision at any rank whose recall has reached the level.

    IPrec@l = max P@r over the ranks r with recall at r >= l; 0 if recall never reaches the level. trec_eval converts
    the level to a number of documents first: floor(l R + 0.9) in version 9, rounded to the nearest in version 10,
    which may be below the level. `rounding` selects one of these. Source: Salton; Buckley and Voorhees, 2005;
    trec_eval iprec_at_recall.
    """
    found = lists.relevant(rel)
    needed = documents_needed(cutoff, lists.relevant_count(rel), rounding)
    return found.highest(found.ordinal / found.rank, needed)


@measure("IPrecAvg", "ElevenPoint", interval="ordered")
def interpolated_average(lists: Lists, *, rel: int = 1, rounding: Rounding = "exact") -> Values:
    """Eleven-point average: the mean of the interpolated precision at recall 0, 0.1, … 1.

    `rounding` as in IPrec. Source: Salton; trec_eval 11pt_avg.
    """
    mean: Values = interpolated_mean(lists, levels=",".join(map(str, ELEVEN)), rel=rel, rounding=rounding)
    return mean


@measure("IPrecMean", "ThreePoint")
def interpolated_mean(
    lists: Lists, *, levels: str = "0.2,0.5,0.8", rel: int = 1, rounding: Rounding = "exact"
) -> Values:
    """Mean of the interpolated precision at selected recall levels; by default the three-point average.

    `levels` are numbers from 0 to 1, separated by commas, as in IPrecMean(levels='.25,.5,.75'); `rounding` as in
    IPrec. Source: Salton; trec_eval 11pt_avg with parameters.
    """
    try:
        chosen = tuple(float(word) for word in levels.split(","))
    except ValueError:
        chosen = (-1.0,)
    if not all(0 <= level <= 1 for level in chosen):
        raise UsageError(f"levels are numbers from 0 to 1, separated by commas, not {quoted(levels)}")
    found, relevant = lists.relevant(rel), lists.relevant_count(rel)
    exact = found.ordinal / found.rank
    values = [found.highest(exact, documents_needed(level, relevant, rounding)) for level in reversed(chosen)]
    total: Values = np.add.accumulate(values)[-1]
    return total / len(chosen)


def documents_needed(level: float, relevant: Counts, rounding: Rounding) -> Counts:
    """How many relevant documents make a recall level, exactly or as a version of trec_eval rounds it."""
    wanted = level * relevant
    whole = np.floor(wanted)
    if rounding == "9":
        needed = np.trunc(wanted + 0.9)
    elif rounding == "10":
        needed = whole + (wanted - whole >= 0.5)
    else:
        # A level is a decimal number, and 0.07 * 100 is 7.000000000000001: compare count / relevant with it instead.
        lower = whole - 1
        needed = np.where(
            ratio(lower, relevant) >= level, lower, np.where(ratio(whole, relevant) >= level, whole, whole + 1)
        )
    return np.asarray(needed, dtype=np.int64)


@measure("BinG", interval="ordered")
def binary_g(lists: Lists, *, rel: int = 1) -> Values:
    """Binary G: the mean over all relevant documents of 1 / log2(2 + non-relevant documents ranked above).

    0 if the topic has no relevant document. Source: Buckley; trec_eval binG.
    """
    found = lists.relevant(rel)
    return ratio(found.total(1.0 / log2_of_ranks(found.rank - found.ordinal + 1)), lists.relevant_count(rel))


@measure("YAAP", bounds=None, interval="ordered")
def yet_another_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Yet another average precision: a logit-like transformation of AP, better suited to averaging over topics.

    ln((1 + S) / (1 + R - S)), S the sum of the precisions at the relevant documents retrieved. S = 0 for an empty
    list.
    Source: Robertson, On smoothing average precision, ECIR 2012; trec_eval yaap.
    """
    found = lists.relevant(rel)
    total = found.total(found.ordinal / found.rank)
    return np.log((1.0 + total) / (1.0 + lists.relevant_count(rel) - total))


# Counts. They are summed over topics, not averaged.


@measure("NumQ", aggregate="sum", bounds=None, quality=False, interval="monotone")
def topic_count(lists: Lists) -> Values:
    """Number of topics: 1 for each topic that is scored. Source: trec_eval num_q."""
    return np.ones(len(lists))


@measure("NumRet", aggregate="sum", bounds=None, quality=False, interval="monotone")
def retrieved_count(lists: Lists, *, rel: int = 0) -> Values:
    """Number of retrieved documents; with `rel` above 0, of those with at least this grade.

    Source: trec_eval num_ret, num_rel_ret (rel=1).
    """
    return (lists.relevant(rel).count if rel > 0 else lists.length).astype(float)


@measure("NumRel", aggregate="sum", bounds=None, quality=False, interval="monotone")
def relevant_count(lists: Lists, *, rel: int = 1) -> Values:
    """Number of relevant documents of the topic, retrieved or not. Source: trec_eval num_rel."""
    return lists.relevant_count(rel).astype(float)


@measure(
    "NumRelRet",
    aggregate="sum",
    bounds=None,
    interval="monotone",
    whole_list=True,
    weight=lambda rank, **_: np.ones(rank.shape),
)
def relevant_retrieved_count(lists: Lists, *, rel: int = 1) -> Values:
    """Number of relevant documents retrieved. Source: trec_eval num_rel_ret."""
    return lists.relevant(rel).count.astype(float)


@measure(
    "NumJudgedNonrel",
    aggregate="sum",
    bounds=None,
    monotone=False,
    quality=False,
    rises_with="judged",
    interval="monotone",
)
def judged_nonrelevant_count(lists: Lists, *, rel: int = 1) -> Values:
    """Number of retrieved documents that were judged not relevant. Source: trec_eval num_nonrel_judged_ret."""
    return (lists.judged.count - lists.relevant(rel).count).astype(float)
