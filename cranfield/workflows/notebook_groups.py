"""Who the runs belong to, given from Python: a file, a frame, or a mapping."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from cranfield.errors import LINES_KEPT, Problem, ProblemsFound, UsageError, quoted
from cranfield.evaluate.given import is_frame
from cranfield.runs.groups import ROLES, Member, read_groups
from cranfield.source import Source
from cranfield.text import counted

_COLUMNS = ("run", "group")


def groups_given(value: object) -> tuple[Member, ...]:
    """Give the runs with their groups.

    A file has run tag, group and `pooled` or `new` on each line; a frame has the columns run, group and, where some
    runs are new, role; a mapping of run -> group names the runs that were pooled. Everything wrong is told at once.
    """
    if isinstance(value, str | os.PathLike):
        return read_groups(Source(Path(value)))
    rows = list(_rows(value))
    problems = [*_unfit(rows), *_repeated(rows)]
    if problems or not rows:
        raise ProblemsFound("these groups cannot be used", problems or [Problem("empty", "the groups name no run")])
    return tuple(
        Member(run, group, role == "pooled") for run, group, role in cast("list[tuple[str, str, str]]", rows)
    )


def _rows(value: object) -> Iterable[tuple[object, object, object]]:
    if isinstance(value, Mapping):
        return ((run, group, "pooled") for run, group in value.items())
    if not is_frame(value):
        kind = type(value).__name__
        raise UsageError(f"groups are a file, a frame, or a mapping of run -> group, not {kind}")
    names = [str(name) for name in value.columns]
    missing = [name for name in _COLUMNS if name not in names]
    if missing:
        raise UsageError(f"the frame of groups has no column {' or '.join(missing)}; it has {', '.join(names)}")
    frame: Any = value
    roles = frame["role"] if "role" in names else ["pooled"] * len(frame)
    return zip(frame["run"], frame["group"], roles, strict=True)


def _unfit(rows: list[tuple[object, object, object]]) -> list[Problem]:
    """Say which rows have no names, or a role that there is not."""
    nameless = [place for place, row in enumerate(rows, start=1) if not all(_is_word(cell) for cell in row[:2])]
    other = [place for place, row in enumerate(rows, start=1) if row[2] not in ROLES]
    said = "a run and its group are words"
    return [
        *_problem("bad-row", said, nameless, [row[:2] for row in rows]),
        *_problem("unknown-role", f"a run is {' or '.join(ROLES)}", other, [row[2] for row in rows]),
    ]


def _repeated(rows: list[tuple[object, object, object]]) -> list[Problem]:
    runs = [row[0] for row in rows]
    places = [place for place, run in enumerate(runs, start=1) if run in runs[: place - 1]]
    return _problem("repeated-run", "a run is named twice", places, runs)


def _problem(code: str, said: str, places: list[int], cells: "list[Any]") -> list[Problem]:
    """Give one problem for all rows that have it, with the first of them; none where no row has."""
    if not places:
        return []
    often = f" ({counted(len(places), 'row')})" if len(places) > 1 else ""
    message = f"{said}{often}: {quoted(cells[places[0] - 1])}"
    return [Problem(code, message, file="groups", lines=tuple(places[:LINES_KEPT]), count=len(places))]


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
