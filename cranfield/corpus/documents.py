"""Documents out of files and folders."""

from collections.abc import Iterator
from pathlib import Path

from cranfield.corpus.choice import no_format, recognised
from cranfield.corpus.decoding import is_error
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.errors import Problem
from cranfield.records import Document
from cranfield.source import Source


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


def document_format_of(path: Path | Source, format: str | None = None) -> str:
    """Give the name of the format in which `path` is read, or say what each format expects."""
    source = path if isinstance(path, Source) else Source(path)
    if format is not None:
        document_formats.get(format)
        return format
    if source.is_folder:
        return "folder"
    if found := recognised(source, document_formats):
        return found
    raise no_format(source, document_formats, _hint(source))


def _hint(source: Source) -> str:
    """Guess what was meant by a file that no format fits."""
    if recognised(source, topic_formats):
        return "it looks like a file of topics: cranfield corpus topics"
    if source.bare_name.lower().endswith((".txt", ".md", ".html", ".htm")):
        return "to load text files as one document each, give their folder"
    return ""
