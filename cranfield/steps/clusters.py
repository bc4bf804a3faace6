"""Which documents say the same: clusters from a file, or those that a collection knows."""

from collections.abc import Hashable, Mapping
from pathlib import Path

from cranfield.errors import InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.source import Source
from cranfield.steps.corpus_duplicates import refuse_stale
from cranfield.store import Store
from cranfield.store.pools import clusters_by_document


def clusters_for(path: Path | None, store: Store | None) -> Mapping[str, Hashable]:
    """Give document -> cluster, from the file where one is given, else from the collection."""
    if path is not None:
        return read_clusters(Source(path))
    if store is None:
        raise UsageError("novelty needs to know the near-duplicates: give --clusters FILE, or a collection with -C")
    refuse_stale(store)
    clusters = clusters_by_document(store)
    if not clusters:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    return clusters


def read_clusters(source: Source) -> dict[str, str]:
    """Read clusters from a file with a document, a tab and a cluster on each line."""
    clusters: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        document, tab, cluster = (part.strip() for part in line.partition("\t"))
        if not tab or not document or not cluster or "\t" in cluster:
            message = f"expected a document, a tab and a cluster, found {quoted(line.rstrip())}"
            problems.append(Problem("bad-row", message, file=source.name, lines=(number,)))
        elif clusters.setdefault(document, cluster) != cluster:
            message = (
                f"document {quoted(document)} is in cluster {quoted(clusters[document])} and in {quoted(cluster)}"
            )
            problems.append(Problem("two-clusters", message, file=source.name, lines=(number,)))
    if problems or not clusters:
        empty = [Problem("empty", "the file holds no cluster", file=source.name)]
        raise ProblemsFound(f"{source.name}: these clusters cannot be used", problems or empty)
    return clusters
