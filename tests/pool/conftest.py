"""What the tests of pools share: runs from plain words, and random ones."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from cranfield.base.files import Source
from cranfield.judge.events import Event
from cranfield.pool.build import assembled, part_of
from cranfield.pool.candidates import PooledRuns, runs_of
from cranfield.pool.live import LivePool
from cranfield.pool.pool import Pool as PoolOfRuns
from cranfield.runs.run import Rows, Run, ranked
from cranfield.store.events import append_events
from cranfield.store.pools import pool_topics, rows_of_content
from cranfield.store.store import Store
from cranfield.workflows.pool.live import Refilled, Refiller
from cranfield.workflows.pool.pool import Pool
from cranfield.workflows.runs.submit import Request, submit_runs

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
            Source(Path("run")),
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


class Entry(NamedTuple):
    """One document of a pool, as it is stored."""

    topic: str
    document: str
    position: int
    step: int
    stratum: str
    probability: float | None
    version: int
    contributions: list[tuple[str, int]]


def entries(pool: PoolOfRuns) -> list[Entry]:
    """Give the documents of a pool, topic by topic, in judging order."""
    rows = rows_of_content(pool)
    ranks: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for topic, document, run, rank in rows["pool_ranks"]:
        ranks.setdefault((topic, document), []).append((run, rank))
    ordered = sorted(rows["pool_entries"], key=lambda row: (row[0].encode(), row[2]))
    return [Entry(*row, contributions=ranks.get(row[:2], [])) for row in ordered]


def entry(pool: PoolOfRuns, topic: str, document: str) -> Entry:
    """Give the story of one document."""
    return next(one for one in entries(pool) if (one.topic, one.document) == (topic, document))


def snapshot(live: LivePool) -> PoolOfRuns:
    """Give a live pool as it stands: the warm-up and what was chosen since, in the order of judging."""
    parts = []
    for topic in map(live.at, live.topics):
        topic = copy(topic)
        topic.pool = replace(topic.pool, strata=list(topic.pool.strata))
        if not topic.ended:
            topic.add_chosen()
        parts.append(part_of(topic.pool, topic.candidates, order="plan"))
    return assembled(live.plan, live.runs, parts, seed=0, order="plan")


class Toolbox:
    """The functions above, for tests that cannot import them."""

    worked = WORKED
    pooled = staticmethod(pooled)
    lists_of = staticmethod(lists_of)
    a_run = staticmethod(a_run)
    specs = staticmethod(specs)
    entries = staticmethod(entries)
    entry = staticmethod(entry)
    snapshot = staticmethod(snapshot)


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
    from cranfield.pool.plan import parse

    def order(plan: str, topic: str = "1", **options: object) -> str:
        return " ".join(build(parse(plan), worked, topics=[topic], **options).documents_of(topic))

    return order


class Hall:
    """A collection with some runs, and somebody who judges in it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self._folder = store, folder
        self.refillers: dict[str, Refiller] = {}

    def submit(self, spec: Spec, *, groups: Mapping[str, str] | None = None, role: str = "contributing") -> None:
        requests = []
        for name, lists in spec.items():
            path = self._folder / f"{name}.run"
            rows = [(topic, *pair) for topic, some in lists.items() for pair in some.items()]
            path.write_text("".join(f"{topic} Q0 {document} 0 {score} {name}\n" for topic, document, score in rows))
            requests.append(Request(path=path, group=(groups or {}).get(name, name), role=role))
        submit_runs(self.store, requests)

    def build(self, plan: str, name: str = "pool", **options: object) -> None:
        Pool(self.store).build(plan, name=name, **options)

    def said(self, topic: str, document: str, **told: object) -> Event:
        """Record one event."""
        event = Event(
            **{
                "uuid": str(uuid4()),
                "kind": "judged",
                "topic": topic,
                "document": document,
                "assessor": "eva",
                "happened": "2026-01-01T00:00:00.000Z",
                **told,
            }
        )
        with self.store.write():
            return append_events(self.store, [event])[0]

    def judge(self, topic: str, document: str, grade: int = 0, **told: object) -> Event:
        return self.said(topic, document, grade=grade, **told)

    def undo(self, event: Event) -> None:
        self.said(event.topic, event.document, kind="undone", undoes=event.uuid)

    def refill(self, topic: str, name: str = "pool", **options: object) -> Refilled:
        with self.store.write():
            return self.refillers.setdefault(name, Refiller(self.store, name)).refill(topic, **options)

    def entries(self, topic: str, name: str = "pool") -> list[str]:
        query = """SELECT document FROM pool_entries JOIN pools ON number = pool WHERE name = ? AND topic = ?
                   ORDER BY position"""
        return [row[0] for row in self.store.rows(query, name, topic)]

    def to_judge(self, topic: str, name: str = "pool") -> list[str]:
        answered = {row[0] for row in self.store.rows("SELECT document FROM judgments WHERE topic = ?", topic)}
        return [document for document in self.entries(topic, name) if document not in answered]

    def finish(
        self, labels: Mapping[str, Mapping[str, bool]], name: str = "pool", *, batch: int = 2
    ) -> dict[str, str]:
        """Judge everything that comes, topic by topic, and give the rules that ended the topics."""
        topics = pool_topics(self.store, name)
        ended: dict[str, str] = {}
        done = 1
        while done:
            done = 0
            for topic in topics:
                if not self.to_judge(topic, name):
                    found = self.refill(topic, name, batch=batch)
                    ended |= {topic: found.ended} if found.ended else {}
                for document in self.to_judge(topic, name):
                    self.judge(topic, document, int(labels.get(topic, {}).get(document, False)))
                    done += 1
        return ended

    def wrong(self, name: str = "pool") -> list[str]:
        return list(Pool(self.store).verify(name).differences)


@pytest.fixture
def hall(store: Store, tmp_path: Path) -> Hall:
    return Hall(store, tmp_path)


@pytest.fixture
def halls(new_store: Callable[..., Store], tmp_path: Path) -> Callable[[], Hall]:
    """Give a function that makes one hall after the other."""
    numbers = count()
    return lambda: Hall(new_store(f"{next(numbers)}.db"), tmp_path)
