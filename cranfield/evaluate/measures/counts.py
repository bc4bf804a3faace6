"""Counts. They are added up over topics, not averaged."""

from __future__ import annotations

import numpy as np

from cranfield.evaluate.lists import Lists, Values
from cranfield.evaluate.measure import measure


@measure("NumQ", aggregate="sum", bounds=None, quality=False, interval="monotone")
def topic_count(lists: Lists) -> Values:
    """Number of topics: 1 for each topic that is scored. Source: trec_eval num_q."""
    return np.ones(len(lists))


@measure("NumRet", aggregate="sum", bounds=None, quality=False, interval="monotone")
def retrieved_count(lists: Lists, *, rel: int = 0) -> Values:
    """Number of documents retrieved; with `rel` above 0, of those with at least that grade.

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
    """Number of documents retrieved that were judged, and not relevant. Source: trec_eval num_nonrel_judged_ret."""
    return (lists.judged_so_far.within(None) - lists.relevant(rel).count).astype(float)
