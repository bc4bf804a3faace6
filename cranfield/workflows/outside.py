"""Documents that stay outside a collection: where they are, which sources may be used here, and what they give.

A collection only names its sources. One is used after somebody approved it on this machine, for this collection: that
is kept among the settings of the user, never in the collection, which may be a stranger's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from cranfield.base.errors import InputError, UsageError, check_known, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import Document
from cranfield.base.registry import deferred
from cranfield.base.tables import object_in
from cranfield.base.text import Listing, counted, few, table_of
from cranfield.base.writing import settings_folder, whole_file
from cranfield.store import Store, documents

with deferred:
    from cranfield.corpus import outside as sources

Doing = Literal["add", "approve", "remove"]

APPROVE = "corpus outside --approve"
NO_SEARCH = "documents that stay outside are not searched: copy those that are needed with cranfield corpus add"

LONG_PATIENCE = 30.0
"""Seconds that a command waits for what cannot be had."""

_AT_ONCE = 50


class Outside:
    """The documents of a collection that its file does not hold. Without sources nothing is found, for no reason."""

    def __init__(self, store: Store) -> None:
        there, self._approve = documents.outside_sources(store), f"{store.command} {APPROVE}"
        known = _approvals(store)[1] if there else ()
        self.refused = [str(one) for one in there if str(one) not in known]
        self._fetcher = sources.Fetcher([one for one in there if str(one) in known])

    @property
    def is_approved(self) -> bool:
        """Whether some source may be used here."""
        return bool(self._fetcher.addresses)

    def want(self, ids: Iterable[str]) -> None:
        """Begin to fetch documents that are needed soon."""
        if self.is_approved:
            self._fetcher.want(ids)

    def find(self, id: str, *, patience: float | None = None) -> Document | sources.Unavailable:
        """One document, within some seconds, or why not."""
        found: Document | sources.Unavailable = sources.Unavailable("")
        if self.is_approved:
            found = self._fetcher.get(id, patience=sources.PATIENCE if patience is None else patience)
        if isinstance(found, sources.Unavailable) and self.refused:
            refused = f"not approved on this machine: {', '.join(self.refused)}; {self._approve}"
            found = sources.Unavailable("; ".join(filter(None, (found.reason, refused))))
        return found

    def find_all(
        self, ids: Sequence[str], *, what: str = "fetching documents", progress: Progress = silent
    ) -> Iterator[tuple[str, Document | sources.Unavailable]]:
        """Every document, or why not; all that cannot be had is waited for half a minute, together."""
        patience, rest = LONG_PATIENCE, iter(enumerate(ids))
        while part := list(islice(rest, _AT_ONCE)):
            self.want([id for _, id in part])
            for done, id in part:
                progress(what, done, len(ids))
                asked = monotonic()
                found = self.find(id, patience=patience)
                if isinstance(found, sources.Unavailable):
                    patience = max(patience - (monotonic() - asked), 0)
                yield id, found


# What was approved here.


def _approvals(store: Store) -> tuple[Path, list[str], dict[str, list[str]]]:
    """Where approvals are kept, the sources of this collection, and those of each by what identifies it.

    What cannot be read approves nothing.
    """
    file, content = settings_folder() / "approved-sources.json", dict[str, Any]()
    with suppress(OSError, UnicodeDecodeError):
        content = object_in(file.read_text(encoding="utf-8")) or {}
    kept = {name: list(map(str, known)) for name, known in content.items() if isinstance(known, list)}
    own = kept.setdefault(f"{store.setting('name', '')}, made {store.setting('made', '')}", [])
    return file, own, kept


# Sources are added, approved, removed and listed.


def change(
    store: Store,
    words: Sequence[str],
    *,
    do: Doing = "add",
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Listing:
    """Add sources, approve those that a collection names (all by default), remove some; then list them."""
    known = {str(one): one for one in documents.outside_sources(store)}
    if do == "add":
        wanted = [sources.parse_address(word, columns) for word in words]
    else:
        if columns:
            raise UsageError("--columns belongs to a source that is added")
        if do == "remove" and not words:
            raise UsageError("name the source to remove")
        names = [word if word in known else str(sources.parse_address(word)) for word in words] or list(known)
        check_known("source of documents", names, known)
        wanted = [known[name] for name in names]
    # A source is made ready before it is recorded: an index may take minutes, and what does not work is not added.
    counts = list[int | None]()
    for one in wanted:
        try:
            counts.append(None if do == "remove" else sources.open_source(one).prepare(progress))
        except InputError as error:
            raise InputError(f"{one}: {error}") from None
    if wanted and do != "approve":
        with store.write():
            for one, count in zip(wanted, counts, strict=True):
                if do == "add":
                    documents.put_outside(store, one._replace(documents=count))
                else:
                    documents.remove_outside(store, one.kind, one.place)
    if wanted and do != "remove":
        file, own, kept = _approvals(store)
        with suppress(OSError):  # what is wrong is said when the file is written
            file.parent.mkdir(parents=True, exist_ok=True)
        own[:] = sorted({*own, *map(str, wanted)})
        with whole_file(file, replace=True) as unfinished:
            unfinished.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    refused, there = Outside(store).refused, documents.outside_sources(store)
    rows = [(str(one), one.documents, str(one) not in refused) for one in there]
    remarks = _refusals(store) if rows else ["no source: only documents that are in the file can be shown"]
    table = table_of(["source", "documents", "approved"], rows)
    return Listing(table, remarks=[*remarks, *nowhere(store, ask=bool(wanted))])


def notes(store: Store) -> list[str]:
    """Where documents stay outside, and what may not be used here."""
    told = []
    for one in documents.outside_sources(store):
        many = "documents" if one.documents is None else counted(one.documents, "document")
        told.append(f"note: {many} outside, in {one}; search and baselines do not cover them")
    return told + _refusals(store) + nowhere(store)


def nowhere(store: Store, *, ask: bool = False) -> list[str]:
    """Say that documents are to be judged which are neither in the collection nor in a source outside.

    With `ask` the sources are asked for one of them: if documents have other ids there, none would be found.
    """
    count, add = documents.without_text(store), "add documents with cranfield corpus add"
    if count:
        what = f"{counted(count, 'document')} to judge not in the collection: assessors will see no text"
        return [f"warning: {what}; {add}, or name their source with cranfield corpus outside"]
    id, outside = documents.to_fetch(store) if ask else None, Outside(store)
    found = outside.find(id) if id is not None and outside.is_approved else None
    if not isinstance(found, sources.Unavailable):
        return []
    return [
        f"warning: {quoted(id or '')} is to be judged, and {found.reason}; a source has to have the ids of the runs"
    ]


def _refusals(store: Store) -> list[str]:
    refused = Outside(store).refused
    use = "sources that were not approved on this machine are not used"
    return [f"note: {use}: {', '.join(refused)}; to use them: cranfield {APPROVE}"] if refused else []


def changes(store: Store, *, progress: Progress = silent) -> list[str]:
    """Which documents have another text in their source than the one that was judged, as far as that can be found."""
    told, outside = [], Outside(store)
    versions = documents.judged_in_versions(store)
    if versions:
        told.append(f"judged in more than one version: {few(versions, 3)}")
    held = (
        {document.id: known for document, known in documents.each(store, "kept_documents")}
        if outside.is_approved
        else {}
    )
    changed, failures = [], list[str]()
    for id, found in outside.find_all(list(held), what="comparing documents", progress=progress):
        if isinstance(found, sources.Unavailable):
            failures.append(found.reason)
        elif found.content_hash != held[id] and id not in versions:
            changed.append(id)
    if changed:
        told.append(f"{counted(len(changed), 'document')} changed outside after the judgment: {few(changed, 3)}")
    if failures:
        missing = f"{counted(len(failures), 'judged document')} could not be compared with their source"
        told.append(f"{missing}; they are kept here as they were judged ({failures[0]})")
    return told
