"""The one place that ranks.

By score: as a double, descending; equal scores by document id, descending, in the byte order of UTF-8. This is
trec_eval 10's order. By rank: the rank column ascending, equal ranks as the file has them. By file: as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.runs.run import Codes, Order, Places, Rows, Run, Scores, byte_order, inside, matrix_of, worth_a_matrix
from cranfield.runs.run import taken as ids_at

Mask = NDArray[np.bool_]
Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows brought together by topic: `rows` gives the row numbers, topic after topic in byte order of their ids.

    The topic i of the byte order is `topics[i]` as a code and has `rows[offsets[i]:offsets[i + 1]]`. Within a topic
    the rows stand as in the file. `rows` is None where the file itself stands in this order.
    """

    topics: Codes
    offsets: Places
    rows: Places | None


@dataclass(frozen=True, slots=True)
class Ties:
    """How much of a run hangs on the tie rule: documents that share a score, and the topics they are in."""

    documents: int
    topics: int


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows in canonical order: their numbers (None where the file has that order), and their scores in that order."""

    places: Places | None
    scores: Scores


def ranked(rows: Rows, *, order: Order = "score") -> Run:
    """Give the run that the rows mean, in canonical order."""
    found = rows.by_score if order == "score" else ranking(rows, order=order)
    return Run(
        tag=rows.name,
        topic_ids=ids_at(rows.topic_ids, rows.by_topic.topics),
        offsets=rows.by_topic.offsets,
        document_ids=rows.document_ids,
        documents=taken(rows.documents, found.places),
        scores=found.scores,
        order=order,
        other_tags=tuple(tag for tag, _ in rows.tags[1:]),
    )


def ranking(rows: Rows, *, order: Order) -> Ranking:
    """Give the rows in one of the three orders; without ranks the order by rank is that of the file."""
    groups = rows.by_topic
    places = groups.rows
    if order == "score":
        scores = taken(rows.scores, places)
        if not _never(scores[1:] > scores[:-1], groups):
            places = _sorted(-scores, groups)
            scores = rows.scores[places]
        moved = _by_id_descending(ties(scores, groups.offsets), taken(rows.documents, places), rows.document_ids)
        if moved is not None:
            places = moved if places is None else places[moved]
        return Ranking(places, scores)
    if order == "rank" and rows.ranks is not None:
        ranks = taken(rows.ranks, groups.rows)
        places = places if _never(ranks[1:] < ranks[:-1], groups) else _sorted(ranks, groups)
    return Ranking(places, taken(rows.scores, places))


def order_as_float32(run: Run) -> Places | None:
    """Give the permutation that puts a run into trec_eval 9's order; None where it changes nothing.

    trec_eval 9 compares scores as 32-bit floats, so that scores which differ only beyond that are ties and go by
    document id. Rounding never swaps two scores, so only those ties move. A run that means its ranks or its file
    order keeps it.
    """
    if run.order != "score":
        return None
    return _by_id_descending(ties(as_float32(run.scores), run.offsets), run.documents, run.document_ids)


def as_float32(scores: Scores) -> NDArray[np.float32]:
    """Give the scores as 32-bit floats; what is too large becomes infinite, as in C."""
    with np.errstate(over="ignore", under="ignore"):
        return scores.astype(np.float32)


def tie_groups(scores: NDArray[np.floating], offsets: Places) -> Ties:
    """Count the documents that share their score with another of their topic; the scores are in ranked order."""
    return _counted(_members(ties(scores, offsets)), offsets)


def tie_groups_only_in_float32(scores: Scores, offsets: Places) -> Ties:
    """Count the documents in ties that arise only by rounding to 32 bits.

    Those are the members of a 32-bit tie that holds at least two different doubles. The scores are in ranked order.
    """
    rounded = ties(as_float32(scores), offsets)
    new = rounded & ~ties(scores, offsets)
    if not new.any():
        return Ties(0, 0)
    group = np.cumsum(np.concatenate([[True], ~rounded]))[: len(scores)]
    mixed = np.zeros(len(scores) + 2, dtype=bool)
    mixed[group[1:][new]] = True
    return _counted(mixed[group], offsets)


def ties(scores: NDArray[np.floating], offsets: Places) -> Mask:
    """Say for each row but the last whether the next row has the same topic and the same score."""
    same: Mask = scores[1:] == scores[:-1]
    same[offsets[1:-1] - 1] = False
    return same


def grouped(rows: Rows) -> Groups:
    """Bring the rows of each topic together, topics in byte order of their ids."""
    topics = byte_order(rows.topic_ids).astype(np.int32)
    rank = np.empty(len(topics), dtype=np.int32)
    rank[topics] = np.arange(len(topics), dtype=np.int32)
    starts = np.flatnonzero(np.concatenate([[len(rows) > 0], rows.topics[1:] != rows.topics[:-1]]))
    if len(starts) == len(topics):  # the file has each topic in one piece: whole topics are put in order
        counts = np.diff(starts, append=len(rows))
        order = np.argsort(rank[rows.topics[starts]])
        offsets = _offsets(counts[order])
        if np.array_equal(order, np.arange(len(order))):
            return Groups(topics, offsets, None)
        shift = starts[order] - offsets[:-1]
        return Groups(topics, offsets, np.repeat(shift, counts[order]) + np.arange(len(rows)))
    counts = np.bincount(rows.topics, minlength=len(topics))[topics]
    # In 16 bits, where they fit, numpy sorts by radix, an order of magnitude faster.
    narrow = rank.astype(np.uint16) if len(rank) <= 1 << 16 else rank
    return Groups(topics, _offsets(counts), np.argsort(narrow[rows.topics], kind="stable"))


def taken(values: NDArray[Value], places: Places | None) -> NDArray[Value]:
    """Give `values` at some places; None means all of them, as they stand."""
    return values if places is None else values[places]


def _never(wrong: Mask, groups: Groups) -> bool:
    """Say whether no row and its next of the same topic are the wrong way round."""
    wrong[groups.offsets[1:-1] - 1] = False
    return not wrong.any()


def _sorted(keys: NDArray[Any], groups: Groups) -> Places:
    """Give the row numbers with each topic sorted by rising key, equal keys as they stood.

    All topics at once: as rows of a matrix if the lists are about equally long, else by two keys.
    """
    counts = np.diff(groups.offsets)
    if worth_a_matrix(counts):
        last = keys.dtype.type(np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max)
        matrix = np.argsort(matrix_of(keys, counts, fill=last), axis=1, kind="stable")
        matrix += groups.offsets[:-1, None]
        order = matrix[inside(counts)]
    else:
        order = np.lexsort((keys, np.repeat(np.arange(len(counts)), counts)))
    return order if groups.rows is None else groups.rows[order]


def _by_id_descending(tied: Mask, documents: Codes, ids: pa.Array) -> Places | None:
    """Give the permutation that orders tied rows by id, descending; None where no row moves.

    Only the ids that take part in a tie are compared as strings, each of them once.
    """
    if not tied.any():
        return None
    places = np.flatnonzero(_members(tied))
    group = np.cumsum(np.concatenate([[True], ~tied]))[places]
    codes, seen = documents[places], np.zeros(len(ids), dtype=bool)
    seen[codes] = True
    distinct = np.flatnonzero(seen)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[distinct[byte_order(ids_at(ids, distinct))]] = np.arange(len(distinct))
    sorting = np.lexsort((-rank[codes], group))
    if np.array_equal(sorting, np.arange(len(places))):
        return None
    moved = np.arange(len(documents))
    moved[places] = places[sorting]
    return moved


def _members(tied: Mask) -> Mask:
    members = np.zeros(len(tied) + 1, dtype=bool)
    members[:-1] = tied
    members[1:] |= tied
    return members


def _counted(members: Mask, offsets: Places) -> Ties:
    running = np.concatenate([[0], np.cumsum(members)])
    by_topic = running[offsets[1:]] - running[offsets[:-1]]
    return Ties(int(by_topic.sum()), int(np.count_nonzero(by_topic)))


def _offsets(counts: Places) -> Places:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
