"""Documents out of files and folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from cranfield.base.errors import InputError, Problem
from cranfield.base.files import Source, codec_name
from cranfield.base.records import Document, Topic
from cranfield.base.registry import Registry
from cranfield.corpus.format import DocumentFormat, TopicFormat, is_error, is_utf8_beyond_ascii, utf8_after_all
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.corpus.formats.folder import files_in

# Which format a file has: by name if one is given, else by what it begins with, else by how it is called.

Format = TypeVar("Format", DocumentFormat, TopicFormat)

ONE_TEXT = "text"
"""The format of what is a document by its name alone: whatever else the content looks like goes before it."""


def recognised(source: Source, formats: Registry[Format]) -> str | None:
    """Give the name of the format that fits, if any.

    The content decides. Where several formats would take it, the name of the file decides between them; where
    none would (an empty file), the name alone.
    """
    head, name = source.head(), source.bare_name
    by_content = [known for known, format in formats.items() if format.sniff(head, name)]
    by_name = [known for known, format in formats.items() if name.lower().endswith(format.suffixes)]
    both = [known for known in by_content if known in by_name]
    return next(iter(both or by_content or by_name), None)


def no_format(source: Source, formats: Registry[Format], hint: str = "") -> InputError:
    """Give the error that no format fits, with what each of them expects."""
    known = "\n".join(f"  {name}: {format.summary}" for name, format in formats.items())
    advice = f"{hint}; " if hint else ""
    message = f"no {formats.noun} fits this file; {advice}name one with --from if you know better"
    return InputError(f"{source.name}: {message}:\n{known}")


def read_documents(path: Path | Source, *, format: str | None = None) -> Iterator[Document | Problem]:
    """Give the documents of a file or folder and the problems with it, in the order of the file, streamed.

    The format is named or recognised. Every problem names the file. A file without any document is a problem.
    Give a `Source` instead of a path to name another encoding or to watch the progress.
    """
    source = path if isinstance(path, Source) else Source(path)
    reader = document_formats.get(document_format_of(source, format))
    is_empty = True
    for record in reader.read(source):
        is_empty = is_empty and isinstance(record, Problem) and not is_error(record)
        yield record.at(source.name) if isinstance(record, Problem) and not record.file else record
    if is_empty:
        yield Problem("empty", "there are no documents in it", file=source.name)
    if codec_name(source.encoding) != "utf-8" and not source.is_piped:
        # Warn of files that are UTF-8 as they lie there, and were read in the encoding that was named.
        files = files_in(source.path) if source.is_folder else [source.path]
        spoiled = [file for file in files if is_utf8_beyond_ascii(Source(file))]
        if spoiled:
            yield utf8_after_all(len(spoiled), source.encoding).at(str(spoiled[0]))


def document_format_of(path: Path | Source, format: str | None = None) -> str:
    """Give the name of the format in which `path` is read, or say what each format expects."""
    source = path if isinstance(path, Source) else Source(path)
    if format is not None:
        document_formats.get(format)
        return format
    if source.is_folder:
        return "folder"
    found = recognised(source, document_formats)
    head, name = source.head(), source.bare_name
    if found == ONE_TEXT and any(known.sniff(head, name) for _, known in topic_formats.items()):
        found = None
    if found is not None:
        return found
    is_topics = recognised(source, topic_formats) is not None
    raise no_format(
        source, document_formats, "it looks like a file of topics: cranfield corpus topics" if is_topics else ""
    )


# Topics out of files.

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
