"""The six TREC columns: topic, Q0, document, rank, score, tag.

A file is read in blocks of whole lines: clean ones at full speed by pyarrow's parser; the others are made regular
first, and every line of them that cannot be used is told (see `runs/columns.py`).
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cranfield.base.files import Source
from cranfield.base.registry import deferred
from cranfield.base.tables import Findings
from cranfield.runs.columns import (
    CODED,
    LONG,
    WORD,
    Block,
    Lines,
    Places,
    Scores,
    blocks,
    encoded,
    joined_lines,
    parsed_words,
    regularised,
    surveyed,
)
from cranfield.runs.reading import RUN, TREC_COLUMNS, assembled, columns_of, ranks_of, run_formats, scores_of
from cranfield.runs.run import LineNumbers, Rows, Run

with deferred:
    import pyarrow.compute as pc

_ITERATION = re.compile(rb"[Qq][0-9]+|0")


@run_formats.register("trec")
class Trec:
    """Six columns between blanks or tabs, as trec_eval reads them."""

    summary: ClassVar[str] = "six columns divided by blanks or tabs: topic Q0 document rank score tag"
    suffixes: ClassVar[tuple[str, ...]] = (".run", ".trec", ".res", ".txt")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of six columns, or of some more or fewer whose second is Q0."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip()]
        text = [words for words in lines if len(words) >= 3 and words[0][:1] not in (b"{", b"[", b"<")]
        return 2 * sum(len(words) == 6 or _ITERATION.fullmatch(words[1]) is not None for words in text) > len(lines)

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the file in blocks, clean ones at full speed, others line by line exact."""
        findings = Findings(RUN, TREC_COLUMNS)
        parts: list[_Part] = []
        tags: dict[str, int] = {}
        before = 0
        for block in blocks(source):
            part = _clean(block) or _exact(bytes(block), findings, before)
            lines = LineNumbers(part.skipped + 1)
            for tag, row in _first_rows(part.table["tag"]):
                tags.setdefault(tag, before + lines.at(row))
            iterations = part.table["iteration"]
            if any(chunk.dictionary.to_pylist() != ["Q0"] for chunk in iterations.chunks if len(chunk)):
                other = np.flatnonzero(pc.not_equal(iterations.cast(WORD), "Q0").to_numpy())
                findings.add("not-q0", before + lines.of(other))
            kept = part.table.select(["topic", "document"])
            parts.append(replace(part, table=kept, skipped=part.skipped + before + 1))
            before += part.line_count
        parts = parts or [_nothing()]
        words = [
            pa.chunked_array([chunk for part in parts for chunk in part.table[name].chunks], _FAST[name])
            for name in ("topic", "document")
        ]
        with ThreadPoolExecutor(1) as aside:
            if len(words[0]) >= LONG:
                aside.submit(lambda: source.file_sha256)  # beside the coding; the source keeps it
            topics, documents = map(encoded, words)
        return assembled(
            source,
            topics=topics,
            documents=documents,
            scores=np.concatenate([part.scores for part in parts]),
            ranks=np.concatenate([part.ranks for part in parts]),
            tags=list(tags.items()),
            skipped=np.concatenate([part.skipped for part in parts]),
            findings=findings,
        )

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write ranks from 1 and scores with as many digits as they need to come back unchanged."""
        for part in columns_of(run):
            words = (part["topic"], "Q0", part["document"], part["rank"], part["score"], f"{run.tag}\n")
            stream.write(joined_lines(*words, between=" "))


_FAST = {
    "topic": CODED,
    "iteration": CODED,
    "document": WORD,
    "rank": pa.int64(),
    "score": pa.float64(),
    "tag": CODED,
}


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one block, and the lines of it (from 0) that have none."""

    table: pa.Table
    ranks: Places
    scores: Scores
    line_count: int
    skipped: Lines


def _clean(block: Block) -> _Part | None:
    """Parse a block that has nothing unusual in it; None if it has."""
    survey = surveyed(block)
    table = parsed_words(block, survey[1], _FAST, rows=survey[0]) if survey else None
    if survey is None or table is None or not np.isfinite(scores := table["score"].to_numpy()).all():
        return None
    return _Part(table, table["rank"].to_numpy(), scores, survey[0], np.empty(0, dtype=np.int64))


def _exact(block: bytes, findings: Findings, before: int) -> _Part:
    """Parse any block at all, and note what is wrong in it; a row without a score stays, with NaN."""
    regular = regularised(block, columns=len(TREC_COLUMNS))
    regular.tell(findings, before)
    part = _clean(regular.text) if regular.text else _nothing()
    if part is not None:
        return replace(part, line_count=regular.line_count, skipped=regular.skipped)
    table = parsed_words(regular.text, " ", {**_FAST, "rank": WORD, "score": WORD})
    if table is None:
        raise AssertionError("regular text is always parsed")
    texts = table["score"].combine_chunks()
    scores, wrong = scores_of(texts)
    lines = LineNumbers(regular.skipped + 1).of(np.arange(table.num_rows))
    for code, rows in wrong.items():
        findings.add(code, lines[rows] + before, example=texts[int(np.flatnonzero(rows)[0])].as_py())
    return _Part(table, ranks_of(table["rank"].combine_chunks()), scores, regular.line_count, regular.skipped)


def _first_rows(tags: pa.ChunkedArray) -> list[tuple[str, int]]:
    """Each tag of a block with the first row that has it."""
    found: dict[str, int] = {}
    start = 0
    for chunk in tags.chunks:
        if len(chunk.dictionary) == 1:
            found.setdefault(chunk.dictionary[0].as_py(), start)
        else:
            codes, rows = np.unique(chunk.indices.to_numpy(), return_index=True)
            for code, row in sorted(zip(codes, rows, strict=True), key=lambda pair: int(pair[1])):
                found.setdefault(chunk.dictionary[int(code)].as_py(), start + int(row))
        start += len(chunk)
    return list(found.items())


def _nothing() -> _Part:
    empty = pa.table({name: pa.chunked_array([], kind) for name, kind in _FAST.items()})
    return _Part(empty, np.empty(0, np.int64), np.empty(0), 0, np.empty(0, np.int64))
