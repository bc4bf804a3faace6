"""`runs.toml`: many run files and what their senders say about them, in one file."""

import tomllib
from pathlib import Path
from typing import Any, get_args

from cranfield.errors import InputError, Problem, ProblemsFound, nearest, quoted
from cranfield.workflows.opening import read_text
from cranfield.workflows.runs_intake import Names, Order, Request

LOWEST_PRIORITY = 1000

_KINDS: dict[str, type[object]] = {
    "file": str,
    "name": str,
    "group": str,
    "family": str,
    "role": str,
    "priority": int,
    "description": str,
    "order": str,
    "names": str,
    "format": str,
}
_CHOICES = {"role": ("contributing", "new"), "order": get_args(Order), "names": get_args(Names)}


def read_requests(path: Path) -> list[Request]:
    """Give one request per `[[run]]` table; `file` is relative to the TOML file. Everything wrong is listed at once.

    Values that stand outside the tables (`group`, `family`, `order` …) hold for all of them.
    """
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    entries = content.pop("run", None)
    if not isinstance(entries, list) or not entries:
        raise InputError(f'{path}: no [[run]] tables; each needs at least: file = "…"')
    merged = [{**content, **entry} if isinstance(entry, dict) else {} for entry in entries]
    problems = [
        Problem("bad-runs-file", f"run {index}: {text}", file=str(path))
        for index, entry in enumerate(merged, start=1)
        for text in _entry_problems(entry)
    ]
    if problems:
        raise ProblemsFound(f"{path} cannot be used", problems)
    return [_request(path.parent, entry) for entry in merged]


def _entry_problems(entry: dict[str, Any]) -> list[str]:
    problems = [] if "file" in entry else ["there is no 'file'"]
    for name, value in entry.items():
        if name not in _KINDS:
            near = nearest(name, list(_KINDS))
            guess = f"; did you mean {quoted(near[0])}?" if near else ""
            problems.append(f"unknown entry {quoted(name)}{guess} (known: {', '.join(_KINDS)})")
        elif not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            problems.append(f"{name} is {quoted(value)}, which is of the wrong kind")
        elif name in _CHOICES and value not in _CHOICES[name]:
            problems.append(f"{name} is {quoted(value)}; it must be one of {', '.join(_CHOICES[name])}")
        elif isinstance(value, int) and not 1 <= value <= LOWEST_PRIORITY:
            problems.append(f"priority is {value}; it goes from 1 to {LOWEST_PRIORITY}")
    return problems


def _request(folder: Path, entry: dict[str, Any]) -> Request:
    given = {name: value for name, value in entry.items() if name != "file"}
    return Request(path=folder / entry["file"], **given)
