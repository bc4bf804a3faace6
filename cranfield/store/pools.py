"""Pools: written once, read by topic and by document."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, UnknownName
from cranfield.store.store import Store

if TYPE_CHECKING:
    from cranfield.pool.pool import Entry, Pool
    from cranfield.runs.encoding import CodedRun


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """A run a pool was made from, as it was then."""

    run: str
    group_name: str
    content_hash: str


_FACTS = tuple(PoolFacts.__dataclass_fields__)


def add_pool(store: Store, facts: PoolFacts, pool: "Pool") -> None:
    """Store a pool inside `store.write()`."""
    marks = ", ".join("?" * len(_FACTS))
    cursor = store.connection.execute(
        f"INSERT INTO pools ({', '.join(_FACTS)}) VALUES ({marks})", list(asdict(facts).values())
    )
    number = int(cursor.lastrowid or 0)
    many = store.connection.executemany
    many(
        "INSERT INTO pool_runs VALUES (?, ?, ?, ?)",
        [(number, source.name, source.group, source.content_hash) for source in pool.sources],
    )
    many("INSERT INTO pool_topics VALUES (?, ?)", [(number, topic) for topic in pool.topics])
    _add_entries(store, number, pool)
    many(
        "INSERT INTO pool_duplicates VALUES (?, ?, ?, ?)",
        [(number, one.topic, one.document, one.representative) for one in pool.duplicates],
    )
    many("INSERT INTO pool_strata VALUES (?, ?, ?, ?, ?, ?)", _strata(number, pool))


def _add_entries(store: Store, number: int, pool: "Pool") -> None:
    entries = list(pool)
    store.connection.executemany(
        "INSERT INTO pool_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, one.topic, one.document, one.position, one.step, one.stratum, one.probability, one.version)
            for one in entries
        ],
    )
    store.connection.executemany("INSERT INTO pool_ranks VALUES (?, ?, ?, ?, ?)", _ranks(number, entries))


def _ranks(number: int, entries: "Iterable[Entry]") -> Iterable[tuple[int, str, str, str, int]]:
    for one in entries:
        for contribution in one.contributions:
            yield number, one.topic, one.document, contribution.run, contribution.rank


def _strata(number: int, pool: "Pool") -> Iterable[tuple[int, str, int, str, int, int]]:
    for place, topic in enumerate(pool.topics):
        for column, stratum in enumerate(pool.stratum_table):
            population, drawn = int(pool.populations[place, column]), int(pool.drawn[place, column])
            if population:
                yield number, topic, stratum.step, stratum.name, population, drawn


def pool_facts(store: Store) -> list[PoolFacts]:
    """Give all pools in the order they were made."""
    rows = store.rows(f"SELECT {', '.join(_FACTS)} FROM pools ORDER BY number")
    return [PoolFacts(**dict(zip(_FACTS, row, strict=True))) for row in rows]


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
        """SELECT run, group_name, pool_runs.content_hash FROM pool_runs JOIN pools ON number = pool
           WHERE name = ? ORDER BY run""",
        name,
    )
    return [PooledRun(*row) for row in rows]


def pool_topics(store: Store, name: str) -> list[str]:
    """Give the topics of a pool."""
    query = "SELECT topic FROM pool_topics JOIN pools ON number = pool WHERE name = ? ORDER BY topic"
    return [row[0] for row in store.rows(query, name)]


def pool_sizes(store: Store, name: str) -> list[tuple[str, int]]:
    """Give (topic, number of entries)."""
    return store.rows(
        """SELECT topic, count(*) FROM pool_entries JOIN pools ON number = pool WHERE name = ?
           GROUP BY topic ORDER BY topic""",
        name,
    )


def contributions(store: Store, name: str) -> list[tuple[str, str, int, int]]:
    """Give (run, group, entries it has, entries no other group has), the largest contribution first."""
    return store.rows(
        """SELECT run, group_name, documents, only_this_group FROM pool_contributions WHERE pool = ?
           ORDER BY only_this_group DESC, documents DESC, run""",
        name,
    )


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


def entries_as_stored(store: Store, name: str) -> list[tuple[object, ...]]:
    """Give all entries as plain rows, for a comparison with a pool that was built again."""
    return store.rows(
        """SELECT topic, document, position, step, stratum, probability, version
           FROM pool_entries JOIN pools ON number = pool WHERE name = ? ORDER BY topic, position""",
        name,
    )


def ranks_as_stored(store: Store, name: str) -> list[tuple[object, ...]]:
    """Give all (topic, document, run, rank) of a pool."""
    return store.rows(
        """SELECT topic, document, run, rank FROM pool_ranks JOIN pools ON number = pool
           WHERE name = ? ORDER BY topic, document, run""",
        name,
    )


def run_with_content(store: Store, content_hash: str) -> "CodedRun | None":
    """Give a ranking by its content, withdrawn or not, or None."""
    from cranfield.runs.encoding import decode

    found = store.row("SELECT ranking, encoding FROM runs WHERE content_hash = ? LIMIT 1", content_hash)
    return None if found is None else decode(*found)


def clusters_by_document(store: Store) -> dict[str, int]:
    """Give the near-duplicate cluster of each document that is in one."""
    return dict(store.rows("SELECT document, cluster FROM duplicates"))


def pooled_pairs(store: Store) -> int:
    """Give the number of different (topic, document) in all pools together."""
    return int(store.value("SELECT count(*) FROM (SELECT DISTINCT topic, document FROM pool_entries)"))
