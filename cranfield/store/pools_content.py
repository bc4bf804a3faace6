"""What is in a pool: written version by version, read back whole."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cranfield.errors import CollectionError, quoted
from cranfield.store.pools import pool_number
from cranfield.store.pools_inputs import seal
from cranfield.store.store import Store

if TYPE_CHECKING:
    from cranfield.pool.pool import Pool


@dataclass(frozen=True, slots=True)
class PoolVersion:
    """The manifest of one version of a pool; its runs and topics are those of the pool up to it.

    `inputs_hash` is made when all is stored (`pools_inputs`); empty in files from before there was one.
    """

    version: int
    plan_in_full: str
    seed: int
    content_hash: str
    made: str
    made_by: str
    inputs_hash: str = ""


_MANIFEST = "version, plan_in_full, seed, content_hash, made, made_by, inputs_hash"
"""The columns of a manifest, in the order of its fields."""
_AT_ONCE = 200
_CONTENT = ("pool_entries", "pool_ranks", "pool_duplicates", "pool_strata", "pool_undrawn")


def versions_of_pool(store: Store, name: str) -> list[PoolVersion]:
    """Give the versions of a pool, the first one first."""
    query = f"SELECT {_MANIFEST} FROM pool_versions WHERE pool = ? ORDER BY version"
    found = [PoolVersion(*row) for row in store.rows(query, pool_number(store, name))]
    if [one.version for one in found] != list(range(1, len(found) + 1)) or not found:
        raise CollectionError(
            f"the manifests of pool {quoted(name)} are not all there: restore the file from a backup"
        )
    return found


def put_version(
    store: Store,
    number: int,
    pool: "Pool",
    manifest: PoolVersion,
    *,
    priorities: Mapping[str, int],
    clusters: Mapping[str, int] | None = None,
) -> None:
    """Write a version of a pool inside `store.write()`: its manifest, and all that is in the pool from now on."""
    version, many = manifest.version, store.connection.executemany
    store.connection.execute(
        f"INSERT INTO pool_versions (pool, {_MANIFEST}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [number, *astuple(manifest)]
    )
    store.connection.execute("UPDATE pools SET content_hash = ? WHERE number = ?", [manifest.content_hash, number])
    many(
        "INSERT OR IGNORE INTO pool_runs VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, one.name, one.group, priorities.get(one.name, 1), one.content_hash, version)
            for one in pool.sources
        ],
    )
    many("INSERT OR IGNORE INTO pool_topics VALUES (?, ?, ?)", [(number, topic, version) for topic in pool.topics])
    many(
        "INSERT INTO pool_clusters VALUES (?, ?, ?, ?)",
        [(number, version, document, cluster) for document, cluster in (clusters or {}).items()],
    )
    _put_content(store, number, pool)
    seal(store, number, version)


def _put_content(store: Store, number: int, pool: "Pool") -> None:
    """Write everything anew: an extension can change the stratum and the probability of what was there."""
    for table in _CONTENT:
        store.connection.execute(f"DELETE FROM {table} WHERE pool = ?", [number])
    for table, rows in rows_of_content(pool).items():
        add_content(store, number, table, rows)


def add_content(store: Store, number: int, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows to one of the tables of a pool's content, inside `store.write()`.

    Many rows with each statement: that takes half the time of a statement for each.
    """
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        row = f"({number}, {', '.join('?' * len(part[0]))})"
        values = list(chain.from_iterable(part))
        store.connection.execute(f"INSERT INTO {table} VALUES {', '.join([row] * len(part))}", values)


def rows_of_content(pool: "Pool") -> dict[str, list[tuple[Any, ...]]]:
    """Give what a pool is in the tables of its content, without its number, in the order of their keys."""
    entries, order = _entries(pool)
    return {
        "pool_entries": entries,
        "pool_ranks": _ranks(pool, entries, order),
        "pool_duplicates": [(one.topic, one.document, one.representative) for one in pool.duplicates],
        "pool_strata": _strata(pool),
        "pool_undrawn": _undrawn(pool),
    }


def rows_as_stored(store: Store, name: str) -> dict[str, list[tuple[Any, ...]]]:
    """Give the rows of a pool's content as they are stored, in the form of `rows_of_content`."""
    number = pool_number(store, name)
    return {
        table: [row[1:] for row in store.rows(f"SELECT * FROM {table} WHERE pool = ?", number)] for table in _CONTENT
    }


def _entries(pool: "Pool") -> tuple[list[tuple[Any, ...]], list[int]]:
    """Give the rows of the entries by topic and document, and which entry of the pool each is."""
    sizes = (pool.offsets[1:] - pool.offsets[:-1]).tolist()
    positions = chain.from_iterable(range(1, size + 1) for size in sizes)
    table, topics = pool.stratum_table, [pool.topics[place] for place in pool.topic_of_entry.tolist()]
    rows = zip(
        topics,
        pool.ids,
        positions,
        [table[code].step for code in pool.strata.tolist()],
        [table[code].name for code in pool.strata.tolist()],
        [None if chance != chance else chance for chance in pool.probabilities.tolist()],
        pool.versions.tolist(),
        range(len(pool)),
        strict=True,
    )
    ordered = sorted(rows, key=itemgetter(0, 1))
    return [row[:-1] for row in ordered], [row[-1] for row in ordered]


def _ranks(pool: "Pool", entries: Sequence[tuple[Any, ...]], order: Sequence[int]) -> list[tuple[str, str, str, int]]:
    names = [source.name for source in pool.sources]
    offsets = pool.contribution_offsets.tolist()
    runs, ranks = pool.contribution_runs.tolist(), pool.contribution_ranks.tolist()
    return [
        (topic, document, names[runs[place]], ranks[place])
        for (topic, document, *_), number in zip(entries, order, strict=True)
        for place in range(offsets[number], offsets[number + 1])
    ]


def _strata(pool: "Pool") -> list[tuple[str, int, str, int, int]]:
    """Every topic has a row for every stratum: that a step found nothing is told too."""
    return [
        (topic, stratum.step, stratum.name, int(pool.populations[place, column]), int(pool.drawn[place, column]))
        for place, topic in enumerate(pool.topics)
        for column, stratum in enumerate(pool.stratum_table)
    ]


def _undrawn(pool: "Pool") -> list[tuple[str, str, int, str]]:
    from cranfield.pool.arrow import named

    topics, documents, strata = pool.undrawn
    names = named(pool.document_ids, documents)
    table = pool.stratum_table
    return sorted(
        (pool.topics[topic], name, table[stratum].step, table[stratum].name)
        for topic, name, stratum in zip(topics.tolist(), names, strata.tolist(), strict=True)
    )


def clusters_of_version(store: Store, name: str, version: int) -> dict[str, int]:
    """Give the near-duplicates that a version of a pool went by; nothing where it does not look at them."""
    query = "SELECT document, cluster FROM pool_clusters WHERE pool = ? AND version = ?"
    return dict(store.rows(query, pool_number(store, name), version))
