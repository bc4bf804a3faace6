"""Topics out of files."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cranfield.corpus.choice import ONE_TEXT, no_format, recognised
from cranfield.corpus.decoding import is_error
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.errors import Problem
from cranfield.records import Topic
from cranfield.source import Source

TopicIds = Literal["given", "position"]


def read_topics(
    path: Path | Source, *, format: str | None = None, ids: TopicIds = "given"
) -> Iterator[Topic | Problem]:
    """Give the topics of a file and the problems with it, in the order of the file.

    With `ids="position"` a topic is called 1, 2, 3 … by its place in the file, and what the file calls it is kept
    as metadata `given_id`. That is for collections whose qrels count topics so: the Cranfield query file says 001,
    002, 004, 008 …, its qrels 1 … 225.
    """
    source = path if isinstance(path, Source) else Source(path)
    reader = topic_formats.get(topic_format_of(source, format))
    records = reader.read(source)
    is_empty = True
    for record in _numbered(records) if ids == "position" else records:
        is_empty = is_empty and isinstance(record, Problem) and not is_error(record)
        yield record.at(source.name) if isinstance(record, Problem) else record
    if is_empty:
        yield Problem("empty", "there are no topics in it", file=source.name)


def topic_format_of(path: Path | Source, format: str | None = None) -> str:
    """Give the name of the format in which `path` is read, or say what each format expects."""
    source = path if isinstance(path, Source) else Source(path)
    if format is not None:
        topic_formats.get(format)
        return format
    if found := recognised(source, topic_formats):
        return found
    documents = recognised(source, document_formats)
    hint = "it looks like a file of documents: cranfield corpus add" if documents not in (None, ONE_TEXT) else ""
    raise no_format(source, topic_formats, hint)


def _numbered(records: Iterator[Topic | Problem]) -> Iterator[Topic | Problem]:
    """Call topics by their position. Behind a bad record no position is sure, so there is nothing behind it."""
    position, is_sure = 0, True
    for record in records:
        if isinstance(record, Problem):
            is_sure = is_sure and not is_error(record)
            yield record
        elif is_sure:
            position += 1
            yield replace(record, id=str(position), metadata={**record.metadata, "given_id": record.id})
    if not is_sure:
        message = f"topics after number {position} have no sure position, because of the errors above"
        yield Problem("no-position", message)
