"""Add documents or topics from files: one transaction per file, so that a bad file leaves nothing behind."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from cranfield.errors import CranfieldError, InputError, Problem, ProblemsFound, SourceError, quoted
from cranfield.records import Document, Topic
from cranfield.source import Source
from cranfield.workflows.watching import Progress, now, silent
from cranfield.store import Store
from cranfield.store.adding import Added
from cranfield.store.sources import LoadedFile, add_source, came_from, finish_source
from cranfield.text import counted, storable

Record = TypeVar("Record", Document, Topic)

BATCH = 1_000
PROBLEMS_KEPT = 1_000
"""A file of another kind can be wrong on every line: more than this is counted, not listed."""

log = logging.getLogger("cranfield.workflows")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file brought."""

    name: str
    new: int = 0
    same: int = 0
    updated: int = 0
    bad: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Tally:
    """The running account of one file."""

    name: str
    new: int = 0
    same: int = 0
    updated: int = 0
    bad: int = 0
    noted: int = 0
    records: int = 0
    problems: list[Problem] = field(default_factory=list)

    def note(self, problem: Problem) -> None:
        self.noted += 1
        self.bad += problem.severity == "error"
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(problem if problem.file else problem.at(self.name))

    def count(self, added: Added) -> None:
        self.new += added.new
        self.same += added.same
        self.updated += added.updated

    def loaded(self) -> Loaded:
        return Loaded(self.name, self.new, self.same, self.updated, self.bad, tuple(self.problems))


@dataclass(frozen=True, slots=True)
class Kind(Generic[Record]):
    """What differs between loading documents and loading topics."""

    noun: str
    table: str
    format_of: Callable[[Source], str]
    read: Callable[[Source, str], Iterator[Record | Problem]]
    add: Callable[[Store, Sequence[Record], int], Added]


def load_file(
    store: Store, kind: Kind[Record], source: Source, *, keep_going: bool = False, progress: Progress = silent
) -> Loaded:
    """Load one file in one transaction.

    All of it is read even after the first bad record, so that every problem is listed at once; then nothing is
    kept, unless `keep_going` asks for the good records.
    """
    tally = _Tally(source.name)
    format = kind.format_of(source)
    log.info("loading %s from %s as %s", kind.table, source.name, format)
    digest = "" if source.is_folder else source.file_sha256
    file = LoadedFile(kind.table, storable(source.path.name), format, digest)
    watched = replace(source, watch=_told_in_megabytes(source, kind.table, progress))
    with store.write():
        number = add_source(store, file, now=now())
        for batch in _batches(kind.read(source if source.is_piped else watched, format), tally):
            added = kind.add(store, [record for _, record in batch], number)
            tally.count(added)
            for place in added.places:
                tally.note(_clash(store, kind, *batch[place], source=number))
        finish_source(store, number, records=tally.new + tally.updated)
        _refuse_bad(tally, kind.noun, keep_going=keep_going)
    return tally.loaded()


def _clash(store: Store, kind: Kind[Record], place: int, record: Record, *, source: int) -> Problem:
    """Say which record of the file clashes, and with what."""
    where = "earlier in this file" if came_from(store, kind.table, record.id) == source else "in the collection"
    message = f"{kind.noun} {quoted(record.id)} (record {place:,} of the file) is there already, {where}"
    return Problem(
        f"{kind.noun}-clash",
        f"{message}, with other content",
        remedy="give it another id, or use --update to replace it",
    )


def _told_in_megabytes(source: Source, table: str, progress: Progress) -> Callable[[int], None]:
    size = source.size

    def tell(done: int) -> None:
        progress(f"{table} from {source.path.name}, MB", done >> 20, None if size is None else size >> 20)

    return tell


def _refuse_bad(tally: _Tally, noun: str, *, keep_going: bool) -> None:
    if tally.bad and not keep_going:
        found = counted(tally.bad, "error")
        said = f"nothing of it was loaded (--keep-going loads the good {noun}s)"
        raise ProblemsFound(f"{tally.name} has {found}: {said}", tally.problems, total=tally.noted)


def _batches(records: Iterable[Record | Problem], tally: _Tally) -> Iterator[list[tuple[int, Record]]]:
    """Give the good records in batches, each with its number in the file, noting the bad ones, which count too."""
    stream = iter(records)
    while chunk := list(_until_broken(stream, tally, BATCH)):
        good = []
        for record in chunk:
            if isinstance(record, Problem):
                tally.records += record.severity == "error"
                tally.note(record)
            else:
                tally.records += 1
                good.append((tally.records, record))
        yield good


def _until_broken(stream: Iterator[Record | Problem], tally: _Tally, size: int) -> Iterator[Record | Problem]:
    """Give the next records; a file that breaks off in the middle (a truncated gzip) is a problem like others."""
    try:
        yield from islice(stream, size)
    except SourceError as error:
        yield error.problem


def load_all(
    store: Store,
    kind: Kind[Record],
    paths: Sequence[Path],
    *,
    encoding: str = "utf-8",
    keep_going: bool = False,
    progress: Progress = silent,
) -> Iterator[Loaded | CranfieldError]:
    """Load several files, each on its own; a bad one does not keep the others out."""
    for path in paths:
        try:
            yield load_file(store, kind, Source(path, encoding), keep_going=keep_going, progress=progress)
        except InputError as error:
            yield error
