"""What a pool is made of, as it lies in a collection: runs, near-duplicates, texts; and what verdicts need of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from cranfield.base.errors import CollectionError, InputError, quoted
from cranfield.pool import candidates
from cranfield.pool.strategy import Words
from cranfield.store import Store, pools
from cranfield.store import documents as stored_documents
from cranfield.store import runs as stored_runs

_THREADS = 2


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


def read_texts(store: Store, documents: Sequence[str]) -> list[str]:
    """The texts of documents, for strategies that look at words."""
    texts = stored_documents.texts(store, documents)
    missing = [document for document in documents if document not in texts]
    if missing:
        raise InputError(f"the plan reads document texts, and {quoted(missing[0])} is not in the collection")
    return [texts[document] for document in documents]


def words(store: Store) -> Words:
    """What strategies read of a collection."""
    queries = {topic.id: f"{topic.title} {topic.description}" for topic in stored_documents.topics(store)}
    return Words(partial(read_texts, store), queries)
