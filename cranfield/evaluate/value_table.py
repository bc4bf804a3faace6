"""What the rows of qrels are worth, looked up for whole columns of documents at once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import as_text, places_in
from cranfield.evaluate.lists import NOT_POOLED, Counts
from cranfield.qrels.qrels import Qrels
from cranfield.runs.run import Codes, Run

Numbers = NDArray[np.int32]

LARGEST_TABLE = 1 << 24
THREADS = 2
_PIECE = 1 << 16
"""So many rows are looked up at once: what numpy makes of their numbers stays in the cache."""


class ValueTable:
    """Values of the rows of qrels by (topic, document): a dense table if that is small, else one row of it at a time.

    Everywhere else is NOT_POOLED. The row of the table for one topic is filled anew where it is not small.
    """

    def __init__(self, values: Numbers, qrels: Qrels, runs: Sequence[Run]) -> None:
        self._values, self._qrels = values, qrels
        self._value_of_row = np.concatenate([[NOT_POOLED], values]).astype(np.int32, copy=False)
        self._documents = _document_codes(qrels, runs)
        self._width = len(qrels.document_ids) + 1
        self.is_small = len(qrels.topic_ids) * self._width <= LARGEST_TABLE
        shape = (len(qrels.topic_ids) if self.is_small else 1, self._width if runs else 0)
        self._table = np.full(shape, NOT_POOLED, dtype=np.int32)
        if self.is_small and runs:
            self._table[qrels.topic_of_row, qrels.documents] = values

    def of_rows(self, rows: Codes, out: Numbers) -> None:
        """Fill in the value of each row of the qrels; that of -1 is NOT_POOLED."""
        for start in range(0, len(rows), _PIECE):
            piece = slice(start, start + _PIECE)
            self._value_of_row.take(rows[piece] + 1, out=out[piece], mode="clip")

    def of_documents(self, run: Run, topics: Codes, counts: Counts, documents: Codes, out: Numbers) -> None:
        """Fill in the values of documents, codes of the run, that stand topic by topic."""
        known = self._documents[id(run.document_ids)].take(documents, mode="clip")
        if self.is_small:
            known += np.repeat((topics * self._width).astype(np.int32), counts)
            self._table.ravel().take(known, out=out, mode="clip")
            return
        row, starts = self._table[0], self._qrels.offsets
        ends = np.cumsum(counts)
        for topic, start, end in zip(topics.tolist(), ends - counts, ends, strict=True):
            judged = slice(starts[topic], starts[topic + 1])
            row[self._qrels.documents[judged]] = self._values[judged]
            row.take(known[start:end], out=out[start:end], mode="clip")
            row[self._qrels.documents[judged]] = NOT_POOLED


def _document_codes(qrels: Qrels, runs: Sequence[Run]) -> dict[int, Codes]:
    """Give for each array of ids the qrels code of each id; one past the last where the qrels lack it.

    Runs that share one array of ids are looked up once, and many arrays in one go: the hash of the qrels' ids is made
    anew for every call.
    """
    distinct = {id(run.document_ids): run.document_ids for run in runs}
    parts = [as_text(ids) for ids in distinct.values()]
    shares = [parts[start::THREADS] for start in range(min(THREADS, len(parts)))]
    with ThreadPoolExecutor(THREADS) as threads:
        looked_up = list(threads.map(lambda share: _looked_up(share, qrels), shares))
    in_turn = [looked_up[place % len(shares)][place // len(shares)] for place in range(len(parts))]
    return dict(zip(distinct, in_turn, strict=True))


def _looked_up(arrays: list[pa.Array], qrels: Qrels) -> list[Codes]:
    """Give the qrels codes of several arrays of ids, looked up in one go."""
    codes = places_in(qrels.document_ids, pa.concat_arrays(arrays))
    codes = np.where(codes < 0, np.int32(len(qrels.document_ids)), codes)
    return np.split(codes, np.cumsum([len(ids) for ids in arrays])[:-1])
