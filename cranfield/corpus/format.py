"""What a file format of documents or topics is: it recognises itself, reads, and writes.

Reading gives records and problems in the order of the file. A bad record is a problem of severity `error` in its
place, and reading goes on behind it; a `warning` stands before the record it is about, which is given all the same.
A format has no state, so a class with static methods is one: the class itself is what is registered.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TextIO
from unicodedata import category

from cranfield.base.errors import Problem, SourceError, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.records import Document, Topic
from cranfield.base.tables import Schema


class DocumentFormat(Protocol):
    """A file format of documents. `summary` is its line in the help; `suffixes` are the usual file endings.

    Where documents can be written in it too, it has `write(documents, stream)`.
    """

    @property
    def summary(self) -> str: ...
    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether a file that begins with `head` is of this format."""
        ...

    def read(self, source: Source) -> Iterator[Any]:
        """Give the records and the problems, streamed."""
        ...


class TopicFormat(DocumentFormat, Protocol):
    """A file format of topics."""

    def write(self, topics: Iterable[Topic], stream: TextIO) -> None:
        """Write all topics so that reading them gives them back."""
        ...


# Records made out of parts, with what is wrong about them.

LONGEST_ID = 1000


def checked_document(
    *, id: str, title: str, text: str, metadata: Mapping[str, str], line: int
) -> Iterator[Document | Problem]:
    """Give the document, after a warning if it is empty; or the problem with its id."""
    if problem := id_problem("document", id, line):
        yield problem
        return
    if not text and not title:
        message = f"document {quoted(id)} has neither title nor text"
        yield Problem("empty-document", message, "warning", lines=(line,))
    yield Document(id, text, title, metadata)


def checked_topic(
    *, id: str, title: str, description: str, narrative: str, metadata: Mapping[str, str], line: int
) -> Iterator[Topic | Problem]:
    """Give the topic; or the problem with its id, or that it asks nothing.

    The title is the query, so it is never empty: where the source has none, it is the description, else the
    narrative, else all other fields in a row. It is always one line.
    """
    if problem := id_problem("topic", id, line):
        yield problem
        return
    query = one_line(title or description or narrative or "; ".join(metadata.values()))
    if query:
        yield Topic(id, query, description, narrative, metadata)
    else:
        yield Problem("empty-topic", f"topic {quoted(id)} has no text", lines=(line,))


def id_problem(noun: str, id: str, line: int) -> Problem | None:
    """Say what is wrong with an id, if anything: it must be one word, because run files are split at blanks."""
    if not id:
        return Problem("no-id", f"a {noun} without an id", lines=(line,))
    if len(id) > LONGEST_ID:
        return Problem("bad-id", f"a {noun} id of {len(id):,} characters: {quoted(id, limit=40)}", lines=(line,))
    if id.isprintable() and " " not in id:
        return None
    splitting = {"Cc", "Cs", "Zs", "Zl", "Zp"}
    if bad := next((one for one in id if one.isspace() or one == "\ufeff" or category(one) in splitting), None):
        what = f"white space or control characters (U+{ord(bad):04X})"
        return Problem("bad-id", f"the {noun} id {quoted(id)} contains {what}", lines=(line,))
    return None


def one_line(text: str) -> str:
    """Give `text` with every run of white space as one blank."""
    return " ".join(text.split())


# Bytes to text, for files in which one bad record must not hide the others.

_BLOCK = 1 << 20
REMEDY = "convert the file to UTF-8, or name its encoding: --encoding latin-1 (the usual one of old files)"


def decoded(data: bytes, line: int) -> tuple[str, list[Problem]]:
    """Give the text of `data`, which starts on `line`, and what is wrong with it."""
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
    message = "a carriage return stands alone, not before a line feed"
    return Problem("lone-carriage-return", message, lines=(line,), remedy="end lines with a line feed")


def is_utf8_beyond_ascii(source: Source) -> bool:
    """Say whether a file, as it lies there, is UTF-8 with characters of several bytes.

    Text in another encoding hardly ever passes for that. A file that cannot be read does not.
    """
    decoder, is_ascii = codecs.getincrementaldecoder("utf-8")(), True
    try:
        with source.open() as stream:
            while block := stream.read(_BLOCK):
                is_ascii = is_ascii and block.isascii()
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except (UnicodeDecodeError, SourceError):
        return False
    return not is_ascii


def utf8_after_all(files: int, encoding: str) -> Problem:
    """Warn that this file (and others beside it) was read in an encoding that it does not have."""
    what = "this file is UTF-8 already and was" if files == 1 else f"this and {files - 1:,} more are UTF-8 and were"
    remedy = "load what is UTF-8 again without --encoding and with --update (--keep-going passes the others over)"
    message = f"{what} read as {encoding}: é has become Ã©, or the like"
    return Problem("utf-8-after-all", message, "warning", count=files, remedy=remedy)


def is_error(problem: Problem) -> bool:
    """Whether the record that a problem is about cannot be taken."""
    return problem.severity == "error"


class Lines:
    """The decoded lines of a file, each with its line end as LF, and the problems met on the way.

    `number` is the line that was given last. `take_problems` empties the list of problems; whoever reads asks for
    it after each record, and drops the record if an error is among them.
    """

    def __init__(self, source: Source) -> None:
        self._lines = source.byte_lines()
        self._problems: list[Problem] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, data = next(self._lines)
        if len(data) > LONGEST_LINE:
            message = f"a line of more than {LONGEST_LINE >> 20} MB"
            self._problems.append(Problem("too-long", message, lines=(self.number,)))
            return "\n"
        text, problems = decoded(data, self.number)
        self._problems += problems
        text = text[:-2] + "\n" if text.endswith("\r\n") else text
        if "\r" in text:
            self._problems.append(lone_carriage_return(self.number))
        return text

    def take_problems(self) -> list[Problem]:
        """Give the problems since the last time."""
        taken, self._problems = self._problems, []
        return taken


# Which field of a foreign record is the id, the title, the text: the usual spellings, best first.

DOCUMENT = Schema(
    {
        "id": ("_id", "id", "doc_id", "pid", "docid", "docno", "document_id", "passage_id"),
        "title": ("title", "headline"),
        "text": ("text", "contents", "body", "passage", "segment", "content", "abstract"),
    },
    faults=(),
    needed=("id",),
)
TOPIC = Schema(
    {
        "id": ("_id", "id", "query_id", "qid", "topic_id", "number", "num", "topic"),
        "title": ("title", "query", "text", "question"),
        "description": ("description", "desc", "question"),
        "narrative": ("narrative", "narr"),
    },
    faults=(),
    needed=("id",),
)


def checked(
    schema: Schema, parts: Mapping[str, str], metadata: Mapping[str, str], line: int
) -> Iterator[Document | Topic | Problem]:
    """Give the document or topic that some parts are, and what is wrong with it."""
    make: Any = checked_document if schema is DOCUMENT else checked_topic
    yield from make(**{part: parts.get(part, "") for part in schema.columns}, metadata=metadata, line=line)


def looks_like_header(cells: Sequence[str], schema: Schema) -> bool:
    """Whether the cells of a first row are names of fields: an id and at least one other part."""
    roles = schema.roles(cells)
    return "id" in roles and len(roles) > 1
