"""Every sentence the chair says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cranfield.base.errors import CranfieldError
from cranfield.base.progress import in_words
from cranfield.base.records import GradeScale
from cranfield.base.text import counted, shortened, visible_line
from cranfield.judge.session import Answer, Done, Found, Item, Saved, TopicState

Kind = Literal["saved", "undone", "trouble", "hint", "aside", "break"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the assessor. Only `saved` and `undone` tell of something that is in the file.

    An `aside` is a hint that nobody asked for: it never takes the place of what was saved. `words` is the same for
    plain lines, where `text` speaks of keys that only a screen has.
    """

    kind: Kind
    text: str
    words: str = ""

    @property
    def in_words(self) -> str:
        """The sentence as plain lines say it."""
        return self.words or self.text


NOT_SAVED = "NOT saved"
QUIET = Notice("hint", "")
NOTHING_HERE = Notice("hint", "there is no document to judge here")
NOTHING_TO_UNDO = Notice("hint", "nothing left to take back: this is where the sitting began")
NO_HITS = Notice("hint", "none of the topic's words stands in this document")
NO_TEXT_TO_MARK = Notice("hint", "there is no text to mark")
MARKING = Notice("hint", "marking: ↓ ↑ move · ⇧↓ ⇧↑ more, less · → ← words · Enter keeps · Esc")
MARK_LEFT = Notice("hint", "nothing was marked")
NOWHERE_TO_GO_BACK = Notice("hint", "this is the document in turn")
BACK = Notice("hint", "back where you were")
NOTE_GONE = Notice("hint", "the note is empty now")
HELD_KEY = Notice("aside", "key held down: ignored")
TOO_QUICK = Notice("aside", "too quick to be read: ignored")
STILL_SAVING = Notice("aside", "still saving the answer before; this key did nothing")
STILL_OPENING = Notice("aside", "the next document is still coming; this key did nothing")
SAVING = Notice("hint", "not saved yet: the collection is busy, somebody else may be writing …")
OPENING = Notice("aside", "opening the document …")
LOOKING = Notice("aside", "looking in the collection …")
BEST_FIRST = Notice(
    "hint",
    "every document opens at its best passage now (B: at the top again)",
    "every document opens at its best passage now (best-first: at the top again)",
)
TOP_FIRST = Notice("hint", "every document opens at the top now")
REMINDER_ON = Notice("hint", "you will be reminded of breaks")
REMINDER_OFF = Notice(
    "hint", "no reminders of breaks any more (R: on again)", "no reminders of breaks any more (reminder: on again)"
)
REASON_NEEDED = Notice("hint", "please give a reason; nothing was saved")
WORDS_NEEDED = Notice("hint", "there was no word to look for")
ALL_DONE = "Nothing is left to judge. Thank you!"
ALL_DONE_MORE = "u takes the last one back · h history · s search · t topics · q ends"
ALL_DONE_WORDS = "undo takes the last answer back; history, search WORDS, topics; quit ends"
ENTER = "Enter looks again"
LOOK_AGAIN = f"Nothing for you at this moment, but not everything is judged ({ENTER})"
NARRATIVE_FOLDED = Notice("aside", "narrative folded, f shows it")
STUCK = "The next document could not be opened."
STUCK_MORE = "Enter tries again · u takes the last answer back · q ends; all that was saved is safe"
NO_GUIDELINES = "This collection has no guidelines."
ALL_DECIDED = "No disagreement is left to decide. Thank you!"
ALL_DECIDED_MORE = "u takes the last decision back · q ends"
GOODBYE = "Every answer that was shown as saved is in the collection."


def waiting_for(doing: str) -> Notice:
    """Say what takes so long."""
    return {"saving": SAVING, "opening": OPENING}.get(doing, LOOKING)


def like_named(name: str, others: Sequence[str]) -> Notice:
    """Say that somebody new here is called nearly like somebody known; nothing where there is nobody like that."""
    if not others:
        return QUIET
    known = visible_line(others[0])
    told = f"{visible_line(name)} is new here; if you are {known}:"
    return Notice("hint", f"{told} q, then judge -a {known}", f"{told} quit, then judge -a {known}")


def saved(what: Saved, scale: GradeScale) -> Notice:
    """Say what is safely in the file."""
    document = visible_line(what.item.document.id)
    note = ", with your note" if what.answer.kind == "judged" and what.answer.note else ""
    text = f"saved: {answered(what.answer, scale)}{note} for {document}"
    return Notice("saved", f"{text}{_late(what.answer)}" if what.late else text)


def _late(answer: Answer) -> str:
    """Say what a late answer is; only a grade is an opinion."""
    opinion = ", as a second opinion" if answer.kind == "judged" else ""
    return f"{opinion}: your time with it was over and somebody else judged it meanwhile"


def answered(answer: Answer, scale: GradeScale) -> str:
    """Give an answer in words: "2 relevant", "later", "cannot judge"."""
    if answer.kind == "postponed":
        return "later"
    if answer.kind == "cannot-judge" or answer.grade is None:
        return "cannot judge"
    return graded(answer.grade, scale, given_on=answer.scale)


def graded(grade: int, scale: GradeScale, *, given_on: GradeScale | None = None) -> str:
    """Give a grade with its label on the scale it was given on; one that is not on the scale goes without."""
    labels = {step.grade: step.label for step in (given_on or scale).grades}
    older = " (older scale)" if given_on is not None else ""
    return (f"{grade} {visible_line(labels[grade])}" if grade in labels else str(grade)) + older


def judged_before(count: int) -> Notice:
    """Say that some of the assessor's answers wait to be given again; nothing where there are none."""
    if not count:
        return QUIET
    again = "cranfield judge --rejudge brings them again"
    return Notice("hint", f"{counted(count, 'answer')} of yours from before the scale or guidelines changed: {again}")


def changed_meanwhile(what: str) -> Notice:
    """Say that the scale or the guidelines were changed while the assessor sits here."""
    told = f"{what} changed meanwhile; here you still judge by the old:"
    return Notice("trouble", f"{told} end with q and begin again", f"{told} quit and begin again")


def decided(document: str, grade: int, scale: GradeScale) -> Notice:
    """Say which decision is safely in the file."""
    return Notice("saved", f"saved: decided {graded(grade, scale)} for {visible_line(document)}")


def put_off(document: str) -> Notice:
    """Say that a case was put off."""
    return Notice("hint", f"{visible_line(document)} comes again after the others")


def reopened(document: str, grade: int | None, scale: GradeScale) -> Notice:
    """Say that a decision was taken back."""
    what = f" ({graded(grade, scale)})" if grade is not None else ""
    return Notice("undone", f"taken back{what}: {visible_line(document)} is open again")


def opinion(number: int, grade: int, scale: GradeScale, *, given_on: GradeScale | None = None) -> str:
    """Give an opinion by a letter that stands for nobody."""
    return f"{chr(ord('A') + number)}: {graded(grade, scale, given_on=given_on)}"


def saved_but(notice: Notice, error: Exception) -> Notice:
    """Say that the answer is safe, but not what comes next."""
    return Notice("trouble", f"{notice.text}; but then: {_sentence(error)}")


def not_saved(error: Exception) -> Notice:
    """Say that an answer is not in the file, and why."""
    return Notice("trouble", f"{NOT_SAVED}: {_sentence(error)}")


def trouble(error: Exception) -> Notice:
    """Say what went wrong."""
    return Notice("trouble", _sentence(error))


def _sentence(error: Exception) -> str:
    text = str(error) if isinstance(error, CranfieldError) else f"{type(error).__name__}: {error}"
    return visible_line(shortened(text, 300))


def undone(document: str, answer: Answer | None, scale: GradeScale) -> Notice:
    """Say what was taken back."""
    what = f" ({answered(answer, scale)})" if answer else ""
    return Notice("undone", f"taken back{what}: {visible_line(document)} is open again")


def not_on_scale(digits: str, scale: GradeScale) -> Notice:
    """Say that no grade is called so."""
    known = ", ".join(str(step.grade) for step in scale.grades)
    return Notice("hint", f"{digits} is not on the scale ({known}); nothing was saved")


def grade_open(digits: str, grade: int | None) -> Notice:
    """Say that more digits may come."""
    enter = f"Enter for {grade}, " if grade is not None else ""
    return Notice("hint", f"{digits}… {enter}another digit, or Esc")


def opened(before: Answer | None, scale: GradeScale) -> Notice:
    """Say what was answered before where a document is open again."""
    if before is None:
        found = "found by search; without an answer,"
        return Notice("hint", f"{found} Esc leads back", f"{found} back leads back")
    said = f"you said {answered(before, scale)}; a new grade replaces it,"
    return Notice("hint", f"{said} Esc goes back", f"{said} back goes back")


def station(number: int, of: int) -> Notice:
    """Say which hit is looked at."""
    return Notice("hint", f"hit {number} of {of}")


def found(words: str, times: int) -> Notice:
    """Say how often words stand in the document."""
    if not times:
        return Notice("hint", f"not in this document: {visible_line(words)}")
    told = f"{counted(times, 'place')} with: {visible_line(words)};"
    return Notice("hint", f"{told} n and N go through them", f"{told} next and previous go through them")


def highlighted(word: str, times: int) -> Notice:
    """Say that a term of the assessor's own is shown."""
    return Notice("hint", f"highlighting {visible_line(word)}: {counted(times, 'hit')} here; for this topic")


def plain_again(word: str) -> Notice:
    """Say that a term is no longer shown."""
    return Notice("hint", f"no longer highlighting {visible_line(word)}")


def noted(text: str) -> Notice:
    """Say what happens with the note."""
    return Notice("hint", f"note: {visible_line(shortened(text, 40))}, goes with your answer")


def marked(text: str) -> Notice:
    """Say what was marked as evidence."""
    return Notice("hint", f"evidence: “{visible_line(shortened(text, 40))}”, goes with your grade")


def unmarked(number: int) -> Notice:
    """Say how many marks are gone."""
    return Notice("hint", f"{counted(number, 'mark')} taken away") if number else MARK_LEFT


def best_passage(*, there: bool) -> Notice:
    """Say that this is the densest passage."""
    told = "the passage with most of the topic's words;"
    return Notice("hint", f"{told} Home goes to the top", f"{told} read shows it all") if there else NO_HITS


def time_for_a_break(minutes: float) -> Notice:
    """Remind of a break."""
    told = f"{minutes:.0f} minutes without a break: a short walk helps"
    return Notice("break", f"{told} (R: no reminders)", f"{told} (reminder: no reminders)")


def topic_chosen(title: str) -> Notice:
    """Say which topic comes now."""
    return Notice("hint", f"topic: {visible_line(shortened(title, 60))}")


def topic_line(state: TopicState) -> str:
    """Give the progress of a topic, and why what is left cannot be had now: "8/9, 1 with another assessor"."""
    later = f", {state.postponed} later" if state.postponed else ""
    held, own = (state.held.documents, state.held.own) if state.held else (0, 0)
    mine = f", {own} in another sitting of yours" if own else ""
    others = f", {held - own} with another assessor" if held > own else ""
    return f"{state.done}/{state.of}{later}{mine}{others}"


def nothing_now(states: Sequence[TopicState], done: Done | None) -> str:
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


def left(item: Item | None, done: Done | None) -> str:
    """Say what is left for the assessor: "2 left in this topic, 48 in all"."""
    if item is None:
        return f"{done.left:,} left in all" if done is not None and done.left else ""
    everywhere = f", {done.left:,} in all" if done is not None else ""
    return f"{item.to_do:,} left in this topic{everywhere}"


def given_already(document: str, grade: int, scale: GradeScale) -> Notice:
    """Say that a found document has this grade, and that it was not given again."""
    return Notice(
        "hint", f"{visible_line(document)} has {graded(grade, scale)} from you already; nothing was changed"
    )


def found_state(hit: Found) -> str:
    """Say what is known of a found document: "judged 2", "pooled", "new"."""
    return f"{hit.state} {hit.grade}" if hit.state == "judged" and hit.grade is not None else hit.state


def search_result(words: str, times: int) -> Notice:
    """Say how many documents were found."""
    if not times:
        return Notice("hint", f"no document has any of these words: {visible_line(words)}")
    return Notice("hint", f"{counted(times, 'document')}; Enter reads one, a digit judges it at once")


def pace(done: Done) -> str:
    """Give how fast it goes and how long it will take: "12 s each, about 53 min left"."""
    if done.seconds is None or done.seconds < 1 or done.left <= 0:
        return ""
    return f"{done.seconds:.0f} s each, about {duration(done.seconds * done.left)} left"


def duration(seconds: float) -> str:
    """Give a time as people say it: 40 s, 12 min, 3 h 20 min."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours} h {rest} min" if rest else f"{hours} h"


# From digits typed to a grade of the scale.


@dataclass(frozen=True, slots=True)
class Typed:
    """What the digits typed so far mean: a grade, the beginning of one, or nothing on this scale."""

    state: Literal["grade", "open", "unknown"]
    digits: str
    grade: int | None = None
    """The grade the digits name by themselves, if any."""


def typed(scale: GradeScale, digits: str) -> Typed:
    """Say what the digits typed so far mean."""
    names = {str(step.grade): step.grade for step in scale.grades}
    grade = names.get(digits)
    if any(name != digits and name.startswith(digits) for name in names):
        return Typed("open", digits, grade)
    return Typed("unknown" if grade is None else "grade", digits, grade)


class GradeKeys:
    """The digits somebody is typing."""

    def __init__(self, scale: GradeScale) -> None:
        self._scale, self.digits = scale, ""

    def press(self, digit: str) -> int | Notice:
        """Take a digit: give the grade that is meant, or say what is still open."""
        meaning = typed(self._scale, self.digits + digit)
        self.digits = meaning.digits if meaning.state == "open" else ""
        if meaning.state == "open":
            return grade_open(meaning.digits, meaning.grade)
        return not_on_scale(meaning.digits, self._scale) if meaning.grade is None else meaning.grade

    def enter(self) -> int | Notice | None:
        """Take what was typed as it stands; None where nothing was."""
        digits, self.digits = self.digits, ""
        if not digits:
            return None
        grade = typed(self._scale, digits).grade
        return not_on_scale(digits, self._scale) if grade is None else grade

    def clear(self) -> bool:
        """Forget what was typed; say whether there was anything."""
        digits, self.digits = self.digits, ""
        return bool(digits)
