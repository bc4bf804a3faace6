"""A ranking as columns: `Rows` as a file has them, `Run` in the one canonical order."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import Problem, quoted
from cranfield.base.files import Source
from cranfield.base.tables import Fault, Schema, read_list

try:
    from pyarrow._compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function
except ImportError:  # a version that keeps them elsewhere
    from pyarrow.compute import ArraySortOptions, CastOptions, JoinOptions, SetLookupOptions, call_function

if TYPE_CHECKING:
    from cranfield.runs.order import Groups, Ranking

TEXT = pa.large_string()
"""The type of all ids."""


# Line numbers of rows, without keeping one number per row.


@dataclass(frozen=True, eq=False)
class LineNumbers:
    """Where the rows of a file stand in it: on every line but the `skipped` ones.

    `skipped` holds line numbers (from 1, rising) that gave no row: blank lines, refused lines, a header. Row i
    (from 0) then stands on the line i + 1 + k, where k skipped lines lie before it. An ordinary file has none,
    and its line numbers cost nothing.
    """

    skipped: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the line numbers of some rows."""
        rows_before = self.skipped - np.arange(1, len(self.skipped) + 1)
        return np.asarray(rows + 1 + np.searchsorted(rows_before, rows, side="right"), dtype=np.int64)

    def at(self, row: int) -> int:
        """Give the line number of one row."""
        return int(self.of(np.array([row], dtype=np.int64))[0])

    def without(self, lines: NDArray[np.int64]) -> LineNumbers:
        """Give the numbering after the rows on these lines were taken out."""
        return LineNumbers(np.union1d(self.skipped, lines).astype(np.int64))


Order = Literal["score", "rank", "file"]
Codes = NDArray[np.int32]
Scores = NDArray[np.float64]
Places = NDArray[np.int64]

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
    are the distinct tags with the first line of each.
    """

    topic_ids: pa.Array
    topics: Codes
    document_ids: pa.Array
    documents: Codes
    scores: Scores
    ranks: Places | None
    tags: tuple[tuple[str, int], ...] = ()
    lines: LineNumbers = field(default_factory=LineNumbers)
    problems: tuple[Problem, ...] = ()
    source_name: str = ""
    source_stem: str = ""
    file_sha256: str = ""

    def __len__(self) -> int:
        return len(self.scores)

    def only(self, kept: Places) -> Rows:
        """Give some of the rows (their numbers rise), with their line numbers and without ids that no row uses."""
        from cranfield.runs.columns import used_only

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
        """The rows of each topic together, as `order.grouped` gives them; found once."""
        from cranfield.runs.order import grouped

        return grouped(self)

    @cached_property
    def by_score(self) -> Ranking:
        """The rows in order of score, as `order.ranking` gives them; found once."""
        from cranfield.runs.order import ranking

        return ranking(self, order="score")

    @property
    def name(self) -> str:
        """What the run is called: its first tag, or the file's name where the format carries no tag."""
        return self.tags[0][0] if self.tags else self.source_stem


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

    @property
    def depth(self) -> int:
        """The length of the longest list."""
        return int(np.diff(self.offsets).max(initial=0))

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
        led = joined("\n", self.document_ids, between="")

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
        """Give (topic, documents, scores) per topic, best document first."""
        for topic, start, end in zip(self.topic_ids.to_pylist(), self.offsets, self.offsets[1:], strict=False):
            yield (
                topic,
                taken(self.document_ids, self.documents[start:end]).to_pylist(),
                self.scores[start:end],
            )

    def __eq__(self, other: object) -> bool:
        """Whether tag, order and content are the same; the coding of documents does not matter."""
        if not isinstance(other, Run):
            return NotImplemented
        return (self.tag, self.order, self.content_hash) == (other.tag, other.order, other.content_hash)

    def __hash__(self) -> int:
        return hash((self.tag, self.order, self.content_hash))


def joined_text(values: pa.Array) -> memoryview:
    """Give the bytes of all strings of a large string array, one directly after the other, without a copy."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    return memoryview(data if data is not None else b"")[int(ends[0]) : int(ends[-1])]


# Lists of about the same length as the rows of a matrix, which numpy sorts all at once, each within the cache.

_SMALL = 1024


def worth_a_matrix(counts: NDArray[np.int64]) -> bool:
    """Say whether lists of these lengths fill a matrix at least by half."""
    return int(counts.max(initial=0)) * len(counts) <= 2 * int(counts.sum()) + _SMALL


def matrix_of(values: NDArray[Any], counts: NDArray[np.int64], *, fill: np.generic) -> NDArray[Any]:
    """Give one row per list, short ones filled up at the end. The matrix is always a copy."""
    depth = int(counts.max(initial=0))
    if len(values) == depth * len(counts):
        return values.reshape(len(counts), depth).copy()
    matrix = np.full((len(counts), depth), fill, dtype=values.dtype)
    matrix[inside(counts)] = values
    return matrix


def inside(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each place of the matrix whether it belongs to its list."""
    return np.asarray(np.arange(int(counts.max(initial=0))) < counts[:, None])


# Who the runs of bare files belong to: a tab-separated file of run tag, group, and `pooled` or `new`.

ROLES = ("pooled", "new")
_REMEDY = "write run tag, group and pooled or new on each line, with tabs between them"
_GROUPS = Schema(
    {"run": (), "group": (), "role": ()},
    (
        Fault("empty", "the file names no run", _REMEDY),
        Fault("bad-row", f"not a run tag, a tab, a group, a tab and {' or '.join(ROLES)}", _REMEDY),
        Fault("unknown-role", f"a run is {' or '.join(ROLES)}", _REMEDY),
        Fault("repeated-run", "a run is named twice", _REMEDY),
    ),
    needed=("run", "group", "role"),
    comment="#",
    wording="{meaning}{seen}{often}",
)


@dataclass(frozen=True, slots=True)
class Member:
    """A run, the group it belongs to, and whether it was in the pool."""

    run: str
    group: str
    pooled: bool


def read_groups(source: Source) -> tuple[Member, ...]:
    """Read a file of groups, in its order; blank lines and lines that begin with # are passed over.

    Everything that is wrong with it is told at once, with lines.
    """
    members: dict[str, Member] = {}
    table = read_list(source, _GROUPS)
    for line, run, group, role in table:
        if role not in ROLES:
            meaning = f"a run is {' or '.join(ROLES)}, not {quoted(role)}"
            table.findings.add("unknown-role", [line], meaning=meaning)
        elif run in members:
            table.findings.add("repeated-run", [line], meaning=f"run {quoted(run)} is named twice")
        else:
            members[run] = Member(run, group, role == "pooled")
    table.refuse("these groups cannot be used")
    return tuple(members.values())


# What Arrow computes on columns, for the paths that every evaluation takes.
#
# `pyarrow.compute` writes the documentation of its 290 functions each time it is loaded, most methods of arrays load
# it, and `pa.array` of numpy's numbers loads numpy's masked arrays: a tenth of a short command. The same functions
# are reached by their names through the one call behind all of them, and nothing of that is loaded.


def column_of(values: NDArray[Any]) -> pa.Array:
    """Give numbers as an Arrow array, without a copy."""
    kept = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(kept)])


def taken(values: pa.Array, places: NDArray[np.integer]) -> pa.Array:
    """Give the values at some places, in that order."""
    return call_function("take", [values, column_of(places)])


def as_text(values: pa.Array) -> pa.Array:
    """Give strings in the type that all ids have."""
    return values if values.type == TEXT else call_function("cast", [values], CastOptions.safe(TEXT))


def as_numbers(texts: pa.Array) -> pa.Array:
    """Read strings as doubles; one that is no number is an `ArrowInvalid`."""
    return call_function("cast", [texts], CastOptions.safe(pa.float64()))


def as_digits(numbers: NDArray[np.integer]) -> pa.Array:
    """Give whole numbers in decimal digits."""
    return call_function("cast", [column_of(numbers)], CastOptions.safe(TEXT))


def byte_order(ids: pa.Array) -> NDArray[np.uint64]:
    """Give the places of ids in the order of their bytes."""
    words = as_text(ids)
    found = call_function("array_sort_indices", [words.view(pa.large_binary())], ArraySortOptions())
    order: NDArray[np.uint64] = found.to_numpy()
    return order


def places_in(known: pa.Array, ids: pa.Array) -> NDArray[np.int32]:
    """Give the place of each id among the known ones, -1 where it is not there."""
    found = call_function("index_in", [as_text(ids)], SetLookupOptions(value_set=as_text(known)))
    if found.null_count:
        found = call_function("coalesce", [found, pa.scalar(-1, pa.int32())])
    return np.array(found.to_numpy(), dtype=np.int32)


def equal(first: pa.Array, second: pa.Array) -> NDArray[np.bool_]:
    """Say row by row whether two columns of strings, without nulls, are the same."""
    return np.asarray(call_function("equal", [first, second]).to_numpy(zero_copy_only=False), dtype=bool)


def coded(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column as codes into its distinct values; the last chunk knows them all. An empty one has no chunk."""
    return call_function("dictionary_encode", [values])


def joined(*words: pa.Array | str, between: str) -> pa.Array:
    """Join columns of strings row by row; a single string stands in every row."""
    parts = [pa.scalar(word, TEXT) if isinstance(word, str) else as_text(word) for word in words]
    return call_function("binary_join_element_wise", [*parts, pa.scalar(between, TEXT)], JoinOptions())


def lengths_of(words: pa.Array) -> NDArray[np.integer]:
    """Give the length of each string in bytes."""
    is_large = pa.types.is_large_string(words.type) or pa.types.is_large_binary(words.type)
    ends = np.frombuffer(words.buffers()[1] or b"", dtype=np.int64 if is_large else np.int32)
    return np.diff(ends[words.offset : words.offset + len(words) + 1])


def named(ids: pa.Array, codes: NDArray[np.integer]) -> list[str]:
    """Give the ids that some codes stand for."""
    return list(taken(ids, codes).to_pylist())
