"""One ranked list laid open: what stands at each rank, and what precision, recall and DCG are so far."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cranfield.evaluate.align import Reference, align
from cranfield.evaluate.lists import NOT_POOLED
from cranfield.qrels.qrels import Qrels
from cranfield.runs.order import order_as_float32, taken
from cranfield.runs.run import Run

State = str
"""What is known of a document: its grade as text, `unjudged` (pooled, without a grade) or `not pooled`."""


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
    qrels: Qrels, run: Run, topic: str, *, rel: int = 1, depth: int | None = None, reference: Reference = "10"
) -> list[Step]:
    """Give the first ranks of a run's list for a topic; none where the run lacks the topic."""
    lists = align(qrels, [run], topics=[topic], reference=reference).lists
    documents = documents_of(run, topic, reference=reference)[:depth]
    relevant = max(int(lists.relevant_count(rel)[0]), 1)
    return list(_steps(documents, lists.grades.tolist(), rel, relevant))


def documents_of(run: Run, topic: str, *, reference: Reference = "10") -> list[str]:
    """Give the documents of a topic, best first."""
    topics = run.topic_ids.to_pylist()
    if topic not in topics:
        return []
    place = topics.index(topic)
    codes = taken(run.documents, order_as_float32(run)) if reference == "9" else run.documents
    chosen = codes[run.offsets[place] : run.offsets[place + 1]]
    return list(run.document_ids.take(pa.array(chosen)).to_pylist())


def _steps(documents: list[str], grades: list[int], rel: int, relevant: int) -> Iterator[Step]:
    found, dcg = 0, 0.0
    for rank, (document, grade) in enumerate(zip(documents, grades, strict=False), start=1):
        found += grade >= rel
        dcg += max(grade, 0) / np.log2(rank + 1)
        yield Step(rank, document, _state(grade), grade >= rel, found / rank, found / relevant, float(dcg))


def _state(grade: int) -> State:
    if grade == NOT_POOLED:
        return "not pooled"
    return "unjudged" if grade < 0 else str(grade)
