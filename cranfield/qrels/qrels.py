"""Relevance judgments as columns: one grade per topic and document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.arrow import as_digits, byte_order, joined, taken
from cranfield.runs.run import Codes, Places, joined_text

Grades = NDArray[np.int32]

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgments, sorted: topics in byte order of their ids, and within a topic documents in byte order.

    The rows of the topic i are `offsets[i]` up to `offsets[i + 1]`; row j is the document
    `document_ids[documents[j]]` with `grades[j]`. The ids are distinct and in byte order themselves. A grade below 0
    means: in the pool, but not judged. `strata` gives each row's sampling stratum as a code into `stratum_names`;
    None where the judgments are no sample.
    """

    topic_ids: pa.Array
    offsets: Places
    document_ids: pa.Array
    documents: Codes
    grades: Grades
    strata: Codes | None = None
    stratum_names: tuple[str, ...] = ()
    name: str = ""

    def __len__(self) -> int:
        return len(self.grades)

    @property
    def topics(self) -> list[str]:
        """The topic ids, in byte order."""
        return list(self.topic_ids.to_pylist())

    @cached_property
    def topic_of_row(self) -> Codes:
        """The place of each row's topic."""
        return np.repeat(np.arange(len(self.topic_ids), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def content_hash(self) -> str:
        r"""SHA-256 of what the qrels say, whatever file, order, compression or format they came in.

        Over these bytes: the line `cranfield-qrels-1\n`, then one line per row, sorted by the bytes of the topic and
        then of the document: topic, tab, document, tab, grade in decimal digits (with - where negative), line feed.
        The iteration column and the strata are no part.
        """
        digest = sha256(b"cranfield-qrels-1\n")
        for start in range(0, len(self), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            lines = joined(
                taken(self.topic_ids, self.topic_of_row[rows]),
                taken(self.document_ids, self.documents[rows]),
                joined(as_digits(self.grades[rows]), "\n", between=""),
                between="\t",
            )
            digest.update(joined_text(lines))
        return digest.hexdigest()

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Give (topic, document, grade), sorted."""
        topics = taken(self.topic_ids, self.topic_of_row).to_pylist()
        documents = taken(self.document_ids, self.documents).to_pylist()
        return zip(topics, documents, self.grades.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, whatever files they came from."""
        if not isinstance(other, Qrels):
            return NotImplemented
        return self.content_hash == other.content_hash

    def __hash__(self) -> int:
        return hash(self.content_hash)


def sorted_qrels(
    topics: tuple[pa.Array, Codes],
    documents: tuple[pa.Array, Codes],
    grades: Grades,
    *,
    strata: Codes | None = None,
    stratum_names: tuple[str, ...] = (),
    name: str = "",
) -> Qrels:
    """Give qrels of columns in any order; topics and documents come as (distinct ids, code of each row).

    No pair may stand twice: whoever reads foreign rows looks for that first.
    """
    topic_ids, topic_codes = in_byte_order(*topics)
    document_ids, document_codes = in_byte_order(*documents)
    order = np.argsort(pair_keys(topic_codes, document_codes), kind="stable")
    counts = np.bincount(topic_codes, minlength=len(topic_ids))
    return Qrels(
        topic_ids=topic_ids,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        document_ids=document_ids,
        documents=document_codes[order],
        grades=grades[order],
        strata=None if strata is None else strata[order],
        stratum_names=stratum_names,
        name=name,
    )


def qrels_of(rows: Sequence[tuple[str, str, int]], *, name: str = "") -> Qrels:
    """Give qrels of (topic, document, grade) in any order."""
    topics, documents, grades = zip(*rows, strict=True) if rows else ((), (), ())
    return sorted_qrels(_coded(topics), _coded(documents), np.array(grades, dtype=np.int32), name=name)


def pair_keys(topics: Codes, documents: Codes) -> Places:
    """Give one number per pair of a topic and a document, in the order of topics and then documents."""
    return (topics.astype(np.int64) << 32) | documents


def in_byte_order(ids: pa.Array, codes: Codes) -> tuple[pa.Array, Codes]:
    """Give distinct ids sorted by their bytes, and the codes of the rows among them."""
    order = byte_order(ids)
    if np.array_equal(order, np.arange(len(order))):
        return ids, codes
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return taken(ids, order), place[codes]


def _coded(values: Sequence[str]) -> tuple[pa.Array, Codes]:
    encoded = pa.array(list(values), pa.large_string()).dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
