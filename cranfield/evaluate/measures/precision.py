"""Measures of the first k documents, and of the whole list as a set."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from cranfield.base.errors import UsageError
from cranfield.evaluate.lists import Lists, Values, ratio
from cranfield.evaluate.measure import Range, measure


@measure(
    "P",
    "Precision",
    additive=True,
    interval="monotone",
    weight=lambda rank, *, cutoff, **_: np.full(rank.shape, 1.0 / float(cutoff)),
)
def precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Precision: the share of the first k documents that is relevant.

    P@k = (relevant in the first k) / k. A list shorter than k is filled up with documents that are not relevant.
    Source: Cleverdon's Cranfield tests; trec_eval P_k.
    """
    return lists.relevant(rel).within(cutoff).count / float(cutoff)


@measure("R", "Recall", additive=True, interval="monotone")
def recall(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Recall: the share of the relevant documents that is among the first k.

    R@k = (relevant in the first k) / R, where R is the number of relevant documents of the topic.
    0 where the topic has none. Source: Cleverdon's Cranfield tests; trec_eval recall_k.
    """
    return ratio(lists.relevant(rel).within(cutoff).count, lists.relevant_count(rel))


@measure("RelativeP", "RelP", additive=True, interval="monotone")
def relative_precision(lists: Lists, *, cutoff: int, rel: int = 1) -> Values:
    """Relative precision: precision at k over the best that is possible there, also called capped recall.

    (relevant in the first k) / min(k, R). 0 where the topic has no relevant document. Source: trec_eval relative_P_k.
    """
    return ratio(lists.relevant(rel).within(cutoff).count, np.minimum(lists.relevant_count(rel), cutoff))


@measure("F", interval="monotone")
def f_measure(
    lists: Lists, *, cutoff: int | None = None, beta: Annotated[float, Range(0)] = 1.0, rel: int = 1
) -> Values:
    """F: the weighted harmonic mean of precision and recall.

    F = (1 + b²) P R / (b² P + R), where b = `beta` says how much more recall counts than precision. P and R are of
    the first k documents, or of the whole list without a cutoff (with P over the length of the list). 0 where
    nothing relevant was found. Source: van Rijsbergen, Information Retrieval, 1979.
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
    """Accuracy: the share of the collection that was put on the right side, retrieved or not.

    (relevant retrieved + not relevant and not retrieved) / `documents`, the size of the collection, which has to be
    given; the first k documents count as retrieved, or the whole list. It misleads: almost nothing in a collection is
    relevant, so that retrieving nothing at all scores close to 1. It is here to show just that.
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
    """Success: whether a relevant document is among the first k, also called hit rate.

    1 if there is one, else 0. Source: Tomlinson; trec_eval success_k.
    """
    return (lists.relevant(rel).within(cutoff).count > 0).astype(float)


@measure("SetP", interval="monotone")
def set_precision(lists: Lists, *, rel: int = 1, relative: bool = False) -> Values:
    """Set precision: the share of the whole list that is relevant.

    (relevant retrieved) / N, where N is the length of the list; with `relative` over min(N, R), the best that is
    possible. 0 for an empty list. Source: trec_eval set_P, set_relative_P.
    """
    size = np.minimum(lists.length, lists.relevant_count(rel)) if relative else lists.length
    return ratio(lists.relevant(rel).count, size)


@measure("SetR", interval="monotone")
def set_recall(lists: Lists, *, rel: int = 1) -> Values:
    """Set recall: the share of the relevant documents that is anywhere in the list.

    (relevant retrieved) / R. 0 where the topic has no relevant document. Source: trec_eval set_recall.
    """
    return ratio(lists.relevant(rel).count, lists.relevant_count(rel))


@measure("SetF", interval="monotone")
def set_f(lists: Lists, *, beta: Annotated[float, Range(0)] = 1.0, rel: int = 1) -> Values:
    """Set F: the weighted harmonic mean of set precision and set recall.

    (b + 1) P R / (b P + R) with b = `beta`. trec_eval does not square b; `F` does, as its definition says.
    0 where nothing relevant was found. Source: trec_eval set_F.
    """
    found = lists.relevant(rel).count
    exact, complete = ratio(found, lists.length), ratio(found, lists.relevant_count(rel))
    return ratio((beta + 1.0) * exact * complete, beta * exact + complete)


@measure("SetAP", interval="monotone")
def set_average_precision(lists: Lists, *, rel: int = 1) -> Values:
    """Set average precision: set precision times set recall.

    (relevant retrieved)² / (N R). 0 where undefined. Source: trec_eval set_map.
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
    """Utility: a weighted sum over the four kinds of documents.

    a (relevant, retrieved) + b (not relevant, retrieved) + c (relevant, not retrieved) + d (neither), the last
    counted in a collection of `documents`. Source: trec_eval utility, from the TREC filtering track.
    """
    found, size, relevant = lists.relevant(rel).count, lists.length, lists.relevant_count(rel)
    neither = documents + found - size - relevant
    return np.asarray(a * found + b * (size - found) + c * (relevant - found) + d * neither, dtype=np.float64)
