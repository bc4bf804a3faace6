"""Where in the qrels a pair of topic and document stands, for whole columns of pairs at once."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from cranfield.evaluate.fields import LONGEST_ID, Ids, Words, ids_at, padded
from cranfield.qrels.qrels import Qrels
from cranfield.runs.run import Codes, joined_text

_MULTIPLIER = 0x9E3779B97F4A7C15
_MIXER = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_ROOM = 3
"""The table has 2^3 to 2^4 slots for each pair, so that few pairs share one."""

NONE = -1


def topic_key(topic: str) -> int:
    """Give a number for a topic: 64 bits of a hash of its name."""
    return int.from_bytes(blake2b(topic.encode(), digest_size=8).digest(), "little")


def pair_keys(topics: Words, documents: Ids) -> Words:
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


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The pairs of qrels by their keys: a table of slots, each with a row of the qrels, from which others may follow.

    A key is a hint: rows that are found by it are compared byte for byte.
    """

    qrels: Qrels
    keys: Words
    documents: Ids
    head: Codes
    following: Codes

    @cached_property
    def topic_codes(self) -> dict[str, int]:
        """The place of each topic of the qrels."""
        return {topic: place for place, topic in enumerate(self.qrels.topics)}

    def rows(self, keys: Words, topics: Codes, documents: Ids) -> Codes | None:
        """Give the row of the qrels that each pair is, -1 where they lack it; None where two pairs have one key.

        `topics` are places among the topics of the qrels; -1 for others.
        """
        rows = self._rows(keys)
        found = np.flatnonzero(rows != NONE)
        known = rows[found]
        same = self.qrels.topic_of_row[known] == topics[found]
        same &= self.documents.take(self.qrels.documents[known]).same(documents.take(found))
        return rows if same.all() else None

    def _rows(self, keys: Words) -> Codes:
        """Give for each key the row of the qrels that has it, or -1."""
        rows: Codes = self.head.take((keys >> _shift(len(self.head))).view(np.int64), mode="clip")
        asked = np.flatnonzero(rows != NONE)
        while len(asked):
            here = rows[asked]
            asked = asked[self.keys[here] != keys[asked]]
            rows[asked] = self.following[rows[asked]]
            asked = asked[rows[asked] != NONE]
        return rows


def judged_pairs(qrels: Qrels) -> JudgedPairs | None:
    """Give the pairs of qrels by their keys; None where that cannot be: a very long id, two pairs of one key."""
    documents = _ids(qrels)
    if documents is None or not len(qrels):
        return None
    topics = np.array([topic_key(topic) for topic in qrels.topics], dtype=np.uint64)
    keys = pair_keys(topics[qrels.topic_of_row], documents.take(qrels.documents))
    head = np.full(1 << (len(qrels).bit_length() + _ROOM), NONE, dtype=np.int32)
    slots = keys >> _shift(len(head))
    order = np.argsort(keys).astype(np.int32)  # and so by slots, the first bits of the keys
    if (keys[order[1:]] == keys[order[:-1]]).any():
        return None
    following = np.full(len(keys), NONE, dtype=np.int32)
    together = slots[order[1:]] == slots[order[:-1]]
    following[order[:-1][together]] = order[1:][together]
    first = order[np.concatenate([[True], ~together])]
    head[slots[first]] = first
    return JudgedPairs(qrels, keys, documents, head, following)


def _ids(qrels: Qrels) -> Ids | None:
    ids = qrels.document_ids.cast(pa.large_string())
    ends = np.frombuffer(ids.buffers()[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    lengths = np.diff(ends)
    if lengths.max(initial=0) > LONGEST_ID:
        return None
    return ids_at(padded(joined_text(ids)), ends[:-1] - ends[0], lengths)


def _shift(slots: int) -> np.uint64:
    return np.uint64(64 - (slots.bit_length() - 1))
