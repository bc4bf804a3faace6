"""Every sentence the chair says."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from cranfield.errors import CranfieldError
from cranfield.records import GradeScale
from cranfield.steps.desk import Answer, Done, Found, Item, Saved, TopicState
from cranfield.text import counted, shortened, visible_line

Kind = Literal["saved", "undone", "trouble", "hint", "break"]


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the assessor. Only `saved` and `undone` tell of something that is in the file."""

    kind: Kind
    text: str


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
HELD_KEY = Notice("hint", "the key is held down: nothing more was saved")
TOO_EARLY = Notice("hint", "still saving the answer before; this key did nothing")
WAITING = Notice("hint", "waiting for the collection: somebody else is writing …")
BEST_FIRST = Notice("hint", "every document opens at its best passage now (B: at the top again)")
TOP_FIRST = Notice("hint", "every document opens at the top now")
REMINDER_ON = Notice("hint", "you will be reminded of breaks")
REMINDER_OFF = Notice("hint", "no reminders of breaks any more (R: on again)")
REASON_NEEDED = Notice("hint", "please give a reason; nothing was saved")
WORDS_NEEDED = Notice("hint", "there was no word to look for")
ALL_DONE = "Nothing is left to judge. Thank you!"
ALL_DONE_MORE = "u takes the last one back · h history · s search · t topics · q ends"
ALL_DONE_WORDS = "undo takes the last answer back; history, search WORDS, topics; quit ends"
ENTER = "Enter looks again"
LOOK_AGAIN = f"Nothing for you at this moment, but not everything is judged ({ENTER})"
NARRATIVE_FOLDED = Notice("hint", "narrative folded, f shows it")
STUCK = "The next document could not be opened."
STUCK_MORE = "Enter tries again · u takes the last answer back · q ends; all that was saved is safe"
NO_GUIDELINES = "This collection has no guidelines."
ALL_DECIDED = "No disagreement is left to decide. Thank you!"
ALL_DECIDED_MORE = "u takes the last decision back · q ends"
GOODBYE = "Every answer that was shown as saved is in the collection."


def saved(what: Saved, scale: GradeScale) -> Notice:
    """Say what is safely in the file."""
    document = visible_line(what.item.document.id)
    note = ", with your note" if what.answer.kind == "judged" and what.answer.note else ""
    text = f"saved: {answered(what.answer, scale)}{note} for {document}"
    if what.late:
        text += ", as a second opinion: your time with it was over and somebody else judged it meanwhile"
    return Notice("saved", text)


def answered(answer: Answer, scale: GradeScale) -> str:
    """Give an answer in words: "2 relevant", "later", "cannot judge"."""
    if answer.kind == "postponed":
        return "later"
    if answer.kind == "cannot-judge" or answer.grade is None:
        return "cannot judge"
    return graded(answer.grade, scale)


def graded(grade: int, scale: GradeScale) -> str:
    """Give a grade with its label; one that a changed scale no longer has goes without."""
    labels = {step.grade: step.label for step in scale.grades}
    return f"{grade} {visible_line(labels[grade])}" if grade in labels else str(grade)


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


def opinion(number: int, grade: int, scale: GradeScale) -> str:
    """Give an opinion by a letter that stands for nobody."""
    return f"{chr(ord('A') + number)}: {graded(grade, scale)}"


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
        return Notice("hint", "found by search; without an answer, Esc leads back")
    return Notice("hint", f"you said {answered(before, scale)}; a new grade replaces it, Esc goes back")


def station(number: int, of: int) -> Notice:
    """Say which hit is looked at."""
    return Notice("hint", f"hit {number} of {of}")


def found(words: str, times: int) -> Notice:
    """Say how often words stand in the document."""
    if not times:
        return Notice("hint", f"not in this document: {visible_line(words)}")
    return Notice("hint", f"{counted(times, 'place')} with: {visible_line(words)}; n and N go through them")


def highlighted(word: str, times: int) -> Notice:
    """Say that a term of the assessor's own is shown."""
    return Notice("hint", f"highlighting {visible_line(word)}: {counted(times, 'hit')} here; for this topic")


def plain_again(word: str) -> Notice:
    """Say that a term is no longer shown."""
    return Notice("hint", f"no longer highlighting {visible_line(word)}")


def noted(text: str) -> Notice:
    """Say what happens with the note."""
    return Notice("hint", f"note: {visible_line(shortened(text, 40))}, saved with your answer")


def marked(text: str) -> Notice:
    """Say what was marked as evidence."""
    return Notice("hint", f"evidence: “{visible_line(shortened(text, 40))}”, saved with your grade")


def unmarked(number: int) -> Notice:
    """Say how many marks are gone."""
    return Notice("hint", f"{counted(number, 'mark')} taken away") if number else MARK_LEFT


def best_passage(*, there: bool) -> Notice:
    """Say that this is the densest passage."""
    return Notice("hint", "the passage with most of the topic's words; Home goes to the top") if there else NO_HITS


def time_for_a_break(minutes: float) -> Notice:
    """Remind of a break."""
    return Notice("break", f"{minutes:.0f} minutes without a break: a short walk helps (R: no reminders)")


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
    minutes = max(ceil(min(held.seconds for _, held in waiting) / 60), 1)
    what = f"{counted(documents, 'document')} of {which} {'is' if documents == 1 else 'are'} held by {who}"
    return f"Nothing for you now: {what}; try again in up to {counted(minutes, 'minute')} ({ENTER})"


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
