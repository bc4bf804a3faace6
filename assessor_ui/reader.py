"""What anybody can do with an open document: type a grade, note, find, highlight, mark, fold the topic."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from assessor_ui import messages
from assessor_ui.grade_keys import GradeKeys
from assessor_ui.highlight import Stems, terms_of
from assessor_ui.messages import Notice
from assessor_ui.page import Span, page_of
from assessor_ui.passages import Move
from assessor_ui.reading import Reading
from cranfield.records import Document, GradeScale, Topic
from cranfield.workflows.desk import Evidence

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
