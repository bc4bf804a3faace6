"""What anybody can do with an open document: type a grade, note, find, highlight, mark, fold the topic."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from assessor_ui import messages
from assessor_ui.messages import GradeKeys, Notice
from assessor_ui.page import Hit, Page, Span, Stems, Term, densest, find, hits_of, page_of, terms_of, words_of
from cranfield.base.records import Document, GradeScale, Topic
from cranfield.judge.events import Evidence

# Sentences and words of a text, and how a marked span grows and moves over them.

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

    def moved(self, move: Move) -> Marker:
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


# One document under the eyes of the assessor: where the hits are, which one is looked at, what was marked.


class Reading:
    """A page that is being read. All places are characters of the page, only `kept` gives those of the document."""

    def __init__(self, document: Document, page: Page, *, evidence: Iterable[Evidence] = ()) -> None:
        self.document, self.page = document, page
        self.hits: tuple[Hit, ...] = ()
        self.found: tuple[Span, ...] = ()
        self.current: Span | None = None
        self.marker: Marker | None = None
        self.marked: tuple[Span, ...] = tuple(page.from_document((span.start, span.end)) for span in evidence)

    def look_for(self, terms: Sequence[Term], stems: Stems) -> None:
        """Find the terms of the topic."""
        self.hits = hits_of(self.page.text, terms, stems)

    def find(self, words: str) -> int:
        """Find words letter for letter; give how often they stand there."""
        self.found = find(self.page.text, words)
        self.current = None
        return len(self.found)

    @property
    def stations(self) -> Sequence[Span]:
        """Where n and N go: what was searched for, else the heavy terms, else the light ones."""
        if self.found:
            return self.found
        heavy = [(hit.start, hit.end) for hit in self.hits if hit.source != "description"]
        return heavy or [(hit.start, hit.end) for hit in self.hits]

    def jump(self, step: int) -> tuple[int, int] | None:
        """Go to the next station or the one before, round the ends; give (number, of) or None without stations."""
        stations = self.stations
        if not stations:
            return None
        there = self._station_after(stations, step) % len(stations)
        self.current = stations[there]
        return there + 1, len(stations)

    def _station_after(self, stations: Sequence[Span], step: int) -> int:
        if self.current is None:
            return 0 if step > 0 else -1
        if self.current in stations:
            return stations.index(self.current) + step
        following = bisect_left(stations, self.current[0], key=lambda span: span[0])
        return following if step > 0 else following - 1

    def best(self) -> Span | None:
        """Give the densest passage of the body; hits in the title are in sight anyway."""
        return densest([hit for hit in self.hits if hit.start >= self.page.body_start])

    def begin_mark(self, position: int) -> Marker | None:
        """Start marking at the hit that is looked at, else at a place."""
        self.marker = marker_at(self.page, self.current[0] if self.current else position)
        return self.marker

    def move_mark(self, move: Move) -> None:
        """Move or trim what is being marked."""
        if self.marker is not None:
            self.marker = self.marker.moved(move)

    def drag_mark(self, span: Span) -> Marker | None:
        """Mark a span as the mouse drew it."""
        start, end = max(span[0], self.page.body_start), min(span[1], self.page.body_end)
        began = marker_at(self.page, start) if start < end else None
        self.marker = Marker(began.sentences, began.words, (start, end)) if began else None
        return self.marker

    def keep_mark(self) -> Evidence | None:
        """Take what is being marked as evidence; marks that touch it become one with it."""
        marker, self.marker = self.marker, None
        if marker is None:
            return None
        start, end = marker.span
        touching = [span for span in self.marked if span[0] < end and start < span[1]]
        joined = min([start, *(span[0] for span in touching)]), max([end, *(span[1] for span in touching)])
        self.marked = tuple(sorted([span for span in self.marked if span not in touching] + [joined]))
        return self._evidence(joined)

    def drop_mark(self) -> int:
        """Stop marking; take away the marks under the marker, and give how many those were."""
        marker, self.marker = self.marker, None
        if marker is None:
            return 0
        left = tuple(span for span in self.marked if span[1] <= marker.span[0] or marker.span[1] <= span[0])
        gone, self.marked = len(self.marked) - len(left), left
        return gone

    @property
    def kept(self) -> tuple[Evidence, ...]:
        """The evidence, in characters of the document's text."""
        return tuple(kept for span in self.marked if (kept := self._evidence(span)) is not None)

    def _evidence(self, span: Span) -> Evidence | None:
        place = self.page.to_document(span)
        return Evidence(place[0], place[1], self.document.text[place[0] : place[1]]) if place else None


FOLDS = ("full", "short", "title")
"""How much of the topic is in sight: everything, title and description, the title alone."""


ROOM = 12
"""The lines a document should have on the screen, at least."""


Doing = Literal["saving", "opening", "looking"]
"""What somebody who waits is waiting for: an answer to be safe, a document to come, a list to be found."""


class Opened(Protocol):
    """A document open before a topic: an item of a desk, or a case of a bench."""

    @property
    def topic(self) -> Topic:
        """The topic it is judged for."""

    @property
    def document(self) -> Document:
        """The document."""


@dataclass(frozen=True, slots=True)
class Folding:
    """What is known of folding: the topic and its first document, who has folded, and whether it was told."""

    topic: str = ""
    first: str = ""
    by_itself: bool = False
    chosen: bool = False
    told: bool = False


class Reader(ABC):
    """Somebody who reads documents and grades them, with at most one document open."""

    def __init__(self, scale: GradeScale, guidelines: str, *, language: str) -> None:
        self.scale, self.guidelines, self.stems = scale, guidelines, Stems(language)
        self.open: Opened | None = None
        self.reading: Reading | None = None
        self.note, self.fold = "", FOLDS[0]
        self.notice = self.last = messages.QUIET
        self.doing: Doing = "opening"
        self.best_first = self.stuck = False
        self.keys = GradeKeys(scale)
        self.own_terms: dict[str, tuple[str, ...]] = {}
        self._folding = Folding()

    @abstractmethod
    def start(self) -> Notice:
        """Open the first document."""

    @abstractmethod
    def again(self) -> Notice:
        """Try once more to open the next document where that failed."""

    @abstractmethod
    def judge(self, grade: int) -> Notice:
        """Give a grade and go on."""

    @abstractmethod
    def later(self) -> Notice:
        """Put the document off."""

    @abstractmethod
    def undo(self) -> Notice:
        """Take the latest answer back and return to its document."""

    @abstractmethod
    def leave(self) -> Notice:
        """End the sitting."""

    @abstractmethod
    def touch(self) -> None:
        """A key was pressed."""

    def digit(self, digit: str) -> Notice:
        """A digit was typed: it judges where only one grade can be meant."""
        if self.open is None:
            return self._say(messages.NOTHING_HERE)
        meant = self.keys.press(digit)
        return self._say(meant) if isinstance(meant, Notice) else self.judge(meant)

    def enter(self) -> Notice:
        """Enter was pressed: it ends a grade of several digits, or tries again."""
        meant = self.keys.enter()
        if meant is None:
            return self.again()
        return self._say(meant) if isinstance(meant, Notice) else self.judge(meant)

    def set_note(self, text: str) -> Notice:
        """Write the note that goes with the answer; an empty one takes it away."""
        if self.open is None:
            return self._say(messages.NOTHING_HERE)
        self.note = text.strip()
        return self._say(messages.noted(self.note) if self.note else messages.NOTE_GONE)

    def jump(self, step: int) -> Notice:
        """Go to the next hit, or to the one before."""
        place = self.reading.jump(step) if self.reading else None
        return self._say(messages.station(*place) if place else messages.NO_HITS)

    def find(self, words: str) -> Notice:
        """Find words in the document; without words the hits of the topic are gone through again."""
        if self.reading is None:
            return self._say(messages.NOTHING_HERE)
        times = self.reading.find(words)
        if times:
            self.reading.jump(1)
        return self._say(messages.found(words, times) if words.strip() else messages.QUIET)

    def best(self) -> Notice:
        """Look at the passage with most of the topic in it."""
        passage = self.reading.best() if self.reading else None
        if self.reading is not None and passage is not None:
            self.reading.current = passage
        return self._say(messages.best_passage(there=passage is not None))

    def switch_best_first(self) -> Notice:
        """Open every document at its best passage, or at the top again."""
        self.best_first = not self.best_first
        return self._say(messages.BEST_FIRST if self.best_first else messages.TOP_FIRST)

    def switch_fold(self) -> str:
        """Show less of the topic, or all of it again."""
        by_itself, self._folding = self._folding.by_itself, replace(self._folding, by_itself=False, chosen=True)
        self.fold = FOLDS[0] if by_itself else FOLDS[(FOLDS.index(self.fold) + 1) % len(FOLDS)]
        return self.fold

    def fold_if_crowded(self, opened: Opened, *, lines: int) -> None:
        """Fold the narrative away after the first document of a topic, where it leaves too few `lines` to read in.

        The next topic has it in full again. Whoever asked for it in this topic (`f`) keeps it.
        """
        before = self._folding
        if opened.topic.id != before.topic:
            self.fold = FOLDS[0] if before.by_itself else self.fold
            self._folding = replace(
                before, topic=opened.topic.id, first=opened.document.id, by_itself=False, chosen=False
            )
            return
        settled = before.by_itself or before.chosen or opened.document.id == before.first
        if settled or self.fold != FOLDS[0] or not 0 < lines < ROOM or not opened.topic.narrative.strip():
            return
        self.fold, self._folding = FOLDS[1], replace(before, by_itself=True, told=True)
        if not before.told:
            self._say(messages.NARRATIVE_FOLDED)

    def highlight(self, words: str) -> Notice:
        """Add a highlight term for this topic, or take one away that is there."""
        term = " ".join(words.split())
        if self.open is None or self.reading is None:
            return self._say(messages.NOTHING_HERE)
        if not term:
            return self._say(messages.WORDS_NEEDED)
        own = self.own_terms.get(self.open.topic.id, ())
        added = term not in own
        self.own_terms[self.open.topic.id] = (*own, term) if added else tuple(word for word in own if word != term)
        self._look()
        times = sum(hit.source == "own" for hit in self.reading.hits)
        return self._say(messages.highlighted(term, times) if added else messages.plain_again(term))

    def begin_mark(self, position: int) -> Notice:
        """Start marking evidence."""
        began = self.reading.begin_mark(position) if self.reading else None
        return self._say(messages.MARKING if began else messages.NO_TEXT_TO_MARK)

    def drag_mark(self, span: Span) -> Notice:
        """Mark what the mouse drew; Enter keeps it."""
        began = self.reading.drag_mark(span) if self.reading else None
        return self._say(messages.MARKING if began else messages.MARK_LEFT)

    def move_mark(self, move: Move) -> Notice:
        """Move or trim what is being marked."""
        if self.reading is not None:
            self.reading.move_mark(move)
        return self.notice

    def keep_mark(self) -> Notice:
        """Take what is being marked as evidence."""
        kept = self.reading.keep_mark() if self.reading else None
        return self._say(messages.marked(kept.text) if kept else messages.MARK_LEFT)

    def drop_mark(self) -> Notice:
        """Take the marks under the marker away."""
        return self._say(messages.unmarked(self.reading.drop_mark() if self.reading else 0))

    def leave_mark(self) -> Notice:
        """Stop marking, and leave the evidence as it is."""
        if self.reading is not None:
            self.reading.marker = None
        return self._say(messages.MARK_LEFT)

    def show(self, opened: Opened, *, note: str = "", evidence: tuple[Evidence, ...] = ()) -> None:
        """Open a document."""
        self.open, self.note = opened, note
        self.reading = Reading(opened.document, page_of(opened.document), evidence=evidence)
        self._look()
        if self.best_first:
            self.reading.current = self.reading.best()

    def close(self) -> None:
        """Put the document away."""
        self.open, self.reading, self.note = None, None, ""

    def _look(self) -> None:
        if self.open is not None and self.reading is not None:
            own = self.own_terms.get(self.open.topic.id, ())
            self.reading.look_for(terms_of(self.open.topic, own, self.stems), self.stems)

    def _say(self, notice: Notice) -> Notice:
        self.notice = notice
        if notice.kind in ("saved", "undone"):
            self.last = notice
        return notice
