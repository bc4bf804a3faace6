"""`Corpus`: documents and topics enter a collection, and are shown, searched and looked through for duplicates."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

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
from cranfield.base.files import Progress, Source, located, matching, silent
from cranfield.base.records import Document
from cranfield.base.registry import deferred
from cranfield.base.tables import Fault, Schema, read_list
from cranfield.base.text import (
    HIT_END,
    HIT_START,
    Listing,
    Number,
    Result,
    Table,
    beside,
    counted,
    shortened,
    storable,
    table_of,
)
from cranfield.store import Store, pools
from cranfield.store import documents as stored

with deferred:
    from cranfield.corpus import near_duplicates, reading
    from cranfield.workflows import outside

BATCH = 1_000
PROBLEMS_KEPT = 1_000
"""A file of another kind can be wrong on every line: more than this is counted, not listed."""

MOST_ERRORS = 100_000
"""After so many errors the rest of a file is not read, unless the good records are wanted all the same."""

log = logging.getLogger("cranfield.workflows")

as_json = partial(json.dumps, ensure_ascii=False)


@dataclass
class Loaded:
    """What was loaded from one file: new, unchanged, replaced and bad records, and the problems with it."""

    name: str
    noun: str
    new: int = 0
    same: int = 0
    updated: int = 0
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)
    noted: int = 0

    def note(self, problem: Problem) -> None:
        """Count a problem, and keep it while they are few."""
        self.noted += 1
        self.bad += problem.is_error
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem if problem.file else problem.at(self.name))

    def __str__(self) -> str:
        more = beside({"unchanged": self.same, "replaced": self.updated, f"error{'s' * (self.bad > 1)}": self.bad})
        return f"{self.name}: {counted(self.new, self.noun)} added{more}"


@dataclass(frozen=True)
class Added(Result):
    """What was loaded from some files; an error stands for a file that was refused."""

    outcomes: tuple[Loaded | CranfieldError, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all of every file was good."""
        return not any(isinstance(one, CranfieldError) or one.bad for one in self.outcomes)

    def table(self) -> Table:
        """One row per file that was loaded."""
        loaded = [one for one in self.outcomes if isinstance(one, Loaded)]
        rows = [(one.name, one.new, one.same, one.updated, one.bad) for one in loaded]
        return table_of(["file", "added", "there_already", "replaced", "errors"], rows)


class Corpus:
    """The documents and topics of a collection; its methods are the subcommands of `cranfield corpus`."""

    def __init__(self, store: Store, *, progress: Progress = silent) -> None:
        self._store, self._progress = store, progress

    def add(self, files: Sequence[Path], *, ids: str = "", **options: Any) -> Added:
        """Add the documents of files or folders, one transaction each; the options are those of `_load_all`.

        With `ids`, as in "CACM-{:04}", documents are called by the number their id ends with.
        """
        return self._load_all("documents", files, ids=ids, **options)

    def topics(
        self, files: Sequence[Path] = (), *, ids: Literal["given", "position"] = "given", **options: Any
    ) -> Added | Listing:
        """Add the topics of files, one transaction each, with the options of `add`; without files, list them."""
        if not files:
            topics = stored.topics(self._store)
            rows = [(one.id, one.title, one.description, one.narrative, as_json(one.metadata)) for one in topics]
            short = [(one.id, shortened(one.title, 60), shortened(one.description, 100)) for one in topics]
            full = table_of(["topic", "title", "description", "narrative", "metadata"], rows)
            return Listing(full, table_of(["topic", "title", "description"], short))
        return self._load_all("topics", files, ids=ids, **options)

    def outside(
        self,
        sources: Sequence[str] = (),
        *,
        do: Literal["add", "approve", "remove"] = "add",
        columns: Mapping[str, str] | None = None,
    ) -> Listing:
        """Point to documents that stay outside, approve the sources that are named, or remove some; then list them.

        A source is `kind:place`, as in `jsonl:/data/documents.jsonl`. What is added is approved on this machine, too.
        """
        return outside.change(self._store, sources, do=do, columns=columns, progress=self._progress)

    def document(self, id: str) -> Document:
        """One document, fetched where it stays outside; an unknown id is answered with those spelled alike."""
        found = stored.fetch(self._store, id)
        if found is None:
            fetched = outside.Outside(self._store).find(id, patience=outside.LONG_PATIENCE)
            if isinstance(fetched, Document):
                return fetched
            if fetched.reason:
                raise InputError(f"document {quoted(id)} cannot be shown: {fetched.reason}")
            raise UnknownName("document", id, stored.ids_near(self._store, id))
        return found

    def show(self, document: str = "") -> Listing:
        """List one document, or the first ten."""
        found = [self.document(document)] if document else [one for one, _ in islice(stored.each(self._store), 10)]
        rows = [(one.id, one.title, one.text, as_json(one.metadata), one.content_hash) for one in found]
        short = [(one.id, shortened(one.title, 50), shortened(one.text, 80)) for one in found]
        full = table_of(["document", "title", "text", "metadata", "content_hash"], rows)
        elsewhere = [] if document else outside.notes(self._store)
        return Listing(full, table_of(["document", "title", "text"], short), remarks=elsewhere)

    def search(self, query: str, *, count: int = 10) -> Listing:
        """Search the documents; a query without a word is an error. People see hits in brackets."""
        if not stored.match_expression(query):
            raise InputError("the query contains no words")
        require_documents(self._store)
        hits = stored.search(self._store, query, limit=count)
        full, short = (
            [hit._replace(snippet=hit.snippet.replace(HIT_START, start).replace(HIT_END, end)) for hit in hits]
            for start, end in (("", ""), "[]")
        )
        short = [hit._replace(title=shortened(hit.title, 40)) for hit in short]
        columns = ["document", "score", "title", "snippet"]
        remark = f"{counted(len(hits), 'document')} shown" if hits else "nothing found"
        return Listing(
            table_of(columns, full),
            table_of([columns[0], Number("score", digits=2), *columns[2:]], short),
            remarks=[remark],
        )

    def duplicates(self, *, threshold: float = 0.8, search: bool = True) -> Listing:
        """Find clusters of exact and near duplicates and store them in place of the ones before.

        Without `search` those of the latest search are listed.
        """
        store = self._store
        if search:
            require_documents(store)
            total = stored.count(store)

            def texts() -> Iterator[tuple[str, str]]:
                for done, (document, _) in enumerate(stored.each(store), start=1):
                    if done % 100 == 0:
                        self._progress("searching for duplicates", done, total)
                    yield document.id, document.text or document.title

            found = near_duplicates.find_clusters(texts(), threshold=threshold)
            constants = near_duplicates.SHINGLE, near_duplicates.PERMUTATIONS, near_duplicates.SEED
            with store.write():
                stored.put_clusters(store, stored.Scan(threshold, *constants, total), found)
        rows, scan = stored.clusters(store), stored_scan(store)
        table = table_of(["cluster", "document", "kind", Number("similarity", digits=2), "representative"], rows)
        remark = f"{counted(len({row[0] for row in rows}), 'cluster')} in {counted(scan.documents, 'document')}"
        return Listing(table, remarks=[remark])

    def _load_all(
        self,
        kind: reading.Kind,
        files: Sequence[Path],
        *,
        format: str | None = None,
        encoding: str = "utf-8",
        report: Callable[[Loaded | CranfieldError], None] | None = None,
        **options: Any,
    ) -> Added:
        """Load several files, each on its own; a bad one does not keep the others out. `report` is called after each.

        Options: `keep_going` loads what is good of a bad file, `update` replaces records of the same id, and
        `columns` says what a table or JSON lines call the id, the title or the text: {"id": "name"}.
        """
        outcomes: list[Loaded | CranfieldError] = []
        for place in [located(word) for file in files for word in matching(file)]:
            try:
                outcomes.append(self._load(kind, Source(place, encoding), format, **options))
            except InputError as error:
                outcomes.append(error)
            if report is not None:
                report(outcomes[-1])
        return Added(tuple(outcomes))

    def _load(
        self,
        kind: reading.Kind,
        source: Source,
        format: str | None,
        *,
        keep_going: bool = False,
        update: bool = False,
        **options: Any,
    ) -> Loaded:
        """Load one file in one transaction, so that a bad file leaves nothing behind.

        All of it is read even after the first bad record, so that every problem is listed at once; then nothing is
        kept, unless `keep_going` asks for the good records.
        """
        chosen, noun, size = reading.format_of(source, kind, format), kind.removesuffix("s"), source.size
        log.info("loading %s from %s as %s", kind, source.name, chosen)
        what, total = f"{kind} from {source.path.name}, MB", None if size is None else size >> 20
        digest = "" if source.is_folder else source.file_sha256
        loaded, watched = Loaded(source.name, noun), source
        if not source.is_piped:
            watched = replace(source, watch=lambda done: self._progress(what, done >> 20, total))
        with self._store.write():
            file = stored.LoadedFile(kind, storable(source.data_set or source.path.name), chosen, digest)
            number = stored.add_source(self._store, file)
            records, is_whole = reading.read_records(kind, watched, format=chosen, **options), True
            while is_whole and (keep_going or loaded.bad <= MOST_ERRORS):
                read = list[Any]()
                try:
                    read.extend(islice(records, BATCH))
                except SourceError as error:  # a file that breaks off in the middle is a problem like others
                    read.append(error.problem)
                is_whole = len(read) == BATCH
                for problem in (record for record in read if isinstance(record, Problem)):
                    loaded.note(problem)
                batch = [record for record in read if not isinstance(record, Problem)]
                added = stored.add(self._store, batch, source=number, update=update)
                loaded.new, loaded.same = loaded.new + added.new, loaded.same + added.same
                loaded.updated += added.updated
                for record in (batch[place] for place in added.places):
                    is_own = stored.source_of(self._store, kind, record.id) == number
                    where = "earlier in this file" if is_own else "in the collection"
                    message = f"{noun} {quoted(record.id)} already exists {where}"
                    remedy = "give it another id, or use --update to replace it"
                    loaded.note(Problem(f"{noun}-clash", f"{message}, with different content", remedy=remedy))
            stored.finish_source(self._store, number, records=loaded.new + loaded.updated)
            if loaded.bad and not keep_going:
                has_valid = loaded.new or loaded.same or loaded.updated
                kept = "nothing was loaded" + (f" (--keep-going loads the valid {kind})" if has_valid else "")
                many = f", and the rest was not read after {MOST_ERRORS:,}" if loaded.bad > MOST_ERRORS else ""
                summary = f"{loaded.name} has {counted(loaded.bad, 'error')}{many}: {kept}"
                raise ProblemsFound(summary, loaded.problems, total=loaded.noted)
        return loaded


# Documents that stay outside can be read, but neither searched nor compared.


def require_documents(store: Store) -> None:
    """Refuse what needs the texts of all documents where none is in the file."""
    if not stored.count(store):
        if stored.outside_sources(store):
            raise InputError(outside.NO_SEARCH)
        raise InputError("there are no documents yet; add some with: cranfield corpus add FILE…")


# Which documents say the same: clusters from a file, or those that a collection knows.


def stored_scan(store: Store) -> stored.Scan:
    """The settings of the latest search; refused where there was none, or documents came after it."""
    scan = stored.latest_scan(store)
    if scan is None:
        raise InputError("duplicates have not been searched for yet; run: cranfield corpus duplicates")
    if scan.documents != stored.count(store):
        raise InputError(
            "documents were added since the search for duplicates; repeat it: cranfield corpus duplicates"
        )
    return scan


def known_clusters(store: Store) -> dict[str, int]:
    """The near-duplicates that the latest search found; an error says that there are none, or how to find them."""
    stored_scan(store)
    clusters = pools.clusters_by_document(store)
    if not clusters:
        raise InputError("the search for near-duplicates found none")
    return clusters


def clusters_for(
    given: str | os.PathLike[str] | Mapping[str, Hashable] | None, store: Store | None
) -> Mapping[str, Hashable]:
    """Document -> cluster: as it is given, from the file where one is given, else from the collection."""
    if isinstance(given, Mapping):
        return given
    if given is not None:
        return read_clusters(Source(located(given)))
    if store is None:
        raise UsageError(
            "novelty needs near-duplicate clusters: pass a file of clusters, or use a collection that has them"
        )
    return known_clusters(store)


_CLUSTERS = Schema(
    {"document": (), "cluster": ()},
    (
        Fault("empty", "the file contains no clusters"),
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
