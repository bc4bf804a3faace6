"""Makes TREC-shaped runs, qrels and groups of any size, from a seed.

    python -m benchmarks.generate OUT --topics 50 --documents 1000 --runs 129 --groups 43

Each topic has a latent relevance over some candidates, each group its own taste, each run its own noise; a run's
scores are a mixture of the three, so that runs of a group look alike and all runs look a little alike.
`OUT` receives `runs/*.run`, `qrels.txt` (pooled, with grades 0-3) and `groups.tsv` (tag, group, pooled or new).
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

SMALL = bool(os.environ.get("CRANFIELD_SMALL"))
"""Set by the tests: everything is made so small that only the way is tried."""

_SMALL_SHAPE = {
    "topics": 3,
    "documents": 120,
    "ids": 900,
    "runs": 6,
    "groups": 3,
    "pooled_groups": 2,
    "pool_depth": 5,
}


@dataclass(frozen=True)
class Shape:
    """How large the generated collection is, and how alike its runs are.

    `similarity` (0 to 1) is the share of a run's score variance that its group shares; `consensus` (0 to 1) the
    share of the group's taste that comes from the topic and so is common to all groups.
    """

    topics: int = 50
    documents: int = 1000
    ids: int = 500_000
    runs: int = 1
    groups: int = 1
    pooled_groups: int | None = None
    similarity: float = 0.6
    consensus: float = 0.5
    pool_depth: int = 100
    digits: int = 6
    seed: int = 1

    def __post_init__(self) -> None:
        """Stay below some small size where the tests want to know only that a benchmark runs to its end."""
        if SMALL:
            for name, most in _SMALL_SHAPE.items():
                if (getattr(self, name) or 0) > most:
                    object.__setattr__(self, name, most)


@dataclass(frozen=True)
class Ranking:
    """One run as matrices of topics by ranks: document numbers and scores."""

    tag: str
    documents: np.ndarray
    scores: np.ndarray


_TOPICS_AT_ONCE = 256


def write_collection(shape: Shape, folder: Path) -> None:
    """Write runs, qrels and groups of this shape into `folder`."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    pooled = shape.groups if shape.pooled_groups is None else shape.pooled_groups
    pairs: list[np.ndarray] = []
    with (folder / "groups.tsv").open("w", encoding="utf-8") as groups:
        for number, ranking in enumerate(rankings(shape)):
            group = number % shape.groups
            write_run(ranking, folder / "runs" / f"{ranking.tag}.run")
            groups.write(f"{ranking.tag}\tgroup{group:03d}\t{'pooled' if group < pooled else 'new'}\n")
            if group < pooled:
                pairs.append(_pairs(ranking.documents[:, : shape.pool_depth], shape))
    write_qrels(np.unique(np.concatenate(pairs)), shape, folder / "qrels.txt")


def rankings(shape: Shape) -> Iterator[Ranking]:
    """Give the runs of this shape, one after the other."""
    for number in range(shape.runs):
        parts = [_ranked_topics(shape, number, first) for first in range(0, shape.topics, _TOPICS_AT_ONCE)]
        documents, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        yield Ranking(f"run{number:03d}", documents, np.round(scores, shape.digits))


def write_run(ranking: Ranking, path: Path, *, delimiter: str = " ") -> None:
    """Write one run in the six TREC columns."""
    topics, depth = ranking.documents.shape
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    with path.open("wb") as stream:
        for first in range(0, topics, _TOPICS_AT_ONCE):
            documents = ranking.documents[first : first + _TOPICS_AT_ONCE]
            scores = ranking.scores[first : first + _TOPICS_AT_ONCE]
            rows = documents.size
            table = pa.table(
                {
                    "topic": np.repeat(_topic_ids(first, len(documents)), depth),
                    "Q0": pa.repeat("Q0", rows),
                    "document": _document_ids(documents.ravel()),
                    "rank": np.tile(np.arange(1, depth + 1), len(documents)),
                    "score": scores.ravel(),
                    "tag": pa.repeat(ranking.tag, rows),
                }
            )
            pyarrow.csv.write_csv(table, stream, options)


def write_qrels(pairs: np.ndarray, shape: Shape, path: Path) -> None:
    """Write the judged pairs with grades 0 to 3: the latent relevance of the document, cut at fixed heights."""
    topics, documents = pairs // shape.ids, pairs % shape.ids
    grades = np.searchsorted([1.5, 2.2, 2.8], _heights(topics, documents, shape))
    table = pa.table(
        {
            "topic": 100_001 + topics,
            "iteration": pa.repeat("0", len(pairs)),
            "document": _document_ids(documents),
            "grade": grades,
        }
    )
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    pyarrow.csv.write_csv(table, path, options)


def _ranked_topics(shape: Shape, run: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    topics = np.arange(first, min(first + _TOPICS_AT_ONCE, shape.topics))
    candidates = _candidates(shape, topics)
    size = candidates.shape
    common = _consensus(shape, first, size)
    taste = np.random.default_rng([shape.seed, 2, first, run % shape.groups]).normal(size=size)
    own = np.random.default_rng([shape.seed, 3, first, run]).normal(size=size)
    group = np.sqrt(shape.consensus) * common + np.sqrt(1 - shape.consensus) * taste
    scores = 10 + np.sqrt(shape.similarity) * group + np.sqrt(1 - shape.similarity) * own
    best = np.argsort(-scores, axis=1)[:, : shape.documents]
    return np.take_along_axis(candidates, best, axis=1), np.take_along_axis(scores, best, axis=1)


def _candidates(shape: Shape, topics: np.ndarray) -> np.ndarray:
    """Give the document numbers each topic chooses from: a walk with a stride prime to the number of ids."""
    count = min(shape.ids, 2 * shape.documents)
    return (_starts(shape)[topics][:, None] + np.arange(count, dtype=np.int64)[None, :] * _stride(shape)) % shape.ids


def _starts(shape: Shape) -> np.ndarray:
    return np.random.default_rng([shape.seed, 0]).integers(shape.ids, size=shape.topics)


def _stride(shape: Shape) -> int:
    golden = max(int(shape.ids * 0.618), 1)
    return next(step for step in range(golden, 0, -1) if gcd(step, shape.ids) == 1)


def _consensus(shape: Shape, first: int, size: tuple[int, ...]) -> np.ndarray:
    """Give the latent relevance of the candidates of some topics: what all runs have in common."""
    return np.random.default_rng([shape.seed, 1, first]).normal(size=size)


def _topic_ids(first: int, count: int) -> np.ndarray:
    return 100_001 + np.arange(first, first + count)


def _document_ids(numbers: np.ndarray) -> pa.Array:
    """Give ids of the form D00012345-7, as ids with letters, digits and a dash are usual."""
    heads = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), 8, padding="0")
    tails = pc.cast(pa.array(numbers * 7 % 10), pa.string())
    return pc.binary_join_element_wise(pc.binary_join_element_wise("D", heads, ""), tails, "-")


def _heights(topics: np.ndarray, documents: np.ndarray, shape: Shape) -> np.ndarray:
    """Give the latent relevance of judged pairs, found by walking the stride backwards."""
    inverse = pow(_stride(shape), -1, shape.ids)
    places = (documents - _starts(shape)[topics]) % shape.ids * inverse % shape.ids
    heights = np.empty(len(topics))
    for first in range(0, shape.topics, _TOPICS_AT_ONCE):
        here = (topics >= first) & (topics < first + _TOPICS_AT_ONCE)
        count = min(_TOPICS_AT_ONCE, shape.topics - first)
        latent = _consensus(shape, first, (count, min(shape.ids, 2 * shape.documents)))
        heights[here] = latent[topics[here] - first, places[here]]
    return heights


def _pairs(documents: np.ndarray, shape: Shape) -> np.ndarray:
    return (np.arange(len(documents), dtype=np.int64)[:, None] * shape.ids + documents).ravel()


def main() -> None:
    """Read the options and write the collection."""
    parser = argparse.ArgumentParser(description="make TREC-shaped runs, qrels and groups")
    parser.add_argument("folder", type=Path)
    for name, default in vars(Shape()).items():
        kind = float if isinstance(default, float) else int
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    write_collection(Shape(**options), folder)


if __name__ == "__main__":
    main()
