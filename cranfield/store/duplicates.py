"""Clusters of duplicate documents: the latest scan replaces the one before."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from cranfield.store.store import Store

if TYPE_CHECKING:
    from cranfield.corpus.near_duplicates import Cluster


@dataclass(frozen=True, slots=True)
class Scan:
    """One search for duplicates and its settings."""

    threshold: float
    shingle: int
    permutations: int
    seed: int
    documents: int


_SCAN = "threshold, shingle, permutations, seed, documents"
"""The columns of a scan, in the order of its fields."""


def put_clusters(store: Store, scan: Scan, clusters: Sequence["Cluster"], *, now: str) -> None:
    """Store a scan and its clusters inside `store.write()`."""
    query = f"INSERT INTO duplicate_scans ({_SCAN}, made) VALUES (?, ?, ?, ?, ?, ?)"
    number = store.connection.execute(query, [*astuple(scan), now]).lastrowid
    store.connection.execute("DELETE FROM duplicates")
    store.connection.executemany(
        "INSERT INTO duplicates VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, index, document, cluster.kind, similarity, document == cluster.representative)
            for index, cluster in enumerate(clusters, start=1)
            for document, similarity in cluster.members
        ],
    )


def clusters_of(store: Store) -> dict[int, list[tuple[str, str, float, bool]]]:
    """Give cluster -> [(document, kind, similarity, is representative)], the representative first."""
    found: dict[int, list[tuple[str, str, float, bool]]] = {}
    rows = store.rows(
        """SELECT cluster, document, kind, similarity, representative FROM duplicates
           ORDER BY cluster, representative DESC, document"""
    )
    for cluster, document, kind, similarity, representative in rows:
        found.setdefault(cluster, []).append((document, kind, similarity, bool(representative)))
    return found


def latest_scan(store: Store) -> Scan | None:
    """Give the settings of the latest scan, or None where there was none."""
    row = store.row(f"SELECT {_SCAN} FROM duplicate_scans ORDER BY number DESC LIMIT 1")
    return Scan(*row) if row else None
