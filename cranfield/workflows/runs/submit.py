"""Run files are read, checked against a collection, and stored: all of a command or none, and nothing twice."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from cranfield.base.errors import Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.base.files import Progress, Source, reading_threads, silent
from cranfield.base.registry import deferred
from cranfield.base.text import counted, now, storable
from cranfield.base.writing import whole_file
from cranfield.runs import check, encoding, metadata, reading
from cranfield.runs import run as runs_run
from cranfield.runs.run import Order, Run
from cranfield.store import Store, documents
from cranfield.store import runs as stored

with deferred:
    from pyarrow import compute as pc


Names = Literal["tag", "file"]

WORKERS = 2
LOAD_ALL_BELOW = 2_000_000
"""Up to so many documents all ids of the corpus are held in memory to check runs against; above, they are probed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run file, and what its sender says about it; `metadata` is a file of ir_metadata beside it."""

    path: Path
    format: str | None = None
    order: Order = "score"
    names: Names = "tag"
    name: str = ""
    group: str = ""
    family: str = ""
    role: str | None = None
    priority: int | None = None
    description: str = ""
    metadata: Path | None = None


@dataclass(frozen=True)
class CheckedRun:
    """A run file after reading and checking; `run` is None where errors keep it out.

    After a repair `run` is the repaired one, and `repairs` says what was changed; without a run it says why nothing
    was. `repaired_file` is its corrected copy, or that of a file without errors.
    """

    request: Request
    name: str
    problems: tuple[Problem, ...]
    run: Run | None = None
    file_sha256: str = ""
    metadata: str = ""
    repairs: tuple[str, ...] = ()
    repaired_file: str = ""

    @property
    def file(self) -> str:
        """The name of the file, as problems have it."""
        return Source(self.request.path).name

    @property
    def content_hash(self) -> str:
        """The hash of the ranking, where nothing is wrong with it."""
        return "" if self.run is None or self.errors else self.run.content_hash

    @property
    def mended(self) -> CheckedRun:
        """The run as it can be stored: what was repaired are warnings in the place of its errors."""
        if self.run is None:
            return self
        changes = [reading.problem("repaired", text).at(self.file) for text in self.repairs]
        return replace(self, problems=(*changes, *self.warnings))

    @property
    def errors(self) -> list[Problem]:
        """What keeps the run out."""
        return [problem for problem in self.problems if problem.is_error]

    @property
    def warnings(self) -> list[Problem]:
        """What is stored with the run."""
        return [problem for problem in self.problems if not problem.is_error]


class Submitted(NamedTuple):
    """What became of one run, and the warnings kept with it."""

    facts: stored.RunFacts
    what: str
    warnings: tuple[Problem, ...] = ()


def examine(
    requests: Sequence[Request],
    expectations: check.Expectations,
    *,
    repair: bool = False,
    progress: Progress = silent,
) -> list[CheckedRun]:
    """Read, check and rank files, two at a time: parsing and sorting leave Python's lock most of the time.

    With `repair` a run that can be repaired is.
    """

    def examine_one(request: Request) -> CheckedRun:
        source = Source(request.path)
        log.info("reading %s", source.name)
        try:
            rows = reading.read_rows(source, format=request.format)
        except SourceError as error:
            return CheckedRun(request, source.stem, (error.problem,))
        except ProblemsFound as error:
            return CheckedRun(request, source.stem, error.problems)
        if request.metadata is not None and not rows.metadata:
            rows = replace(rows, metadata=metadata.commented(Source(request.metadata).text()))
        given = request.name or (source.stem if request.names == "file" else None)
        found = tuple(check.check(rows, replace(expectations, order=request.order, name=given)))
        name = rows.name if given is None else given
        run, said = None, list[str]()
        if not any(problem.is_error for problem in found):
            run = runs_run.ranked(rows, order=request.order)
        elif repair:
            depth = expectations.max_depth
            run, said = check.repair(rows, found, name=name, order=request.order, max_depth=depth)
        if run is not None:
            _ = run.content_hash  # takes long, so that it is made in this thread
        return CheckedRun(request, name, found, run, source.file_sha256, rows.metadata, tuple(said))

    done: list[CheckedRun] = []
    with reading_threads(WORKERS) as threads:
        for checked in threads.map(examine_one, requests):
            done.append(checked)
            progress("checking runs", len(done), len(requests))
    return done


def expectations_of(store: Store | None, **limits: Any) -> check.Expectations:
    """What a collection expects of a run; without one, what every run must keep to. Limit: max_depth."""
    if store is None:
        return check.Expectations(**limits)
    lock, loaded = Lock(), list[pa.Array]()

    def known(ids: pa.Array) -> np.ndarray:
        """Say of each id whether it is a document; several threads call this."""
        with lock:
            if documents.count(store) < LOAD_ALL_BELOW:
                if not loaded:
                    loaded.append(pa.array(documents.ids(store), pa.large_string()))
                return np.asarray(pc.is_in(ids.cast(pa.large_string()), value_set=loaded[0]))
            words = ids.to_pylist()
            found = documents.content_hashes(store, words)
            return np.fromiter((word in found for word in words), dtype=bool, count=len(words))

    is_whole = documents.count(store) and not documents.outside_sources(store)
    topics = frozenset(documents.topic_ids(store)) or None
    return check.Expectations(topics=topics, known_documents=known if is_whole else None, **limits)


# What runs are beside the others of the collection: copies of one another, or stored.


def compared(checked: Sequence[CheckedRun], standing: Mapping[str, str]) -> list[CheckedRun]:
    """The runs with what is to be said of them beside others: those of the collection, and of the same command.

    It is an error if a name is taken by another content, and a warning if runs before it have the same content.
    """
    contents: dict[str, set[str]] = {}
    for one in checked:
        contents.setdefault(one.name, set()).add(one.content_hash)
    known, found = dict(standing), list[CheckedRun]()
    for one in checked:
        said, content = list[Problem](), one.content_hash
        if (taken := standing.get(one.name, content) != content) or len(contents[one.name]) > 1:
            by = "a run with different content" if taken else "another file of this command"
            remedy = "name it with --name or by its file with --names file, or withdraw the other run first"
            said = [Problem("taken-tag", f"the name {quoted(one.name)} is already used by {by}", remedy=remedy)]
        elif not one.errors and known.get(one.name) != content:
            if same := [name for name, other in known.items() if other == content]:
                message = f"same content as {', '.join(map(quoted, same))}"
                said = [reading.problem("identical-run", message, count=len(same))]
            known[one.name] = content
        placed = (problem.at(str(one.request.path)) for problem in said)
        found.append(replace(one, problems=(*one.problems, *placed)))
    return found


def submit_runs(
    store: Store, requests: Sequence[Request], *, repair: bool = False, progress: Progress = silent, **limits: int
) -> list[Submitted]:
    """Check and store runs in one transaction; an error in one of them keeps all of them out.

    With `repair` a run is stored without the errors that can be repaired. A run whose name and content are there
    already is left alone. Files are read and checked before the write lock is taken; what depends on the other runs
    of the collection is decided under it.
    """
    checked = [
        one.mended for one in examine(requests, expectations_of(store, **limits), repair=repair, progress=progress)
    ]
    _refuse(checked)
    return store_runs(store, checked, progress=progress)


def store_runs(store: Store, checked: Sequence[CheckedRun], *, progress: Progress = silent) -> list[Submitted]:
    """Store runs without errors in one transaction."""
    outcomes: dict[str, Submitted] = {}
    with store.write():
        standing = {facts.name: facts.content_hash for facts in stored.facts(store)}
        checked = compared(checked, standing)
        _refuse(checked)
        new = list({one.name: one for one in checked if standing.get(one.name) != one.content_hash}.values())
        # Rankings are stored in the codes of the collection's id tables, to which new ids are added.
        read = [one.run for one in new if one.run is not None]
        known_topics, known_documents = stored.ids(store)
        topic_codes, new_topics = encoding.codes_of(known_topics, [run.topic_ids for run in read])
        document_codes, new_documents = encoding.codes_of(known_documents, [run.document_ids for run in read])
        with ThreadPoolExecutor(WORKERS) as threads:
            blocks = threads.map(encoding.encode, read, topic_codes, document_codes)
            for one, block in zip(new, blocks, strict=True):
                facts, said = _facts(one), storable(one.metadata)
                kept: Any = {"ranking": block, "encoding": encoding.ENCODING, "metadata": said}
                stored.add(store, facts, warnings=one.warnings, **kept)
                outcomes[one.name] = Submitted(facts, "submitted", tuple(one.warnings))
                progress("storing runs", len(outcomes), len(new))
        stored.add_ids(store, "topic", new_topics)
        stored.add_ids(store, "document", new_documents)
    known = {facts.name: facts for facts in stored.facts(store)}
    return [
        outcomes.pop(one.name) if one.name in outcomes else Submitted(known[one.name], "there already")
        for one in checked
    ]


def _refuse(checked: Sequence[CheckedRun]) -> None:
    if errors := [problem for one in checked for problem in one.errors]:
        refused = counted(len({problem.file for problem in errors}), "file")
        repairable = any(problem.repairable for problem in errors)
        fixes = "cranfield runs check --repair FOLDER fixes what it can, runs submit --repair too"
        hint = f"; {fixes}" if repairable else ""
        everything = [problem for one in checked for problem in one.problems]
        raise ProblemsFound(f"{refused} rejected, nothing was submitted{hint}", everything)


def _facts(one: CheckedRun) -> stored.RunFacts:
    request, run = one.request, one.run
    assert run is not None, "a run with errors was refused before"
    said = metadata.facts_of(one.metadata)
    return stored.RunFacts(
        name=one.name,
        tag=run.tag,
        group_name=request.group or storable(said.get("actor.team", "")) or one.name,
        family=request.family or ("manual" if said.get("method.automatic", "").lower() == "false" else ""),
        role=request.role or "contributing",
        priority=request.priority or 1,
        description=request.description,
        ordered_by=request.order,
        topics=len(run.topic_ids),
        rows=run.row_count,
        content_hash=one.content_hash,
        file_name=storable(Source(request.path).data_set or Path(request.path).name),
        file_sha256=one.file_sha256,
        submitted=now(),
    )


# Every problem of run files, and corrected copies of those that can be repaired.


def check_runs(
    store: Store | None,
    requests: Sequence[Request],
    *,
    repair_into: Path | None = None,
    progress: Progress = silent,
    **limits: int,
) -> list[CheckedRun]:
    """Check files against the collection (or, without one, by themselves); nothing is stored.

    Corrected copies go into the new folder `repair_into`, and files without errors as they are, so that the folder is
    complete but for what has to be fixed by hand.
    """
    copies = [None] * len(requests) if repair_into is None else _copies(requests, repair_into)
    checked = examine(requests, expectations_of(store, **limits), repair=repair_into is not None, progress=progress)
    standing = stored.facts(store) if store is not None else []
    complete = compared(checked, {facts.name: facts.content_hash for facts in standing})
    return [one if copy is None else _copied(one, copy) for one, copy in zip(complete, copies, strict=True)]


def _copies(requests: Sequence[Request], folder: Path) -> list[Path]:
    """The file each corrected copy would be; refused where one would take the place of another file."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists: pass a new or an empty folder to --repair")
    copies, suffixes = [], reading.run_formats.get("trec").suffixes
    for source in [Source(request.path) for request in requests]:
        # A copy is plain TREC, whatever the file was, and is called so.
        is_trec = source.bare_name == source.stem or source.bare_name.endswith(suffixes)
        copies.append(folder / (source.bare_name if is_trec and not source.is_stdin else f"{source.stem}.run"))
    often = Counter(str(copy).casefold() for copy in copies)
    if alike := [str(copy) for copy in copies if often[str(copy).casefold()] > 1]:
        raise UsageError(f"several corrected copies would be called {alike[0]}; repair them one at a time")
    return copies


def _copied(one: CheckedRun, copy: Path) -> CheckedRun:
    """Write a corrected copy as a TREC file where that leaves no error; else say what stands in the way.

    A file without errors is copied as it is; one that came through a pipe is gone, and written like the others.
    """
    by_hand = check.by_hand_first(one.problems)
    if by_hand or one.run is None:
        return replace(one, run=None, repairs=tuple(by_hand) or one.repairs)
    as_it_is = not one.errors and one.request.path.is_file()
    copy = copy.with_name(one.request.path.name) if as_it_is else copy
    copy.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(copy) as unfinished:
        if as_it_is:
            shutil.copyfile(one.request.path, unfinished)
        else:
            with unfinished.open("wb") as stream:
                stream.write(one.metadata.encode())
                reading.run_formats.get("trec").write(one.run, stream)
    return replace(one, repaired_file=str(copy))
