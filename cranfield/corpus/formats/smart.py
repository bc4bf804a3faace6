"""The format of the SMART system: fields under `.I .T .A .B .W`, as in the old Cranfield, CACM, CISI and MED files.

    .I 1
    .T
    the title, on as many lines as it takes
    .A
    the author
    .W
    the text

A field that occurs again is continued; within the text (the Cranfield file has four such places) it is a stray
mark, with a warning, and the text goes on. Citation lists (`.X`) are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cranfield.base.errors import Problem, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.tables import Schema
from cranfield.corpus import reading

METADATA = {
    "A": "author",
    "B": "bibliography",
    "C": "categories",
    "K": "keywords",
    "M": "subject_headings",
    "N": "note",
    "P": "publication_type",
    "S": "source",
    "U": "identifier",
}
"""What the letters mean beyond title (T), text (W) and citations (X); M, P, S and U are those of OHSUMED."""

_FIRST = re.compile(rb"\s*\.I[ \t]+\S")
_FIELD = re.compile(r"\.([A-HJ-Z])[ \t]*\n?\Z")
_ID = re.compile(r"\.I(?:[ \t]|\n|\Z)")


@dataclass(slots=True)
class _Record:
    """A record while it is being read."""

    line: int
    id: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    size: int = 0
    target: list[str] | None = None
    is_preface: bool = False

    def add(self, line: str, number: int) -> None:
        """Add a line to the field that is open. Text outside any field is reported once."""
        self.size += len(line)
        if self.target is not None and self.size <= LONGEST_LINE:
            self.target.append(line)
        elif self.target is None and not line.isspace() and not any(one.is_error for one in self.problems):
            message = f"text outside any field: {quoted(line.strip(), limit=40)}"
            self.problems.append(Problem("outside", message, lines=(number,)))

    def text(self, letter: str) -> str:
        """The lines of a field, without blanks at their ends."""
        lines = self.fields.get(letter, ())
        return "\n".join([line.rstrip() for line in lines]).strip("\n")


@dataclass(frozen=True)
class Smart:
    """Documents or topics in the SMART format."""

    summary: str
    suffixes: tuple[str, ...]
    kind: Schema

    def sniff(self, head: bytes, name: str) -> bool:
        """Recognise `.I` and an id."""
        return _FIRST.match(head) is not None

    def read(self, source: Source) -> Iterator[Any]:
        """The records and the problems, in the order of the file."""
        for record in _records(source):
            if isinstance(record, Problem):
                yield record
                continue
            title, text = record.text("T"), record.text("W")
            parts = {"id": record.id, "title": reading.one_line(title), "text": text}
            if self.kind is reading.TOPIC:  # one without a title (most) has its text as its title: the query
                parts = {"id": record.id, "title": title or text, "description": text if title else ""}
            others = [letter for letter in record.fields if letter not in "TWX"]
            named = {METADATA.get(letter, letter.lower()): record.text(letter) for letter in others}
            metadata = {name: text for name, text in named.items() if text}
            yield from reading.checked(self.kind, parts, metadata, record.line)


reading.document_formats.register("smart")(
    Smart("SMART: fields under .I .T .A .B .W (Cranfield, CACM, CISI, MED)", (".all",), reading.DOCUMENT)
)
reading.topic_formats.register("smart")(
    Smart("SMART: queries under .I and .W (Cranfield, CACM, CISI, MED)", (".qry",), reading.TOPIC)
)


def _records(source: Source) -> Iterator[_Record | Problem]:
    record = _Record(line=1, id="", is_preface=True)
    for number, line, problems in reading.lines_of(source):
        if line.startswith(".") and _ID.match(line):
            yield from _finished(record)
            record = _Record(number, line[2:].strip())
        # A mark stands alone on its line: `.4` or `.a` within a text is text.
        elif line.startswith(".") and not record.is_preface and (match := _FIELD.match(line)):
            # In the text, a mark that the record has had already is a stray one; elsewhere its field is continued.
            if match[1] in record.fields and record.target is record.fields.get("W"):
                message = f"a second .{match[1]} within the text; the rest is read as text"
                record.problems.append(Problem("stray-field", message, "warning", lines=(number,)))
            else:
                record.target = record.fields.setdefault(match[1], [])
        else:
            record.add(line, number)
        record.problems += problems
    yield from _finished(record)


def _finished(record: _Record) -> Iterator[_Record | Problem]:
    if record.size > LONGEST_LINE:
        yield Problem("too-long", f"a record of more than {LONGEST_LINE >> 20} MB", lines=(record.line,))
        return
    yield from record.problems
    if not record.is_preface and not any(one.is_error for one in record.problems):
        yield record
