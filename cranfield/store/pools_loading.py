"""A stored pool as the value that the core works with."""

from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from cranfield.errors import CollectionError, quoted
from cranfield.pool.parsing import parse_stored
from cranfield.pool.pool import Duplicate, Pool, Source
from cranfield.pool.selecting import Stratum
from cranfield.store.pools import facts_of_pool, pool_number, pool_topics, pooled_runs
from cranfield.store.pools_content import versions_of_pool
from cranfield.store.store import Store

_ENTRIES = """SELECT topic, document, step, stratum, probability, version FROM pool_entries
              WHERE pool = ? ORDER BY topic, position"""


def stored_pool(store: Store, name: str) -> Pool:
    """Give a pool with every run and rank that brought each of its entries."""
    return _loaded(
        store,
        name,
        store.rows("SELECT topic, document, run, rank FROM pool_ranks WHERE pool = ?", pool_number(store, name)),
    )


def stored_entries(store: Store, name: str) -> Pool:
    """Give a pool without who brought its entries: all that choosing the next ones needs, and quicker to read."""
    return _loaded(store, name, [])


def _loaded(store: Store, name: str, ranks: list[tuple[str, str, str, int]]) -> Pool:
    """Put the tables of a pool together, or say that they do not fit together."""
    try:
        return _put_together(store, name, ranks)
    except KeyError as error:
        said = f"pool {quoted(name)} does not fit together (it does not know {error})"
        raise CollectionError(f"{said}: cranfield pool verify tells more; restore the file from a backup") from None


def _put_together(store: Store, name: str, ranks: list[tuple[str, str, str, int]]) -> Pool:
    facts, number = facts_of_pool(store, name), pool_number(store, name)
    topics, entries = pool_topics(store, name), store.rows(_ENTRIES, number)
    undrawn = store.rows("SELECT topic, document, step, stratum FROM pool_undrawn WHERE pool = ?", number)
    sizes = store.rows("SELECT topic, step, stratum, population, drawn FROM pool_strata WHERE pool = ?", number)
    table = sorted({*((row[1], row[2]) for row in sizes), *((row[2], row[3]) for row in entries)}, key=_by_step)
    codes = {stratum: code for code, stratum in enumerate(table)}
    places = {topic: place for place, topic in enumerate(topics)}
    ids = list(dict.fromkeys([*(row[1] for row in entries), *(row[1] for row in undrawn)]))
    document = {name: code for code, name in enumerate(ids)}
    counts = np.bincount([places[row[0]] for row in entries], minlength=len(topics))
    populations, drawn = np.zeros((2, len(topics), len(table)), dtype=np.int64)
    for topic, step, stratum, population, taken in sizes:
        populations[places[topic], codes[step, stratum]] = population
        drawn[places[topic], codes[step, stratum]] = taken
    sources = tuple(Source(one.run, one.group_name, one.content_hash) for one in pooled_runs(store, name))
    offsets, runs, listed_ranks = _contributions(entries, ranks, sources)
    return Pool(
        plan=parse_stored(facts.plan_in_full),
        seed=facts.seed,
        order=facts.judging_order,  # type: ignore[arg-type]
        sources=sources,
        topics=tuple(topics),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        document_ids=pa.array(ids, pa.large_string()),
        documents=_codes([document[row[1]] for row in entries]),
        strata=_codes([codes[row[2], row[3]] for row in entries]),
        probabilities=np.array([np.nan if row[4] is None else row[4] for row in entries], dtype=np.float64),
        versions=_codes([row[5] for row in entries]),
        stratum_table=tuple(Stratum(*stratum) for stratum in table),
        populations=populations,
        drawn=drawn,
        contribution_offsets=offsets,
        contribution_runs=runs,
        contribution_ranks=listed_ranks,
        undrawn=(
            _codes([places[row[0]] for row in undrawn]),
            _codes([document[row[1]] for row in undrawn]),
            _codes([codes[row[2], row[3]] for row in undrawn]),
        ),
        duplicates=_duplicates(store, number),
        version=versions_of_pool(store, name)[-1].version,
    )


def _by_step(stratum: tuple[int, str]) -> tuple[int, bytes]:
    return stratum[0], stratum[1].encode()


def _codes(values: list[int]) -> Any:
    return np.array(values, dtype=np.int32)


def _contributions(
    entries: list[tuple[Any, ...]], ranks: list[tuple[str, str, str, int]], sources: tuple[Source, ...]
) -> tuple[Any, Any, Any]:
    """Give how many runs have each entry, and those runs with their ranks, entry by entry."""
    number = {source.name: place for place, source in enumerate(sources)}
    ranks.sort(key=lambda row: (row[0], row[1], number[row[2]]))
    brought = {
        pair: [(number[run], rank) for *_, run, rank in rows] for pair, rows in groupby(ranks, itemgetter(0, 1))
    }
    pairs = [brought.get((row[0], row[1]), []) for row in entries]
    offsets = np.concatenate([[0], np.cumsum([len(some) for some in pairs])]).astype(np.int64)
    return (
        offsets,
        _codes([run for some in pairs for run, _ in some]),
        _codes([rank for some in pairs for _, rank in some]),
    )


def _duplicates(store: Store, number: int) -> tuple[Duplicate, ...]:
    query = "SELECT topic, document, representative FROM pool_duplicates WHERE pool = ? ORDER BY topic, document"
    return tuple(Duplicate(*row) for row in store.rows(query, number))
