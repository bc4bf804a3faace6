"""JSON lines: one object per line, in the spellings of BEIR, Anserini, Pyserini and ir_datasets.

A file that is one JSON array of objects is read too, if it is small. Fields that are neither id, title nor text
become metadata: scalars as strings, nested values as compact JSON; an object called `metadata` is taken apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from cranfield.base.errors import Problem, SourceError, quoted
from cranfield.base.files import LONGEST_LINE, Source
from cranfield.base.tables import Schema
from cranfield.corpus import reading

LONGEST_ARRAY = 1 << 26
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_BLANK = b" \t\r\n"


@dataclass(frozen=True)
class JsonLines:
    """Documents or topics as JSON lines."""

    summary: str
    schema: Schema
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson", ".json")

    def sniff(self, head: bytes, name: str) -> bool:
        """Recognise an object at the start."""
        start = head.lstrip(_BLANK)
        return start.startswith(b"{") or (start.startswith(b"[") and start[1:].lstrip(_BLANK).startswith(b"{"))

    def read(self, source: Source) -> Iterator[Any]:
        """The records and problems, one per line."""
        for line, value, has_escapes in _values(source):
            yield from self.records_of(value, line, has_escapes=has_escapes)

    def records_of(self, value: Any, line: int = 1, *, has_escapes: bool = True) -> Iterator[Any]:
        """The record that an object is, after a warning where there is one; or the problem with it."""
        try:
            record = value if isinstance(value, Problem) else _record(value, self.schema, line)
        except RecursionError:
            record = Problem("bad-json", "nested too deeply", lines=(line,))
        if isinstance(record, Problem):
            yield record
            return
        parts, metadata = record
        if has_escapes:
            # JSON can escape what a text cannot hold: NUL and lone surrogates.
            pairs = [(name, text) for texts in record for name, text in texts.items()]
            if replaced := sum(len(_UNSTORABLE.findall(word)) for pair in pairs for word in pair):
                yield reading.nul_problem(replaced, line)
                clean = partial(_UNSTORABLE.sub, "\ufffd")
                parts, metadata = ({clean(name): clean(text) for name, text in one.items()} for one in record)
        yield from reading.checked(self.schema, parts, metadata, line)


_SUMMARY = "JSON lines, one object per {} (BEIR, Anserini, Pyserini, ir_datasets spellings)"
_NAMES = ("jsonl", "json", "ndjson")
reading.document_formats.register(*_NAMES)(JsonLines(_SUMMARY.format("document"), reading.DOCUMENT))
reading.topic_formats.register(*_NAMES)(JsonLines(_SUMMARY.format("topic"), reading.TOPIC))


def _values(source: Source) -> Iterator[tuple[int, Any, bool]]:
    """(line, what it holds, whether characters are escaped in it that no text may hold)."""
    is_array = source.head(1024).lstrip(_BLANK).startswith(b"[")
    # An array is read in one piece, as if it were one line.
    whole = source.head(LONGEST_ARRAY + 1) if is_array else b""
    if len(whole) > LONGEST_ARRAY:
        limit = LONGEST_ARRAY >> 20
        message = f"a JSON array of more than {limit} MB; write one object per line instead: jq -c '.[]'"
        raise SourceError(source.name, message)
    for line, data in [(1, whole)] if is_array else source.byte_lines():
        if data.isspace():
            continue
        if len(data) > LONGEST_LINE and not is_array:
            yield line, Problem("too-long", f"a line of more than {LONGEST_LINE >> 20} MB", lines=(line,)), False
            continue
        text, problems = reading.decoded(data, line)
        for problem in problems:
            yield line, problem, False
        if not any(one.is_error for one in problems):
            value = loaded(text, line)
            for item in value if is_array and isinstance(value, list) else [value]:
                yield line, item, "\\u" in text


def loaded(text: str, line: int = 1) -> Any:
    """What a line says, or the problem with it."""
    content = text.rstrip()
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        if "\r" in content.replace("\r\n", "\n"):
            return reading.lone_carriage_return(at)
        place = f"at column {error.colno}" if error.pos < len(content) else "where it ends"
        return Problem("bad-json", f"not JSON: {error.msg} {place}", lines=(at,))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Problem("bad-json", f"not JSON that can be read: {reason}", lines=(line,))


def _record(value: Any, schema: Schema, line: int) -> tuple[dict[str, str], dict[str, str]] | Problem:
    """Take an object apart: its parts by name, and its metadata."""
    if not isinstance(value, dict):
        return Problem("not-a-record", f"an object was expected, this is {quoted(_as_text(value))}", lines=(line,))
    roles = schema.roles(value)
    if "id" not in roles:
        expected = ", ".join(schema.columns["id"])
        remedy = "say which field it is with --columns id=NAME"
        return Problem("no-id", f"an object without an id (looked for {expected})", lines=(line,), remedy=remedy)
    id = value[roles["id"]]
    if isinstance(id, bool) or not isinstance(id, str | int):
        message = f"an id must be a string or an integer, this is {quoted(json.dumps(id))}"
        return Problem("bad-id", message, lines=(line,))
    parts = {part: _as_text(value[key]) for part, key in roles.items()}
    parts["id"] = parts["id"].strip()
    metadata: dict[str, str] = {}
    if len(roles) < len(value):
        used = set(roles.values())
        for key, item in value.items():
            if key not in used:
                inner = item if key == "metadata" and isinstance(item, dict) else {key: item}
                metadata |= {name: text for name, one in inner.items() if (text := _as_text(one))}
    return parts, metadata


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value in (None, [], {}):
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
