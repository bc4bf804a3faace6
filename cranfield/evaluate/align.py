"""Qrels and runs brought together, once for all runs: the grade at each rank."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import CollectionError, InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.text import counted
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Sample, strata_of
from cranfield.qrels.qrels import Grades, Qrels
from cranfield.runs.columns import (
    Codes,
    Keys,
    Mask,
    Places,
    as_text,
    keys_of,
    keys_of_pairs,
    places_in,
    running_sum,
    taken,
)
from cranfield.runs.encoding import CodedOrder
from cranfield.runs.run import Run, arranged, as_float32, matrix_of, order_as_float32, ties, worth_a_matrix

# A run of which is known only where its rows stand in the qrels.


@dataclass(frozen=True, eq=False)
class KnownRun:
    """A run of which is known only where its rows stand in the qrels: `judged` are rows of theirs, -1 for none.

    Topics are in byte order, each from best to worst with ties as the reference breaks them, and no document stands
    twice: whoever makes one has seen to that. The tags are those of the first and the last line, and `other_tags`
    those that were seen beside the first. `tied` says of each row whether it ties with the row above, in its topic.
    `keys` are those of the pairs of topic and document, where they are kept.
    """

    tag: str
    last_tag: str
    topic_ids: pa.Array
    offsets: Places
    judged: Codes
    tied: Mask
    keys: Keys | None = None
    other_tags: tuple[str, ...] = ()


AnyRun = Run | KnownRun


Reference = Literal["10", "9"]
"""The version of trec_eval whose order of equal scores is used: scores as doubles (10) or as 32-bit floats (9)."""

TopicSet = Literal["qrels", "common", "run"] | Sequence[str]
"""Which topics count: all of the qrels, those every run has, those the run itself has, or the ones named."""

_NAMES_SHOWN = 5
LARGEST_TABLE = 1 << 24
THREADS = 2
_PIECE = 1 << 16
"""So many rows are looked up at once: what numpy makes of their numbers stays in the cache."""


@dataclass(frozen=True)
class TopicCounts:
    """How many topics stand behind a run's mean, and why not others.

    `scored` go into the mean; of these `missing` have no document of the run (they score 0) and `nothing_relevant`
    no relevant document in the qrels; `extra` are topics of the run without qrels, left out.
    """

    scored: int
    missing: int
    extra: int
    nothing_relevant: int


@dataclass(frozen=True, eq=False)
class Alignment:
    """All runs held against the qrels. The cell of run r and topic t is number r * (number of topics) + t.

    `shape` is the number of runs and of topics. `present` tells which runs answered which topics and `scored` which
    cells go into a mean, both as runs by topics. `tied` says of each row of the lists whether it has the score of the
    row above, in the same list, and `qrels_row` which row of the qrels it is, -1 for none; None where it was not
    requested. `pair_keys` are 64-bit numbers for the pair of topic and document of each row, the same in all runs;
    None where not all runs have them.
    """

    run_names: tuple[str, ...]
    topic_ids: tuple[str, ...]
    lists: Lists
    present: Mask
    scored: Mask
    extra_topics: tuple[tuple[str, ...], ...]
    tied: Mask
    qrels_hash: str = ""
    reference: Reference = "10"
    qrels_row: Codes | None = None
    pair_keys: Keys | None = None

    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (len(self.run_names), len(self.topic_ids)))

    def counts(self, *, rel: int = 1) -> tuple[TopicCounts, ...]:
        """The topic counts of each run."""
        relevant = self.lists.relevant_count(rel).reshape(self.shape)
        marked = (self.scored, self.scored & ~self.present, self.scored & (relevant == 0))
        numbers = zip(*(kind.sum(axis=1).tolist() for kind in marked), self.extra_topics, strict=True)
        return tuple(
            TopicCounts(scored=scored, missing=missing, extra=len(extra), nothing_relevant=nothing)
            for scored, missing, nothing, extra in numbers
        )


def strangers(alignment: Alignment) -> list[str]:
    """Which runs have nothing in common with the qrels: their scores would be zeros that mean nothing."""
    lists = alignment.lists
    ends = lists.offsets[:: max(len(alignment.topic_ids), 1)]
    said = []
    for run, name in enumerate(alignment.run_names):
        if not alignment.present[run].any():
            said.append(f"run {quoted(name)} has none of the topics")
        elif not (lists.grades[ends[run] : ends[run + 1]] != NOT_POOLED).any():
            said.append(f"run {quoted(name)} has none of the documents")
    return said


def align(
    qrels: Qrels,
    runs: Sequence[AnyRun],
    *,
    topics: TopicSet = "qrels",
    reference: Reference = "10",
    keep_rows: bool = False,
) -> Alignment:
    """Align runs with qrels over a set of topics; `keep_rows` keeps the rows of the qrels beside the grades."""
    if not runs:
        raise UsageError("no run to evaluate")
    ordinary = [run for run in runs if isinstance(run, Run)]
    with ThreadPoolExecutor(THREADS) as threads:
        suspects = [run for run, may in zip(ordinary, threads.map(_may_repeat, ordinary), strict=True) if may]
    problems = [problem for run in suspects if (problem := first_repeat(run)) is not None]
    if problems:  # every score of such a run would be wrong
        raise ProblemsFound("these runs cannot be evaluated", problems)
    chosen = _chosen_topics(qrels, runs, topics)
    placed = _all_placed(qrels, runs, chosen)
    look_up = partial(at_each_rank, qrels=qrels, runs=runs, chosen=chosen, reference=reference, placed=placed)
    rows = look_up(None) if keep_rows else None
    keys: list[Keys | None] = [None]
    if keep_rows:
        keys = [_pair_keys(run, of_run, reference) for run, of_run in zip(runs, placed, strict=True)]
    grades = look_up(qrels.grades) if rows is None else np.append(qrels.grades, NOT_POOLED)[rows]
    levels, counts = levels_of(qrels)
    lists = Lists(
        grades=grades,
        offsets=running_sum(np.concatenate([rows.lengths for rows in placed])),
        topics=np.tile(np.arange(len(chosen)), len(runs)),
        levels=levels,
        level_counts=counts[chosen],
        highest_grade=int(levels.max(initial=0)),
        pooled_count=np.diff(qrels.offsets)[chosen],
    )
    if qrels.strata is not None:
        strata = strata_of(qrels)
        total, judged = int(strata.count.sum()), qrels.grades >= 0
        level = np.searchsorted(levels, qrels.grades[judged])
        cells = strata.of_row[judged].astype(np.int64) * len(levels) + level
        drawn = np.bincount(cells, minlength=total * len(levels))
        sample = Sample(
            at_rank=look_up(strata.of_row),
            first=strata.first[chosen],
            count=strata.count[chosen],
            size=np.bincount(strata.of_row, minlength=total),
            level_counts=drawn.reshape(total, len(levels)),
        )
        lists = replace(lists, stratified=sample)
    present = np.array([rows.lengths > 0 for rows in placed])
    return Alignment(
        run_names=tuple(run.tag for run in runs),
        topic_ids=tuple(taken(qrels.topic_ids, chosen).to_pylist()),
        lists=lists,
        present=present,
        scored=present.copy() if topics == "run" else np.ones_like(present),
        extra_topics=tuple(rows.extra for rows in placed),
        tied=np.concatenate([_tied(run, rows, reference) for run, rows in zip(runs, placed, strict=True)]),
        qrels_hash=qrels.content_hash,
        reference=reference,
        qrels_row=rows,
        pair_keys=None if any(one is None for one in keys) else np.concatenate(keys),  # type: ignore[arg-type]
    )


def _pair_keys(run: AnyRun, placed: _Placed, reference: Reference) -> Keys | None:
    """The keys of the pairs of topic and document of each kept row; None where they are not known."""
    if isinstance(run, KnownRun):
        keys = run.keys
    else:
        known = keys_of(as_text(run.document_ids))[_ordered_documents(run, reference)]
        keys = keys_of_pairs(run.topic_ids.to_pylist(), np.diff(run.offsets), known)
    return keys if keys is None or placed.kept is None else keys[placed.kept]


def at_each_rank(
    values: Codes | None,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    *,
    chosen: Places,
    reference: Reference,
    placed: list[_Placed] | None = None,
) -> Codes:
    """For each row of the lists what `values` say of its row of the qrels, NOT_POOLED where it has none.

    Without values which row that is, -1 for none.
    """
    of_row, none = (np.arange(len(qrels), dtype=np.int32), np.int32(-1)) if values is None else (values, NOT_POOLED)
    parts_of = placed or _all_placed(qrels, runs, chosen)
    ends = np.cumsum([int(rows.counts.sum()) for rows in parts_of])
    found = np.empty(int(ends[-1]), dtype=np.int32)
    parts = np.split(found, ends[:-1])
    value_of_row = np.concatenate([[none], of_row]).astype(np.int32, copy=False)
    # Values by topic and document: a dense table if that is small, else one row of it, filled anew for each topic.
    code_of = _document_codes(qrels, [run for run in runs if isinstance(run, Run)])
    width = len(qrels.document_ids) + 1
    is_small = len(qrels.topic_ids) * width <= LARGEST_TABLE
    shape = (len(qrels.topic_ids) if is_small else 1, width if code_of else 0)
    table = np.full(shape, none, dtype=np.int32)
    if is_small and code_of:
        table[qrels.topic_of_row, qrels.documents] = of_row

    def fill(number: int) -> None:
        run, rows, out = runs[number], parts_of[number], parts[number]
        if isinstance(run, KnownRun):
            judged = run.judged if rows.kept is None else run.judged[rows.kept]
            for start in range(0, len(judged), _PIECE):
                piece = slice(start, start + _PIECE)
                value_of_row.take(judged[piece] + 1, out=out[piece], mode="clip")
            return
        documents = _ordered_documents(run, reference)
        kept = documents if rows.kept is None else documents[rows.kept]
        known = code_of[id(run.document_ids)].take(kept, mode="clip")
        if is_small:
            known += np.repeat((rows.topics * width).astype(np.int32), rows.counts)
            table.ravel().take(known, out=out, mode="clip")
            return
        ends = np.cumsum(rows.counts)
        for topic, start, end in zip(rows.topics.tolist(), ends - rows.counts, ends, strict=True):
            own = slice(qrels.offsets[topic], qrels.offsets[topic + 1])
            table[0, qrels.documents[own]] = of_row[own]
            table[0].take(known[start:end], out=out[start:end], mode="clip")
            table[0, qrels.documents[own]] = none

    with ThreadPoolExecutor(THREADS if is_small else 1) as threads:  # one row of a table serves one thread
        list(threads.map(fill, range(len(runs))))
    return found


@dataclass(frozen=True, eq=False)
class _Placed:
    """Where the rows of a run go.

    `lengths` has one number for each chosen topic; `topics` and `counts` tell the topics that the run has, as places
    in the qrels, and their rows; `kept` which rows of the run those are (None for all).
    """

    lengths: Counts
    topics: Codes
    counts: Counts
    kept: Mask | None
    extra: tuple[str, ...]


def _all_placed(qrels: Qrels, runs: Sequence[AnyRun], chosen: Places) -> list[_Placed]:
    """Where the rows of each run go; topics that several runs share as one array are looked up once."""
    is_chosen = np.zeros(len(qrels.topic_ids) + 1, dtype=bool)  # the place after the last, -1, is no topic
    is_chosen[chosen] = True
    known: dict[int, Codes] = {}
    placed = []
    for run in runs:
        names = run.topic_ids
        if id(names) not in known:
            known[id(names)] = places_in(qrels.topic_ids, names)
        codes, counts = known[id(names)], np.diff(run.offsets)
        wanted = is_chosen[codes]
        per_topic = np.zeros(len(is_chosen) - 1, dtype=np.int64)
        per_topic[codes[wanted]] = counts[wanted]
        kept = None if wanted.all() else np.repeat(wanted, counts)
        extra = tuple(names[place].as_py() for place in np.flatnonzero(codes < 0).tolist())
        placed.append(_Placed(per_topic[chosen], codes[wanted], counts[wanted], kept, extra))
    return placed


def _tied(run: AnyRun, placed: _Placed, reference: Reference) -> Mask:
    """Of each kept row whether it ties with the row above; a run that means its own order has no ties."""
    if isinstance(run, KnownRun):
        tied = run.tied
    else:
        tied = np.zeros(run.row_count, dtype=bool)
        if run.order == "score":
            tied[1:] = ties(as_float32(run.scores) if reference == "9" else run.scores, run.offsets)
    return tied if placed.kept is None else tied[placed.kept]


def ties_of(tied: Mask, rows: Places) -> tuple[Places, Places]:
    """All rows of the ties that hold one of these rows, which rise, and for each the number of its tie.

    Where all documents of a tie are alike, as unjudged ones mostly are, nobody can tell its orders apart. So only the
    others are looked at, however many ties there are.
    """
    edges = np.flatnonzero(np.diff(tied, append=False))  # before the second row of each tie, and its last row
    first, end = edges[0::2], edges[1::2] + 1
    tie = np.flatnonzero(np.searchsorted(rows, first) < np.searchsorted(rows, end))
    sizes = end[tie] - first[tie]
    starts = np.cumsum(sizes) - sizes
    return np.repeat(first[tie] - starts, sizes) + np.arange(sizes.sum()), np.repeat(np.arange(len(tie)), sizes)


def levels_of(qrels: Qrels) -> tuple[Grades, Counts]:
    """The grades from 0 up that occur, rising, and how many documents of each topic have each."""
    judged = qrels.grades >= 0
    rising = np.sort(qrels.grades[judged])
    levels = rising[np.diff(rising, prepend=-1) != 0]  # np.unique would load masked arrays
    level = np.searchsorted(levels, qrels.grades[judged])
    cells = qrels.topic_of_row[judged].astype(np.int64) * len(levels) + level
    counts = np.bincount(cells, minlength=len(qrels.topic_ids) * len(levels))
    return levels, counts.reshape(len(qrels.topic_ids), len(levels))


def _chosen_topics(qrels: Qrels, runs: Sequence[AnyRun], topics: TopicSet) -> Places:
    """The places of the topics that count, in byte order."""
    if topics in ("qrels", "run"):
        return np.arange(len(qrels.topic_ids))
    if topics == "common":
        wanted = set(qrels.topics).intersection(*(run.topic_ids.to_pylist() for run in runs))
        if not wanted:
            raise InputError("no topic of the qrels is in every run")
    else:
        wanted = set(topics)
        if not wanted:
            raise InputError("no topic selected")
        unknown = sorted(wanted.difference(qrels.topics))
        if unknown:
            shown = ", ".join(quoted(topic) for topic in unknown[:_NAMES_SHOWN])
            raise InputError(f"{counted(len(unknown), 'topic')} without qrels: {shown}")
    return np.array([place for place, topic in enumerate(qrels.topics) if topic in wanted], dtype=np.int64)


def _may_repeat(run: Run) -> bool:
    """Whether a document may stand twice in a topic, quickly: lists of about one length are sorted together."""
    counts = np.diff(run.offsets)
    if not worth_a_matrix(counts):
        return True
    matrix = matrix_of(run.documents, counts, fill=np.int32(-1))
    matrix.sort(axis=1)
    return bool(((matrix[:, 1:] == matrix[:, :-1]) & (matrix[:, 1:] >= 0)).any())


def first_repeat(run: Run) -> Problem | None:
    """Find a document that stands twice in a topic; a stamp per document makes it one pass without sorting."""
    stamp = np.empty(len(run.document_ids), dtype=np.int64)
    for topic, (start, end) in enumerate(zip(run.offsets[:-1], run.offsets[1:], strict=True)):
        documents = run.documents[start:end]
        places = np.arange(start, end)
        stamp[documents] = places
        again = stamp[documents] != places
        if again.any():
            document = run.document_ids[int(documents[again][0])].as_py()
            name = run.topic_ids[topic].as_py()
            message = f"run {quoted(run.tag)} ranks {quoted(document)} more than once for topic {quoted(name)}"
            return Problem("repeated-document", message, topic=name, remedy="keep one row of each document")
    return None


def _document_codes(qrels: Qrels, runs: Sequence[Run]) -> dict[int, Codes]:
    """For each array of ids the qrels code of each id; one past the last where the qrels lack it.

    Runs that share one array of ids are looked up once, and many arrays in one go: the hash of the qrels' ids is made
    anew for every call.
    """
    distinct = {id(run.document_ids): run.document_ids for run in runs}
    parts = [as_text(ids) for ids in distinct.values()]
    shares = [parts[start::THREADS] for start in range(min(THREADS, len(parts)))]

    def look_up(arrays: list[pa.Array]) -> list[Codes]:
        codes = places_in(qrels.document_ids, pa.concat_arrays(arrays))
        codes = np.where(codes < 0, np.int32(len(qrels.document_ids)), codes)
        return np.split(codes, np.cumsum([len(ids) for ids in arrays])[:-1])

    with ThreadPoolExecutor(THREADS) as threads:
        looked_up = list(threads.map(look_up, shares))
    in_turn = [looked_up[place % len(shares)][place // len(shares)] for place in range(len(parts))]
    return dict(zip(distinct, in_turn, strict=True))


# Where pairs stand among known ones, by their keys.

_ROOM = 3
"""A table of keys has 2^3 to 2^4 slots for each, so that few share one."""


@dataclass(frozen=True, eq=False)
class KeyTable:
    """Where keys stand among known ones: a table of slots, each with a place, from which others may follow."""

    keys: Keys
    head: Codes
    following: Codes

    @staticmethod
    def of(keys: Keys) -> KeyTable:
        """The table of known keys."""
        head = np.full(1 << (len(keys).bit_length() + _ROOM), -1, dtype=np.int32)
        order = np.argsort(keys).astype(np.int32)  # and so by slots, the first bits of the keys
        slots = _slots(keys[order], len(head))
        together = slots[1:] == slots[:-1]
        following = np.full(len(order), -1, dtype=np.int32)
        following[order[:-1][together]] = order[1:][together]
        first = np.concatenate([np.ones(min(len(order), 1), dtype=bool), ~together])
        head[slots[first]] = order[first]
        return KeyTable(keys, head, following)

    def places(self, asked: Keys, columns: Sequence[tuple[NDArray[Any], NDArray[Any]]] = ()) -> Codes:
        """The place of each key, -1 where it is not known.

        Keys that are equal may stand for different things: `columns`, of the known ones and of those asked for,
        are then compared instead. All places are there, and with `clip` numpy does not check that: much faster.
        """
        columns = columns or [(self.keys, asked)]
        found = self.head.take(_slots(asked, len(self.head)), mode="clip")
        rows = np.flatnonzero(found >= 0)
        while len(rows):
            here = found.take(rows, mode="clip")
            other = np.zeros(len(rows), dtype=bool)
            for known, wanted in columns:
                other |= known.take(here, mode="clip") != wanted.take(rows, mode="clip")
            going_on = self.following[here[other]]
            rows = rows[other]
            found[rows] = going_on
            rows = rows[going_on >= 0]
        return found


def _slots(keys: Keys, count: int) -> Places:
    """The slot of each key among `count`, a power of two: its first bits."""
    return (keys >> np.uint64(64 - (count.bit_length() - 1))).view(np.int64)


# The short way from a stored ranking to what the qrels say of it: codes of the collection lead to their rows.

NONE = -1


@dataclass(frozen=True, eq=False)
class CodedPairs:
    """The pairs of qrels in the codes of a collection.

    `rows` has a row of the qrels for each topic of theirs and each document of the collection, -1 where they have
    none, and one more line of -1 for all other topics; `lines` tells the line of each topic code of the collection.
    """

    rows: Codes
    lines: Codes
    width: int
    document_keys: Keys | None = None

    def known(self, ranking: CodedOrder, topic_ids: pa.Array, *, name: str, has_ties: bool) -> KnownRun:
        """What is known of a ranking; without ties it means its own order. A stored run repeats no document."""
        topics, documents = ranking.topics, ranking.documents
        for codes, size in ((documents, self.width), (topics, len(self.lines))):
            if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= size):
                raise CollectionError("a stored run is damaged: it refers to ids that are not in the collection")
        first = np.repeat((self.lines[topics] * self.width).astype(np.int32), np.diff(ranking.offsets))
        first += documents
        judged = self.rows.take(first, mode="clip")
        tied: Mask = ranking.tied if has_ties else np.zeros(len(documents), dtype=bool)
        keys = None
        if self.document_keys is not None:
            counts = np.diff(ranking.offsets)
            keys = keys_of_pairs(topic_ids.to_pylist(), counts, self.document_keys.take(documents, mode="clip"))
        return KnownRun(name, name, topic_ids, ranking.offsets, judged, tied, keys)


def coded_pairs(
    qrels: Qrels, topic_ids: pa.Array, document_ids: pa.Array, *, keep_keys: bool = False
) -> CodedPairs | None:
    """The pairs of qrels in codes: places in the ids of a collection. None where the table is too large."""
    topics, width = len(qrels.topic_ids), len(document_ids)
    if (topics + 1) * width > LARGEST_TABLE:
        return None
    document = places_in(document_ids, qrels.document_ids)[qrels.documents]
    lines = places_in(qrels.topic_ids, topic_ids)
    rows = np.full((topics + 1) * width, NONE, dtype=np.int32)
    there = np.flatnonzero(document >= 0)
    rows[qrels.topic_of_row[there].astype(np.int64) * width + document[there]] = there
    keys = keys_of(as_text(document_ids)) if keep_keys else None
    return CodedPairs(rows, np.where(lines < 0, np.int32(topics), lines), width, keys)


# The documents of one ranked list, by their ids.


def documents_of(run: Run, topic: str) -> list[str]:
    """The documents of a topic, best first."""
    topics = run.topic_ids.to_pylist()
    if topic not in topics:
        return []
    place = topics.index(topic)
    chosen = run.documents[run.offsets[place] : run.offsets[place + 1]]
    return list(run.document_ids.take(pa.array(chosen)).to_pylist())


def _ordered_documents(run: Run, reference: Reference) -> Codes:
    """The documents of all topics, best first, as the reference compares scores."""
    return arranged(run.documents, order_as_float32(run)) if reference == "9" else run.documents
