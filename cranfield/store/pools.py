"""Pools: what is known of each, what is in them, and from which sample each document comes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from cranfield._version import __version__
from cranfield.base.errors import RESTORE, CollectionError, UnknownName, quoted
from cranfield.base.records import Pair
from cranfield.base.registry import deferred
from cranfield.base.text import now
from cranfield.store.store import Query, Store, column, marks, records, value

with deferred:  # judging asks of a pool what is to be judged, and needs no arrays for that
    import numpy as np
    import pyarrow as pa

    from cranfield.pool import plan as plans
    from cranfield.pool import pool as pooling
    from cranfield.runs import columns


class PoolFacts(NamedTuple):
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

    @property
    def depth(self) -> int | None:
        """The depth of a pool of the first so many documents of each run; None of every other."""
        word, _, depth = self.plan.partition(" ")
        return int(depth) if word == "depth" and depth.isdecimal() and not self.one_per_cluster else None


class PooledRun(NamedTuple):
    """A run a pool was made from, as it was then, and the version of the pool that it came with."""

    run: str
    group_name: str
    priority: int
    content_hash: str
    version: int


_FACTS = "name, plan, plan_in_full, grammar, seed, judging_order, one_per_cluster, content_hash, made, made_by"
"""The columns of the facts, in the order of their fields."""


pool_number = Query[int]("SELECT number FROM pools WHERE name = ?", value)
"""The number of a pool that is there."""

pool_facts = Query(f"SELECT {_FACTS} FROM pools ORDER BY number", records(PoolFacts))
"""All pools in the order they were made."""


def facts_of_pool(store: Store, name: str = "") -> PoolFacts:
    """The pool of this name, or the latest where none is named."""
    known = {facts.name: facts for facts in pool_facts(store)}
    if not known:
        raise CollectionError("no pool yet; build one with: cranfield pool build depth 10")
    name = name or list(known)[-1]
    if name not in known:
        raise UnknownName("pool", name, known)
    return known[name]


pooled_runs = Query(
    """SELECT run, group_name, priority, pool_runs.content_hash, version
       FROM pool_runs JOIN pools ON number = pool WHERE name = ? ORDER BY run""",
    records(PooledRun),
)
"""The runs a pool was made from."""


def pool_topics(store: Store, name: str, *, version: int | None = None) -> list[str]:
    """The topics of a pool, or those it had up to a version."""
    query = """SELECT topic FROM pool_topics JOIN pools ON number = pool
               WHERE name = ? AND version <= coalesce(?, version) ORDER BY topic"""
    return store.column(query, name, version)


_POOL = "pool = (SELECT number FROM pools WHERE name = ?)"
_THIS_POOL = "pool = (SELECT number FROM pools WHERE name = ?1)"

story = Query[list[tuple[int, int, str, float | None, int]]](
    f"""SELECT position, step, stratum, probability, version FROM pool_entries
        WHERE {_POOL} AND topic = ? AND document = ?""",
    list,
)
"""Of one document in a pool its position, step, stratum, probability and version; nothing where it is not there."""

runs_of_entry = Query[list[tuple[str, int]]](
    f"SELECT run, rank FROM pool_ranks WHERE {_POOL} AND topic = ? AND document = ? ORDER BY rank, run", list
)
"""The runs that have a document of a pool, and their ranks, best first."""

stands_for = Query[str | None](
    f"SELECT representative FROM pool_duplicates WHERE {_POOL} AND topic = ? AND document = ?", value
)
"""The near-duplicate that stands for a document of a topic in a pool, or None."""

represented_by = Query[list[str]](
    f"SELECT document FROM pool_duplicates WHERE {_POOL} AND topic = ? AND representative = ? ORDER BY document",
    column,
)
"""The near-duplicates that stay out of a pool because a document stands for them."""

passed_over_by = Query[list[str]](
    f"SELECT stratum FROM pool_undrawn WHERE {_POOL} AND topic = ? AND document = ? ORDER BY step", column
)
"""The strata whose sample passed over a document."""

sizes_of_topics = Query[list[tuple[str, int, int, str]]](
    """SELECT topic, coalesce(pooled, 0), coalesce(judged, 0), coalesce(rule, '')
       FROM (SELECT topic FROM pool_topics JOIN pools ON number = pool WHERE name = ?1)
       LEFT JOIN (SELECT topic, pooled, judged FROM progress WHERE pool = ?1) USING (topic)
       LEFT JOIN (SELECT topic, rule FROM pool_ends JOIN pools ON number = pool WHERE name = ?1) USING (topic)
       LEFT JOIN topics ON id = topic ORDER BY number, topic""",
    list,
)
"""(topic, documents, judged documents, the rule that has ended it or nothing) of each topic of a pool."""

_CONTRIBUTED = f"""
    WITH contributed AS (
        SELECT topic, document, run, group_name FROM pool_ranks JOIN pool_runs USING (pool, run) WHERE {_THIS_POOL}
    ), uniques AS (
        SELECT topic, document, min(group_name) AS group_name FROM contributed
        GROUP BY topic, document HAVING min(group_name) = max(group_name)
    ), by_group AS (SELECT DISTINCT topic, document, group_name FROM contributed)"""
"""What each run and group contributed to a pool, and what one group alone did."""

contributions_of_runs = Query[list[tuple[str, str, int, int]]](
    f"""{_CONTRIBUTED}
        SELECT run, pool_runs.group_name, count(contributed.document), count(uniques.document)
        FROM pool_runs LEFT JOIN contributed USING (run) LEFT JOIN uniques USING (topic, document)
        WHERE {_THIS_POOL} GROUP BY run ORDER BY 4 DESC, 3 DESC, run""",
    list,
)
"""(run, group, documents, those of them that no other group contributed) of a pool, most of the last first."""

contributions_of_groups = Query[list[tuple[str, int, int, int]]](
    f"""{_CONTRIBUTED}
        SELECT group_name, runs, coalesce(documents, 0), coalesce(alone, 0)
        FROM (SELECT group_name, count(*) AS runs FROM pool_runs WHERE {_THIS_POOL} GROUP BY group_name)
        LEFT JOIN (SELECT group_name, count(*) AS documents FROM by_group GROUP BY group_name) USING (group_name)
        LEFT JOIN (SELECT group_name, count(*) AS alone FROM uniques GROUP BY group_name) USING (group_name)
        ORDER BY 4 DESC, 3 DESC, group_name""",
    list,
)
"""(group, runs, documents, those of them that no other group contributed) of a pool, most of the last first."""

versions_in_numbers = Query[list[tuple[int, str, str, int, int, str]]](
    f"""SELECT version, made, made_by,
               (SELECT count(*) FROM pool_runs WHERE pool = one.pool AND version = one.version),
               (SELECT count(*) FROM pool_entries WHERE pool = one.pool AND version = one.version), content_hash
        FROM pool_versions AS one WHERE {_THIS_POOL} ORDER BY version""",
    list,
)
"""(version, made, made by, runs and documents that came with it, content hash) of a pool."""

documents_in_full = Query[list[tuple[str, str, int, str, float | None, int, int, int | None, str | None]]](
    f"""SELECT topic, document, position, stratum, probability, version, runs, rank, run FROM (
            SELECT *, count(run) OVER (PARTITION BY topic, document) AS runs,
                   row_number() OVER (PARTITION BY topic, document ORDER BY rank, run) AS place
            FROM (SELECT * FROM pool_entries WHERE {_THIS_POOL}) LEFT JOIN pool_ranks USING (pool, topic, document)
        ) WHERE place = 1 ORDER BY topic, position""",
    list,
)
"""(topic, document, position, stratum, probability, version, runs, best rank, best run) of each entry of a pool."""

entries_by_run = Query[list[tuple[str, str, str]]](
    f"SELECT topic, document, run FROM pool_ranks WHERE {_POOL} ORDER BY topic, document, run", list
)
"""(topic, document, run) of everything that a run contributed to a pool."""

clusters_by_document = Query[dict[str, int]]("SELECT document, cluster FROM duplicates", dict)
"""The near-duplicate cluster of each document that is in one."""

clusters_of_version = Query[dict[str, int]](
    f"SELECT document, cluster FROM pool_clusters WHERE {_POOL} AND version = ?", dict
)
"""The near-duplicates that a version of a pool went by; nothing where it does not look at them."""

documents_to_judge = Query[list[str]](
    f"SELECT document FROM pool_entries WHERE {_POOL} AND topic = ? ORDER BY position", column
)
"""The documents of one topic of a pool in judging order."""


# What a pool was made with, in one hash: a change of it is seen even where the pool would come out the same.

_INPUTS = "plan, plan_in_full, grammar, seed, judging_order, one_per_cluster"
_RUN = "run, group_name, priority, content_hash, version"


def inputs_hash(store: Store, number: int, version: int) -> str:
    """The hash of what a version of a pool was made with.

    SHA-256 of a JSON list, written without blanks and in ASCII: the words `cranfield-pool-inputs-1`; plan, plan in
    full, version of the grammar, seed, judging order and one-per-cluster (0 or 1); then, for each run up to the
    version in the order of their names, a list of its name, group, priority, content hash and the version it came
    with.
    """
    facts = store.row(f"SELECT {_INPUTS} FROM pools WHERE number = ?", number) or ()
    query = f"SELECT {_RUN} FROM pool_runs WHERE pool = ? AND version <= ? ORDER BY run"
    runs = [list(row) for row in store.rows(query, number, version)]
    written = json.dumps(["cranfield-pool-inputs-1", *facts, *runs], separators=(",", ":"))
    return sha256(written.encode("ascii")).hexdigest()


# What is in a pool: written version by version, read back whole.


class PoolVersion(NamedTuple):
    """The manifest of one version of a pool; its runs and topics are those of the pool up to it.

    `inputs_hash` is made when all is stored; empty in files from before there was one.
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
    """The versions of a pool, the first one first."""
    query = f"SELECT {_MANIFEST} FROM pool_versions WHERE pool = ? ORDER BY version"
    found = [PoolVersion(*row) for row in store.rows(query, pool_number(store, name))]
    if [one.version for one in found] != list(range(1, len(found) + 1)) or not found:
        raise CollectionError(f"the manifests of pool {quoted(name)} are incomplete: {RESTORE}")
    return found


def put_version(store: Store, name: str, pool: pooling.Pool, *, clusters: Mapping[str, int] | None) -> None:
    """Write a version of a pool inside `store.write()`: its manifest, and all that is in the pool from now on.

    The first version makes the pool, with one document of each of the `clusters`, where there are some.
    """
    version, plan, made = pool.version, pool.plan, (pool.content_hash, now(), f"cranfield {__version__}")
    if version == 1:
        grammar, in_full = plans.GRAMMAR, plan.spelled_out
        facts = PoolFacts(name, str(plan), in_full, grammar, pool.seed, pool.order, clusters is not None, *made)
        store.put(f"pools ({_FACTS})", [facts])
    number = pool_number(store, name)
    manifest = PoolVersion(version, plan.spelled_out, pool.seed, *made)
    store.put(f"pool_versions (pool, {_MANIFEST})", [(number, *manifest)])
    store.connection.execute("UPDATE pools SET content_hash = ? WHERE number = ?", [pool.content_hash, number])
    runs = [(number, one.name, one.group, one.priority, one.content_hash, version) for one in pool.sources]
    store.put("pool_runs", runs, existing="OR IGNORE")
    store.put("pool_topics", [(number, topic, version) for topic in pool.topics], existing="OR IGNORE")
    store.put("pool_clusters", [(number, version, *one) for one in (clusters or {}).items()])
    # All content is written anew: an extension can change the stratum and the probability of what was there.
    for table in _CONTENT:
        store.connection.execute(f"DELETE FROM {table} WHERE pool = ?", [number])
    for table, rows in rows_of_content(pool).items():
        add_content(store, number, table, rows)
    store.connection.execute(
        "UPDATE pool_versions SET inputs_hash = ? WHERE pool = ? AND version = ?",
        [inputs_hash(store, number, version), number, version],
    )


def add_content(store: Store, number: int, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows to one of the tables of a pool's content, inside `store.write()`.

    Many rows with each statement: that takes half the time of a statement for each.
    """
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        row = f"({number}, {marks(part[0])})"
        values = list(chain.from_iterable(part))
        store.connection.execute(f"INSERT INTO {table} VALUES {', '.join([row] * len(part))}", values)


def rows_of_content(pool: pooling.Pool) -> dict[str, list[tuple[Any, ...]]]:
    """What a pool is in the tables of its content, without its number, in the order of their keys."""
    table, names, begins = pool.stratum_table, [source.name for source in pool.sources], pool.offsets.tolist()
    chances = [None if chance != chance else chance for chance in pool.entries["probability"].tolist()]
    topics, ids = pool.topics, pool.ids
    rows = [
        (topics[topic], ids[place], place + 1 - begins[topic], *table[stratum], chances[place], version, place)
        for place, (topic, _, stratum, _, version) in enumerate(pool.entries.tolist())
    ]
    entries = sorted(rows, key=itemgetter(0, 1))
    offsets, runs = pool.contribution_offsets.tolist(), pool.contribution_runs.tolist()
    ranks = pool.contribution_ranks.tolist()
    undrawn = columns.named(pool.document_ids, pool.undrawn["document"])
    return {
        "pool_entries": [entry[:-1] for entry in entries],
        "pool_ranks": [
            (topic, document, names[runs[row]], ranks[row])
            for topic, document, *_, place in entries
            for row in range(offsets[place], offsets[place + 1])
        ],
        "pool_duplicates": [*pool.duplicates],
        # Every topic has a row for every stratum: that a step found nothing is stored too.
        "pool_strata": [
            (topic, *stratum, int(pool.populations[place, column]), int(pool.drawn[place, column]))
            for place, topic in enumerate(pool.topics)
            for column, stratum in enumerate(table)
        ],
        "pool_undrawn": sorted(
            (pool.topics[topic], document, *table[stratum])
            for document, (topic, _, stratum, *_) in zip(undrawn, pool.undrawn.tolist(), strict=True)
        ),
    }


def rows_as_stored(store: Store, name: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a pool's content as they are stored, in the form of `rows_of_content`."""
    number = pool_number(store, name)
    return {
        table: [row[1:] for row in store.rows(f"SELECT * FROM {table} WHERE pool = ?", number)] for table in _CONTENT
    }


# A stored pool as the value that the core works with.

_ENTRIES = """SELECT topic, document, step, stratum, probability, version FROM pool_entries
              WHERE pool = ? ORDER BY topic, position"""
_UNDRAWN = "SELECT topic, document, step, stratum, 1.0, 1 FROM pool_undrawn WHERE pool = ?"


def stored_pool(store: Store, name: str, *, contributions: bool = True) -> pooling.Pool:
    """A pool with every run and rank that contributed each of its entries.

    Without the `contributions` it is quicker to read, and all that choosing the next documents needs.
    """
    ranks = """SELECT topic, document, run, rank FROM pool_ranks JOIN pool_entries USING (pool, topic, document)
               WHERE pool = ? ORDER BY topic, position, run"""
    try:
        return _put_together(store, name, store.rows(ranks, pool_number(store, name)) if contributions else [])
    except KeyError as error:
        message = f"pool {quoted(name)} is inconsistent (it refers to {error}, which is unknown)"
        raise CollectionError(f"{message}: cranfield pool verify gives details; {RESTORE}") from None


def _put_together(store: Store, name: str, ranks: list[tuple[str, str, str, int]]) -> pooling.Pool:
    facts, number = facts_of_pool(store, name), pool_number(store, name)
    topics, entries = pool_topics(store, name), store.rows(_ENTRIES, number)
    undrawn = store.rows(_UNDRAWN, number)
    sizes = store.rows("SELECT topic, step, stratum, population, drawn FROM pool_strata WHERE pool = ?", number)
    strata = {*(row[1:3] for row in sizes), *(row[2:4] for row in entries)}
    table = [pooling.Stratum(*one) for one in sorted(strata)]
    ids = list(dict.fromkeys(row[1] for row in [*entries, *undrawn]))
    sources = [pooling.Source(*one[:4]) for one in pooled_runs(store, name)]
    known = (topics, ids, table, [source.name for source in sources])
    places, documents, codes, runs = ({name: code for code, name in enumerate(names)} for names in known)
    populations, drawn = np.zeros((2, len(topics), len(table)), dtype=np.int64)
    for topic, step, stratum, *size in sizes:
        cell = places[topic], codes[step, stratum]
        populations[cell], drawn[cell] = size
    contributed = Counter(row[:2] for row in ranks)

    def coded(rows: list[Any]) -> pooling.Entries:
        # NaN where there is no probability
        return np.array(
            [(places[row[0]], documents[row[1]], codes[row[2:4]], *row[4:]) for row in rows], dtype=pooling.ENTRY
        )

    query = "SELECT topic, document, representative FROM pool_duplicates WHERE pool = ? ORDER BY topic, document"
    return pooling.Pool(
        plan=plans.parse_stored(facts.plan_in_full),
        seed=facts.seed,
        order=facts.judging_order,  # type: ignore[arg-type]
        sources=tuple(sources),
        topics=tuple(topics),
        document_ids=pa.array(ids, pa.large_string()),
        entries=coded(entries),
        undrawn=coded(undrawn),
        stratum_table=tuple(table),
        populations=populations,
        drawn=drawn,
        contribution_offsets=columns.running_sum([contributed[row[:2]] for row in entries]),
        contribution_runs=np.array([runs[row[2]] for row in ranks], dtype=np.int32),
        contribution_ranks=np.array([row[3] for row in ranks], dtype=np.int32),
        duplicates=tuple(pooling.Duplicate(*row) for row in store.rows(query, number)),
        version=versions_of_pool(store, name)[-1].version,
    )


# From which stratum of a sample each pooled document comes.


def sampled_strata(store: Store) -> tuple[dict[Pair, str], dict[Pair, str]] | None:
    """The stratum of each document to be judged, and of each that a sample passed over; None where none was.

    A document has one stratum. What a fixed or adaptive step chose is certain, whatever a sample did with it beside;
    of several samples the one of the earliest pool and step counts. A stratum is named by the step and what the plan
    calls it, in one word, as the columns of a TREC file want it.
    """
    samples = set(store.rows("SELECT DISTINCT pool, step FROM pool_undrawn"))
    if not samples:
        return None
    names = dict(store.rows("SELECT number, name FROM pools"))
    chosen, passed_over = dict[Pair, str](), dict[Pair, str]()
    for table, strata in (("pool_entries", chosen), ("pool_undrawn", passed_over)):
        rows = store.rows(f"SELECT pool, step, topic, document, stratum FROM {table} ORDER BY pool, step")
        for pool, step, topic, document, stratum in sorted(rows, key=lambda row: row[:2] in samples):
            if (topic, document) not in chosen:
                before = f"{names[pool]}/" if len(names) > 1 else ""
                strata.setdefault((topic, document), "_".join(f"{before}{step}:{stratum}".split()))
    return chosen, passed_over


draws_unevenly = Query[bool](
    """SELECT 1 FROM pool_entries WHERE probability < 1 GROUP BY pool, topic, step, stratum, version
       HAVING max(probability) - min(probability) > 1e-9 LIMIT 1""",
    bool,
)
"""Whether a sample drew documents of one stratum with different probabilities."""
