"""Documents that stay outside a collection: what a source of them is, and how they are fetched one by one.

An address is a kind and a place, as in `jsonl:/data/documents.jsonl`. What a source gives is as foreign as any file:
it is checked and made storable like a record of a format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol

from cranfield.base.errors import CranfieldError, InputError, Problem, UsageError, quoted
from cranfield.base.files import Progress, is_remote, located, silent
from cranfield.base.records import Document, OutsideSource
from cranfield.base.registry import Registry, deferred
from cranfield.base.tables import Schema
from cranfield.base.text import shortened
from cranfield.corpus import reading

with deferred:
    from cranfield.corpus.formats import jsonl

LARGEST_DOCUMENT = 1 << 26
"""How many bytes of one document are read (64 MB), as of a line or a file."""

PATIENCE = 2.0
"""Seconds that somebody waits for a document before it is said that it is still on its way."""

WORKERS = 4
"""How many documents are fetched at a time, so that one that hangs does not keep the others."""

_IDLE = 5.0


class DocumentSource(Protocol):
    """A place with documents; `summary` says in one line what it is.

    It is made from the place of an address and the spellings of the parts of a document; that contacts nothing.
    Documents are fetched by several threads at once.
    """

    summary: str

    def __init__(self, place: str, schema: Schema) -> None: ...

    @staticmethod
    def located(place: str) -> str:
        """The place as it is kept in a collection, as `here` gives that of a file; one that cannot be is refused."""

    def prepare(self, progress: Progress = silent) -> int | None:
        """Make the source ready, with an index where it needs one; give how many documents it has, if it can say."""

    def fetch(self, id: str) -> Document | None:
        """One document, or None where there is none of this id; an error says what is wrong with the source."""


document_sources: Registry[Any] = Registry(
    "document source", package="cranfield.corpus.sources", group="cranfield.document_sources"
)


def open_source(address: OutsideSource) -> DocumentSource:
    """The source; nothing is contacted yet. What no command would have written down is not believed."""
    part: type[DocumentSource] = document_sources.get(address.kind)
    absolute = Path(part.located(address.place)).is_absolute() if address.place.isprintable() else None
    if absolute != Path(address.place).is_absolute():
        raise InputError("no command has written that: a place is printable, and a path is whole")
    return part(address.place, reading.with_columns(reading.DOCUMENT, address.columns))


def parse_address(words: str, columns: Mapping[str, str] | None = None) -> OutsideSource:
    """The address that is meant by `kind:place`, in the form in which it is kept."""
    kind, colon, place = words.strip().partition(":")
    if not (colon and place.strip() and words.isprintable()):
        known = ", ".join(f"{name}:…" for name in document_sources.names())
        raise UsageError(f"{quoted(words)} is not an address of documents; write KIND:PLACE ({known})")
    part = document_sources.get(kind)
    return OutsideSource(document_sources.canonical(kind), part.located(place.strip()), dict(columns or {}))


def here(place: str) -> str:
    """The place of a file or folder, whole: commands are typed in other folders, too."""
    if is_remote(url := located(place)):
        add = f"download it, or copy its documents into the collection: cranfield corpus add {quoted(str(url))}"
        raise UsageError(f"{quoted(str(url))} is not a file of this machine; {add}")
    return str(Path(place).expanduser().resolve())


def document_of(content: Any, schema: Schema) -> Document:
    """The document that an object, or a line of JSON, is; what cannot be one is an error."""
    if isinstance(content, bytes):
        text, problems = reading.decoded(content, 1)
        wrong = next((one for one in problems if one.is_error), None)
        content = jsonl.loaded(text) if wrong is None else wrong
    return only(jsonl.JsonLines("", schema).records_of(content))


def only(records: Iterable[Document | Problem]) -> Document:
    """The one document of some records; what is wrong with it is an error."""
    for record in records:
        if isinstance(record, Document):
            return record
        if record.is_error:
            raise InputError(record.message)
    raise InputError("no document")


class Unavailable(NamedTuple):
    """Why a document could not be had: `reason` is a sentence."""

    reason: str


class Fetcher:
    """Fetches documents from sources, by threads of its own, so that nobody waits for a source longer than they want.

    The first source that has a document gives it. Threads end by themselves; none keeps a program from ending.
    """

    def __init__(self, addresses: Sequence[OutsideSource]) -> None:
        self.addresses, self._names = addresses, " and ".join(map(str, addresses))
        self._sources: dict[str, DocumentSource] = {}
        self._jobs: dict[str, Future[Document]] = {}
        self._queue: SimpleQueue[tuple[str, Future[Document]]] = SimpleQueue()
        self._lock, self._opening, self._workers = Lock(), Lock(), 0

    def want(self, ids: Iterable[str]) -> None:
        """Begin to fetch documents, the first first; what was wanted before and is no longer is forgotten."""
        wanted = list(ids)
        with self._lock:
            self._jobs = {id: job for id, job in self._jobs.items() if id in wanted}
            for id in wanted:
                self._begin(id)

    def get(self, id: str, *, patience: float = PATIENCE) -> Document | Unavailable:
        """One document, within some seconds, or why not; what has failed before is tried again."""
        with self._lock:
            if (known := self._jobs.get(id)) is not None and known.done() and known.exception() is not None:
                del self._jobs[id]
            job = self._begin(id)
        try:
            return job.result(patience)
        except CranfieldError as error:
            return Unavailable(str(error))
        except TimeoutError:
            return Unavailable(f"it is still being fetched from {self._names}")

    def _begin(self, id: str) -> Future[Document]:
        if id not in self._jobs:
            self._jobs[id] = Future()
            self._queue.put((id, self._jobs[id]))
            if self._workers < WORKERS:
                self._workers += 1
                Thread(target=self._work, daemon=True, name="documents").start()
        return self._jobs[id]

    def _work(self) -> None:
        while True:
            try:
                id, job = self._queue.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    if self._queue.empty():
                        self._workers -= 1
                        return
                continue
            if self._jobs.get(id) is job:  # else nobody wants it any more
                try:
                    job.set_result(self._find(id))
                except CranfieldError as error:
                    job.set_exception(error)

    def _find(self, id: str) -> Document:
        failures = []
        for address in self.addresses:
            name = str(address)
            try:
                with self._opening:
                    source = self._sources.get(name) or self._sources.setdefault(name, open_source(address))
                found = source.fetch(id)
            except Exception as error:  # noqa: BLE001 (a source may be anybody's; the assessor is told, and goes on)
                said = str(error) if isinstance(error, CranfieldError) else f"{type(error).__name__}: {error}"
                failures.append(f"{name}: {shortened(said, 200)}")
                continue
            if found is not None:
                if found.id != id:
                    raise InputError(f"{name} gave another document: {quoted(found.id)}")
                return found
        raise InputError("; ".join(failures) or f"it is not in {self._names}")
