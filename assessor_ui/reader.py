"""What a session is made of: the page that is read, what is marked in it, the time it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assessor_ui.page import Page, Span
from cranfield.base.errors import CranfieldError
from cranfield.base.records import Document
from cranfield.judge.session import Item

FAILURES = (CranfieldError, OSError)
"""What a collection may raise: the assessor sees the message, and the judging goes on."""

IDLE_LIMIT = 60.0
"""Seconds without a key after which nobody is taken to be reading."""

PAUSE = 300.0
"""Seconds without a key after which nobody is taken to be there: the lease is no longer renewed."""

FOLDS = ("full", "short", "title")
"""How much of the topic is in sight: everything, title and description, the title alone."""


class Watch:
    """The seconds of attention to a document. A gap between two keys counts at most IDLE_LIMIT: the rest was idle."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._counted, self._before, self._last = clock, 0.0, 0.0, clock()

    def begin(self, seconds: float | None = 0.0) -> None:
        """Start with a document; `seconds` were spent on it before. None: start again as the last time."""
        self._before = self._before if seconds is None else seconds
        self._counted, self._last = self._before, self._clock()

    def touch(self) -> None:
        """A key was pressed."""
        self._counted, self._last = self.seconds, self._clock()

    @property
    def idle(self) -> float:
        """Seconds since the last key."""
        return self._clock() - self._last

    @property
    def seconds(self) -> float:
        """Seconds of attention so far."""
        return self._counted + min(self.idle, IDLE_LIMIT)


_SENTENCE_END = re.compile(r"""[.!?…]+["'”’)\]]*(?=\s)|[。！？]+[」』）]*|\n+""")


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The sentences between two places of a text, without the white space around them."""
    stop = len(text) if end is None else end
    spans, opening = [], start
    for closing in [*(match.end() for match in _SENTENCE_END.finditer(text, start, stop)), stop]:
        piece = text[opening:closing]
        left = opening + len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append((left, left + len(piece.strip())))
        opening = closing
    return spans


@dataclass(frozen=True)
class Marker:
    """What is being marked in a page: whole sentences, from the `first` to the `last`."""

    sentences: Sequence[Span]
    first: int
    last: int

    @property
    def span(self) -> Span:
        """The characters of the page that are marked."""
        return self.sentences[self.first][0], self.sentences[self.last][1]


_NO_DOCUMENT, _NO_PAGE = Document("", ""), Page("", 0, 0, 0)


@dataclass
class Reading:
    """A page that is being read, an empty one where no document is open: its hits, what was found and marked.

    `others` are the marks of each opinion on it. All places are characters of the page.
    """

    document: Document = _NO_DOCUMENT
    page: Page = _NO_PAGE
    marked: Sequence[Span] = ()
    title_hits: Sequence[Span] = ()
    description_hits: Sequence[Span] = ()
    found: Sequence[Span] = ()
    current: Span | None = None
    marker: Marker | None = None
    remark: str = ""
    others: Sequence[Sequence[Span]] = ()

    @property
    def stations(self) -> Sequence[Span]:
        """Where n and N go: what was searched for, else the words of the title, else those of the description."""
        return self.found or self.title_hits or self.description_hits

    def touching(self, span: Span) -> list[Span]:
        """The marks that overlap with a span."""
        return [one for one in self.marked if one[0] < span[1] and span[0] < one[1]]


@dataclass(frozen=True)
class Draft:
    """A document that was put aside unanswered, with what was written about it."""

    item: Item
    note: str
    marked: Sequence[Span]
    seconds: float
