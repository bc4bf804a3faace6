"""Documents and topics out of files: what a format is, which one a file has, and what is wrong with its records.

A format has a `summary`, its line in the help, and `suffixes`, the usual file endings; `sniff(head, name)` says
whether a file that begins with `head` is of this format, and `read(source)` streams records and problems in the order
of the file. A bad record is a problem of severity `error` in its place, and reading goes on behind it; a `warning`
stands before the record it is about, which is given all the same. A format whose records name their parts has them as
its `schema`, so that others can be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from unicodedata import category

from cranfield.base.errors import InputError, Problem, UsageError, check_known, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.records import Document, Topic
from cranfield.base.registry import Registry, deferred
from cranfield.base.tables import Schema, spelled

with deferred:
    from cranfield.corpus import datasets

document_formats: Registry[Any] = Registry(
    "document format", package="cranfield.corpus.formats", group="cranfield.document_formats"
)
topic_formats: Registry[Any] = Registry(
    "topic format", package="cranfield.corpus.formats", group="cranfield.topic_formats"
)

FORMATS = {"documents": document_formats, "topics": topic_formats}


def read_records(
    kind: Kind,
    path: Path | Source,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    ids: str = "",
) -> Iterator[Any]:
    """The documents or topics of a file or folder and the problems with it, in the order of the file, streamed.

    The format is named or recognised. `columns` says what the file calls the id, the title or the text, where that is
    none of the usual words. Every problem names the file. A file without any record is a problem. A `Source` instead
    of a path can name another encoding and report the progress.

    With `ids`, as in "CACM-{:04}", a document is called by the number its id ends with. With "position" a topic is
    called 1, 2, 3 … by its place in the file, and what the file calls it is kept as metadata `given_id`. That is for
    collections whose qrels count topics so: the Cranfield query file says 001, 002, 004, 008 …, its qrels 1 … 225.
    """
    source = path if isinstance(path, Source) else Source(path)
    if source.data_set:
        schema = DOCUMENT if kind == "documents" else TOPIC
        found = datasets.DataSet(source.data_set).records("docs" if kind == "documents" else "queries", schema)
        numbered = enumerate(found, start=1)
        records = (one for number, (parts, metadata) in numbered for one in checked(schema, parts, metadata, number))
    else:
        name = format_of(source, kind, format)
        reader = FORMATS[kind].get(name)
        if columns:
            if not hasattr(reader, "schema"):
                raise UsageError(
                    f"--columns names the columns of a table or the fields of JSON lines; {name} has none"
                )
            reader = replace(reader, schema=with_columns(reader.schema, columns))
        records = reader.read(source)
    for record in _placed(source, _numbered(records) if ids == "position" else records, kind, columns or {}):
        yield replace(record, id=renumbered(record.id, ids)) if ids and isinstance(record, Document) else record


read_documents = partial(read_records, "documents")
read_topics = partial(read_records, "topics")


def renumbered(id: str, pattern: str) -> str:
    """An id as a pattern has it: `CACM-46`, `46` and `046` are CACM-0046 by "CACM-{:04}"."""
    number = re.search(r"(?<!\d)\d{1,18}\Z", id)
    return pattern.format(int(number[0])) if pattern and number else id


def with_columns(schema: Schema, columns: Mapping[str, str]) -> Schema:
    """The schema with some of its parts called as the user says."""
    check_known(f"part of {'documents' if 'text' in schema.columns else 'topics'}", columns, schema.columns)
    return replace(schema, columns={**schema.columns, **{part: (spelled(word),) for part, word in columns.items()}})


def _placed(source: Source, records: Iterator[Any], noun: Kind, columns: Mapping[str, str]) -> Iterator[Any]:
    """The records, each problem with the name of the file, and then what is wrong with the file as a whole.

    A named column that no record has is an error; the others they have are metadata. A file without a record or an
    error is empty; one in which most records look like the other kind is refused.
    """
    absent, metadata = dict(columns), dict[str, None]()
    is_empty, count, others = True, 0, 0
    for record in records:
        if isinstance(record, Problem):
            is_empty = is_empty and not record.is_error
            yield record if record.file else record.at(source.name)
            continue
        is_empty, count, fields = False, count + 1, {spelled(name) for name in record.metadata}
        if isinstance(record, Document):  # a topic has its fields and no text, a document its text or its length
            topical = TOPIC.columns["description"] + TOPIC.columns["narrative"]
            others += not record.text and not fields.isdisjoint(topical)
        else:
            is_long = len(f"{record.title} {record.description}".split()) > _LONGEST_QUERY
            others += is_long or not fields.isdisjoint(DOCUMENT.columns["text"])
        if absent:
            absent = {part: word for part, word in absent.items() if not getattr(record, part)}
            metadata |= dict.fromkeys(record.metadata)
        yield record
    for part, word in absent.items() if metadata else ():
        seen = ", ".join(quoted(name, limit=40) for name in islice(metadata, 10))
        message = f"no {part} in a column {quoted(word)}; other columns are {seen}"
        yield Problem("no-column", message, file=source.name)
    if is_empty:
        yield Problem("empty", f"it contains no {noun}", file=source.name)
    if 2 * others > count:
        meant, command = ("topics", "topics") if noun == "documents" else ("documents", "add")
        message = f"most records ({others:,} of {count:,}) look like {meant}, not {noun}"
        remedy = f"add {meant} with cranfield corpus {command}; --keep-going loads them as {noun} all the same"
        yield Problem(f"{meant}-as-{noun}", message, file=source.name, remedy=remedy)


def _numbered(records: Iterator[Any]) -> Iterator[Any]:
    """Call topics by their position. Behind a bad record no position is sure, so there is nothing behind it."""
    position, is_sure = 0, True
    for record in records:
        if isinstance(record, Problem):
            is_sure = is_sure and not record.is_error
            yield record
        elif is_sure:
            position += 1
            yield replace(record, id=str(position), metadata={**record.metadata, "given_id": record.id})
    if not is_sure:
        message = f"topics after number {position} have no certain position, because of the errors above"
        yield Problem("no-position", message)


# Which format a file has: by name if one is given, else by what it begins with, else by how it is called.

Kind = Literal["documents", "topics"]

ONE_TEXT = "text"
"""The format of what is a document by its name alone: whatever else the content looks like goes before it."""

_CALLED_TOPICS = {"topic", "topics", "query", "queries"}

_LISTED = re.compile(rb"\s*(\S*\d\S*|\S+\s+Q?0)\s+\S.*")
"""A line of topics, qrels or a run: it begins with an id, known by its digit or by the column after it."""


def format_of(path: Path | Source, kind: Kind, format: str | None = None) -> str:
    """The name of the format in which `path` is read; where none fits, an error says what each expects."""
    source = path if isinstance(path, Source) else Source(path)
    is_documents = kind == "documents"
    formats = FORMATS[kind]
    if format is not None:
        formats.get(format)
        return format
    if source.is_folder and is_documents:
        return "folder"
    if source.data_set:
        return "irds"
    if is_documents and not _CALLED_TOPICS.isdisjoint(re.split(r"[\W\d_]+", source.bare_name.lower())):
        meant = "by its name it has topics: add them with cranfield corpus topics"
        raise InputError(f"{source.name}: {meant}; --from FORMAT adds it as documents")
    found = recognised(source, formats)
    if is_documents and found is not None:
        # Where only the name of the file speaks for a format of documents, topics are known by their content.
        head, name = source.head(), source.bare_name
        if not formats.get(found).sniff(head, name) and any(
            one.sniff(head, name) for _, one in topic_formats.items()
        ):
            found = None
        lines = [line for line in head.splitlines()[:50] if line.strip()]
        if found == ONE_TEXT and name.endswith(PLAIN) and len(lines) > 2 and all(map(_LISTED.fullmatch, lines)):
            raise InputError(
                f"{source.name}: every line begins with an id, as in topics (add them with cranfield corpus topics),"
                " qrels (cranfield judge import) or a run (cranfield runs submit); --from text adds it as a document"
            )
    if found is not None:
        return found
    hint = ""
    if recognised(source, FORMATS["topics" if is_documents else "documents"]) not in (None, ONE_TEXT):
        looks = "topics: cranfield corpus topics" if is_documents else "documents: cranfield corpus add"
        hint = f"it looks like a file of {looks}; "
    known = "\n".join(f"  {name}: {format.summary}" for name, format in formats.items())
    message = f"no {formats.noun} matches this file; {hint}pass --from to name one"
    raise InputError(f"{source.name}: {message}:\n{known}")


def recognised(source: Source, formats: Registry[Any]) -> str | None:
    """The name of the format that fits, if any.

    The content decides. Where several formats would take it, the name of the file decides between them; where
    none would (an empty file), the name alone.
    """
    head, name = source.head(), source.bare_name
    by_content = [known for known, format in formats.items() if format.sniff(head, name)]
    by_name = [known for known, format in formats.items() if name.lower().endswith(format.suffixes)]
    both = [known for known in by_content if known in by_name]
    return next(iter(both or by_content or by_name), None)


# Records made out of parts, with what is wrong about them.

LONGEST_ID = 1000
_SPLITTING = {"Cc", "Cs", "Zs", "Zl", "Zp"}
"""The categories of white space, control characters and surrogates."""
_LONGEST_QUERY = 100
"""In words: longer queries are texts of documents."""


def checked(
    schema: Schema, parts: Mapping[str, str], metadata: Mapping[str, str], line: int
) -> Iterator[Document | Topic | Problem]:
    """The document or topic that some parts are, after a warning if it is empty; or what is wrong with it.

    The title of a topic is the query, so it is never empty: where the source has none, it is the description, else
    the narrative, else all other fields in a row. It is always one line. An id is one word, because run files are
    split at blanks.
    """
    noun = "document" if "text" in schema.columns else "topic"
    id, title, *texts = (parts.get(part, "") for part in schema.columns)
    is_plain = id.isprintable() and " " not in id
    if not id:
        yield Problem("no-id", f"a {noun} without an id", lines=(line,))
    elif len(id) > LONGEST_ID:
        yield Problem("bad-id", f"a {noun} id of {len(id):,} characters: {quoted(id, limit=40)}", lines=(line,))
    elif not is_plain and (bad := next((one for one in id if one == "\ufeff" or category(one) in _SPLITTING), "")):
        what = f"white space or control characters (U+{ord(bad):04X})"
        yield Problem("bad-id", f"the {noun} id {quoted(id)} contains {what}", lines=(line,))
    elif noun == "document":
        if not texts[0] and not title:
            message = f"document {quoted(id)} has neither title nor text"
            yield Problem("empty-document", message, "warning", lines=(line,))
        yield Document(id, texts[0], title, metadata)
    elif query := one_line(title or texts[0] or texts[1] or "; ".join(metadata.values())):
        yield Topic(id, query, texts[0], texts[1], metadata)
    else:
        yield Problem("empty-topic", f"topic {quoted(id)} has no text", lines=(line,))


def one_line(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return " ".join(text.split())


# Bytes to text, for files in which one bad record must not hide the others.

REMEDY = "convert the file to UTF-8, or name its encoding: --encoding latin-1 (common in old files)"


def decoded(data: bytes, line: int) -> tuple[str, list[Problem]]:
    """The text of `data`, which starts on `line`, and what is wrong with it."""
    try:
        text, problems = data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        text = data.decode("utf-8", "replace")
        problems = [Problem("not-utf-8", message, lines=(at,), remedy=REMEDY)]
    if "\0" in text:
        at = line + text.count("\n", 0, text.index("\0"))
        problems.append(nul_problem(text.count("\0"), at))
        text = text.replace("\0", "\ufffd")
    return text, problems


def nul_problem(count: int, line: int) -> Problem:
    """Say that NUL characters were replaced."""
    characters = "a NUL character" if count == 1 else f"{count:,} NUL characters"
    return Problem("nul", f"{characters}, replaced by U+FFFD", "warning", lines=(line,))


def lone_carriage_return(line: int) -> Problem:
    """Say that a carriage return stands alone: old Macs ended lines so, and records would run into each other."""
    message = "a carriage return without a line feed"
    return Problem("lone-carriage-return", message, lines=(line,), remedy="end lines with a line feed")


def lines_of(source: Source) -> Iterator[tuple[int, str, list[Problem]]]:
    """The number of each line of a file, its text with the line end as LF, and the problems with it."""
    for number, data in source.byte_lines():
        if len(data) > LONGEST_LINE:
            yield number, "\n", [Problem("too-long", f"a line of more than {LONGEST_LINE >> 20} MB", lines=(number,))]
            continue
        text, problems = decoded(data, number)
        text = text[:-2] + "\n" if text.endswith("\r\n") else text
        yield number, text, [*problems, lone_carriage_return(number)] if "\r" in text else problems


# Which field of a foreign record is the id, the title, the text: the usual spellings, best first.

DOCUMENT = Schema(
    {
        "id": ("_id", "id", "doc_id", "pid", "docid", "docno", "document_id", "passage_id"),
        "title": ("title", "headline"),
        "text": ("text", "contents", "body", "passage", "segment", "content", "abstract"),
    },
    needed=("id", "text"),
)
TOPIC = Schema(
    {
        "id": ("_id", "id", "query_id", "qid", "topic_id", "number", "num", "topic"),
        "title": ("title", "query", "text", "question"),
        "description": ("description", "desc", "question"),
        "narrative": ("narrative", "narr"),
    },
    needed=("id", "title"),
)


# The files of a folder that are documents.

PLAIN, MARKDOWN, PAGES = (".txt", ".text"), (".md", ".markdown"), (".html", ".htm", ".xhtml")
TEXTS = PLAIN + MARKDOWN + PAGES


def links_out_of(folder: Path) -> list[Path]:
    """The symbolic links in a folder that lead out of it, in the order of their paths."""
    inside = folder.resolve()
    links = (path for path in folder.rglob("*") if path.is_symlink())
    return sorted(path for path in links if not path.resolve().is_relative_to(inside))


def files_in(folder: Path) -> list[Path]:
    """The files of a folder that are documents, in the order of their paths; neither hidden ones nor links out of it.

    Links to folders are never followed: within the folder, what they lead to is there already.
    """
    left_out = set(links_out_of(folder))
    parts = {path: path.relative_to(folder).parts for path in folder.rglob("*") if path not in left_out}
    found = [
        path
        for path, names in parts.items()
        if not any(name.startswith(".") for name in names)
        and Source(path).bare_name.lower().endswith(TEXTS)
        and path.is_file()
    ]
    return sorted(found, key=parts.__getitem__)
