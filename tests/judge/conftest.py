"""A small collection to be judged: three topics, a pool with a known order, and a clock that can be turned."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cranfield.base.records import Document, Topic
from cranfield.store import documents as stored_documents
from cranfield.store.store import Store, open_store
from cranfield.workflows.collection import NAMED, init_collection
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.queue import LEASE_SECONDS
from cranfield.workflows.judge.session import StoredSession

NOW = "2026-01-01T00:00:00.000Z"
TOPICS = {"t1": 12, "t2": 6, "t3": 3}
"""How many documents each topic has in the pool; those of t1 are d01 to d12, those of t2 begin with d05."""


def put(store: Store, table: str, **values: object) -> None:
    """Insert a row; columns that are not named get an empty value of their type."""
    columns = store.rows(f"PRAGMA table_info({table})")
    row = {
        name: values.get(name, 0 if kind == "INTEGER" else "" if kind == "TEXT" else None)
        for _, name, kind, required, default, key in columns
        if name in values or (required and default is None)
    }
    marks = ", ".join("?" * len(row))
    store.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def pooled(topic: str) -> list[str]:
    first = {"t1": 1, "t2": 5, "t3": 20}[topic]
    return [f"d{number:02}" for number in range(first, first + TOPICS[topic])]


def furnish(path: Path) -> None:
    init_collection(path, name="test", scale=NAMED["graded"])
    with open_store(path) as store, store.write():
        source = stored_documents.add_source(
            store, stored_documents.LoadedFile("documents", "made.jsonl", "jsonl", "")
        )
        texts = {f"d{number:02}": f"text {number} about soup" for number in range(1, 31)}
        documents = [Document(name, text, f"Title {name}") for name, text in texts.items()]
        stored_documents.add(store, documents, source=source)
        stored_documents.add(store, [Topic(topic, f"soup {topic}") for topic in TOPICS], source=source)
        put(
            store,
            "pools",
            number=1,
            name="pool",
            plan="depth 10",
            plan_in_full="depth 10 by=run",
            judging_order="plan",
        )
        for topic in TOPICS:
            put(store, "pool_topics", pool=1, topic=topic)
            for place, document in enumerate(pooled(topic), start=1):
                put(store, "pool_entries", pool=1, topic=topic, document=document, position=place)


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judging") / "collection.db"
    furnish(path)
    return path


@pytest.fixture
def collection(furnished: Path, tmp_path: Path) -> Path:
    """A fresh copy of the collection."""
    return Path(shutil.copy(furnished, tmp_path / "collection.db"))


@pytest.fixture
def judging(collection: Path) -> Iterator[Store]:
    with open_store(collection) as store:
        yield store


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sit(collection: Path, clock: Clock) -> Iterator[Callable[..., StoredSession]]:
    """Give a function that seats an assessor with a connection of his own."""
    opened: list[Store] = []

    def seat(assessor: str = "ana", *, lease_seconds: float = LEASE_SECONDS, **options: object) -> StoredSession:
        opened.append(open_store(collection))
        desk = Judge(opened[-1]).session(assessor, clock=clock, **options)
        desk._queue.lease_seconds = lease_seconds
        return desk

    yield seat
    for store in opened:
        store.close()
