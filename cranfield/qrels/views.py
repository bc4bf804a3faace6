"""The same qrels seen otherwise: in two grades, with what was pooled and never judged, as a sample by strata."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cranfield.qrels.qrels import Qrels, pair_keys, sorted_qrels
from cranfield.runs.columns import encoded

UNJUDGED = -1
"""The grade of a document that is in the pool and was not judged, as trec_eval has it."""

BESIDE = "beside"
"""The stratum of what was judged and no step of a plan chose: found by searching, imported, asked for by name."""


def binary(qrels: Qrels, *, relevant_from: int) -> Qrels:
    """Give 1 for grades from `relevant_from` up and 0 for those below; what is not judged stays so."""
    grades = np.where(qrels.grades < 0, qrels.grades, (qrels.grades >= relevant_from).astype(np.int32))
    return replace(qrels, grades=grades.astype(np.int32))


def judged_only(qrels: Qrels) -> Qrels:
    """Give the qrels without the rows of what was pooled but not judged."""
    kept = qrels.grades >= 0
    if kept.all():
        return qrels
    topics = qrels.topic_ids.take(pa.array(qrels.topic_of_row[kept]))
    documents = qrels.document_ids.take(pa.array(qrels.documents[kept]))
    return replace(
        _of_columns(topics, documents, qrels.grades[kept], name=qrels.name),
        strata=None if qrels.strata is None else qrels.strata[kept],
        stratum_names=qrels.stratum_names,
    )


def with_unjudged(qrels: Qrels, pooled: Sequence[tuple[str, str]]) -> Qrels:
    """Add the pooled (topic, document) that have no grade, with the grade -1."""
    topics, documents = zip(*pooled, strict=True) if pooled else ((), ())
    all_topics = _column(topics, qrels.topic_ids.take(pa.array(qrels.topic_of_row)))
    all_documents = _column(documents, qrels.document_ids.take(pa.array(qrels.documents)))
    grades = np.concatenate([qrels.grades, np.full(len(pooled), UNJUDGED, dtype=np.int32)])
    keys = pair_keys(encoded(all_topics)[1], encoded(all_documents)[1])
    # What is judged stands first, and the first row of a pair is the one that stays.
    _, first = np.unique(keys, return_index=True)
    kept = pa.array(first)
    return _of_columns(all_topics.take(kept), all_documents.take(kept), grades[first], name=qrels.name)


def with_strata(
    qrels: Qrels, chosen: Mapping[tuple[str, str], str], passed_over: Mapping[tuple[str, str], str]
) -> Qrels:
    """Give each row its stratum, by (topic, document): of those a plan chose, and of those a sample passed over.

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


def _column(words: Sequence[str], before: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([before.cast(pa.large_string()), pa.array(words, pa.large_string())])


def _of_columns(
    topics: pa.Array, documents: pa.Array, grades: "np.ndarray[tuple[int], np.dtype[np.int32]]", *, name: str
) -> Qrels:
    columns = [
        column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        for column in (topics, documents)
    ]
    return sorted_qrels(encoded(columns[0]), encoded(columns[1]), grades, name=name)
