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
from cranfield.judge.session import Answer, Item, Saved, SearchHit, SessionProgress, TopicState

Kind = Literal["saved", "undone", "trouble", "hint", "aside", "break"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the assessor with {fields} to fill in. Only `saved` and `undone` tell of what is in the file.

    An `aside` is a hint that nobody asked for: it never takes the place of what was saved. `words` is the same for
    plain lines, where `text` speaks of keys that only a screen has.
    """

    kind: Kind
    text: str
    words: str = ""

    def filled(self, **fields: object) -> Notice:
        """The sentence with its fields; foreign text in them is made harmless here, errors become sentences."""
        values: dict[str, object] = {}
        for name, value in fields.items():
            if isinstance(value, Exception):
                said = str(value) if isinstance(value, CranfieldError) else f"{type(value).__name__}: {value}"
                value = shortened(said, 300)
            values[name] = visible_line(value) if isinstance(value, str) else value
        return Notice(self.kind, self.text.format_map(values), self.words.format_map(values))

    @property
    def in_words(self) -> str:
        """The sentence as plain lines say it."""
        return self.words or self.text


def _notice(kind: Kind, template: str) -> Notice:
    """Make a notice of a sentence in which [keys|words] is what a screen says and what plain lines say."""
    text, words = (re.sub(r"\[([^|\]]*)\|([^|\]]*)\]", side, template) for side in (r"\1", r"\2"))
    return Notice(kind, text, words if words != text else "")


_hint, _aside, _trouble = partial(_notice, "hint"), partial(_notice, "aside"), partial(_notice, "trouble")

# What is in the file, and what is not
SAVED = Notice("saved", "saved: {answer}{note} for {document}{late}")
DECIDED = Notice("saved", "saved: decided {grade} for {document}")
UNDONE = Notice("undone", "taken back{answer}: {document} is open again")
NOT_SAVED = _trouble("NOT saved: {error}")
SAVED_BUT = _trouble("{before}; but then: {error}")
TROUBLE = _trouble("{error}")
CHANGED = _trouble("{what} changed meanwhile; here you still judge by the old: [end with q|quit] and begin again")

# The way of the documents
QUIET = _hint("")
NEW_NAME = _hint("{name} is new here; if you are {known}: [q|quit], then judge -a {known}")
REJUDGE = _hint(
    "{answers} of yours from before the scale or guidelines changed: cranfield judge --rejudge brings them again"
)
NOTHING_HERE = _hint("there is no document to judge here")
NOTHING_TO_UNDO = _hint("nothing left to take back: this is where the sitting began")
NOT_ON_SCALE = _hint("{grade} is not on the scale ({known}); nothing was saved")
GRADE_OPEN = _hint("{digits}… {enter}another digit, or Esc")
REASON_NEEDED = _hint("please give a reason; nothing was saved")
NOTED = _hint("note: {note}, goes with your answer")
NOTE_GONE = _hint("the note is empty now")
PUT_OFF = _hint("{document} comes again after the others")
OPENED = _hint("found by search; without an answer, [Esc|back] leads back")
REOPENED = _hint("you said {answer}; a new grade replaces it, [Esc|back] goes back")
NOWHERE_TO_GO_BACK = _hint("this is the document in turn")
BACK = _hint("back where you were")
TOPIC_CHOSEN = _hint("topic: {title}")
GIVEN_ALREADY = _hint("{document} has {grade} from you already; nothing was changed")
SEARCHED = _hint("{documents}; Enter reads one, a digit judges it at once")
SEARCHED_IN_VAIN = _hint("no document has any of these words: {words}")
WORDS_NEEDED = _hint("there was no word to look for")

# Reading and marking
HIT = _hint("hit {number} of {of}")
NO_HITS = _hint("none of the topic's words stands in this document")
FOUND = _hint("{places} with: {words}; [n and N|next and previous] go through them")
NOT_FOUND = _hint("not in this document: {words}")
BEST_PASSAGE = _hint("the passage with most of the topic's words; [Home goes to the top|read shows it all]")
BEST_FIRST = _hint("every document opens at its best passage now ([B|best-first]: at the top again)")
TOP_FIRST = _hint("every document opens at the top now")
HIGHLIGHTED = _hint("highlighting {words}: {hits} here; for this topic")
HIGHLIGHTED_NO_MORE = _hint("no longer highlighting {words}")
NARRATIVE_FOLDED = _aside("narrative folded, f shows it")
NO_TEXT_TO_MARK = _hint("there is no text to mark")
MARKING = _hint("marking: ↓ ↑ move · ⇧↓ ⇧↑ more, less · → ← words · Enter keeps · Esc")
MARKED = _hint("evidence: “{text}”, goes with your grade")
MARK_LEFT = _hint("nothing was marked")
UNMARKED = _hint("{marks} taken away")

# Haste, waiting and breaks
HELD_KEY = _aside("key held down: ignored")
TOO_QUICK = _aside("too quick to be read: ignored")
STILL_SAVING = _aside("still saving the answer before; this key did nothing")
STILL_OPENING = _aside("the next document is still coming; this key did nothing")
WAITING = {
    "saving": _hint("not saved yet: the collection is busy, somebody else may be writing …"),
    "opening": _aside("opening the document …"),
    "looking": _aside("looking in the collection …"),
}
BREAK = _notice("break", "{minutes:.0f} minutes without a break: a short walk helps ([R|reminder]: no reminders)")
REMINDER_ON = _hint("you will be reminded of breaks")
REMINDER_OFF = _hint("no reminders of breaks any more ([R|reminder]: on again)")

# In the place of a document
ENTER = "Enter looks again"
ALL_DONE = "Nothing is left to judge. Thank you!"
ALL_DONE_MORE = "u takes the last one back · h history · s search · t topics · q ends"
ALL_DONE_WORDS = "undo takes the last answer back; history, search WORDS, topics; quit ends"
LOOK_AGAIN = f"Nothing for you at this moment, but not everything is judged ({ENTER})"
STUCK = "The next document could not be opened."
STUCK_MORE = "Enter tries again · u takes the last answer back · q ends; all that was saved is safe"
NO_GUIDELINES = "This collection has no guidelines."
ALL_DECIDED = "No disagreement is left to decide. Thank you!"
ALL_DECIDED_MORE = "u takes the last decision back · q ends"
GOODBYE = _hint("Every answer that was shown as saved is in the collection.")


def saved(what: Saved, scale: GradeScale) -> Notice:
    """Say what is safely in the file. Of late answers, only a grade is an opinion."""
    judged = what.answer.kind == "judged"
    late = ": your time with it was over and somebody else judged it meanwhile" if what.late else ""
    return SAVED.filled(
        answer=answered(what.answer, scale),
        note=", with your note" if judged and what.answer.note else "",
        document=what.item.document.id,
        late=", as a second opinion" + late if late and judged else late,
    )


def answered(answer: Answer, scale: GradeScale) -> str:
    """An answer in words: "2 relevant", "later", "cannot judge"."""
    if answer.kind == "postponed":
        return "later"
    if answer.kind == "cannot-judge" or answer.grade is None:
        return "cannot judge"
    return graded(answer.grade, scale, given_on=answer.scale)


def graded(grade: int, scale: GradeScale, *, given_on: GradeScale | None = None) -> str:
    """A grade with its label on the scale it was given on; one that is not on the scale goes without."""
    labels = {step.grade: step.label for step in (given_on or scale).grades}
    older = " (older scale)" if given_on is not None else ""
    return (f"{grade} {visible_line(labels[grade])}" if grade in labels else str(grade)) + older


def opinion(number: int, grade: int, scale: GradeScale, *, given_on: GradeScale | None = None) -> str:
    """An opinion by a letter that stands for nobody."""
    return f"{chr(ord('A') + number)}: {graded(grade, scale, given_on=given_on)}"


def topic_progress(state: TopicState) -> str:
    """The progress of a topic, and why what is left cannot be had now: "8/9, 1 with another assessor"."""
    later = f", {state.postponed} later" if state.postponed else ""
    held, own = (state.held.documents, state.held.own) if state.held else (0, 0)
    mine = f", {own} in another sitting of yours" if own else ""
    others = f", {held - own} with another assessor" if held > own else ""
    return f"{state.done}/{state.of}{later}{mine}{others}"


def nothing_now(states: Sequence[TopicState], done: SessionProgress | None) -> str:
    """Say why there is no document: all is judged, or what is left is before somebody else."""
    waiting = [(state.topic.id, state.held) for state in states if state.held is not None]
    if not waiting:
        return LOOK_AGAIN if done is not None and done.left > 0 else ALL_DONE
    documents, own = sum(held.documents for _, held in waiting), sum(held.own for _, held in waiting)
    who = "another sitting of yours" if own == documents else "another assessor" if not own else "others"
    which = ", ".join(visible_line(topic) for topic, _ in waiting[:3]) + (" and more" if len(waiting) > 3 else "")
    soon = in_words(min(held.seconds for _, held in waiting))
    what = f"{counted(documents, 'document')} of {which} {'is' if documents == 1 else 'are'} held by {who}"
    return f"Nothing for you now: {what}; try again in up to {soon} ({ENTER})"


def what_now(nothing: str, more: str, between: str) -> str:
    """Say what can be done where there is no document; that Enter looks again is not said twice."""
    return more if ENTER in nothing else f"{ENTER}{between}{more}"


def left(item: Item | None, done: SessionProgress | None) -> str:
    """Say what is left for the assessor: "2 left in this topic, 48 in all"."""
    if item is None:
        return f"{done.left:,} left in all" if done is not None and done.left else ""
    everywhere = f", {done.left:,} in all" if done is not None else ""
    return f"{item.to_do:,} left in this topic{everywhere}"


def found_state(hit: SearchHit) -> str:
    """Say what is known of a found document: "judged 2", "pooled", "new"."""
    return f"{hit.state} {hit.grade}" if hit.state == "judged" and hit.grade is not None else hit.state


def pace(done: SessionProgress) -> str:
    """How fast it goes and how long it will take, as people say it: "12 s each, about 3 h 20 min left"."""
    if done.seconds is None or done.seconds < 1 or done.left <= 0:
        return ""
    seconds = done.seconds * done.left
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    whole = f"{hours} h {rest} min" if rest else f"{hours} h"
    duration = f"{max(seconds, 1):.0f} s" if seconds < 60 else whole if hours else f"{minutes} min"
    return f"{done.seconds:.0f} s each, about {duration} left"
