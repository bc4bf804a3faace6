"""Every sentence the interface says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cranfield.base.errors import CranfieldError
from cranfield.base.records import GradeScale
from cranfield.base.text import counted, in_words, shortened, visible_line
from cranfield.judge.session import Answer, Saved, SearchHit, SessionProgress, TopicState

Kind = Literal["saved", "undone", "trouble", "hint", "aside"]
Status = tuple[str, tuple[int, int] | None, SessionProgress | None]
"""What is left, the share of it that is done, and the pace of an assessor."""


@dataclass(frozen=True)
class Notice:
    """A sentence for the assessor with {fields} to fill in. Only `saved` and `undone` tell of what is in the file.

    An `aside` is a hint that nobody asked for: it never takes the place of what was saved. `words` is the sentence of
    plain lines; `text` speaks of keys that only a screen has.
    """

    kind: Kind
    text: str
    words: str

    def filled(self, **fields: object) -> Notice:
        """The sentence with its fields; foreign text in them is made harmless here, errors become sentences."""
        values: dict[str, object] = {}
        for name, value in fields.items():
            if isinstance(value, Exception):
                said = str(value) if isinstance(value, CranfieldError) else f"{type(value).__name__}: {value}"
                value = shortened(said, 300)
            values[name] = visible_line(value) if isinstance(value, str) else value
        return Notice(self.kind, self.text.format_map(values), self.words.format_map(values))


def _notice(kind: Kind, template: str) -> Notice:
    """Make a notice of a sentence in which [keys|words] is what a screen says and what plain lines say."""
    return Notice(kind, *(re.sub(r"\[([^|\]]*)\|([^|\]]*)\]", side, template) for side in (r"\1", r"\2")))


_hint, _aside, _trouble = partial(_notice, "hint"), partial(_notice, "aside"), partial(_notice, "trouble")

# What is in the file, and what is not
SAVED = _notice("saved", "saved: {answer} for {document}{note}{late}")
DECIDED = _notice("saved", "saved: decision {grade} for {document}")
ALREADY = _trouble("NOT saved: another adjudicator has decided on {document} meanwhile: {grade}")
UNDONE = _notice("undone", "undone{answer}: {document} is open again")
NOT_SAVED = _trouble("NOT saved: {error}")
SAVED_BUT = _trouble("{before}; but then: {error}")
TROUBLE = _trouble("{error}")
GONE = _trouble("{error}; judging has ended: {kept}")
CHANGED = _trouble("{what} changed; this session still uses the old version: [press q|quit] and start again")

# The way of the documents
QUIET = _hint("")
NOTHING_HERE = _hint("no document is open")
TOPIC_FIRST = _aside("a new topic: Enter goes on to its first document; nothing was saved")
NOTHING_TO_UNDO = _hint("nothing left to undo in this session")
NOT_ON_SCALE = _hint("{grade} is not on the scale ({known}); nothing was saved")
GRADE_OPEN = _hint("{digits}… {enter}another digit, or Esc")
REASON_NEEDED = _hint("a reason is required; nothing was saved")
NOTED = _hint("note: {note}; saved with your answer")
NOTE_GONE = _hint("note deleted")
PUT_OFF = _hint("{document} postponed: it comes again after the others")
OPENED = _hint("found by search; [Esc|back] returns without an answer")
REOPENED = _hint("your answer was {answer}; a new grade replaces it, [Esc|back] returns")
NOWHERE_TO_GO_BACK = _hint("no document to return to")
BACK = _hint("back to the previous document")
TOPIC_CHOSEN = _hint("topic: {title}")
SEARCHED = _hint("{documents}; Enter opens one")
SEARCHED_IN_VAIN = _hint("no document contains any of: {words}")
WORDS_NEEDED = _hint("no words to search for")

# Reading and marking
HIT = _hint("hit {number} of {of}")
NO_HITS = _hint("no topic word occurs in this document")
FOUND = _hint("{places} of {words}; [n and N|next and previous] move between them")
NOT_FOUND = _hint("not in this document: {words}")
REFLOWED = _hint("hard-wrapped lines joined to paragraphs (w: as they are)")
NOT_WRAPPED = _hint("no hard-wrapped lines here; in other documents they are joined (w: as they are)")
AS_IT_IS = _hint("lines as they are in the document")
NO_TEXT_TO_MARK = _hint("no text to mark")
MARKING = _hint("marking: ↓ ↑ move · ⇧↓ ⇧↑ more, less · Enter keeps · Esc")
MARKED = _hint("evidence: “{text}”; saved with your grade")
MARK_LEFT = _hint("nothing marked")
UNMARKED = _hint("{marks} removed")

# Haste and waiting
HELD_KEY = _aside("key held down: ignored")
TOO_QUICK = _aside("too fast to have been read: ignored")
STILL_BUSY = _aside("still busy; key ignored")
WAITING = {
    "saving": _hint("not saved yet: waiting for another process to finish writing …"),
    "opening": _aside("opening the document …"),
    "looking": _aside("reading the collection …"),
}

# In the place of a document
MISSING = "the document cannot be shown now: {}. Enter tries again, l (later) postpones it"
NONE_ASSIGNED = "No document is assigned to you; the organiser assigns topics with cranfield judge assign."
OWN_DONE = "Nothing is left for you. Thank you!"
ALL_DONE = "Nothing is left to judge. Thank you!"
ALL_DONE_MORE = "Enter checks again · u undo · h history · s search · t topics · q quit"
ALL_DONE_WORDS = "Enter checks again; undo, history, search WORDS, topics, quit"
LOOK_AGAIN = "Nothing for you right now, but not everything is judged yet"
STUCK = "The next document could not be opened."
STUCK_MORE = "Enter tries again · u undo · q quit; everything saved is safe"
NEW_TOPIC = "Change of topic"
NO_GUIDELINES = "This collection has no guidelines."
ALL_DECIDED = "No disagreement is left to adjudicate. Thank you!"
ALL_DECIDED_MORE = "u undo · q quit"
GOODBYE = _hint("Every answer shown as saved is in the collection.")


def saved(what: Saved, scale: GradeScale) -> Notice:
    """What is safely in the file. Of late answers, only a grade is an opinion; a case put off is not in the file."""
    document = what.item.document.id
    if not what.answer.event:
        return PUT_OFF.filled(document=document)
    if what.answer.kind == "adjudicated":
        return (ALREADY if what.late else DECIDED).filled(grade=answered(what.answer, scale), document=document)
    judged = what.answer.kind == "judged"
    late = "your lease had expired and another assessor judged it" if what.late else ""
    return SAVED.filled(
        answer=answered(what.answer, scale),
        note=", with your note" if judged and what.answer.note else "",
        document=document,
        late=f", as a second opinion: {late}" if late and judged else f"; {late}" if late else "",
    )


def answered(answer: Answer, scale: GradeScale) -> str:
    """An answer in words: "2 relevant", "postponed", "cannot judge"."""
    if answer.kind == "postponed":
        return "postponed"
    if answer.kind == "cannot-judge" or answer.grade is None:
        return "cannot judge"
    return graded(answer.grade, scale, given_on=answer.scale)


def graded(grade: int, scale: GradeScale, *, given_on: GradeScale | None = None) -> str:
    """A grade with its label on the scale it was given on; one that is not on the scale goes without."""
    labels = {step.grade: step.label for step in (given_on or scale).grades}
    older = " (older scale)" if given_on is not None else ""
    return (f"{grade} {visible_line(labels[grade])}" if grade in labels else str(grade)) + older


def opinion(number: int, said: Answer, scale: GradeScale) -> str:
    """The grade of an opinion, after a letter that stands for nobody."""
    return f"{chr(ord('A') + number)}: {answered(said, scale)}"


def topic_progress(state: TopicState) -> str:
    """The progress of a topic, and why what is left cannot be had now: "8/9, 1 with another assessor"."""
    later = f", {state.postponed} postponed" if state.postponed else ""
    held = state.held
    others = held.documents - held.own if held else 0
    mine = f", {held.own} in another session of yours" if held and held.own else ""
    theirs = f", {others} with another assessor" if others else ""
    return f"{state.done}/{state.of}{later}{mine}{theirs}"


def nothing_now(states: Sequence[TopicState], done: SessionProgress | None, beyond: Sequence[str]) -> str:
    """Why there is no document: everything is judged, the rest is leased to others, or none was theirs."""
    waiting = [(state.topic.id, state.held) for state in states if state.held is not None]
    if not waiting:
        if done is not None and done.left > 0:
            return LOOK_AGAIN
        decided = f" Decided: {done.decided}." if done is not None and done.decided else ""
        why = NONE_ASSIGNED if done is not None and not done.of else OWN_DONE if beyond else ALL_DONE
        return "\n".join([why + decided, *map(visible_line, beyond)])
    documents, own = sum(held.documents for _, held in waiting), sum(held.own for _, held in waiting)
    who = "another session of yours" if own == documents else "another assessor" if not own else "others"
    which = ", ".join(visible_line(topic) for topic, _ in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
    soon = in_words(min(held.seconds for _, held in waiting))
    what = f"{counted(documents, 'document')} of {which} {'is' if documents == 1 else 'are'} leased to {who}"
    return f"Nothing for you now: {what}; try again in up to {soon}"


def found_state(hit: SearchHit) -> str:
    """Say what is known of a found document: "judged 2", "pooled", "new"."""
    return f"{hit.state} {hit.grade}" if hit.state == "judged" and hit.grade is not None else hit.state


def pace(done: SessionProgress) -> str:
    """How fast it goes and how long it will take, as people say it: "12 s each, about 3 h 20 min left"."""
    if done.seconds is None or done.seconds < 1 or done.left <= 0:
        return ""
    seconds = done.seconds * done.left
    hours, minutes = divmod(round(seconds / 60), 60)
    left = " ".join(f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min")) if number)
    return f"{done.seconds:.0f} s each, about {left if seconds >= 60 else f'{max(seconds, 1):.0f} s'} left"
