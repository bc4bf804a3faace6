"""What assessors and adjudicators do with an open document: type a grade, note, find, mark, fold."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Page, Span, find, hits_of, index_at, page_of, stemmer, terms_of
from cranfield.base.errors import CollectionMoved, CranfieldError
from cranfield.base.records import Document, GradeScale, Pair
from cranfield.base.text import counted, shortened
from cranfield.judge.events import Evidence
from cranfield.judge.session import AdjudicationSession, Item

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

    def moved(self, move: Literal["next", "previous", "more", "less"]) -> Marker:
        """The marker after one step; at the edge of the text it stays."""
        end = len(self.sentences) - 1
        if move in ("next", "previous"):
            here = min(max(self.first + (1 if move == "next" else -1), 0), end)
            return replace(self, first=here, last=here)
        return replace(self, last=min(max(self.last + (1 if move == "more" else -1), self.first), end))


_NO_DOCUMENT, _NO_PAGE = Document("", ""), Page("", 0, 0, 0)


@dataclass
class Reading:
    """A page that is being read, an empty one where no document is open: its hits, what was found and marked.

    `others` are the marks of each opinion on it. All places are characters of the page, only `kept` gives those of
    the document.
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

    @property
    def kept(self) -> list[Evidence]:
        """The evidence, in characters of the document's text."""
        places = [place for span in self.marked if (place := self.page.to_document(span)) is not None]
        return [Evidence(start, end, self.document.text[start:end]) for start, end in places]


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
class Draft:
    """A document that was put aside unanswered, with what was written about it."""

    item: Item
    note: str
    marked: Sequence[Span]
    seconds: float


class Reader:
    """Somebody who reads and grades documents, at most one of them `open`: an adjudicator; an assessor does more."""

    def __init__(
        self, judging: AdjudicationSession, *, language: str = "english", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.judging, self.scale, self.guidelines = judging, judging.scale, judging.guidelines
        self._stem, self.watch, self.keys = stemmer(language), Watch(clock), GradeKeys(judging.scale)
        self.open: Item | None = None
        self.reading = Reading()
        self.grade_before: int | None = None
        """The grade that the open document had before, where it is on the present scale."""
        self.note, self.fold = "", FOLDS[0]
        self.notice = self.last = messages.QUIET
        self.doing: Literal["saving", "opening", "looking"] = "opening"
        self.reflow = self.stuck = self.refused = False
        self.topic = ""
        """The topic that is being judged, or was last."""
        self.card = False
        """Whether the topic is another one than before: it is shown first, nothing is answered until `read_on`."""
        self.ended = messages.QUIET
        """Why judging has ended by itself: the collection is gone. Nothing can be saved from then on."""
        self._taken_back: set[Pair] = set()
        self._aside: list[Draft] = []

    # The way of the documents

    def start(self) -> Notice:
        """Open the first document."""
        return self._go_on(messages.QUIET)

    def leave(self) -> Notice:
        """End the session."""
        return self.ended if self.ended.text else messages.GOODBYE

    @property
    def status(self) -> messages.Status:
        """What is left, the share of it that is done, and the pace of an assessor."""
        if (item := self.open) is None:
            return "", None, None
        return f"case {item.position} of {item.of}", (max(item.of - item.left, 0), item.of), None

    @property
    def nothing(self) -> tuple[str, str]:
        """Why no document is open, and what can be done."""
        if self.stuck:
            return messages.STUCK, messages.STUCK_MORE
        return messages.ALL_DECIDED, messages.ALL_DECIDED_MORE

    def tick(self) -> Notice | None:
        """Some seconds have passed: what the reader should know by now, if anything."""
        return None

    # Answers

    def judge(self, grade: int) -> Notice:
        """Judge with a grade and go on."""
        if isinstance(unknown := self.keys.meaning(str(grade)), Notice):
            return self._say(unknown)
        return self._send(grade)

    def later(self) -> Notice:
        """Put the document off."""
        return self._send(None)

    def undo(self) -> Notice:
        """Take the latest answer back and return to its document."""
        self.doing = "saving"
        try:
            item = self.judging.undo()
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        if item is None:
            return self._say(messages.NOTHING_TO_UNDO)
        answer = f" ({messages.answered(item.before, self.scale)})" if item.before else ""
        self._put_aside()
        self._taken_back.add(item.pair)
        self._open(item)
        return self._count(messages.UNDONE.filled(answer=answer, document=item.document.id))

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
        is_there = self.open is not None and not self.open.missing
        return self._say(messages.QUIET) if is_there else self._go_on(messages.QUIET)

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
        if not (stations := reading.stations):
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
        if self.open is None:
            return self._say(messages.NOTHING_HERE)
        found = find(self.reading.page.text, words)
        self.reading.found, self.reading.current = found, found[0] if found else None
        if not words.strip():
            return self._say(messages.QUIET)
        return self._say(
            messages.FOUND if found else messages.NOT_FOUND, words=words, places=counted(len(found), "occurrence")
        )

    def switch_reflow(self) -> Notice:
        """Join the lines of hard-wrapped documents to paragraphs, or show them as they are again."""
        self.reflow, told = not self.reflow, messages.REFLOWED
        if self.open is not None:
            before = self.reading.page.text
            self.reading.page = page_of(self.reading.document, remark=self.reading.remark, reflow=self.reflow)
            told = messages.NOT_WRAPPED if self.reading.page.text == before else told
        return self._say(told if self.reflow else messages.AS_IT_IS)

    # Evidence

    def begin_mark(self, position: int) -> Notice:
        """Start marking with the sentence at the hit that is looked at, else at a place, or the nearest one."""
        reading = self.reading
        spans = sentences(reading.page.text, reading.page.body_start, reading.page.body_end)
        if not spans:
            return self._say(messages.NO_TEXT_TO_MARK)
        here = index_at(spans, reading.current[0] if reading.current else position)
        reading.marker = Marker(spans, here, here)
        return self._say(messages.MARKING)

    def move_mark(self, move: Literal["next", "previous", "more", "less"]) -> Notice:
        """Move what is being marked, or take a sentence more or less."""
        if self.reading.marker is not None:
            self.reading.marker = self.reading.marker.moved(move)
        return self.notice

    def end_mark(self, how: Literal["keep", "drop", "leave"]) -> Notice:
        """Stop marking: keep the sentences as evidence; drop the marks that they touch; or leave all as it was."""
        reading = self.reading
        if reading.marker is None:
            return self._say(messages.MARK_LEFT)
        span, reading.marker = reading.marker.span, None
        if how == "keep":
            return self.add_mark(span)
        return self.unmark(reading.touching(span) if how == "drop" else ())

    def add_mark(self, span: Span) -> Notice:
        """Keep a span of the page as evidence, joined with the marks that it touches."""
        reading = self.reading
        touching = reading.touching(span)
        starts, ends = zip(span, *touching, strict=True)
        joined = min(starts), max(ends)
        if (place := reading.page.to_document(joined)) is None:
            return self._say(messages.MARK_LEFT)
        reading.marked = sorted([joined, *(one for one in reading.marked if one not in touching)])
        return self._say(messages.MARKED, text=shortened(reading.document.text[slice(*place)], 40))

    def unmark(self, spans: Sequence[Span]) -> Notice:
        """Take marks away."""
        if not spans:
            return self._say(messages.MARK_LEFT)
        self.reading.marked = [span for span in self.reading.marked if span not in spans]
        return self._say(messages.UNMARKED, marks=counted(len(spans), "mark"))

    # Inner workings

    def _send(self, grade: int | None, reason: str = "") -> Notice:
        """Send an answer and go on; what was sent is said once it is in the file."""
        if self.open is None or self.card:
            return self._say(messages.TOPIC_FIRST if self.card else messages.NOTHING_HERE)
        self.doing = "saving"
        try:
            self._prepare(grade, reason)
            note, evidence = (self.note, self.reading.kept) if grade is not None else ("", ())
            saved = self.judging.judge(
                self.open, grade, seconds=self.watch.seconds, note=note, evidence=evidence, reason=reason
            )
        except FAILURES as error:
            self.refused = True
            return self._say(messages.NOT_SAVED, error=error)
        self._taken_back.discard(saved.item.pair)
        notice = messages.saved(saved, self.scale)
        self.refused |= notice.kind == "trouble"
        return self._go_on(self._say(notice))

    def _prepare(self, grade: int | None, reason: str) -> None:
        """What is done before an answer is sent: of an adjudicator nothing."""

    def _go_on(self, notice: Notice) -> Notice:
        """Open what was put aside, else the next document. The answer before is safe whatever happens here."""
        self.open, self.reading, self.note, self.keys.digits, self.doing = None, Reading(), "", "", "opening"
        self.card = False
        try:
            if self._aside:
                self._take_up(self._aside.pop())
            elif (item := self.judging.next_item()) is not None:
                self._open(item)
            else:
                self._run_out()
        except FAILURES as error:
            self.stuck = True
            return self._fail(notice, error)
        return self._count(notice)

    def _run_out(self) -> None:
        """Nothing is left to be opened."""
        self.stuck = False

    def _count(self, notice: Notice) -> Notice:
        """Say something once a document was opened, or none is left."""
        return self._say(notice)

    def _put_aside(self) -> None:
        if self.open is not None:
            self._aside.append(Draft(self.open, self.note, self.reading.marked, self.watch.seconds))

    def _take_up(self, draft: Draft) -> None:
        self._open(draft.item).marked = draft.marked
        self.note = draft.note
        self.watch.begin(draft.seconds)

    def _open(self, item: Item) -> Reading:
        """Open a document with the answer that it had before."""
        before, remark = item.before, messages.MISSING.format(item.remark) if item.missing else item.remark
        page = page_of(item.document, remark=remark, reflow=self.reflow)
        self.card, self.topic = self.topic not in ("", item.topic.id), item.topic.id
        self.open, self.stuck, self.keys.digits = item, False, ""
        # The reason of a refusal is no note: it does not go over to the answer that takes its place.
        self.note = item.note or (before.note if before and before.kind != "cannot-judge" else "")
        # A grade of an older scale has no place on this one.
        self.grade_before = before.grade if before and before.scale is None else None
        marks, *others = (
            [page.from_document((piece.start, piece.end)) for piece in answer.evidence] if answer else []
            for answer in (before, *item.opinions)
        )
        hits = hits_of(page.text, terms_of(item.topic, self._stem), self._stem)
        self.reading = Reading(item.document, page, marks, *hits, remark=remark, others=others)
        self.watch.begin()
        return self.reading

    def _say(self, notice: Notice, **fields: object) -> Notice:
        if isinstance(fields.get("error"), CollectionMoved):
            self.refused = True
            if not self.ended.text:
                kept = self.judging.rescue() or "no answer of this session is missing"
                self.ended = messages.GONE.filled(error=fields["error"], kept=kept)
            notice, fields = self.ended, {}
        self.notice = notice.filled(**fields) if fields else notice
        if notice.kind in ("saved", "undone"):
            self.last = self.notice
        return self.notice

    def _fail(self, notice: Notice, error: Exception) -> Notice:
        """Say what went wrong after an answer that is safe, where there was one."""
        return self._say(messages.SAVED_BUT if notice.text else messages.TROUBLE, before=notice.text, error=error)
