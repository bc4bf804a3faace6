"""The manual page cranfield(1), made from the commands themselves by docs/generate.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cranfield._version import __version__
from cranfield.cli.main import EXAMPLES, SECTIONS, program

_STATUS = {
    "0": "Done.",
    "1": "There is a problem with the data.",
    "2": "The call is wrong.",
    "70": "An error that nobody foresaw; the message names a file with the details.",
    "130": "Interrupted with Ctrl-C; nothing is left half done.",
}


def page() -> str:
    """Give the whole page in the man macros."""
    root = program()
    context = root.context_class(root, info_name="cranfield")
    options = [*_entries(param.get_help_record(context) for param in root.get_params(context))]
    parts = [
        '.\\" Written by docs/generate.py from the program itself: do not edit.',
        f'.TH CRANFIELD 1 "" "cranfield {__version__}" "User Commands"',
        *(".SH NAME", _text(f"cranfield - {root.help[0].lower()}{root.help[1:].rstrip('.')}")),
        *(".SH SYNOPSIS", ".B cranfield", _text("[OPTIONS] COMMAND [ARGS]...")),
        *(".SH OPTIONS", *options),
    ]
    variables: dict[str, str] = {}
    for heading, names in SECTIONS.items():
        parts.append(f".SH {_text(heading.upper())}")
        for name in names:
            parts += _command(root.get_command(context, name), name, context, variables)
    parts += [".SH ENVIRONMENT", *_entries(variables.items()), ".SH EXIT STATUS", *_entries(_STATUS.items())]
    return "\n".join([*parts, ".SH EXAMPLES", *_examples(EXAMPLES)]) + "\n"


def _command(command: Any, name: str, parent: Any, variables: dict[str, str]) -> Iterator[str]:
    """Give a command and those under it, and add the variables that set its options."""
    context = command.context_class(command, info_name=name, parent=parent)
    yield f".SS {_text(' '.join([context.command_path, *command.collect_usage_pieces(context)]))}"
    for paragraph in command.help.split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))
    params = [param for param in command.get_params(context) if param.name != "help"]
    yield from _entries(param.get_help_record(context) for param in params)
    yield from _examples(command.epilog.splitlines())
    for param in params:
        for variable in [param.envvar] if isinstance(param.envvar, str) else param.envvar or ():
            variables.setdefault(variable, f"{param.help.rstrip('.')} ({param.opts[-1]}).")
    for word in getattr(command, "commands", ()):
        yield from _command(command.get_command(context, word), word, context, variables)


def _entries(records: Any) -> Iterator[str]:
    """Give pairs of what is typed and what it means."""
    for typed, meaning in filter(None, records):
        yield from (".TP", f"\\fB{_text(typed)}\\fR", _text(meaning))


def _examples(lines: Any) -> Iterator[str]:
    """Give lines to type, as they are."""
    yield from (".PP", ".EX", *(f"    {_text(f'cranfield {line}')}" for line in lines), ".EE")


def _text(text: str) -> str:
    """Give a text so that roff takes nothing of it for a command."""
    plain = re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)
    return re.sub(r"[^\x00-\x7f]", lambda letter: f"\\[u{ord(letter[0]):04X}]", plain)
