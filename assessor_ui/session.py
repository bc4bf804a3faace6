"""The sitting of one assessor, as a state machine that knows no screen.

A front calls one method per action and shows the notice it gives; what else changed stands in the attributes. Nothing
here says "saved" before the desk has returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.page import Span
from assessor_ui.reader import Reader
from cranfield.base.errors import CranfieldError
from cranfield.judge.session import Answer, Desk, Done, Found, Item, Past, Saved, TopicState

# How long an assessor really looked, and when a break is due.

Clock = Callable[[], float]

IDLE_LIMIT = 60.0
"""Seconds without a key after which nobody is taken to be reading."""

PAUSE = 300.0
"""Seconds without a key that count as a break."""


class Attention:
    """Seconds spent on one document. A gap between two keys counts at most `limit`: the rest was idle."""

    def __init__(self, clock: Clock, *, limit: float = IDLE_LIMIT) -> None:
        self._clock, self._limit = clock, limit
        self._counted, self._last = 0.0, clock()

    def begin(self, seconds: float = 0.0) -> None:
        """Start with a document; `seconds` were spent on it before."""
        self._counted, self._last = seconds, self._clock()

    def touch(self) -> None:
        """A key was pressed: somebody is there."""
        self._counted = self.seconds
        self._last = self._clock()

    @property
    def idle(self) -> float:
        """Seconds since the last key."""
        return self._clock() - self._last

    @property
    def seconds(self) -> float:
        """Seconds of attention so far."""
        return self._counted + min(self.idle, self._limit)


class Rest:
    """When a break is due: after `minutes` of work without a pause, and again after as long; None is never."""

    def __init__(self, clock: Clock, *, minutes: float | None) -> None:
        self._clock, self.minutes = clock, minutes
        self._since = self._last = self._reminded = clock()
        self._wanted = minutes

    def touch(self) -> None:
        """A key was pressed; after a long gap the work begins anew."""
        now = self._clock()
        if now - self._last >= PAUSE:
            self._since = self._reminded = now
        self._last = now

    @property
    def worked(self) -> float:
        """Minutes since the last break."""
        return (self._clock() - self._since) / 60

    def due(self) -> bool:
        """Say whether it is time to remind of a break; true once per stretch of work."""
        now = self._clock()
        if self.minutes is None or now - self._last >= PAUSE or now - self._reminded < self.minutes * 60:
            return False
        self._reminded = now
        return True

    def switch(self, *, usual: float) -> bool:
        """Turn the reminder off, or on again; say whether it is on now."""
        self.minutes = (self._wanted or usual) if self.minutes is None else None
        self._reminded = self._clock()
        return self.minutes is not None


TROUBLE = (CranfieldError, OSError)
"""What a desk may raise: it is told to the assessor, and the sitting goes on."""

BREAK_AFTER_MINUTES = 45

TOLD_AGAIN_AFTER = 120.0
"""Seconds after which it is said again that the scale or the guidelines were changed."""

Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document that was put aside unanswered, with what was written about it."""

    item: Item
    note: str
    marked: tuple[Span, ...]
    seconds: float


class Session(Reader):
    """One assessor before one desk."""

    def __init__(
        self,
        desk: Desk,
        *,
        clock: Clock = time.monotonic,
        idle_limit: float = IDLE_LIMIT,
        break_after_minutes: float | None = BREAK_AFTER_MINUTES,
        language: str = "english",
    ) -> None:
        super().__init__(desk.scale, desk.guidelines, language=language)
        self.desk = desk
        self.attention, self.rest = Attention(clock, limit=idle_limit), Rest(clock, minutes=break_after_minutes)
        self.item: Item | None = None
        self.progress: Done | None = None
        self.waiting: tuple[TopicState, ...] = ()
        self._taken_back: set[tuple[str, str]] = set()
        self._aside: list[Draft] = []
        self._last_topic = ""
        self._before_search: float | None = None
        self._clock = clock
        self._told_at: float | None = None

    # The way of the documents

    def start(self) -> Notice:
        """Open the first document; say what the assessor should know: a name like his, answers to be given again."""
        alike = messages.like_named(self.desk.assessor, self.desk.like_named)
        return self._go_on(alike if alike.text else self._judged_before())

    def _judged_before(self) -> Notice:
        with suppress(*TROUBLE):
            return messages.judged_before(self.desk.older())
        return messages.QUIET

    def again(self) -> Notice:
        """Try once more to open the next document where that failed."""
        return self._go_on(messages.QUIET) if self.item is None else self._say(messages.QUIET)

    def touch(self) -> None:
        """A key was pressed."""
        self.attention.touch()
        self.rest.touch()

    def tick(self) -> Notice | None:
        """Some seconds have passed: keep the document while it is being read; tell of changes, remind of a break."""
        if self.item is not None and self.attention.idle < PAUSE:
            # A lost lease harms nothing: the answer is kept as a second opinion.
            with suppress(*TROUBLE):
                self.desk.keep(self.item)
        if changed := self._changed_meanwhile():
            return self._say(messages.changed_meanwhile(changed))
        return self._say(messages.time_for_a_break(self.rest.worked)) if self.rest.due() else None

    def _changed_meanwhile(self) -> str:
        """Give what was changed since the sitting began, now and then as long as it goes on."""
        if self._told_at is not None and self._clock() - self._told_at < TOLD_AGAIN_AFTER:
            return ""
        changed = ""
        with suppress(*TROUBLE):
            changed = self.desk.outdated()
        self._told_at = self._clock() if changed else None
        return changed

    def leave(self) -> Notice:
        """End the sitting. A note that belongs to no answer yet is saved on its own."""
        self.doing = "saving"
        try:
            self._save_note(stands=self._standing_note)
            self.desk.leave()
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        return Notice("hint", messages.GOODBYE)

    # Answers

    def judge(self, grade: int) -> Notice:
        """Give a grade and go on."""
        if all(step.grade != grade for step in self.scale.grades):
            return self._say(messages.not_on_scale(str(grade), self.scale))
        evidence = self.reading.kept if self.reading else ()
        note = self.note
        return self._answer(
            lambda item, seconds: self.desk.judge(item, grade, seconds=seconds, note=note, evidence=evidence)
        )

    def later(self) -> Notice:
        """Put the document off."""
        return self._answer(self._later)

    def _later(self, item: Item, seconds: float) -> Saved:
        self._save_note(stands=self._standing_note)
        return self.desk.postpone(item, seconds=seconds)

    def cannot(self, reason: str) -> Notice:
        """Say that the document cannot be judged, and why."""
        if not reason.strip():
            return self._say(messages.REASON_NEEDED)
        return self._answer(lambda item, seconds: self._cannot(item, reason.strip(), seconds))

    def _cannot(self, item: Item, reason: str, seconds: float) -> Saved:
        self._save_note()
        return self.desk.cannot(item, reason, seconds=seconds)

    def undo(self) -> Notice:
        """Take the latest answer back and return to its document."""
        self.doing = "saving"
        try:
            item = self.desk.undo()
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        if item is None:
            return self._say(messages.NOTHING_TO_UNDO)
        notice = messages.undone(item.document.id, item.before, self.scale)
        self._put_aside()
        self._taken_back.add(_key(item))
        self._open(item)
        return self._count(notice)

    def back(self) -> Notice:
        """Leave a document that was opened out of turn, unanswered."""
        if self.keys.clear():
            return self._say(messages.QUIET)
        if not self._aside:
            return self._say(messages.NOWHERE_TO_GO_BACK)
        self._take_up(self._aside.pop())
        return self._count(messages.BACK)

    # Other documents and topics

    def switch_reminder(self) -> Notice:
        """Turn the break reminder off, or on again."""
        on = self.rest.switch(usual=BREAK_AFTER_MINUTES)
        return self._say(messages.REMINDER_ON if on else messages.REMINDER_OFF)

    def topics(self) -> list[TopicState]:
        """Give the topics with their progress; none where the desk is in trouble, which the notice tells."""
        return self._asked(self.desk.topics)

    def choose_topic(self, topic: str) -> Notice:
        """Go on with another topic."""
        try:
            self.desk.choose_topic(topic)
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        self._aside.clear()
        notice = self._go_on(messages.QUIET)
        chosen = self.item is not None and notice is messages.QUIET
        return self._say(messages.topic_chosen(self.item.topic.title)) if chosen and self.item else notice

    def history(self, words: str = "") -> list[Past]:
        """Give the assessor's own answers, latest first."""
        return self._asked(lambda: self.desk.history(words))

    def reopen(self, topic: str, document: str) -> Notice:
        """Open a document that was answered before."""
        return self._turn_to(lambda: self.desk.reopen(topic, document))

    def search(self, words: str) -> list[Found]:
        """Search the whole collection for the current topic."""
        if self.item is None and not self._last_topic:
            self._say(messages.NOTHING_HERE)
            return []
        if not words.strip():
            self._say(messages.WORDS_NEEDED)
            return []
        if self._before_search is None:
            self._before_search = self.attention.seconds
            self.attention.begin()
        self._say(messages.QUIET)
        hits = self._asked(lambda: self.desk.search(self.topic, words))
        if self.notice.kind != "trouble":
            self._say(messages.search_result(words, len(hits)))
        return hits

    def end_search(self) -> None:
        """Go back to the document in turn; neither the time spent on searching nor what was said there is its own."""
        if self._before_search is not None:
            self.attention.begin(self._before_search)
            self._before_search = None
            self._say(messages.QUIET)

    def take(self, hit: Found, words: str) -> Notice:
        """Open a found document."""
        return self._turn_to(lambda: self._taken(hit, words))

    def judge_found(self, hit: Found, words: str, grade: int) -> Notice:
        """Judge a found document at once; the document in turn stays open, unless it is the same.

        A grade that it has already is not given again: a digit typed twice is one judgment.
        """
        if self.item is not None and _key(self.item) == (self.topic, hit.document):
            return self.judge(grade)
        if all(step.grade != grade for step in self.scale.grades):
            return self._say(messages.not_on_scale(str(grade), self.scale))
        if hit.state == "judged" and hit.grade == grade:
            return self._say(messages.given_already(hit.document, grade, self.scale))
        self.doing = "saving"
        try:
            saved = self.desk.judge(self._taken(hit, words), grade, seconds=self.attention.seconds)
        except TROUBLE as error:
            return self._say(messages.not_saved(error))
        self.attention.begin()
        self._taken_back.discard(_key(saved.item))
        self._aside = [draft for draft in self._aside if _key(draft.item) != _key(saved.item)]
        return self._count(messages.saved(saved, self.scale))

    @property
    def topic(self) -> str:
        """The topic that is being judged, or was last."""
        return self.item.topic.id if self.item is not None else self._last_topic

    @property
    def nothing(self) -> str:
        """Why no document is open."""
        return messages.STUCK if self.stuck else messages.nothing_now(self.waiting, self.progress)

    @property
    def out_of_turn(self) -> bool:
        """Whether Esc leads back to another document."""
        return bool(self._aside)

    # Inner workings

    def _taken(self, hit: Found, words: str) -> Item:
        if hit.state == "judged":
            return self.desk.reopen(self.topic, hit.document)
        return self.desk.take(self.topic, hit.document, words)

    def _turn_to(self, call: Callable[[], Item]) -> Notice:
        self.doing = "opening"
        try:
            item = call()
        except TROUBLE as error:
            return self._say(messages.trouble(error))
        self.end_search()
        if self.item is None or _key(self.item) != _key(item):
            self._put_aside()
        self._open(item)
        return self._count(messages.opened(item.before, self.scale))

    def _answer(self, send: Callable[[Item, float], Saved]) -> Notice:
        if self.item is None:
            return self._say(messages.NOTHING_HERE)
        self.end_search()
        self.doing = "saving"
        try:
            saved = send(self.item, self.attention.seconds)
        except TROUBLE as error:
            return self._say(messages.not_saved(error))
        self._taken_back.discard(_key(saved.item))
        return self._go_on(self._say(messages.saved(saved, self.scale)))

    def _go_on(self, notice: Notice) -> Notice:
        """Open what was put aside, else the next document. The answer before is safe whatever happens here."""
        self.doing = "opening"
        self._close()
        try:
            if self._aside:
                self._take_up(self._aside.pop())
            elif (item := self.desk.next_item()) is not None:
                self._open(item)
            else:
                self.stuck, self.waiting = False, tuple(self.desk.topics())
        except TROUBLE as error:
            self.stuck = True
            return self._say(messages.saved_but(notice, error) if notice.text else messages.trouble(error))
        return self._count(notice)

    def _count(self, notice: Notice) -> Notice:
        """Say how far he is now: what was put aside meanwhile must not count as it did then."""
        try:
            self.progress = self.desk.progress()
            self.item = self.desk.recounted(self.item) if self.item is not None else None
        except TROUBLE as error:
            return self._say(messages.saved_but(notice, error) if notice.text else messages.trouble(error))
        return self._say(notice)

    def _open(self, item: Item) -> None:
        before: Answer | None = item.before
        self.item, self.stuck = item, False
        self.keys.clear()
        self._last_topic = item.topic.id
        self.show(item, note=before.note if before else "", evidence=before.evidence if before else ())
        self.attention.begin()

    def _close(self) -> None:
        self.close()
        self.item = None
        self.keys.clear()

    def _put_aside(self) -> None:
        if self.item is not None and self.reading is not None:
            self._aside.append(Draft(self.item, self.note, self.reading.marked, self.attention.seconds))

    def _take_up(self, draft: Draft) -> None:
        self._open(draft.item)
        self.note = draft.note
        if self.reading is not None:
            self.reading.marked = draft.marked
        self.attention.begin(draft.seconds)

    @property
    def _standing_note(self) -> str:
        """The note of the answer that stands; one that was taken back stands no more, and neither does its note."""
        standing = self.item is not None and _key(self.item) not in self._taken_back
        before = self.item.before if standing and self.item is not None else None
        return before.note if before else ""

    def _save_note(self, *, stands: str = "") -> None:
        """Save the note on its own, unless it `stands` already and goes on standing."""
        if self.item is not None and self.note and self.note != stands:
            self.desk.note(self.item, self.note)
            self.note = ""

    def _asked(self, ask: Callable[[], list[Listed]]) -> list[Listed]:
        self.doing = "looking"
        try:
            return ask()
        except TROUBLE as error:
            self._say(messages.trouble(error))
            return []


def _key(item: Item) -> tuple[str, str]:
    return item.topic.id, item.document.id
