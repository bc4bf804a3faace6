"""Pools: what is known of each, read by topic and by document. What is in them: `pools_content`."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, UnknownName
from cranfield.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from cranfield.pool.pool import Entry
    from cranfield.runs.encoding import CodedRun


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What is known of a pool beside its entries."""

    name: str
    plan: str
    plan_in_full: str
    grammar: int
    seed: int
    judging_order: str
    one_per_cluster: bool
    content_hash: str
    made: str
    made_by: str


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run a pool was made from, as it was then, and the version of the pool that it came with."""

    run: str
    group_name: str
    priority: int
    content_hash: str
    version: int


_FACTS = "name, plan, plan_in_full, grammar, seed, judging_order, one_per_cluster, content_hash, made, made_by"
"""The columns of the facts, in the order of their fields."""


def add_pool(store: Store, facts: PoolFacts) -> int:
    """Store what is known of a new pool, inside `store.write()`, and give its number; the rest is its versions'."""
    row = astuple(facts)
    cursor = store.connection.execute(f"INSERT INTO pools ({_FACTS}) VALUES ({', '.join('?' * len(row))})", row)
    return int(cursor.lastrowid or 0)


def pool_number(store: Store, name: str) -> int:
    """Give the number of a pool that is there."""
    return int(store.value("SELECT number FROM pools WHERE name = ?", name))


def pool_facts(store: Store) -> list[PoolFacts]:
    """Give all pools in the order they were made."""
    return [PoolFacts(*row) for row in store.rows(f"SELECT {_FACTS} FROM pools ORDER BY number")]


def facts_of_pool(store: Store, name: str = "") -> PoolFacts:
    """Give the pool of this name, or the latest where none is named."""
    known = pool_facts(store)
    if not known:
        raise CollectionError("there is no pool yet: make one with cranfield pool build 'depth 10'")
    if not name:
        return known[-1]
    for facts in known:
        if facts.name == name:
            return facts
    raise UnknownName("pool", name, [facts.name for facts in known])


def pooled_runs(store: Store, name: str) -> list[PooledRun]:
    """Give the runs a pool was made from."""
    rows = store.rows(
        """SELECT run, group_name, priority, pool_runs.content_hash, version
           FROM pool_runs JOIN pools ON number = pool WHERE name = ? ORDER BY run""",
        name,
    )
    return [PooledRun(*row) for row in rows]


def pool_topics(store: Store, name: str, *, version: int | None = None) -> list[str]:
    """Give the topics of a pool, or those it had up to a version."""
    query = """SELECT topic FROM pool_topics JOIN pools ON number = pool
               WHERE name = ? AND version <= coalesce(?, version) ORDER BY topic"""
    return [row[0] for row in store.rows(query, name, version)]


def story(store: Store, name: str, topic: str, document: str) -> "Entry | None":
    """Give one entry with everything that brought it, or None where it is not in the pool."""
    from cranfield.pool.pool import Contribution, Entry

    row = store.row(
        """SELECT position, step, stratum, probability, version, pool FROM pool_entries JOIN pools ON number = pool
           WHERE name = ? AND topic = ? AND document = ?""",
        name,
        topic,
        document,
    )
    if row is None:
        return None
    position, step, stratum, probability, version, pool = row
    ranks = store.rows(
        "SELECT run, rank FROM pool_ranks WHERE pool = ? AND topic = ? AND document = ? ORDER BY rank, run",
        pool,
        topic,
        document,
    )
    found = tuple(Contribution(*rank) for rank in ranks)
    return Entry(topic, document, position, step, stratum, probability, found, version)


def stands_for(store: Store, name: str, topic: str, document: str) -> str | None:
    """Give the near-duplicate that stands for a document in a pool, or None."""
    found = store.value(
        """SELECT representative FROM pool_duplicates JOIN pools ON number = pool
           WHERE name = ? AND topic = ? AND document = ?""",
        name,
        topic,
        document,
    )
    return None if found is None else str(found)


def represented_by(store: Store, name: str, topic: str, document: str) -> list[str]:
    """Give the near-duplicates that stay out of a pool because a document stands for them."""
    query = """SELECT document FROM pool_duplicates WHERE pool = ? AND topic = ? AND representative = ?
               ORDER BY document"""
    return [row[0] for row in store.rows(query, pool_number(store, name), topic, document)]


def passed_over_by(store: Store, name: str, topic: str, document: str) -> list[str]:
    """Give the strata whose sample passed over a document."""
    query = "SELECT stratum FROM pool_undrawn WHERE pool = ? AND topic = ? AND document = ? ORDER BY step"
    return [row[0] for row in store.rows(query, pool_number(store, name), topic, document)]


def judged_of_topics(store: Store, name: str) -> dict[str, int]:
    """Give how many documents of each topic of a pool are judged."""
    return dict(store.rows("SELECT topic, judged FROM progress WHERE pool = ?", name))


def run_with_content(store: Store, content_hash: str) -> "Callable[[], CodedRun] | None":
    """Fetch a ranking by its content, withdrawn or not; what is given decodes it. None where it is not there."""
    from cranfield.runs.encoding import decode

    found = store.row("SELECT ranking, encoding FROM runs WHERE content_hash = ? LIMIT 1", content_hash)
    return None if found is None else partial(decode, *found)


def clusters_by_document(store: Store) -> dict[str, int]:
    """Give the near-duplicate cluster of each document that is in one."""
    return dict(store.rows("SELECT document, cluster FROM duplicates"))


def pooled_pairs(store: Store) -> int:
    """Give the number of different (topic, document) in all pools together."""
    return int(store.value("SELECT count(*) FROM (SELECT DISTINCT topic, document FROM pool_entries)"))


def pooled_pairs_of(store: Store, pairs: Sequence[tuple[str, str]]) -> int:
    """Give how many of some (topic, document) are in a pool."""
    query = "SELECT 1 FROM pools JOIN pool_entries ON pool = number WHERE topic = ? AND document = ?"
    return sum(store.value(query, *pair) is not None for pair in pairs)


def documents_to_judge(store: Store, name: str, topic: str) -> list[tuple[str, int]]:
    """Give (document, position) of one topic of a pool."""
    number = store.value("SELECT number FROM pools WHERE name = ?", name)
    return store.rows("SELECT document, position FROM pool_entries WHERE pool = ? AND topic = ?", number, topic)
