"""Add documents and topics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Generic, Literal, TypeVar

from cranfield.base.errors import (
    CranfieldError,
    InputError,
    Problem,
    ProblemsFound,
    SourceError,
    UnknownName,
    UsageError,
    quoted,
)
from cranfield.base.files import Source
from cranfield.base.progress import Progress, now, silent
from cranfield.base.reading import Fault, Schema, read_list
from cranfield.base.records import Document, Topic
from cranfield.base.text import counted, storable
from cranfield.store import documents as stored_documents
from cranfield.store import documents as stored_topics
from cranfield.store.documents import (
    Added,
    Hit,
    LoadedFile,
    Scan,
    add_source,
    came_from,
    document_count,
    finish_source,
    iter_documents,
    latest_scan,
    match_expression,
    put_clusters,
    search,
)
from cranfield.store.pools import clusters_by_document
from cranfield.store.store import Store

# Find the documents that are there twice.


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


# Search the documents.


def search_documents(store: Store, query: str, *, limit: int = 10, every_word: bool = False) -> list[Hit]:
    """Search the documents; a query without a word is an error."""
    if not match_expression(query):
        raise InputError("the query has no word in it")
    return search(store, query, limit=limit, every_word=every_word)


# Show documents and topics.


def all_topics(store: Store) -> list[Topic]:
    """Give all topics in the order they were given."""
    return stored_topics.topics(store)


def show_document(store: Store, identifier: str) -> Document:
    """Give one document, or say which ids are spelled alike."""
    found = stored_documents.document(store, identifier)
    if found is None:
        raise UnknownName("document", identifier, stored_documents.ids_near(store, identifier))
    return found


def first_documents(store: Store, count: int) -> list[Document]:
    """Give the first documents in the order they came."""
    return list(islice(stored_documents.iter_documents(store), count))


# Add documents or topics from files: one transaction per file, so that a bad file leaves nothing behind.

Record = TypeVar("Record", Document, Topic)

BATCH = 1_000
PROBLEMS_KEPT = 1_000
"""A file of another kind can be wrong on every line: more than this is counted, not listed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file brought."""

    name: str
    new: int = 0
    same: int = 0
    updated: int = 0
    bad: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Tally:
    """The running account of one file."""

    name: str
    new: int = 0
    same: int = 0
    updated: int = 0
    bad: int = 0
    noted: int = 0
    records: int = 0
    problems: list[Problem] = field(default_factory=list)

    def note(self, problem: Problem) -> None:
        self.noted += 1
        self.bad += problem.severity == "error"
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem if problem.file else problem.at(self.name))

    def count(self, added: Added) -> None:
        self.new += added.new
        self.same += added.same
        self.updated += added.updated

    def loaded(self) -> Loaded:
        return Loaded(self.name, self.new, self.same, self.updated, self.bad, tuple(self.problems))


@dataclass(frozen=True, slots=True)
class Kind(Generic[Record]):
    """What differs between loading documents and loading topics."""

    noun: str
    table: str
    format_of: Callable[[Source], str]
    read: Callable[[Source, str], Iterator[Record | Problem]]
    add: Callable[[Store, Sequence[Record], int], Added]


def load_file(
    store: Store, kind: Kind[Record], source: Source, *, keep_going: bool = False, progress: Progress = silent
) -> Loaded:
    """Load one file in one transaction.

    All of it is read even after the first bad record, so that every problem is listed at once; then nothing is
    kept, unless `keep_going` asks for the good records.
    """
    tally = _Tally(source.name)
    format = kind.format_of(source)
    log.info("loading %s from %s as %s", kind.table, source.name, format)
    digest = "" if source.is_folder else source.file_sha256
    file = LoadedFile(kind.table, storable(source.path.name), format, digest)
    watched = replace(source, watch=_told_in_megabytes(source, kind.table, progress))
    with store.write():
        number = add_source(store, file, now=now())
        for batch in _batches(kind.read(source if source.is_piped else watched, format), tally):
            added = kind.add(store, [record for _, record in batch], number)
            tally.count(added)
            for place in added.places:
                tally.note(_clash(store, kind, *batch[place], source=number))
        finish_source(store, number, records=tally.new + tally.updated)
        _refuse_bad(tally, kind.noun, keep_going=keep_going)
    return tally.loaded()


def _clash(store: Store, kind: Kind[Record], place: int, record: Record, *, source: int) -> Problem:
    """Say which record of the file clashes, and with what."""
    where = "earlier in this file" if came_from(store, kind.table, record.id) == source else "in the collection"
    message = f"{kind.noun} {quoted(record.id)} (record {place:,} of the file) is there already, {where}"
    return Problem(
        f"{kind.noun}-clash",
        f"{message}, with other content",
        remedy="give it another id, or use --update to replace it",
    )


def _told_in_megabytes(source: Source, table: str, progress: Progress) -> Callable[[int], None]:
    size = source.size

    def tell(done: int) -> None:
        progress(f"{table} from {source.path.name}, MB", done >> 20, None if size is None else size >> 20)

    return tell


def _refuse_bad(tally: _Tally, noun: str, *, keep_going: bool) -> None:
    if tally.bad and not keep_going:
        found = counted(tally.bad, "error")
        said = f"nothing of it was loaded (--keep-going loads the good {noun}s)"
        raise ProblemsFound(f"{tally.name} has {found}: {said}", tally.problems, total=tally.noted)


def _batches(records: Iterable[Record | Problem], tally: _Tally) -> Iterator[list[tuple[int, Record]]]:
    """Give the good records in batches, each with its number in the file, noting the bad ones, which count too."""
    stream = iter(records)
    while chunk := list(_until_broken(stream, tally, BATCH)):
        good = []
        for record in chunk:
            if isinstance(record, Problem):
                tally.records += record.severity == "error"
                tally.note(record)
            else:
                tally.records += 1
                good.append((tally.records, record))
        yield good


def _until_broken(stream: Iterator[Record | Problem], tally: _Tally, size: int) -> Iterator[Record | Problem]:
    """Give the next records; a file that breaks off in the middle (a truncated gzip) is a problem like others."""
    try:
        yield from islice(stream, size)
    except SourceError as error:
        yield error.problem


def load_all(
    store: Store,
    kind: Kind[Record],
    paths: Sequence[Path],
    *,
    encoding: str = "utf-8",
    keep_going: bool = False,
    progress: Progress = silent,
) -> Iterator[Loaded | CranfieldError]:
    """Load several files, each on its own; a bad one does not keep the others out."""
    for path in paths:
        try:
            yield load_file(store, kind, Source(path, encoding), keep_going=keep_going, progress=progress)
        except InputError as error:
            yield error


def add_documents(
    store: Store,
    paths: Sequence[Path],
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    keep_going: bool = False,
    update: bool = False,
    progress: Progress = silent,
) -> Iterator[Loaded | CranfieldError]:
    """Add the documents of files or folders, one transaction each."""
    from cranfield.corpus.documents import document_format_of, read_documents

    def add(store: Store, documents: Sequence[Document], source: int) -> Added:
        return stored_documents.add_documents(store, documents, source=source, update=update)

    def read(source: Source, chosen: str) -> Iterator[Document | Problem]:
        return read_documents(source, format=chosen)

    kind = Kind("document", "documents", lambda source: document_format_of(source, format), read, add)
    return load_all(store, kind, paths, encoding=encoding, keep_going=keep_going, progress=progress)


def add_topics(
    store: Store,
    paths: Sequence[Path],
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    ids: Literal["given", "position"] = "given",
    keep_going: bool = False,
    update: bool = False,
) -> Iterator[Loaded | CranfieldError]:
    """Add the topics of files, one transaction each."""
    from cranfield.corpus.documents import read_topics, topic_format_of

    def add(store: Store, topics: Sequence[Topic], source: int) -> Added:
        return stored_topics.add_topics(store, topics, source=source, update=update)

    def read(source: Source, chosen: str) -> Iterator[Topic | Problem]:
        return read_topics(source, format=chosen, ids=ids)

    kind = Kind("topic", "topics", lambda source: topic_format_of(source, format), read, add)
    return load_all(store, kind, paths, encoding=encoding, keep_going=keep_going)


# Which documents say the same: clusters from a file, or those that a collection knows.


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


_CLUSTERS = Schema(
    {"document": (), "cluster": ()},
    (
        Fault("empty", "the file holds no cluster"),
        Fault("bad-row", "not a document, a tab and a cluster"),
        Fault("two-clusters", "a document is in two clusters"),
    ),
    needed=("document", "cluster"),
    wording="{meaning}{seen}",
)


def read_clusters(source: Source) -> dict[str, str]:
    """Read clusters from a file with a document, a tab and a cluster on each line."""
    clusters: dict[str, str] = {}
    table = read_list(source, _CLUSTERS)
    for line, document, cluster in table:
        if clusters.setdefault(document, cluster) != cluster:
            both = f"in cluster {quoted(clusters[document])} and in {quoted(cluster)}"
            table.findings.add("two-clusters", [line], meaning=f"document {quoted(document)} is {both}")
    table.refuse("these clusters cannot be used")
    return clusters
