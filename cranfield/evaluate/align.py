"""Qrels and runs brought together, once for all runs: the grade at each rank."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import RESTORE, CollectionError, InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.text import counted
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Sample, crossed, rows_of, strata_of
from cranfield.qrels.qrels import Grades, Qrels, pair_keys
from cranfield.runs.columns import (
    MIXER,
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
from cranfield.runs.run import Run, arranged, as_float32, order_as_float32, ties

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


class TopicCounts(NamedTuple):
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

    `present` tells which runs answered which topics and `scored` which
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

    def counts(self, *, rel: int = 1) -> tuple[TopicCounts, ...]:
        """The topic counts of each run."""
        relevant = self.lists.relevant_count(rel).reshape(self.scored.shape)
        marked = (self.scored, self.scored & ~self.present, self.scored & (relevant == 0))
        scored, missing, nothing = (kind.sum(axis=1).tolist() for kind in marked)
        return tuple(map(TopicCounts, scored, missing, map(len, self.extra_topics), nothing))

    def rows_of(self, runs: Sequence[int]) -> Places:
        """The rows of the lists of some runs."""
        ends = self.lists.offsets[:: max(len(self.topic_ids), 1)]
        return rows_of(ends[runs], np.diff(ends)[runs])

    def chosen(self, runs: Sequence[int]) -> Alignment:
        """The alignment of some runs alone."""
        rows, topics = self.rows_of(runs), len(self.topic_ids)
        return replace(
            self,
            run_names=tuple(self.run_names[run] for run in runs),
            lists=self.lists.chosen(np.add.outer(np.array(runs) * topics, np.arange(topics)).ravel()),
            present=self.present[runs],
            scored=self.scored[runs],
            extra_topics=tuple(self.extra_topics[run] for run in runs),
            tied=self.tied[rows],
            qrels_row=None if self.qrels_row is None else self.qrels_row[rows],
            pair_keys=None if self.pair_keys is None else self.pair_keys[rows],
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
    """Align runs with qrels over a set of topics; `keep_rows` keeps the rows of the qrels beside the grades.

    No document stands twice in a topic of a run: its readers have refused that.
    """
    if not runs:
        raise UsageError("no run to evaluate")
    every = np.arange(len(qrels.topic_ids))
    chosen = every if topics in ("qrels", "run") else _chosen_topics(qrels, runs, topics)
    placed, known = _all_placed(qrels, runs, chosen), runs
    if any(isinstance(run, Run) for run in runs):
        known = known_runs(qrels, runs, reference=reference, keep_keys=keep_rows)
    kept = [*zip(cast("Sequence[KnownRun]", known), [of_run.kept for of_run in placed], strict=True)]
    rows = np.concatenate([run.judged[there] for run, there in kept])
    keys = [run.keys[there] for run, there in kept if keep_rows and run.keys is not None]
    lengths = np.array([of_run.lengths for of_run in placed])
    levels, counts = levels_of(qrels, qrels.topic_of_row, len(qrels.topic_ids))
    lists = Lists(
        grades=np.append(qrels.grades, NOT_POOLED)[rows],  # the last for -1
        offsets=running_sum(lengths.ravel()),
        topics=np.tile(np.arange(len(chosen)), len(runs)),
        levels=levels,
        level_counts=counts[chosen],
        highest_grade=int(levels.max(initial=0)),
        pooled_count=np.diff(qrels.offsets)[chosen],
    )
    if qrels.strata is not None:
        of_row, first, count = strata_of(qrels)
        total = int(count.sum())
        sample = Sample(
            at_rank=np.append(of_row, NOT_POOLED)[rows],
            first=first[chosen],
            count=count[chosen],
            size=np.bincount(of_row, minlength=total),
            level_counts=levels_of(qrels, of_row, total)[1],
        )
        lists = replace(lists, stratified=sample)
    return Alignment(
        run_names=tuple(run.tag for run in runs),
        topic_ids=tuple(taken(qrels.topic_ids, chosen).to_pylist()),
        lists=lists,
        present=lengths > 0,
        scored=lengths > 0 if topics == "run" else np.ones(lengths.shape, dtype=bool),
        extra_topics=tuple(of_run.extra for of_run in placed),
        tied=np.concatenate([run.tied[there] for run, there in kept]),
        qrels_hash=qrels.content_hash,
        reference=reference,
        qrels_row=rows if keep_rows else None,
        pair_keys=np.concatenate(keys) if len(keys) == len(kept) else None,
    )


def known_runs(
    qrels: Qrels, runs: Sequence[AnyRun], *, reference: Reference, keep_keys: bool = False
) -> list[KnownRun]:
    """What the qrels say of the rows of each run.

    Runs that share one array of ids have it looked up once, and all arrays are in one go: the hash of the qrels' ids
    is made anew for every call.
    """
    ids = {id(run.document_ids): as_text(run.document_ids) for run in runs if isinstance(run, Run)}
    found = places_in(qrels.document_ids, pa.concat_arrays(ids.values()))
    codes = dict(zip(ids, np.split(found, np.cumsum([*map(len, ids.values())])[:-1]), strict=True))
    # The first bits of the keys differ; a pair without its topic or document is below 0, and no key.
    table = KeyTable.of(pair_keys(qrels.topic_of_row, qrels.documents).view(np.uint64) * MIXER)

    def known(run: AnyRun) -> KnownRun:
        if isinstance(run, KnownRun):
            return run
        documents = arranged(run.documents, order_as_float32(run)) if reference == "9" else run.documents
        counts, keys, tied = np.diff(run.offsets), None, np.zeros(run.row_count, dtype=bool)
        topics = np.repeat(places_in(qrels.topic_ids, run.topic_ids), counts)
        pairs = pair_keys(topics, codes[id(run.document_ids)][documents])
        judged = table.places(pairs.view(np.uint64) * MIXER)
        if run.order == "score":  # a run that means its own order has no ties
            tied[1:] = ties(as_float32(run.scores) if reference == "9" else run.scores, run.offsets)
        if keep_keys:
            keys = keys_of_pairs(run.topic_ids.to_pylist(), counts, keys_of(ids[id(run.document_ids)])[documents])
        return KnownRun(run.tag, run.tag, run.topic_ids, run.offsets, judged, tied, keys, run.other_tags)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(known, runs))


class _Placed(NamedTuple):
    """Where the rows of a run go.

    `lengths` has one number for each chosen topic, `kept` says which rows of the run those are, and `extra` are its
    topics without qrels.
    """

    lengths: Counts
    kept: Mask | slice
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
        kept = slice(None) if wanted.all() else np.repeat(wanted, counts)
        extra = tuple(names[place].as_py() for place in np.flatnonzero(codes < 0).tolist())
        placed.append(_Placed(per_topic[chosen], kept, extra))
    return placed


def ties_of(tied: Mask, rows: Places) -> tuple[Places, Places]:
    """All rows of the ties that hold one of these rows, which rise, and for each the number of its tie.

    Where all documents of a tie are alike, as unjudged ones mostly are, nobody can tell its orders apart. So only the
    others are looked at, however many ties there are.
    """
    edges = np.flatnonzero(np.diff(tied, append=False))  # before the second row of each tie, and its last row
    first, end = edges[0::2], edges[1::2] + 1
    tie = np.flatnonzero(np.searchsorted(rows, first) < np.searchsorted(rows, end))
    sizes = end[tie] - first[tie]
    return rows_of(first[tie], sizes), np.repeat(np.arange(len(tie)), sizes)


def levels_of(qrels: Qrels, place_of_row: Codes, places: int) -> tuple[Grades, Counts]:
    """The grades from 0 up that occur, rising, and how many documents of each place (topic or stratum) have each."""
    judged = qrels.grades >= 0
    rising = np.sort(qrels.grades[judged])
    levels = rising[np.diff(rising, prepend=-1) != 0]  # np.unique would load masked arrays
    level = np.searchsorted(levels, qrels.grades[judged])
    return levels, crossed(place_of_row[judged], level, (places, len(levels)))


def _chosen_topics(qrels: Qrels, runs: Sequence[AnyRun], topics: TopicSet) -> Places:
    """The places of the topics that all runs have, or of those that are named, in byte order."""
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


# Where pairs stand among known ones, by their keys.

_ROOM = 3
"""A table of keys has 2^3 to 2^4 slots for each, so that few share one."""


class KeyTable(NamedTuple):
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
        are then compared instead. All places are there, and with `clip` numpy does not check that: much faster, as
        `take` is than a choice by a mask.
        """
        known = [column for column, _ in columns] or [self.keys]
        wanted = [column for _, column in columns] or [asked]
        here = found = self.head.take(_slots(asked, len(self.head)), mode="clip")
        rows = np.arange(len(asked))
        while len(rows):
            other = np.zeros(len(rows), dtype=bool)
            for column, values in zip(known, wanted, strict=True):
                other |= column.take(here, mode="clip") != values
            other &= here >= 0
            left = np.flatnonzero(other)
            rows, wanted = rows.take(left), [values.take(left) for values in wanted]
            here = self.following.take(here.take(left), mode="clip")
            found[rows] = here
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
        topics, documents, counts = ranking.topics, ranking.documents, np.diff(ranking.offsets)
        for codes, size in ((documents, self.width), (topics, len(self.lines))):
            if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= size):
                raise CollectionError("a stored run is damaged: it refers to ids that are not in the collection")
        first = np.repeat((self.lines[topics] * self.width).astype(np.int32), counts)
        first += documents
        judged = self.rows.take(first, mode="clip")
        tied: Mask = ranking.tied if has_ties else np.zeros(len(documents), dtype=bool)
        keys = None
        if self.document_keys is not None:
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


# The runs of a collection, as an evaluation needs them.

log = logging.getLogger(__name__)


class RunStore(NamedTuple):
    """How an evaluation reaches the runs of a collection.

    `facts` gives what is known of each run, `find` that of one, or an error that says why there is none; `ids` all
    ids of topics and of documents, in the order of their codes; `fetch` a ranking as it is stored.
    """

    facts: Callable[[], Iterable[Any]]
    find: Callable[[str], Any]
    ids: Callable[[], tuple[pa.Array, pa.Array]]
    fetch: Callable[[str], Any]


class StoredRuns:
    """The runs of a collection; their ids are read once, so that all runs share them.

    Where `judged` gives qrels, a run is only matched against these, and its ids and scores are not decoded. It is
    called when the first run is decoded: until then the qrels may still be being read in another thread.
    """

    def __init__(
        self, stored: RunStore | None, judged: Callable[[], Qrels | None] | None = None, *, keep_keys: bool = False
    ) -> None:
        self._stored: Any = stored
        self._judged, self._keep_keys = judged, keep_keys
        self._facts = {} if stored is None else {facts.name: facts for facts in stored.facts()}
        self._topic_ids: dict[bytes, pa.Array] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    @cached_property
    def _ids(self) -> tuple[pa.Array, pa.Array]:
        return self._stored.ids()  # type: ignore[no-any-return]

    @cached_property
    def _pairs(self) -> CodedPairs | None:
        qrels = None if self._judged is None else self._judged()
        return None if qrels is None else coded_pairs(qrels, *self._ids, keep_keys=self._keep_keys)

    def fetched(self, name: str) -> Callable[[], AnyRun]:
        """Fetch the stored bytes of a run; the function that is returned decodes them, in any thread."""
        log.info("fetching the stored run %s", name)
        _ = self._ids  # read here: SQLite stays in this thread
        return partial(self._decoded, name, self._stored.fetch(name))

    def _decoded(self, name: str, stored: Any) -> AnyRun:
        ordered_by = self._facts[name].ordered_by
        try:
            if self._pairs is not None:
                known = stored.order()
                return self._pairs.known(known, self._named(known.topics), name=name, has_ties=ordered_by == "score")
            coded = stored.run()
            topics, documents = self._named(coded.topics), self._ids[1]
            return Run(name, topics, coded.offsets, documents, coded.documents, coded.scores, ordered_by)
        except CollectionError as error:
            remedy = f"cranfield check lists all damage; {RESTORE}, or withdraw the run and submit it again"
            problem = Problem("damaged-run", f"{error} ({quoted(name)})", remedy=remedy)
            raise ProblemsFound(f"run {quoted(name)} cannot be read", [problem]) from None

    def _named(self, topics: Codes) -> pa.Array:
        """The ids of topics; runs with the same topics share one array."""
        key = topics.tobytes()
        if key not in self._topic_ids:
            self._topic_ids[key] = taken(self._ids[0], topics)
        return self._topic_ids[key]
