"""A ranking as columns: `Rows` as a file has them, `Run` in canonical order; this is the one place that ranks.

By score: as a double, descending; equal scores by document id, descending, in the byte order of UTF-8. This is
trec_eval 10's order. By rank: the rank column ascending, equal ranks as the file has them. By file: as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import Problem
from cranfield.base.files import Source
from cranfield.runs.columns import (
    Codes,
    LineNumbers,
    Mask,
    Places,
    Scores,
    byte_order,
    joined,
    joined_text,
    running_sum,
    taken,
    used_only,
)

Order = Literal["score", "rank", "file"]
Value = TypeVar("Value", bound=np.generic)

NO_RANK = np.iinfo(np.int64).min
"""Stands in the rank column where the file has something that is not a whole number."""

SCORE_PROBLEMS = ("missing-field", "score-not-a-number", "score-nan", "score-infinite")
"""Codes of the problems after which a row may stand with NaN for its score."""

_ROWS_AT_ONCE = 1 << 19


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a run file, in the order of the file.

    Row i is topic `topic_ids[topics[i]]`, document `document_ids[documents[i]]`, `scores[i]` and `ranks[i]` (None
    where the format has no ranks). Lines that give no row are left out and listed in `problems`; so is a row without
    a usable score, but it stays, with NaN, so that its ids are checked too. Rows with errors are never ranked. `tags`
    are the distinct tags with the first line of each, `metadata` is the ir_metadata header.
    """

    source: Source
    topic_ids: pa.Array
    topics: Codes
    document_ids: pa.Array
    documents: Codes
    scores: Scores
    ranks: Places | None
    tags: tuple[tuple[str, int], ...] = ()
    lines: LineNumbers = field(default_factory=LineNumbers)
    problems: tuple[Problem, ...] = ()
    metadata: str = ""

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, kept: Places) -> Rows:
        """Some of the rows (their numbers rise), with their line numbers and without ids that no row uses."""
        gone = np.ones(len(self), dtype=bool)
        gone[kept] = False
        topic_ids, topics = used_only(self.topic_ids, self.topics[kept])
        document_ids, documents = used_only(self.document_ids, self.documents[kept])
        return replace(
            self,
            topic_ids=topic_ids,
            topics=topics,
            document_ids=document_ids,
            documents=documents,
            scores=self.scores[kept],
            ranks=None if self.ranks is None else self.ranks[kept],
            lines=self.lines.without(self.lines.of(np.flatnonzero(gone))),
        )

    @cached_property
    def scored(self) -> Rows:
        """The rows that have a score. That every row has one costs no look at the scores."""
        if not any(found.code in SCORE_PROBLEMS for found in self.problems):
            return self
        return self.only(np.flatnonzero(~np.isnan(self.scores)))

    @cached_property
    def by_topic(self) -> Groups:
        """The rows of each topic together, topics in byte order of their ids; found once."""
        topics = byte_order(self.topic_ids).astype(np.int32)
        rank = np.empty(len(topics), dtype=np.int32)
        rank[topics] = np.arange(len(topics), dtype=np.int32)
        starts = np.flatnonzero(np.concatenate([[len(self) > 0], self.topics[1:] != self.topics[:-1]]))
        if len(starts) == len(topics):  # the file has each topic in one piece: whole topics are put in order
            counts = np.diff(starts, append=len(self))
            order = np.argsort(rank[self.topics[starts]])
            offsets = running_sum(counts[order])
            if np.array_equal(order, np.arange(len(order))):
                return Groups(topics, offsets, None)
            shift = starts[order] - offsets[:-1]
            return Groups(topics, offsets, np.repeat(shift, counts[order]) + np.arange(len(self)))
        counts = np.bincount(self.topics, minlength=len(topics))[topics]
        # In 16 bits, where they fit, numpy sorts by radix, an order of magnitude faster.
        narrow = rank.astype(np.uint16) if len(rank) <= 1 << 16 else rank
        return Groups(topics, running_sum(counts), np.argsort(narrow[self.topics], kind="stable"))

    @cached_property
    def by_score(self) -> Ranking:
        """The rows in order of score; found once."""
        return ranking(self, order="score")

    @property
    def name(self) -> str:
        """What the run is called: its first tag, or the file's name where the format carries no tag."""
        return self.tags[0][0] if self.tags else self.source.stem


@dataclass(frozen=True, eq=False)
class Run:
    """A ranking in canonical order: topics in byte order, each with its documents from best to worst.

    The rows of the topic i are `offsets[i]` up to `offsets[i + 1]`. `order` says what the order came from; whatever
    ranks later takes the rows as they stand here and looks at the scores no more. `other_tags` are those that its
    file has beside the first.
    """

    tag: str
    topic_ids: pa.Array
    offsets: Places
    document_ids: pa.Array
    documents: Codes
    scores: Scores
    order: Order = "score"
    other_tags: tuple[str, ...] = ()

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.documents)

    @cached_property
    def content_hash(self) -> str:
        r"""SHA-256 of what the run says, whatever file, compression or encoding it came in.

        Over these bytes, one after the other: the line `cranfield-run-1\n`; the topic ids, joined by `\n`; the
        number of rows of each topic as little-endian 64-bit integers; the document ids of all rows in canonical
        order, joined by `\n`; the scores as little-endian doubles, with -0.0 written as 0.0. The tag is no part.
        """
        digest = sha256(b"cranfield-run-1\n")
        digest.update("\n".join(self.topic_ids.to_pylist()).encode())
        digest.update(np.diff(self.offsets).astype("<i8").data)
        # The line feed is put before each distinct id once, so that what is gathered is the joined text already.
        led = joined("\n", self.document_ids)

        def gathered(start: int) -> memoryview:
            return joined_text(taken(led, self.documents[start : start + _ROWS_AT_ONCE]))

        starts = range(0, max(self.row_count, 1), _ROWS_AT_ONCE)
        with ThreadPoolExecutor(2) as threads:
            for start, text in zip(
                starts, threads.map(gathered, starts) if len(starts) > 1 else [gathered(0)], strict=True
            ):
                digest.update(text if start else text[1:])
        for start in range(0, self.row_count, _ROWS_AT_ONCE):
            digest.update((self.scores[start : start + _ROWS_AT_ONCE] + 0.0).astype("<f8", copy=False).data)
        return digest.hexdigest()

    def __iter__(self) -> Iterator[tuple[str, list[str], Scores]]:
        """(topic, documents, scores) per topic, best document first."""
        for topic, start, end in zip(self.topic_ids.to_pylist(), self.offsets, self.offsets[1:], strict=False):
            yield (topic, taken(self.document_ids, self.documents[start:end]).to_pylist(), self.scores[start:end])

    def __eq__(self, other: object) -> bool:
        """Whether tag, order and content are the same; the coding of documents does not matter."""
        if not isinstance(other, Run):
            return NotImplemented
        return (self.tag, self.order, self.content_hash) == (other.tag, other.order, other.content_hash)


# Rows put in order.


class Groups(NamedTuple):
    """Rows brought together by topic: `rows` gives the row numbers, topic after topic in byte order of their ids.

    The topic i of the byte order is `topics[i]` as a code and has `rows[offsets[i]:offsets[i + 1]]`. Within a topic
    the rows stand as in the file. `rows` is None where the file itself stands in this order.
    """

    topics: Codes
    offsets: Places
    rows: Places | None


class Ranking(NamedTuple):
    """Rows in canonical order: their numbers (None where the file has that order), and their scores in that order."""

    places: Places | None
    scores: Scores


def ranked(rows: Rows, *, order: Order = "score") -> Run:
    """The run that the rows mean, in canonical order."""
    found = rows.by_score if order == "score" else ranking(rows, order=order)
    return Run(
        tag=rows.name,
        topic_ids=taken(rows.topic_ids, rows.by_topic.topics),
        offsets=rows.by_topic.offsets,
        document_ids=rows.document_ids,
        documents=arranged(rows.documents, found.places),
        scores=found.scores,
        order=order,
        other_tags=tuple(tag for tag, _ in rows.tags[1:]),
    )


def ranking(rows: Rows, *, order: Order) -> Ranking:
    """The rows in one of the three orders; without ranks the order by rank is that of the file."""
    groups = rows.by_topic
    places = groups.rows
    if order == "score":
        scores = arranged(rows.scores, places)
        if within_topics(scores[1:] > scores[:-1], groups.offsets).any():
            places = _sorted(-scores, groups)
            scores = rows.scores[places]
        moved = _by_id_descending(ties(scores, groups.offsets), arranged(rows.documents, places), rows.document_ids)
        if moved is not None:
            places = moved if places is None else places[moved]
        return Ranking(places, scores)
    if order == "rank" and rows.ranks is not None:
        ranks = arranged(rows.ranks, groups.rows)
        places = _sorted(ranks, groups) if within_topics(ranks[1:] < ranks[:-1], groups.offsets).any() else places
    return Ranking(places, arranged(rows.scores, places))


def _sorted(keys: NDArray[Any], groups: Groups) -> Places:
    """The row numbers with each topic sorted by rising key, equal keys as they stood."""
    counts = np.diff(groups.offsets)
    order = np.lexsort((keys, np.repeat(np.arange(len(counts)), counts)))
    return order if groups.rows is None else groups.rows[order]


def within_topics(pairs: Mask, offsets: Places) -> Mask:
    """The pairs of a row and the next one for which something holds, but for those of two topics."""
    pairs[offsets[1:-1] - 1] = False
    return pairs


def arranged(values: NDArray[Value], places: Places | None) -> NDArray[Value]:
    """`values` at some places; None means all of them, as they stand."""
    return values if places is None else values[places]


def _by_id_descending(tied: Mask, documents: Codes, ids: pa.Array) -> Places | None:
    """The permutation that orders tied rows by id, descending; None where no row moves.

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
    rank[distinct[byte_order(taken(ids, distinct))]] = np.arange(len(distinct))
    # One number for each row, by group and then by falling id, is sorted many times faster than two keys are.
    sorting = np.argsort(group * len(ids) - rank[codes], kind="stable")
    if np.array_equal(sorting, np.arange(len(places))):
        return None
    moved = np.arange(len(documents))
    moved[places] = places[sorting]
    return moved


# Documents of a topic with the same score.


def ties(scores: NDArray[Any], offsets: Places) -> Mask:
    """Which rows, but the last, are followed by one of the same topic with the same score."""
    return within_topics(scores[1:] == scores[:-1], offsets)


def _members(tied: Mask) -> Mask:
    members = np.zeros(len(tied) + 1, dtype=bool)
    members[:-1] = tied
    members[1:] |= tied
    return members


def tie_groups(tied: Mask, offsets: Places) -> tuple[int, int]:
    """Count the documents that tie with another of their topic, and the topics that have some."""
    running = running_sum(_members(tied))
    by_topic = running[offsets[1:]] - running[offsets[:-1]]
    return int(by_topic.sum()), int(np.count_nonzero(by_topic))


def ties_only_in_float32(scores: Scores, offsets: Places) -> Mask:
    """The ties of scores as 32-bit floats that hold at least two different doubles, as `ties` gives them."""
    rounded = ties(as_float32(scores), offsets)
    new = rounded & ~ties(scores, offsets)
    if not new.any():
        return new
    group = np.cumsum(~rounded)
    mixed = np.zeros(len(scores) + 1, dtype=bool)
    mixed[group[new]] = True
    rounded &= mixed[group]
    return rounded


def as_float32(scores: Scores) -> NDArray[np.float32]:
    """The scores as 32-bit floats; what is too large becomes infinite, as in C."""
    with np.errstate(over="ignore", under="ignore"):
        return scores.astype(np.float32)


def order_as_float32(run: Run) -> Places | None:
    """The permutation that puts a run into trec_eval 9's order; None where it changes nothing.

    trec_eval 9 compares scores as 32-bit floats, so that scores which differ only beyond that are ties and go by
    document id. Rounding never swaps two scores, and equal doubles are in order already, so only those ties move. A
    run that means its ranks or its file order keeps it.
    """
    if run.order != "score":
        return None
    return _by_id_descending(ties_only_in_float32(run.scores, run.offsets), run.documents, run.document_ids)
