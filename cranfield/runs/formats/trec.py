"""The six TREC columns: topic, Q0, document, rank, score, tag.

A file is read in blocks of whole lines: clean ones at full speed by pyarrow's parser; the others are made regular
first, and every line of them that cannot be used is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.base.errors import SourceError
from cranfield.base.files import LONGEST_LINE, UTF8_BOM, Source
from cranfield.base.registry import deferred
from cranfield.base.tables import Findings
from cranfield.runs.columns import LONG, Places, Scores, encoded, joined_lines, lengths_of
from cranfield.runs.reading import RUN, TREC_COLUMNS, assembled, columns_of, ranks_of, run_formats, scores_of
from cranfield.runs.run import LineNumbers, Rows, Run

with deferred:
    import pyarrow.compute as pc

Lines = NDArray[np.int64]
Block = bytes | memoryview

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
                other = np.flatnonzero(pc.not_equal(iterations.cast(_WORD), "Q0").to_numpy())
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


# A file as blocks of whole lines, the next one read while the last is parsed.

BLOCK = 1 << 23
"""How many bytes are parsed at once: enough work for all threads, little beside the columns of a large run."""


def blocks(source: Source, *, size: int = BLOCK) -> Iterator[memoryview]:
    """The decompressed file in blocks that end with a line feed (the last may lack it), without its mark.

    A block is good until the next one is asked for. A line longer than `size` comes in one block all the same.
    """
    with source.open() as stream:
        data = bytearray(size)
        used = _fill(data, 0, stream)
        if data.startswith(UTF8_BOM):
            used -= len(UTF8_BOM)
            data[:used] = data[len(UTF8_BOM) : len(UTF8_BOM) + used]
        if used < size - len(UTF8_BOM):
            if used:
                yield memoryview(data)[:used]
            return
        spare = bytearray(size)
        with ThreadPoolExecutor(max_workers=1) as reader:
            while used:
                end = data.rfind(b"\n", 0, used) + 1
                if not end:
                    if used > LONGEST_LINE:
                        message = f"a line of more than {LONGEST_LINE >> 20} MB; is this a text file?"
                        raise SourceError(source.name, message)
                    data = data + bytearray(len(data))
                    before, used = used, _fill(data, used, stream)
                    if used == before:
                        yield memoryview(data)[:used]
                        return
                    continue
                rest = used - end
                if rest >= len(spare):
                    spare = bytearray(2 * rest)
                spare[:rest] = data[end:used]
                coming = reader.submit(_fill, spare, rest, stream)
                yield memoryview(data)[:end]
                data, spare, used = spare, data, coming.result()
                if used == rest:
                    if rest:
                        yield memoryview(data)[:rest]
                    return


def _fill(data: bytearray, used: int, stream: BinaryIO) -> int:
    """Read until the buffer is full or the stream ends; give how much of it is used."""
    with memoryview(data) as whole:
        while used < len(whole) and (count := stream.readinto(whole[used:])):  # type: ignore[attr-defined]
            used += count
    return used


# Irregular text made regular: one blank between columns, no blank lines, lines of a known number of columns.

_LINE_FEED, _RETURN, _TAB, _BLANK, _DELETE = 10, 13, 9, 32, 127
_C1_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")
_PIECE = 1 << 18


@dataclass(frozen=True, eq=False)
class Regular:
    """A block as regular text, and what was wrong with it.

    `text` has one line for each line of the block that has enough columns and no forbidden bytes. `skipped` are
    the other lines, blank ones among them; `found` gives lines per problem code. Lines count from 0 in the block.
    """

    text: bytes
    line_count: int
    skipped: Lines
    found: dict[str, Lines]
    original: bytes

    def tell(self, findings: Findings, before: int) -> None:
        """Note what was wrong, in a file that has so many lines before this block."""
        for code, lines in self.found.items():
            first = self.original.split(b"\n", int(lines[0]) + 1)[int(lines[0])]
            findings.add(code, lines + before + 1, example=first.decode("utf-8", "replace"))


def surveyed(block: Block) -> tuple[int, str] | None:
    """How many lines a block has and what divides its columns; None where it needs the exact way.

    That is so with carriage returns, control characters, or tabs and blanks side by side. Whether each line has its
    columns is the parser's to say. Piece by piece, so that each is still in the cache for the next question.
    """
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = tabs = low = highest = 0
    blanks = False
    for start in range(0, len(letters), _PIECE):
        piece = letters[start : start + _PIECE]
        feeds += int(np.count_nonzero(piece == _LINE_FEED))
        low += int(np.count_nonzero(piece < _BLANK))
        highest = max(highest, int(piece.max()))
        if low != feeds:
            tabs += int(np.count_nonzero(piece == _TAB))
            blanks = blanks or bool((piece == _BLANK).any())
    if low != feeds + tabs or (tabs > 0 and blanks):
        return None
    if highest >= _DELETE and (b"\x7f" in (data := bytes(block)) or _C1_CONTROL.search(data)):
        return None
    return feeds + (len(letters) > 0 and letters[-1] != _LINE_FEED), "\t" if tabs else " "


def regularised(block: bytes, *, columns: int) -> Regular:
    """Cut each line at blanks and tabs, keep its first `columns` columns, and sort out the lines that cannot be."""
    block = block.replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    found = _forbidden(block, letters, feeds)
    gap = (letters == _BLANK) | (letters == _TAB) | (letters == _LINE_FEED)
    gap_before = np.concatenate([[True], gap[:-1]])
    # A column starts at the first letter after a gap, and ends at the blank, tab or line feed after it.
    starts, ends = np.flatnonzero(~gap & gap_before), np.flatnonzero(gap & ~gap_before)
    line_of = np.searchsorted(feeds, starts)
    counts = np.bincount(line_of, minlength=len(feeds))
    kept = np.ones(len(feeds), dtype=bool)
    for lines in found.values():
        kept[lines] = False
    found["too-few-columns"] = np.flatnonzero(kept & (counts > 0) & (counts < columns))
    found["too-many-columns"] = np.flatnonzero(kept & (counts > columns))
    kept &= counts >= columns
    number = np.arange(len(starts)) - (np.cumsum(counts) - counts)[line_of]
    chosen = kept[line_of] & (number < columns)
    starts, ends = starts[chosen], ends[chosen]
    # Put the columns together again, each with the one byte after it made a blank or a line feed.
    step = np.zeros(len(letters) + 1, dtype=np.int8)
    step[starts] += 1
    step[ends + 1] -= 1
    inside = np.cumsum(step[:-1], dtype=np.int8).view(bool)
    letters = letters.copy()
    letters[ends] = _BLANK
    letters[ends[columns - 1 :: columns]] = _LINE_FEED
    wrong = {code: lines for code, lines in found.items() if len(lines)}
    return Regular(bytes(letters[inside]), len(feeds), np.flatnonzero(~kept), wrong, block)


def _forbidden(block: bytes, letters: NDArray[np.uint8], feeds: Lines) -> dict[str, Lines]:
    """The lines that hold bytes no run may hold."""
    control = (letters < _BLANK) & (letters != _LINE_FEED) & (letters != _TAB) & (letters != _RETURN)
    places = {
        "lone-carriage-return": np.flatnonzero(letters == _RETURN),
        "control-character": np.flatnonzero(control | (letters == _DELETE)),
    }
    if not block.isascii():
        c1 = [match.start() for match in _C1_CONTROL.finditer(block)]
        places["control-character"] = np.union1d(places["control-character"], np.array(c1, dtype=np.int64))
    found = {code: np.unique(np.searchsorted(feeds, at)) for code, at in places.items() if len(at)}
    if not block.isascii() and block.decode("utf-8", "ignore").encode() != block:
        lines = block.split(b"\n")
        bad = [number for number, line in enumerate(lines) if line.decode("utf-8", "ignore").encode() != line]
        found["not-utf-8"] = np.array(bad, dtype=np.int64)
    return found


# Regular text parsed into columns.

_WORD = pa.string()
_CODED = pa.dictionary(pa.int32(), pa.string())
_FAST = {
    "topic": _CODED,
    "iteration": _CODED,
    "document": _WORD,
    "rank": pa.int64(),
    "score": pa.float64(),
    "tag": _CODED,
}
_AT_ONCE = 1 << 20
_SMALL = 1 << 22
"""Up to so many bytes text is parsed where it is: handing it over to other threads would take longer."""


def parsed_words(
    text: Block, delimiter: str, types: dict[str, pa.DataType], *, rows: int | None = None
) -> pa.Table | None:
    """Parse lines of the named columns; None where a line has more or fewer, or a word is empty or not of its type.

    Quoting, escaping and null words are off: a document may be called NA, or have a quotation mark in its name.
    `rows` is how many there must be; without it the text is known to be regular, and is parsed in one piece.
    """
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(types),
                block_size=len(text) + 1 if rows is None else _AT_ONCE,
                use_threads=len(text) > _SMALL,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, null_values=[], strings_can_be_null=False, check_utf8=True
            ),
        )
    except pa.ArrowInvalid:
        return None
    # An empty word: two delimiters stood side by side somewhere, and another was missing.
    words = (
        chunk
        for column, kind in zip(table.columns, types.values(), strict=True)
        if kind in (_WORD, _CODED)
        for chunk in column.chunks
    )
    texts = (chunk.dictionary if chunk.type == _CODED else chunk for chunk in words)
    if rows is not None and (table.num_rows != rows or any(lengths_of(one).min(initial=1) == 0 for one in texts)):
        return None
    return table


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
    table = parsed_words(regular.text, " ", {**_FAST, "rank": _WORD, "score": _WORD})
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
