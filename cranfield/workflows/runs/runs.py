"""`Runs`: the runs of a collection, for Python and for the command line: its methods are the subcommands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, get_args

from cranfield.base.errors import InputError, Problem, ProblemsFound, UsageError, nearest, quoted
from cranfield.base.files import Progress, silent
from cranfield.base.records import Document
from cranfield.base.registry import described_options
from cranfield.base.tables import Column, Listing, Table, Value, facts_table, table_of
from cranfield.base.text import counted, now, shortened
from cranfield.runs import baseline, reading
from cranfield.runs import check as run_check
from cranfield.runs.run import Order
from cranfield.store import Store, documents
from cranfield.store import runs as stored
from cranfield.workflows.collection import read_toml
from cranfield.workflows.runs.submit import Names, Request, check_runs, submit_runs
from cranfield.workflows.status import unpooled_runs

LOWEST_PRIORITY = 1000


@dataclass(frozen=True)
class RunReport(Listing):
    """A table about runs, and the problems that were found in them.

    `summaries` count the problems of each file; `has_errors` where some are left after all repairs.
    """

    problems: Sequence[Problem] = ()
    summaries: Sequence[str] = ()
    has_errors: bool = False


_COLUMNS = (
    *("run", "tag", "group", "family", "role", "priority", "description", "ordered by", "topics", "rows"),
    *("content hash", "file", "file SHA-256", "submitted", "withdrawn", "because"),
)
_FIELDS = {
    "run": "name",
    "group": "group_name",
    "because": "withdrawn_because",
    "ordered by": "ordered_by",
    "content hash": "content_hash",
    "file": "file_name",
    "file SHA-256": "file_sha256",
}
"""What a column is called among the facts of a run, where it is called otherwise."""


def _about(run: stored.RunFacts, columns: Iterable[str]) -> dict[str, Value]:
    return {name: getattr(run, _FIELDS.get(name, name)) for name in columns}


def list_systems() -> Table:
    """The baseline systems: name, family, summary, and options with their defaults."""
    rows = [
        (name, one.family, one.summary, ", ".join(f"{opt.name}={opt.default}" for opt in described_options(one)))
        for name, one in baseline.systems.items()
    ]
    return table_of(["system", "family", Column("summary", "description"), "options"], rows)


@dataclass(frozen=True)
class StoredCorpus:
    """The documents of a collection, as the systems see them."""

    store: Store
    progress: Progress = silent

    def documents(self) -> Iterator[Document]:
        """All documents in stored order."""
        total = documents.count(self.store)
        for done, (document, _) in enumerate(documents.each(self.store), start=1):
            if done % 500 == 0:
                self.progress("reading documents", done, total)
            yield document

    def search(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Search the collection's own index."""
        return documents.rank(self.store, query, limit=limit)


class Runs:
    """The runs of a collection; without one, run files can still be checked.

    `hint` makes of a command what a user can type.
    """

    def __init__(
        self, store: Store | None, *, hint: Callable[[str], str] = "cranfield {}".format, progress: Progress = silent
    ) -> None:
        self._given, self._hint, self._progress = store, hint, progress

    @property
    def _store(self) -> Store:
        if self._given is None:
            raise UsageError("this needs a collection")
        return self._given

    def check(
        self,
        files: Sequence[Path],
        *,
        max_depth: int = 1000,
        repair: Path | None = None,
        **reading_as: Any,
    ) -> RunReport:
        """List every problem of run files; corrected copies go into the folder `repair`. Nothing is stored.

        `reading_as` says how the files are read: format, order and names.
        """
        options: Any = {"max_depth": max_depth, "repair_into": repair}
        checked = check_runs(self._given, requests_for(files, **reading_as), progress=self._progress, **options)
        problems = [problem for one in checked for problem in one.problems]
        columns = ("file", "severity", "code", "message", "count", "lines", "topic", "remedy", "repairable")
        rows = [tuple(getattr(problem, name) for name in columns) for problem in problems]
        summaries, remarks = list[str](), list[str]()
        for one in checked:
            errors, warnings = counted(len(one.errors), "error"), counted(len(one.warnings), "warning")
            summaries.append(f"{one.file}: {errors}, {warnings}")
            remarks += [f"repaired {one.file}: {sentence}" for sentence in one.repairs]
            remarks += [f"not repaired {one.file}: {sentence}" for sentence in one.not_repaired]
            remarks += [f"wrote {one.repaired_file}"] if one.repairs else []
        if copied := [one.repaired_file for one in checked if one.repaired_file and not one.repairs]:
            whole = "as it is" if len(copied) == 1 else "as they are"
            folder = Path(copied[0]).parent
            remarks.append(f"copied {counted(len(copied), 'file')} without errors to {folder}, {whole}")
        has_errors = any(one.errors and not one.repaired_file for one in checked)
        found: Any = {"problems": problems, "summaries": summaries, "has_errors": has_errors}
        return RunReport(table_of(columns, rows), remarks=remarks, **found)

    def submit(
        self, files: Sequence[Path], *, name: str | None = None, max_depth: int = 1000, **about: Any
    ) -> RunReport:
        """Store runs, all or none; submitting the same content again does nothing.

        `about` says how the files are read (format, order, names) and what is known of the runs: group, family, role,
        priority, description.
        """
        requests = requests_for(files, name=name, **about)
        if name is not None and len(requests) > 1:
            raise UsageError(f"--name names one run, and there are {len(requests)}")
        outcomes = submit_runs(self._store, requests, progress=self._progress, max_depth=max_depth)
        notes = [
            f"note: {one.facts.name} already exists; {difference} (to change it, withdraw it and submit it again)"
            for one in outcomes
            for difference in one.differences
        ]
        new = {one.facts.name for one in outcomes if one.what == "submitted"}
        pairs = zip(requests, outcomes, strict=True)
        if alone := [one.facts.name for request, one in pairs if one.what == "submitted" and not request.group]:
            notes.append(f"note: no --group, so each run is its own group: {', '.join(alone)}")
        submitted = [facts for facts in stored.facts(self._store) if facts.name in new]
        if outside := unpooled_runs(self._store, submitted):
            notes.append(
                f"note: the pool was built without {shortened(', '.join(outside), 80)}: extend it"
                f" ({self._hint('pool extend')}); or, to score a run as non-contributing, withdraw it"
                " and submit it with --new"
            )
        unchanged = f", {len(outcomes) - len(new):,} unchanged" if len(new) < len(outcomes) else ""
        notes.append(f"{counted(len(new), 'run')} submitted{unchanged}")
        rows = [
            (run.name, run.group_name, run.role, run.topics, run.rows, len(one.warnings), one.what)
            for one in outcomes
            for run in [one.facts]
        ]
        table = table_of(["run", "group", "role", "topics", "rows", "warnings", "result"], rows)
        return RunReport(table, remarks=notes, problems=[problem for one in outcomes for problem in one.warnings])

    def list(self, *, withdrawn: bool = False) -> Listing:
        """List the runs in the order they were submitted; the screen does without the moment."""
        runs = stored.facts(self._store, withdrawn=withdrawn)
        columns = ["run", "group", "family", "role", "priority", "topics", "rows", "submitted"]
        columns += ["withdrawn", "because"] if withdrawn else []
        rows = [_about(run, columns) for run in runs]
        rows = [row | {"withdrawn": row["withdrawn"] or ""} for row in rows] if withdrawn else rows
        short = [name for name in columns if name != "submitted"]
        days = [[str(row[name])[:10] if name == "withdrawn" else row[name] for name in short] for row in rows]
        return Listing(table_of(columns, [list(row.values()) for row in rows]), table_of(short, days))

    def show(self, name: str) -> RunReport:
        """Show what is known of one run, withdrawn or not, and the problems found when it was submitted."""
        run = stored.find(self._store, name, withdrawn=True)
        table = facts_table(_about(run, _COLUMNS if run.withdrawn else _COLUMNS[:-2]))
        day = (run.withdrawn or "")[:10]
        remarks = [f"note: {run.name} was withdrawn on {day}; submit it again to use it"] if day else []
        return RunReport(table, remarks=remarks, problems=stored.warnings(self._store, run.number))

    def export(self, name: str, stream: BinaryIO, *, format: str = "trec") -> tuple[str, ...]:
        """Write an equivalent file: reading it gives the same topics, documents, order and scores.

        A withdrawn run is written too; the note that is given says so.
        """
        store, writer = self._store, reading.run_formats.get(format)
        facts = stored.find(store, name, withdrawn=True)
        writer.write(stored.decoded(store, facts, stored.ids(store)), stream)
        when = f"{(facts.withdrawn or '')[:10]} ({facts.withdrawn_because})"
        return (f"note: {name} was withdrawn on {when}",) if facts.withdrawn else ()

    def withdraw(self, *names: str, because: str) -> None:
        """Take runs out, all or none; their history stays."""
        if not because.strip():
            raise UsageError("a withdrawal needs a reason: --because '…'")
        with self._store.write():
            for name in names:
                stored.find(self._store, name)
                stored.withdraw(self._store, now(), because.strip(), name)

    def make(
        self,
        system: str,
        *,
        tag: str = "",
        fields: Sequence[baseline.TopicField] = ("title",),
        depth: int = 1000,
        options: Mapping[str, Any] | None = None,
    ) -> MadeRun:
        """Search with a baseline system; what is made is written with `MadeRun.write`."""
        tag = tag or system
        if not re.fullmatch(run_check.TAG_PATTERN, tag):
            raise UsageError(
                f"{quoted(tag)} is not a valid run tag: use letters, digits and . _ + -, at most 100 characters"
            )
        store = self._store
        queries = [baseline.Query(topic.id, baseline.query_text(topic, fields)) for topic in documents.topics(store)]
        rankings = baseline.search(system, StoredCorpus(store, self._progress), queries, depth, options or {})
        if not queries:
            raise InputError("there are no topics yet; add some with: cranfield corpus topics FILE")
        if not documents.count(store):
            raise InputError("there are no documents yet; add some with: cranfield corpus add FILE…")
        return MadeRun(tag, rankings, fields)


@dataclass(frozen=True)
class MadeRun:
    """A run that is searched for while it is written."""

    tag: str
    rankings: Iterator[baseline.Ranking]
    fields: Sequence[baseline.TopicField] = ()

    def write(self, stream: BinaryIO) -> int:
        """Write the rankings as a TREC run and give the number of lines."""
        lines = 0
        for ranking in self.rankings:
            pairs = zip(ranking.documents, ranking.scores, strict=True)
            for rank, (document, score) in enumerate(pairs, start=1):
                stream.write(f"{ranking.topic} Q0 {document} {rank} {score!r} {self.tag}\n".encode())
                lines += 1
        return lines

    def notes(self, target: Path, lines: int, hint: Callable[[str], str]) -> list[str]:
        """Say what was written, and how it is submitted."""
        if not lines:
            return [f"{target} is empty: no topic has a word that occurs in a document"]
        if str(target) == "-":
            return []
        again = hint(f"runs submit {shlex.quote(str(target))}")
        more = (
            "; with the description too: --field title --field description"
            if tuple(self.fields) == ("title",)
            else ""
        )
        return [
            f"searched with the {' and '.join(self.fields)} of each topic{more}",
            f"wrote {target} ({counted(lines, 'line')}); submit it with: {again}",
        ]


# `runs.toml`: many run files and what their senders say about them, in one file.

_KINDS: dict[str, type[object]] = {
    **dict.fromkeys(("file", "name", "group", "family", "role"), str),
    "priority": int,
    **dict.fromkeys(("description", "order", "names", "format"), str),
}
_CHOICES = {"role": ("contributing", "new"), "order": get_args(Order), "names": get_args(Names)}


def requests_for(files: Sequence[Path], **given: Any) -> list[Request]:
    """One request per run file; a TOML file stands for the runs it describes. What is given overrides both."""
    known = {name: value for name, value in given.items() if value is not None}
    return [
        replace(request, **known)
        for file in files
        for request in (read_requests(file) if file.suffix == ".toml" else [Request(path=file)])
    ]


def read_requests(path: Path) -> list[Request]:
    """One request per `[[run]]` table; `file` is relative to the TOML file. Everything wrong is listed at once.

    Values that stand outside the tables (`group`, `family`, `order` …) hold for all of them.
    """
    content = read_toml(path)
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
    return [Request(path=path.parent / entry.pop("file"), **entry) for entry in merged]


def _entry_problems(entry: dict[str, Any]) -> list[str]:
    problems = [] if "file" in entry else ["'file' is missing"]
    for name, value in entry.items():
        if name not in _KINDS:
            near = nearest(name, list(_KINDS))
            guess = f"; did you mean {quoted(near[0])}?" if near else ""
            problems.append(f"unknown entry {quoted(name)}{guess} (known: {', '.join(_KINDS)})")
        elif not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            problems.append(f"{name} is {quoted(value)}, which has the wrong type")
        elif name in _CHOICES and value not in _CHOICES[name]:
            problems.append(f"{name} is {quoted(value)}; it must be one of {', '.join(_CHOICES[name])}")
        elif isinstance(value, int) and not 1 <= value <= LOWEST_PRIORITY:
            problems.append(f"priority is {value}; it must be between 1 and {LOWEST_PRIORITY}")
    return problems
