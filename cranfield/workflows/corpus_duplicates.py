"""Find the documents that are there twice."""

from collections.abc import Iterator

from cranfield.errors import InputError
from cranfield.workflows.watching import Progress, now, silent
from cranfield.store import Store
from cranfield.store.documents import document_count, iter_documents
from cranfield.store.duplicates import Scan, clusters_of, latest_scan, put_clusters

__all__ = ["Scan", "clusters_of", "find_duplicates", "stored_scan"]


def find_duplicates(
    store: Store,
    *,
    threshold: float = 0.8,
    shingle: int = 5,
    permutations: int = 128,
    seed: int = 1,
    progress: Progress = silent,
) -> Scan:
    """Find clusters of exact and near duplicates and store them in place of the ones before."""
    from cranfield.corpus.near_duplicates import find_clusters

    total = document_count(store)
    if not total:
        raise InputError("there are no documents yet: add some with cranfield corpus add FILE…")

    def texts() -> Iterator[tuple[str, str]]:
        for done, document in enumerate(iter_documents(store), start=1):
            if done % 100 == 0:
                progress("looking for duplicates", done, total)
            yield document.id, document.text or document.title

    clusters = find_clusters(texts(), threshold=threshold, shingle=shingle, permutations=permutations, seed=seed)
    scan = Scan(threshold, shingle, permutations, seed, total)
    with store.write():
        put_clusters(store, scan, clusters, now=now())
    return scan


def stored_scan(store: Store) -> Scan:
    """Give the settings of the latest search, or say that there was none, or that documents came after it."""
    scan = latest_scan(store)
    if scan is None:
        raise InputError("no duplicates have been looked for yet: cranfield corpus duplicates")
    refuse_stale(store)
    return scan


def refuse_stale(store: Store) -> None:
    """Refuse to use clusters that were found before the documents changed."""
    scan = latest_scan(store)
    if scan is not None and scan.documents != document_count(store):
        raise InputError("documents came after the search for duplicates: repeat it with cranfield corpus duplicates")
