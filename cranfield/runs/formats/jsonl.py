"""JSON lines: one object per row, with the usual spellings of topic, document and score."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.json

from cranfield.base.files import Source
from cranfield.base.tables import Columns, Findings, object_in
from cranfield.runs import reading
from cranfield.runs.columns import TEXT, joined_lines
from cranfield.runs.run import Rows, Run


@reading.run_formats.register("jsonl", "json-lines", "ndjson")
class JsonLines:
    """One JSON object per line."""

    summary = 'JSON lines: {"topic": "51", "document": "AP880212-0001", "score": 12.5}, optionally rank and tag'
    suffixes = (".jsonl", ".ndjson")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a first line that is an object with the columns of a run."""
        line = next((line for line in head.split(b"\n") if line.strip()), b"")
        if not line.lstrip().startswith(b"{"):
            return False
        value = object_in(line)
        return name.endswith((".jsonl", ".ndjson")) if value is None else reading.roles_of(value) is not None

    @staticmethod
    def read(source: Source) -> Rows:
        """Read an object per line; ids that come as whole numbers become their decimal digits."""
        lines = (object_in(line) for _, line in source.byte_lines() if line.strip())
        first = next((value for value in lines if value is not None), None)
        if first is None:
            return _one_by_one(source, {})
        roles = reading.roles_of(first)
        if roles is None:
            raise reading.not_a_run(
                source, "JSON lines run", "the fields of a run were not found in the first object", [1]
            )
        return _one_by_one(source, roles)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row."""
        topics, documents = (
            pa.array([json.dumps(value) for value in ids.to_pylist()], TEXT)
            for ids in (run.topic_ids, run.document_ids)
        )
        tag = f', "tag": {json.dumps(run.tag)}}}\n'
        for part in reading.columns_of(replace(run, topic_ids=topics, document_ids=documents)):
            words = ('{"topic": ', part["topic"], ', "document": ', part["document"])
            stream.write(joined_lines(*words, ', "rank": ', part["rank"], ', "score": ', part["score"], tag))


def _one_by_one(source: Source, usual: Mapping[str, str]) -> Rows:
    """Read each line by itself; `usual` is what the first object calls the fields, and empty where there is none."""
    findings = Findings(reading.RUN)
    table = Columns.of(source, reading.SPELLINGS, findings)
    for number, line in source.byte_lines():
        if not line.strip():
            continue
        if not _is_utf8(line):
            findings.add("not-utf-8", [number], example=line.decode("utf-8", "replace").strip())
        elif not usual or (record := object_in(line)) is None:
            findings.add("bad-row", [number], example=line.decode("utf-8").strip())
        else:
            names = {**reading.RUN.roles(record), **{part: name for part, name in usual.items() if name in record}}
            cells = [_cell(part, record[names[part]]) if part in names else "" for part in table.values]
            if broken := [cell for cell in cells if not cell.isascii() and re.search("[\ud800-\udfff]", cell)]:
                findings.add("not-utf-8", [number], example=broken[0])
            else:
                table.add(number, cells)
    if "score" not in usual and not any(table.values["score"]):
        del table.values["score"]
    return reading.rows_in(table)


def _cell(part: str, value: Any) -> str:
    """A value as a table would have it; an id is a string or a whole number."""
    if part == "rank" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if part not in ("score", "rank") and (isinstance(value, bool) or not isinstance(value, str | int | None)):
        value = reading.NO_ID.format(value)
    return "" if value is None else str(value)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
