"""The short way from an ordinary run file to its grades: no ids are kept, only what the qrels say of each row.

A file is ordinary if each line has six columns with one blank (or one tab) between them, each topic stands in one
piece with its scores falling, and no document stands twice in a topic. Whatever else a file is, it takes the long
way through `cranfield.runs`, which tells what is wrong with it; both ways give the same grades.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import BinaryIO, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.arrow import as_numbers, as_text, byte_order, taken
from cranfield.base.files import UTF8_BOM, Source
from cranfield.evaluate.align import KnownRun, Reference
from cranfield.qrels.qrels import Qrels
from cranfield.runs.order import as_float32
from cranfield.runs.run import Codes, Places, Scores, joined_text

# The columns of ordinary TREC lines, found with masks over bytes: no string is made.

Letters = NDArray[np.uint8]
Words = NDArray[np.uint64]

COLUMNS = 6
LONGEST_ID = 256
"""Longer ids are not ordinary: so many bytes may be read past the end of a text."""

_FEED, _TAB, _BLANK, _DELETE = 10, 9, 32, 127
_INVISIBLE = re.compile("[\x7f-\x9f]")
_KEPT_BYTES = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)
_EVERY_OTHER = 0b01010101


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids as words: `words[k][i]` are the bytes from 8k on of id i, first byte lowest, 0 past its end."""

    lengths: Places
    words: list[Words]

    def take(self, places: Places | Codes) -> Ids:
        """Give some of the ids."""
        return Ids(self.lengths[places], [word[places] for word in self.words])


@dataclass(frozen=True, eq=False)
class Lines:
    """Whole lines: where their columns begin and end, as places in `letters`, which goes on past its last line."""

    letters: Letters
    starts: Places
    gaps: Places

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, number: int) -> tuple[Places, Places]:
        """Give where a column begins and ends in each line."""
        return self.starts if number == 0 else self.gaps[:, number - 1] + 1, self.gaps[:, number]

    def text(self, line: int, number: int) -> str:
        """Give one column of one line."""
        begin, end = self.column(number)
        return bytes(self.letters[begin[line] : end[line]]).decode()

    def ids(self, number: int) -> Ids | None:
        """Give a column as ids; None where one is too long."""
        begin, end = self.column(number)
        lengths = end - begin
        longest = int(lengths.max())
        return ids_at(self.letters, begin, lengths) if longest <= LONGEST_ID else None

    def numbers(self, number: int) -> Scores | None:
        """Give a column as numbers; None where one is no plain finite number.

        All columns are handed to the parser as one array of strings in which every other one, the text between two
        numbers, is null: so no text is copied.
        """
        count = len(self)
        ends = np.empty(2 * count, dtype=np.int32)
        ends[0::2], ends[1::2] = self.column(number)
        valid = pa.py_buffer(np.full(count // 4 + 1, _EVERY_OTHER, dtype=np.uint8))
        buffers = [valid, pa.py_buffer(ends), pa.py_buffer(self.letters)]
        try:
            parsed = as_numbers(pa.Array.from_buffers(pa.string(), 2 * count - 1, buffers, count - 1))
        except pa.ArrowInvalid:
            return None
        numbers: Scores = np.frombuffer(parsed.buffers()[1], dtype=np.float64)[: 2 * count : 2].copy()
        return numbers if np.isfinite(numbers).all() else None


def with_room(size: int) -> Letters:
    """Give an array for a text of this size, with room after it."""
    return np.empty(size + 1 + LONGEST_ID + 8, dtype=np.uint8)


def ordinary_lines(letters: Letters, size: int) -> Lines | None:
    """Give the lines of the first `size` bytes, after which there is room; None where one of them is not ordinary."""
    if size and letters[size - 1] != _FEED:
        letters[size] = _FEED
        size += 1
    text = letters[:size]
    gap = text <= _BLANK
    if not size or gap[0] or (gap[1:] & gap[:-1]).any() or (text.max() >= _DELETE and not _is_visible(text)):
        return None
    found = np.flatnonzero(gap)
    count, rest = divmod(len(found), COLUMNS)
    if rest:
        return None
    gaps = found.reshape(count, COLUMNS)
    # A line feed at the end of each line, and as many delimiters as other gaps: then all of them stand right.
    delimiter = letters[gaps[0, 0]]
    if (
        delimiter not in (_BLANK, _TAB)
        or np.count_nonzero(text == delimiter) != count * (COLUMNS - 1)
        or not (text[gaps[:, -1]] == _FEED).all()
    ):
        return None
    starts = np.empty(count, dtype=np.int64)
    starts[0], starts[1:] = 0, gaps[:-1, -1] + 1
    return Lines(letters, starts, gaps)


def ids_at(letters: Letters, starts: Places, lengths: Places) -> Ids:
    """Give the ids that stand at some places of a text, after which there is room."""
    words = np.ndarray((len(letters) - 7,), dtype="<u8", buffer=letters, strides=(1,))  # one from each byte on
    longest, shortest = int(lengths.max(initial=0)), int(lengths.min(initial=LONGEST_ID))
    found = []
    for first in range(0, longest, 8):
        word = words[starts + first]
        if shortest < first + 8:
            # Ids of one length need no mask for each.
            word &= _KEPT_BYTES[longest - first if longest == shortest else np.clip(lengths - first, 0, 8)]
        found.append(word)
    return Ids(lengths, found)


def _is_visible(text: Letters) -> bool:
    """Say whether text is UTF-8 without DEL and control characters."""
    try:
        return _INVISIBLE.search(bytes(text).decode()) is None
    except UnicodeDecodeError:
        return False


# Where in the qrels a pair of topic and document stands, for whole columns of pairs at once.

Value = TypeVar("Value", np.int32, np.int64, np.uint64)

_MULTIPLIER = 0x9E3779B97F4A7C15
_MIXER = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_ROOM = 3
"""The table has 2^3 to 2^4 slots for each pair, so that few pairs share one."""

NONE = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of topic and document: keys, the topics as places in the qrels (-1 for none there), documents as words.

    `marks` join the topic with the length of the document id: two pairs are equal if marks and words are.
    """

    keys: Words
    marks: Places
    words: list[Words]


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The pairs of qrels by their keys: a table of slots, each with a row of the qrels, from which others may follow.

    A key only says where to look: pairs are compared byte for byte.
    """

    topic_codes: dict[str, int]
    pairs: Pairs
    head: Codes
    following: Codes

    def rows(self, asked: Pairs) -> Codes:
        """Give the row of the qrels that each pair is, -1 where they lack it."""
        rows = _at(self.head, _slots(asked.keys, len(self.head)))
        places = np.flatnonzero(rows != NONE)
        while len(places):
            here = _at(rows, places)
            other = _at(self.pairs.marks, here) != _at(asked.marks, places)
            for mine, others in zip(self.pairs.words, asked.words, strict=False):  # no id of equal length has more
                other |= _at(mine, here) != _at(others, places)
            going_on = self.following[here[other]]
            places = places[other]
            rows[places] = going_on
            places = places[going_on != NONE]
        return rows


def pairs_of(topic_names: list[str], codes: Codes, counts: Places, documents: Ids) -> Pairs:
    """Give the pairs of documents that stand topic by topic."""
    topics = np.array([_topic_key(name) for name in topic_names], dtype=np.uint64)
    marks = np.repeat(codes.astype(np.int64) << 32, counts)
    marks |= documents.lengths
    return Pairs(_keys(np.repeat(topics, counts), documents), marks, documents.words)


def judged_pairs(qrels: Qrels) -> JudgedPairs | None:
    """Give the pairs of qrels by their keys; None where there are none, or an id is very long."""
    documents = _ids(qrels)
    if documents is None or not len(qrels):
        return None
    codes = np.arange(len(qrels.topic_ids), dtype=np.int32)
    pairs = pairs_of(qrels.topics, codes, np.diff(qrels.offsets), documents.take(qrels.documents))
    head = np.full(1 << (len(qrels).bit_length() + _ROOM), NONE, dtype=np.int32)
    order = np.argsort(pairs.keys).astype(np.int32)  # and so by slots, the first bits of the keys
    slots = _slots(pairs.keys[order], len(head))
    together = slots[1:] == slots[:-1]
    following = np.full(len(order), NONE, dtype=np.int32)
    following[order[:-1][together]] = order[1:][together]
    first = np.concatenate([[True], ~together])
    head[slots[first]] = order[first]
    return JudgedPairs({topic: place for place, topic in enumerate(qrels.topics)}, pairs, head, following)


def _ids(qrels: Qrels) -> Ids | None:
    ids = as_text(qrels.document_ids)
    ends = np.frombuffer(ids.buffers()[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    lengths = np.diff(ends)
    if lengths.max(initial=0) > LONGEST_ID:
        return None
    text = np.frombuffer(joined_text(ids), dtype=np.uint8)
    letters = with_room(len(text))
    letters[: len(text)] = text
    return ids_at(letters, ends[:-1] - ends[0], lengths)


def _at(values: NDArray[Value], places: Places | Codes) -> NDArray[Value]:
    """Give values at places that are all there: numpy need not look for that, and is much faster."""
    return values.take(places, mode="clip")


def _topic_key(topic: str) -> int:
    return int.from_bytes(blake2b(topic.encode(), digest_size=8).digest(), "little")


def _keys(topics: Words, documents: Ids) -> Words:
    """Give a 64-bit number for each pair; equal pairs have equal ones, and unequal pairs very rarely do."""
    keys = documents.lengths.astype(np.uint64)
    keys += topics
    for number, word in enumerate(documents.words):
        mixed = word * np.uint64(_MULTIPLIER + 2 * number)
        mixed ^= mixed >> _HALF
        mixed *= _MIXER
        keys += mixed
    keys ^= keys >> _HALF
    keys *= _MIXER
    return keys


def _slots(keys: Words, count: int) -> Places:
    """Give the slot of each key among `count`, a power of two: its first bits."""
    return (keys >> np.uint64(64 - (count.bit_length() - 1))).view(np.int64)


_TOPIC, _DOCUMENT, _SCORE, _TAG = 0, 2, 4, 5
_PIECE = 1 << 21
"""About how many bytes are looked at at once: all that is made of them stays in the cache."""
_SMALL = 4 * _PIECE
"""Up to this size a file is left to one thread: there are others to read beside it, or it is soon done."""
_THREADS = 2
_LONGEST_LINE = 1 << 16
_MEMORY_KEPT = 1 << 24


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one piece of a file, which may begin and end within a topic.

    `first_keys` and `last_keys` are those of the first and the last topic. `tied` says of each row whether it has the
    score of the row above, in its topic. `sharing` are the rows that may share their score with a neighbour, and
    `sharing_ids` their documents. `ends` are the scores of the first and the last row.
    """

    topics: list[str]
    starts: Places
    judged: Codes
    tied: NDArray[np.bool_]
    first_keys: Words
    last_keys: Words
    sharing: Places
    sharing_ids: Ids
    ends: Scores
    first_tag: str
    last_tag: str

    def __len__(self) -> int:
        return len(self.judged)


def read_direct(source: Source, judged: JudgedPairs, *, reference: Reference = "10") -> KnownRun | None:
    """Read an ordinary TREC run and give what the qrels say of it; None where the file is anything else."""
    # A large array made and dropped: from then on the C library keeps memory of this size, and the many arrays to
    # come are not mapped anew each time, which would take longer than filling them.
    np.empty(_MEMORY_KEPT, dtype=np.uint8)
    parts = _Parts(source, judged, reference)
    if source.size is not None and source.size <= _SMALL:
        parts.work()
    else:
        with ThreadPoolExecutor(_THREADS) as threads:
            for working in [threads.submit(parts.work) for _ in range(_THREADS)]:
                working.result()
    return _joined(parts.in_order(), reference) if parts.ordinary else None


class _Parts:
    """The parts of a file, made by several threads, each of which takes the next piece when it is done with one."""

    def __init__(self, source: Source, judged: JudgedPairs, reference: Reference) -> None:
        self.ordinary = True
        self._pieces = enumerate(_pieces(source))
        self._judged, self._reference = judged, reference
        self._made: dict[int, _Part] = {}
        self._turn = threading.Lock()

    def work(self) -> None:
        """Make parts until there is no piece left, or one is not ordinary."""
        while self.ordinary and (piece := self._next()) is not None:
            number, (letters, size) = piece
            part = _part(letters, size, self._judged, self._reference)
            if part is None:
                self.ordinary = False
            else:
                self._made[number] = part

    def in_order(self) -> list[_Part]:
        """Give the parts as they stand in the file."""
        return [self._made[number] for number in sorted(self._made)]

    def _next(self) -> tuple[int, tuple[Letters, int]] | None:
        with self._turn:
            return next(self._pieces, None)


def _pieces(source: Source) -> Iterator[tuple[Letters, int]]:
    """Give the text in pieces of whole lines, each in an array of its own, with their sizes.

    A line longer than `_LONGEST_LINE` may be cut; then the piece before or after the cut is not ordinary. A file is
    cut evenly, so that no small piece is left over: a piece costs something whatever its size.
    """
    plain = source.open_as_it_lies()
    full = _PIECE if plain is None or source.size is None else _even_share(source.size)
    with plain or source.open() as stream:
        rest = stream.read(len(UTF8_BOM)).removeprefix(UTF8_BOM)
        while True:
            letters = with_room(len(rest) + full)
            letters[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
            size = len(rest) + _filled(letters[len(rest) : len(rest) + full], stream)
            if size < len(rest) + full:
                break
            tail = letters[max(0, size - _LONGEST_LINE) : size].tobytes()
            rest = tail[tail.rfind(b"\n") + 1 :]
            if size > len(rest):
                yield letters, size - len(rest)
        if size:
            yield letters, size


def _even_share(size: int) -> int:
    """Give the size of pieces that are all about equal."""
    return size // max(round(size / _PIECE), 1) + 1


def _filled(room: Letters, stream: BinaryIO) -> int:
    """Read until the room is full or the stream ends; give the number of bytes."""
    filled = 0
    while filled < len(room) and (count := stream.readinto(room[filled:])):  # type: ignore[attr-defined]
        filled += count
    return filled


def _part(letters: Letters, size: int, judged: JudgedPairs, reference: Reference) -> _Part | None:
    """Give the rows of a piece; None where something in it is not ordinary."""
    lines = ordinary_lines(letters, size)
    if lines is None:
        return None
    scores, topic_ids, documents = lines.numbers(_SCORE), lines.ids(_TOPIC), lines.ids(_DOCUMENT)
    if scores is None or topic_ids is None or documents is None:
        return None
    starts = _changes(topic_ids)
    topics = [lines.text(line, _TOPIC) for line in starts.tolist()]
    counts = np.diff(starts, append=len(lines))
    codes = np.array([judged.topic_codes.get(topic, NONE) for topic in topics], dtype=np.int32)
    pairs = pairs_of(topics, codes, counts, documents)
    if _rises(scores, starts) or _has_repeats(pairs.keys):
        return None
    tied = _tied(scores, starts, reference)
    sharing = _sharing(tied)
    return _Part(
        topics=topics,
        starts=starts,
        judged=judged.rows(pairs),
        tied=tied,
        first_keys=pairs.keys[: counts[0]].copy(),
        last_keys=pairs.keys[starts[-1] :].copy(),
        sharing=sharing,
        sharing_ids=documents.take(sharing),
        ends=scores[[0, -1]],
        first_tag=lines.text(0, _TAG),
        last_tag=lines.text(len(lines) - 1, _TAG),
    )


def _changes(ids: Ids) -> Places:
    """Give the places where another id begins."""
    other = np.ones(len(ids.lengths), dtype=bool)
    other[1:] = ids.lengths[1:] != ids.lengths[:-1]
    for word in ids.words:
        other[1:] |= word[1:] != word[:-1]
    return np.flatnonzero(other)


def _rises(scores: Scores, starts: Places) -> bool:
    """Say whether a score is higher than the one above it in its topic."""
    rises = scores[1:] > scores[:-1]
    rises[starts[1:] - 1] = False
    return bool(rises.any())


def _tied(scores: Scores, starts: Places, reference: Reference) -> NDArray[np.bool_]:
    compared = _compared(scores, reference)
    tied = np.zeros(len(scores), dtype=bool)
    np.equal(compared[1:], compared[:-1], out=tied[1:])
    tied[starts] = False
    return tied


def _compared(scores: Scores, reference: Reference) -> NDArray[np.floating]:
    return as_float32(scores) if reference == "9" else scores


def _sharing(tied: NDArray[np.bool_]) -> Places:
    """Give the rows with the score of a neighbour, and the first and the last, whose neighbours are elsewhere."""
    member = tied.copy()
    member[:-1] |= tied[1:]
    member[[0, -1]] = True
    return np.flatnonzero(member)


def _has_repeats(keys: Words) -> bool:
    """Say whether two rows may be the same document of one topic; equal keys of two documents are taken for it."""
    in_order = np.sort(keys)
    return bool((in_order[1:] == in_order[:-1]).any())


def _joined(parts: list[_Part], reference: Reference) -> KnownRun | None:
    """Give the run, if topics stand in one piece, scores fall in them, and no document stands twice across parts."""
    if not parts:
        return None
    topics, starts = _topics(parts)
    if len(set(topics)) != len(topics) or _repeats_across(parts) or _rises_across(parts):
        return None
    judged = np.concatenate([part.judged for part in parts])
    tied = np.concatenate([part.tied for part in parts])
    for row, before, part in zip(_first_rows(parts)[1:].tolist(), parts, parts[1:], strict=False):
        last, first = _compared(np.array([before.ends[1], part.ends[0]]), reference)
        tied[row] = last == first and _goes_on(before, part)
    offsets = np.append(starts, len(judged))
    if tied.any():
        _ties_by_id(judged, tied, parts)
    ids = pa.array(topics, pa.large_string())
    order = byte_order(ids)
    if not np.array_equal(order, np.arange(len(order))):
        counts = np.diff(offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(starts[order] - offsets[:-1], counts) + np.arange(len(judged))
        ids, judged, tied = taken(ids, order), judged[places], tied[places]
    first, *others = dict.fromkeys(tag for part in parts for tag in (part.first_tag, part.last_tag))
    return KnownRun(first, parts[-1].last_tag, ids, offsets, judged, tied=tied, other_tags=tuple(others))


def _first_rows(parts: list[_Part]) -> Places:
    """Give the row at which each part begins, and the end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])])


def _topics(parts: list[_Part]) -> tuple[list[str], Places]:
    """Give the topics as they stand in the file and where each begins; one that goes on into the next part is one."""
    topics = list(parts[0].topics)
    starts = [parts[0].starts]
    for first, part in zip(_first_rows(parts)[1:].tolist(), parts[1:], strict=False):
        goes_on = part.topics[0] == topics[-1]
        topics += part.topics[goes_on:]
        starts.append(part.starts[goes_on:] + first)
    return topics, np.concatenate(starts)


def _goes_on(before: _Part, part: _Part) -> bool:
    """Say whether the last topic of a part goes on into the next."""
    return part.topics[0] == before.topics[-1]


def _rises_across(parts: list[_Part]) -> bool:
    return any(_goes_on(before, part) and part.ends[0] > before.ends[1] for before, part in pairwise(parts))


def _repeats_across(parts: list[_Part]) -> bool:
    """Say whether a document may stand twice in a topic that goes on from one part into the next."""
    keys = parts[0].last_keys
    for before, part in pairwise(parts):
        if _goes_on(before, part):
            keys = np.concatenate([keys, part.first_keys])
            if _has_repeats(keys):
                return True
        if len(part.topics) > 1 or not _goes_on(before, part):
            keys = part.last_keys
    return False


def _ties_by_id(judged: Codes, tied: NDArray[np.bool_], parts: list[_Part]) -> None:
    """Bring what is known of rows that tie with the row above into the order of their ids, from high to low."""
    member = tied.copy()
    member[:-1] |= tied[1:]
    rows = np.concatenate([part.sharing + first for part, first in zip(parts, _first_rows(parts), strict=False)])
    chosen = np.flatnonzero(member[rows])
    rows = rows[chosen]
    group = np.cumsum(~tied[rows])  # a row that does not tie with the one above begins a group
    count = max(len(part.sharing_ids.words) for part in parts)
    # With their first byte highest, words are in the order of bytes; turned over, in the order from high to low.
    falling = [~_all_words(parts, number)[chosen].byteswap() for number in range(count)]
    judged[rows] = judged[rows[np.lexsort((*reversed(falling), group))]]


def _all_words(parts: list[_Part], number: int) -> Words:
    """Give one word of the documents that may share a score, of all parts; 0 where the ids of a part have ended."""
    return np.concatenate(
        [
            words[number] if number < len(words) else np.zeros(len(part.sharing), np.uint64)
            for part, words in ((part, part.sharing_ids.words) for part in parts)
        ]
    )
