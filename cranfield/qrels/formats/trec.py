"""The four TREC columns: topic, iteration, document, grade; or five with a stratum before the grade."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quoted
from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.tables import Findings
from cranfield.qrels.qrels import Grades, Qrels
from cranfield.qrels.reading import QRELS, QrelsRows, columns_of, grades_of, qrels_formats
from cranfield.runs.columns import (
    CODED,
    WORD,
    blocks,
    encoded,
    joined_lines,
    parsed_words,
    regularised,
    surveyed,
    used_only,
)
from cranfield.runs.run import LineNumbers

with deferred:
    import pyarrow.compute as pc

_HEADINGS = (b"query-id", b"query_id", b"topic", b"qid")
_FIVE = {"topic": CODED, "iteration": CODED, "document": WORD, "stratum": CODED, "grade": pa.int64()}
_FOUR = {name: kind for name, kind in _FIVE.items() if name != "stratum"}
_COMMENT = re.compile(rb"^#.*", re.MULTILINE)
_LONGEST_GRADE = 10**9
_NO_LINES = np.empty(0, dtype=np.int64)


@qrels_formats.register("trec")
class Trec:
    """Columns between blanks or tabs, as trec_eval reads them; # begins a comment line."""

    summary = "columns separated by blanks or tabs: topic iteration document [stratum] grade"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of four or five columns that are neither JSON nor a header of names."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip() and not line.startswith(b"#")]
        if not lines:
            return True
        if lines[0][0].lower() in _HEADINGS or lines[0][0][:1] in (b"{", b"["):
            return False
        return 2 * sum(len(words) in (len(_FOUR), len(_FIVE)) for words in lines) > len(lines)

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the file in blocks, clean ones at full speed, others line by line exact."""
        findings = Findings(QRELS)
        types: dict[str, pa.DataType] = {}
        parts: list[_Part] = []
        before, plain = 0, True
        for block in blocks(source):
            text = bytes(block)
            if not types:
                # The first line that is no comment has the columns of the file: usually the first or second.
                words = (line.split() for line in io.BytesIO(text) if not line.startswith(b"#"))
                first = next(filter(None, words), None)
                types = {} if first is None else _FIVE if len(first) == len(_FIVE) else _FOUR
            survey = surveyed(text)
            is_regular = survey is not None and not (text.startswith(b"#") or b"\n#" in text)
            part = _clean(text, survey[1], survey[0], types) if survey and is_regular else None
            if part is None:
                plain = False
                part = _exact(text, types or _FOUR, findings, before)
            parts.append(replace(part, skipped=part.skipped + before + 1))
            before += part.line_count
        parts = parts or [_nothing(_FOUR)]

        def column(name: str) -> pa.ChunkedArray:
            return pa.chunked_array([chunk for part in parts for chunk in part.table[name].chunks], _FIVE[name])

        strata, names = None, ()
        if "stratum" in types:
            stratum_ids, strata = used_only(*encoded(column("stratum")))
            names = tuple(stratum_ids.to_pylist())
        return QrelsRows(
            *used_only(*encoded(column("topic"))),
            *encoded(column("document")),
            grades=np.concatenate([part.grades for part in parts]),
            strata=strata,
            stratum_names=names,
            lines=LineNumbers(np.concatenate([part.skipped for part in parts])),
            problems=findings.problems(),
            source_name=source.name,
            plain=plain,
        )

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write topic, 0, document and grade with one blank between; with a stratum before the grade for a sample."""
        commented = pc.starts_with(qrels.topic_ids, pattern="#").to_numpy(zero_copy_only=False)
        if commented.any():
            topic = qrels.topic_ids[int(np.flatnonzero(commented)[0])].as_py()
            raise InputError(
                f"topic {quoted(topic)} cannot be written to a TREC file, where # begins a comment; use --to jsonl"
            )
        for part in columns_of(qrels):
            strata = (part["stratum"], " ") if "stratum" in part else ()
            stream.write(joined_lines(part["topic"], " 0 ", part["document"], " ", *strata, part["grade"], "\n"))


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one block, and the lines of it (from 0) that have none."""

    table: pa.Table
    grades: Grades
    line_count: int
    skipped: NDArray[np.int64]


def _nothing(types: dict[str, pa.DataType]) -> _Part:
    table = pa.table({name: pa.chunked_array([], kind) for name, kind in types.items()})
    return _Part(table, np.empty(0, np.int32), 0, _NO_LINES)


def _clean(text: bytes, delimiter: str, lines: int, types: dict[str, pa.DataType]) -> _Part | None:
    """Parse text whose grades are all whole numbers, one row per line; None if it is not like that."""
    table = parsed_words(text, delimiter, types, rows=lines)
    if table is None:
        return None
    grades = table["grade"].to_numpy()
    if len(grades) and max(int(grades.max()), -int(grades.min())) >= _LONGEST_GRADE:
        return None
    return _Part(table, grades.astype(np.int32), lines, _NO_LINES)


def _exact(block: bytes, types: dict[str, pa.DataType], findings: Findings, before: int) -> _Part:
    """Parse any block at all, and note what is wrong in it; lines with too many columns give no row."""
    regular = regularised(_COMMENT.sub(b"", block), columns=len(types))
    regular.tell(findings, before)
    many = regular.found.get("too-many-columns", _NO_LINES)
    part: _Part | None = _nothing(types)
    if regular.text:
        part = None if len(many) else _clean(regular.text, " ", regular.text.count(b"\n"), types)
    if part is not None:
        return replace(part, line_count=regular.line_count, skipped=regular.skipped)
    table = parsed_words(regular.text, " ", {**types, "grade": WORD})
    if table is None:
        raise AssertionError("regular text is always parsed")
    lines = LineNumbers(regular.skipped + 1).of(np.arange(table.num_rows))
    texts = table["grade"].combine_chunks()
    grades, good = grades_of(texts)
    surplus = np.isin(lines - 1, many)
    if (bad := np.flatnonzero(~good & ~surplus)).size:
        findings.add("grade-not-an-integer", lines[bad] + before, example=texts[int(bad[0])].as_py())
    good &= ~surplus
    skipped = np.union1d(regular.skipped, lines[~good] - 1)
    return _Part(table.filter(pa.array(good)), grades[good], regular.line_count, skipped)
