"""What an assessor's interface needs of a collection: the records it is given, and what it may ask for.

Every front end (the terminal interface, plain lines, a packet, a test) talks to a `JudgingSession`; that over a
collection file is in `workflows/judge/session.py`. Nothing here tells which run, rank or score brought a document,
nor what others said of it: assessors stay blind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from cranfield.base.records import Document, GradeScale, Pair, Topic
from cranfield.judge.events import Evidence
from cranfield.judge.queue import Count

HISTORY_LIMIT = 200
"""The most answers that a list of the history has."""


@dataclass(frozen=True)
class Item:
    """A document to be judged for a topic. `position` of `of` is the place in the topic's queue, from 1.

    `left` is how many documents of the topic are left for the assessor. `before` is their own earlier answer where
    they come back to the document (undo, history), else None; `note` what they wrote of it since. `remark` is what
    they should know of the text: that it has changed, or why it is `missing`; then the document can be postponed,
    but not judged. An adjudicator gets a disagreement with the `opinions` on it, from the lowest grade up and without
    whose and when they are; its place is that among the open ones.
    """

    topic: Topic
    document: Document
    position: int
    of: int
    left: int
    before: Answer | None = None
    remark: str = ""
    missing: bool = False
    opinions: tuple[Answer, ...] = ()
    note: str = ""

    @property
    def pair(self) -> Pair:
        """The ids of topic and document."""
        return self.topic.id, self.document.id


@dataclass(frozen=True)
class Answer:
    """What somebody said of a document. `kind` is judged, adjudicated, postponed or cannot-judge; `event` its UUID.

    `scale` is the one the grade was given on, where that is not the present one. A disagreement that was put off has
    no event: nothing of that is in the file.
    """

    kind: str
    grade: int | None
    note: str = ""
    evidence: tuple[Evidence, ...] = ()
    event: str = ""
    happened: str = ""
    scale: GradeScale | None = None


@dataclass(frozen=True)
class Saved:
    """An answer that is in the file. `late`: the lease had expired and another assessor judged the document.

    Of an adjudicator a late answer is not in the file: another has decided, and `answer` is what they decided.
    """

    item: Item
    answer: Answer
    late: bool = False


@dataclass(frozen=True)
class Held:
    """Documents that cannot be given to the assessor because they are leased.

    `own` of them are leased to another session of the same assessor: a parallel one, or one that was cut off. The
    first lease expires in `seconds`, unless it is renewed or the document answered.
    """

    documents: int
    seconds: float
    own: int = 0


@dataclass(frozen=True)
class TopicState:
    """How far a topic is: how many documents it has for this assessor, and how many of them are done, by anybody.

    `held` are those that are not done and cannot be given now; None where there are none.
    """

    topic: Topic
    done: int
    of: int
    postponed: int
    held: Held | None = None


@dataclass(frozen=True)
class HistoryEntry:
    """One line of the assessor's own history."""

    topic: str
    document: str
    title: str
    answer: Answer


@dataclass(frozen=True)
class SearchHit:
    """A document found by searching. `state`: judged (by this assessor, with `grade`), pooled, or new.

    A grade that was given on another scale than the present one is left away: given again, it is another answer.
    """

    document: str
    title: str
    snippet: str  # hits stand between base.text.HIT_START and HIT_END
    state: Literal["judged", "pooled", "new"]
    grade: int | None = None


@dataclass(frozen=True)
class SessionProgress:
    """How far the assessor is in all, and how fast. `seconds` is the median attention per document; None at first.

    `done` of `of` documents need them no more, whoever has answered; `today` are their own answers. `decided` says by
    what a live queue has ended. `topics` are the counts of each topic.
    """

    done: int
    of: int
    today: int
    seconds: float | None
    decided: str = ""
    topics: Mapping[str, Count] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """How many documents are left for the assessor."""
        return self.of - self.done


class AdjudicationSession(Protocol):
    """The session of somebody who grades documents. Every method that answers has committed when it returns.

    An adjudicator is given the disagreements that nobody has decided.
    """

    scale: GradeScale
    guidelines: str

    def next_item(self) -> Item | None:
        """The next document, until it is answered always the same; None: nothing is left."""

    def judge(
        self,
        item: Item,
        grade: int | None,
        *,
        seconds: float,
        note: str = "",
        evidence: Sequence[Evidence] = (),
        reason: str = "",
    ) -> Saved:
        """Record a grade, or, where it is None, for which `reason` the document cannot be judged by an assessor.

        With neither the document is put off: the others come first.
        """

    def undo(self) -> Item | None:
        """Take the latest answer of this session back and give its document again; None where nothing is left."""

    def rescue(self) -> str:
        """Write the answers of this session into a file of its own, when the collection is gone; say where."""


@runtime_checkable
class JudgingSession(AdjudicationSession, Protocol):
    """One assessor's session over one collection: each document is leased, topic by topic.

    Where no document is given, all is done, or what is left is held by others (see `topics`).
    """

    assessor: str

    def note(self, item: Item, text: str) -> None:
        """Record a remark without judging."""

    def topics(self) -> list[TopicState]:
        """The topics this assessor may judge, with how far they are."""

    def choose_topic(self, topic: str) -> None:
        """Go on with this topic."""

    def history(self, words: str = "") -> list[HistoryEntry]:
        """This assessor's answers, latest first, those that contain the words."""

    def reopen(self, topic: str, document: str, words: str = "") -> Item:
        """Open a document again that was answered before; or one that was found by searching for these words.

        That one is put into the pool, as found by search, and leased.
        """

    def search(self, topic: str, words: str) -> list[SearchHit]:
        """Search the whole collection for a topic."""

    def progress(self) -> SessionProgress:
        """How far this assessor is."""

    def beyond(self) -> Sequence[str]:
        """What is left to judge beside this session, by whom, and how this assessor could get some of it."""

    def keep(self, item: Item | None) -> str:
        """Renew the lease of the document that is being read, if one is.

        Says what was changed since the session began: the scale, the guidelines, both, or nothing (empty).
        """

    def leave(self) -> None:
        """Give back all leases: the session is over."""
