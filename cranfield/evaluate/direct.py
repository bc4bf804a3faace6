"""The short way from an ordinary run file to its grades: no ids are kept, only what the qrels say of each row.

A file is ordinary if each line has six columns with one blank (or one tab) between them, each topic stands in one
piece with its scores falling, and no document stands twice in a topic; so is a run of a Parquet set in such an order.
Whatever else a file is, it takes the long way through `cranfield.runs`, which tells what is wrong with it; both ways
give the same grades.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.files import UTF8_BOM, Source
from cranfield.evaluate.align import NONE, KeyTable, KnownRun, Reference, ties_of
from cranfield.evaluate.lists import rows_of
from cranfield.qrels.qrels import Qrels
from cranfield.runs import sets
from cranfield.runs.columns import (
    Codes,
    Keys,
    Mask,
    Places,
    Scores,
    as_numbers,
    as_text,
    byte_order,
    has_repeats,
    joined_text,
    keys_of_pairs,
    keys_of_words,
    running_sum,
    taken,
    text_of,
)
from cranfield.runs.run import as_float32

# Ids as words, and the columns of ordinary TREC lines.

Letters = NDArray[np.uint8]
Words = NDArray[np.uint64]

LONGEST_ID = 256
"""Longer ids are not ordinary: so many bytes may be read past the end of a text."""

_KEPT_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids as words: `words[k][i]` are the bytes from 8k on of id i, first byte lowest, 0 past its end."""

    lengths: Places
    words: list[Words]

    def take(self, places: Places | Codes) -> Ids:
        """Some of the ids."""
        return Ids(self.lengths[places], [word[places] for word in self.words])


def with_room(size: int) -> Letters:
    """An array for a text of this size, with room after it."""
    return np.empty(size + 1 + LONGEST_ID + 8, dtype=np.uint8)


def ids_at(letters: Letters, starts: Places, lengths: Places) -> Ids:
    """The ids that stand at some places of a text, after which there is room."""
    longest, shortest = int(lengths.max(initial=0)), int(lengths.min(initial=LONGEST_ID))
    size = 8 * max(-(-longest // 8), 1)
    # What stands from each byte on, as views that overlap: all words of an id are fetched at once.
    views = np.ndarray((len(letters) - size + 1,), dtype=f"V{size}", buffer=letters, strides=(1,))
    words, found = views[starts].view("<u8").reshape(-1, size // 8), []
    for first in range(0, longest, 8):
        word = words[:, first // 8].copy()
        if shortest < first + 8:
            # Ids of one length need no mask for each.
            word &= _KEPT_BYTES[longest - first if longest == shortest else np.clip(lengths - first, 0, 8)]
        found.append(word)
    return Ids(lengths, found)


COLUMNS = 6
_TOPIC, _DOCUMENT, _SCORE, _TAG = 0, 2, 4, 5
_FEED, _TAB, _BLANK, _DELETE = 10, 9, 32, 127
_INVISIBLE = re.compile("[\x7f-\x9f]")
_EVERY_OTHER = 0b01010101


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows before they are held against the qrels; `topic_at` names the topic of a row, `tags` are first and last."""

    topics: Ids
    documents: Ids
    scores: Scores
    topic_at: Callable[[int], str]
    tags: tuple[str, str]


def _rows_of_lines(letters: Letters, size: int) -> _Rows | None:
    """The rows of the lines in the first `size` bytes, after which there is room; None where one is not ordinary.

    Columns are found with masks over bytes: no string is made.
    """
    if size and letters[size - 1] != _FEED:
        letters[size] = _FEED
        size += 1
    text = letters[:size]
    gap = text <= _BLANK
    if not size or gap[0] or (gap[1:] & gap[:-1]).any() or not _is_visible(text):
        return None
    found = np.flatnonzero(gap)
    count, rest = divmod(len(found), COLUMNS)
    if rest:
        return None
    ends = found.reshape(count, COLUMNS)
    # A line feed at the end of each line, and as many delimiters as other gaps: then all of them stand right.
    delimiter = letters[ends[0, 0]]
    if (
        delimiter not in (_BLANK, _TAB)
        or np.count_nonzero(text == delimiter) != count * (COLUMNS - 1)
        or not (text[ends[:, -1]] == _FEED).all()
    ):
        return None
    starts = (np.concatenate([[-1], found[:-1]]) + 1).reshape(count, COLUMNS)

    def word(line: int, column: int) -> str:
        return bytes(letters[starts[line, column] : ends[line, column]]).decode()

    lengths = [ends[:, column] - starts[:, column] for column in (_TOPIC, _DOCUMENT)]
    scores = _numbers(letters, starts[:, _SCORE], ends[:, _SCORE])
    if scores is None or max(int(one.max()) for one in lengths) > LONGEST_ID:
        return None
    topics, documents = (
        ids_at(letters, starts[:, column], one) for column, one in zip((_TOPIC, _DOCUMENT), lengths, strict=True)
    )
    return _Rows(topics, documents, scores, lambda line: word(line, _TOPIC), (word(0, _TAG), word(-1, _TAG)))


def _numbers(letters: Letters, starts: Places, ends: Places) -> Scores | None:
    """The numbers at some places of a text; None where one is no plain finite number.

    All are handed to the parser as one array of strings in which every other one, the text between two numbers, is
    null: so no text is copied.
    """
    count = len(starts)
    edges = np.empty(2 * count, dtype=np.int32)
    edges[0::2], edges[1::2] = starts, ends
    valid = pa.py_buffer(np.full(count // 4 + 1, _EVERY_OTHER, dtype=np.uint8))
    buffers = [valid, pa.py_buffer(edges), pa.py_buffer(letters)]
    try:
        parsed = as_numbers(pa.Array.from_buffers(pa.string(), 2 * count - 1, buffers, count - 1))
    except pa.ArrowInvalid:
        return None
    numbers: Scores = np.frombuffer(parsed.buffers()[1], dtype=np.float64)[: 2 * count : 2].copy()
    return numbers if np.isfinite(numbers).all() else None


def _is_visible(text: Letters) -> bool:
    """Whether what is more than ASCII is UTF-8 without DEL and control characters."""
    if text.max(initial=0) < _DELETE:
        return True
    try:
        return _INVISIBLE.search(bytes(text).decode()) is None
    except UnicodeDecodeError:
        return False


# Where in the qrels a pair of topic and document stands, for whole columns of pairs at once.


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of topic and document: keys, the topics as places in the qrels (-1 for none there), documents as words.

    `marks` join the topic with the length of the document id: two pairs are equal if marks and words are.
    """

    keys: Keys
    marks: Places
    words: list[Words]


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The pairs of qrels, and the table of their keys. A key only says where to look: pairs are compared in full."""

    topic_codes: dict[str, int]
    pairs: Pairs
    table: KeyTable


def pairs_of(topic_names: list[str], codes: Codes, counts: Places, documents: Ids) -> Pairs:
    """The pairs of documents that stand topic by topic."""
    keys = keys_of_pairs(topic_names, counts, keys_of_words(documents.lengths, documents.words))
    marks = np.repeat(codes.astype(np.int64) << 32, counts)
    marks |= documents.lengths
    return Pairs(keys, marks, documents.words)


def ids_of(column: pa.Array) -> tuple[Ids, Letters] | None:
    """A column of text as ids, and its text; None where an id is very long."""
    ids = as_text(column)
    ends = np.frombuffer(ids.buffers()[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    lengths = np.diff(ends)
    if lengths.max(initial=0) > LONGEST_ID:
        return None
    text = np.frombuffer(joined_text(ids), dtype=np.uint8)
    letters = with_room(len(text))
    letters[: len(text)] = text
    return ids_at(letters, ends[:-1] - ends[0], lengths), text


def judged_pairs(qrels: Qrels) -> JudgedPairs | None:
    """The pairs of qrels by their keys; None where there are none, or an id is very long."""
    return table_of_pairs(qrels.topic_ids.to_pylist(), np.diff(qrels.offsets), qrels.document_ids, qrels.documents)


def table_of_pairs(
    topics: list[str], counts: Places, document_ids: pa.Array, places: Places | Codes
) -> JudgedPairs | None:
    """The pairs of documents that stand topic by topic, as places among their ids."""
    found = ids_of(document_ids)
    if found is None or not len(places):
        return None
    codes = np.arange(len(topics), dtype=np.int32)
    pairs = pairs_of(topics, codes, counts, found[0].take(places))
    return JudgedPairs({topic: place for place, topic in enumerate(topics)}, pairs, KeyTable.of(pairs.keys))


_PIECE = 1 << 21
"""About how many bytes are looked at at once: all that is made of them stays in the cache."""
_SMALL = 4 * _PIECE
"""Up to this size a file is left to one thread: there are others to read beside it, or it is soon done."""
_THREADS = 2
_LONGEST_LINE = 1 << 16
_MEMORY_KEPT = 1 << 24


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one piece of a file, which may begin and end within a topic. `keys` are there if they are wanted.

    `first_keys` and `last_keys` are those of the first and the last topic. `tied` says of each row whether it has the
    score of the row above, in its topic. `sharing` are the rows of ties with a document of the qrels, and of those
    that may go on in the next piece, and `sharing_ids` their documents. `ends` are the first and the last score.
    """

    topics: list[str]
    starts: Places
    judged: Codes
    tied: Mask
    keys: Keys | None
    first_keys: Keys
    last_keys: Keys
    sharing: Places
    sharing_ids: Ids
    ends: Scores
    first_tag: str
    last_tag: str


def read_direct(
    source: Source, judged: JudgedPairs, *, reference: Reference = "10", keep_keys: bool = False
) -> KnownRun | None:
    """Read an ordinary TREC run and give what the qrels say of it; None where the file is anything else."""
    # A large array made and dropped: from then on the C library keeps memory of this size, and the many arrays to
    # come are not mapped anew each time, which would take longer than filling them.
    np.empty(_MEMORY_KEPT, dtype=np.uint8)
    size, turn = source.size, threading.Lock()
    if source.run:
        batches = sets.batches_of(source, "topic", "document", "score")
        pieces = enumerate(partial(_rows_of_batch, batch, source.run) for batch in batches)
    else:
        pieces = enumerate(partial(_rows_of_lines, *piece) for piece in _pieces(source, size))
    parts: dict[int, _Part] = {}
    ordinary = True

    def work() -> None:
        """Make parts until there is no piece left, or one is not ordinary."""
        nonlocal ordinary
        while ordinary:
            with turn:
                number, make = next(pieces, (0, None))
            if make is None:
                return
            rows = make()
            part = None if rows is None else _part(rows, judged, reference, keep_keys=keep_keys)
            if part is None:
                ordinary = False
            else:
                parts[number] = part

    if source.run or (size is not None and size <= _SMALL):
        work()
    else:
        with ThreadPoolExecutor(_THREADS) as threads:
            for working in [threads.submit(work) for _ in range(_THREADS)]:
                working.result()
    return _joined([parts[number] for number in sorted(parts)], reference) if parts and ordinary else None


def _pieces(source: Source, on_disk: int | None) -> Iterator[tuple[Letters, int]]:
    """The text in pieces of whole lines, each in an array of its own, with their sizes.

    A line longer than `_LONGEST_LINE` may be cut; then the piece before or after the cut is not ordinary. A file is
    cut evenly, so that no small piece is left over: a piece costs something whatever its size.
    """
    plain = source.open_as_it_lies()
    full = _PIECE if plain is None or on_disk is None else on_disk // max(round(on_disk / _PIECE), 1) + 1
    with plain or source.open() as stream:
        rest = stream.read(len(UTF8_BOM)).removeprefix(UTF8_BOM)
        while True:
            size, whole = len(rest), len(rest) + full
            letters = with_room(whole)
            letters[:size] = np.frombuffer(rest, dtype=np.uint8)
            while size < whole and (count := stream.readinto(letters[size:whole])):  # type: ignore[attr-defined]
                size += count
            if size < whole:
                break
            tail = letters[max(0, size - _LONGEST_LINE) : size].tobytes()
            rest = tail[tail.rfind(b"\n") + 1 :]
            if size > len(rest):
                yield letters, size - len(rest)
        if size:
            yield letters, size


def _rows_of_batch(batch: Mapping[str, pa.Array], run: str) -> _Rows | None:
    """The rows of a Parquet batch; None where ids or scores are not ordinary ones."""
    columns = {
        part: one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for part, one in batch.items()
    }
    has_scores = "score" in columns and pa.types.is_floating(columns["score"].type)
    if not has_scores or any(one.null_count for one in columns.values()):
        return None
    ids = []
    for part in ("topic", "document"):
        is_text = pa.types.is_string(columns[part].type) or pa.types.is_large_string(columns[part].type)
        found = ids_of(columns[part]) if is_text else None
        if found is None or not found[0].lengths.all() or (found[1] <= _BLANK).any() or not _is_visible(found[1]):
            return None
        ids.append(found[0])
    scores = columns["score"].cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not np.isfinite(scores).all():
        return None
    topics, documents = ids
    return _Rows(topics, documents, scores, lambda row: str(columns["topic"][row]), (run, run))


def _part(rows: _Rows, judged: JudgedPairs, reference: Reference, *, keep_keys: bool) -> _Part | None:
    """What the qrels say of the rows of a piece; None where their order is not ordinary."""
    scores, documents = rows.scores, rows.documents
    other = np.ones(len(scores), dtype=bool)
    other[1:] = rows.topics.lengths[1:] != rows.topics.lengths[:-1]
    for word in rows.topics.words:
        other[1:] |= word[1:] != word[:-1]
    starts = np.flatnonzero(other)
    topics = [rows.topic_at(row) for row in starts.tolist()]
    counts = np.diff(starts, append=len(scores))
    codes = np.array([judged.topic_codes.get(topic, NONE) for topic in topics], dtype=np.int32)
    pairs = pairs_of(topics, codes, counts, documents)
    rises = scores[1:] > scores[:-1]
    rises[starts[1:] - 1] = False
    if rises.any() or has_repeats(pairs.keys):
        return None
    compared = as_float32(scores) if reference == "9" else scores
    tied = np.zeros(len(scores), dtype=bool)
    np.equal(compared[1:], compared[:-1], out=tied[1:])
    tied[starts] = False
    words = zip(judged.pairs.words, pairs.words, strict=False)  # no id of equal length has more
    found = judged.table.places(pairs.keys, [(judged.pairs.marks, pairs.marks), *words])
    needed = np.ones(len(found), dtype=bool) if keep_keys else found != NONE
    needed[[0, -1]] = True  # they have neighbours elsewhere, with which they may share their scores
    places, _ = ties_of(tied, np.flatnonzero(needed))
    needed[1:-1] = False
    needed[places] = True
    sharing = np.flatnonzero(needed)
    return _Part(
        topics=topics,
        starts=starts,
        judged=found,
        tied=tied,
        keys=pairs.keys if keep_keys else None,
        first_keys=pairs.keys[: counts[0]].copy(),
        last_keys=pairs.keys[starts[-1] :].copy(),
        sharing=sharing,
        sharing_ids=documents.take(sharing),
        ends=scores[[0, -1]],
        first_tag=rows.tags[0],
        last_tag=rows.tags[1],
    )


def _joined(parts: list[_Part], reference: Reference) -> KnownRun | None:
    """The run, if topics stand in one piece, scores fall in them, and no document stands twice across parts."""
    first_rows = running_sum([len(part.judged) for part in parts])
    judged = np.concatenate([part.judged for part in parts])
    tied = np.concatenate([part.tied for part in parts])
    kept = [part.keys for part in parts if part.keys is not None]
    pair_keys = np.concatenate(kept) if kept else None
    topics, begins, keys = list(parts[0].topics), [parts[0].starts], parts[0].last_keys
    for (before, part), row in zip(pairwise(parts), first_rows[1:].tolist(), strict=False):
        goes_on = part.topics[0] == before.topics[-1]
        topics += part.topics[goes_on:]
        begins.append(part.starts[goes_on:] + row)
        if goes_on:
            keys = np.concatenate([keys, part.first_keys])
            if part.ends[0] > before.ends[1] or has_repeats(keys):
                return None
            joint = np.array([before.ends[1], part.ends[0]])
            last, first = as_float32(joint) if reference == "9" else joint
            tied[row] = last == first
        if len(part.topics) > 1 or not goes_on:
            keys = part.last_keys
    if len(set(topics)) != len(topics):
        return None
    if tied.any():  # what is known of rows that tie with the row above comes into the order of their ids, high to low
        wanted = np.flatnonzero(judged != NONE) if pair_keys is None else np.arange(len(judged))
        rows, group = ties_of(tied, wanted)
        sharing = np.concatenate([part.sharing + first for part, first in zip(parts, first_rows, strict=False)])
        chosen, falling = np.searchsorted(sharing, rows), []
        for number in range(max(len(part.sharing_ids.words) for part in parts)):
            # One word of all ids, 0 where the ids of a part have ended. With their first byte highest, words are in
            # the order of bytes; turned over, in the order from high to low.
            words = [
                ids.words[number] if number < len(ids.words) else np.zeros(len(ids.lengths), np.uint64)
                for ids in (part.sharing_ids for part in parts)
            ]
            falling.append(~np.concatenate(words)[chosen].byteswap())
        in_turn = rows[np.lexsort((*reversed(falling), group))]
        judged[rows] = judged[in_turn]
        if pair_keys is not None:
            pair_keys[rows] = pair_keys[in_turn]
    starts = np.concatenate(begins)
    offsets = np.append(starts, len(judged))
    ids = text_of(topics)
    order = byte_order(ids)
    if not np.array_equal(order, np.arange(len(order))):
        counts = np.diff(offsets)[order]
        offsets = running_sum(counts)
        places = rows_of(starts[order], counts)
        ids, judged, tied = taken(ids, order), judged[places], tied[places]
        pair_keys = None if pair_keys is None else pair_keys[places]
    tag, *others = dict.fromkeys(tag for part in parts for tag in (part.first_tag, part.last_tag))
    return KnownRun(tag, parts[-1].last_tag, ids, offsets, judged, tied, pair_keys, tuple(others))
