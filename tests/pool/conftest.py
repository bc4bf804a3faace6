"""What the tests of pools share: runs from plain words, and random ones."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from cranfield.pool.entrants import PooledRuns, runs_of
from cranfield.runs.order import ranked
from cranfield.runs.run import Rows, Run

Spec = Mapping[str, Mapping[str, Mapping[str, float]]]

WORKED: Spec = {
    "A": {"1": {"d1": 5, "d2": 4, "d3": 3, "d4": 2, "d5": 1}, "2": {"d1": 2, "d8": 1}},
    "B": {"1": {"d3": 9, "d1": 6, "d6": 6, "d2": 3, "d4": 0}, "2": {"d8": 4, "d9": 2}},
    "C": {"1": {"d5": 0.9, "d3": 0.7, "d2": 0.5, "d1": 0.3, "d7": 0.1}},
}
"""Three runs of five documents: d1 and d6 tie in B (d6 first), d6 and d7 are in one run only, C lacks topic 2."""


def a_run(name: str, lists: Mapping[str, Mapping[str, float]]) -> Run:
    rows = [(topic, document, score) for topic, some in lists.items() for document, score in some.items()]
    topics = list(dict.fromkeys(topic for topic, _, _ in rows))
    documents = list(dict.fromkeys(document for _, document, _ in rows))
    return ranked(
        Rows(
            topic_ids=pa.array(topics, pa.large_string()),
            topics=np.array([topics.index(topic) for topic, _, _ in rows], dtype=np.int32),
            document_ids=pa.array(documents, pa.large_string()),
            documents=np.array([documents.index(document) for _, document, _ in rows], dtype=np.int32),
            scores=np.array([score for _, _, score in rows], dtype=np.float64),
            ranks=None,
            tags=((name, 1),),
        )
    )


def pooled(spec: Spec, groups: Mapping[str, str] | None = None) -> PooledRuns:
    return runs_of([a_run(name, lists) for name, lists in spec.items()], groups=groups)


def lists_of(spec: Spec, topic: str) -> dict[str, list[str]]:
    """Rank the slow and obvious way: score descending, ties by id descending."""
    return {
        run: [
            document
            for document, _ in sorted(
                sorted(lists.get(topic, {}).items(), key=lambda pair: pair[0].encode(), reverse=True),
                key=lambda pair: -pair[1],
            )
        ]
        for run, lists in sorted(spec.items())
    }


@st.composite
def specs(draw: st.DrawFn, *, runs: int = 4, documents: int = 7, topics: int = 1) -> Spec:
    """Small runs with many ties; the first topic is never without a run."""
    names = [f"r{number}" for number in range(draw(st.integers(1, runs)))]
    ids = [f"d{number}" for number in range(documents)]
    scores = st.dictionaries(st.sampled_from(ids), st.integers(-2, 3).map(float), min_size=1, max_size=documents)
    some: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        has = [str(topic) for topic in range(topics) if draw(st.integers(0, 3)) or topic == 0]
        some[name] = {topic: draw(scores) for topic in has}
    return some


class Toolbox:
    """The functions above, for tests that cannot import them."""

    worked = WORKED
    pooled = staticmethod(pooled)
    lists_of = staticmethod(lists_of)
    a_run = staticmethod(a_run)
    specs = staticmethod(specs)


@pytest.fixture(scope="session")
def toolbox() -> type[Toolbox]:
    return Toolbox


@pytest.fixture(scope="session")
def worked() -> PooledRuns:
    return pooled(WORKED)


@pytest.fixture(scope="session")
def order_of(worked: PooledRuns) -> Callable[..., list[str]]:
    """Give the pool of topic 1 of the worked example, as one word."""
    from cranfield.pool.build import build
    from cranfield.pool.parsing import parse

    def order(plan: str, topic: str = "1", **options: object) -> str:
        return " ".join(build(parse(plan), worked, topics=[topic], **options).documents_of(topic))

    return order
