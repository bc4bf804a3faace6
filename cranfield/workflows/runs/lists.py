"""Which run files a command means, and what is said about each: `runs.toml`, a run list, the folder of a campaign."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from cranfield.base.errors import InputError, quoted, refuse
from cranfield.base.files import Source, located
from cranfield.base.tables import LINE_FAULTS, Columns, Fault, Schema, csv_rows, read_table
from cranfield.base.writing import inside
from cranfield.corpus import markup
from cranfield.runs import metadata, sets
from cranfield.runs.run import Order
from cranfield.workflows.collection import read_toml, wrong_in
from cranfield.workflows.runs.submit import Names, Request

LOWEST_PRIORITY = 1000

Files = Sequence[str | os.PathLike[str]]
"""Run files, folders, sets and TOML files, as a user names them."""

# `runs.toml`: many run files and what their senders say about them, in one file.

_ENTRIES: Mapping[str, Any] = {
    **dict.fromkeys(("file", "name", "group", "family"), str),
    "role": frozenset(("contributing", "new")),
    "priority": range(1, LOWEST_PRIORITY + 1),
    "description": str,
    "order": frozenset(get_args(Order)),
    "names": frozenset(get_args(Names)),
    "format": str,
}


def requests_for(files: Files, *, run_list: Path | None = None, **given: Any) -> list[Request]:
    """One request per run file, or run of a set; a folder and a TOML file stand for the runs they have or describe.

    What the list says of a run is added, what is given overrides all; a run of the list without a file is refused.
    """
    found: list[Request] = []
    for file in map(located, sets.expanded([os.fspath(file) for file in files])):
        if file.is_dir():
            found += requests_in(file)
        else:
            found += read_requests(file) if file.suffix == ".toml" else [Request(path=file)]
    if run_list is not None:
        found, missing = described(found, run_list)
        refuse(f"{run_list} names runs that are not among these files", "listed-run-missing", missing, file=run_list)
    known = {name: value for name, value in given.items() if value is not None}
    return [replace(request, **known) for request in found]


def read_requests(path: Path) -> list[Request]:
    """One request per `[[run]]` table; `file` is relative to the TOML file. Everything wrong is listed at once.

    Values that stand outside the tables (`group`, `family`, `order` …) hold for all of them.
    """
    content = read_toml(path)
    entries = content.pop("run", None)
    if not isinstance(entries, list) or not entries:
        raise InputError(f'{path}: no [[run]] tables; each needs at least: file = "…"')
    merged = [{**content, **entry} if isinstance(entry, dict) else {} for entry in entries]
    wrong = [
        f"run {index}: {text}"
        for index, entry in enumerate(merged, start=1)
        for text in (*(() if "file" in entry else ["'file' is missing"]), *wrong_in(entry, _ENTRIES))
    ]
    refuse(f"{path} cannot be used", "bad-runs-file", wrong, file=path)
    return [Request(path=path.parent / entry.pop("file"), **entry) for entry in merged]


# A run list: one row per run, with its team and its priority.

_REMEDY = "write a header with run and group (or tag and team), and a row for each run"
_LISTED = Schema(
    {
        "file": ("file", "path", "filename", "file_name"),
        "run": ("run", "tag", "runtag", "run_tag", "runid", "run_id", "run_name", "system", "name"),
        "group": (
            "group",
            "group_name",
            "team",
            "team_name",
            "organization",
            "organisation",
            "participant",
            "pid",
            "affiliation",
        ),
        "priority": ("priority", "prio", "judging_priority"),
        "family": ("family", "type", "run_type", "category"),
        "role": ("role",),
        "description": ("description", "desc"),
    },
    (
        Fault("empty", "the list names no run", _REMEDY),
        Fault("missing-field", "a row has no run", _REMEDY),
        *LINE_FAULTS,
        Fault("bad-run-list", "a row says what a run cannot be"),
        Fault("repeated-run", "a run is listed twice", "keep one row of each run"),
    ),
    needed=("run",),
)


def is_run_list(source: Source) -> bool:
    """Whether a file begins as a run list does: with a header that has run and group, or with such elements."""
    head = source.head(4096).decode("utf-8", "replace")
    line = head.partition("\n")[0]
    _, names = next(csv_rows([line], "\t" if "\t" in head else ","), (1, ""))
    return {"run", "group"} <= _LISTED.roles(re.findall(r"<(\w+)>", head) if line.startswith("<") else names).keys()


def described(requests: Sequence[Request], run_list: Path) -> tuple[list[Request], list[str]]:
    """The requests with what a list says of their runs, and which runs of the list have no file among them.

    A row is about the file it names, or whose name or tag is that of the run; NIST calls the file of a run input.RUN.
    """
    rows = {row["run"]: row for row in _read_list(Source(run_list))}
    by_file = {os.path.normpath(run_list.parent / row["file"]): run for run, row in rows.items() if row.get("file")}
    found, listed = [], set()
    for request in requests:
        source = Source(request.path)
        names = source.name, source.path.name, source.bare_name, source.stem, source.stem.removeprefix("input.")
        run = by_file.get(os.path.normpath(request.path)) or next((name for name in names if name in rows), "")
        run = run or next((tag for tag in _tags(source.head()) if tag in rows), "")
        about = {key: value for key, value in rows.get(run, {}).items() if key not in ("file", "run")}
        listed.add(run)
        found.append(replace(request, **about))
    return found, [f"run {quoted(run)} of the list has no file" for run in rows if run not in listed]


def _read_list(source: Source) -> Iterator[dict[str, Any]]:
    """What is said of each run, by the names of a request; all that is wrong with the list is raised at once."""
    if source.head(1) == b"<":
        table = Columns.of(source, _LISTED)
        for whole in markup.closed_fields(markup.without_specials(source.text())):
            for line, element in enumerate(markup.closed_fields(whole.raw), start=1):
                cells = {part.name: markup.plain(part.raw).strip() for part in markup.closed_fields(element.raw)}
                table.fill([(line, {role: cells[name] for role, name in _LISTED.roles(cells).items()})])
    else:
        delimiter = "\t" if b"\t" in source.head(4096) else ","
        table = read_table(source, _LISTED, delimiter=delimiter, multiline=True)
    rows: dict[str, dict[str, Any]] = {}
    for line, *values in table:
        row: dict[str, Any] = {role: cell for role, cell in zip(table.values, values, strict=True) if cell}
        if len(row.get("priority", "")) <= 9 and row.get("priority", "").isdecimal():
            row["priority"] = int(row["priority"])
        for text in wrong_in({role: cell for role, cell in row.items() if role != "run"}, _ENTRIES):
            table.findings.add("bad-run-list", [line], meaning=text)
        if row["run"] in rows:
            table.findings.add("repeated-run", [line], example=row["run"])
        rows[row["run"]] = row
    table.refuse("this run list cannot be used")
    yield from rows.values()


# The folder of a campaign: run files below it, those of a team in a folder of their own or all in one.

RUN_FOLDERS = ("runs", "submissions")
_NO_RUNS = (".md", ".pdf", ".xml", ".toml", ".yml", ".yaml", ".json", ".report.txt")


def requests_in(folder: Path, among: Sequence[Path] | None = None) -> list[Request]:
    """The run files below a folder, in the order of their paths; a folder of its own below it names their team."""
    files = [path for path in sorted(folder.rglob("*")) if is_run_file(path, folder)] if among is None else among
    if not files:
        raise InputError(f"{folder} contains no run files: none has the six columns of a TREC run")
    top = Path(os.path.commonpath([path.parent for path in files]))
    named = [place for place in (top, *top.parents) if place.name in RUN_FOLDERS and place.is_relative_to(folder)]
    top = named[-1] if named else top
    requests, in_folder = list[Request](), Counter(inside(path, folder).parent for path in files)
    for path in files:
        team = path.relative_to(top).parts[0] if path.parent != top else ""
        names = metadata.FILES if in_folder[path.parent] == 1 else ()
        beside = [inside(path.with_name(name), folder) for name in names if (path.parent / name).is_file()]
        requests.append(Request(path=path, group=team, metadata=next(iter(beside), None)))
    return requests


def is_run_file(path: Path, folder: Path) -> bool:
    """Whether a file of a folder is a run: by its place, or because its first rows are those of a TREC run."""
    if not may_be_run(path):
        return False
    places = folder.name, *path.relative_to(folder).parts[:-1]
    is_output = path.parent.name == "output" and path.name.partition(".")[0] == "run"  # as TIRA has it
    is_beside = (path.parent / "output").is_dir()  # what a system of TIRA printed
    is_placed = not is_beside and not {*RUN_FOLDERS}.isdisjoint(places)
    return is_output or is_placed or bool(_tags(Source(path).head()))


def may_be_run(path: Path) -> bool:
    """Whether nothing in the name of a file says that it is something else than a run."""
    return not path.name.startswith((".", "README")) and not path.name.endswith(_NO_RUNS) and path.is_file()


def _tags(head: bytes) -> list[str]:
    """The tags of the first rows of a run; none where most lines are not rows."""
    lines = [line.split() for line in head.decode("utf-8", "replace").splitlines()[:50] if not line.startswith("#")]
    rows = [words for words in lines if len(words) in (6, 7) and _NUMBER.fullmatch(words[4])]
    return list(dict.fromkeys(words[5] for words in rows)) if 2 * len(rows) > len(lines) else []


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
