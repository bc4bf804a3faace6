"""What the tests of reuse share: made collections in which every label is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

from cranfield.evaluate.align import Alignment, align
from cranfield.qrels.qrels import Qrels, sorted_qrels
from cranfield.reuse.provenance import Contributor, Provenance, provenance_of
from cranfield.runs.run import Run


@dataclass(frozen=True, eq=False)
class Made:
    """A made collection: runs, the qrels of the pool, those of everything, and who fed the pool."""

    runs: list[Run]
    qrels: Qrels
    everything: Qrels
    alignment: Alignment
    prefixes: Provenance
    outsiders: list[int]


def _made(
    *,
    seed: int = 1,
    topics: int = 30,
    documents: int = 150,
    groups: int = 8,
    pooled: int | None = None,
    runs: int = 1,
    rates: Sequence[float] = (0.15,),
    depth: int = 10,
    length: int = 40,
    taste: float = 1.0,
) -> Made:
    """Make runs that mix relevance with the taste of their group; `rates` is the share of each grade or more."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=(topics, documents))
    cuts = np.array([NormalDist().inv_cdf(1 - rate) for rate in rates]) + 0.5 * rng.normal(size=(topics, 1, 1))
    grades = (worth[:, :, np.newaxis] > cuts).sum(axis=2)
    quality = np.exp(0.4 * rng.normal(size=groups))
    topic_ids = pa.array([f"t{number:03}" for number in range(topics)], pa.large_string())
    document_ids = pa.array([f"d{number:04}" for number in range(documents)], pa.large_string())
    made, contributors, judged = [], [], np.zeros(grades.shape, dtype=bool)
    for group in range(groups):
        liked = taste * rng.normal(size=worth.shape)
        for number in range(runs):
            scores = quality[group] * worth + liked + 0.4 * rng.normal(size=worth.shape)
            best = np.argsort(-scores, axis=1)[:, :length]
            falling = np.tile(np.arange(length, 0, -1.0), topics)
            offsets = np.arange(topics + 1, dtype=np.int64) * length
            tag = f"run-{group}-{number}"
            made.append(Run(tag, topic_ids, offsets, document_ids, best.ravel().astype(np.int32), falling))
            fed = pooled is None or group < pooled
            contributors.append(Contributor(tag, f"group-{group}", contributing=fed))
            if fed:
                np.put_along_axis(judged, best[:, :depth], values=True, axis=1)
    qrels, everything = (_qrels(topic_ids, document_ids, grades, kept) for kept in (judged, judged | True))
    alignment = align(qrels, made, keep_rows=True)
    return Made(
        runs=made,
        qrels=qrels,
        everything=everything,
        alignment=alignment,
        prefixes=provenance_of(alignment, qrels, made, contributors, depth=depth),
        outsiders=[place for place, one in enumerate(contributors) if not one.contributing],
    )


def _qrels(topic_ids: pa.Array, document_ids: pa.Array, grades: np.ndarray, kept: np.ndarray) -> Qrels:
    topic, document = (places.astype(np.int32) for places in np.nonzero(kept))
    labels = grades[topic, document].astype(np.int32)
    return sorted_qrels((topic_ids, topic), (document_ids, document), labels)


@pytest.fixture(scope="session")
def made() -> Callable[..., Made]:
    """Give a function that makes a collection."""
    return _made
