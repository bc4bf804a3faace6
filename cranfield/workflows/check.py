"""Prove a collection file sound: the file, its tables, index, hashes, rankings, pools and judgments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import CranfieldError
from cranfield.base.progress import Progress, moment, silent
from cranfield.base.text import counted
from cranfield.store import engine
from cranfield.store import store as soundness
from cranfield.store.documents import document_count, iter_documents_with_hash, topics_with_hash
from cranfield.store.events import (
    assignment_faults,
    event_faults,
    last_sequence,
    lease_faults,
    projection_faults,
    queue_faults,
)
from cranfield.store.judging import planned_overlap, planned_probes
from cranfield.store.pools import pool_facts
from cranfield.store.runs import NumberedRun, id_table, numbered_runs
from cranfield.store.scales import guidelines_faults, scale_faults
from cranfield.store.store import Store

if TYPE_CHECKING:
    from cranfield.runs.encoding import IdTable


# Prove that what counts is what the events say, and that queues, leases and assignments make sense.


def judging_faults(store: Store) -> tuple[str, list[str]]:
    """Give how much was checked, and what is wrong."""
    with store.snapshot():
        wrong = [
            *projection_faults(store),
            *event_faults(store),
            *lease_faults(store, moment=moment()),
            *queue_faults(store),
            *assignment_faults(store),
            *_plan_faults(store),
        ]
        return counted(last_sequence(store), "event"), wrong


def _plan_faults(store: Store) -> list[str]:
    try:
        planned_overlap(store)
        planned_probes(store)
    except (CranfieldError, TypeError, KeyError) as error:
        return [f"what is planned for overlap or probes makes no sense ({error})"]
    return []


def known_troubles(store: Store) -> list[str]:
    """Say what is known to be risky about this SQLite and about the place of the file, sound as it may be now."""
    return engine.known_troubles(store.path)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked, how much of it, and what is wrong with it (nothing, usually)."""

    what: str
    checked: str
    wrong: tuple[str, ...]


def check_collection(store: Store, *, progress: Progress = silent) -> list[Finding]:
    """Check everything; each check goes on after the others have failed."""
    checks: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "file": lambda: ("all pages", list(soundness.page_faults(store))),
        "tables": lambda: ("against a new file", list(soundness.schema_faults(store))),
        "foreign keys": lambda: ("all", list(soundness.broken_keys(store))),
        "search index": lambda: ("all", list(soundness.index_faults(store))),
        "settings": lambda: _settings(store),
        "documents": lambda: _documents(store, progress),
        "topics": lambda: _topics(store),
        "runs": lambda: _runs(store, progress),
        "pools": lambda: _pools(store),
        "judgments": lambda: judging_faults(store),
        "releases": lambda: _releases(store),
    }
    return [_guarded(what, check) for what, check in checks.items()]


def _guarded(what: str, check: Callable[[], tuple[str, list[str]]]) -> Finding:
    """Run one check. A damaged file can break anything in it, so whatever is raised is a finding."""
    try:
        checked, wrong = check()
    except CranfieldError as error:
        checked, wrong = "", [f"{what}: {error}"]
    except Exception as error:  # noqa: BLE001
        checked, wrong = "", [f"{what}: what is stored makes no sense ({type(error).__name__}: {error})"]
    return Finding(what, checked, tuple(wrong))


def _settings(store: Store) -> tuple[str, list[str]]:
    """Settings are JSON, scales are scales, guidelines have their hash."""
    rows = store.rows("SELECT name, value FROM settings")
    wrong = [f"the setting {name!r} is not JSON" for name, value in rows if not _is_json(value)]
    return f"{counted(len(rows), 'setting')}, scale, guidelines", [
        *wrong,
        *scale_faults(store),
        *guidelines_faults(store),
    ]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _documents(store: Store, progress: Progress) -> tuple[str, list[str]]:
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
    return counted(seen, "document"), wrong


def _topics(store: Store) -> tuple[str, list[str]]:
    pairs = topics_with_hash(store)
    wrong = [
        f"topic {topic.id!r} is not what its content hash says"
        for topic, stored_hash in pairs
        if topic.content_hash != stored_hash
    ]
    return counted(len(pairs), "topic"), wrong


def _runs(store: Store, progress: Progress) -> tuple[str, list[str]]:
    """Every ranking, withdrawn or not, must give the content its hash says, and as many rows as are recorded."""
    runs = numbered_runs(store)
    wrong = list(_page_faults(store))
    if not wrong:
        tables = id_table(store, "topic"), id_table(store, "document")
        for done, run in enumerate(runs, start=1):
            wrong.extend(_run_faults(store, run, tables))
            progress("checking runs", done, len(runs))
    unread = [code for code, lines in store.rows("SELECT code, lines FROM run_warnings") if not _is_json(lines)]
    wrong += [f"the lines of a warning {code!r} are not JSON" for code in unread]
    return counted(len(runs), "run"), wrong


def _pools(store: Store) -> tuple[str, list[str]]:
    """Every pool is built again and must come out the same."""
    from cranfield.workflows.pool.verify import verify_pool

    names = [facts.name for facts in pool_facts(store)]
    wrong = [f"pool {name!r}: {difference}" for name in names for difference in verify_pool(store, name)[1]]
    return counted(len(names), "pool"), wrong


def _releases(store: Store) -> tuple[str, list[str]]:
    """Every release must give the content its hash says."""
    from cranfield.store.releases import release_names
    from cranfield.workflows.qrels.current import release_faults

    return counted(len(release_names(store)), "release"), release_faults(store)


def _page_faults(store: Store) -> Iterator[str]:
    """The pages of an id table must follow each other without a gap."""
    for kind in ("topic", "document"):
        expected = 0
        rows = store.rows("SELECT first_code, count FROM id_pages WHERE kind = ? ORDER BY first_code", kind)
        for first_code, count in rows:
            if first_code != expected:
                yield f"the {kind} ids have a gap before code {first_code}"
            expected = first_code + count
        if len(id_table(store, kind)) != expected:
            yield f"the {kind} ids are {len(id_table(store, kind))}, but their pages say {expected}"


def _run_faults(store: Store, one: NumberedRun, tables: tuple[IdTable, IdTable]) -> Iterator[str]:
    from cranfield.runs.encoding import from_coded
    from cranfield.store.runs import coded_run_by_number

    try:
        run = from_coded(coded_run_by_number(store, one.number), *tables, tag=one.name, order="score")
    except (CranfieldError, ValueError, IndexError) as error:
        yield f"the ranking of run {one.name!r} cannot be read: {error}"
        return
    if run.content_hash != one.content_hash:
        yield f"run {one.name!r} is not what its content hash says"
    if (len(run.topic_ids), run.row_count) != (one.topics, one.rows):
        yield f"run {one.name!r} has {len(run.topic_ids)} topics and {run.row_count} rows, not what is recorded"
