"""One document under the eyes of the assessor: where the hits are, which one is looked at, what was marked."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from assessor_ui.highlight import Hit, Stems, Term, densest, find, hits_of
from assessor_ui.page import Page, Span
from assessor_ui.passages import Marker, Move, marker_at
from cranfield.records import Document
from cranfield.workflows.desk import Evidence


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
