"""Lines of words between blanks or tabs, as TREC's files have them, become columns.

Clean blocks are parsed at full speed; others are made regular first: one blank between columns, no blank lines, lines
of a known number of columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from cranfield.base.files import Source
from cranfield.base.tables import Findings
from cranfield.runs.columns import LineNumbers, Lines, Mask, lengths_of, values_of

WORD = pa.string()
CODED = pa.dictionary(pa.int32(), pa.string())
_AT_ONCE = 1 << 20
_SMALL = 1 << 22
"""Up to so many bytes text is parsed where it is: handing it over to other threads would take longer."""

_LINE_FEED, _RETURN, _TAB, _BLANK, _DELETE = 10, 13, 9, 32, 127
_C1_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")
_PIECE = 1 << 18

NumberReader = Callable[[pa.Array], tuple[NDArray[Any], dict[str, Mask]]]
"""Reads a column of words as numbers; also says, by fault, which words are none."""


class Layout(NamedTuple):
    """The columns of lines of words, by name, and how they are read.

    Numbers are taken as they are where those in `limits` are smaller, without their sign; else `readers` read them
    from words. With `strict` a line with too many columns, or with a word that is no number, gives no row; without
    it the columns in excess are dropped, and a row keeps what the reader makes of the word. A line that begins with
    `comment` is none.
    """

    types: dict[str, pa.DataType]
    readers: Mapping[str, NumberReader]
    limits: Mapping[str, float]
    strict: bool
    comment: bytes = b""


class WordRows(NamedTuple):
    """The rows of lines of words, and their lines in the file; `plain` where each line was a row as it stood."""

    table: pa.Table
    lines: LineNumbers
    plain: bool


def first_words(source: Source, *, comment: bytes) -> list[bytes]:
    """The words of the first line that is neither blank nor a comment."""
    return next((line.split() for line in source.head().splitlines() if line.strip() and line[:1] != comment), [])


def read_words(source: Source, layout: Layout, findings: Findings) -> WordRows:
    """Read lines with a word for each column, block by block, and note what is wrong in them."""
    types, comment = layout.types, layout.comment
    tables, skipped, before, plain = list[pa.Table](), [np.empty(0, dtype=np.int64)], 0, True
    for block in source.blocks():
        if comment and (block.startswith(comment) or b"\n" + comment in block):
            block = re.sub(rb"(?m)^" + comment + rb".*", b"", block)
        survey = surveyed(block)
        table = parsed_words(block, survey[1], types, rows=survey[0], limits=layout.limits) if survey else None
        chunks = [chunk for column in (table.columns if table is not None else ()) for chunk in column.chunks]
        words = (one.dictionary if one.type == CODED else one for one in chunks if one.type in (WORD, CODED))
        # Two delimiters side by side, where another is missing, make an empty word.
        if not survey or table is None or not all(lengths_of(one).min(initial=1) for one in words):
            table, gone = _exact_rows(block, before, layout, findings)
            skipped.append(gone)
            plain = False
        tables.append(table)
        before += survey[0] if survey else block.count(b"\n") + (not block.endswith(b"\n"))
    table = pa.concat_tables(tables or [pa.schema(types).empty_table()])
    return WordRows(table, LineNumbers(np.concatenate(skipped)), plain)


def _exact_rows(block: bytes, before: int, layout: Layout, findings: Findings) -> tuple[pa.Table, Lines]:
    """The rows of a block that is not regular, or has a word that is no number, and the lines without a row.

    `before` lines stand above the block.
    """
    types, readers = layout.types, layout.readers
    block = block.replace(b"\r\n", b"\n")
    block += b"" if block.endswith(b"\n") else b"\n"
    text, skipped, found = _regularised(block, columns=len(types), strict=layout.strict)
    for code, lines in found.items():
        first = block.split(b"\n", int(lines[0]) + 1)[int(lines[0])]
        findings.add(code, lines + before + 1, example=first.decode("utf-8", "replace"))
    numbering, count = LineNumbers(skipped + 1), text.count(b"\n")
    table = (
        parsed_words(text, " ", types, rows=count, limits=layout.limits) if text else pa.schema(types).empty_table()
    )
    if table is None:
        table = parsed_words(text, " ", {**types, **dict.fromkeys(readers, WORD)})
        assert table is not None, "regular text is always parsed"
        at, good = numbering.of(np.arange(table.num_rows)), np.ones(table.num_rows, dtype=bool)
        for name, read in readers.items():
            words = table[name].combine_chunks()
            values, wrong = read(words)
            table = table.set_column(list(types).index(name), name, pa.array(values, types[name]))
            for code, rows in wrong.items():
                findings.add(code, at[rows] + before, example=words[int(np.argmax(rows))].as_py())
                good &= ~rows
        if layout.strict and not good.all():
            table, numbering = table.filter(pa.array(good)), numbering.without(at[~good])
    return table, numbering.skipped + before


def surveyed(block: bytes) -> tuple[int, str] | None:
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
    if highest >= _DELETE and (b"\x7f" in block or _C1_CONTROL.search(block)):
        return None
    return feeds + (len(letters) > 0 and letters[-1] != _LINE_FEED), "\t" if tabs else " "


def _regularised(block: bytes, *, columns: int, strict: bool) -> tuple[bytes, Lines, dict[str, Lines]]:
    """Lines cut at blanks and tabs, with the first `columns` columns of each; the others; and those by fault.

    Lines count from 0 here. The others are blank ones, and those with too few columns, forbidden bytes or, with
    `strict`, too many columns.
    """
    letters = np.frombuffer(block, dtype=np.uint8)
    feeds = np.flatnonzero(letters == _LINE_FEED)
    found = _forbidden(block, letters, feeds)
    gap = letters <= _BLANK  # or in a line with a forbidden byte
    gap_before = np.concatenate([[True], gap[:-1]])
    # A column starts at the first letter after a gap, and ends at the blank, tab or line feed after it.
    starts, ends = np.flatnonzero(~gap & gap_before), np.flatnonzero(gap & ~gap_before)
    counts = np.diff(np.searchsorted(starts, feeds), prepend=0)
    kept = np.ones(len(feeds), dtype=bool)
    for lines in found.values():
        kept[lines] = False
    found["too-few-columns"] = np.flatnonzero(kept & (counts > 0) & (counts < columns))
    found["too-many-columns"] = np.flatnonzero(kept & (counts > columns))
    kept &= counts == columns if strict else counts >= columns
    # Put the columns together again, each with the one byte after it made a blank or a line feed.
    inside = ~gap
    inside[ends] = True
    if not (kept & (counts == columns)).all():
        number = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.repeat(kept, counts) & (number < columns)
        starts, ends = starts[chosen], ends[chosen]
        step = np.zeros(len(letters) + 1, dtype=np.int8)
        step[starts] += 1
        step[ends + 1] -= 1
        inside = np.cumsum(step[:-1], dtype=np.int8).view(bool)
    letters = letters.copy()
    letters[ends] = _BLANK
    letters[ends[columns - 1 :: columns]] = _LINE_FEED
    return bytes(letters[inside]), np.flatnonzero(~kept), {code: lines for code, lines in found.items() if len(lines)}


def _forbidden(block: bytes, letters: NDArray[np.uint8], feeds: Lines) -> dict[str, Lines]:
    """The lines that hold bytes no run may hold."""
    low = np.flatnonzero((letters < _BLANK) & (letters != _LINE_FEED) & (letters != _TAB) | (letters == _DELETE))
    returns = letters[low] == _RETURN
    places = {"lone-carriage-return": low[returns], "control-character": low[~returns]}
    if not block.isascii():
        c1 = [match.start() for match in _C1_CONTROL.finditer(block)]
        places["control-character"] = np.union1d(places["control-character"], np.array(c1, dtype=np.int64))
    found = {code: np.unique(np.searchsorted(feeds, at)) for code, at in places.items() if len(at)}
    if not block.isascii() and block.decode("utf-8", "ignore").encode() != block:
        lines = block.split(b"\n")
        bad = [number for number, line in enumerate(lines) if line.decode("utf-8", "ignore").encode() != line]
        found["not-utf-8"] = np.array(bad, dtype=np.int64)
    return found


def parsed_words(
    text: bytes,
    delimiter: str,
    types: dict[str, pa.DataType],
    *,
    rows: int | None = None,
    limits: Mapping[str, float] | None = None,
) -> pa.Table | None:
    """Parse lines of the named columns; None where a line has more or fewer, or a word is not of its type or limit.

    Quoting, escaping and null words are off: a document may be called NA, or have a quotation mark in its name.
    `rows` is how many there must be; without it the text is parsed in one piece, however long its lines are.
    """
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                column_names=list(types),
                block_size=len(text) + 1 if rows is None else _AT_ONCE,
                use_threads=len(text) > _SMALL,
            ),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                column_types=types, null_values=[], strings_can_be_null=False, check_utf8=True
            ),
        )
    except pa.ArrowInvalid:
        return None
    small = all((np.abs(values_of(table[name])) < limit).all() for name, limit in (limits or {}).items())
    return table if small and rows in (None, table.num_rows) else None
