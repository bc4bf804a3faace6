"""The four TREC columns: topic, iteration, document, grade; or five with a stratum before the grade."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cranfield.base.arrow import lengths_of
from cranfield.base.files import Source
from cranfield.qrels.qrels import Grades
from cranfield.qrels.reading import QrelsRows, Refusals, grades_of, qrels_formats
from cranfield.runs.columns import encoded, used_only
from cranfield.runs.formats.trec import PARSED_AT_ONCE, Regular, blocks, parsed_words, regularised, surveyed
from cranfield.runs.run import LineNumbers

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels


_COLUMNS = (4, 5)
_HEADINGS = (b"query-id", b"query_id", b"topic", b"qid")


@qrels_formats.register("trec")
class Trec:
    """Columns between blanks or tabs, as trec_eval reads them; # begins a comment line."""

    summary = "columns divided by blanks or tabs: topic iteration document [stratum] grade"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of four or five columns that are neither JSON nor a header of names."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip() and not line.startswith(b"#")]
        if not lines:
            return True
        if lines[0][0].lower() in _HEADINGS or lines[0][0][:1] in (b"{", b"["):
            return False
        return 2 * sum(len(words) in _COLUMNS for words in lines) > len(lines)

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the file in blocks, clean ones at full speed, others line by line exact."""

        return read(source)

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write one line per judgment, the iteration 0."""
        from cranfield.qrels.reading import write_trec

        write_trec(qrels, stream)


# How TREC qrels are read: clean blocks by pyarrow's parser, the others made regular first.

_FOUR = ("topic", "iteration", "document", "grade")
_FIVE = ("topic", "iteration", "document", "stratum", "grade")
_WORD = pa.string()
_CODED = pa.dictionary(pa.int32(), pa.string())
_WORDS = {"topic": _CODED, "iteration": _CODED, "stratum": _CODED, "document": _WORD}
_COMMENT = re.compile(rb"^#.*", re.MULTILINE)
_LONGEST_GRADE = 10**9


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one block, and the lines of it (from 0) that have none."""

    table: pa.Table
    grades: Grades
    line_count: int
    skipped: NDArray[np.int64]


@dataclass
class _Reading:
    """What has been read so far."""

    columns: tuple[str, ...] = ()
    parts: list[_Part] = field(default_factory=list)
    findings: Refusals = field(default_factory=Refusals)
    skipped: list[NDArray[np.int64]] = field(default_factory=list)
    lines: int = 0
    plain: bool = True


def read(source: Source) -> QrelsRows:
    """Read a TREC qrels file."""
    reading = _Reading()
    for block in blocks(source):
        text = bytes(block)
        reading.columns = reading.columns or _columns_of(text)
        part = _clean(text, reading)
        if part is None:
            reading.plain = False
            part = _exact(text, reading)
        reading.skipped.append(part.skipped + reading.lines + 1)
        reading.lines += part.line_count
        reading.parts.append(part)
    return _assembled(reading, source)


def _columns_of(block: bytes) -> tuple[str, ...]:
    for line in io.BytesIO(block):  # line by line: the first or second usually tells
        words = line.split()
        if words and not line.startswith(b"#"):
            return _FIVE if len(words) == len(_FIVE) else _FOUR
    return ()


def _clean(block: bytes, reading: _Reading) -> _Part | None:
    """Parse a block that has nothing unusual in it; None if it has."""
    survey = surveyed(block)
    if survey.unusual or block.startswith(b"#") or b"\n#" in block:
        return None
    return _numbers(block, survey.delimiter, survey.lines, reading.columns)


def _numbers(text: bytes, delimiter: str, lines: int, columns: tuple[str, ...]) -> _Part | None:
    """Parse text whose grades are all whole numbers, one row per line; None if it is not like that."""
    table = _parsed(text, delimiter, columns, pa.int64())
    if table is None or table.num_rows != lines or _has_empty_field(table):
        return None
    grades = table["grade"].to_numpy()
    if len(grades) and max(int(grades.max()), -int(grades.min())) >= _LONGEST_GRADE:
        return None
    return _Part(table, grades.astype(np.int32), lines, np.empty(0, dtype=np.int64))


def _exact(block: bytes, reading: _Reading) -> _Part:
    """Parse any block at all, and note what is wrong in it."""
    regular = regularised(_COMMENT.sub(b"", block), columns=len(reading.columns) or len(_FOUR))
    many = regular.found.get("too-many-columns", np.empty(0, dtype=np.int64))
    for code, lines in regular.found.items():
        reading.findings.add(code, lines + reading.lines + 1, example=regular.line(int(lines[0])))
    if not regular.text:
        return _Part(_empty_table(reading.columns), np.empty(0, np.int32), regular.line_count, regular.skipped)
    rows = regular.text.count(b"\n")
    part = None if len(many) else _numbers(regular.text, " ", rows, reading.columns)
    if part is not None:
        return _Part(part.table, part.grades, regular.line_count, regular.skipped)
    return _careful(regular, many, reading)


def _careful(regular: Regular, many: NDArray[np.int64], reading: _Reading) -> _Part:
    """Parse regular text whose grades are not all whole numbers, or whose lines had too many columns."""
    table = _parsed(regular.text, " ", reading.columns, _WORD, at_once=len(regular.text) + 1)
    if table is None:
        raise AssertionError("regular text is always parsed")
    lines = LineNumbers(regular.skipped + 1).of(np.arange(table.num_rows))
    texts = table["grade"].combine_chunks()
    grades, good = grades_of(texts)
    good |= np.isin(lines - 1, many)
    if not good.all():
        bad = np.flatnonzero(~good)
        reading.findings.add("grade-not-an-integer", lines[bad] + reading.lines, example=texts[int(bad[0])].as_py())
    good &= ~np.isin(lines - 1, many)
    skipped = np.union1d(regular.skipped, lines[~good] - 1)
    return _Part(table.filter(pa.array(good)), grades[good], regular.line_count, skipped)


def _parsed(
    text: bytes, delimiter: str, columns: tuple[str, ...], grade: pa.DataType, *, at_once: int = PARSED_AT_ONCE
) -> pa.Table | None:
    """Parse text of the given columns; None where a line has more or fewer, or a grade is not of its type."""
    return parsed_words(text, delimiter, {name: _WORDS.get(name, grade) for name in columns}, at_once=at_once)


def _has_empty_field(table: pa.Table) -> bool:
    """Say whether two delimiters stood side by side somewhere, and another was missing."""
    names = [name for name in table.column_names if name != "grade"]
    chunks = [chunk for name in names for chunk in table[name].chunks]
    words = [chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    return any((lengths_of(word) == 0).any() for word in words)


def _empty_table(columns: tuple[str, ...]) -> pa.Table:
    types = {name: _WORDS.get(name, _WORD) for name in columns or _FOUR}
    return pa.table({name: pa.chunked_array([], kind) for name, kind in types.items()})


def _assembled(reading: _Reading, source: Source) -> QrelsRows:
    tables = [part.table for part in reading.parts] or [_empty_table(())]
    topic_ids, topics = used_only(*encoded(_column(tables, "topic", _CODED)))
    document_ids, documents = encoded(_column(tables, "document", _WORD))
    strata, names = None, ()
    if "stratum" in reading.columns:
        stratum_ids, strata = used_only(*encoded(_column(tables, "stratum", _CODED)))
        names = tuple(stratum_ids.to_pylist())
    grades = np.concatenate([part.grades for part in reading.parts] or [np.empty(0, dtype=np.int32)])
    skipped = np.concatenate(reading.skipped or [np.empty(0, dtype=np.int64)])
    return QrelsRows(
        topic_ids=topic_ids,
        topics=topics,
        document_ids=document_ids,
        documents=documents,
        grades=grades.astype(np.int32, copy=False),
        strata=strata,
        stratum_names=names,
        lines=LineNumbers(skipped),
        problems=reading.findings.problems(),
        source_name=source.name,
        plain=reading.plain,
    )


def _column(tables: list[pa.Table], name: str, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for table in tables for chunk in table[name].chunks], kind)
