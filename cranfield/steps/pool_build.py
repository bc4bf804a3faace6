"""Build a pool from the runs of a collection, and prove later that it is what its plan says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.steps.corpus_duplicates import refuse_stale
from cranfield.steps.watching import now
from cranfield.store import Store
from cranfield.store.pools import (
    PoolFacts,
    add_pool,
    clusters_by_document,
    entries_as_stored,
    facts_of_pool,
    pool_facts,
    pool_topics,
    pooled_runs,
    ranks_as_stored,
    run_with_content,
)
from cranfield.store.runs import RunFacts, id_table, run_facts

if TYPE_CHECKING:
    from cranfield.pool.entrants import PooledRuns, PoolRun
    from cranfield.pool.pool import JudgingOrder, Pool

ALIKE_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRequest:
    """What a pool is to be made of.

    Without names all contributing runs are pooled; `priority` keeps those a group ranked so far. Without topics,
    every topic that some run has.
    """

    plan: str
    name: str = "pool"
    runs: tuple[str, ...] = ()
    priority: int | None = None
    topics: tuple[str, ...] = ()
    seed: int = 0
    order: "JudgingOrder" = "plan"
    one_per_cluster: bool = False


def build_pool(store: Store, request: PoolRequest) -> "Pool":
    """Build and store a pool; everything that is wrong is said before anything is written."""
    from cranfield.pool.build import build
    from cranfield.pool.parsing import parse

    plan = parse(request.plan)
    if plan.is_live:
        raise UsageError("this plan has a step that needs judgments; only plans without one can be stored so far")
    if request.name in [facts.name for facts in pool_facts(store)]:
        raise InputError(f"there is a pool called {quoted(request.name)} already; choose another --name")
    clusters = _clusters(store) if request.one_per_cluster else None
    pool = build(
        plan,
        _entrants(store, _chosen(store, request)),
        topics=request.topics or None,
        seed=request.seed,
        order=request.order,
        clusters=clusters,
    )
    with store.write():
        add_pool(store, _facts(request, pool), pool)
    return pool


def _facts(request: PoolRequest, pool: "Pool") -> PoolFacts:
    return PoolFacts(
        name=request.name,
        plan=str(pool.plan),
        plan_in_full=pool.plan.spelled_out,
        grammar=pool.plan.grammar,
        seed=request.seed,
        judging_order=request.order,
        one_per_cluster=request.one_per_cluster,
        content_hash=pool.content_hash,
        made=now(),
        made_by=f"cranfield {__version__}",
    )


def _clusters(store: Store) -> dict[str, int]:
    refuse_stale(store)
    clusters = clusters_by_document(store)
    if not clusters:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    return clusters


def _chosen(store: Store, request: PoolRequest) -> list[RunFacts]:
    known = {facts.name: facts for facts in run_facts(store)}
    for name in request.runs:
        if name not in known:
            raise UnknownName("run", name, known)
    chosen = [known[name] for name in request.runs] or [one for one in known.values() if one.role == "contributing"]
    if request.priority is not None:
        chosen = [facts for facts in chosen if facts.priority <= request.priority]
    if not chosen:
        raise InputError("no run is left to pool; submit runs with --contributing, or name some with --run")
    return chosen


def _entrants(store: Store, chosen: Sequence[RunFacts]) -> "PooledRuns":
    from cranfield.pool.entrants import PoolRun
    from cranfield.store.runs import coded_run

    entrants = [
        PoolRun(one.name, coded_run(store, one.name), one.group_name, one.family, one.priority, one.content_hash)
        for one in chosen
    ]
    return _with_ids(store, entrants)


def _with_ids(store: Store, entrants: "Sequence[PoolRun]") -> "PooledRuns":
    from cranfield.pool.entrants import pooled_runs as together

    return together(entrants, topic_ids=id_table(store, "topic").ids, document_ids=id_table(store, "document").ids)


def verify_pool(store: Store, name: str = "") -> tuple[PoolFacts, list[str]]:
    """Build a pool again from the stored runs; give its facts and what differs (nothing, if it is what it says)."""
    from cranfield.pool.build import build
    from cranfield.pool.parsing import parse

    facts = facts_of_pool(store, name)
    pool = build(
        parse(facts.plan_in_full),
        _as_it_was(store, facts.name),
        topics=pool_topics(store, facts.name),
        seed=facts.seed,
        order=facts.judging_order,  # type: ignore[arg-type]
        clusters=clusters_by_document(store) if facts.one_per_cluster else None,
    )
    differences = _differences(store, facts.name, pool)
    if not differences and pool.content_hash != facts.content_hash:
        differences = [f"the hash is {pool.content_hash}, and {facts.content_hash} is recorded"]
    return facts, differences


def _as_it_was(store: Store, name: str) -> "PooledRuns":
    from cranfield.pool.entrants import PoolRun

    entrants = []
    for one in pooled_runs(store, name):
        ranking = run_with_content(store, one.content_hash)
        if ranking is None:
            raise CollectionError(f"run {quoted(one.run)} is not there with the content it was pooled with")
        entrants.append(PoolRun(one.run, ranking, one.group_name, content_hash=one.content_hash))
    return _with_ids(store, entrants)


def _differences(store: Store, name: str, pool: "Pool") -> list[str]:
    built = {
        (one.topic, one.document, one.position, one.step, one.stratum, one.probability, one.version) for one in pool
    }
    ranks = {(one.topic, one.document, known.run, known.rank) for one in pool for known in one.contributions}
    return [
        *_told(built, set(entries_as_stored(store, name)), "entry"),
        *_told(ranks, set(ranks_as_stored(store, name)), "contribution"),
    ]


def _told(built: set, stored: set, noun: str) -> list[str]:  # type: ignore[type-arg]
    """Say which rows are only on one side, a few of each."""
    sides = ((stored - built, "is stored and not in the rebuilt pool"), (built - stored, "is missing from the store"))
    return [f"{noun} {row[0]} {row[1]} {said}" for rows, said in sides for row in sorted(rows, key=str)[:ALIKE_SHOWN]]
