"""One ranked list laid open: what stands at each rank, and what precision, recall and DCG are so far."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.evaluate.align import Alignment, Reference, align
from cranfield.evaluate.lists import NOT_POOLED, Gains
from cranfield.evaluate.measures.gain import GradeGains, gain_function
from cranfield.evaluate.novelty import Clusters, by_novelty
from cranfield.evaluate.ranking import documents_of
from cranfield.qrels.qrels import Qrels
from cranfield.runs.run import Run

State = str
"""What is known of a document: its grade as text, `unjudged` (pooled, without a grade) or `not pooled`.

With novelty a grade may be followed by `copy`: then the document counts as not relevant.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One rank: the document, what is known of it, and the measures of the list down to here."""

    rank: int
    document: str
    state: State
    relevant: bool
    precision: float
    recall: float
    dcg: float


def explain(
    qrels: Qrels,
    run: Run,
    topic: str,
    *,
    rel: int = 1,
    gains: GradeGains = (),
    depth: int | None = None,
    reference: Reference = "10",
    ties: Literal["trec", "best", "worst"] = "trec",
    clusters: Clusters | None = None,
) -> list[Step]:
    """Give the first ranks of a run's list for a topic; none where the run lacks the topic.

    `ties` puts the highest or the lowest grades first within each tie. With `clusters` later members of a cluster
    count as not relevant, and each cluster once.
    """
    aligned = align(qrels, [run], topics=[topic], reference=reference)
    lists = aligned.lists if clusters is None else by_novelty(aligned, qrels, [run], clusters).lists
    order = _order(aligned, ties)
    documents = documents_of(run, topic, reference=reference)
    relevant = max(int(lists.relevant_count(rel)[0]), 1)
    rows = [
        (
            documents[place],
            _state(int(aligned.lists.grades[place]), int(lists.grades[place])),
            int(lists.grades[place]),
        )
        for place in order[:depth].tolist()
    ]
    return list(_steps(rows, rel, relevant, gain_function("linear", gains)))


def relevant_documents(qrels: Qrels, topic: str, *, rel: int = 1) -> dict[str, int]:
    """Give the relevant documents of a topic with their grades, the highest first."""
    if topic not in qrels.topics:
        return {}
    place = qrels.topics.index(topic)
    rows = np.arange(qrels.offsets[place], qrels.offsets[place + 1])
    rows = rows[qrels.grades[rows] >= rel]
    rows = rows[np.argsort(-qrels.grades[rows], kind="stable")]
    documents = qrels.document_ids.take(pa.array(qrels.documents[rows])).to_pylist()
    return dict(zip(documents, qrels.grades[rows].tolist(), strict=True))


def _order(aligned: Alignment, ties: str) -> NDArray[np.intp]:
    """Give the places of the documents, those of a tie by their grades where that is asked for."""
    if ties == "trec":
        return np.arange(len(aligned.tied))
    worth = np.maximum(aligned.lists.grades.astype(np.int64), 0)
    return np.lexsort((-worth if ties == "best" else worth, np.cumsum(~aligned.tied)))


def _steps(rows: list[tuple[str, State, int]], rel: int, relevant: int, gains: Gains) -> Iterator[Step]:
    found, dcg = 0, 0.0
    worth = gains(np.array([grade for _, _, grade in rows], dtype=np.int32)).tolist()
    for rank, (document, state, grade) in enumerate(rows, start=1):
        found += grade >= rel
        dcg += (worth[rank - 1] if grade >= 0 else 0.0) / np.log2(rank + 1)
        yield Step(rank, document, state, grade >= rel, found / rank, found / relevant, float(dcg))


def _state(grade: int, counted: int) -> State:
    if grade == NOT_POOLED:
        return "not pooled"
    if grade < 0:
        return "unjudged"
    return str(grade) if grade == counted else f"{grade} copy"
