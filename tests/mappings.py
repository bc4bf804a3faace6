"""Qrels and runs made of mappings, for tests of formulas and laws."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from cranfield.base.files import Source
from cranfield.qrels.qrels import Qrels, qrels_of
from cranfield.runs.run import Rows, Run, ranked


def qrels_from(judged: Mapping[str, Mapping[str, int]], *, name: str = "") -> Qrels:
    """Give qrels of topic -> document -> grade."""
    rows = [(topic, document, grade) for topic, grades in judged.items() for document, grade in grades.items()]
    return qrels_of(rows, name=name)


def run_from(scored: Mapping[str, Mapping[str, float]], *, tag: str = "run") -> Run:
    """Give a run of topic -> document -> score."""
    rows = [(topic, document, score) for topic, scores in scored.items() for document, score in scores.items()]
    topics = pa.array([row[0] for row in rows], pa.large_string()).dictionary_encode()
    documents = pa.array([row[1] for row in rows], pa.large_string()).dictionary_encode()
    return ranked(
        Rows(
            Source(Path("run")),
            topic_ids=topics.dictionary,
            topics=topics.indices.to_numpy(zero_copy_only=False).astype(np.int32),
            document_ids=documents.dictionary,
            documents=documents.indices.to_numpy(zero_copy_only=False).astype(np.int32),
            scores=np.array([row[2] for row in rows], dtype=float),
            ranks=None,
            tags=((tag, 1),),
        )
    )


def ranking_from(documents: Mapping[str, list[str]], *, tag: str = "run") -> Run:
    """Give a run of topic -> documents, best first."""
    scored = {
        topic: {document: float(len(found) - place) for place, document in enumerate(found)}
        for topic, found in documents.items()
    }
    return run_from(scored, tag=tag)
