"""Add documents and topics."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from cranfield.errors import CranfieldError, Problem
from cranfield.records import Document, Topic
from cranfield.source import Source
from cranfield.workflows.intake import Kind, Loaded, load_all
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store import documents as stored_documents
from cranfield.store import topics as stored_topics
from cranfield.store.adding import Added


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
    from cranfield.corpus.topics import read_topics, topic_format_of

    def add(store: Store, topics: Sequence[Topic], source: int) -> Added:
        return stored_topics.add_topics(store, topics, source=source, update=update)

    def read(source: Source, chosen: str) -> Iterator[Topic | Problem]:
        return read_topics(source, format=chosen, ids=ids)

    kind = Kind("topic", "topics", lambda source: topic_format_of(source, format), read, add)
    return load_all(store, kind, paths, encoding=encoding, keep_going=keep_going)
