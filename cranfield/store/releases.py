"""Releases: qrels written once under a name, never changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cranfield.base.errors import UsageError, check_known, quoted
from cranfield.store.store import Query, Store


class ReleaseFacts(NamedTuple):
    """What is known of a release beside its rows; the manifest is JSON text."""

    name: str
    content_hash: str
    rows: int
    manifest: str
    made: str


def add(store: Store, facts: ReleaseFacts, rows: Iterable[tuple[str, str, int]]) -> None:
    """Store a release inside `store.write()`; a name is given once."""
    if store.row("SELECT 1 FROM releases WHERE name = ?", facts.name):
        raise UsageError(
            f"a release named {quoted(facts.name)} already exists and never changes; choose another name"
        )
    store.put("releases", [facts])
    store.put("release_rows", ((facts.name, *row) for row in rows))


known = Query[dict[str, ReleaseFacts]](
    "SELECT name, content_hash, rows, manifest, made FROM releases ORDER BY made, name",
    lambda rows: {row[0]: ReleaseFacts(*row) for row in rows},
)
"""All releases by name, in the order they were made."""


def fetch(store: Store, name: str) -> ReleaseFacts:
    """One release by its name."""
    releases = known(store)
    check_known("release", [name], releases)
    return releases[name]


rows = Query[list[tuple[str, str, int]]]("SELECT topic, document, grade FROM release_rows WHERE release = ?", list)
"""(topic, document, grade) of a release by its name, sorted."""

pool_judged = Query[list[tuple[int, int, float]]](
    """SELECT sum(pooled), sum(graded), min(CASE WHEN graded > 0 AND pooled > graded + 1 THEN 1.0 * graded / pooled
                                            ELSE 1.0 END)
       FROM (SELECT releases.name, count(*) AS pooled, count(grade) AS graded
             FROM pools, releases JOIN pool_entries AS entry ON pool = number LEFT JOIN release_rows AS judged
             ON release = releases.name AND judged.topic = entry.topic AND judged.document = entry.document
             AND grade >= 0
             WHERE pools.name = ?1 AND releases.content_hash = ?2 AND json_extract(manifest, '$.file') = ''
             AND instr(manifest, pools.content_hash) GROUP BY releases.name, entry.topic)
       GROUP BY name""",
    list,
)
"""(documents, those judged, the smallest share of them in a judged topic that lacks more than one) of a pool by its
name, in releases with this hash that were made from it as it is."""
