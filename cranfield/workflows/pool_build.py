"""Build a pool from the runs of a collection."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.errors import InputError, quoted
from cranfield.workflows.pool_inputs import (
    clusters_now,
    contributing_runs,
    entrants,
    queries,
    reader,
    runs_named,
    with_ids,
)
from cranfield.workflows.pool_verify import not_proved, verify_pool
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.documents import known_among
from cranfield.store.drafts import refused_topics
from cranfield.store.pools import PoolFacts, add_pool, pool_facts
from cranfield.store.pools_content import PoolVersion, put_version
from cranfield.store.runs import RunFacts

if TYPE_CHECKING:
    from cranfield.pool.entrants import PooledRuns
    from cranfield.pool.live import LivePool
    from cranfield.pool.plan import Plan
    from cranfield.pool.pool import JudgingOrder, Pool

__all__ = ["PoolRequest", "build_pool", "not_proved", "verify_pool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRequest:
    """What a pool is to be made of.

    Without names all contributing runs are pooled; `priority` keeps those a group ranked so far. Without topics,
    every topic that some run has, but for those that were refused when they were tried.
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
    """Build and store a pool; everything that is wrong is said before anything is written.

    Of a plan with an adaptive step the warm-up is stored; the rest comes as it is judged (`pool_live`).
    """
    from cranfield.pool.build import build_asked
    from cranfield.pool.parsing import parse

    plan = parse(request.plan)
    _refuse_known_name(store, request.name)
    clusters = clusters_now(store) if request.one_per_cluster else None
    chosen = _chosen(store, request)
    runs = with_ids(store, entrants(store, chosen))
    topics = request.topics or _not_refused(store, plan, runs)
    pool = build_asked(plan, runs, topics=topics, seed=request.seed, order=request.order, clusters=clusters)
    if plan.is_live:
        check_live(store, pool, runs, clusters)
        _check_until(pool)
    with store.write():
        _refuse_known_name(store, request.name)
        number = add_pool(store, _facts(request, pool))
        priorities = {one.name: one.priority for one in chosen}
        put_version(store, number, pool, manifest(pool), priorities=priorities, clusters=clusters)
    return pool


def _not_refused(store: Store, plan: "Plan", runs: "PooledRuns") -> list[str] | None:
    """Give the topics of the runs but for those that were refused when they were tried; None for all."""
    from cranfield.pool.inputs import checked_topics

    refused = refused_topics(store)
    return [topic for topic in checked_topics(plan, runs, None) if topic not in refused] if refused else None


def check_live(store: Store, pool: "Pool", runs: "PooledRuns", clusters: dict[str, int] | None) -> None:
    """Refuse a live pool that cannot begin: its budget, its floors, its texts, its library."""
    from cranfield.pool.live import LivePool

    words = queries(store)
    live = LivePool(pool.plan, runs, begun=pool, clusters=clusters, texts=reader(store), queries=words)
    live.candidates(live.topics[0])
    if any(getattr(getattr(step, "strategy", None), "reads_text", False) for step in pool.plan.steps):
        _check_texts(store, live, runs, words)


def _check_texts(store: Store, live: "LivePool", runs: "PooledRuns", words: Mapping[str, str]) -> None:
    """Refuse a topic that cannot be read: the strategy would find out when it is judged.

    To read everything takes long; a topic with words has some, so that only the others are read.
    """
    from cranfield.pool.candidates import candidates_of
    from cranfield.runs.analysis import Analyser

    for topic in live.topics:
        documents = candidates_of(runs, topic).ids
        unknown = set(documents) - known_among(store, documents)
        if unknown:
            raise InputError(f"the plan reads documents, and {quoted(min(unknown))} is not in the collection")
        if not Analyser("pool").words(words.get(topic, "")):
            live.candidates(topic)
            live.drop(topic)


def _check_until(pool: "Pool") -> None:
    from cranfield.pool.budgets import check_until
    from cranfield.pool.build import is_adaptive
    from cranfield.pool.plan import Selection

    for step in pool.plan.steps:
        if isinstance(step, Selection) and is_adaptive(step) and step.amount.kind == "until":
            check_until(str(step), pool.sizes.values(), int(step.amount.number))


def manifest(pool: "Pool") -> PoolVersion:
    """Give the manifest of a pool that is about to be stored."""
    made_by = f"cranfield {__version__}"
    return PoolVersion(pool.version, pool.plan.spelled_out, pool.seed, pool.content_hash, now(), made_by)


def _refuse_known_name(store: Store, name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise InputError(f"a pool needs a name that can be read, not {quoted(name)}")
    if name in [facts.name for facts in pool_facts(store)]:
        raise InputError(
            f"there is a pool called {quoted(name)} already; pool extend adds later runs to it, --name makes another"
        )


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


def _chosen(store: Store, request: PoolRequest) -> list[RunFacts]:
    chosen = runs_named(store, request.runs) or contributing_runs(store)
    if not chosen:
        raise InputError("no run is left to pool; submit runs with --contributing, or name some with --run")
    kept = [facts for facts in chosen if request.priority is None or facts.priority <= request.priority]
    if not kept:
        raise InputError(f"none of the runs has the priority {request.priority} or one before it")
    return kept
