"""What assessors and adjudicators do with an open document: type a grade, note, find, highlight, mark, fold."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import WORD, Hit, Page, Span, densest, find, hits_of, index_at, page_of, stemmer, terms_of
from cranfield.base.errors import CollectionMoved, CranfieldError
from cranfield.base.records import Document, GradeScale
from cranfield.base.text import counted, shortened
from cranfield.judge.events import Evidence
from cranfield.judge.session import Case, Item

FAILURES = (CranfieldError, OSError)
"""What a collection may raise: the assessor sees the message, and the judging goes on."""

IDLE_LIMIT = 60.0
"""Seconds without a key after which nobody is taken to be reading."""

PAUSE = 300.0
"""Seconds without a key that count as a break."""

FOLDS = ("full", "short", "title")
"""How much of the topic is in sight: everything, title and description, the title alone."""

ROOM = 12
"""The lines a document should have on the screen, at least."""


class Watch:
    """The seconds of attention to a document, and the start of the work since the last break.

    A gap between two keys counts at most IDLE_LIMIT: the rest was idle.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._counted, self._before = clock, 0.0, 0.0
        self._last = self.working_since = clock()

    def begin(self, seconds: float | None = 0.0) -> None:
        """Start with a document; `seconds` were spent on it before. None: start again as the last time."""
        self._before = self._before if seconds is None else seconds
        self._counted, self._last = self._before, self._clock()

    def touch(self) -> None:
        """A key was pressed; after a long gap the work begins anew."""
        now = self._clock()
        if self.idle >= PAUSE:
            self.working_since = now
        self._counted, self._last = self.seconds, now

    @property
    def idle(self) -> float:
        """Seconds since the last key."""
        return self._clock() - self._last

    @property
    def seconds(self) -> float:
        """Seconds of attention so far."""
        return self._counted + min(self.idle, IDLE_LIMIT)


Move = Literal["next", "previous", "more", "less", "word more", "word less", "start later", "start earlier"]

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
    """A span that is being marked in a page, moved by whole sentences and trimmed by words."""

    sentences: Sequence[Span]
    words: Sequence[Span]
    span: Span

    def moved(self, move: Move) -> Marker:
        """The marker after one step; at the edge of the text it stays."""
        start, end = self.span
        starts = [span[0] for span in self.words]
        ends = [span[1] for span in (self.words if move.startswith("word") else self.sentences)]
        match move:
            case "next" | "previous":
                here = index_at(self.sentences, start) + (1 if move == "next" else -1)
                start, end = self.sentences[min(max(here, 0), len(self.sentences) - 1)]
            case "more" | "word more":
                end = min((place for place in ends if place > end), default=end)
            case "less":
                end = max((place for place in ends if start < place < end), default=end)
            case "word less":
                # A last word that ends before its full stop is left out with it.
                within = [place for place in ends if start < place <= end]
                end = within[-2] if len(within) > 1 else end
            case "start later":
                start = min((place for place in starts if start < place < end), default=start)
            case "start earlier":
                start = max((place for place in starts if place < start), default=start)
        return replace(self, span=(start, end))


def marker_at(page: Page, position: int) -> Marker | None:
    """A marker on the sentence at a place of the page, or the nearest one; None where there is no text."""
    spans = sentences(page.text, page.body_start, page.body_end)
    if not spans:
        return None
    words = [word.span() for word in WORD.finditer(page.text) if page.body_start <= word.start() < page.body_end]
    return Marker(spans, words, spans[index_at(spans, position)])


@dataclass
class Reading:
    """A page that is being read: its hits, what was found, looked at and marked.

    All places are characters of the page, only `kept` gives those of the document.
    """

    document: Document
    page: Page
    marked: tuple[Span, ...] = ()
    hits: tuple[Hit, ...] = ()
    found: tuple[Span, ...] = ()
    current: Span | None = None
    marker: Marker | None = None

    @property
    def stations(self) -> Sequence[Span]:
        """Where n and N go: what was searched for, else the heavy terms, else the light ones."""
        heavy = [(hit.start, hit.end) for hit in self.hits if hit.term.source != "description"]
        return self.found or heavy or [(hit.start, hit.end) for hit in self.hits]

    @property
    def kept(self) -> tuple[Evidence, ...]:
        """The evidence, in characters of the document's text."""
        places = [place for span in self.marked if (place := self.page.to_document(span)) is not None]
        return tuple(Evidence(start, end, self.document.text[start:end]) for start, end in places)


class GradeKeys:
    """The digits typed so far, as a grade of the scale."""

    def __init__(self, scale: GradeScale) -> None:
        self.grades, self.digits = {str(step.grade): step.grade for step in scale.grades}, ""

    def is_open(self, digits: str) -> bool:
        """Say whether more digits may follow these."""
        return any(name != digits and name.startswith(digits) for name in self.grades)

    def meaning(self, digits: str) -> int | Notice:
        """The grade that is called so, or a notice that there is none."""
        if digits in self.grades:
            return self.grades[digits]
        return messages.NOT_ON_SCALE.filled(grade=digits, known=", ".join(self.grades))

    def press(self, digit: str) -> int | Notice:
        """Take a digit: give the grade that is meant, or say what is still open. No digit ends what was typed."""
        typed, self.digits = self.digits + digit, ""
        if not digit or not self.is_open(typed):
            return self.meaning(typed)
        self.digits = typed
        return messages.GRADE_OPEN.filled(digits=typed, enter=f"Enter for {typed}, " if typed in self.grades else "")


@dataclass(frozen=True)
class Folding:
    """What is known of folding: the topic and its first document, who has folded, and whether it was told."""

    topic: str = ""
    first: str = ""
    by_itself: bool = False
    chosen: bool = False
    told: bool = False


Opened = TypeVar("Opened", bound=Item | Case)


class Reader(ABC, Generic[Opened]):
    """An assessor or adjudicator who reads and grades documents, at most one of them `open`."""

    def __init__(self, scale: GradeScale, guidelines: str, *, language: str, clock: Callable[[], float]) -> None:
        self.scale, self.guidelines, self._stem, self.watch = scale, guidelines, stemmer(language), Watch(clock)
        self.open: Opened | None = None
        self.reading: Reading | None = None
        self.others_evidence: Sequence[Span] = ()
        self.grade_before: int | None = None
        """The grade that the open document had before, where it is on the present scale."""
        self.note, self.fold = "", FOLDS[0]
        self.notice = self.last = messages.QUIET
        self.doing: Literal["saving", "opening", "looking"] = "opening"
        self.best_first = self.reflow = self.stuck = self.refused = False
        self.topic = ""
        """The topic that is being judged, or was last."""
        self.card = False
        """Whether the topic is another one than before: it is shown first, nothing is answered until `read_on`."""
        self.ended = messages.QUIET
        """Why judging has ended by itself: the collection is gone. Nothing can be saved from then on."""
        self.keys = GradeKeys(scale)
        self.own_terms: dict[str, tuple[str, ...]] = {}
        self._folding = Folding()

    @abstractmethod
    def judge(self, grade: int) -> Notice:
        """Judge with a grade and go on."""

    @abstractmethod
    def _go_on(self, notice: Notice) -> Notice:
        """Open the next document; `notice` tells of the answer before, which is safe whatever happens here."""

    def tick(self) -> Notice | None:
        """Some seconds have passed: what the reader should know by now, if anything."""
        return None

    def digit(self, digit: str) -> Notice:
        """A digit was typed, or none (Enter): it judges where only one grade can be meant."""
        if self.open is None or self.card:
            return self._say(messages.TOPIC_FIRST if self.card else messages.NOTHING_HERE)
        meant = self.keys.press(digit)
        return self._say(meant) if isinstance(meant, Notice) else self.judge(meant)

    def enter(self) -> Notice:
        """Enter was pressed: it ends a grade of several digits, or tries again to open the next document."""
        if self.keys.digits:
            return self.digit("")
        return self._go_on(messages.QUIET) if self.open is None else self._say(messages.QUIET)

    def read_on(self) -> Notice:
        """Go on to the document after a new topic was shown; the time until now was not the document's."""
        self.card = False
        self.watch.begin(None)
        return self.notice

    def set_note(self, text: str) -> Notice:
        """Write the note that goes with the answer; an empty one takes it away."""
        if self.open is None:
            return self._say(messages.NOTHING_HERE)
        self.note = text.strip()
        return self._say(messages.NOTED if self.note else messages.NOTE_GONE, note=shortened(self.note, 40))

    def jump(self, step: int) -> Notice:
        """Go to the next hit or the one before, round the ends."""
        reading = self.reading
        if reading is None or not (stations := reading.stations):
            return self._say(messages.NO_HITS)
        if reading.current is None:
            there = 0 if step > 0 else -1
        elif reading.current in stations:
            there = stations.index(reading.current) + step
        else:
            following = bisect_left(stations, reading.current[0], key=lambda span: span[0])
            there = following if step > 0 else following - 1
        there %= len(stations)
        reading.current = stations[there]
        return self._say(messages.HIT, number=there + 1, of=len(stations))

    def find(self, words: str) -> Notice:
        """Find words letter for letter; without words the hits of the topic are gone through again."""
        if self.reading is None:
            return self._say(messages.NOTHING_HERE)
        found = find(self.reading.page.text, words)
        self.reading.found, self.reading.current = found, found[0] if found else None
        if not words.strip():
            return self._say(messages.QUIET)
        return self._say(
            messages.FOUND if found else messages.NOT_FOUND, words=words, places=counted(len(found), "occurrence")
        )

    def best(self) -> Notice:
        """Look at the passage with most of the topic in it."""
        passage = self._best_passage()
        if self.reading is None or passage is None:
            return self._say(messages.NO_HITS)
        self.reading.current = passage
        return self._say(messages.BEST_PASSAGE)

    def switch_best_first(self) -> Notice:
        """Open every document at its best passage, or at the top again."""
        self.best_first = not self.best_first
        return self._say(messages.BEST_FIRST if self.best_first else messages.TOP_FIRST)

    def switch_reflow(self) -> Notice:
        """Join the lines of hard-wrapped documents to paragraphs, or show them as they are again."""
        self.reflow = not self.reflow
        if self.reading is not None:
            self.reading.page = page_of(self.reading.document, reflow=self.reflow)
        return self._say(messages.REFLOWED if self.reflow else messages.AS_IT_IS)

    def switch_fold(self) -> None:
        """Show less of the topic, or all of it again."""
        by_itself, self._folding = self._folding.by_itself, replace(self._folding, by_itself=False, chosen=True)
        self.fold = FOLDS[0] if by_itself else FOLDS[(FOLDS.index(self.fold) + 1) % len(FOLDS)]

    def fold_if_crowded(self, opened: Opened, *, lines: int) -> None:
        """Fold the narrative away after the first document of a topic, where it leaves too few `lines` to read in.

        The next topic has it in full again. Whoever asked for it in this topic (`f`) keeps it.
        """
        before = self._folding
        if opened.topic.id != before.topic:
            self.fold = FOLDS[0] if before.by_itself else self.fold
            self._folding = Folding(opened.topic.id, opened.document.id, told=before.told)
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
        self._find_terms()
        hits = counted(sum(hit.term.source == "own" for hit in self.reading.hits), "hit")
        return self._say(messages.HIGHLIGHTED if added else messages.HIGHLIGHTED_NO_MORE, words=term, hits=hits)

    # Evidence

    def begin_mark(self, position: int) -> Notice:
        """Start marking at the hit that is looked at, else at a place."""
        if self.reading is not None:
            current = self.reading.current
            self.reading.marker = marker_at(self.reading.page, current[0] if current else position)
        began = self.reading is not None and self.reading.marker is not None
        return self._say(messages.MARKING if began else messages.NO_TEXT_TO_MARK)

    def drag_mark(self, span: Span) -> Notice:
        """Mark what the mouse drew; Enter keeps it."""
        if self.reading is None:
            return self._say(messages.MARK_LEFT)
        page = self.reading.page
        start, end = max(span[0], page.body_start), min(span[1], page.body_end)
        began = marker_at(page, start) if start < end else None
        self.reading.marker = replace(began, span=(start, end)) if began else None
        return self._say(messages.MARKING if began else messages.MARK_LEFT)

    def move_mark(self, move: Move) -> Notice:
        """Move or trim what is being marked."""
        if self.reading is not None and self.reading.marker is not None:
            self.reading.marker = self.reading.marker.moved(move)
        return self.notice

    def end_mark(self, how: Literal["keep", "drop", "leave"]) -> Notice:
        """Stop marking: keep the span as evidence, joined with marks it touches; drop those; or leave them all."""
        reading = self.reading
        if reading is None or reading.marker is None:
            return self._say(messages.MARK_LEFT)
        (start, end), reading.marker = reading.marker.span, None
        touching = [span for span in reading.marked if span[0] < end and start < span[1]]
        if how != "keep":
            return self.unmark(touching if how == "drop" else ())
        joined = min([start, *(span[0] for span in touching)]), max([end, *(span[1] for span in touching)])
        reading.marked = tuple(sorted([span for span in reading.marked if span not in touching] + [joined]))
        place = reading.page.to_document(joined)
        if place is None:
            return self._say(messages.MARK_LEFT)
        return self._say(messages.MARKED, text=shortened(reading.document.text[slice(*place)], 40))

    def unmark(self, spans: Sequence[Span]) -> Notice:
        """Take marks away."""
        if self.reading is None or not spans:
            return self._say(messages.MARK_LEFT)
        self.reading.marked = tuple(span for span in self.reading.marked if span not in spans)
        return self._say(messages.UNMARKED, marks=counted(len(spans), "mark"))

    # Inner workings

    def _show(
        self, opened: Opened, *, grade_before: int | None, note: str = "", evidence: Sequence[Evidence] = ()
    ) -> Reading:
        page = page_of(opened.document, reflow=self.reflow)
        self.card, self.topic = self.topic not in ("", opened.topic.id), opened.topic.id
        self.open, self.grade_before, self.note, self.stuck = opened, grade_before, note, False
        self.reading = Reading(
            opened.document, page, tuple(page.from_document((span.start, span.end)) for span in evidence)
        )
        self.keys.digits = ""
        self._find_terms()
        if self.best_first:
            self.reading.current = self._best_passage()
        return self.reading

    def _close(self) -> None:
        """Put the document away; the next one is opened after that."""
        self.open, self.reading, self.note, self.keys.digits, self.doing = None, None, "", "", "opening"
        self.card = False

    def _find_terms(self) -> None:
        if self.open is not None and self.reading is not None:
            terms = terms_of(self.open.topic, self.own_terms.get(self.open.topic.id, ()), self._stem)
            self.reading.hits = hits_of(self.reading.page.text, terms, self._stem)

    def _best_passage(self) -> Span | None:
        """The densest passage of the body; hits in the title are in sight anyway."""
        reading = self.reading
        return densest([hit for hit in reading.hits if hit.start >= reading.page.body_start]) if reading else None

    @abstractmethod
    def _rescue(self) -> str:
        """Keep the answers of this session, when the collection is gone; say where they are."""

    def _say(self, notice: Notice, **fields: object) -> Notice:
        if isinstance(fields.get("error"), CollectionMoved):
            self.refused = True
            if not self.ended.text:
                kept = self._rescue() or "no answer of this session is missing"
                self.ended = messages.GONE.filled(error=fields["error"], kept=kept)
            notice, fields = self.ended, {}
        self.notice = notice.filled(**fields) if fields else notice
        if notice.kind in ("saved", "undone"):
            self.last = self.notice
        return self.notice

    def _refuse(self, error: Exception) -> Notice:
        """Say that an answer is not in the file, and why."""
        self.refused = True
        return self._say(messages.NOT_SAVED, error=error)

    def _fail(self, notice: Notice, error: Exception) -> Notice:
        """Say what went wrong after an answer that is safe, where there was one."""
        return self._say(messages.SAVED_BUT if notice.text else messages.TROUBLE, before=notice.text, error=error)
