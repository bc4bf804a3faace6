"""Tables: tab separated as MS MARCO has them (quotes mean nothing), and comma separated with quoting.

The first row may name the columns, in the spellings that JSON lines have too. Without names the number of columns
decides, as in MS MARCO: `id text`, `id title text`, `id url title body`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from cranfield.base.errors import Problem
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.records import Document, Topic
from cranfield.base.text import counted
from cranfield.corpus.format import (
    DOCUMENT_FIELDS,
    TOPIC_FIELDS,
    Fields,
    Lines,
    checked_document,
    checked_topic,
    is_error,
    looks_like_header,
    one_line,
    plan_for,
)
from cranfield.corpus.formats import document_formats, topic_formats

COLUMNS = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "body")}
"""What columns without names mean, by their number. Topics have the first kind only."""

Rows = Iterator[tuple[int, list[str] | Problem]]


@document_formats.register("tsv")
class TabDocuments:
    """Documents as tab separated lines."""

    summary = "tab separated, one document per line: id text | id title text | id url title body, or a header"
    suffixes = (".tsv", ".tab")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines that all have the same number of tabs."""
        return _tabs(head) in (1, 2, 3) or _has_header(head, "\t", DOCUMENT_FIELDS)

    @staticmethod
    def read(source: Source) -> Iterator[Document | Problem]:
        """Give the documents and problems, one per line."""
        return _documents(_tab_rows(source))


@document_formats.register("csv")
class CommaDocuments:
    """Documents as comma separated rows."""

    summary = "comma separated with quoting, one document per row: as tsv"
    suffixes = (".csv",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a row of names."""
        return _has_header(head, ",", DOCUMENT_FIELDS)

    @staticmethod
    def read(source: Source) -> Iterator[Document | Problem]:
        """Give the documents and problems, one per row."""
        return _documents(_comma_rows(source))


@topic_formats.register("tsv")
class TabTopics:
    """Topics as tab separated lines."""

    summary = "tab separated, one topic per line: id text, or a header"
    suffixes = (".tsv", ".tab")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines that all have one tab."""
        return _tabs(head) == 1 or _has_header(head, "\t", TOPIC_FIELDS)

    @staticmethod
    def read(source: Source) -> Iterator[Topic | Problem]:
        """Give the topics and problems, one per line."""
        return _topics(_tab_rows(source))

    @staticmethod
    def write(topics: Iterable[Topic], stream: TextIO) -> None:
        """Write id and title: what MS MARCO calls a query."""
        for topic in topics:
            stream.write(f"{topic.id}\t{one_line(topic.title)}\n")


@topic_formats.register("csv")
class CommaTopics:
    """Topics as comma separated rows."""

    summary = "comma separated with quoting, one topic per row: id,text, or a header"
    suffixes = (".csv",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a row of names."""
        return _has_header(head, ",", TOPIC_FIELDS)

    @staticmethod
    def read(source: Source) -> Iterator[Topic | Problem]:
        """Give the topics and problems, one per row."""
        return _topics(_comma_rows(source))

    @staticmethod
    def write(topics: Iterable[Topic], stream: TextIO) -> None:
        """Write id, title, description and narrative under a header."""
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["id", "title", "description", "narrative"])
        rows.writerows([topic.id, topic.title, topic.description, topic.narrative] for topic in topics)


def _tabs(head: bytes) -> int:
    """Give how many tabs every complete line has; 0 if they differ, or if these are not lines of text."""
    lines = [line for line in head.split(b"\n")[:100] if line.strip()]
    complete = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
    counts = {line.count(b"\t") for line in complete}
    return counts.pop() if len(counts) == 1 and b"\0" not in head else 0


def _has_header(head: bytes, separator: str, fields: Fields) -> bool:
    first = head.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    return looks_like_header([cell.strip('"') for cell in first.split(separator)], fields)


def _documents(rows: Rows) -> Iterator[Document | Problem]:
    for line, found in _by_name(rows, DOCUMENT_FIELDS, COLUMNS):
        if isinstance(found, Problem):
            yield found
        else:
            parts = [found.pop(part, "") for part in ("id", "title", "text")]
            metadata = {name.removeprefix("."): value for name, value in found.items() if value}
            yield from checked_document(id=parts[0], title=parts[1], text=parts[2], metadata=metadata, line=line)


def _topics(rows: Rows) -> Iterator[Topic | Problem]:
    for line, found in _by_name(rows, TOPIC_FIELDS, {2: COLUMNS[2]}):
        if isinstance(found, Problem):
            yield found
        else:
            named = {part: found.pop(part, "") for part, _ in TOPIC_FIELDS}
            metadata = {name.removeprefix("."): value for name, value in found.items() if value}
            yield from checked_topic(**named, metadata=metadata, line=line)


def _by_name(
    rows: Rows, fields: Fields, columns: dict[int, tuple[str, ...]]
) -> Iterator[tuple[int, dict[str, str] | Problem]]:
    """Give the cells of each row by part name; the names of metadata begin with a point."""
    names: list[str] = []
    for line, cells in rows:
        if isinstance(cells, Problem):
            yield line, cells
            continue
        if not names:
            is_header = looks_like_header(cells, fields)
            names = _part_names(cells if is_header else columns.get(len(cells), ()), fields)
            if is_header:
                continue
            if not names:
                yield line, _unnamed(len(cells), columns, line)
                return
        if len(cells) == len(names):
            found = dict(zip(names, cells, strict=True))
            yield line, found | {"id": found["id"].strip()}
        else:
            message = f"{counted(len(cells), 'column')}, the first row has {len(names)}"
            yield line, Problem("columns", message, lines=(line,))


def _part_names(columns: Iterable[str], fields: Fields) -> list[str]:
    keys = tuple(column.strip() for column in columns)
    part_of = {key: part for part, key in plan_for(keys, fields).parts}
    return [part_of.get(key, f".{key}") for key in keys]


def _unnamed(count: int, columns: dict[int, tuple[str, ...]], line: int) -> Problem:
    forms = " | ".join(" ".join(names) for names in columns.values())
    message = f"{counted(count, 'column')} without names; without a header row there are these forms: {forms}"
    return Problem("columns", message, lines=(line,), remedy="add a first row that names the columns")


def _tab_rows(source: Source) -> Rows:
    lines = Lines(source)
    for line in lines:
        problems = lines.take_problems()
        yield from ((lines.number, problem) for problem in problems)
        if not any(map(is_error, problems)) and not line.isspace():
            yield lines.number, line.rstrip("\n").split("\t")


def _comma_rows(source: Source) -> Rows:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines = Lines(source)
    following = _attempts(csv.reader(lines, strict=True))
    start = 1
    while (cells := following()) is not None:
        problems = lines.take_problems()
        yield from ((start, problem) for problem in problems)
        if isinstance(cells, str):
            yield start, Problem("bad-csv", f"not a row of comma separated values: {cells}", lines=(start,))
        elif cells and not any(map(is_error, problems)):
            yield start, cells
        start = lines.number + 1


def _attempts(rows: Iterator[list[str]]) -> Callable[[], list[str] | str | None]:
    """Give the next row at each call: its cells, or why it is none, or None at the end."""

    def following() -> list[str] | str | None:
        try:
            return next(rows, None)
        except csv.Error as error:
            return str(error)

    return following
