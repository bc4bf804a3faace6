"""Where in the qrels a pair of topic and document stands, for whole columns of pairs at once."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.arrow import as_text
from cranfield.evaluate.fields import LONGEST_ID, Ids, Words, ids_at, with_room
from cranfield.qrels.qrels import Qrels
from cranfield.runs.run import Codes, Places, joined_text

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


def _at(values: NDArray[Value], places: "Places | Codes") -> NDArray[Value]:
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
