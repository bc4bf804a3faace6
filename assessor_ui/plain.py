"""The same sitting over plain lines: question, document, answer. For screen readers, pipes and scripts.

A line is a grade (see `typed_lines`), or a word or letter of the keymap with what follows it. Nothing is coloured,
nothing is drawn over. On a terminal lines are wrapped at blanks; through a pipe each stays one line.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from assessor_ui.page import Pager, wrap
from assessor_ui.reader import sentences
from assessor_ui.session import BREAK_AFTER_MINUTES, Session
from cranfield.base.records import Topic
from cranfield.base.text import counted, shortened, visible, visible_line
from cranfield.judge.session import Desk, Found, Past
from cranfield.workflows.corpus import HIT_END, HIT_START

# What a typed line means: a grade, a grade with a note, or neither. Both plain fronts read lines by this.

_GRADE = re.compile(r"(?P<grade>[0-9]{1,9})(?:(?::| note) +(?P<note>\S.*))?")
_BEGINS_WITH_ONE = re.compile(r"(?P<grade>[0-9]{1,9})\b(?![.][0-9])")

FORMS = "a grade alone judges; GRADE: TEXT or GRADE note TEXT judges with a note"


@dataclass(frozen=True, slots=True)
class TypedGrade:
    """A grade that was typed, with the note that came with it."""

    grade: int
    note: str = ""


def grade_of(line: str) -> TypedGrade | None:
    """Give the grade a line gives: `2`, `2: a note` or `2 note a note`; None for any other line.

    A remark that only begins with a digit ("2 or 3: hard to say") is no grade: nobody can tell whether it was meant
    as one, and a grade must never be given by mistake. After the colon a blank is needed ("2:30 in the oven").
    """
    found = _GRADE.fullmatch(line)
    return None if found is None else TypedGrade(int(found["grade"]), (found["note"] or "").strip())


def asked_back(line: str) -> str:
    """Give the question for a line that begins with a digit and is no grade; empty for any other line."""
    found = _BEGINS_WITH_ONE.match(line)
    if found is None or grade_of(line) is not None:
        return ""
    grade = found["grade"]
    return f"is this a grade? nothing was saved; {grade} alone judges, {grade}: TEXT judges with a note"


PROMPT = "answer> "
FOR_HELP = "type a grade and Enter; ? for help"
HISTORY_PAGE = 20
HISTORY_LIMIT = 200
LONGEST_TITLE = 80
_AROUND_A_PAGE = 8
"""The lines of a screen that topic, grades and prompt take."""


def run(
    desk: Desk,
    *,
    lines: TextIO,
    out: TextIO,
    break_after_minutes: int | None = BREAK_AFTER_MINUTES,
    language: str = "english",
) -> int:
    """Let somebody judge line by line; give the exit status: 1 where an answer could not be saved.

    The end of the lines ends the sitting. Where nobody can be asked back (`lines` is a pipe), a line that may have
    been meant as a grade is an answer that was not saved.
    """
    session = Session(desk, break_after_minutes=break_after_minutes, language=language)
    return Lines(session, lines=lines, out=out).run()


class Lines:
    """A session between two streams of lines."""

    def __init__(self, session: Session, *, lines: TextIO, out: TextIO) -> None:
        self._session, self._lines, self._out = session, lines, out
        self._shown: object = None
        self._topic = ""
        self._listed: list[Found] | list[Past] = []
        self._words = ""
        self._past, self._past_words, self._told = 0, "", False
        self._failed = self._ended = False
        self._pager = Pager()
        self._verbs = _verbs(self)

    def run(self) -> int:
        """Ask, read, answer, until the lines or the wish to go on end."""
        self._tell(self._session.start())
        self._ask()
        for line in self._lines:
            self._session.touch()
            self._obey(line.strip())
            if self._ended:
                break
            self._tell_break()
            self._ask()
        self._tell(self._session.leave())
        return 1 if self._failed else 0

    def _ask(self) -> None:
        session = self._session
        if session.reading is not self._shown or session.reading is None:
            self._shown = session.reading
            self._show_item()
        if not self._told:
            self._told = True
            self._say(FOR_HELP)
        self._out.write(PROMPT)
        self._out.flush()

    def _obey(self, line: str) -> None:
        self._out.write("\n")
        word, _, rest = line.partition(" ")
        if line[:1] in ("/", "+") and len(word) > 1:
            word, rest = line[0], line[1:]
        if (typed := grade_of(line)) is not None:
            self._grade(typed.grade, typed.note)
        elif word in self._verbs:
            self._verbs[word](rest.strip())
        elif not line:
            self._tell(self._session.again())
        elif question := asked_back(line):
            self._failed = self._failed or not self._lines.isatty()
            self._say(f"{question}, note TEXT only notes")
        else:
            self._say(f"not understood: {visible_line(shortened(line, 60))}; ? lists the words, nothing was saved")

    def _grade(self, grade: int, note: str) -> None:
        if note:
            self._session.set_note(note)
        self._tell(self._session.judge(grade))

    # What is shown

    def _show_item(self) -> None:
        item, reading = self._session.item, self._session.reading
        if item is None or reading is None:
            self._say(self._session.nothing)
            self._say(messages.what_now(self._session.nothing, messages.ALL_DONE_WORDS, "; "))
            return
        if item.topic.id != self._topic:
            self._topic = item.topic.id
            self._show_topic(item.topic)
        left = messages.left(item, self._session.progress)
        self._say(f"document for: {visible_line(item.topic.title)} ({left})")
        if item.before is not None:
            self._say(f"you said before: {messages.answered(item.before, self._session.scale)}")
        self._say_page(reading.page.text.strip())
        grades = ", ".join(messages.graded(step.grade, self._session.scale) for step in self._session.scale.grades)
        self._say(f"grades: {grades}")

    def _say_page(self, text: str = "") -> None:
        """Say the first page of a long text, or the next one; through a pipe, where nobody reads, all of it."""
        item, (width, height) = self._session.item, shutil.get_terminal_size()
        if not self._out.isatty():
            self._say(f"{text}\n")
            return
        room = height - _AROUND_A_PAGE
        self._say(self._pager.begin(text, width=width, height=room) if text else self._pager.more(height=room))
        if self._pager.left and item is not None:
            left = counted(self._pager.left, "more line")
            self._say(f"… {left} of {visible_line(item.document.id)} for: {visible_line(item.topic.title)}; more")
        self._say("")

    def more(self, _: str) -> None:
        """Read on in a long document."""
        if self._pager.left:
            self._say_page()
        else:
            self._say("there is no more of this document; read shows it again")

    def _show_topic(self, topic: Topic) -> None:
        self._say(f"topic {visible_line(topic.id)}: {visible_line(topic.title)}")
        for name, text in (("description", topic.description), ("narrative", topic.narrative)):
            if text.strip():
                self._say(f"{name}: {visible(text.strip())}")
        self._say("")

    def show_topic(self, _: str) -> None:
        """Show the topic in full."""
        if self._session.item is not None:
            self._show_topic(self._session.item.topic)

    def show_again(self, _: str) -> None:
        """Show the document once more."""
        self._shown = None

    def show_guidelines(self, _: str) -> None:
        """Show scale and guidelines."""
        for step in self._session.scale.grades:
            text = f": {visible_line(step.text)}" if step.text else ""
            self._say(f"{messages.graded(step.grade, self._session.scale)}{text}")
        self._say(f"a document counts as relevant from grade {self._session.scale.relevant_from}")
        self._say(visible(self._session.desk.guidelines.strip()) or messages.NO_GUIDELINES)

    def show_help(self, which: str) -> None:
        """List the everyday words, or all."""
        self._say(FORMS)
        everything = which == "all"
        for command in keymap.plain_commands() if everything else keymap.everyday_commands():
            letter = f" ({command.shown})" if len(command.shown) == 1 else ""
            self._say(f"{command.word} {command.argument}".strip() + f"{letter}: {command.plain or command.help}")
        if not everything:
            self._say("help all: the rest")

    def topics(self, topic: str) -> None:
        """List the topics, or go on with one."""
        if topic:
            self._tell(self._session.choose_topic(topic))
            return
        for state in self._session.topics():
            self._say(
                f"{visible_line(state.topic.id)} {visible_line(state.topic.title)}: {messages.topic_line(state)}"
            )
        self._tell_trouble()

    def history(self, words: str) -> None:
        """List the assessor's own answers, newest first, page by page."""
        if words == "more":
            words, begin = self._past_words, self._past
        else:
            begin = 0
        past = self._session.history(words)
        self._listed, self._past_words, self._past = past, words, min(begin + HISTORY_PAGE, len(past))
        for number, line in enumerate(past[begin : self._past], begin + 1):
            said = messages.answered(line.answer, self._session.scale)
            note = f", note: {visible_line(line.answer.note)}" if line.answer.note else ""
            self._say(f"{number}. {said}: {visible_line(line.document)} {_title(line)} for {line.topic}{note}")
        self._say(_below_history(self._past, len(past), begin))
        self._tell_trouble()

    def search(self, words: str) -> None:
        """Search the collection."""
        found = self._session.search(words)
        self._listed, self._words = found, words
        for number, hit in enumerate(found, 1):
            snippet = visible_line(" ".join(hit.snippet.replace(HIT_START, "").replace(HIT_END, "").split()))
            self._say(f"{number}. {messages.found_state(hit)}: {visible_line(hit.document)} {_title(hit)}")
            self._say(f"   {snippet}")
        if found:
            self._say("take NUMBER reads one, give NUMBER GRADE judges it at once")
        else:
            self._tell(self._session.notice)

    def take(self, number: str) -> None:
        """Open a document of the last list."""
        line = self._line(number)
        if isinstance(line, Found):
            self._tell(self._session.take(line, self._words))
        elif line is not None:
            self._tell(self._session.reopen(line.topic, line.document))

    def give(self, rest: str) -> None:
        """Judge a document of the last search at once."""
        number, _, grade = rest.partition(" ")
        line = self._line(number)
        if line is None:
            return
        if not isinstance(line, Found):
            self._say(
                f"give is for what search found; take {number} opens this one, then type the grade; nothing was saved"
            )
            return
        if not re.fullmatch("[0-9]+", grade.strip()):
            self._say("give takes the number of a found document and a grade; nothing was saved")
            return
        self._tell(self._session.judge_found(line, self._words, int(grade)))

    def _line(self, number: str) -> Found | Past | None:
        if re.fullmatch("[0-9]+", number) and 1 <= int(number) <= len(self._listed):
            return self._listed[int(number) - 1]
        self._say(f"there is no line {visible_line(number) or '?'} in the last list; search or history make one")
        return None

    # Reading

    def jump(self, step: int) -> None:
        """Read the sentence with the next hit, or the one before."""
        notice = self._session.jump(step)
        self._tell(notice)
        self._read_current()

    def find(self, words: str) -> None:
        """Read the first sentence with these words."""
        self._tell(self._session.find(words))
        self._read_current()

    def best(self, _: str) -> None:
        """Read the best passage."""
        self._tell(self._session.best())
        self._read_current()

    def _read_current(self) -> None:
        reading = self._session.reading
        if reading is None or reading.current is None:
            return
        start, end = reading.current
        spans = [span for span in sentences(reading.page.text) if span[0] < end and start < span[1]]
        if spans:
            self._say(reading.page.text[spans[0][0] : spans[-1][1]])

    def mark(self, words: str) -> None:
        """Mark words of the document as evidence."""
        reading = self._session.reading
        if reading is None or not words:
            self._say("mark takes words of the document, as they stand there")
            return
        if not reading.find(words):
            self._tell(messages.found(words, 0))
            return
        self._session.drag_mark(reading.found[0])
        reading.found = ()
        self._tell(self._session.keep_mark())

    def unmark(self, _: str) -> None:
        """Take all marks away."""
        reading = self._session.reading
        if reading is not None:
            gone, reading.marked = len(reading.marked), ()
            self._tell(messages.unmarked(gone))

    # The session's own

    def tell(self, action: Callable[[], Notice]) -> Callable[[str], None]:
        """Make a verb of an action without words."""
        return lambda _: self._tell(action())

    def tell_words(self, action: Callable[[str], Notice]) -> Callable[[str], None]:
        """Make a verb of an action with words."""
        return lambda rest: self._tell(action(rest))

    def end(self, _: str) -> None:
        """End the sitting."""
        self._ended = True

    def _tell(self, notice: Notice) -> None:
        self._failed = self._failed or notice.text.startswith(messages.NOT_SAVED)
        if notice.text:
            self._say(notice.in_words)

    def _tell_trouble(self) -> None:
        if self._session.notice.kind == "trouble":
            self._tell(self._session.notice)

    def _tell_break(self) -> None:
        notice = self._session.tick()
        if notice is not None:
            self._tell(notice)

    def _say(self, text: str) -> None:
        if self._out.isatty():
            width = shutil.get_terminal_size().columns
            text = "\n".join(text[line.start : line.end] for line in wrap(text, width))
        self._out.write(f"{text}\n")


def _title(line: Found | Past) -> str:
    """Give the title in a list: one that is a whole first paragraph is cut."""
    return visible_line(shortened(line.title, LONGEST_TITLE))


def _below_history(shown: int, of: int, begin: int) -> str:
    """Say what can be done with a page of the history, and how to see more."""
    if not of:
        return "no answers with these words, or none yet"
    if begin >= of:
        return "there are no older answers in this list"
    if shown < of:
        return f"{shown} of {of}; history more: older ones, take NUMBER opens one again"
    return "take NUMBER opens one again" + ("; history WORDS finds still older ones" if of == HISTORY_LIMIT else "")


def _verbs(lines: Lines) -> dict[str, Callable[[str], None]]:
    """Give what each word and each letter does."""
    session = lines._session
    actions: dict[str, Callable[[str], None]] = {
        "undo": lines.tell(session.undo),
        "later": lines.tell(session.later),
        "cannot": lines.tell_words(session.cannot),
        "note": lines.tell_words(session.set_note),
        "mark": lines.mark,
        "unmark": lines.unmark,
        "top": lines.show_again,
        "next_hit": lambda _: lines.jump(1),
        "previous_hit": lambda _: lines.jump(-1),
        "find": lines.find,
        "best": lines.best,
        "best_first": lines.tell(session.switch_best_first),
        "highlight": lines.tell_words(session.highlight),
        "fold": lines.show_topic,
        "guidelines": lines.show_guidelines,
        "topics": lines.topics,
        "history": lines.history,
        "search": lines.search,
        "help": lines.show_help,
        "back": lines.tell(session.back),
        "reminder": lines.tell(session.switch_reminder),
        "leave": lines.end,
        "take": lines.take,
        "judge_found": lines.give,
        "more": lines.more,
    }
    verbs = {command.word: actions[command.action] for command in keymap.plain_commands()}
    letters = {
        command.shown: actions[command.action] for command in keymap.plain_commands() if len(command.shown) == 1
    }
    return verbs | letters
