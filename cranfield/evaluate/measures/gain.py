"""Graded measures: cumulated gain, gain relative to the ideal ranking, and user models (RBP, ERR)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.lists import (
    Counts,
    Found,
    Gain,
    GradeGains,
    Lists,
    Values,
    gain_function,
    ideal_of,
    log2,
    log2_of_ranks,
    ratio,
)
from cranfield.evaluate.measure import Range, measure
from cranfield.qrels.qrels import Grades

Discount = Literal["log2", "original"]
Base = Annotated[float, Range(1, open=True)]
Persistence = Annotated[float, Range(0, 1, open=True)]


@measure(
    "CG",
    bounds=None,
    additive=True,
    interval="monotone",
    whole_list=True,
    weight=lambda rank, **_: np.ones(rank.shape),
)
def cumulated_gain(
    lists: Lists, *, cutoff: int | None = None, gain: Gain = "linear", gains: GradeGains = ()
) -> Values:
    """Cumulated gain: the sum of the gains of the first k documents, independent of their ranks.

    The gain is the grade, 2^grade - 1 with gain='exponential', or the value in `gains`, as in {1: 3, 2: 9}.
    Unjudged documents have gain 0. Source: Järvelin and Kekäläinen, TOIS 2002.
    """
    found = _gaining(lists, gains).within(cutoff)
    return found.total(gain_function(gain, gains)(found.grade))


@measure(
    "DCG",
    bounds=None,
    additive=True,
    interval="monotone",
    whole_list=True,
    weight=lambda rank, *, discount, base, **_: 1.0 / discounts(rank, discount, base),
)
def discounted_cumulated_gain(
    lists: Lists,
    *,
    cutoff: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: Base = 2.0,
    gains: GradeGains = (),
) -> Values:
    """Discounted cumulated gain: gains divided by the logarithm of the rank.

    DCG@k = Σ gain / log2(rank + 1). With discount='original' the gain is divided by log_b(rank) from rank b on and
    not discounted before it, as first proposed; b = `base`. Gains as in CG.
    Source: Järvelin and Kekäläinen, TOIS 2002; Burges and others, ICML 2005, for log2(rank + 1).
    """
    found = _gaining(lists, gains).within(cutoff)
    return found.total(gain_function(gain, gains)(found.grade) / discounts(found.rank, discount, base))


@measure("IdealDCG", bounds=None, quality=False, interval="monotone")
def ideal_discounted_cumulated_gain(
    lists: Lists,
    *,
    cutoff: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: Base = 2.0,
    gains: GradeGains = (),
) -> Values:
    """Ideal DCG: the DCG of the ideal ranking of all judged documents of the topic.

    Parameters as in DCG. It depends on the topic only. Source: trec_eval ideal_dcg.
    """
    function = gain_function(gain, gains)
    ideal = ideal_of(lists, function)
    worth = function(ideal.grade) / discounts(ideal.rank, discount, base)
    if cutoff is not None:
        worth = np.where(ideal.rank <= cutoff, worth, 0.0)
    return ideal.total(worth)[lists.topics]


@measure("nDCG", "NDCG", additive=True, interval="normalized_gain")
def normalized_discounted_cumulated_gain(
    lists: Lists,
    *,
    cutoff: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    base: Base = 2.0,
    gains: GradeGains = (),
) -> Values:
    """Normalized DCG: the DCG divided by that of the ideal ranking of all judged documents.

    nDCG@k = DCG@k / ideal DCG@k, both with cutoff k. Parameters as in DCG. There is no relevance threshold: every
    grade above 0 counts. 0 if no document of the topic has a gain. Source: Järvelin and Kekäläinen, TOIS 2002;
    trec_eval ndcg, ndcg_cut_k.
    """
    how: Any = {"cutoff": cutoff, "gain": gain, "discount": discount, "base": base, "gains": gains}
    return ratio(discounted_cumulated_gain(lists, **how), ideal_discounted_cumulated_gain(lists, **how))


@measure("nDCGRel", monotone=False)
def ndcg_at_relevant(lists: Lists, *, gains: GradeGains = ()) -> Values:
    """nDCG averaged over the ranks of all documents with a gain.

    A document that is not retrieved adds the DCG of the whole list divided by the full ideal DCG. Experimental.
    Source: Buckley; trec_eval ndcg_rel.
    """
    found, gain, ideal, ideal_gain = _with_ideal(lists, gains)
    worth = gain / log2_of_ranks(found.rank)
    dcg, whole = found.running(worth), found.total(worth)
    ideal_worth = ideal_gain / log2_of_ranks(ideal.rank)
    steps, size = ideal.running(ideal_worth), ideal.count[lists.topics]
    has_gain = gain > 0
    places = np.minimum(found.rank, size[found.cell])[has_gain]
    reached = steps[ideal.starts[lists.topics[found.cell[has_gain]]] + places - 1] if len(steps) else places * 1.0
    rising = found.where(has_gain)
    full = ideal.total(ideal_worth)[lists.topics]
    total = rising.total(ratio(dcg[has_gain], reached)) + ratio((size - rising.count) * whole, full)
    return np.where(total > 0, ratio(total, size), 0.0)


@measure("RnDCG", monotone=False)
def ndcg_at_levels(lists: Lists, *, gains: GradeGains = (), rel: int = 1) -> Values:
    """nDCG averaged over the ranks at which the ideal ranking changes to a lower gain, and the end of the list.

    With 5 documents of gain 3, 3 of gain 2 and 10 of gain 1 the ranks are 5, 8, 18, and the last rank of a list
    longer than 19. 0 if the topic has no relevant document. Experimental. Source: Buckley; trec_eval Rndcg.
    """
    found, gain, ideal, ideal_gain = _with_ideal(lists, gains)
    worth = gain / log2_of_ranks(found.rank)
    level_gain = gain_function("linear", gains)(lists.levels)
    total, count = np.zeros(len(lists)), np.zeros(len(lists))
    depth = np.zeros(len(lists), dtype=np.int64)
    ideal_worth = ideal_gain / log2_of_ranks(ideal.rank)
    for step in sorted({value for value in level_gain.tolist() if value > 0}, reverse=True):
        here = lists.level_counts[:, level_gain == step].sum(axis=1)
        depth += here[lists.topics]
        best = ideal.total(ideal_worth * (ideal_gain >= step))[lists.topics]
        value = ratio(found.total(worth * (found.rank <= depth[found.cell])), best)
        counted = here[lists.topics] > 0
        total += np.where(counted, value, 0.0)
        count += counted
    full = ideal.total(ideal_worth)[lists.topics]
    longer = (lists.length > depth + 1) & (full > 0)
    total += np.where(longer, ratio(found.total(worth), full), 0.0)
    return np.where(lists.relevant_count(rel) > 0, ratio(total, count + longer), 0.0)


@measure("G")
def normalized_gain(lists: Lists, *, gains: GradeGains = ()) -> Values:
    """G: gains discounted by the logarithm of the gain lost so far.

    Σ gain / log2(2 + cost - gained) over the sum of all gains. At each rank `cost` is the sum of the ideal gains so
    far, at least 1 a rank, and `gained` the sum of the gains so far. Experimental. Source: Buckley; trec_eval G.
    """
    found, gain, ideal, ideal_gain = _with_ideal(lists, gains)
    gained = found.running(gain)
    steps, size = ideal.running(np.maximum(ideal_gain, 1.0)), ideal.count[lists.topics[found.cell]]
    inside = np.minimum(found.rank, size)
    at = ideal.starts[lists.topics[found.cell]] + inside - 1
    cost = np.where(inside > 0, steps[at] if len(steps) else 0.0, 0.0) + (found.rank - inside)
    terms = np.zeros(len(found))
    has_gain = gain != 0
    terms[has_gain] = gain[has_gain] / log2((2 + cost - gained)[has_gain])
    return ratio(found.total(terms), ideal.total(ideal_gain)[lists.topics])


@measure("Q", "QMeasure", graded=True, interval="q")
def q_measure(
    lists: Lists, *, cutoff: int | None = None, beta: Annotated[float, Range(0)] = 1.0, rel: int = 1
) -> Values:
    """Q-measure: average precision that blends graded gain with the count of relevant documents.

    Q = (1 / R) Σ (C(r) + b cg(r)) / (r + b cg*(r)) over the ranks r of the relevant documents retrieved. C(r) is the
    number of relevant documents down to rank r, cg(r) their cumulated grade, cg*(r) the ideal cumulated grade, b =
    `beta`. With b = 0 it is AP. With a cutoff the divisor is min(k, R). 0 if the topic has no relevant document.
    Source: Sakai, NTCIR-4 2004; Sakai, On the reliability of information retrieval metrics, 2007.
    """

    def function(grade: Grades) -> Values:
        return np.where(grade >= rel, grade, 0).astype(float)

    found = lists.relevant(rel).within(cutoff)
    ideal = ideal_of(lists, function)
    steps = ideal.running(function(ideal.grade))
    relevant = lists.relevant_count(rel)
    best = steps[ideal.starts[lists.topics[found.cell]] + np.minimum(found.rank, relevant[found.cell]) - 1]
    gained = found.running(found.grade.astype(float))
    terms = (found.ordinal + beta * gained) / (found.rank + beta * best)
    return ratio(found.total(terms), relevant if cutoff is None else np.minimum(relevant, cutoff))


def _gaining(lists: Lists, gains: GradeGains) -> Found:
    """The documents that can have a gain: grade 0 has none unless it is named."""
    return lists.judged if any(grade <= 0 for grade, _ in gains) else lists.relevant(1)


def _with_ideal(lists: Lists, gains: GradeGains) -> tuple[Found, Values, Found, Values]:
    """The documents that can have a gain, the ideal ranking of each topic, and the gains of both."""
    function = gain_function("linear", gains)
    found, ideal = _gaining(lists, gains), ideal_of(lists, function)
    return found, function(found.grade), ideal, function(ideal.grade)


def discounts(rank: Counts, discount: Discount, base: float) -> Values:
    """What the gain at each rank is divided by."""
    if discount == "log2":
        return log2_of_ranks(rank)
    return np.maximum(log2_of_ranks(rank, shift=0) / float(np.log2(base)), 1.0)


# User models: RBP and ERR.


@measure(
    "RBP",
    additive=True,
    interval="persistence",
    whole_list=True,
    weight=lambda rank, *, p, **_: (1.0 - p) * powers(p, rank),
    gains=lambda grades, *, gain, rel, **_: (
        (grades >= rel).astype(float)
        if gain == "binary"
        else grades / float(grades[-1])
        if gain == "scaled"
        else None
    ),
    tail=lambda rank, *, p, **_: p**rank,
)
def rank_biased_precision(
    lists: Lists,
    *,
    cutoff: int | None = None,
    p: Persistence = 0.8,
    rel: int = 1,
    gain: Literal["binary", "scaled", "topic"] = "binary",
) -> Values:
    """Rank-biased precision: the expected gain per document of a user who continues with probability p.

    RBP = (1 - p) Σ g p^(r-1) over the ranks r. g is 1 for a relevant document; with gain='scaled' the grade divided
    by the highest grade of the qrels; with gain='topic' divided by the highest grade of the topic if that exceeds 1,
    as in trec_eval 10. Unjudged documents have g = 0; RBPResidual bounds what they could add.
    Source: Moffat and Zobel, TOIS 2008; trec_eval rbp (p=0.9, gain='topic').
    """
    found = (lists.relevant(rel) if gain == "binary" else lists.judged).within(cutoff)
    if gain == "binary":
        worth = np.ones(len(found))
    elif gain == "scaled":
        worth = found.grade / float(max(lists.highest_grade, 1))
    else:
        present = np.where(lists.level_counts > 0, lists.levels, 0).max(axis=1, initial=0)
        highest: Values = np.maximum(present, 1).astype(float)
        worth = found.grade / highest[lists.topics[found.cell]]
    return (1.0 - p) * found.total(worth * powers(p, found.rank))


@measure("RBPGains", additive=True, scale_gains=False)
def rank_biased_gain(lists: Lists, *, p: Persistence = 0.8, gains: GradeGains = ()) -> Values:
    """Rank-biased precision with a gain for each grade.

    (1 - p) Σ g p^(r-1), where g is the gain of the document (its grade unless listed in `gains`, as in {1: 3, 2: 9})
    divided by the highest gain of the grades of the topic and of those listed, if that exceeds 1. Gains are 0 or
    higher. RBP offers the common choices of g. Source: Moffat and Zobel, TOIS 2008; trec_eval rbp with gains (p=0.9).
    """
    if any(worth < 0 for _, worth in gains):
        raise UsageError("the gains of RBPGains must be 0 or higher")
    judged = lists.judged
    return (1.0 - p) * judged.total(scaled_gains(lists, gains) * powers(p, judged.rank))


@measure(
    "RBPResidual", "RBPres", monotone=False, quality=False, rises_with="unjudged", additive=True, unjudged="counted"
)
def rank_biased_residual(lists: Lists, *, p: Persistence = 0.8) -> Values:
    """Residual of rank-biased precision: how much RBP would rise if every unjudged document were relevant.

    p^N + (1 - p) Σ p^(r-1) over the ranks r of unjudged documents; the first term is the weight beyond the end of the
    list. 1 for an empty list. trec_eval 10 omits the first term if all documents are judged.
    Source: Moffat and Zobel, TOIS 2008.
    """
    unjudged = lists.unjudged
    tail = powers(p, lists.length + 1)
    return tail + (1.0 - p) * unjudged.total(powers(p, unjudged.rank))


@measure("ERR", graded=True, interval="monotone", whole_list=True)
def expected_reciprocal_rank(
    lists: Lists, *, cutoff: int | None = None, max_grade: Annotated[int, Range(0)] = 0
) -> Values:
    """Expected reciprocal rank: the expectation of 1 / rank of the document at which a user stops, satisfied.

    ERR = Σ (1 / r) q(r) Π (1 - q(i)) over i < r, with q = (2^grade - 1) / 2^max. `max_grade` is the highest grade of
    the scale; 0 means the highest of the qrels. Unjudged documents have q = 0. ERR is always below 1.
    Source: Chapelle and others, CIKM 2009; gdeval (max_grade=4).
    """
    highest = max_grade or lists.highest_grade
    found = lists.relevant(1).within(cutoff)
    # (2^grade - 1) / 2^max, without numbers that are too large for a double
    satisfied = np.ldexp(1.0, np.minimum(found.grade, highest) - highest) - np.ldexp(1.0, -highest)
    above = np.ones(len(found))
    above[1:] = 1.0 - satisfied[:-1]
    above[found.ordinal == 1] = 1.0
    return found.total(satisfied * found.running(above, multiply=True) / found.rank)


def powers(p: float, rank: Counts) -> Values:
    """The powers p^(rank-1), made by repeated multiplication, as trec_eval does: the last digit depends on it."""
    table = np.full(max(int(rank.max(initial=1)), 1), p)
    table[0] = 1.0
    made: Values = np.multiply.accumulate(table)
    return made[rank - 1]


def scaled_gains(lists: Lists, named: GradeGains) -> Values:
    """Gains brought into 0 to 1 by the lowest and highest gain of the topic's grades and the named ones."""
    judged = lists.judged
    function = gain_function("linear", named)
    top = np.where(lists.level_counts > 0, lists.levels, 0).max(axis=1, initial=0)
    grades = np.arange(int(top.max(initial=0)) + 1, dtype=np.int32)
    every = function(grades)
    low = np.minimum.accumulate(every)[top]
    high = np.maximum.accumulate(every)[top]
    low = np.minimum(low, min([0.0, *(worth for _, worth in named)]))
    high = np.maximum(high, max([0.0, *(worth for _, worth in named)]))
    scaled = (low < 0) | (high > 1)
    low, span = np.where(scaled, low, 0.0), np.where(scaled, high - low, 1.0)
    topic = lists.topics[judged.cell]
    return (function(judged.grade) - low[topic]) / span[topic]
