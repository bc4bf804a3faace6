"""How a TREC file is read: clean blocks by pyarrow's parser, the others made regular first.

A block is clean if each line has exactly six columns divided by one blank (or one tab), and nothing else in it is
unusual. Everything that is not clean takes the exact way of `regular`, and the rest of the file is not slowed down.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cranfield.runs.blocks import blocks
from cranfield.runs.columns import assembled, encoded_beside_the_hash, ranks_of, scores_of
from cranfield.runs.lines import LineNumbers
from cranfield.runs.problems import Findings
from cranfield.runs.regular import Block, Regular, regularised, surveyed
from cranfield.runs.run import Places, Rows, Scores
from cranfield.runs.words import PARSED_AT_ONCE, parsed_words
from cranfield.source import Source

_COLUMNS = ("topic", "iteration", "document", "rank", "score", "tag")
_WORD = pa.string()
_CODED = pa.dictionary(pa.int32(), pa.string())
_FAST = {"topic": _CODED, "iteration": _CODED, "document": _WORD, "tag": _CODED}
_NUMBERS = {"rank": pa.int64(), "score": pa.float64()}
_TEXTS = {"rank": _WORD, "score": _WORD}


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one block, and the lines of it (from 0) that have none."""

    table: pa.Table
    ranks: Places
    scores: Scores
    line_count: int
    skipped: NDArray[np.int64]

    def line_of(self, row: int) -> int:
        return LineNumbers(self.skipped + 1).at(row) - 1


@dataclass
class _Reading:
    """What has been read so far."""

    parts: list[_Part] = field(default_factory=list)
    tags: dict[str, int] = field(default_factory=dict)
    skipped: list[NDArray[np.int64]] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    lines: int = 0


def read(source: Source) -> Rows:
    """Read a TREC run."""
    reading = _Reading()
    for block in blocks(source):
        part = _clean(block)
        _take(reading, part if part is not None else _exact(block, reading))
    tables = [part.table for part in reading.parts] or [_nothing().table]
    topics, documents = encoded_beside_the_hash(
        source, _chunks(tables, "topic", _CODED), _chunks(tables, "document", _WORD)
    )
    return assembled(
        source,
        topics=topics,
        documents=documents,
        scores=_joined([part.scores for part in reading.parts], np.float64),
        ranks=_joined([part.ranks for part in reading.parts], np.int64),
        tags=list(reading.tags.items()),
        skipped=_joined(reading.skipped, np.int64),
        findings=reading.findings,
    )


def _chunks(tables: list[pa.Table], name: str, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for table in tables for chunk in table[name].chunks], kind)


def _take(reading: _Reading, part: _Part) -> None:
    """Add the rows of a block, its tags and what its second column says."""
    first = reading.lines + 1
    for tag, row in _first_rows(part.table["tag"]):
        reading.tags.setdefault(tag, first + part.line_of(row))
    if any(chunk.dictionary.to_pylist() != ["Q0"] for chunk in part.table["iteration"].chunks if len(chunk)):
        other = pc.not_equal(part.table["iteration"].cast(_WORD), "Q0")
        rows = np.flatnonzero(other.to_numpy())
        reading.findings.add("not-q0", first - 1 + LineNumbers(part.skipped + 1).of(rows))
    reading.skipped.append(part.skipped + first)
    reading.lines += part.line_count
    kept = part.table.select(["topic", "document"])
    reading.parts.append(_Part(kept, part.ranks, part.scores, part.line_count, part.skipped))


def _clean(block: Block) -> _Part | None:
    """Parse a block that has nothing unusual in it; None if it has."""
    letters = surveyed(block)
    if letters.unusual:
        return None
    table = _parsed(block, letters.delimiter, _FAST | _NUMBERS)
    if table is None or table.num_rows != letters.lines or _has_empty_field(table):
        return None
    scores = table["score"].to_numpy()
    if not np.isfinite(scores).all():
        return None
    return _Part(table, table["rank"].to_numpy(), scores, letters.lines, np.empty(0, dtype=np.int64))


def _exact(block: Block, reading: _Reading) -> _Part:
    """Parse any block at all, and note what is wrong in it."""
    regular = regularised(bytes(block), columns=len(_COLUMNS))
    for code, lines in regular.found.items():
        reading.findings.add(code, lines + reading.lines + 1, example=regular.line(int(lines[0])))
    part = _clean(regular.text) if regular.text else _nothing()
    if part is not None:
        return _Part(part.table, part.ranks, part.scores, regular.line_count, regular.skipped)
    return _careful(regular, reading)


def _careful(regular: Regular, reading: _Reading) -> _Part:
    """Parse regular text whose ranks or scores are not all plain numbers. A row without a score stays, with NaN."""
    table = _parsed(regular.text, " ", _FAST | _TEXTS, at_once=len(regular.text) + 1)
    if table is None:
        raise AssertionError("regular text is always parsed")
    texts = table["score"].combine_chunks()
    numbers = scores_of(texts)
    lines = LineNumbers(regular.skipped + 1).of(np.arange(table.num_rows))
    for code, rows in numbers.wrong.items():
        example = texts[int(np.flatnonzero(rows)[0])].as_py()
        reading.findings.add(code, lines[rows] + reading.lines, example=example)
    ranks = ranks_of(table["rank"].combine_chunks())
    return _Part(table, ranks, numbers.values, regular.line_count, regular.skipped)


def _parsed(
    block: Block, delimiter: str, types: dict[str, pa.DataType], *, at_once: int = PARSED_AT_ONCE
) -> pa.Table | None:
    """Parse a block of six columns; None where a line has more or fewer, or a column is not of its type."""
    ordered = {name: types[name] for name in _COLUMNS}
    return parsed_words(block, delimiter, ordered, at_once=at_once)


def _has_empty_field(table: pa.Table) -> bool:
    """Say whether two delimiters stood side by side somewhere, and another was missing."""
    coded = (chunk.dictionary for name in ("topic", "iteration", "tag") for chunk in table[name].chunks)
    return any(_shortest(words) == 0 for words in (*coded, *table["document"].chunks))


def _shortest(words: pa.Array) -> int:
    offsets = np.frombuffer(words.buffers()[1], dtype=np.int32)[words.offset : words.offset + len(words) + 1]
    return int(np.diff(offsets).min(initial=1))


def _first_rows(tags: pa.ChunkedArray) -> list[tuple[str, int]]:
    """Give each tag of a block with the first row that has it."""
    found: dict[str, int] = {}
    start = 0
    for chunk in tags.chunks:
        if len(chunk.dictionary) == 1:
            found.setdefault(chunk.dictionary[0].as_py(), start)
            start += len(chunk)
            continue
        codes, rows = np.unique(chunk.indices.to_numpy(), return_index=True)
        for code, row in sorted(zip(codes, rows, strict=True), key=lambda pair: int(pair[1])):
            found.setdefault(chunk.dictionary[int(code)].as_py(), start + int(row))
        start += len(chunk)
    return list(found.items())


def _nothing() -> _Part:
    empty = pa.table({name: pa.chunked_array([], kind) for name, kind in _FAST.items()})
    return _Part(empty, np.empty(0, np.int64), np.empty(0), 0, np.empty(0, np.int64))


def _joined(arrays: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    parts = list(arrays)
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)
