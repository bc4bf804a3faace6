"""Store runs: all of a command or none, and nothing twice."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from cranfield.base.errors import Problem, ProblemsFound, SourceError, UsageError, quoted
from cranfield.base.files import Source, whole_file
from cranfield.base.progress import Progress, now, silent, workers
from cranfield.base.text import counted, storable
from cranfield.runs.problems import problem
from cranfield.runs.reading import run_formats
from cranfield.store.documents import document_count, document_ids, known_among, topic_ids
from cranfield.store.runs import RunFacts, add_ids, add_run, coded_run, id_table, run_facts
from cranfield.store.store import Store
from cranfield.workflows.status import unpooled_runs

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.check import Expectations, Top
    from cranfield.runs.encoding import CodedRun, IdTable
    from cranfield.runs.run import Codes, Rows, Run


# Read, check and rank run files: what `runs check` and `runs submit` share.

Order = Literal["score", "rank", "file"]
Names = Literal["tag", "file"]

WORKERS = 2
LOAD_ALL_BELOW = 2_000_000
"""Up to so many documents all ids of the corpus are held in memory to check runs against; above, they are probed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True)
class Examined:
    """A run file after reading and checking. `run` is None where errors keep it out."""

    request: Request
    name: str
    problems: tuple[Problem, ...]
    run: Run | None = None
    rows: Rows | None = None
    content_hash: str = ""
    file_sha256: str = ""

    @property
    def errors(self) -> list[Problem]:
        """What keeps the run out."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """What is kept, and stored with the run."""
        return [problem for problem in self.problems if problem.severity == "warning"]


def examine(
    requests: Sequence[Request], expectations: Expectations, *, keep_rows: bool = False, progress: Progress = silent
) -> list[Examined]:
    """Read, check and rank files, two at a time: parsing and sorting leave Python's lock most of the time."""
    done: list[Examined] = []
    with workers(WORKERS) as threads:
        for examined in threads.map(
            lambda request: _examine_one(request, expectations, keep_rows=keep_rows), requests
        ):
            done.append(examined)
            progress("checking runs", len(done), len(requests))
    return done


def _examine_one(request: Request, expectations: Expectations, *, keep_rows: bool) -> Examined:
    from cranfield.runs.check import check
    from cranfield.runs.order import ranked
    from cranfield.runs.reading import read_rows

    source = Source(request.path)
    log.info("reading %s", source.name)
    try:
        rows = read_rows(source, format=request.format)
    except SourceError as error:
        return Examined(request, source.stem, (error.problem,))
    except ProblemsFound as error:
        return Examined(request, source.stem, error.problems)
    given = request.name or (source.stem if request.names == "file" else None)
    problems = tuple(check(rows, replace(expectations, order=request.order, name=given)))
    name = rows.name if given is None else given
    examined = Examined(request, name, problems, rows=rows if keep_rows else None, file_sha256=rows.file_sha256)
    if examined.errors:
        return examined
    run = ranked(rows, order=request.order)
    return replace(examined, run=run, content_hash=run.content_hash)


def expectations_of(store: Store | None, *, max_depth: int = 1000, min_depth: int = 1) -> Expectations:
    """Give what a collection expects of a run; without a collection, only what every run must keep to."""
    from cranfield.runs.check import Expectations

    if store is None:
        return Expectations(max_depth=max_depth, min_depth=min_depth)
    return Expectations(
        topics=frozenset(topic_ids(store)) or None,
        known_documents=_known_documents(store) if document_count(store) else None,
        max_depth=max_depth,
        min_depth=min_depth,
    )


def _known_documents(store: Store) -> Callable[[pa.Array], np.ndarray]:
    """Give a function that says of each id whether it is a document; safe to call from several threads."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    lock = Lock()
    loaded: list[pa.Array] = []

    def known(ids: pa.Array) -> np.ndarray:
        with lock:
            if document_count(store) < LOAD_ALL_BELOW:
                if not loaded:
                    loaded.append(pa.array(document_ids(store), pa.large_string()))
                return np.asarray(pc.is_in(ids.cast(pa.large_string()), value_set=loaded[0]))
            words = ids.to_pylist()
            found = known_among(store, words)
            return np.fromiter((word in found for word in words), dtype=bool, count=len(words))

    return known


def standing_hashes(store: Store) -> dict[str, str]:
    """Give the name of each standing run with its content hash."""
    return {facts.name: facts.content_hash for facts in run_facts(store)}


# Runs put into the collection's codes: every id once, the rankings as blocks of integers.


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """New runs in codes, and the ids that the collection's tables lack so far."""

    examined: tuple[Examined, ...]
    coded: dict[str, CodedRun]
    blocks: dict[str, bytes]
    new_topics: pa.Array
    new_documents: pa.Array
    first_topic: int
    first_document: int


def code_runs(store: Store | None, examined: Sequence[Examined], *, progress: Progress = silent) -> CodedRuns:
    """Code several runs at once, so that the id tables are gone through once and not once per run."""
    from cranfield.runs.encoding import IdTable, coded, encode

    runs = [one.run for one in examined if one.run is not None]
    topic_table = id_table(store, "topic") if store is not None else IdTable.empty()
    document_table = id_table(store, "document") if store is not None else IdTable.empty()
    topic_codes, new_topics = _extended(topic_table, [run.topic_ids for run in runs])
    document_codes, new_documents = _extended(document_table, [run.document_ids for run in runs])

    def packed(place: int) -> tuple[CodedRun, bytes]:
        one = coded(runs[place], topic_codes[place], document_codes[place])
        return one, encode(one.topics, one.offsets, one.documents, one.scores)

    with ThreadPoolExecutor(WORKERS) as workers:
        pairs = []
        for pair in workers.map(packed, range(len(runs))):
            pairs.append(pair)
            progress("storing runs", len(pairs), len(runs))
    names = [one.name for one in examined]
    return CodedRuns(
        examined=tuple(examined),
        coded=dict(zip(names, [one for one, _ in pairs], strict=True)),
        blocks=dict(zip(names, [block for _, block in pairs], strict=True)),
        new_topics=new_topics,
        new_documents=new_documents,
        first_topic=len(topic_table),
        first_document=len(document_table),
    )


def _extended(table: IdTable, lists: Sequence[pa.Array]) -> tuple[list[Codes], pa.Array]:
    """Give the codes of the ids of each list, and all ids that are new, in the order of their codes.

    Two threads code half of the lists each, the first together with the table, so that known ids keep their codes;
    then the distinct ids of the second half are looked up among those of the first.
    """
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.encoding import IdTable

    if not lists:
        return [], table.ids.slice(len(table))
    if len(lists) == 1:
        found, new = table.extended(lists[0])
        return [found], new
    half = len(lists) // 2
    with ThreadPoolExecutor(WORKERS) as workers:
        (ids, first), (others, second) = workers.map(_coded, [[table.ids, *lists[:half]], lists[half:]])
    codes, new = IdTable(ids).extended(others)
    everything = np.concatenate([first[len(table) :], codes[second]])
    ends = np.cumsum([len(one) for one in lists])[:-1]
    return np.split(everything, ends), pa.concat_arrays([ids.slice(len(table)), new])


def _coded(lists: Sequence[pa.Array]) -> tuple[pa.Array, Codes]:
    """Give the distinct ids of some lists in the order they are met, and the place of each id among them."""
    import numpy as np
    import pyarrow as pa

    from cranfield.runs.encoding import as_ids

    encoded = pa.concat_arrays([as_ids(pa.array([], pa.large_string())), *map(as_ids, lists)]).dictionary_encode()
    return encoded.dictionary, np.asarray(encoded.indices, dtype=np.int32)


# Which new runs are identical to, or nearly identical with, one that is there.


def likeness_warnings(store: Store | None, new: CodedRuns) -> dict[str, list[Problem]]:
    """Give for each new run the runs, stored or new before it, that it is (nearly) the same as."""
    from cranfield.runs.check import NEARLY_IDENTICAL, likenesses

    standing = run_facts(store) if store is not None else []
    hashes = {facts.name: facts.content_hash for facts in standing}
    tops = {facts.name: _top(coded_run(store, facts.name)) for facts in standing if store is not None}
    warned: dict[str, list[Problem]] = {}
    for one in new.examined:
        top, file = _top(new.coded[one.name]), str(one.request.path)
        same = [name for name, known in hashes.items() if known == one.content_hash]
        others = {name: known for name, known in tops.items() if name not in same}
        near = zip(others, likenesses(top, list(others.values())), strict=True)
        alike = [(name, share) for name, share in near if share >= NEARLY_IDENTICAL]
        warned[one.name] = list(_warnings(file, same, alike))
        hashes[one.name], tops[one.name] = one.content_hash, top
    return warned


def _warnings(file: str, same: Sequence[str], alike: Sequence[tuple[str, float]]) -> Iterator[Problem]:
    if same:
        names = ", ".join(quoted(name) for name in same)
        yield problem("identical-run", f"the same content is there as {names}", count=len(same)).at(file)
    if alike:
        names = ", ".join(f"{quoted(name)} ({share:.0%})" for name, share in alike)
        message = f"nearly the same top 10 is there as {names}"
        yield problem("nearly-identical-run", message, count=len(alike)).at(file)


def _top(coded: CodedRun) -> Top:
    from cranfield.runs.check import top

    return top(coded.topics, coded.offsets, coded.documents)


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one run."""

    name: str
    group: str
    role: str
    topics: int
    rows: int
    warnings: tuple[Problem, ...]
    what: str
    differences: tuple[str, ...] = ()


def submit_runs(
    store: Store,
    requests: Sequence[Request],
    *,
    max_depth: int = 1000,
    min_depth: int = 1,
    progress: Progress = silent,
) -> list[Submitted]:
    """Check and store runs in one transaction; an error in one of them keeps all of them out.

    A run whose name and content are there already is left alone. Files are read and checked before the write
    lock is taken; what depends on the other runs of the collection is decided under it.
    """
    expectations = expectations_of(store, max_depth=max_depth, min_depth=min_depth)
    examined = examine(requests, expectations, progress=progress)
    _refuse(examined, [])
    with store.write():
        standing = standing_hashes(store)
        _refuse(examined, name_problems(examined, standing))
        fresh = list({one.name: one for one in examined if standing.get(one.name) != one.content_hash}.values())
        coded = code_runs(store, fresh, progress=progress)
        warned = likeness_warnings(store, coded)
        outcomes = {one.name: _store(store, one, coded, warned) for one in coded.examined}
        _store_ids(store, coded)
    known = {facts.name: facts for facts in run_facts(store)}
    return [outcomes.pop(one.name) if one.name in outcomes else _there(one, known[one.name]) for one in examined]


def not_pooled(store: Store, outcomes: Sequence[Submitted]) -> list[str]:
    """Give the contributing runs that were submitted after the collection's pools were built, and are in none."""
    submitted = {one.name for one in outcomes if one.what == "submitted"}
    return unpooled_runs(store, [facts for facts in run_facts(store) if facts.name in submitted])


def _refuse(examined: Sequence[Examined], further: Sequence[Problem]) -> None:
    problems = [problem for one in examined for problem in one.problems]
    errors = [problem for problem in problems if problem.severity == "error"] + list(further)
    if errors:
        refused = counted(len({problem.file for problem in errors}), "file")
        repairable = any(problem.repairable for problem in errors)
        mend = "; cranfield runs check --repair FOLDER mends what it can" if repairable else ""
        raise ProblemsFound(
            f"{refused} refused, so nothing was submitted{mend}",
            [*problems, *further],
        )


def name_problems(examined: Sequence[Examined], standing: dict[str, str]) -> list[Problem]:
    """Give the runs whose name is taken: by another content in the collection, or by another file of the command."""
    contents: dict[str, set[str]] = {}
    for one in examined:
        contents.setdefault(one.name, set()).add(one.content_hash)
    problems = []
    for one in examined:
        taken = standing.get(one.name, one.content_hash) != one.content_hash
        if taken or len(contents[one.name]) > 1:
            by = "a run with other content" if taken else "another file of this command"
            problems.append(
                Problem(
                    "taken-tag",
                    f"the name {quoted(one.name)} is taken by {by}",
                    file=str(one.request.path),
                    remedy="name it with --name or by its file with --names file, or withdraw the other run first",
                )
            )
    return problems


def _store(store: Store, one: Examined, coded: CodedRuns, warned: dict[str, list[Problem]]) -> Submitted:
    from cranfield.runs.encoding import ENCODING

    complete = replace(one, problems=(*one.problems, *warned.get(one.name, [])))
    add_run(
        store,
        _facts(complete),
        ranking=coded.blocks[one.name],
        encoding=ENCODING,
        warnings=complete.warnings,
    )
    return _outcome(complete, "submitted")


def _store_ids(store: Store, coded: CodedRuns) -> None:
    add_ids(store, "topic", coded.new_topics, first_code=coded.first_topic)
    add_ids(store, "document", coded.new_documents, first_code=coded.first_document)


def _facts(one: Examined) -> RunFacts:
    request, run = one.request, one.run
    assert run is not None, "a run with errors was refused before"
    return RunFacts(
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


def _there(one: Examined, facts: RunFacts) -> Submitted:
    """Give what is stored of a run that was there already, and what was said otherwise this time."""
    request = one.request
    said = {
        "group": (request.group, facts.group_name),
        "family": (request.family, facts.family),
        "role": (request.role, facts.role),
        "priority": (request.priority, facts.priority),
        "description": (request.description, facts.description),
        "order": (request.order, facts.ordered_by),
    }
    differences = tuple(
        f"its {name} stays {stored!r}, not {new!r}"
        for name, (new, stored) in said.items()
        if new not in (None, "", stored)
    )
    return Submitted(
        facts.name, facts.group_name, facts.role, facts.topics, facts.rows, (), "there already", differences
    )


def _outcome(one: Examined, what: str) -> Submitted:
    run = one.run
    topics, rows = (len(run.topic_ids), run.row_count) if run else (0, 0)
    request = one.request
    role = request.role or "contributing"
    return Submitted(one.name, request.group or one.name, role, topics, rows, tuple(one.warnings), what)


# List every problem of run files, and write corrected copies of those that can be mended.


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file, and what was mended.

    `repairs` says what is other in `repaired_file`; `not_repaired` why there is none, though one was asked for.
    """

    file: str
    name: str
    problems: tuple[Problem, ...]
    repairs: tuple[str, ...] = ()
    repaired_file: str = ""
    not_repaired: tuple[str, ...] = ()
    errors_left: int = 0


def check_runs(
    store: Store | None,
    requests: Sequence[Request],
    *,
    max_depth: int = 1000,
    min_depth: int = 1,
    repair_into: Path | None = None,
    progress: Progress = silent,
) -> list[Checked]:
    """Check files against the collection (or, without one, by themselves); nothing is stored.

    Corrected copies go into the folder `repair_into`. A name that is taken there is refused before anything is read.
    """
    copies = [] if repair_into is None else _copies(requests, repair_into)
    expectations = expectations_of(store, max_depth=max_depth, min_depth=min_depth)
    examined = examine(requests, expectations, keep_rows=repair_into is not None, progress=progress)
    examined = _with_neighbours(store, examined)
    if repair_into is None:
        return [_checked(one) for one in examined]
    return [_repaired(one, copy, max_depth=max_depth) for one, copy in zip(examined, copies, strict=True)]


def _with_neighbours(store: Store | None, examined: Sequence[Examined]) -> list[Examined]:
    """Add what can be said only beside the other runs: names that are taken, runs that are there already."""
    known = standing_hashes(store) if store is not None else {}
    taken = name_problems(examined, known)
    by_file: dict[str, list[Problem]] = {}
    for one in taken:
        by_file.setdefault(one.file, []).append(one)
    sound = [one for one in examined if one.run is not None and str(one.request.path) not in by_file]
    alike = likeness_warnings(
        store, code_runs(store, [one for one in sound if known.get(one.name) != one.content_hash])
    )
    return [
        replace(one, problems=(*one.problems, *by_file.get(str(one.request.path), []), *alike.get(one.name, [])))
        for one in examined
    ]


def _checked(one: Examined) -> Checked:
    return Checked(Source(one.request.path).name, one.name, one.problems, errors_left=len(one.errors))


def _copies(requests: Sequence[Request], folder: Path) -> list[Path]:
    """Give the file each corrected copy would be, or refuse where one would take the place of another file."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder with --repair")
    copies = [folder / _copy_name(Source(request.path)) for request in requests]
    often = Counter(str(copy).casefold() for copy in copies)
    for request, copy in zip(requests, copies, strict=True):
        if copy.exists():
            raise UsageError(f"{copy} is there already: choose another folder with --repair")
        if often[str(copy).casefold()] > 1:
            same = "more than one file would have its corrected copy there"
            raise UsageError(f"{request.path} cannot be written to {copy}: {same}; repair them one at a time")
    return copies


def _copy_name(source: Source) -> str:
    """Give the name of a corrected copy, which is plain TREC whatever the file was."""
    is_of_trec = source.bare_name == source.stem or source.bare_name.endswith(run_formats.get("trec").suffixes)
    return source.bare_name if is_of_trec and not source.is_stdin else f"{source.stem}.run"


def _repaired(one: Examined, copy: Path, *, max_depth: int) -> Checked:
    """Write a corrected copy as a TREC file where that leaves no error; else say what stands in the way."""
    from cranfield.runs.check import by_hand_first, repair

    checked = _checked(one)
    if one.rows is None or not any(problem.repairable for problem in one.problems):
        return replace(checked, not_repaired=tuple(by_hand_first(one.problems)))
    run, sentences = repair(one.rows, one.problems, name=one.name, order=one.request.order, max_depth=max_depth)
    if run is None:
        return replace(checked, not_repaired=tuple(sentences))
    _write(run, copy)
    return replace(checked, repairs=tuple(sentences), repaired_file=str(copy), errors_left=0)


def _write(run: Run, copy: Path) -> None:
    """Write a run as a TREC file, complete or not at all."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(copy) as unfinished, unfinished.open("wb") as stream:
        run_formats.get("trec").write(run, stream)
