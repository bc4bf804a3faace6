"""Tables: tab separated as MS MARCO has them (quotes mean nothing), and comma separated with quoting.

The first row may name the columns, in the spellings that JSON lines have too. Without names the number of columns
decides, as in MS MARCO: `id text`, `id title text`, `id url title body`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from cranfield.base.errors import Problem
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.tables import Schema, csv_rows
from cranfield.base.text import counted
from cranfield.corpus import reading

Forms = dict[int, tuple[str, ...]]

COLUMNS: Forms = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "body")}
"""What columns without names mean, by their number. Topics have the first kind only."""


@reading.document_formats.register("tsv")
class TabDocuments:
    """Documents as tab separated lines."""

    summary = "tab separated, one document per line: id text | id title text | id url title body, or a header"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    separator: ClassVar[str] = "\t"
    schema: ClassVar[Schema] = reading.DOCUMENT
    forms: ClassVar[Forms] = COLUMNS

    @classmethod
    def sniff(cls, head: bytes, name: str) -> bool:
        """Recognise a row of names; between tabs, also lines that all have the same number of them."""
        first = head.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        if reading.looks_like_header([cell.strip('"') for cell in first.split(cls.separator)], cls.schema):
            return True
        lines = [line for line in head.split(b"\n")[:100] if line.strip()]
        complete = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
        counts = {line.count(b"\t") + 1 for line in complete}
        return cls.separator == "\t" and len(counts) == 1 and b"\0" not in head and counts <= cls.forms.keys()

    @classmethod
    def read(cls, source: Source) -> Iterator[Any]:
        """The record of each row, and the problems; columns that are none of its parts are its metadata."""
        names: list[str] = []
        for line, cells in _rows(source, cls.separator):
            if isinstance(cells, Problem):
                yield cells
                continue
            if not names:
                is_header = reading.looks_like_header(cells, cls.schema)
                keys = [cell.strip() for cell in (cells if is_header else cls.forms.get(len(cells), ()))]
                part_of = {key: part for part, key in cls.schema.roles(keys).items()}
                names = [part_of.get(key, f".{key}") for key in keys]  # no part begins with a point
                if is_header:
                    continue
                if not names:
                    known = " | ".join(" ".join(columns) for columns in cls.forms.values())
                    count = f"{counted(len(cells), 'column')} and no header"
                    message = f"{count}; without a header the columns must be: {known}"
                    yield Problem("columns", message, lines=(line,), remedy="add a header row")
                    return
            if len(cells) == len(names):
                parts = dict(zip(names, cells, strict=True))
                metadata = {name[1:]: value for name, value in parts.items() if value and name.startswith(".")}
                yield from reading.checked(cls.schema, parts | {"id": parts["id"].strip()}, metadata, line)
            else:
                message = f"{counted(len(cells), 'column')}, the first row has {len(names)}"
                yield Problem("columns", message, lines=(line,))


@reading.topic_formats.register("tsv")
class TabTopics(TabDocuments):
    """Topics as tab separated lines."""

    summary = "tab separated, one topic per line: id text, or a header"
    schema = reading.TOPIC
    forms: ClassVar[Forms] = {2: COLUMNS[2]}


@reading.document_formats.register("csv")
class CommaDocuments(TabDocuments):
    """Documents as comma separated rows."""

    summary = "comma separated with quoting, one document per row: as tsv"
    suffixes = (".csv",)
    separator = ","


@reading.topic_formats.register("csv")
class CommaTopics(CommaDocuments):
    """Topics as comma separated rows."""

    summary = "comma separated with quoting, one topic per row: id,text, or a header"
    schema = reading.TOPIC
    forms: ClassVar[Forms] = {2: COLUMNS[2]}


def _rows(source: Source, separator: str) -> Iterator[tuple[int, list[str] | Problem]]:
    lines = reading.Lines(source)
    rows: Iterable[tuple[int, list[str] | str]]
    if separator == "\t":
        rows = ((lines.number, [] if line.isspace() else line.rstrip("\n").split("\t")) for line in lines)
    else:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
        rows = csv_rows(lines, strict=True)
    for line, cells in rows:
        problems = lines.take_problems()
        yield from ((line, problem) for problem in problems)
        if isinstance(cells, str):
            yield line, Problem("bad-csv", f"not a row of comma-separated values: {cells}", lines=(line,))
        elif cells and not any(map(reading.is_error, problems)):
            yield line, cells
