"""Documents out of files and folders."""

from collections.abc import Iterator
from pathlib import Path

from cranfield.corpus.choice import ONE_TEXT, no_format, recognised
from cranfield.corpus.decoding import is_error, is_utf8_beyond_ascii, utf8_after_all
from cranfield.corpus.formats import document_formats, topic_formats
from cranfield.corpus.formats.folder import files_in
from cranfield.errors import Problem
from cranfield.records import Document
from cranfield.source import Source, codec_name


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
    yield from _misread(source)


def _misread(source: Source) -> Iterator[Problem]:
    """Warn of files that are UTF-8 as they lie there, and were read in the encoding that was named."""
    if codec_name(source.encoding) == "utf-8" or source.is_piped:
        return
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
    if found is not None and not (found == ONE_TEXT and _is_of_topics(source)):
        return found
    raise no_format(source, document_formats, _hint(source))


def _hint(source: Source) -> str:
    """Guess what was meant by a file that no format fits."""
    if recognised(source, topic_formats):
        return "it looks like a file of topics: cranfield corpus topics"
    return ""


def _is_of_topics(source: Source) -> bool:
    head, name = source.head(), source.bare_name
    return any(format.sniff(head, name) for _, format in topic_formats.items())
