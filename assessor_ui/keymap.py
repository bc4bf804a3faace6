"""The keys of the chair, and the words for the same in plain lines. Help, docs and both fronts are made from this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the assessor can do. `keys` are Textual's names, `shown` is how people write them.

    `word` says it in plain lines, followed by `argument`; empty where plain lines have no need of it. `short` is the
    word for the line of hints; empty where the hint is not worth the room.
    """

    action: str
    keys: str
    shown: str
    help: str
    word: str = ""
    argument: str = ""
    short: str = ""
    plain: str = ""
    """What it does in plain lines, where that is something else."""


ANSWERS = (
    Command("undo", "u", "u", "take the last answer back and return to its document", "undo", short="undo"),
    Command("later", "l", "l", "put the document off to the end of its topic", "later", short="later"),
    Command("cannot", "x", "x", "say why the document cannot be judged", "cannot", "REASON", "cannot"),
    Command("note", "c", "c", "write a note that is saved with the answer", "note", "TEXT", "note"),
    Command(
        "mark",
        "v",
        "v",
        "mark a span as evidence",
        "mark",
        "WORDS",
        "evidence",
        plain="keep these words of the document as evidence",
    ),
)
READING = (
    Command("page_down", "space,pagedown", "Space PgDn", "a page down"),
    Command("page_up", "pageup,ctrl+b", "PgUp", "a page up"),
    Command("line_down", "down,j", "↓ j", "a line down"),
    Command("line_up", "up,k", "↑ k", "a line up"),
    Command("top", "home", "Home", "the top of the document", "read", plain="show the document again"),
    Command("bottom", "end", "End", "the end of the document"),
    Command(
        "next_hit", "n", "n", "the next hit", "next", short="next hit", plain="read the sentence with the next hit"
    ),
    Command("previous_hit", "N", "N", "the hit before", "previous", plain="read the sentence with the hit before"),
    Command(
        "find",
        "slash",
        "/",
        "find words in the document",
        "find",
        "WORDS",
        "find",
        plain="read the sentences with words",
    ),
    Command("best", "b", "b", "the passage with most of the topic's words", "best", short="best passage"),
    Command("best_first", "B", "B", "open every document at its best passage, or at the top again", "best-first"),
    Command(
        "highlight",
        "plus",
        "+",
        "highlight words of your own in this topic, or no longer",
        "highlight",
        "WORDS",
        plain="count words of your own as hits in this topic, or no longer",
    ),
    Command(
        "fold",
        "f",
        "f",
        "show less of the topic, or all of it again",
        "topic",
        short="fold",
        plain="show the topic in full",
    ),
    Command("topic_down", "right_square_bracket", "]", "scroll the topic down"),
    Command("topic_up", "left_square_bracket", "[", "scroll the topic up"),
)
PLACES = (
    Command(
        "guidelines",
        "g",
        "g",
        "the guidelines, the scale and the topic in full",
        "guidelines",
        short="guidelines",
        plain="the scale and the guidelines in full",
    ),
    Command(
        "topics",
        "t",
        "t",
        "all topics with progress; go on with another one",
        "topics",
        "[TOPIC]",
        "topics",
        "how far each is; with an id: go on with that one",
    ),
    Command(
        "history",
        "h",
        "h",
        "your answers; find one and judge it again",
        "history",
        "[WORDS]",
        "history",
        plain="your newest answers, or those with words; history more: older ones",
    ),
    Command("search", "s", "s", "search the whole collection, and judge what you find", "search", "WORDS", "search"),
    Command(
        "help", "question_mark", "?", "all keys", "help", "[all]", short="keys", plain="the everyday words, or all"
    ),
    Command("back", "escape", "Esc", "leave a document that was opened out of turn", "back"),
    Command("theme", "d", "d", "dark or light"),
    Command("reminder", "R", "R", "break reminders off, or on again", "reminder"),
    Command("leave", "q,ctrl+q,ctrl+c", "q", "end the sitting", "quit", short="quit"),
)
Groups = tuple[tuple[str, tuple[Command, ...]], ...]
GROUPS: Groups = (("Answers", ANSWERS), ("Reading", READING), ("Places", PLACES))

MARKING = (
    Command("mark_move('next')", "down,j", "↓ j", "the next sentence"),
    Command("mark_move('previous')", "up,k", "↑ k", "the sentence before"),
    Command("mark_move('more')", "shift+down,J", "⇧↓ J", "one sentence more"),
    Command("mark_move('less')", "shift+up,K", "⇧↑ K", "one sentence less"),
    Command("mark_move('word more')", "right", "→", "one word more at the end"),
    Command("mark_move('word less')", "left", "←", "one word less at the end"),
    Command("mark_move('start later')", "shift+right", "⇧→", "one word less at the beginning"),
    Command("mark_move('start earlier')", "shift+left", "⇧←", "one word more at the beginning"),
    Command("mark_keep", "enter,v", "Enter v", "keep it as evidence"),
    Command("mark_drop", "d,backspace,delete", "d", "take the mark away"),
    Command("mark_leave", "escape,q", "Esc", "leave without marking"),
)

PLAIN_ONLY = (
    Command("take", "", "", "read a document of the last list", "take", "NUMBER"),
    Command("judge_found", "", "", "judge a document of the last search at once", "give", "NUMBER GRADE"),
    Command("more", "", "", "read on in a long document", "more"),
    Command("unmark", "", "", "take all marks away", "unmark"),
)
"""What lists of a screen do by moving the cursor."""

HINTS = ("help", "leave", "undo", "later", "cannot", "note", "fold", "search", "next_hit", "best", "guidelines")
"""The line of hints, the most wanted first: what does not fit is left out from the end."""
HINTS_AT_THE_END = ("help", "leave", "undo", "history", "search", "topics", "guidelines")
"""The same where there is no document."""


EVERYDAY = (
    *("undo", "later", "cannot", "note", "top", "fold", "guidelines"),
    *("topics", "history", "search", "help", "leave"),
)
"""What help in plain lines says; all the rest comes with `help all`."""


def commands() -> Iterator[Command]:
    """Give every command of the judging screen."""
    for _, group in GROUPS:
        yield from group


def hints(groups: Groups, actions: Sequence[str] = HINTS) -> list[tuple[str, str]]:
    """Give (key, word) for the line of hints: those of the actions that these groups have."""
    known = {command.action: command for _, group in groups for command in group}
    return [(known[action].shown, known[action].short) for action in actions if action in known]


def adjudication() -> Groups:
    """Give the keys of the one who decides between assessors: no search, no history, no evidence of his own."""
    left_out = {"cannot", "mark", "topics", "history", "search", "back", "reminder"}
    groups = [(name, tuple(command for command in group if command.action not in left_out)) for name, group in GROUPS]
    return tuple(groups)


def plain_commands() -> Iterator[Command]:
    """Give every command that plain lines know."""
    yield from (command for command in [*commands(), *PLAIN_ONLY] if command.word)


def everyday_commands() -> Iterator[Command]:
    """Give the commands that plain lines need every day."""
    known = {command.action: command for command in plain_commands()}
    yield from (known[action] for action in EVERYDAY)


def markdown() -> str:
    """Give all keys as Markdown tables, for the docs."""
    lines = ["| key | plain lines | what it does |", "|---|---|---|"]
    lines.append("| `0` `1` `2` … | `0` `1` `2` … | judge with this grade and go on |")
    lines.append("|  | `2: TEXT` `2 note TEXT` | judge with this grade and a note |")
    every = [*commands(), *PLAIN_ONLY]
    lines += [f"| {_keys(command.shown)} | {_word(command)} | {command.help} |" for command in every]
    lines += ["", "While marking evidence:", "", "| key | what it does |", "|---|---|"]
    lines += [f"| {_keys(command.shown)} | {command.help} |" for command in MARKING]
    return "\n".join(lines) + "\n"


def _keys(shown: str) -> str:
    return " ".join(f"`{key}`" for key in shown.split())


def _word(command: Command) -> str:
    return f"`{command.word} {command.argument}`".replace(" `", "`") if command.word else ""
