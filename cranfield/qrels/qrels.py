"""Relevance judgments as columns: one grade per topic and document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.registry import Format, Registry
from cranfield.base.text import Number, Result, Table, table_of
from cranfield.runs.columns import (
    Codes,
    Places,
    as_text,
    byte_order,
    encoded,
    in_pieces,
    joined,
    joined_text,
    running_sum,
    taken,
    text_of,
    used_only,
)

qrels_formats: Registry[Format] = Registry(
    "qrels format", package="cranfield.qrels.formats", group="cranfield.qrels_formats"
)

Grades = NDArray[np.int32]


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
        for lines in self.lines("", "\t", "\t", "\n"):
            digest.update(lines)
        return digest.hexdigest()

    def lines(self, *around: str, spell: Callable[[str], str] = str, strata: bool = False) -> Iterator[memoryview]:
        """Lines of topic, document and grade with the words `around` them, some at a time; ids in a `spell`ing.

        With `strata` those of a sample stand before the grades, with a blank between.
        """
        topics, documents = (
            ids if spell is str else text_of([spell(word) for word in ids.to_pylist()])
            for ids in (self.topic_ids, self.document_ids)
        )
        columns: dict[str, Any] = {"topic": (topics, self.topic_of_row), "document": (documents, self.documents)}
        columns["grade"] = self.grades
        if strata and self.strata is not None:
            columns["stratum"] = text_of(self.stratum_names), self.strata
        before, middle, last, end = around
        for part in in_pieces(len(self), columns):
            stratum = (part["stratum"], " ") if "stratum" in part else ()
            words = (before, part["topic"], middle, part["document"], last, *stratum, part["grade"], end)
            yield joined_text(joined(*words))

    def write(self, stream: BinaryIO, format: str) -> None:
        """Write the qrels in a format."""
        qrels_formats.get(format).write(self, stream)

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """(topic, document, grade), sorted."""
        topics = taken(self.topic_ids, self.topic_of_row).to_pylist()
        documents = taken(self.document_ids, self.documents).to_pylist()
        return zip(topics, documents, self.grades.tolist(), strict=True)

    def counts(self) -> dict[str, int]:
        """Count the rows by grade, the grades as text, as JSON wants its keys."""
        return {str(grade): count for grade, count in sorted(Counter(self.grades.tolist()).items())}

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, whatever files they came from."""
        if not isinstance(other, Qrels):
            return NotImplemented
        return self.content_hash == other.content_hash


def sorted_qrels(
    topics: tuple[pa.Array, Codes],
    documents: tuple[pa.Array, Codes],
    grades: Grades,
    *,
    strata: Codes | None = None,
    stratum_names: tuple[str, ...] = (),
    name: str = "",
) -> Qrels:
    """Qrels of columns in any order; topics and documents come as (distinct ids, code of each row).

    No pair may stand twice: whoever reads foreign rows looks for that first.
    """
    topic_ids, topic_codes = in_byte_order(*topics)
    document_ids, document_codes = in_byte_order(*documents)
    order = np.argsort(pair_keys(topic_codes, document_codes), kind="stable")
    counts = np.bincount(topic_codes, minlength=len(topic_ids))
    return Qrels(
        topic_ids=topic_ids,
        offsets=running_sum(counts),
        document_ids=document_ids,
        documents=document_codes[order],
        grades=grades[order],
        strata=None if strata is None else strata[order],
        stratum_names=stratum_names,
        name=name,
    )


def qrels_of(rows: Sequence[tuple[str, str, int]], *, name: str = "") -> Qrels:
    """Qrels of (topic, document, grade) in any order."""
    topics, documents, grades = zip(*rows, strict=True) if rows else ((), (), ())
    return sorted_qrels(encoded(topics), encoded(documents), np.array(grades, dtype=np.int32), name=name)


def pair_keys(topics: Codes, documents: Codes) -> Places:
    """One number per pair of a topic and a document, in the order of topics and then documents."""
    return (topics.astype(np.int64) << 32) | documents


def in_byte_order(ids: pa.Array, codes: Codes) -> tuple[pa.Array, Codes]:
    """Distinct ids sorted by their bytes, and the codes of the rows among them."""
    order = byte_order(ids)
    if np.array_equal(order, np.arange(len(order))):
        return ids, codes
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return taken(ids, order), place[codes]


# The same qrels seen otherwise: in two grades, with what was pooled and never judged, as a sample by strata.

UNJUDGED = -1
"""The grade of a document that is in the pool and was not judged, as trec_eval has it."""

JUNK = -2
"""The grade under which TREC's web tracks have spam: judged, and useless to anyone; read as not judged here."""

BESIDE = "beside"
"""The stratum of what was judged and no step of a plan chose: found by searching, imported, asked for by name."""


def binary(qrels: Qrels, *, relevant_from: int) -> Qrels:
    """1 for grades from `relevant_from` up and 0 for those below; what is not judged stays so."""
    grades = np.where(qrels.grades < 0, qrels.grades, (qrels.grades >= relevant_from).astype(np.int32))
    return replace(qrels, grades=grades.astype(np.int32))


def judged_only(qrels: Qrels) -> Qrels:
    """The qrels without the rows of what was pooled but not judged."""
    kept = qrels.grades >= 0
    if kept.all():
        return qrels
    return sorted_qrels(
        used_only(qrels.topic_ids, qrels.topic_of_row[kept]),
        used_only(qrels.document_ids, qrels.documents[kept]),
        qrels.grades[kept],
        strata=None if qrels.strata is None else qrels.strata[kept],
        stratum_names=qrels.stratum_names,
        name=qrels.name,
    )


def with_unjudged(qrels: Qrels, pooled: Sequence[tuple[str, str]]) -> Qrels:
    """Add the pooled (topic, document) that have no grade, with the grade -1."""
    topics, documents = zip(*pooled, strict=True) if pooled else ((), ())
    all_topics, all_documents = (
        pa.concat_arrays([taken(as_text(ids), rows), text_of(words)])
        for ids, rows, words in (
            (qrels.topic_ids, qrels.topic_of_row, topics),
            (qrels.document_ids, qrels.documents, documents),
        )
    )
    grades = np.concatenate([qrels.grades, np.full(len(pooled), UNJUDGED, dtype=np.int32)])
    keys = pair_keys(encoded(all_topics)[1], encoded(all_documents)[1])
    # What is judged stands first, and the first row of a pair is the one that stays.
    _, first = np.unique(keys, return_index=True)
    columns = encoded(taken(all_topics, first)), encoded(taken(all_documents, first))
    return sorted_qrels(*columns, grades[first], name=qrels.name)


def with_strata(
    qrels: Qrels, chosen: Mapping[tuple[str, str], str], passed_over: Mapping[tuple[str, str], str]
) -> Qrels:
    """Qrels with the stratum of each row: of those a plan chose, and of those that a sample passed over.

    What was passed over and judged all the same was not drawn: somebody went for it. It leaves its stratum and
    stands, like all that no plan chose, for itself alone.
    """
    names: dict[str, int] = {}
    strata = np.empty(len(qrels), dtype=np.int32)
    for place, (topic, document, grade) in enumerate(qrels):
        pair = topic, document
        name = chosen.get(pair) or (passed_over.get(pair, BESIDE) if grade < 0 else BESIDE)
        strata[place] = names.setdefault(name, len(names))
    return replace(qrels, strata=strata, stratum_names=tuple(names))


# What changed from one set of qrels to another.


class Change(NamedTuple):
    """One document of one topic that was added, removed or changed; a grade is None where one side has none."""

    what: str
    topic: str
    document: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Difference(Result):
    """Two sets of qrels compared."""

    changes: tuple[Change, ...]
    remarks: Sequence[str] = ()

    def table(self) -> Table:
        """One row for each change."""
        return table_of(["what", "topic", "document", Number("before"), Number("after")], self.changes)


def difference(before: Qrels, after: Qrels) -> Difference:
    """Compare two sets of qrels, pair by pair; a document that was pooled but not judged has the grade -1."""
    old, new = ({(topic, document): grade for topic, document, grade in rows} for rows in (before, after))
    changes = []
    for pair in sorted(old.keys() | new.keys()):
        if (had := old.get(pair)) != (has := new.get(pair)):
            what = "added" if had is None else "removed" if has is None else "changed"
            changes.append(Change(what, *pair, had, has))
    return Difference(tuple(changes))
