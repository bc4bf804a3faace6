"""Prove a collection file sound: the file itself, its index, its hashes, its rankings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.errors import CranfieldError
from cranfield.steps.watching import Progress, silent
from cranfield.store import Store, soundness
from cranfield.store.documents import document_count, iter_documents_with_hash
from cranfield.store.pools import pool_facts
from cranfield.store.runs import coded_run, id_table, run_facts
from cranfield.store.topics import topics_with_hash
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.runs.ids import IdTable


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked, how much of it, and what is wrong with it (nothing, usually)."""

    what: str
    checked: str
    wrong: tuple[str, ...]


def check_collection(store: Store, *, progress: Progress = silent) -> list[Finding]:
    """Check everything; each check goes on after the others have failed."""
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("file", lambda: _file(store)),
        ("foreign keys", lambda: Finding("foreign keys", "all", tuple(soundness.broken_keys(store)))),
        ("search index", lambda: Finding("search index", "all", tuple(soundness.index_faults(store)))),
        ("documents", lambda: _documents(store, progress)),
        ("topics", lambda: _topics(store)),
        ("runs", lambda: _runs(store, progress)),
        ("pools", lambda: _pools(store)),
    ]
    return [_guarded(what, check) for what, check in checks]


def _guarded(what: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except CranfieldError as error:
        return Finding(what, "", (f"{what}: {error}",))


def _file(store: Store) -> Finding:
    return Finding("file", "all pages", tuple(soundness.page_faults(store)))


def _documents(store: Store, progress: Progress) -> Finding:
    total = document_count(store)
    wrong = []
    seen = 0
    for document, stored_hash in iter_documents_with_hash(store):
        seen += 1
        if document.content_hash != stored_hash:
            wrong.append(f"document {document.id!r} is not what its content hash says")
        if seen % 1000 == 0:
            progress("checking documents", seen, total)
    if seen != total:
        wrong.append(f"the document numbers run to {total}, but there are {seen} documents")
    return Finding("documents", counted(seen, "document"), tuple(wrong))


def _topics(store: Store) -> Finding:
    pairs = topics_with_hash(store)
    wrong = [
        f"topic {topic.id!r} is not what its content hash says"
        for topic, stored_hash in pairs
        if topic.content_hash != stored_hash
    ]
    return Finding("topics", counted(len(pairs), "topic"), tuple(wrong))


def _runs(store: Store, progress: Progress) -> Finding:
    facts = run_facts(store)
    wrong = list(_page_faults(store))
    if not wrong:
        tables = id_table(store, "topic"), id_table(store, "document")
        for done, run in enumerate(facts, start=1):
            wrong.extend(_run_faults(store, run.name, run.content_hash, tables))
            progress("checking runs", done, len(facts))
    return Finding("runs", counted(len(facts), "run"), tuple(wrong))


def _pools(store: Store) -> Finding:
    """Every pool is built again and must come out the same."""
    from cranfield.steps.pool_build import verify_pool

    names = [facts.name for facts in pool_facts(store)]
    wrong = [f"pool {name!r}: {difference}" for name in names for difference in verify_pool(store, name)[1]]
    return Finding("pools", counted(len(names), "pool"), tuple(wrong))


def _page_faults(store: Store) -> Iterator[str]:
    """The pages of an id table must follow each other without a gap, and no id may stand in it twice."""
    for kind in ("topic", "document"):
        expected = 0
        rows = store.rows("SELECT first_code, count FROM id_pages WHERE kind = ? ORDER BY first_code", kind)
        for first_code, count in rows:
            if first_code != expected:
                yield f"the {kind} ids have a gap before code {first_code}"
            expected = first_code + count
        if len(id_table(store, kind)) != expected:
            yield f"the {kind} ids are {len(id_table(store, kind))}, but their pages say {expected}"


def _run_faults(store: Store, name: str, content_hash: str, tables: "tuple[IdTable, IdTable]") -> Iterator[str]:
    from cranfield.runs.ids import from_coded

    try:
        run = from_coded(coded_run(store, name), *tables, tag=name, order="score")
    except (CranfieldError, ValueError, IndexError) as error:
        yield f"the ranking of run {name!r} cannot be read: {error}"
        return
    if run.content_hash != content_hash:
        yield f"run {name!r} is not what its content hash says"
