"""Build a pool from the runs of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield._version import __version__
from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.progress import now
from cranfield.store.documents import known_among
from cranfield.store.judging import Queued, add_queue, refused_topics
from cranfield.store.live_pools import standing_answers
from cranfield.store.pools import (
    PoolFacts,
    PoolVersion,
    add_pool,
    facts_of_pool,
    pool_facts,
    pool_number,
    pooled_pairs_of,
    pooled_runs,
    put_version,
    versions_of_pool,
)
from cranfield.store.runs import RunFacts, run_facts
from cranfield.store.store import Store
from cranfield.workflows.pool.inputs import (
    clusters_now,
    contributing_runs,
    entrants,
    entrants_of_version,
    queries,
    reader,
    runs_named,
    with_ids,
)
from cranfield.workflows.pool.show import Speed, judging_speed

if TYPE_CHECKING:
    from cranfield.pool.candidates import PooledRuns
    from cranfield.pool.live import LivePool
    from cranfield.pool.plan import Plan
    from cranfield.pool.pool import JudgingOrder, Pool


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
    order: JudgingOrder = "plan"
    one_per_cluster: bool = False


def build_pool(store: Store, request: PoolRequest) -> Pool:
    """Build and store a pool; everything that is wrong is said before anything is written.

    Of a plan with an adaptive step the warm-up is stored; the rest comes as it is judged (`pool_live`).
    """
    from cranfield.pool.build import build
    from cranfield.pool.plan import parse

    plan = parse(request.plan)
    _refuse_known_name(store, request.name)
    clusters = clusters_now(store) if request.one_per_cluster else None
    chosen = _chosen(store, request)
    runs = with_ids(store, entrants(store, chosen))
    topics = request.topics or _not_refused(store, plan, runs)
    pool = build(
        plan,
        runs,
        topics=topics,
        seed=request.seed,
        order=request.order,
        clusters=clusters,
        refuse_idle=True,
    )
    if plan.is_live:
        check_live(store, pool, runs, clusters)
        _check_until(pool)
    with store.write():
        _refuse_known_name(store, request.name)
        number = add_pool(store, _facts(request, pool))
        priorities = {one.name: one.priority for one in chosen}
        put_version(store, number, pool, manifest(pool), priorities=priorities, clusters=clusters)
    return pool


def _not_refused(store: Store, plan: Plan, runs: PooledRuns) -> list[str] | None:
    """Give the topics of the runs but for those that were refused when they were tried; None for all."""
    from cranfield.pool.build import checked_topics

    refused = refused_topics(store)
    return [topic for topic in checked_topics(plan, runs, None) if topic not in refused] if refused else None


def check_live(store: Store, pool: Pool, runs: PooledRuns, clusters: dict[str, int] | None) -> None:
    """Refuse a live pool that cannot begin: its budget, its floors, its texts, its library."""
    from cranfield.pool.live import LivePool

    words = queries(store)
    live = LivePool(pool.plan, runs, pool=pool, clusters=clusters, texts=reader(store), queries=words)
    live.candidates(live.topics[0])
    if any(step.strategy.reads_text for _, step in pool.plan.selections):
        _check_texts(store, live, runs, words)


def _check_texts(store: Store, live: LivePool, runs: PooledRuns, words: Mapping[str, str]) -> None:
    """Refuse a topic that cannot be read: the strategy would find out when it is judged.

    To read everything takes long; a topic with words has some, so that only the others are read.
    """
    from cranfield.pool.candidates import candidates_of
    from cranfield.runs.baseline import Analyser

    for topic in live.topics:
        documents = candidates_of(runs, topic).ids
        unknown = set(documents) - known_among(store, documents)
        if unknown:
            raise InputError(f"the plan reads documents, and {quoted(min(unknown))} is not in the collection")
        if not Analyser("pool").words(words.get(topic, "")):
            live.candidates(topic)
            live.drop(topic)


def _check_until(pool: Pool) -> None:
    assert pool.plan.adaptive is not None
    _, step = pool.plan.adaptive
    least = min(pool.sizes.values(), default=-1)
    if step.amount.kind == "until" and least >= step.amount.number:
        message = f"'{step}' would choose nothing: the steps before it bring at least {least:,} to every topic"
        remedy = "raise the number, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])


def manifest(pool: Pool) -> PoolVersion:
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


def _facts(request: PoolRequest, pool: Pool) -> PoolFacts:
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


# Let a pool grow: later runs extend it, and a top-up queues what an outsider's run lacks.


@dataclass(frozen=True, eq=False)
class Extended:
    """A pool that has grown: the new version, how many documents it brought, by which runs.

    `withdrawn` are runs of earlier versions that have been withdrawn since; `left_out` are topics of the new runs
    that the pool does not have.
    """

    name: str
    pool: Pool
    added: int
    runs: tuple[str, ...]
    withdrawn: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToppedUp:
    """A queue of what is unjudged in the first documents of a run, and what judging it costs; none for no document.

    `pooled` of the documents are in a pool already, and would be judged there too. What somebody could not judge is
    not asked for again.
    """

    queue: str
    documents: int
    topics: int
    pooled: int
    speed: Speed


def extend_pool(store: Store, name: str = "", *, runs: Sequence[str] = (), topics: Sequence[str] = ()) -> Extended:
    """Add later runs to a pool, as a new version; without names, the contributing runs that it does not have."""
    from cranfield.pool.extend import extend
    from cranfield.store.pools import stored_pool

    with store.write():
        facts = facts_of_pool(store, name)
        new = _new_runs(store, facts.name, runs)
        before = stored_pool(store, facts.name)
        version = versions_of_pool(store, facts.name)[-1].version
        together = with_ids(store, [*entrants_of_version(store, facts.name, version), *entrants(store, new)])
        clusters = clusters_now(store) if facts.one_per_cluster else None
        pool = extend(before, together, topics=topics, clusters=clusters)
        if pool.plan.is_live:
            check_live(store, pool, together, clusters)
        priorities = {one.name: one.priority for one in new}
        put_version(
            store, pool_number(store, facts.name), pool, manifest(pool), priorities=priorities, clusters=clusters
        )
    here = {facts.content_hash for facts in run_facts(store)}
    return Extended(
        facts.name,
        pool,
        len(pool) - len(before),
        tuple(one.name for one in new),
        tuple(source.name for source in before.sources if source.content_hash not in here),
        tuple(topic for topic in together.chosen(one.name for one in new).topics if topic not in pool.topics),
    )


def _new_runs(store: Store, name: str, asked: Sequence[str]) -> list[RunFacts]:
    """Give the runs that a pool does not have yet, or say everything that keeps one of them out."""
    pooled = pooled_runs(store, name)
    by_name = {one.run: one for one in pooled}
    by_content = {one.content_hash: one for one in pooled}
    found = runs_named(store, asked)
    if not asked:
        found = [one for one in contributing_runs(store) if one.content_hash not in by_content]
    problems = []
    for one in found:
        if one.content_hash in by_content:
            message = f"run {quoted(one.name)} is in the pool already, as {quoted(by_content[one.content_hash].run)}"
            problems.append(Problem("pooled-already", message, remedy="name runs that came later"))
        elif one.name in by_name:
            message = f"the pool has a run called {quoted(one.name)} already, and its content was another one"
            remedy = "submit it under another name: what the earlier one brought stays in the pool"
            problems.append(Problem("name-pooled", message, remedy=remedy))
    if problems:
        raise ProblemsFound(f"the pool {quoted(name)} cannot be extended", problems)
    if not found:
        raise InputError(
            f"no contributing run came after the pool {quoted(name)}: submit one, or name runs with --run"
        )
    return found


def top_up_queue(
    store: Store,
    run: str,
    *,
    depth: int,
    name: str = "",
    topics: Sequence[str] = (),
    seconds_per_document: float | None = None,
) -> ToppedUp:
    """Queue what is unjudged in the first `depth` documents of a run, stored or in a file, to be judged by name."""
    from cranfield.pool.extend import top_up

    speed = judging_speed(store, seconds_per_document=seconds_per_document)
    word, runs = _one_run(store, run)
    _check(runs, word, depth, topics)
    wanted = list(topics) or runs.topics
    with store.write():
        judged = {topic: {one.document for one in standing_answers(store, topic)} for topic in wanted}
        missing = top_up(runs, depth=depth, judged=judged, topics=wanted)
        queued = [
            Queued(topic, document, f"unjudged in the first {depth} of {word}")
            for topic, documents in missing.items()
            for document in documents
        ]
        _refuse_unknown(store, word, queued)
        title = name or f"top-up-{word}"
        if queued:
            add_queue(store, title, queued, purpose="top-up", now=now())
        pooled = pooled_pairs_of(store, [(one.topic, one.document) for one in queued])
    return ToppedUp(title, len(queued), len(missing), pooled, speed)


def _one_run(store: Store, word: str) -> tuple[str, PooledRuns]:
    """Give a stored run, else the one in a file; a word that is both is refused."""
    is_stored = word in [facts.name for facts in run_facts(store)]
    if is_stored and Path(word).exists():
        raise UsageError(f"{quoted(word)} is a stored run and a file; write ./{word} for the file")
    if is_stored or not Path(word).exists():
        return word, with_ids(store, entrants(store, runs_named(store, [word])))
    return _from_file(Path(word))


def _from_file(path: Path) -> tuple[str, PooledRuns]:
    from cranfield.base.files import Source
    from cranfield.pool.candidates import runs_of
    from cranfield.runs.check import Expectations, check
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    rows = read_rows(Source(path))
    errors = [problem for problem in check(rows, Expectations()) if problem.severity == "error"]
    if errors:
        raise ProblemsFound(f"{path} cannot be used", errors)
    run = ranked(rows)
    return run.tag, runs_of([run])


def _check(runs: PooledRuns, word: str, depth: int, topics: Sequence[str]) -> None:
    problems = [
        Problem("topic-without-runs", f"run {quoted(word)} does not have the topic {quoted(topic)}", topic=topic)
        for topic in topics
        if topic not in runs.codes_by_topic
    ]
    if depth > runs.depth:
        message = f"depth {depth} goes beyond the run: its longest list has {runs.depth:,} documents"
        problems.append(Problem("depth-beyond-runs", message, remedy=f"go no deeper than {runs.depth}"))
    if problems:
        raise ProblemsFound("there is no such top-up", problems)


def _refuse_unknown(store: Store, word: str, queued: Sequence[Queued]) -> None:
    known = known_among(store, sorted({one.document for one in queued}))
    unknown = sorted({one.document for one in queued} - known)
    if unknown:
        shown = ", ".join(quoted(document) for document in unknown[:3])
        raise InputError(f"{len(unknown):,} documents of {quoted(word)} are not in the collection, as {shown}")
