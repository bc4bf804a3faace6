"""Measures made at the relevant documents: average precision, reciprocal rank and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.evaluate.lists import Counts, Found, Lists, Values, log2_of_ranks, ratio
from cranfield.evaluate.measure import Range, measure

Rounding = Literal["exact", "9", "10"]
ELEVEN = tuple(level / 10 for level in range(11))


@measure("AP", "MAP", "AveP", interval="average")
def average_precision(lists: Lists, *, cutoff: int | None = None, rel: int = 1) -> Values:
    """Average precision: the mean over all relevant documents of the precision at their ranks.

    AP = (1 / R) Σ P@r over the ranks r of the relevant documents found; one not found adds 0. With a cutoff only the
    first k ranks count, still divided by R. 0 where the topic has no relevant document. The mean over topics is MAP.
    Source: Buckley and Voorhees, Retrieval System Evaluation, 2005; trec_eval map, map_cut_k.
    """
    found = lists.relevant(rel).within(cutoff)
    return ratio(found.total(found.ordinal / found.rank), lists.relevant_count(rel))


@measure("RR", "MRR", interval="reciprocal", whole_list=True, weight=lambda rank, **_: 1.0 / rank, best=True)
def reciprocal_rank(lists: Lists, *, cutoff: int | None = None, rel: int = 1) -> Values:
    """Reciprocal rank: 1 over the rank of the first relevant document.

    0 where none is found (within the first k, with a cutoff). Source: Voorhees, TREC-8 question answering track;
    trec_eval recip_rank.
    """
    found = lists.relevant(rel).within(cutoff)
    return found.highest(1.0 / found.rank)


@measure("Rprec", "RPrec", "R_precision", interval="r_precision")
def r_precision(lists: Lists, *, times: Annotated[float, Range(0)] = 1.0, rel: int = 1) -> Values:
    """R-precision: precision at rank R, the number of relevant documents of the topic.

    (relevant in the first R) / R. With `times` at that multiple of R, rounded as in trec_eval: floor(times R + 0.9).
    0 where the topic has no relevant document. Source: Buckley; trec_eval Rprec, Rprec_mult.
    """
    depth = lists.relevant_count(rel)
    if times != 1.0:
        depth = np.floor(times * depth + 0.9).astype(np.int64)
    found = lists.relevant(rel)
    return ratio(found.where(found.rank <= depth[found.cell]).count, depth)


@measure("IPrec", interval="interpolated")
def interpolated_precision(lists: Lists, *, cutoff: float, rel: int = 1, rounding: Rounding = "exact") -> Values:
    """Interpolated precision: the highest precision at any rank where recall has reached the level.

    IPrec@l = max P@r over the ranks r with recall at r >= l; 0 where recall never gets there. trec_eval turns the
    level into a number of documents first and rounds it: floor(l R + 0.9) in version 9, the nearest in version 10,
    which can be below the level. `rounding` asks for that. Source: Salton; Buckley and Voorhees, 2005; trec_eval
    iprec_at_recall.
    """
    found = lists.relevant(rel)
    needed = documents_needed(cutoff, lists.relevant_count(rel), rounding)
    return found.highest_from(found.ordinal / found.rank, needed)


@measure("IPrecAvg", "ElevenPoint", interval="eleven_point")
def interpolated_average(lists: Lists, *, rel: int = 1, rounding: Rounding = "exact") -> Values:
    """Eleven-point average: the mean of the interpolated precision at recall 0, 0.1, … 1.

    `rounding` as in IPrec. Source: Salton; trec_eval 11pt_avg.
    """
    return _mean_of_levels(lists, ELEVEN, rel, rounding)


@measure("IPrecMean", "ThreePoint")
def interpolated_mean(
    lists: Lists, *, levels: str = "0.2,0.5,0.8", rel: int = 1, rounding: Rounding = "exact"
) -> Values:
    """Average of interpolated precision at chosen recall levels; without a choice the three-point average.

    `levels` are numbers from 0 to 1 with commas between them, as in IPrecMean(levels='.25,.5,.75'); `rounding` as in
    IPrec. Source: Salton; trec_eval 11pt_avg with parameters.
    """
    return _mean_of_levels(lists, levels_named(levels), rel, rounding)


def levels_named(text: str) -> tuple[float, ...]:
    """Give the recall levels that a text names."""
    try:
        levels = tuple(float(word) for word in text.split(","))
    except ValueError:
        levels = (-1.0,)
    if not all(0 <= level <= 1 for level in levels):
        raise UsageError(f"levels are numbers from 0 to 1 with commas between them, not {quoted(text)}")
    return levels


def _mean_of_levels(lists: Lists, levels: Sequence[float], rel: int, rounding: Rounding) -> Values:
    found = lists.relevant(rel)
    precision, relevant = found.ordinal / found.rank, lists.relevant_count(rel)
    values = [
        found.highest_from(precision, documents_needed(level, relevant, rounding)) for level in reversed(levels)
    ]
    total: Values = np.add.accumulate(values)[-1]
    return total / len(levels)


def documents_needed(level: float, relevant: Counts, rounding: Rounding) -> Counts:
    """Give how many relevant documents make a recall level, exactly or as a version of trec_eval rounds it."""
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


@measure("BinG", interval="binary_g")
def binary_g(lists: Lists, *, rel: int = 1) -> Values:
    """Binary G: the mean over all relevant documents of 1 / log2(2 + documents above that are not relevant).

    0 where the topic has no relevant document. Source: Buckley; trec_eval binG.
    """
    found = lists.relevant(rel)
    return ratio(found.total(1.0 / log2_of_ranks(found.rank - found.ordinal + 1)), lists.relevant_count(rel))


@measure("YAAP", bounds=None, interval="logit")
def yet_another_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Yet another average precision: a logit-like form of AP that averages better over topics.

    ln((1 + S) / (1 + R - S)), S the sum of the precisions at the relevant documents found. An empty list has S = 0.
    Source: Robertson, On smoothing average precision, ECIR 2012; trec_eval yaap.
    """
    found = lists.relevant(rel)
    total = sum_of_precisions(found)
    return np.log((1.0 + total) / (1.0 + lists.relevant_count(rel) - total))


def sum_of_precisions(found: Found) -> Values:
    """Add up the precision at each document found."""
    return found.total(found.ordinal / found.rank)
