"""Which documents say the same: clusters from a file, or those that a collection knows."""

from collections.abc import Hashable, Mapping
from pathlib import Path

from cranfield.errors import LINES_KEPT, InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.source import Source
from cranfield.workflows.corpus_duplicates import refuse_stale
from cranfield.store import Store
from cranfield.store.pools import clusters_by_document


def clusters_for(given: Path | Mapping[str, Hashable] | None, store: Store | None) -> Mapping[str, Hashable]:
    """Give document -> cluster: as it is given, from the file where one is given, else from the collection."""
    if isinstance(given, Mapping):
        return given
    if given is not None:
        return read_clusters(Source(given))
    if store is None:
        raise UsageError(
            "novelty needs to know the near-duplicates: give clusters, or take a collection that has them"
        )
    refuse_stale(store)
    clusters = clusters_by_document(store)
    if not clusters:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    return clusters


def read_clusters(source: Source) -> dict[str, str]:
    """Read clusters from a file with a document, a tab and a cluster on each line."""
    clusters: dict[str, str] = {}
    found: dict[str, list[tuple[int, str]]] = {}
    for number, line in source.lines():
        document, _, cluster = line.strip().partition("\t")
        if not line.strip():
            continue
        if not document or not cluster or "\t" in cluster:
            found.setdefault("bad-row", []).append((number, f"not a document, a tab and a cluster: {quoted(line)}"))
        elif clusters.setdefault(document, cluster) != cluster:
            said = f"document {quoted(document)} is in cluster {quoted(clusters[document])} and in {quoted(cluster)}"
            found.setdefault("two-clusters", []).append((number, said))
    if not clusters and not found:
        found["empty"] = [(1, "the file holds no cluster")]
    if found:
        problems = [_problem(code, places, source.name) for code, places in found.items()]
        raise ProblemsFound(f"{source.name}: these clusters cannot be used", problems)
    return clusters


def _problem(code: str, places: list[tuple[int, str]], file: str) -> Problem:
    """Give one problem for all lines that have it; the message is that of the first."""
    lines = tuple(number for number, _ in places[:LINES_KEPT])
    return Problem(code, places[0][1], file=file, lines=lines, count=len(places))
