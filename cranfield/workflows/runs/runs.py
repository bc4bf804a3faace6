"""`Runs`: the runs of a collection, for Python and for the command line: its methods are the subcommands."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from cranfield._version import __version__
from cranfield.base.errors import CranfieldError, InputError, Problem, ProblemsFound, UsageError, quoted
from cranfield.base.files import Progress, Source, silent
from cranfield.base.records import Document
from cranfield.base.registry import described_options
from cranfield.base.text import (
    Column,
    Listing,
    Table,
    Value,
    counted,
    facts_table,
    lines_about,
    now,
    shortened,
    table_of,
    visible_line,
)
from cranfield.base.writing import inside, whole_file
from cranfield.runs import baseline, metadata, reading, sets
from cranfield.runs import check as run_check
from cranfield.runs.run import Run
from cranfield.store import Store, documents
from cranfield.store import runs as stored
from cranfield.workflows import corpus
from cranfield.workflows.runs.lists import Files, may_be_run, requests_for
from cranfield.workflows.runs.submit import Names, check_runs, examine, submit_runs
from cranfield.workflows.status import unpooled_runs


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
    """The runs of a collection; without one, run files can still be checked."""

    def __init__(self, store: Store | None, *, progress: Progress = silent) -> None:
        self._given, self._progress = store, progress

    @property
    def _store(self) -> Store:
        if self._given is None:
            raise UsageError("this needs a collection")
        return self._given

    def check(
        self, files: Files, *, max_depth: int = 1000, repair: Path | None = None, **reading_as: Any
    ) -> RunReport:
        """List every problem of run files; corrected copies go into the folder `repair`. Nothing is stored.

        `reading_as` says how the files are read: format, order and names.
        """
        requests = requests_for(files, **reading_as)
        checked = check_runs(self._given, requests, repair_into=repair, progress=self._progress, max_depth=max_depth)
        problems = [problem for one in checked for problem in one.problems]
        columns = ("file", "severity", "code", "message", "count", "lines", "topic", "remedy", "repairable")
        rows = [tuple(getattr(problem, name) for name in columns) for problem in problems]
        summaries, remarks = list[str](), list[str]()
        for one in checked:
            errors, warnings = counted(len(one.errors), "error"), counted(len(one.warnings), "warning")
            summaries.append(f"{one.file}: {errors}, {warnings}")
            done = "not repaired" if one.run is None else "repaired"
            remarks += [f"{done} {one.file}: {sentence}" for sentence in one.repairs]
            remarks += [f"wrote {one.repaired_file}"] if one.repairs and one.run is not None else []
        if copied := [one.repaired_file for one in checked if one.repaired_file and not one.repairs]:
            remarks.append(f"copied {counted(len(copied), 'file')} without errors to {Path(copied[0]).parent}")
        has_errors = any(one.errors and not one.repaired_file for one in checked)
        table = table_of(columns, rows)
        return RunReport(table, remarks=remarks, problems=problems, summaries=summaries, has_errors=has_errors)

    def watch(
        self, folder: Path, *, once: bool = False, seconds: float = 5, **options: Any
    ) -> Iterator[tuple[Path, RunReport]]:
        """Check each run that arrives in a folder, and write what was found beside it; options as for check.

        A file is checked when it has not changed for some seconds. With `once` the files that are there are waited
        for, and then it ends; otherwise it never does.
        """
        if not folder.is_dir():
            raise InputError(f"no such folder: {folder}")
        arrivals = Arrivals(folder, seconds)
        while True:
            for path, digest in arrivals.look():
                try:
                    # A name such as irds:x is that of a file here.
                    result = self.check([f"./{path}" if not path.is_absolute() else path], **options)
                except CranfieldError as error:
                    wrong, summary = Problem("unreadable", str(error)), f"{path}: 1 error, 0 warnings"
                    result = RunReport(table_of([], []), problems=[wrong], summaries=[summary], has_errors=True)
                try:
                    found = lines_about([problem.at(path.name) for problem in result.problems], most=MOST)
                    checked = f"SHA-256 {digest}, checked {now()} by cranfield {__version__}"
                    text = [result.summaries[0], checked, "", *found]
                    with whole_file(path.with_name(f"{path.name}{REPORT}"), replace=True) as unfinished:
                        unfinished.write_text("".join(f"{visible_line(line)}\n" for line in text), encoding="utf-8")
                    told = f"report: {path.name}{REPORT}"
                except UsageError as error:  # somebody has made a folder of that name
                    told = f"no report: {error}"
                yield path, replace(result, summaries=[f"{result.summaries[0]}; {told}"])
            if once and not arrivals.is_waiting:
                return
            time.sleep(seconds)

    def submit(
        self, files: Files, *, name: str | None = None, max_depth: int = 1000, repair: bool = False, **about: Any
    ) -> RunReport:
        """Store runs, all or none; submitting the same content again does nothing. A folder stands for its runs.

        `run_list` is a file with a team and a priority for each run. With `repair` runs are stored without the errors
        that can be repaired.
        `about` says how the files are read (format, order, names) and what is known of the runs: group, family, role,
        priority, description.
        """
        requests = requests_for(files, name=name, **about)
        if name is not None and len(requests) > 1:
            raise UsageError(f"--name names one run, and there are {len(requests)}")
        outcomes = submit_runs(self._store, requests, repair=repair, progress=self._progress, max_depth=max_depth)
        new = {one.facts.name: one.facts for one in outcomes if one.what == "submitted"}
        notes, pairs = list[str](), zip(outcomes, requests, strict=True)
        grouped = {one.facts.name for one, request in pairs if request.group}
        if alone := [name for name, facts in new.items() if name not in grouped and facts.group_name == name]:
            notes.append(f"note: no --group, so each run is its own group: {', '.join(alone)}")
        if outside := unpooled_runs(self._store, [*new.values()]):
            notes.append(
                f"note: the pool was built without {shortened(', '.join(outside), 80)}: extend it"
                f" (cranfield pool extend); or, to score a run as non-contributing, withdraw it"
                " and submit it with --new"
            )
        as_they_are = "unchanged (withdraw a run to submit it otherwise)"
        unchanged = f", {len(outcomes) - len(new):,} {as_they_are}" if len(new) < len(outcomes) else ""
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
        rows = [["" if cell is None else cell for cell in _about(run, columns).values()] for run in runs]
        full = table_of([Column(name, kind="moment") if name == "withdrawn" else name for name in columns], rows)
        return Listing(full, full.select([place for place, name in enumerate(columns) if name != "submitted"]))

    def show(self, name: str) -> RunReport:
        """Show what is known of one run, withdrawn or not, and the problems found when it was submitted."""
        run = stored.find(self._store, name, withdrawn=True)
        said = metadata.facts_of(stored.metadata(self._store, run.number) or "")
        about = _about(run, _COLUMNS if run.withdrawn else _COLUMNS[:-2])
        table = facts_table({**about, **{f"ir_metadata {name}": value for name, value in said.items()}})
        day = (run.withdrawn or "")[:10]
        remarks = [f"note: {run.name} was withdrawn on {day}; submit it again to use it"] if day else []
        return RunReport(table, remarks=remarks, problems=stored.warnings(self._store, run.number))

    def export(self, name: str, stream: BinaryIO, *, format: str = "trec") -> tuple[str, ...]:
        """Write an equivalent file: reading it gives the same topics, documents, order and scores, and in the format
        of TREC the ir_metadata header.

        A withdrawn run is written too; the note that is given says so.
        """
        store, writer = self._store, reading.run_formats.get(format)
        facts = stored.find(store, name, withdrawn=True)
        if format == "trec":
            stream.write((stored.metadata(store, facts.number) or "").encode())
        writer.write(stored.decoded(store, facts, stored.ids(store)), stream)
        when = f"{(facts.withdrawn or '')[:10]} ({facts.withdrawn_because})"
        return (f"note: {name} was withdrawn on {when}",) if facts.withdrawn else ()

    def pack(
        self, files: Files, stream: BinaryIO, *, names: Names | None = None, columns: sets.Columns = "cranfield"
    ) -> str:
        """Write run files, or all files of folders, as one Parquet set, and say how much that was.

        One run is in memory at a time. Where files have errors, those of all files are listed.
        """
        requests, problems = requests_for(files, names=names), list[Problem]()

        def runs() -> Iterator[Run]:
            written: dict[str, str] = {}
            for done, request in enumerate(requests, start=1):
                (checked,) = examine([request], run_check.Expectations(max_depth=sys.maxsize))
                problems.extend(checked.errors)
                if checked.name in written:
                    taken = f"the name {quoted(checked.name)} is already used by {written[checked.name]}"
                    problems.append(reading.problem("taken-tag", taken).at(checked.file))
                written[checked.name] = checked.file
                if checked.run is not None and not problems:
                    yield replace(checked.run, tag=checked.name)
                self._progress("packing runs", done, len(requests))

        rows = sets.write(stream, runs(), columns=columns)
        if problems:
            raise ProblemsFound("nothing was written", problems)
        return f"{counted(len(requests), 'run')}, {counted(rows, 'row')}"

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
        queries = [baseline.Query(one.id, baseline.query_text(one, fields)) for one in documents.topics(store)]
        rankings = baseline.search(system, StoredCorpus(store, self._progress), queries, depth, options or {})
        if not queries:
            raise InputError("there are no topics yet; add some with: cranfield corpus topics FILE")
        corpus.require_documents(store)
        return MadeRun(tag, rankings)


@dataclass(frozen=True)
class MadeRun:
    """A run that is searched for while it is written."""

    tag: str
    rankings: Iterator[baseline.Ranking]

    def write(self, stream: BinaryIO) -> int:
        """Write the rankings as a TREC run and give the number of lines."""
        lines = 0
        for ranking in self.rankings:
            pairs = zip(ranking.documents, ranking.scores, strict=True)
            for rank, (document, score) in enumerate(pairs, start=1):
                stream.write(f"{ranking.topic} Q0 {document} {rank} {score!r} {self.tag}\n".encode())
                lines += 1
        return lines

    def notes(self, target: Path, lines: int) -> list[str]:
        """Say what was written, and how it is submitted."""
        if not lines:
            return [f"{target} is empty: no topic has a word that occurs in a document"]
        if str(target) == "-":
            return []
        again = f"cranfield runs submit {shlex.quote(str(target))}"
        return [f"wrote {target} ({counted(lines, 'line')}); submit it with: {again}"]


# Run files that arrive in a folder, by upload or by git: when each is complete, and the report beside it.

REPORT = ".report.txt"
_UNFINISHED = re.compile(r"\.(part|partial|tmp|filepart|crdownload|swp)\Z|~\Z|\.unfinished-\d+\Z", re.IGNORECASE)
_OURS = re.compile(r"\A.*: ([0-9,]+) errors?, .*\nSHA-256 ([0-9a-f]{64}), checked .* by cranfield ")
MOST = 1000
"""How many problems a report lists."""
_BEGINNING = 10_000


@dataclass
class Arrivals:
    """The run files of a folder that are complete and have no report yet, or one with errors.

    A file is complete when it has not changed for some seconds. One from the future, written by a machine whose clock
    is ahead, is taken as it is: it is looked at again if it changes.
    """

    folder: Path
    seconds: float
    is_waiting: bool = False
    _done: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def look(self) -> Iterator[tuple[Path, str]]:
        """Those that are complete now, each with its SHA-256; `is_waiting` while others are not."""
        self.is_waiting = False
        for path in sorted(self.folder.rglob("*")):
            hidden = any(name.startswith(".") for name in path.relative_to(self.folder).parts)
            if hidden or _UNFINISHED.search(path.name):
                continue
            with suppress(OSError, CranfieldError):  # it may be gone since, or a link of somebody who wants it read
                if not may_be_run(path):
                    continue
                facts = path.stat()
                state = facts.st_size, facts.st_mtime_ns
                if self._done.get(path) == state:
                    continue
                if abs(time.time() - facts.st_mtime) < self.seconds:
                    self.is_waiting = True
                    continue
                self._done[path] = state
                digest, report = Source(inside(path, self.folder)).file_sha256, path.with_name(f"{path.name}{REPORT}")
                known = None
                if report.is_file():
                    with report.open("rb") as file:
                        known = _OURS.match(file.read(_BEGINNING).decode("utf-8", "replace"))
                if known is None or known.groups() != ("0", digest):
                    yield path, digest
        self._done = {path: state for path, state in self._done.items() if path.exists()}
