"""Tables: tab separated as MS MARCO has them (quotes mean nothing), and comma separated with quoting.

The first row may name the columns, in the spellings that JSON lines have too. Without names the number of columns
decides, as in MS MARCO: `id text`, `id title text`, `id url title body`. A first row of names that are none of the
known spellings is refused, not read as a record.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cranfield.base.errors import Problem, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.tables import Schema, csv_rows
from cranfield.base.text import counted
from cranfield.corpus import reading

_FORMS = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "body")}
"""What columns without names mean, by their number. Topics have the first kind only."""

_NAME = re.compile(r'\s*[^\s\d+,;:?!"-][^,;:?!"]{0,39}')
_DIGIT = re.compile(r"\d")
_BELOW = 20
"""How many rows below the first one are compared with it."""


@dataclass(frozen=True)
class Separated:
    """A table of documents or topics, one row each."""

    summary: str
    suffixes: tuple[str, ...]
    separator: str
    schema: Schema
    forms: Mapping[int, tuple[str, ...]]

    def sniff(self, head: bytes, name: str) -> bool:
        """Recognise a row of names; between tabs, also lines that all have the same number of them."""
        first = head.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
        if not _missing([cell.strip('"') for cell in first.split(self.separator)], self.schema):
            return True
        lines = [line for line in head.split(b"\n")[:100] if line.strip()]
        complete = lines[:-1] if len(lines) > 1 and not head.endswith(b"\n") else lines
        counts = {line.count(b"\t") + 1 for line in complete}
        return self.separator == "\t" and len(counts) == 1 and b"\0" not in head and counts <= self.forms.keys()

    def read(self, source: Source) -> Iterator[Any]:
        """The record of each row, and the problems; columns that are none of its parts are its metadata."""
        names: list[str] = []
        for line, cells in _rows(source, self.separator):
            if isinstance(cells, Problem):
                yield cells
                continue
            if not names:
                missing, roles = _missing(cells, self.schema), self.schema.roles(cells)
                if missing and self._is_header(cells, source):
                    seen = ", ".join(quoted(cell.strip(), limit=40) for cell in cells)
                    message = f"the header has no column for the {missing}; its columns are {seen}"
                    needed = [missing] if roles or missing != "id" else self.schema.needed
                    naming = ",".join(f"{part}=NAME" for part in needed)
                    remedy = f"name its own columns with --columns {naming}; or, if it is no header, add one above it"
                    yield Problem("no-column", message, lines=(line,), remedy=remedy)
                    return
                keys = [cell.strip() for cell in (self.forms.get(len(cells), ()) if missing else cells)]
                part_of = {key: part for part, key in self.schema.roles(keys).items()}
                names = [part_of.get(key, f".{key}") for key in keys]  # no part begins with a point
                if not missing:
                    continue
                if not names:
                    known = " | ".join(" ".join(columns) for columns in self.forms.values())
                    count = f"{counted(len(cells), 'column')} and no header"
                    message = f"{count}; without a header the columns must be: {known}"
                    remedy = "add a header row, or name the columns of the one there is: --columns id=NAME,…"
                    yield Problem("columns", message, lines=(line,), remedy=remedy)
                    return
            # A row with other columns is never cut or filled: a tab in a text would move what stands behind it.
            if len(cells) == len(names):
                parts = dict(zip(names, cells, strict=True))
                metadata = {name[1:]: value for name, value in parts.items() if value and name.startswith(".")}
                yield from reading.checked(self.schema, parts | {"id": parts["id"].strip()}, metadata, line)
            else:
                message = f"{counted(len(cells), 'column')}, the first row has {len(names)}"
                yield Problem("columns", message, lines=(line,))

    def _is_header(self, first: Sequence[str], source: Source) -> bool:
        """Whether a first row that lacks a known name is a header all the same.

        It is one if the user names columns; or if all its cells could be names, and one of them is known, or they are
        too many for a record, or the rows below differ: all their ids have digits, or all their texts several words.
        """
        if self.schema not in (reading.DOCUMENT, reading.TOPIC):
            return True
        if not all(map(_NAME.fullmatch, first)):
            return False
        if reading.DOCUMENT.roles(first) or reading.TOPIC.roles(first) or len(first) not in self.forms:
            return True
        rows = (cells for _, cells in _rows(source, self.separator) if not isinstance(cells, Problem))
        looks = [(bool(_DIGIT.search(row[0])), len(row[-1].split()) > 1) for row in islice(rows, 1 + _BELOW)]
        return len(looks) > 1 and any(not head and all(below) for head, *below in zip(*looks, strict=True))


for _registry, _schema, _forms, _tsv, _csv in (
    (
        *(reading.document_formats, reading.DOCUMENT, _FORMS),
        "tab separated, one document per line: id text | id title text | id url title body, or a header",
        "comma separated with quoting, one document per row: as tsv",
    ),
    (
        *(reading.topic_formats, reading.TOPIC, {2: _FORMS[2]}),
        "tab separated, one topic per line: id text, or a header",
        "comma separated with quoting, one topic per row: id,text, or a header",
    ),
):
    _registry.register("tsv")(Separated(_tsv, (".tsv", ".tab"), "\t", _schema, _forms))
    _registry.register("csv")(Separated(_csv, (".csv",), ",", _schema, _forms))


def _missing(cells: Sequence[str], schema: Schema) -> str:
    """Which part a first row lacks to be a header, which has an id and at least one other; empty if none."""
    roles = schema.roles(cells)
    return next((part for part in schema.needed if part not in roles and (part == "id" or len(roles) < 2)), "")


def _rows(source: Source, separator: str) -> Iterator[tuple[int, list[str] | Problem]]:
    problems: list[Problem] = []

    def texts() -> Iterator[str]:
        for _, text, found in reading.lines_of(source):
            problems.extend(found)
            yield text

    rows: Iterable[tuple[int, list[str] | str]]
    if separator == "\t":
        rows = enumerate(([] if text.isspace() else text.rstrip("\n").split("\t") for text in texts()), start=1)
    else:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
        rows = csv_rows(texts(), strict=True)
    for line, cells in rows:
        yield from ((line, problem) for problem in problems)
        is_good = not any(one.is_error for one in problems)
        problems.clear()
        if isinstance(cells, str):
            yield line, Problem("bad-csv", f"not a row of comma-separated values: {cells}", lines=(line,))
        elif cells and is_good:
            yield line, cells
