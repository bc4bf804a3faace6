"""Documents: added in batches, read one by one or streamed."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.records import Document
from cranfield.store import engine
from cranfield.store.adding import Added, add_rows
from cranfield.store.store import Store

_WRITTEN = ("id", "title", "text", "metadata", "content_hash", "source")
_COLUMNS = "id, text, title, metadata"
_AT_ONCE = 500


def add_documents(store: Store, documents: Sequence[Document], *, source: int, update: bool = False) -> Added:
    """Add a batch inside `store.write()`; see `add_rows` for what happens to those that are there already.

    A document that is replaced makes the known near-duplicates untrue: they are forgotten.
    """
    added = add_rows(store, "documents", _WRITTEN, [_row(document, source) for document in documents], update=update)
    if added.updated:
        store.connection.execute("DELETE FROM duplicates")
        store.connection.execute("DELETE FROM duplicate_scans")
    return added


def _row(document: Document, source: int) -> tuple[str, str, str, str, str, int]:
    metadata = json.dumps(dict(document.metadata), ensure_ascii=False) if document.metadata else "{}"
    return document.id, document.title, document.text, metadata, document.content_hash, source


def document_count(store: Store) -> int:
    """Give the number of documents. Numbers are never reused and none is deleted, so the highest is the count."""
    return int(store.value("SELECT coalesce(max(number), 0) FROM documents"))


def document(store: Store, identifier: str) -> Document | None:
    """Give one document, or None."""
    row = store.row(f"SELECT {_COLUMNS} FROM documents WHERE id = ?", identifier)
    return _document(row) if row else None


def iter_documents(store: Store) -> Iterator[Document]:
    """Give all documents in the order they came."""
    return (document for document, _ in iter_documents_with_hash(store))


def iter_documents_with_hash(store: Store) -> Iterator[tuple[Document, str]]:
    """Give (document, stored content hash), a page at a time, so that no read transaction stays open."""
    last = 0
    query = (
        f"SELECT {_COLUMNS}, content_hash, number FROM documents WHERE number > ? ORDER BY number LIMIT {_AT_ONCE}"
    )
    while page := store.rows(query, last):
        last = page[-1][-1]
        yield from ((_document(row[:4]), row[4]) for row in page)


def document_ids(store: Store) -> Iterator[str]:
    """Give the ids of all documents, in no promised order (they come from the index alone)."""
    with engine.translated(store.path):
        for (identifier,) in store.connection.execute("SELECT id FROM documents"):
            yield identifier


def known_among(store: Store, identifiers: Sequence[str]) -> set[str]:
    """Give those of the ids that are documents of the collection."""
    found: set[str] = set()
    for start in range(0, len(identifiers), _AT_ONCE):
        part = identifiers[start : start + _AT_ONCE]
        marks = ",".join("?" * len(part))
        found.update(row[0] for row in store.rows(f"SELECT id FROM documents WHERE id IN ({marks})", *part))
    return found


def content_hashes(store: Store, identifiers: Sequence[str]) -> dict[str, str]:
    """Give id -> content hash of those of the ids that are documents of the collection."""
    found: dict[str, str] = {}
    for start in range(0, len(identifiers), _AT_ONCE):
        part = identifiers[start : start + _AT_ONCE]
        marks = ",".join("?" * len(part))
        found.update(store.rows(f"SELECT id, content_hash FROM documents WHERE id IN ({marks})", *part))
    return found


def _document(row: Sequence[Any]) -> Document:
    identifier, text, title, metadata = row
    return Document(identifier, text, title, json.loads(metadata))


def ids_near(store: Store, identifier: str) -> list[str]:
    """Give a few ids that stand next to `identifier` in the order of ids: what a mistyped id may have meant."""
    after = store.rows("SELECT id FROM documents WHERE id >= ? ORDER BY id LIMIT 3", identifier)
    before = store.rows("SELECT id FROM documents WHERE id < ? ORDER BY id DESC LIMIT 2", identifier)
    cased = store.rows("SELECT id FROM documents WHERE id IN (?, ?)", identifier.upper(), identifier.lower())
    return list(dict.fromkeys(row[0] for row in [*cased, *before, *after]))
