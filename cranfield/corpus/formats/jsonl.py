"""JSON lines: one object per line, in the spellings of BEIR, Anserini, Pyserini and ir_datasets.

A file that is one JSON array of objects is read too, if it is small. Fields that are neither id, title nor text
become metadata: scalars as strings, nested values as compact JSON; an object called `metadata` is taken apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from cranfield.base.errors import Problem, SourceError, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.records import Document, Topic
from cranfield.corpus.format import (
    DOCUMENT_FIELDS,
    TOPIC_FIELDS,
    Fields,
    checked_document,
    checked_topic,
    decoded,
    expected,
    is_error,
    lone_carriage_return,
    nul_problem,
    plan_for,
)
from cranfield.corpus.formats import document_formats, topic_formats

LONGEST_ARRAY = 1 << 26
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BLANK = b" \t\r\n"


@document_formats.register("jsonl", "json", "ndjson")
class JsonLinesDocuments:
    """Documents as JSON lines."""

    summary = "JSON lines, one object per document (BEIR, Anserini, Pyserini, ir_datasets spellings)"
    suffixes = (".jsonl", ".ndjson", ".json")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise an object at the start."""
        return _sniff(head)

    @staticmethod
    def read(source: Source) -> Iterator[Document | Problem]:
        """Give the documents and problems, one per line."""
        for line, found in _records(source, DOCUMENT_FIELDS):
            if isinstance(found, Problem):
                yield found
            else:
                yield from checked_document(**found.parts, metadata=found.metadata, line=line)

    @staticmethod
    def write(documents: Iterable[Document], stream: TextIO) -> None:
        """Write one object per line in BEIR's spelling."""
        for document in documents:
            record = {"_id": document.id, "title": document.title, "text": document.text}
            _write(record, document.metadata, stream)


@topic_formats.register("jsonl", "json", "ndjson")
class JsonLinesTopics:
    """Topics as JSON lines."""

    summary = "JSON lines, one object per topic (BEIR, Anserini, Pyserini, ir_datasets spellings)"
    suffixes = (".jsonl", ".ndjson", ".json")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise an object at the start."""
        return _sniff(head)

    @staticmethod
    def read(source: Source) -> Iterator[Topic | Problem]:
        """Give the topics and problems, one per line."""
        for line, found in _records(source, TOPIC_FIELDS):
            if isinstance(found, Problem):
                yield found
            else:
                yield from checked_topic(**found.parts, metadata=found.metadata, line=line)

    @staticmethod
    def write(topics: Iterable[Topic], stream: TextIO) -> None:
        """Write one object per line."""
        for topic in topics:
            record = {"_id": topic.id, "title": topic.title}
            record |= {"description": topic.description} if topic.description else {}
            record |= {"narrative": topic.narrative} if topic.narrative else {}
            _write(record, topic.metadata, stream)


def _sniff(head: bytes) -> bool:
    start = head.lstrip(_BLANK)
    return start.startswith(b"{") or (start.startswith(b"[") and start[1:].lstrip(_BLANK).startswith(b"{"))


def _write(record: dict[str, Any], metadata: Mapping[str, str], stream: TextIO) -> None:
    if metadata:
        record["metadata"] = dict(metadata)
    stream.write(json.dumps(record, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True)
class _Record:
    """An object taken apart: every part of the fields by its name, and the rest."""

    parts: dict[str, str]
    metadata: dict[str, str]


def _records(source: Source, fields: Fields) -> Iterator[tuple[int, _Record | Problem]]:
    is_array = source.head(1024).lstrip(_BLANK).startswith(b"[")
    for line, found, has_escapes in _array(source) if is_array else _lines(source):
        record = found if isinstance(found, Problem) else _record(found, fields, line)
        if has_escapes and isinstance(record, _Record):
            yield from _cleaned(record, line)
        yield line, record


def _record(found: Any, fields: Fields, line: int) -> _Record | Problem:
    try:
        if isinstance(found, dict):
            return _taken_apart(found, fields, line)
        return Problem("not-a-record", f"an object was expected, this is {quoted(_as_text(found))}", lines=(line,))
    except RecursionError:
        return Problem("bad-json", "nested too deeply", lines=(line,))


def _lines(source: Source) -> Iterator[tuple[int, Any, bool]]:
    """Give (line, what it holds, whether characters are escaped in it that no text may hold)."""
    for line, data in source.byte_lines():
        if data.isspace():
            continue
        if len(data) > LONGEST_LINE:
            yield line, Problem("too-long", f"a line of more than {LONGEST_LINE >> 20} MB", lines=(line,)), False
            continue
        text, problems = decoded(data, line)
        for problem in problems:
            yield line, problem, False
        if not any(map(is_error, problems)):
            yield line, _loaded(text, line), "\\u" in text


def _array(source: Source) -> Iterator[tuple[int, Any, bool]]:
    with source.open() as stream:
        data = stream.read(LONGEST_ARRAY + 1).removeprefix(b"\xef\xbb\xbf")
    if len(data) > LONGEST_ARRAY:
        limit = LONGEST_ARRAY >> 20
        message = f"a JSON array of more than {limit} MB; write one object per line instead: jq -c '.[]'"
        raise SourceError(source.name, message)
    text, problems = decoded(data, 1)
    for problem in problems:
        yield 1, problem, False
    if any(map(is_error, problems)):
        return
    found = _loaded(text, 1)
    for item in found if isinstance(found, list) else [found]:
        yield 1, item, "\\u" in text


def _loaded(text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        content = text.rstrip()
        if error.pos >= len(content):
            at, place = line + content.count("\n"), "where it ends"
        else:
            at, place = line + error.lineno - 1, f"at column {error.colno}"
        if "\r" in content.replace("\r\n", "\n"):
            return lone_carriage_return(at)
        return Problem("bad-json", f"not JSON: {error.msg} {place}", lines=(at,))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Problem("bad-json", f"not JSON that can be read: {reason}", lines=(line,))


def _taken_apart(record: dict[str, Any], fields: Fields, line: int) -> _Record | Problem:
    plan = plan_for(tuple(record), fields)
    if "id" not in plan.named:
        return Problem("no-id", f"an object without an id (looked for {expected(fields, 'id')})", lines=(line,))
    parts = {part: "" for part, _ in fields}
    for part, key in plan.parts:
        value = record[key]
        if part == "id" and (isinstance(value, bool) or not isinstance(value, str | int)):
            message = f"an id must be a string or an integer, this is {quoted(json.dumps(value))}"
            return Problem("bad-id", message, lines=(line,))
        parts[part] = _as_text(value)
    parts["id"] = parts["id"].strip()
    return _Record(parts, _metadata(record, plan.others) if plan.others else {})


def _metadata(record: dict[str, Any], keys: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in keys:
        value = record[key]
        inner = value if key == "metadata" and isinstance(value, dict) else {key: value}
        found |= {name: text for name, item in inner.items() if (text := _as_text(item))}
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value in (None, [], {}):
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cleaned(record: _Record, line: int) -> Iterator[tuple[int, Problem]]:
    """Replace, in place, what JSON can escape but a text cannot hold: NUL and lone surrogates."""
    found = 0
    for part in (record.parts, record.metadata):
        for name, value in list(part.items()):
            (clean_name, in_name), (clean, in_value) = (_UNSTORABLE.subn("\ufffd", text) for text in (name, value))
            if in_name:
                del part[name]
            part[clean_name] = clean
            found += in_name + in_value
    if found:
        yield line, nul_problem(found, line)
