"""The judging session of one assessor, as a state machine that knows no screen.

A front calls one method per action and shows the notice it gives; what else changed stands in the attributes. Nothing
here says "saved" before the collection has it.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar, cast

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Span, find, hits_of, index_at, page_of, stemmer, terms_of
from assessor_ui.reader import FAILURES, FOLDS, PAUSE, Draft, Marker, Reading, Watch, sentences
from cranfield.base.errors import CollectionMoved
from cranfield.base.records import Pair
from cranfield.base.text import counted, shortened
from cranfield.judge.events import Evidence
from cranfield.judge.session import (
    AdjudicationSession,
    HistoryEntry,
    Item,
    JudgingSession,
    SearchHit,
    SessionProgress,
    TopicState,
)

TOLD_AGAIN_AFTER = 120.0
"""Seconds after which it is said again that the scale or the guidelines were changed."""

Listed = TypeVar("Listed")


class Session:
    """Somebody who reads and grades documents, at most one of them `open`: an assessor, or an adjudicator.

    Adjudicators are given what to decide on: they have no other topics, no history and no search.
    """

    def __init__(
        self, judging: AdjudicationSession, *, language: str = "english", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.judging, self.scale, self.guidelines = judging, judging.scale, judging.guidelines
        self.adjudicates = not isinstance(judging, JudgingSession)
        self._stem, self.watch = stemmer(language), Watch(clock)
        self.grades, self.digits = [str(step.grade) for step in judging.scale.grades], ""
        """The grades as they are typed, and the digits typed so far."""
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
        self.progress: SessionProgress | None = None
        self.waiting: Sequence[TopicState] = ()
        self.beyond: Sequence[str] = ()
        self.searched = ("", "")
        """The topic and the words of the latest search: its results can be gone through one by one."""
        self._before_search: float | None = None
        self._clock, self._told_at = clock, -TOLD_AGAIN_AFTER

    @property
    def _assessing(self) -> JudgingSession:
        return cast(JudgingSession, self.judging)  # an adjudicator has no keys for what needs it

    # The way of the documents

    def start(self) -> Notice:
        """Open the first document."""
        return self._go_on(messages.QUIET)

    def tick(self) -> Notice | None:
        """Some seconds have passed: keep the document while it is being read; tell of changes."""
        if self.adjudicates:
            return None
        try:
            changed = self._assessing.keep(self.open if self.watch.idle < PAUSE else None)
        except CollectionMoved as error:
            return self._say(messages.TROUBLE, error=error)
        except FAILURES:
            return None  # a lost lease harms nothing: the answer is kept as a second opinion
        if not changed or self._clock() - self._told_at < TOLD_AGAIN_AFTER:
            return None
        self._told_at = self._clock()
        return self._say(messages.CHANGED, what=changed)

    def leave(self) -> Notice:
        """End the session. A note that belongs to no answer yet is saved on its own."""
        if self.ended.text:
            return self.ended
        self.doing = "saving"
        try:
            if not self.adjudicates:
                self._save_note()
                self._assessing.leave()
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        return messages.GOODBYE

    # What a front shows beside topic and document

    @property
    def status(self) -> messages.Status:
        """What is left, the share of the topic, or of the cases, that is done, and the pace of an assessor."""
        item = self.open
        share = None if item is None else (max(item.of - item.left, 0), item.of)
        if not self.adjudicates:
            done = self.progress
            if item is None:
                left = f"{done.left:,} left in all" if done is not None and done.left else ""
            else:
                left = f"{item.left:,} left in this topic" + (f", {done.left:,} in all" if done is not None else "")
            return left, share, done
        return "" if item is None else f"case {item.position} of {item.of}", share, None

    @property
    def nothing(self) -> tuple[str, str]:
        """Why no document is open, and what can be done."""
        if self.stuck:
            return messages.STUCK, messages.STUCK_MORE
        if self.adjudicates:
            return messages.ALL_DECIDED, messages.ALL_DECIDED_MORE
        return messages.nothing_now(self.waiting, self.progress, self.beyond), messages.ALL_DONE_MORE

    # Answers

    def judge(self, grade: int | None, reason: str = "") -> Notice:
        """Judge with a grade, or tell for which `reason` there is none, or put the document off; then go on.

        What was sent is said once it is in the file.
        """
        if grade is not None and str(grade) not in self.grades:
            return self._say(messages.NOT_ON_SCALE, grade=grade, known=", ".join(self.grades))
        if self.open is None or self.card:
            return self._say(messages.TOPIC_FIRST if self.card else messages.NOTHING_HERE)
        self.doing = "saving"
        try:
            self.end_search()
            note, evidence = "", list[Evidence]()
            if grade is None:
                # A note that is no part of the answer, unless it is that of an earlier one, which this one leaves.
                self._save_note(replaced=bool(reason))
            else:
                note, document = self.note, self.open.document
                places = filter(None, map(self.reading.page.to_document, self.reading.marked))
                evidence = [Evidence(start, end, document.text[start:end]) for start, end in places]
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

    def later(self) -> Notice:
        """Put the document off."""
        return self.judge(None)

    def cannot(self, reason: str) -> Notice:
        """Say that the document cannot be judged, and why."""
        return self.judge(None, told) if (told := reason.strip()) else self._say(messages.REASON_NEEDED)

    def back(self) -> Notice:
        """Leave a document that was opened out of turn, unanswered."""
        if self.digits:
            self.digits = ""
            return self._say(messages.QUIET)
        if not self._aside:
            return self._say(messages.NOWHERE_TO_GO_BACK)
        self._take_up(self._aside.pop())
        return self._count(messages.BACK)

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

    def may_go_on(self, digits: str) -> bool:
        """Whether some grade has more digits than these."""
        return any(name != digits and name.startswith(digits) for name in self.grades)

    def digit(self, digit: str) -> Notice:
        """A digit was typed: it judges where only one grade can be meant."""
        if self.open is None or self.card:
            return self._say(messages.TOPIC_FIRST if self.card else messages.NOTHING_HERE)
        typed, self.digits = self.digits + digit, ""
        if not self.may_go_on(typed):
            return self.judge(int(typed))
        self.digits = typed
        return self._say(messages.GRADE_OPEN, digits=typed, enter=f"Enter for {typed}, " * (typed in self.grades))

    def enter(self) -> Notice:
        """Enter was pressed: it ends a grade of several digits, or tries again to open the next document."""
        if typed := self.digits:
            self.digits = ""
            return self.judge(int(typed))
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
        """Move what is being marked, or take a sentence more or less; at the edge of the text it stays."""
        if (marker := self.reading.marker) is not None:
            end, step = len(marker.sentences) - 1, 1 if move in ("next", "more") else -1
            if move in ("next", "previous"):
                first = last = min(max(marker.first + step, 0), end)
            else:
                first, last = marker.first, min(max(marker.last + step, marker.first), end)
            self.reading.marker = Marker(marker.sentences, first, last)
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

    def unmark(self, spans: Sequence[Span] | None = None) -> Notice:
        """Take marks away, these or all."""
        spans = self.reading.marked if spans is None else spans
        if not spans:
            return self._say(messages.MARK_LEFT)
        self.reading.marked = [span for span in self.reading.marked if span not in spans]
        return self._say(messages.UNMARKED, marks=counted(len(spans), "mark"))

    # Other documents and topics

    def topics(self) -> list[TopicState]:
        """The topics with their progress; none where the collection is in trouble, which the notice tells."""
        return self._list(self._assessing.topics)

    def choose_topic(self, topic: str) -> Notice:
        """Go on with another topic."""
        try:
            self._assessing.choose_topic(topic)
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        self._aside.clear()
        notice = self._go_on(messages.QUIET)
        if self.open is None or notice is not messages.QUIET:
            return notice
        return self._say(messages.TOPIC_CHOSEN, title=shortened(self.open.topic.title, 60))

    def history(self, words: str = "") -> list[HistoryEntry]:
        """The assessor's own answers, latest first."""
        return self._list(lambda: self._assessing.history(words))

    def reopen(self, topic: str, document: str, words: str = "") -> Notice:
        """Open a document that was answered before, or that was found by searching for these words."""
        self.doing = "opening"
        try:
            item = self._assessing.reopen(topic, document, words)
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        self.end_search()
        if self.open is None or self.open.pair != item.pair:
            self._put_aside()
        self._open(item)
        if item.before is None:
            return self._count(messages.OPENED)
        return self._count(messages.REOPENED.filled(answer=messages.answered(item.before, self.scale)))

    def search(self, words: str) -> list[SearchHit]:
        """Search the whole collection for the current topic."""
        if not self.topic or not words.strip():
            self._say(messages.WORDS_NEEDED if self.topic else messages.NOTHING_HERE)
            return []
        if self._before_search is None:
            self._before_search = self.watch.seconds
        self.searched = self.topic, words
        hits = self._list(lambda: self._assessing.search(self.topic, words))
        if self.notice.kind != "trouble":
            searched = messages.SEARCHED if hits else messages.SEARCHED_IN_VAIN
            self._say(searched, documents=counted(len(hits), "document"), words=words)
        return hits

    def end_search(self) -> None:
        """Go back to the document in turn; neither the time spent on searching nor what was said there is its own."""
        if self._before_search is not None:
            self.watch.begin(self._before_search)
            self._before_search = None
            self._say(messages.QUIET)

    def take(self, hit: SearchHit) -> Notice:
        """Open a document of the latest search."""
        return self.reopen(self.topic, hit.document, "" if hit.state == "judged" else self.searched[1])

    # Inner workings

    def _go_on(self, notice: Notice) -> Notice:
        """Open what was put aside, else the next document. The answer before is safe whatever happens here."""
        self.open, self.reading, self.note, self.digits, self.doing = None, Reading(), "", "", "opening"
        self.card = False
        try:
            if self._aside:
                self._take_up(self._aside.pop())
            elif (item := self.judging.next_item()) is not None:
                self._open(item)
            else:
                self.stuck = False
                if not self.adjudicates:
                    self.waiting, self.beyond = self._assessing.topics(), self._assessing.beyond()
        except FAILURES as error:
            self.stuck = True
            return self._fail(notice, error)
        return self._count(notice)

    def _count(self, notice: Notice) -> Notice:
        """Say how far they are now: what was put aside meanwhile must not count as it did then."""
        try:
            if not self.adjudicates:
                self.progress = self._assessing.progress()
                if (item := self.open) is not None and (now := self.progress.topics.get(item.topic.id)) is not None:
                    self.open = replace(item, left=now.left, of=max(now.of, item.position))
        except FAILURES as error:
            return self._fail(notice, error)
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
        self.open, self.stuck, self.digits = item, False, ""
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

    def _save_note(self, *, replaced: bool = False) -> None:
        """Save the note on its own, unless an answer has it that stands: not taken back, nor `replaced` now."""
        if self.open is None or self.adjudicates or self.note in ("", self.open.note):
            return
        stands = self.open.before is not None and not replaced and self.open.pair not in self._taken_back
        if not stands or self.open.before is None or self.note != self.open.before.note:
            self._assessing.note(self.open, self.note)
            self.note = ""

    def _list(self, fetch: Callable[[], list[Listed]]) -> list[Listed]:
        self.doing = "looking"
        self._say(messages.QUIET)
        try:
            return fetch()
        except FAILURES as error:
            self._say(messages.TROUBLE, error=error)
            return []
