"""All ids of one kind that a collection knows, and their codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from cranfield.arrow import TEXT, as_text, equal, lengths_of, places_in, taken
from cranfield.errors import CollectionError
from cranfield.runs.encoding import CodedRun
from cranfield.runs.keys import KeyIndex, keys_of
from cranfield.runs.packing import packed, unpacked
from cranfield.runs.run import Codes, Order, Run, joined_text

UNKNOWN = -1
"""The code of an id that a table does not have."""

_FEW = 4


@dataclass(frozen=True, eq=False)
class IdTable:
    """The ids of one kind in the order of their codes: the code of an id is its place.

    Ids never change or leave, so that a code means the same for ever. A table is a value: `with_new` gives another.
    """

    ids: pa.Array
    known_index: KeyIndex | None = None

    @staticmethod
    def empty() -> "IdTable":
        """Give a table without ids."""
        return IdTable(as_ids([]))

    @staticmethod
    def of(values: "pa.Array | pa.ChunkedArray | Sequence[str]") -> "IdTable":
        """Give the table of some distinct ids."""
        return IdTable(as_ids(values))

    def __len__(self) -> int:
        return len(self.ids)

    def lookup(self, values: "pa.Array | pa.ChunkedArray | Sequence[str]") -> Codes:
        """Give the codes of some ids, -1 for those the table does not have.

        Many ids are looked up through a hash of the whole table, made anew; few through an index that stays.
        """
        values = as_ids(values)
        if not len(self):
            return np.full(len(values), UNKNOWN, dtype=np.int32)
        if len(values) * _FEW > len(self):
            return self._hashed(values)
        return self._indexed(values)

    def extended(self, values: "pa.Array | pa.ChunkedArray | Sequence[str]") -> tuple[Codes, pa.Array]:
        """Give the codes of some distinct ids, and those that are new, which get the next codes in their order."""
        values = as_ids(values)
        codes = self.lookup(values)
        new = np.flatnonzero(codes == UNKNOWN)
        codes[new] = np.arange(len(self), len(self) + len(new), dtype=np.int32)
        return codes, values if len(new) == len(values) else taken(values, new)

    def with_new(self, new: "pa.Array | pa.ChunkedArray | Sequence[str]") -> "IdTable":
        """Give the table with some new ids after its own."""
        new = as_ids(new)
        if not len(new):
            return self
        ids = pa.concat_arrays([self.ids, new])
        if len(new) * _FEW > len(self):
            return IdTable(ids)
        return IdTable(ids, self._index.merged(KeyIndex.of(keys_of(new), first_code=len(self))))

    @cached_property
    def _index(self) -> KeyIndex:
        return self.known_index or KeyIndex.of(keys_of(self.ids))

    def _hashed(self, values: pa.Array) -> Codes:
        return places_in(self.ids, values)

    def _indexed(self, values: pa.Array) -> Codes:
        codes = self._index.candidates(keys_of(values))
        found = np.flatnonzero(codes != UNKNOWN)
        other = found[~equal(taken(self.ids, codes[found]), taken(values, found))]
        if len(other):  # two ids with one key: rare enough to be looked up the long way
            codes[other] = self._hashed(taken(values, other))
        return codes


def as_ids(values: "pa.Array | pa.ChunkedArray | Sequence[str]") -> pa.Array:
    """Give strings as one Arrow array of the type that all ids have here."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if not isinstance(values, pa.Array):
        return pa.array(values, TEXT)
    return as_text(values)


def encode_page(ids: "pa.Array | pa.ChunkedArray | Sequence[str]") -> bytes:
    """Give the stored form of some ids: their text in one piece and their lengths, as compressed Arrow."""
    ids = as_ids(ids)
    lengths = lengths_of(ids).astype(np.int32)
    return packed({"lengths": lengths, "text": np.frombuffer(joined_text(ids), dtype=np.uint8)})


def decode_page(data: bytes) -> pa.Array:
    """Give the ids of a stored page."""
    try:
        columns = unpacked(data, {"lengths": "<i4", "text": "u1"})
        ends = np.concatenate([[0], np.cumsum(columns["lengths"], dtype=np.int64)])
        ids = pa.Array.from_buffers(TEXT, len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(columns["text"])])
        ids.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise CollectionError(f"a stored page of ids is damaged: {error}") from None
    return ids


def coded(run: Run, topic_codes: Codes, document_codes: Codes) -> CodedRun:
    """Give a run in the codes of a collection: one code for each of its topic ids and distinct document ids."""
    return CodedRun(topic_codes, run.offsets, document_codes[run.documents], run.scores)


def from_coded(coded: CodedRun, topic_table: IdTable, document_table: IdTable, tag: str, order: Order) -> Run:
    """Give the run that a stored ranking means, with no more ids than it needs."""
    used = np.unique(coded.documents)
    return Run(
        tag=tag,
        topic_ids=taken(topic_table.ids, coded.topics),
        offsets=coded.offsets,
        document_ids=taken(document_table.ids, used),
        documents=np.searchsorted(used, coded.documents).astype(np.int32),
        scores=coded.scores,
        order=order,
    )
