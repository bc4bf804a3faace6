"""Text cut into lines that fit a width, measured in the cells of a terminal.

Lines break at blanks; scripts without blanks (Chinese, Japanese) break between characters, but never before closing
punctuation. A word that is wider than the line is cut, never inside a character with its combining marks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rich.cells import cell_len, get_character_cell_size, split_graphemes

UNSPACED = "\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003fffd"
_CLOSING = "\u3001\u3002\u3009\u300b\u300d\u300f\u3011\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d"
_JOINED = re.compile("[\u200d\U0001f3fb-\U0001f3ff]")
"""What makes one picture of several: the joiner, and the skin tones."""

_CHUNK = re.compile(rf"[ ]+|[{UNSPACED}](?:[{_CLOSING}]|[\u0300-\u036f\u3099\u309a\ufe00-\ufe0f])*|[^ {UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line on the screen: the characters of the text from `start` to before `end`."""

    start: int
    end: int


def wrap(text: str, width: int) -> list[Line]:
    """Give the lines of `text` at this width. Blanks at which a line was broken belong to no line."""
    lines: list[Line] = []
    start = 0
    for paragraph in text.split("\n"):
        plain = paragraph.isascii() and paragraph.isprintable() and paragraph[:1] not in ("", " ")
        cut = _ascii_lines_of if plain else _lines_of
        lines += cut(paragraph, start, max(width, 2))
        start += len(paragraph) + 1
    return lines


def line_at(lines: Sequence[Line], position: int) -> int:
    """Give the number of the line that shows a character."""
    return max(bisect_right(lines, position, key=lambda line: line.start) - 1, 0)


def _ascii_lines_of(paragraph: str, offset: int, width: int) -> Iterator[Line]:
    """Do the same as `_lines_of`, ten times as fast, where every character is one cell wide."""
    for line in _ascii_line(width).finditer(paragraph):
        yield Line(offset + line.start(), offset + line.end())


@cache
def _ascii_line(width: int) -> re.Pattern[str]:
    """Give a pattern for one line: as many whole words as fit, else the beginning of one that does not."""
    return re.compile(rf"[^ ](?:.{{0,{width - 2}}}[^ ])?(?= |$)|[^ ]{{{width}}}")


def _lines_of(paragraph: str, offset: int, width: int) -> Iterator[Line]:
    line_start = line_end = used = 0
    for start, end, cells in _pieces(paragraph, width):
        if paragraph[start] == " ":
            used += cells
            continue
        if used + cells > width:
            if line_end > line_start:
                yield Line(offset + line_start, offset + line_end)
            line_start, used = start, 0
        line_end, used = end, used + cells
    yield Line(offset + line_start, offset + max(line_end, line_start))


def _pieces(paragraph: str, width: int) -> Iterator[tuple[int, int, int]]:
    """Give the chunks of a paragraph with their width; a chunk wider than the line comes in parts that fit."""
    measure = cells_of if _JOINED.search(paragraph) else cell_len
    for chunk in _CHUNK.finditer(paragraph):
        cells = measure(chunk.group())
        if cells <= width:
            yield chunk.start(), chunk.end(), cells
        else:
            yield from _cut(chunk.group(), chunk.start(), width)


def _cut(chunk: str, offset: int, width: int) -> Iterator[tuple[int, int, int]]:
    start = used = 0
    for first, end, _ in split_graphemes(chunk)[0]:
        cells = cells_of(chunk[first:end])
        if used and used + cells > width:
            yield offset + start, offset + first, used
            start, used = first, 0
        used += cells
    yield offset + start, offset + len(chunk), used


def cells_of(text: str) -> int:
    """Give the most cells that a text may take.

    Many terminals do not join what belongs together: a family of three is two cells wide in one and six in another,
    and a skin tone stands beside its hand. What fits in both is never cut off.
    """
    if not _JOINED.search(text):
        return cell_len(text)
    apart = ((cells, text[start:end]) for start, end, cells in split_graphemes(text)[0])
    return sum(max(joined, sum(map(_alone, cluster))) for joined, cluster in apart)


def _alone(character: str) -> int:
    return 2 if "\U0001f3fb" <= character <= "\U0001f3ff" else get_character_cell_size(character)
