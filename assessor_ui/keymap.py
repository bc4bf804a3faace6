"""The keys of the interface, and the words for the same in plain lines: help, docs and both fronts are made of it."""

from __future__ import annotations

from dataclasses import dataclass

FAR = 1_000_000
"""More lines than any document has: scrolling so far ends at its edge."""


@dataclass(frozen=True)
class Command:
    """One thing the assessor can do. `keys` are Textual's names, `shown` is how people write them.

    `action` is a method of the front (`do_…`), else of the session; `step` is what it is called with. `word` says it
    in plain lines, followed by `argument`; empty where plain lines have no need of it. `short` is the word for the
    line of hints; `plain` tells what it does in plain lines, where that is something else.
    """

    action: str
    keys: str
    shown: str
    help: str
    word: str = ""
    argument: str = ""
    short: str = ""
    plain: str = ""
    step: int | str | None = None


Groups = tuple[tuple[str, tuple[Command, ...]], ...]

# fmt: off
GROUPS: Groups = (
    ("Answers", (
        Command("undo", "u", "u", "undo the last answer and return to its document", "undo", short="undo"),
        Command("later", "l", "l", "postpone the document to the end of its topic", "later", short="later"),
        Command("cannot", "x", "x", "say why the document cannot be judged", "cannot", "REASON", "cannot"),
        Command("set_note", "c", "c", "write a note that is saved with the answer", "note", "TEXT", "note"),
        Command("mark", "v", "v", "mark a span as evidence", "mark", "WORDS", "evidence",
                "mark these words of the document as evidence"),
    )),
    ("Reading", (
        Command("page", "space,pagedown", "Space PgDn", "page down", step=1),
        Command("page", "pageup,ctrl+b", "PgUp", "page up", step=-1),
        Command("scroll", "down,j", "↓ j", "line down", step=1),
        Command("scroll", "up,k", "↑ k", "line up", step=-1),
        Command("scroll", "home", "Home", "the top of the document", "read", "", "", "show the document again", -FAR),
        Command("scroll", "end", "End", "the end of the document", step=FAR),
        Command("jump", "n", "n", "the next hit", "next", "", "next hit", "read the sentence with the next hit", 1),
        Command("jump", "N", "N", "the previous hit", "previous", "", "",
                "read the sentence with the previous hit", -1),
        Command("find", "slash", "/", "find words in the document", "find", "WORDS", "find",
                "read the sentences with these words"),
        Command("switch_reflow", "w", "w", "join hard-wrapped lines to paragraphs, or show them as they are"),
        Command("fold", "f", "f", "show less of the topic, or all of it again", "topic", "", "fold",
                "show the topic in full"),
        Command("scroll_topic", "right_square_bracket", "]", "scroll the topic down", step=1),
        Command("scroll_topic", "left_square_bracket", "[", "scroll the topic up", step=-1),
    )),
    ("Places", (
        Command("guidelines", "g", "g", "the guidelines, the scale and the topic in full", "guidelines", "",
                "guidelines", "the scale and the guidelines in full"),
        Command("topics", "t", "t", "all topics with progress; switch to another", "topics", "[TOPIC]", "topics",
                "progress of each; with an id: switch to that topic"),
        Command("history", "h", "h", "your answers; find one and judge it again", "history", "[WORDS]", "history",
                "your latest answers, or those with WORDS"),
        Command("search", "s", "s", "search the whole collection and judge what you find", "search", "WORDS",
                "search"),
        Command("help", "question_mark", "?", "all keys", "help", "", "keys", "all commands"),
        Command("back", "escape", "Esc", "return from a document opened out of turn", "back"),
        Command("theme", "d", "d", "dark or light"),
        Command("leave", "q,ctrl+q,ctrl+c", "q", "end the judging session", "quit", short="quit"),
    )),
)

MARKING = (
    Command("move_mark", "down,j", "↓ j", "the next sentence", step="next"),
    Command("move_mark", "up,k", "↑ k", "the previous sentence", step="previous"),
    Command("move_mark", "shift+down,J,right", "⇧↓ J", "one sentence more", step="more"),
    Command("move_mark", "shift+up,K,left", "⇧↑ K", "one sentence less", step="less"),
    Command("end_mark", "enter,v", "Enter v", "keep it as evidence", step="keep"),
    Command("end_mark", "d,backspace,delete", "d", "remove the mark", step="drop"),
    Command("end_mark", "escape,q", "Esc", "cancel", step="leave"),
)

PLAIN_ONLY = (
    Command("take", "", "", "open a document of the last list", "take", "NUMBER"),
    Command("unmark", "", "", "remove all marks", "unmark"),
)
"""What lists of a screen do by moving the cursor."""
# fmt: on

_NOT_IN_ADJUDICATION = {*("cannot", "mark", "topics", "history", "search", "back"), *("take", "unmark")}
ADJUDICATION: Groups = tuple(
    (name, tuple(command for command in group if command.action not in _NOT_IN_ADJUDICATION))
    for name, group in GROUPS
)
"""The keys of the one who decides between assessors: no search, no history, no evidence of their own."""

COMMANDS = tuple(command for _, group in GROUPS for command in group)
PLAIN = tuple(command for command in (*COMMANDS, *PLAIN_ONLY) if command.word)
PLAIN_ADJUDICATION = tuple(command for command in PLAIN if command.action not in _NOT_IN_ADJUDICATION)
HINTS = ("help", "quit", "undo", "later", "cannot", "note", "topic", "search", "next", "guidelines")
"""The line of hints by their words, the most wanted first: what does not fit is left out from the end."""
HINTS_AT_THE_END = ("help", "quit", "undo", "history", "search", "topics", "guidelines")
"""The same where there is no document."""
