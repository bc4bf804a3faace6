"""Run files are read, checked against a collection, and stored: all of a command or none, and nothing twice."""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from cranfield.base.errors import Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.base.files import Progress, Source, silent, whole_file, workers
from cranfield.base.registry import deferred
from cranfield.base.text import counted, now, storable
from cranfield.runs import check, encoding, reading
from cranfield.runs import run as runs_run
from cranfield.runs.columns import Codes
from cranfield.runs.encoding import CodedRun
from cranfield.runs.run import Rows, Run
from cranfield.store import Store, documents
from cranfield.store import runs as stored

with deferred:
    import pyarrow.compute as pc


Order = Literal["score", "rank", "file"]
Names = Literal["tag", "file"]

WORKERS = 2
LOAD_ALL_BELOW = 2_000_000
"""Up to so many documents all ids of the corpus are held in memory to check runs against; above, they are probed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run file, and what its sender says about it."""

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


@dataclass(frozen=True)
class Examined:
    """A run file after reading and checking. `run` is None where errors keep it out."""

    request: Request
    name: str
    problems: tuple[Problem, ...]
    run: Run | None = None
    rows: Rows | None = None
    content_hash: str = ""
    file_sha256: str = ""

    def of_severity(self, severity: str) -> list[Problem]:
        """The errors, which keep the run out, or the warnings, which are stored with it."""
        return [problem for problem in self.problems if problem.severity == severity]


@dataclass(frozen=True)
class Submitted:
    """What became of one run: the warnings kept with it, or how the request differs from the run that is there."""

    facts: stored.RunFacts
    what: str
    warnings: tuple[Problem, ...] = ()
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What was found in one file, and what was mended.

    `repairs` says what is other in `repaired_file`, which is the file as it is where there are none; `not_repaired`
    why there is none, though one was asked for.
    """

    file: str
    name: str
    problems: tuple[Problem, ...]
    repairs: tuple[str, ...] = ()
    repaired_file: str = ""
    not_repaired: tuple[str, ...] = ()
    errors_left: int = 0


def examine(
    requests: Sequence[Request],
    expectations: check.Expectations,
    *,
    keep_rows: bool = False,
    progress: Progress = silent,
) -> list[Examined]:
    """Read, check and rank files, two at a time: parsing and sorting leave Python's lock most of the time."""

    def examine_one(request: Request) -> Examined:
        source = Source(request.path)
        log.info("reading %s", source.name)
        try:
            rows = reading.read_rows(source, format=request.format)
        except SourceError as error:
            return Examined(request, source.stem, (error.problem,))
        except ProblemsFound as error:
            return Examined(request, source.stem, error.problems)
        given = request.name or (source.stem if request.names == "file" else None)
        found = tuple(check.check(rows, replace(expectations, order=request.order, name=given)))
        name, kept = rows.name if given is None else given, rows if keep_rows else None
        examined = Examined(request, name, found, rows=kept, file_sha256=rows.file_sha256)
        if examined.of_severity("error"):
            return examined
        run = runs_run.ranked(rows, order=request.order)
        return replace(examined, run=run, content_hash=run.content_hash)

    done: list[Examined] = []
    with workers(WORKERS) as threads:
        for examined in threads.map(examine_one, requests):
            done.append(examined)
            progress("checking runs", len(done), len(requests))
    return done


def expectations_of(store: Store | None, **limits: Any) -> check.Expectations:
    """What a collection expects of a run; without one, what every run must keep to. Limits: max_depth, min_depth."""
    if store is None:
        return check.Expectations(**limits)
    known_documents = _known_documents(store) if documents.count(store) else None
    topics = frozenset(documents.topic_ids(store)) or None
    return check.Expectations(topics=topics, known_documents=known_documents, **limits)


def _known_documents(store: Store) -> Callable[[pa.Array], np.ndarray]:
    """A function that says of each id whether it is a document; safe to call from several threads."""
    lock = Lock()
    loaded: list[pa.Array] = []

    def known(ids: pa.Array) -> np.ndarray:
        with lock:
            if documents.count(store) < LOAD_ALL_BELOW:
                if not loaded:
                    loaded.append(pa.array(documents.ids(store), pa.large_string()))
                return np.asarray(pc.is_in(ids.cast(pa.large_string()), value_set=loaded[0]))
            words = ids.to_pylist()
            found = documents.known(store, words)
            return np.fromiter((word in found for word in words), dtype=bool, count=len(words))

    return known


# Runs put into the collection's codes: every id once, the rankings as blocks of integers.


@dataclass(frozen=True)
class CodedRuns:
    """New runs in codes and as blocks, by name, and the ids that the collection's tables lack so far."""

    examined: tuple[Examined, ...]
    coded: dict[str, CodedRun]
    blocks: dict[str, bytes]
    new_topics: pa.Array
    new_documents: pa.Array
    first_topic: int
    first_document: int


def code_runs(store: Store | None, examined: Sequence[Examined], *, progress: Progress = silent) -> CodedRuns:
    """Code several runs at once, so that the id tables are gone through once and not once per run."""
    runs = [one.run for one in examined if one.run is not None]
    nothing = encoding.as_ids([])
    known_topics, known_documents = stored.ids(store) if store is not None else (nothing, nothing)
    topic_codes, new_topics = _coded(known_topics, [run.topic_ids for run in runs])
    document_codes, new_documents = _coded(known_documents, [run.document_ids for run in runs])

    def packed(place: int) -> tuple[CodedRun, bytes]:
        one = encoding.coded(runs[place], topic_codes[place], document_codes[place])
        return one, encoding.encode(one.topics, one.offsets, one.documents, one.scores)

    coded: dict[str, CodedRun] = {}
    blocks: dict[str, bytes] = {}
    with ThreadPoolExecutor(WORKERS) as threads:
        for one, (codes, block) in zip(examined, threads.map(packed, range(len(runs))), strict=True):
            coded[one.name], blocks[one.name] = codes, block
            progress("storing runs", len(coded), len(runs))
    firsts = len(known_topics), len(known_documents)
    return CodedRuns(tuple(examined), coded, blocks, new_topics, new_documents, *firsts)


def _coded(known: pa.Array, lists: Sequence[pa.Array]) -> tuple[list[Codes], pa.Array]:
    """The codes of the ids of each list, and all ids that are new, in the order of their codes.

    Two threads code half of the lists each, the first together with the known ids, which so keep their codes;
    then the distinct ids of the second half are looked up among those of the first.
    """
    if not lists:
        return [], known.slice(len(known))
    if len(lists) == 1:
        found, new = encoding.codes_of(known, lists[0])
        return [found], new

    def coded(some: Sequence[pa.Array]) -> tuple[pa.Array, Codes]:
        empty = pa.array([], pa.large_string())
        encoded = pa.concat_arrays([empty, *map(encoding.as_ids, some)]).dictionary_encode()
        return encoded.dictionary, np.asarray(encoded.indices, dtype=np.int32)

    half = len(lists) // 2
    with ThreadPoolExecutor(WORKERS) as threads:
        (ids, first), (others, second) = threads.map(coded, [[known, *lists[:half]], lists[half:]])
    codes, new = encoding.codes_of(ids, others)
    everything = np.concatenate([first[len(known) :], codes[second]])
    ends = np.cumsum([len(one) for one in lists])[:-1]
    return np.split(everything, ends), pa.concat_arrays([ids.slice(len(known)), new])


def likeness_warnings(store: Store | None, new: CodedRuns) -> dict[str, list[Problem]]:
    """For each new run the runs, stored or new before it, that it is (nearly) the same as."""

    def top_of(run: CodedRun) -> check.Top:
        return check.top(run.topics, run.offsets, run.documents)

    standing = stored.facts(store) if store is not None else []
    hashes = {facts.name: facts.content_hash for facts in standing}
    tops = {facts.name: top_of(stored.fetch(store, facts.name).run()) for facts in standing if store is not None}
    warned: dict[str, list[Problem]] = {}
    for one in new.examined:
        top, found = top_of(new.coded[one.name]), []
        same = [name for name, known in hashes.items() if known == one.content_hash]
        near = {name: check.likeness(top, known) for name, known in tops.items() if name not in same}
        alike = [(name, share) for name, share in near.items() if share >= check.NEARLY_IDENTICAL]
        if same:
            message = f"same content as {', '.join(quoted(name) for name in same)}"
            found.append(reading.problem("identical-run", message, count=len(same)))
        if alike:
            names = ", ".join(f"{quoted(name)} ({share:.0%})" for name, share in alike)
            message = f"nearly the same top 10 as {names}"
            found.append(reading.problem("nearly-identical-run", message, count=len(alike)))
        warned[one.name] = [problem.at(str(one.request.path)) for problem in found]
        hashes[one.name], tops[one.name] = one.content_hash, top
    return warned


def submit_runs(
    store: Store, requests: Sequence[Request], *, progress: Progress = silent, **limits: int
) -> list[Submitted]:
    """Check and store runs in one transaction; an error in one of them keeps all of them out.

    A run whose name and content are there already is left alone. Files are read and checked before the write
    lock is taken; what depends on the other runs of the collection is decided under it.
    """
    examined = examine(requests, expectations_of(store, **limits), progress=progress)
    _refuse(examined, [])
    outcomes: dict[str, Submitted] = {}
    with store.write():
        standing = {facts.name: facts.content_hash for facts in stored.facts(store)}
        _refuse(examined, _name_problems(examined, standing))
        fresh = list({one.name: one for one in examined if standing.get(one.name) != one.content_hash}.values())
        coded = code_runs(store, fresh, progress=progress)
        warned = likeness_warnings(store, coded)
        for one in coded.examined:
            facts = _facts(one)
            warnings = [*one.of_severity("warning"), *warned.get(one.name, [])]
            block = coded.blocks[one.name]
            stored.add(store, facts, ranking=block, encoding=encoding.ENCODING, warnings=warnings)
            outcomes[one.name] = Submitted(facts, "submitted", warnings=tuple(warnings))
        stored.add_ids(store, "topic", coded.new_topics, first_code=coded.first_topic)
        stored.add_ids(store, "document", coded.new_documents, first_code=coded.first_document)
    known = {facts.name: facts for facts in stored.facts(store)}
    return [
        outcomes.pop(one.name)
        if one.name in outcomes
        else Submitted(known[one.name], "there already", differences=_differences(one.request, known[one.name]))
        for one in examined
    ]


def _refuse(examined: Sequence[Examined], further: Sequence[Problem]) -> None:
    errors = [*(problem for one in examined for problem in one.of_severity("error")), *further]
    if errors:
        refused = counted(len({problem.file for problem in errors}), "file")
        repairable = any(problem.repairable for problem in errors)
        mend = "; cranfield runs check --repair FOLDER fixes what it can" if repairable else ""
        everything = [*(problem for one in examined for problem in one.problems), *further]
        raise ProblemsFound(f"{refused} rejected, nothing was submitted{mend}", everything)


def _name_problems(examined: Sequence[Examined], standing: dict[str, str]) -> list[Problem]:
    """The runs whose name is taken: by another content in the collection, or by another file of the command."""
    contents: dict[str, set[str]] = {}
    for one in examined:
        contents.setdefault(one.name, set()).add(one.content_hash)
    remedy = "name it with --name or by its file with --names file, or withdraw the other run first"
    found = []
    for one in examined:
        taken = standing.get(one.name, one.content_hash) != one.content_hash
        if taken or len(contents[one.name]) > 1:
            by = "a run with different content" if taken else "another file of this command"
            message = f"the name {quoted(one.name)} is already used by {by}"
            found.append(Problem("taken-tag", message, file=str(one.request.path), remedy=remedy))
    return found


def _facts(one: Examined) -> stored.RunFacts:
    request, run = one.request, one.run
    assert run is not None, "a run with errors was refused before"
    return stored.RunFacts(
        name=one.name,
        tag=run.tag,
        group_name=request.group or one.name,
        family=request.family,
        role=request.role or "contributing",
        priority=request.priority or 1,
        description=request.description,
        ordered_by=request.order,
        topics=len(run.topic_ids),
        rows=run.row_count,
        content_hash=one.content_hash,
        file_name=storable(Path(request.path).name),
        file_sha256=one.file_sha256,
        submitted=now(),
    )


def _differences(request: Request, facts: stored.RunFacts) -> tuple[str, ...]:
    """Say what was told otherwise of a run that was there already."""
    told = {
        "group": (request.group, facts.group_name),
        "family": (request.family, facts.family),
        "role": (request.role, facts.role),
        "priority": (request.priority, facts.priority),
        "description": (request.description, facts.description),
        "order": (request.order, facts.ordered_by),
    }
    return tuple(
        f"its {name} stays {known!r}, not {new!r}"
        for name, (new, known) in told.items()
        if new not in (None, "", known)
    )


# Every problem of run files, and corrected copies of those that can be mended.


def check_runs(
    store: Store | None,
    requests: Sequence[Request],
    *,
    repair_into: Path | None = None,
    progress: Progress = silent,
    **limits: int,
) -> list[Checked]:
    """Check files against the collection (or, without one, by themselves); nothing is stored.

    Corrected copies go into the folder `repair_into`, and files without errors as they are, so that the folder is
    complete but for what has to be fixed by hand. A name that is taken there is refused before anything is read.
    """
    copies = [None] * len(requests) if repair_into is None else _copies(requests, repair_into)
    expectations = expectations_of(store, **limits)
    examined = examine(requests, expectations, keep_rows=repair_into is not None, progress=progress)
    # What can be said only beside the other runs: names that are taken, runs that are there already.
    standing = stored.facts(store) if store is not None else []
    known = {facts.name: facts.content_hash for facts in standing}
    taken: dict[str, list[Problem]] = {}
    for problem in _name_problems(examined, known):
        taken.setdefault(problem.file, []).append(problem)
    sound = [one for one in examined if one.run is not None and str(one.request.path) not in taken]
    new = code_runs(store, [one for one in sound if known.get(one.name) != one.content_hash])
    alike = likeness_warnings(store, new)
    outcomes = []
    for one, copy in zip(examined, copies, strict=True):
        found = (*one.problems, *taken.get(str(one.request.path), []), *alike.get(one.name, []))
        complete = replace(one, problems=found)
        errors = len(complete.of_severity("error"))
        checked = Checked(Source(one.request.path).name, one.name, found, errors_left=errors)
        outcomes.append(checked if copy is None else _repaired(complete, checked, copy, expectations.max_depth))
    return outcomes


def _copies(requests: Sequence[Request], folder: Path) -> list[Path]:
    """The file each corrected copy would be; refused where one would take the place of another file."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: pass a folder to --repair")
    copies, suffixes = [], reading.run_formats.get("trec").suffixes
    for source in [Source(request.path) for request in requests]:
        # A copy is plain TREC, whatever the file was, and is called so.
        is_trec = source.bare_name == source.stem or source.bare_name.endswith(suffixes)
        copies.append(folder / (source.bare_name if is_trec and not source.is_stdin else f"{source.stem}.run"))
    often = Counter(str(copy).casefold() for copy in copies)
    for request, copy in zip(requests, copies, strict=True):
        there = next((path for path in (copy, copy.with_name(request.path.name)) if path.exists()), None)
        if there is not None:
            raise UsageError(f"{there} already exists: choose another folder with --repair")
        if often[str(copy).casefold()] > 1:
            same = "several corrected copies would have this name"
            raise UsageError(f"{request.path} cannot be written to {copy}: {same}; repair them one at a time")
    return copies


def _repaired(one: Examined, checked: Checked, copy: Path, max_depth: int) -> Checked:
    """Write a corrected copy as a TREC file where that leaves no error; else say what stands in the way.

    A file without errors is copied as it is; one that came through a pipe is gone, and written like the others.
    """
    if one.rows is None or (checked.errors_left and not any(problem.repairable for problem in one.problems)):
        return replace(checked, not_repaired=tuple(check.by_hand_first(one.problems)))
    run, sentences, as_it_is = one.run, list[str](), not checked.errors_left and one.request.path.is_file()
    if checked.errors_left:
        options: Any = {"name": one.name, "order": one.request.order, "max_depth": max_depth}
        run, sentences = check.repair(one.rows, one.problems, **options)
    if run is None:
        return replace(checked, not_repaired=tuple(sentences))
    copy = copy.with_name(one.request.path.name) if as_it_is else copy
    copy.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(copy) as unfinished:
        if as_it_is:
            shutil.copyfile(one.request.path, unfinished)
        else:
            with unfinished.open("wb") as stream:
                reading.run_formats.get("trec").write(run, stream)
    return replace(checked, repairs=tuple(sentences), repaired_file=str(copy), errors_left=0)
