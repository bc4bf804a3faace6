"""Measures made from a model of the user who goes down the list: RBP and ERR."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.lists import GradeGains, Lists, Values, gain_function
from cranfield.evaluate.measure import Range, measure

Persistence = Annotated[float, Range(0, 1, open=True)]


def _gains_of_grades(grades: NDArray[np.int32], *, gain: str, rel: int, **_: Any) -> Values | None:
    if gain == "binary":
        return (grades >= rel).astype(float)
    return grades / float(grades[-1]) if gain == "scaled" else None


@measure(
    "RBP",
    additive=True,
    interval="persistence",
    whole_list=True,
    weight=lambda rank, *, p, **_: (1.0 - p) * powers(p, rank),
    gains=_gains_of_grades,
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
    """Rank-biased precision: the gain per document for a user who goes on to the next with probability p.

    RBP = (1 - p) Σ g p^(r-1) over the ranks r. g is 1 for a relevant document; with gain='scaled' the grade over the
    highest grade of the qrels; with gain='topic' the grade over the highest of its topic where that exceeds 1, as
    trec_eval 10 has it. Unjudged documents have g = 0: see RBPResidual for what they could add.
    Source: Moffat and Zobel, TOIS 2008; trec_eval rbp (p=0.9, gain='topic').
    """
    found = (lists.relevant(rel) if gain == "binary" else lists.judged).within(cutoff)
    worth = _worth(lists, found.grade, found.cell, gain)
    return (1.0 - p) * found.total(worth * powers(p, found.rank))


@measure("RBPGains", additive=True, scale_gains=False)
def rank_biased_gain(lists: Lists, *, p: Persistence = 0.8, gains: GradeGains = ()) -> Values:
    """Rank-biased precision with a gain for each grade.

    (1 - p) Σ g p^(r-1), where g is the gain of the document (its grade unless `gains` names it, as in {1: 3, 2: 9})
    over the highest gain of the topic's grades and of those named, where that exceeds 1. Gains are 0 or more. RBP has
    the usual choices of g. Source: Moffat and Zobel, TOIS 2008; trec_eval rbp with gains (p=0.9).
    """
    if any(worth < 0 for _, worth in gains):
        raise UsageError("the gains of RBPGains are 0 or more")
    judged = lists.judged
    return (1.0 - p) * judged.total(scaled_gains(lists, gains) * powers(p, judged.rank))


@measure(
    "RBPResidual", "RBPres", monotone=False, quality=False, rises_with="unjudged", additive=True, unjudged="counted"
)
def rank_biased_residual(lists: Lists, *, p: Persistence = 0.8) -> Values:
    """Residual of rank-biased precision: how much RBP could still rise if everything unknown were relevant.

    p^N + (1 - p) Σ p^(r-1) over the ranks r of unjudged documents; the first part is what lies beyond the end of the
    list. 1 for an empty list. trec_eval 10 leaves the first part out when all documents are judged.
    Source: Moffat and Zobel, TOIS 2008.
    """
    holes = lists.unjudged
    tail = powers(p, lists.length + 1)
    return tail + (1.0 - p) * holes.total(powers(p, holes.rank))


@measure("ERR", graded=True, interval="monotone", whole_list=True)
def expected_reciprocal_rank(
    lists: Lists, *, cutoff: int | None = None, max_grade: Annotated[int, Range(0)] = 0
) -> Values:
    """Expected reciprocal rank: the mean of 1 / rank at which a user is satisfied, who stops there.

    ERR = Σ (1 / r) q(r) Π (1 - q(i)) over i < r, with q = (2^grade - 1) / 2^max. `max_grade` is the highest grade of
    the scale; 0 takes the highest in the qrels. Unjudged documents satisfy nobody. Cannot reach 1.
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


def powers(p: float, rank: NDArray[np.int64]) -> Values:
    """Give p^(rank-1), made by repeated multiplication, as trec_eval does: the last digit depends on it."""
    table = np.full(max(int(rank.max(initial=1)), 1), p)
    table[0] = 1.0
    made: Values = np.multiply.accumulate(table)
    return made[rank - 1]


def _worth(lists: Lists, grade: NDArray[np.int32], cell: NDArray[np.int64], gain: str) -> Values:
    if gain == "binary":
        return np.ones(len(grade))
    if gain == "scaled":
        return grade / float(max(lists.highest_grade, 1))
    present = np.where(lists.level_counts > 0, lists.levels, 0).max(axis=1, initial=0)
    highest: Values = np.maximum(present, 1).astype(float)
    return grade / highest[lists.topics[cell]]


def scaled_gains(lists: Lists, named: GradeGains) -> Values:
    """Give gains brought into 0 to 1 by the lowest and highest gain of the topic's grades and the named ones."""
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
