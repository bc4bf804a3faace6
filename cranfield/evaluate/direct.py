"""The short way from an ordinary run file to its grades: no ids are kept, only what the qrels say of each row.

A file is ordinary if each line has six columns with one blank (or one tab) between them, each topic stands in one
piece with its scores falling, and no document stands twice in a topic. Whatever else a file is, it takes the long
way through `cranfield.runs`, which tells what is wrong with it; both ways give the same grades.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.evaluate.align import KnownRun, Reference
from cranfield.qrels.qrels import Qrels
from cranfield.runs.blocks import blocks
from cranfield.runs.keys import Keys, keys_of
from cranfield.runs.order import as_float32, ties
from cranfield.runs.regular import Block, surveyed
from cranfield.runs.run import Codes, Places, Scores
from cranfield.source import Source

_COLUMNS = ("topic", "iteration", "document", "rank", "score", "tag")
_TYPES = {"topic": pa.dictionary(pa.int32(), pa.string()), "document": pa.string(), "score": pa.float64()}
_BLANK, _PIECE, _THREADS = 32, 1 << 18, 2
_MIXER = np.uint64(0xD6E8FEB86659FD93)


@dataclass(frozen=True, eq=False)
class DirectRows:
    """The rows of an ordinary file, in its order: topic blocks, documents as text, scores. Tags of both ends."""

    topic_ids: pa.Array
    starts: Places
    documents: pa.ChunkedArray
    scores: Scores
    first_tag: str
    last_tag: str

    @property
    def offsets(self) -> Places:
        """Where the topics of the file begin, and the end."""
        return np.append(self.starts, len(self.scores))


def read_direct(source: Source) -> DirectRows | None:
    """Read an ordinary TREC run; None where the file is anything else."""
    tables: list[pa.Table] = []
    first = last = b""
    for block in blocks(source):
        table = _parsed(block)
        if table is None:
            return None
        tables.append(table)
        first, last = first or _line(block, first=True), _line(block, first=False)
    if not tables:
        return None
    return _ordinary(pa.concat_tables(tables), first, last)


def known_runs(found: Sequence[DirectRows], qrels: Qrels, *, reference: Reference = "10") -> "list[KnownRun]":
    """Give the runs that rows mean, with documents as codes of the qrels; ties are broken as the reference does."""
    shares = [list(found[start::_THREADS]) for start in range(min(_THREADS, len(found)))]
    with ThreadPoolExecutor(_THREADS) as threads:
        made = list(threads.map(lambda share: _known(share, qrels, reference), shares))
    return [made[place % len(shares)][place // len(shares)] for place in range(len(found))]


def _parsed(block: Block) -> pa.Table | None:
    """Parse a clean block; None where a line is not six words with one gap between them."""
    survey = surveyed(block)
    if survey.unusual or _has_wide_gap(block, ord(survey.delimiter)):
        return None
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(block),
            read_options=pyarrow.csv.ReadOptions(column_names=list(_COLUMNS), block_size=1 << 20),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=survey.delimiter, quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=_TYPES, include_columns=list(_TYPES), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == survey.lines else None


def _has_wide_gap(block: Block, delimiter: int) -> bool:
    """Say whether a delimiter stands before another, before a line end, or at the beginning of a line."""
    letters = np.frombuffer(block, dtype=np.uint8)
    if not len(letters) or letters[0] <= _BLANK or letters[-1] == delimiter:
        return True
    for start in range(0, len(letters), _PIECE):
        piece = letters[start : start + _PIECE + 1]
        gap = piece <= _BLANK
        if (gap[1:] & gap[:-1]).any():
            return True
    return False


def _line(block: Block, *, first: bool) -> bytes:
    data = memoryview(block)
    text = bytes(data[:4096]) if first else bytes(data[-4096:])
    lines = text.removesuffix(b"\n").split(b"\n")
    return lines[0] if first else lines[-1]


def _ordinary(table: pa.Table, first: bytes, last: bytes) -> DirectRows | None:
    """Give the rows if topics stand in one piece, scores fall within them, and no document stands twice."""
    topics = table["topic"].unify_dictionaries()
    ids = topics.chunk(0).dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in topics.chunks])
    starts = np.concatenate([[0], np.flatnonzero(codes[1:] != codes[:-1]) + 1])
    scores = table["score"].to_numpy()
    rises = scores[1:] > scores[:-1]
    rises[starts[1:] - 1] = False
    words = first.split(), last.split()
    if (
        len(starts) != len(ids)
        or rises.any()
        or not np.isfinite(scores).all()
        or min(map(len, words)) < len(_COLUMNS)
    ):
        return None
    documents = table["document"]
    if _has_repeats(documents, codes):
        return None
    names = ids.take(pa.array(codes[starts])).cast(pa.large_string())
    return DirectRows(names, starts, documents, scores, words[0][5].decode(), words[1][5].decode())


def _has_repeats(documents: pa.ChunkedArray, topics: Codes) -> bool:
    """Say whether two rows may be the same document of one topic; equal keys of two documents are taken for it.

    The keys of each chunk are mixed with its topics while they are in the cache; then it is one sort of numbers.
    """
    keys: Keys = np.empty(len(topics), dtype=np.uint64)
    start = 0
    for chunk in documents.chunks:
        rows = slice(start, start + len(chunk))
        keys[rows] = keys_of(chunk) ^ ((topics[rows].astype(np.uint64) + np.uint64(1)) * _MIXER)
        start += len(chunk)
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _known(found: list[DirectRows], qrels: Qrels, reference: Reference) -> "list[KnownRun]":
    """Look the documents of several runs up in one go: the hash of the qrels' ids is made anew for every call."""
    chunks = list(chain.from_iterable(rows.documents.chunks for rows in found))
    unknown = len(qrels.document_ids)
    looked_up = pc.index_in(pa.chunked_array(chunks, pa.string()), value_set=qrels.document_ids.cast(pa.string()))
    codes = pc.fill_null(looked_up, unknown).to_numpy().astype(np.int32, copy=False)
    ends = np.cumsum([len(rows.scores) for rows in found])
    parts = np.split(codes, ends[:-1])
    return [_ranked(rows, part, reference) for rows, part in zip(found, parts, strict=True)]


def _ranked(rows: DirectRows, codes: Codes, reference: Reference) -> "KnownRun":
    scores = rows.scores
    tied = ties(as_float32(scores) if reference == "9" else scores, rows.offsets)
    if tied.any():
        codes = _ties_by_id(rows, tied, codes)
    order = pc.sort_indices(rows.topic_ids.cast(pa.large_binary())).to_numpy()
    counts = np.diff(rows.offsets)[order]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    if not np.array_equal(order, np.arange(len(order))):
        places = np.repeat(rows.starts[order] - offsets[:-1], counts) + np.arange(len(codes))
        codes, scores = codes[places], scores[places]
    return KnownRun(rows.first_tag, rows.topic_ids.take(pa.array(order)), offsets, codes, scores)


def _ties_by_id(rows: DirectRows, tied: NDArray[np.bool_], codes: Codes) -> Codes:
    """Give the codes with tied rows in the order of their ids, from high to low."""
    member = np.concatenate([tied, [False]])
    member[1:] |= tied
    places = np.flatnonzero(member)
    group = np.cumsum(np.concatenate([[True], ~tied]))[places]
    words = _words_at(rows.documents, places)
    rank = np.empty(len(places), dtype=np.int64)
    rank[pc.sort_indices(words).to_numpy()] = np.arange(len(places))
    moved = codes.copy()
    moved[places] = codes[places[np.lexsort((-rank, group))]]
    return moved


def _words_at(documents: pa.ChunkedArray, places: Places) -> pa.Array:
    """Give some of the strings of a column as bytes; places rise. Arrow's own `take` would copy all chunks first."""
    ends = np.cumsum([len(chunk) for chunk in documents.chunks])
    bounds = np.searchsorted(places, np.concatenate([[0], ends]))
    taken = [
        chunk.take(pa.array(places[first:last] - (end - len(chunk))))
        for chunk, end, first, last in zip(documents.chunks, ends, bounds[:-1], bounds[1:], strict=True)
        if last > first
    ]
    return pa.concat_arrays(taken).cast(pa.binary())
