"""The six TREC columns: topic, Q0, document, rank, score, tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from cranfield.base.errors import SourceError
from cranfield.base.files import LONGEST_LINE, UTF8_BOM, Source
from cranfield.base.lazy import deferred
from cranfield.runs.columns import assembled, encoded_beside_the_hash, ranks_of, scores_of
from cranfield.runs.problems import Findings
from cranfield.runs.reading import run_formats
from cranfield.runs.run import LineNumbers, Places, Rows, Scores

if TYPE_CHECKING:
    from cranfield.runs.run import Run

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
        fitting = [columns for columns in lines if _looks_fitting(columns)]
        return len(fitting) * 2 > len(lines)

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the file in blocks, clean ones at full speed, others line by line exact."""

        return read(source)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write ranks from 1 and scores with as many digits as they need to come back unchanged."""
        from cranfield.runs.columns import write_trec

        write_trec(run, stream)


def _looks_fitting(columns: list[bytes]) -> bool:
    if len(columns) < 3 or columns[0][:1] in (b"{", b"[", b"<"):
        return False
    return len(columns) == 6 or _ITERATION.fullmatch(columns[1]) is not None


# A file as blocks of whole lines, the next one read while the last is parsed.

BLOCK = 1 << 23
"""How many bytes are parsed at once: enough work for all threads, little beside the columns of a large run."""


def blocks(source: Source, *, size: int = BLOCK) -> Iterator[memoryview]:
    """Give the decompressed file in blocks that end with a line feed (the last may lack it), without its mark.

    A block is good until the next one is asked for. A line longer than `size` comes in one block all the same.
    """
    with source.open() as stream:
        filled = _Buffer(size)
        filled.fill(stream)
        filled.drop(UTF8_BOM)
        if filled.used < size - len(UTF8_BOM):
            yield from filled.all()
            return
        with ThreadPoolExecutor(max_workers=1) as reader:
            yield from _in_turns(stream, source.name, filled, _Buffer(size), reader)


def _in_turns(
    stream: BinaryIO, name: str, filled: _Buffer, empty: _Buffer, reader: ThreadPoolExecutor
) -> Iterator[memoryview]:
    while filled.used:
        end = filled.last_line_end()
        if not end:
            if filled.used > LONGEST_LINE:
                raise SourceError(name, f"a line of more than {LONGEST_LINE >> 20} MB; is this a text file?")
            if not filled.grow(stream):
                yield from filled.all()
                return
            continue
        empty.begin_with(filled.rest(end))
        coming: Future[int] = reader.submit(empty.fill, stream)
        yield filled.until(end)
        if not coming.result():
            yield from empty.all()
            return
        filled, empty = empty, filled


class _Buffer:
    """Bytes that are filled again and again."""

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)
        self.used = 0

    def fill(self, stream: BinaryIO) -> int:
        """Read until the buffer is full or the stream ends; give the number of bytes read."""
        start = self.used
        with memoryview(self._bytes) as whole:
            while self.used < len(whole) and (count := stream.readinto(whole[self.used :])):  # type: ignore[attr-defined]
                self.used += count
        return self.used - start

    def grow(self, stream: BinaryIO) -> int:
        """Make room for a line that is longer than the buffer, and read on."""
        self._bytes = self._bytes + bytearray(len(self._bytes))
        return self.fill(stream)

    def begin_with(self, data: bytes) -> None:
        """Forget what was there and start with some bytes."""
        if len(data) >= len(self._bytes):
            self._bytes = bytearray(2 * len(data))
        self._bytes[: len(data)] = data
        self.used = len(data)

    def drop(self, prefix: bytes) -> None:
        """Take away a prefix if it is there."""
        if self._bytes.startswith(prefix):
            self.begin_with(bytes(self._bytes[len(prefix) : self.used]))

    def last_line_end(self) -> int:
        """Give the place after the last line feed, or 0."""
        return self._bytes.rfind(b"\n", 0, self.used) + 1

    def rest(self, start: int) -> bytes:
        """Give a copy of what lies from `start` on."""
        return bytes(self._bytes[start : self.used])

    def until(self, end: int) -> memoryview:
        """Look at the first bytes."""
        return memoryview(self._bytes)[:end]

    def all(self) -> Iterator[memoryview]:
        """Look at everything, if there is anything."""
        if self.used:
            yield self.until(self.used)


# Irregular text made regular: one blank between columns, no blank lines, lines of a known number of columns.

_LINE_FEED, _RETURN, _TAB, _BLANK, _DELETE = 10, 13, 9, 32, 127
_C1_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")

Lines = NDArray[np.int64]
Block = bytes | memoryview

_PIECE = 1 << 18


@dataclass(frozen=True, eq=False)
class Regular:
    """A block as regular text, and what was wrong with it.

    `text` has one line for each line of the block that has enough columns and no forbidden bytes. `skipped` are
    the other lines, blank ones among them; `found` gives lines per problem code. Lines count from 0 in the block.
    """

    text: bytes
    original: bytes
    line_count: int
    skipped: Lines
    found: dict[str, Lines] = field(default_factory=dict)

    def line(self, number: int) -> str:
        """Give one line of the block, to be shown."""
        return self.original.split(b"\n", number + 1)[number].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Survey:
    """What the bytes of a block say before it is parsed.

    `unusual` means that the block needs the exact way: carriage returns, control characters, or tabs and blanks
    side by side. Whether each line has its columns is the parser's to say.
    """

    lines: int
    delimiter: str
    unusual: bool


def surveyed(block: Block) -> Survey:
    """Look over a block, piece by piece, so that each piece is still in the cache for the next question."""
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
    unusual = low != feeds + tabs or (tabs > 0 and blanks) or (highest >= _DELETE and _has_invisible(bytes(block)))
    lines = feeds + (len(letters) > 0 and letters[-1] != _LINE_FEED)
    return Survey(lines, "\t" if tabs else " ", unusual)


def _has_invisible(block: bytes) -> bool:
    """Say whether DEL or a control character from U+0080 to U+009F is in the block."""
    return b"\x7f" in block or _C1_CONTROL.search(block) is not None


def regularised(block: bytes, *, columns: int) -> Regular:
    """Cut each line at blanks and tabs, keep its first `columns` columns, and sort out the lines that cannot be."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if not block.endswith(b"\n"):
        block += b"\n"
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    found = _forbidden(block, letters, feeds)
    starts, ends = _fields(letters)
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
    text = _joined_regular(letters, starts[chosen], ends[chosen], columns)
    return Regular(
        text, block, len(feeds), np.flatnonzero(~kept), {code: at for code, at in found.items() if len(at)}
    )


def _fields(letters: NDArray[np.uint8]) -> tuple[Lines, Lines]:
    """Give where the columns start and where they end (the place of the blank, tab or line feed after them)."""
    gap = (letters == _BLANK) | (letters == _TAB) | (letters == _LINE_FEED)
    gap_before = np.concatenate([[True], gap[:-1]])
    return np.flatnonzero(~gap & gap_before), np.flatnonzero(gap & ~gap_before)


def _joined_regular(letters: NDArray[np.uint8], starts: Lines, ends: Lines, columns: int) -> bytes:
    """Put some columns together again, each with the one byte after it made a blank or a line feed."""
    step = np.zeros(len(letters) + 1, dtype=np.int8)
    step[starts] += 1
    step[ends + 1] -= 1
    inside = np.cumsum(step[:-1], dtype=np.int8).view(bool)
    letters = letters.copy()
    letters[ends] = _BLANK
    letters[ends[columns - 1 :: columns]] = _LINE_FEED
    return bytes(letters[inside])


def _forbidden(block: bytes, letters: NDArray[np.uint8], feeds: Lines) -> dict[str, Lines]:
    """Give the lines that hold bytes no run may hold."""
    control = (letters < _BLANK) & (letters != _LINE_FEED) & (letters != _TAB) & (letters != _RETURN)
    places = {
        "lone-carriage-return": np.flatnonzero(letters == _RETURN),
        "control-character": np.flatnonzero(control | (letters == _DELETE)),
    }
    if not block.isascii():
        c1 = [match.start() for match in _C1_CONTROL.finditer(block)]
        places["control-character"] = np.union1d(places["control-character"], np.array(c1, dtype=np.int64))
        places["not-utf-8"] = _undecodable(block)
    return {code: np.unique(np.searchsorted(feeds, at)) for code, at in places.items() if len(at)}


def _undecodable(block: bytes) -> Lines:
    """Give where lines start that are not UTF-8."""
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return np.empty(0, dtype=np.int64)
    places, start = [], 0
    for line in block.split(b"\n"):
        if not _is_utf8(line):
            places.append(start)
        start += len(line) + 1
    return np.array(places, dtype=np.int64)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# Text of regular lines parsed into columns, each word as it stands.

PARSED_AT_ONCE = 1 << 20
_SMALL = 1 << 22
"""Up to so many bytes text is parsed where it is: handing it over to other threads would take longer."""


def parsed_words(
    text: bytes | memoryview,
    delimiter: str,
    types: dict[str, pa.DataType],
    *,
    at_once: int = PARSED_AT_ONCE,
) -> pa.Table | None:
    """Parse lines of the named columns; None where a line has more or fewer, or a word is not of its type.

    Quoting, escaping and null words are off: a document may be called NA, or have a quotation mark in its name.
    """
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(types), block_size=at_once, use_threads=len(text) > _SMALL
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


# How a TREC file is read: clean blocks by pyarrow's parser, the others made regular first.

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
