"""Queues: documents that were asked for by name, beside the pools."""

from collections.abc import Iterable
from dataclasses import dataclass

from cranfield.errors import InputError, UnknownName, quoted
from cranfield.store.store import Store


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What is known of a queue: what it is for, and in which layer its judgments go."""

    number: int
    name: str
    purpose: str
    layer: str
    made: str


@dataclass(frozen=True, slots=True)
class Queued:
    """One document that was asked for. `why` is for the organiser: assessors stay blind."""

    topic: str
    document: str
    why: str = ""


def add_queue(
    store: Store, name: str, queued: Iterable[Queued], *, purpose: str, layer: str = "main", now: str
) -> int:
    """Add a queue inside `store.write()` and give its number; positions count the entries of each topic."""
    if name in [facts.name for facts in queues(store)]:
        raise InputError(f"there is a queue called {quoted(name)} already; choose another name")
    cursor = store.connection.execute(
        "INSERT INTO queues (name, purpose, layer, made) VALUES (?, ?, ?, ?)", [name, purpose, layer, now]
    )
    number = int(cursor.lastrowid or 0)
    places: dict[str, int] = {}
    rows = []
    for one in queued:
        places[one.topic] = places.get(one.topic, 0) + 1
        rows.append((number, one.topic, one.document, places[one.topic], one.why))
    store.connection.executemany("INSERT INTO queue_entries VALUES (?, ?, ?, ?, ?)", rows)
    return number


def queues(store: Store) -> list[QueueFacts]:
    """Give all queues in the order they were made."""
    return [QueueFacts(*row) for row in store.rows("SELECT number, name, purpose, layer, made FROM queues")]


def queue_named(store: Store, name: str) -> QueueFacts:
    """Give the queue of this name."""
    known = queues(store)
    for facts in known:
        if facts.name == name:
            return facts
    raise UnknownName("queue", name, [facts.name for facts in known])


def queue_topics(store: Store, number: int) -> list[str]:
    """Give the topics of a queue."""
    query = "SELECT DISTINCT topic FROM queue_entries WHERE queue = ? ORDER BY topic"
    return [row[0] for row in store.rows(query, number)]


def queue_documents(store: Store, number: int, topic: str) -> list[tuple[str, int]]:
    """Give (document, position) of one topic of a queue."""
    return store.rows("SELECT document, position FROM queue_entries WHERE queue = ? AND topic = ?", number, topic)
