"""What all tests share: a way to make small collections, and the hypothesis profiles."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from kept import RENEW, Kept, write_renewed

from cranfield.base.records import BINARY, Document, GradeScale, Topic
from cranfield.store.store import Store, open_store
from cranfield.workflows.collection import init_collection

settings.register_profile("short", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("soak" if os.environ.get("CRANFIELD_SOAK") else "short")

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the long versions unless they are asked for, and the shared data where it is absent."""
    for item in items:
        if "shared" in item.keywords and not SHARED.is_dir():
            item.add_marker(pytest.mark.skip(reason="the public collections are not beside this checkout"))
        if "soak" in item.keywords and not os.environ.get("CRANFIELD_SOAK"):
            item.add_marker(pytest.mark.skip(reason="a long version: make soak"))


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name bytes by their argument: packed bytes hold the time, and two workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


def pytest_sessionfinish() -> None:
    """Write the kept texts anew, where that was asked for."""
    if RENEW:
        write_renewed()


@pytest.fixture(scope="session", autouse=True)
def settings_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests away from the settings, the cache and the SQLite of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cranfield.store.files.SQLITE_VERSION", "3.53.0")
        for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """The texts that are kept for this test: `kept(text)` compares one, `kept.raises(kind)` what an error says."""
    texts = Kept(request.path, request.node.name, tmp_path_factory.getbasetemp())
    failed = request.session.testsfailed
    yield texts
    if request.session.testsfailed == failed:
        texts.end()


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Give a function that makes and opens an empty collection."""
    opened: list[Store] = []

    def make(name: str = "collection.db", scale: GradeScale = BINARY) -> Store:
        path = tmp_path / name
        init_collection(path, name="test", scale=scale)
        opened.append(open_store(path))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(new_store: Callable[..., Store]) -> Store:
    """An empty collection."""
    return new_store()


@pytest.fixture
def small(store: Store) -> Store:
    """A collection with three documents and two topics."""
    from cranfield.store import documents

    with store.write():
        source = documents.add_source(store, documents.LoadedFile("documents", "made.jsonl", "jsonl", ""))
        documents.add(
            store,
            [
                Document("d1", "The quick brown fox jumps over the lazy dog.", "Foxes"),
                Document("d2", "A pan that was burnt can be cleaned with soda.", "Burnt pans", {"kind": "tip"}),
                Document("d3", "Soda water is not a cleaning agent.", ""),
            ],
            source=source,
        )
        documents.add(store, [Topic("1", "burnt pan"), Topic("2", "fox", "About foxes")], source=source)
    return store
