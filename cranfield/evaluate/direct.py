"""The short way from an ordinary run file to its grades: no ids are kept, only what the qrels say of each row.

A file is ordinary if each line has six columns with one blank (or one tab) between them, each topic stands in one
piece with its scores falling, and no document stands twice in a topic. Whatever else a file is, it takes the long
way through `cranfield.runs`, which tells what is wrong with it; both ways give the same grades.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import byte_order, taken
from cranfield.evaluate.align import KnownRun, Reference
from cranfield.evaluate.fields import Ids, Letters, Words, ordinary_lines, with_room
from cranfield.evaluate.judged_pairs import NONE, JudgedPairs, pairs_of
from cranfield.runs.order import as_float32
from cranfield.runs.run import Codes, Places, Scores
from cranfield.source import UTF8_BOM, Source

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
