"""What a pool is made of, as it lies in a collection: runs, near-duplicates, texts."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cranfield.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.workflows.corpus_duplicates import refuse_stale
from cranfield.store import Store
from cranfield.store.duplicates import latest_scan
from cranfield.store.pools import clusters_by_document, pooled_runs, run_with_content
from cranfield.store.pools_live import texts_of
from cranfield.store.runs import RunFacts, fetched_ranking, id_table, run_facts
from cranfield.store.topics import topics

if TYPE_CHECKING:
    from cranfield.pool.entrants import PooledRuns, PoolRun
    from cranfield.runs.encoding import CodedRun

_READERS = 2


def runs_named(store: Store, names: Sequence[str]) -> list[RunFacts]:
    """Give the facts of some runs, or say which of the words name none."""
    known = {facts.name: facts for facts in run_facts(store)}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if len(unknown) == 1:
        raise UnknownName("run", unknown[0], known)
    if unknown:
        raise UsageError("\n".join(str(UnknownName("run", name, known)) for name in unknown))
    return [known[name] for name in dict.fromkeys(names)]


def contributing_runs(store: Store) -> list[RunFacts]:
    """Give the runs that may feed a pool."""
    return [facts for facts in run_facts(store) if facts.role == "contributing"]


def entrants(store: Store, chosen: Sequence[RunFacts]) -> "list[PoolRun]":
    """Give runs as they enter a pool."""
    from cranfield.pool.entrants import PoolRun

    rankings = _decoded([fetched_ranking(store, one.name).run for one in chosen])
    return [
        PoolRun(one.name, ranking, one.group_name, one.family, one.priority, one.content_hash)
        for one, ranking in zip(chosen, rankings, strict=True)
    ]


def entrants_of_version(store: Store, name: str, version: int) -> "list[PoolRun]":
    """Give the runs a version of a pool was made from, as they were then, withdrawn since or not."""
    from cranfield.pool.entrants import PoolRun

    pooled = [one for one in pooled_runs(store, name) if one.version <= version]
    rankings = _decoded([_fetched(store, one.run, one.content_hash) for one in pooled])
    return [
        PoolRun(one.run, ranking, one.group_name, priority=one.priority, content_hash=one.content_hash)
        for one, ranking in zip(pooled, rankings, strict=True)
    ]


def with_ids(store: Store, runs: "Sequence[PoolRun]") -> "PooledRuns":
    """Give runs together with the ids that their codes stand for."""
    from cranfield.pool.entrants import pooled_runs as together

    return together(runs, topic_ids=id_table(store, "topic").ids, document_ids=id_table(store, "document").ids)


def _fetched(store: Store, run: str, content_hash: str) -> "Callable[[], CodedRun]":
    found = run_with_content(store, content_hash)
    if found is None:
        raise CollectionError(f"run {quoted(run)} is not there with the content it was pooled with")
    return found


def _decoded(fetched: "Sequence[Callable[[], CodedRun]]") -> "list[CodedRun]":
    """Decode many rankings; unpacking leaves the interpreter free, so that two threads are quicker than one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_READERS) as threads:
        return list(threads.map(lambda decoded: decoded(), fetched))


def clusters_now(store: Store) -> dict[str, int]:
    """Give the near-duplicates that are known, or say how to find them, or that there are none."""
    refuse_stale(store)
    clusters = clusters_by_document(store)
    if not clusters and latest_scan(store) is None:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    if not clusters:
        raise InputError("the search for duplicates found none: there is no cluster to take one document of")
    return clusters


def reader(store: Store) -> Callable[[Sequence[str]], Sequence[str]]:
    """Give a function that reads the texts of documents, for strategies that look at words."""

    def read(documents: Sequence[str]) -> list[str]:
        found = texts_of(store, documents)
        missing = [document for document in documents if document not in found]
        if missing:
            raise InputError(f"the plan reads documents, and {quoted(missing[0])} is not in the collection")
        return [found[document] for document in documents]

    return read


def queries(store: Store) -> dict[str, str]:
    """Give the words of each topic."""
    return {topic.id: f"{topic.title} {topic.description}" for topic in topics(store)}
