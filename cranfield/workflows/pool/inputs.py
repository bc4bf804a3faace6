"""What a pool is made of, as it lies in a collection: runs, near-duplicates, texts; and what verdicts need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.pool import candidates, replay
from cranfield.pool import plan as plans
from cranfield.qrels import qrels as qrels_module
from cranfield.reuse import provenance
from cranfield.store import Store, live_pools, pools
from cranfield.store import documents as stored_documents
from cranfield.store import runs as stored_runs

with deferred:
    from cranfield.workflows import corpus

_THREADS = 2


def runs_named(store: Store, names: Sequence[str]) -> list[stored_runs.RunFacts]:
    """The facts of some runs; an error says which of the words name none."""
    known = {facts.name: facts for facts in stored_runs.facts(store)}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if len(unknown) == 1:
        raise UnknownName("run", unknown[0], known)
    if unknown:
        raise UsageError("\n".join(str(UnknownName("run", name, known)) for name in unknown))
    return [known[name] for name in dict.fromkeys(names)]


def pooled_runs(
    store: Store, runs: Sequence[stored_runs.RunFacts] = (), *, pool: str = "", version: int | None = None
) -> candidates.PooledRuns:
    """Stored runs with the ids that their codes stand for.

    With `pool` also those that a version of it, or the latest, was made from: as they were then, withdrawn since or
    not.
    """
    rows, rankings = [], []
    if pool:
        latest = pools.versions_of_pool(store, pool)[-1].version if version is None else version
        for one in [one for one in pools.pooled_runs(store, pool) if one.version <= latest]:
            ranking = stored_runs.fetch_by_content(store, one.content_hash)
            if ranking is None:
                raise CollectionError(
                    f"run {quoted(one.run)} is no longer stored with the content it was pooled with"
                )
            rows.append((one.run, one.group_name, "", one.priority, one.content_hash))
            rankings.append(ranking.run)
    for facts in runs:
        rows.append((facts.name, facts.group_name, facts.family, facts.priority, facts.content_hash))
        rankings.append(stored_runs.fetch(store, facts.name).run)
    # Unpacking leaves the interpreter free, so that two threads are quicker than one.
    with ThreadPoolExecutor(_THREADS) as threads:
        decoded = list(threads.map(lambda decode: decode(), rankings))
    topic_ids, document_ids = stored_runs.ids(store)
    return candidates.pooled_runs(
        [
            candidates.PoolRun(name, ranking, group, family, priority, content_hash)
            for (name, group, family, priority, content_hash), ranking in zip(rows, decoded, strict=True)
        ],
        topic_ids=topic_ids,
        document_ids=document_ids,
    )


def clusters_now(store: Store) -> dict[str, int]:
    """The near-duplicates that are known; an error says how to find them, or that there are none."""
    corpus.refuse_stale(store)
    clusters = pools.clusters_by_document(store)
    if not clusters and stored_documents.latest_scan(store) is None:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    if not clusters:
        raise InputError("the search for near-duplicates found none: --one-per-cluster would change nothing")
    return clusters


def read_texts(store: Store, documents: Sequence[str]) -> list[str]:
    """The texts of documents, for strategies that look at words."""
    texts = stored_documents.texts(store, documents)
    missing = [document for document in documents if document not in texts]
    if missing:
        raise InputError(f"the plan reads document texts, and {quoted(missing[0])} is not in the collection")
    return [texts[document] for document in documents]


def queries(store: Store) -> dict[str, str]:
    """The words of each topic."""
    return {topic.id: f"{topic.title} {topic.description}" for topic in stored_documents.topics(store)}


# What a collection knows about the contributing runs of its pool, as verdicts need it.


@dataclass(frozen=True, eq=False)
class KnownPool:
    """A stored pool: its plan, and the contributing runs that are still here.

    `depth` is set where the pool is the first so many documents of each run and nothing else: then holding a group
    out is deleting what it alone contributed. Any other plan is replayed without the group. `finished` is the share
    of the topics for which a live plan has chosen everything.
    """

    name: str
    plan: plans.Plan
    seed: int
    contributors: tuple[provenance.Contributor, ...]
    depth: int | None
    entries: tuple[tuple[str, str, str], ...]
    finished: float = 1.0
    notes: tuple[str, ...] = ()


def known_pool(store: Store, name: str = "") -> KnownPool | None:
    """The pool of this name, or the latest; None where there is none."""
    if not name and not pools.pool_facts(store):
        return None
    facts = pools.facts_of_pool(store, name)
    here = {one.name: one for one in stored_runs.facts(store)}
    pooled = pools.pooled_runs(store, facts.name)
    gone = [one.run for one in pooled if one.run not in here]
    plan = plans.parse_stored(facts.plan_in_full)
    depth = None if facts.one_per_cluster else plan.plain_depth
    finished = 1.0
    if plan.adaptive and (topics := pools.pool_topics(store, facts.name)):
        finished = len(live_pools.ends(store, pools.pool_number(store, facts.name))) / len(topics)
    return KnownPool(
        name=facts.name,
        plan=plan,
        seed=facts.seed,
        contributors=tuple(
            provenance.Contributor(one.run, one.group_name, here[one.run].family) for one in pooled if one.run in here
        ),
        depth=depth,
        entries=() if depth is not None else tuple(pools.entries_by_run(store, facts.name)),
        finished=finished,
        notes=(f"withdrawn since the pool was built, and not held out: {', '.join(gone)}",) if gone else (),
    )


def replayed_without_groups(
    store: Store, pool: KnownPool, levels: Mapping[provenance.Level, provenance.Provenance], qrels: qrels_module.Qrels
) -> dict[provenance.Level, provenance.Provenance]:
    """Replay the plan without each group and each family; labels are looked up in the qrels.

    Single runs are not held out so: their siblings stay, and it would take a replay for each of them.
    """
    labels = replay.labels_of(qrels, store.scale().relevant_from)
    everything = pooled_runs(store, pool=pool.name)
    replayed: dict[provenance.Level, provenance.Provenance] = {}
    for level in [level for level in levels if level != "run"]:
        members: dict[str, set[str]] = {}
        for one in pool.contributors:
            members.setdefault(one.family if level == "family" else one.group, set()).add(one.run)
        chosen: dict[str, list[tuple[str, str]]] = {group: [] for group in members}
        for group, names in members.items():
            runs = everything.chosen(set(everything.names) - names)
            if runs.runs:
                play = replay.replay(
                    pool.plan.within(runs.depth),
                    runs,
                    labels,
                    topics=[topic for topic in pools.pool_topics(store, pool.name) if topic in runs.codes_by_topic],
                    seed=pool.seed,
                    texts=partial(read_texts, store),
                    queries=queries(store),
                )
                chosen[group] = [(one.topic, one.document) for one in play.judged]
        replayed[level] = provenance.replayed(levels[level], qrels, chosen)
    return replayed
