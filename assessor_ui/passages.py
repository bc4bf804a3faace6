"""Sentences and words of a text, and how a marked span grows and moves over them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assessor_ui.highlight import words_of
from assessor_ui.page import Page, Span

Move = Literal["next", "previous", "more", "less", "word more", "word less", "start later", "start earlier"]

_END = re.compile(r"""[.!?…]+["'”’)\]]*(?=\s)|[。！？]+[」』）]*|\n+""")


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Give the sentences between two places of a text, without the white space around them."""
    stop = len(text) if end is None else end
    ends = [match.end() for match in _END.finditer(text, start, stop)]
    found, opening = [], start
    for closing in [*ends, stop]:
        piece = text[opening:closing]
        left = opening + len(piece) - len(piece.lstrip())
        right = left + len(piece.strip())
        if left < right:
            found.append((left, right))
        opening = closing
    return found


@dataclass(frozen=True, slots=True)
class Marker:
    """A span that is being marked in a page, moved by whole sentences and trimmed by words."""

    sentences: Sequence[Span]
    words: Sequence[Span]
    span: Span

    def moved(self, move: Move) -> "Marker":
        """Give the marker after one step; at the edge of the text it stays."""
        return Marker(self.sentences, self.words, _MOVES[move](self))


def marker_at(page: Page, position: int) -> Marker | None:
    """Give a marker on the sentence at a place of the page, or the nearest one; None where there is no text."""
    spans = sentences(page.text, page.body_start, page.body_end)
    if not spans:
        return None
    words = [word.span() for word in words_of(page.text) if page.body_start <= word.start() < page.body_end]
    return Marker(spans, words, spans[_index(spans, position)])


def _index(spans: Sequence[Span], position: int) -> int:
    return max(bisect_right(spans, position, key=lambda span: span[0]) - 1, 0)


def _sentence(marker: Marker, *, step: int) -> Span:
    here = _index(marker.sentences, marker.span[0])
    return marker.sentences[min(max(here + step, 0), len(marker.sentences) - 1)]


def _sentence_end(marker: Marker, *, step: int) -> Span:
    start, end = marker.span
    ends = [span[1] for span in marker.sentences]
    if step > 0:
        return start, ends[min(bisect_right(ends, end), len(ends) - 1)]
    earlier = [place for place in ends if start < place < end]
    return (start, earlier[-1]) if earlier else marker.span


def _word_end(marker: Marker, *, step: int) -> Span:
    start, end = marker.span
    ends = [span[1] for span in marker.words]
    if step > 0:
        return start, ends[bisect_right(ends, end)] if ends and ends[-1] > end else end
    within = ends[bisect_right(ends, start) : bisect_right(ends, end)]
    return (start, within[-2]) if len(within) > 1 else marker.span


def _word_start(marker: Marker, *, step: int) -> Span:
    start, end = marker.span
    starts = [span[0] for span in marker.words]
    if step > 0:
        later = bisect_right(starts, start)
        return (starts[later], end) if later < len(starts) and starts[later] < end else marker.span
    earlier = bisect_left(starts, start) - 1
    return (starts[earlier], end) if earlier >= 0 else marker.span


_MOVES = {
    "next": lambda marker: _sentence(marker, step=1),
    "previous": lambda marker: _sentence(marker, step=-1),
    "more": lambda marker: _sentence_end(marker, step=1),
    "less": lambda marker: _sentence_end(marker, step=-1),
    "word more": lambda marker: _word_end(marker, step=1),
    "word less": lambda marker: _word_end(marker, step=-1),
    "start later": lambda marker: _word_start(marker, step=1),
    "start earlier": lambda marker: _word_start(marker, step=-1),
}
