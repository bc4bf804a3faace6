"""The judging session of one assessor, as a state machine that knows no screen.

A front calls one method per action and shows the notice it gives; what else changed stands in the attributes. Nothing
here says "saved" before the collection has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from assessor_ui import messages
from assessor_ui.messages import Notice
from assessor_ui.reader import FAILURES, PAUSE, Reader
from cranfield.base.errors import CollectionMoved
from cranfield.base.text import counted, shortened
from cranfield.judge.session import HistoryEntry, Item, JudgingSession, SearchHit, SessionProgress, TopicState

TOLD_AGAIN_AFTER = 120.0
"""Seconds after which it is said again that the scale or the guidelines were changed."""

Listed = TypeVar("Listed")


class Session(Reader):
    """One assessor and what they are judging."""

    judging: JudgingSession

    def __init__(
        self, judging: JudgingSession, *, clock: Callable[[], float] = time.monotonic, language: str = "english"
    ) -> None:
        super().__init__(judging, language=language, clock=clock)
        self._clock = clock
        self.progress: SessionProgress | None = None
        self.waiting: Sequence[TopicState] = ()
        self.beyond: Sequence[str] = ()
        self.searched = ("", "")
        """The topic and the words of the latest search: its results can be gone through one by one."""
        self._before_search: float | None = None
        self._told_at: float | None = None

    # The way of the documents

    def start(self) -> Notice:
        """Open the first document; say whether there are answers to give again."""
        notice = messages.QUIET
        with suppress(*FAILURES):
            if older := self.judging.older():
                notice = messages.REJUDGE.filled(answers=counted(older, "judgment"))
        return self._go_on(notice)

    def tick(self) -> Notice | None:
        """Some seconds have passed: keep the document while it is being read; tell of changes."""
        if self.open is not None and self.watch.idle < PAUSE:
            try:
                self.judging.keep(self.open)
            except CollectionMoved as error:
                return self._say(messages.TROUBLE, error=error)
            except FAILURES:
                pass  # a lost lease harms nothing: the answer is kept as a second opinion
        if self._told_at is None or self._clock() - self._told_at >= TOLD_AGAIN_AFTER:
            changed = ""
            with suppress(*FAILURES):
                changed = self.judging.outdated()
            self._told_at = self._clock() if changed else None
            if changed:
                return self._say(messages.CHANGED, what=changed)
        return None

    def leave(self) -> Notice:
        """End the session. A note that belongs to no answer yet is saved on its own."""
        if self.ended.text:
            return self.ended
        self.doing = "saving"
        try:
            self._save_note()
            self.judging.leave()
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        return messages.GOODBYE

    # Answers

    def cannot(self, reason: str) -> Notice:
        """Say that the document cannot be judged, and why."""
        return self._send(None, told) if (told := reason.strip()) else self._say(messages.REASON_NEEDED)

    def back(self) -> Notice:
        """Leave a document that was opened out of turn, unanswered."""
        if self.keys.digits:
            self.keys.digits = ""
            return self._say(messages.QUIET)
        if not self._aside:
            return self._say(messages.NOWHERE_TO_GO_BACK)
        self._take_up(self._aside.pop())
        return self._count(messages.BACK)

    # Other documents and topics

    def topics(self) -> list[TopicState]:
        """The topics with their progress; none where the collection is in trouble, which the notice tells."""
        return self._list(self.judging.topics)

    def choose_topic(self, topic: str) -> Notice:
        """Go on with another topic."""
        try:
            self.judging.choose_topic(topic)
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        self._aside.clear()
        notice = self._go_on(messages.QUIET)
        if self.open is None or notice is not messages.QUIET:
            return notice
        return self._say(messages.TOPIC_CHOSEN, title=shortened(self.open.topic.title, 60))

    def history(self, words: str = "") -> list[HistoryEntry]:
        """The assessor's own answers, latest first."""
        return self._list(lambda: self.judging.history(words))

    def reopen(self, topic: str, document: str) -> Notice:
        """Open a document that was answered before."""
        return self._turn_to(lambda: self.judging.reopen(topic, document))

    def search(self, words: str) -> list[SearchHit]:
        """Search the whole collection for the current topic."""
        if not self.topic or not words.strip():
            self._say(messages.WORDS_NEEDED if self.topic else messages.NOTHING_HERE)
            return []
        if self._before_search is None:
            self._before_search = self.watch.seconds
        self.searched = self.topic, words
        self._say(messages.QUIET)
        hits = self._list(lambda: self.judging.search(self.topic, words))
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

    def take(self, hit: SearchHit, words: str) -> Notice:
        """Open a found document."""
        if hit.state == "judged":
            return self.reopen(self.topic, hit.document)
        return self._turn_to(lambda: self.judging.take(self.topic, hit.document, words))

    # What a front shows beside topic and document

    @property
    def status(self) -> messages.Status:
        """What is left, the share of the topic that is done, and the pace."""
        return messages.left(self.open, self.progress), super().status[1], self.progress

    @property
    def nothing(self) -> tuple[str, str]:
        """Why no document is open, and what can be done."""
        if self.stuck:
            return messages.STUCK, messages.STUCK_MORE
        nothing = messages.nothing_now(self.waiting, self.progress, self.beyond)
        return nothing, messages.what_now(nothing, messages.ALL_DONE_MORE, " · ")

    # Inner workings

    def _turn_to(self, fetch: Callable[[], Item]) -> Notice:
        self.doing = "opening"
        try:
            item = fetch()
        except FAILURES as error:
            return self._say(messages.TROUBLE, error=error)
        self.end_search()
        if self.open is None or self.open.pair != item.pair:
            self._put_aside()
        self._open(item)
        if item.before is None:
            return self._count(messages.OPENED)
        return self._count(messages.REOPENED.filled(answer=messages.answered(item.before, self.scale)))

    def _prepare(self, grade: int | None, reason: str) -> None:
        """Save a note that is no part of the answer, unless it is that of an earlier one, which this one leaves."""
        self.end_search()
        if grade is None:
            self._save_note(replaced=bool(reason))

    def _run_out(self) -> None:
        self.stuck, self.waiting, self.beyond = False, self.judging.topics(), self.judging.beyond()

    def _count(self, notice: Notice) -> Notice:
        """Say how far they are now: what was put aside meanwhile must not count as it did then."""
        try:
            self.progress = self.judging.progress()
            self.open = self.judging.recounted(self.open) if self.open is not None else None
        except FAILURES as error:
            return self._fail(notice, error)
        return self._say(notice)

    def _save_note(self, *, replaced: bool = False) -> None:
        """Save the note on its own, unless an answer has it that stands: not taken back, nor `replaced` now."""
        if self.open is None or self.note in ("", self.open.note):
            return
        stands = self.open.before is not None and not replaced and self.open.pair not in self._taken_back
        if not stands or self.open.before is None or self.note != self.open.before.note:
            self.judging.note(self.open, self.note)
            self.note = ""

    def _list(self, fetch: Callable[[], list[Listed]]) -> list[Listed]:
        self.doing = "looking"
        try:
            return fetch()
        except FAILURES as error:
            self._say(messages.TROUBLE, error=error)
            return []
