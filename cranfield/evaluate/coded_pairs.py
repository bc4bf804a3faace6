"""The short way from a stored ranking to what the qrels say of it: codes of the collection lead to their rows."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import places_in
from cranfield.errors import CollectionError
from cranfield.evaluate.known import KnownRun
from cranfield.evaluate.value_table import LARGEST_TABLE
from cranfield.qrels.qrels import Qrels
from cranfield.runs.encoding import CodedOrder
from cranfield.runs.run import Codes

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

    def known(self, ranking: CodedOrder, topic_ids: pa.Array, *, name: str, has_ties: bool) -> KnownRun:
        """Give what is known of a ranking; without ties it means its own order. A stored run repeats no document."""
        topics, documents = ranking.topics, ranking.documents
        if _beyond(documents, self.width) or _beyond(topics, len(self.lines)):
            raise CollectionError("a stored run is damaged: it names ids that the collection does not have")
        first = np.repeat((self.lines[topics] * self.width).astype(np.int32), np.diff(ranking.offsets))
        first += documents
        judged = self.rows.take(first, mode="clip")
        tied: NDArray[np.bool_] = ranking.tied if has_ties else np.zeros(len(documents), dtype=bool)
        return KnownRun(name, name, topic_ids, ranking.offsets, judged, tied=tied)


def coded_pairs(qrels: Qrels, topic_ids: pa.Array, document_ids: pa.Array) -> CodedPairs | None:
    """Give the pairs of qrels in codes: places in the ids of a collection. None where the table is too large."""
    topics, width = len(qrels.topic_ids), len(document_ids)
    if (topics + 1) * width > LARGEST_TABLE:
        return None
    document = places_in(document_ids, qrels.document_ids)[qrels.documents]
    lines = places_in(qrels.topic_ids, topic_ids)
    rows = np.full((topics + 1) * width, NONE, dtype=np.int32)
    there = np.flatnonzero(document >= 0)
    rows[qrels.topic_of_row[there].astype(np.int64) * width + document[there]] = there
    return CodedPairs(rows, np.where(lines < 0, np.int32(topics), lines), width)


def _beyond(codes: Codes, size: int) -> bool:
    return bool(len(codes)) and (int(codes.min()) < 0 or int(codes.max()) >= size)
