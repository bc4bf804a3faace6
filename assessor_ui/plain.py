"""The same sessions over plain lines: question, document, answer. For screen readers, pipes and scripts.

A line is a grade (see `grade_of`), or a word or letter of the keymap with what follows it. Nothing is coloured,
nothing is drawn over. On a terminal lines are wrapped at blanks; through a pipe each stays one line.
"""

from __future__ import annotations

import re
import shutil
from typing import TextIO

from assessor_ui import keymap, messages
from assessor_ui.messages import Notice
from assessor_ui.page import wrap
from assessor_ui.reader import sentences
from assessor_ui.session import Session
from cranfield.base.text import HIT_END, HIT_START, shortened, visible, visible_line
from cranfield.judge.session import HistoryEntry, SearchHit

FORMS = "a grade alone judges; GRADE: TEXT or GRADE note TEXT judges with a note"
FOR_HELP = "type a grade and Enter; ? for help"
HISTORY_PAGE = 20
LONGEST_TITLE = 80

_GRADE = re.compile(r"(?P<grade>[0-9]{1,9})(?:(?::| note) +(?P<note>\S.*))?")


def grade_of(line: str) -> tuple[int, str] | None:
    """The grade a line gives, and its note: `2`, `2: a note` or `2 note a note`; None for any other line.

    A remark that only begins with a digit ("2 or 3: hard to say") is no grade: nobody can tell whether it was meant
    as one, and a grade must never be given by mistake. After the colon a blank is needed ("2:30 in the oven").
    """
    match = _GRADE.fullmatch(line)
    return None if match is None else (int(match["grade"]), (match["note"] or "").strip())


class Lines:
    """A session between two streams of lines.

    `do_…` is what a command of the keymap does here, given the rest of its line; one without goes to the session.
    """

    def __init__(self, session: Session, lines: TextIO, out: TextIO) -> None:
        self._session, self._lines, self._out = session, lines, out
        self._prompt, self.known = "answer> ", keymap.PLAIN
        if session.adjudicates:
            self._prompt, self.known = "decision> ", keymap.PLAIN_ADJUDICATION
        self._commands = {command.word: command for command in self.known}
        self._commands |= {command.shown: command for command in self.known if len(command.shown) == 1}
        self._shown: object = None
        self._begun = self._failed = self._ended = False
        self._listed: list[SearchHit] | list[HistoryEntry] = []

    def run(self) -> int:
        """Let somebody judge line by line; give the exit status: 1 where an answer could not be saved.

        The end of the lines ends the session. Where nobody can be asked back (the lines come through a pipe), a line
        that is not understood may have been meant as an answer, and was not saved.
        """
        session, out, lines = self._session, self._out, iter(self._lines)
        self._tell(session.start())
        self._show_item()
        self._say(FOR_HELP)
        while True:
            out.write(self._prompt)
            out.flush()
            if not (line := next(lines, "")):
                break
            session.watch.touch()
            self._obey(line.strip())
            if not self._ended and not session.ended.text and (notice := session.tick()) is not None:
                self._tell(notice)
            if self._ended or session.ended.text:
                break
            # More grades than documents, through a pipe: that nothing is open is said to each, and that is enough.
            if session.reading is not self._shown or (session.open is None and grade_of(line.strip()) is None):
                self._show_item()
        if not session.ended.text:
            self._tell(session.leave())
        return 1 if self._failed or session.refused or session.ended.text else 0

    def _obey(self, line: str) -> None:
        self._out.write("\n")
        word, _, rest = line.partition(" ")
        if line[:1] == "/" and len(word) > 1:
            word, rest = line[0], line[1:]
        if (typed := grade_of(line)) is not None:
            grade, note = typed
            if note:
                self._session.set_note(note)
            self._tell(self._session.judge(grade))
        elif (command := self._commands.get(word)) is not None:
            if (own := getattr(self, f"do_{command.action}", None)) is not None:
                own(rest.strip())
                return
            arguments = (command.step,) if command.step is not None else (rest.strip(),) if command.argument else ()
            self._tell(getattr(self._session, command.action)(*arguments))
            reading = self._session.reading
            if command.action in ("jump", "find") and reading.current is not None:
                # The sentences of the hit that is looked at.
                start, end = reading.current
                spans = [span for span in sentences(reading.page.text) if span[0] < end and start < span[1]]
                if spans:
                    self._say(reading.page.text[spans[0][0] : spans[-1][1]])
        elif not line:
            self._tell(self._session.enter())
        else:
            self._failed = self._failed or not self._lines.isatty()
            self._say(f"not understood: {visible_line(shortened(line, 60))}; nothing was saved; {FORMS}; ? for help")

    # What is shown

    def _show_item(self) -> None:
        """Show what is open, a topic that is another one first; or that nothing is."""
        session, opened, reading = self._session, self._session.open, self._session.reading
        self._shown = reading
        if opened is None:
            self._say(session.nothing[0])
            if not session.adjudicates:
                self._say(messages.ALL_DONE_WORDS)
            return
        if session.card:
            change = f"{messages.NEW_TOPIC.upper()}: {visible_line(opened.topic.title)} ({session.status[0]})"
            self._say(f"\n=== {change} ===\n")
        if session.card or not self._begun:
            self.do_fold("")
        self._begun = True
        session.read_on()
        self._say(f"document for: {visible_line(opened.topic.title)} ({session.status[0]})")
        if not session.adjudicates and opened.before is not None:
            self._say(f"your earlier answer: {messages.answered(opened.before, session.scale)}")
        self._say(f"{reading.page.text.strip()}\n")
        for number, opinion in enumerate(opened.opinions):
            self._say(f"opinion {messages.opinion(number, opinion, session.scale)}")
            if opinion.note:
                self._say(f"  note: {visible(opinion.note)}")
            for piece in opinion.evidence:
                self._say(f"  evidence: {visible_line(piece.text)}")
        grades = [messages.graded(step.grade, session.scale) for step in session.scale.grades]
        self._say(f"grades: {', '.join(grades)}")

    def do_fold(self, _: str) -> None:
        if self._session.open is not None:
            topic = self._session.open.topic
            self._say(f"topic {visible_line(topic.id)}: {visible_line(topic.title)}")
            for name, text in (("description", topic.description), ("narrative", topic.narrative)):
                if text.strip():
                    self._say(f"{name}: {visible(text.strip())}")
            self._say("")

    def do_scroll(self, _: str) -> None:
        self._shown = None

    def do_guidelines(self, _: str) -> None:
        scale = self._session.scale
        for step in scale.grades:
            text = f": {visible_line(step.text)}" if step.text else ""
            self._say(f"{messages.graded(step.grade, scale)}{text}")
        self._say(f"grades from {scale.relevant_from} up count as relevant")
        self._say(visible(self._session.guidelines.strip()) or messages.NO_GUIDELINES)

    def do_help(self, _: str) -> None:
        self._say(FORMS)
        for command in self.known:
            letter = f" ({command.shown})" if len(command.shown) == 1 else ""
            self._say(f"{command.word} {command.argument}".strip() + f"{letter}: {command.plain or command.help}")

    def do_leave(self, _: str) -> None:
        self._ended = True

    # The stream

    def _tell(self, notice: Notice) -> None:
        if notice.text:
            self._say(notice.words)

    def _say(self, text: str) -> None:
        if self._out.isatty():
            width = shutil.get_terminal_size().columns
            text = "\n".join(text[start:end] for start, end in wrap(text, width))
        self._out.write(f"{text}\n")

    # Lists: of an assessor alone

    def do_topics(self, topic: str) -> None:
        if topic:
            self._tell(self._session.choose_topic(topic))
            return
        for state in self._session.topics():
            name, progress = visible_line(state.topic.title), messages.topic_progress(state)
            self._say(f"{visible_line(state.topic.id)} {name}: {progress}")
        self._tell(self._session.notice)

    def do_history(self, words: str) -> None:
        past = self._listed = self._session.history(words)
        for number, line in enumerate(past[:HISTORY_PAGE], 1):
            said = messages.answered(line.answer, self._session.scale)
            note = f", note: {visible_line(line.answer.note)}" if line.answer.note else ""
            self._say(f"{number}. {said}: {visible_line(line.document)} {_title(line)} for {line.topic}{note}")
        older = f"the latest {HISTORY_PAGE}; history WORDS finds others; " if len(past) > HISTORY_PAGE else ""
        self._say(f"{older}take NUMBER reopens one" if past else "no matching answers")
        self._tell(self._session.notice)

    def do_search(self, words: str) -> None:
        hits = self._listed = self._session.search(words)
        for number, hit in enumerate(hits, 1):
            snippet = visible_line(" ".join(hit.snippet.replace(HIT_START, "").replace(HIT_END, "").split()))
            self._say(f"{number}. {messages.found_state(hit)}: {visible_line(hit.document)} {_title(hit)}")
            self._say(f"   {snippet}")
        if hits:
            self._say("take NUMBER opens one")
        else:
            self._tell(self._session.notice)

    def do_take(self, number: str) -> None:
        if not re.fullmatch("[0-9]+", number) or not 1 <= int(number) <= len(self._listed):
            self._say(f"no line {visible_line(number) or '?'} in the last list; search and history show lists")
            return
        line = self._listed[int(number) - 1]
        if isinstance(line, SearchHit):
            self._tell(self._session.take(line))
        else:
            self._tell(self._session.reopen(line.topic, line.document))

    # Reading and marking

    def do_mark(self, words: str) -> None:
        session, reading = self._session, self._session.reading
        if session.open is None or not words:
            self._say("mark needs words exactly as they occur in the document")
            return
        notice = session.find(words)
        if reading.found:
            notice = session.add_mark(reading.found[0])
            reading.found, reading.current = (), None
        self._tell(notice)


def _title(line: SearchHit | HistoryEntry) -> str:
    """The title in a list: one that is a whole first paragraph is cut."""
    return visible_line(shortened(line.title, LONGEST_TITLE))
