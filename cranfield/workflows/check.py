"""Prove a collection file sound: the file, its tables, index, hashes, rankings, pools and judgments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cranfield.base.errors import RESTORE, CollectionError, CranfieldError, InputError, quoted, refuse
from cranfield.base.files import Progress, Source, silent
from cranfield.base.tables import object_in
from cranfield.base.text import Result, Table, counted, moment, table_of
from cranfield.judge import queue as rules
from cranfield.qrels import release
from cranfield.store import Store, documents, events, files, history, judging, open_store, pools, releases, runs
from cranfield.workflows import inputs, outside
from cranfield.workflows import qrels as qrels_workflow
from cranfield.workflows.pool import verify

Checked = tuple[str, list[str]]
"""How much was checked, and what is wrong."""


class Finding(NamedTuple):
    """One thing that was checked, how much of it, and what is wrong with it (nothing, usually)."""

    what: str
    checked: str
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Soundness(Result):
    """What was checked and found; `troubles` is what is risky about this SQLite and the place of the file."""

    path: str
    findings: tuple[Finding, ...]
    troubles: tuple[str, ...]
    whole = True

    @property
    def wrong(self) -> list[str]:
        """All that is wrong, in sentences."""
        return [text for finding in self.findings for text in finding.wrong]

    @property
    def remarks(self) -> list[str]:  # type: ignore[override]
        """What is risky, then what is wrong."""
        notes = [f"note: {trouble}" for trouble in self.troubles] + [f"wrong: {text}" for text in self.wrong]
        return [*notes, f"cranfield: the file is not sound; {RESTORE}"] if self.wrong else notes

    def table(self) -> Table:
        """One row for each thing that was checked."""
        rows = [
            (one.what, one.checked, "WRONG" if one.wrong else "sound", "; ".join(one.wrong)) for one in self.findings
        ]
        return table_of(["what", "checked", "result", "wrong"], rows, caption=self.path)

    def tables(self) -> list[Table]:
        """The same for people, to whom what is wrong is said below."""
        return [self.table().select([0, 1, 2])]


def check(
    store: Store, *, against: Path | None = None, compare: bool = True, progress: Progress = silent
) -> Soundness:
    """Check everything; each check goes on after the others have failed.

    The history must also have passed the place that `against` carries: a card, a bundle, or a backup. With `compare`,
    documents that were judged are compared with what approved sources outside have now.
    """

    anchor = None if against is None else _anchor_of(store, against)

    def faults(query: str, sentence: str) -> list[str]:
        return [sentence.format(*row) for row in store.rows(query)]

    pages = "SELECT * FROM pragma_integrity_check('{}') WHERE integrity_check <> 'ok'"
    # Tables that people added may refer to whatever they like, and compute without end what SQLite would check.
    foreign = files.foreign_tables(store)
    ours = [
        name for name in store.column("SELECT name FROM sqlite_master WHERE type = 'table'") if name not in foreign
    ]
    dangling = "row {1} of {0} refers to a row of {2} that is not there"
    checks: dict[str, Callable[[], Checked]] = {
        "file": lambda: (
            "pages of Cranfield's tables" if foreign else "all pages",
            [fault for one in (ours if foreign else ["100"]) for fault in faults(pages.format(one), "SQLite: {}")],
        ),
        "tables": lambda: ("against a new file", list(files.schema_faults(store))),
        "foreign keys": lambda: (
            "all",
            [fault for one in ours for fault in faults(f'PRAGMA foreign_key_check("{one}")', dangling)],
        ),
        "search index": lambda: ("all", list(files.index_faults(store))),
        "settings": lambda: (
            ", ".join([counted(len(store.column("SELECT name FROM settings")), "setting"), "scale", "guidelines"]),
            [*_not_json(store, "the setting", "SELECT name, value FROM settings"), *files.scale_faults(store)],
        ),
        "documents": partial(_check_documents, store, progress),
        "topics": lambda: (
            counted(len(documents.topics_with_hash(store)), "topic"),
            [
                f"topic {topic.id!r} does not match its content hash"
                for topic, known in documents.topics_with_hash(store)
                if topic.content_hash != known
            ],
        ),
        "runs": partial(_check_runs, store, progress),
        "pools": lambda: (  # each is built again, and must come out the same
            counted(len(pools.pool_facts(store)), "pool"),
            [
                f"pool {facts.name!r}: {difference}"
                for facts in pools.pool_facts(store)
                for difference in verify.verify_pool(store, facts.name).differences
            ],
        ),
        "judgments": partial(_check_judgments, store),
        "history": partial(_check_history, store, against, anchor),
        "releases": lambda: (counted(len(releases.known(store)), "release"), qrels_workflow.release_faults(store)),
    }
    findings = [_found(what, look) for what, look in checks.items()]
    troubles = files.known_troubles(store.path)
    if foreign:
        troubles.append(f"tables and views that are not Cranfield's, and not checked: {', '.join(foreign)}")
    with suppress(CranfieldError):  # what is damaged was found above
        troubles += outside.changes(store, progress=progress) if compare else []
    return Soundness(str(store.path), tuple(findings), tuple(troubles))


def _found(what: str, look: Callable[[], Checked]) -> Finding:
    """What a look finds. A damaged file can break anything in it, so whatever is raised is a finding."""
    try:
        checked, wrong = look()
    except CranfieldError as error:
        checked, wrong = "", [f"{what}: {error}"]
    except Exception as error:  # noqa: BLE001
        checked, wrong = "", [f"{what}: invalid data ({type(error).__name__}: {error})"]
    return Finding(what, checked, tuple(wrong))


def first_fault(store: Store) -> str:
    """What is wrong with the history of a collection, which a backup of it would have too."""
    return next(iter(_found("history", partial(_check_history, store, None, None)).wrong), "")


def restore(backup: Path, path: Path, *, unsound: bool = False, progress: Progress = silent) -> Path | None:
    """Put a backup in the place of a collection; returns the name under which the old file is kept.

    One that is not sound is refused, unless `unsound` ones are taken too.
    """

    def refuse_damaged(copy: Store) -> None:
        # The copy has a passing name, and nobody should be sent back here with the same backup.
        wrong = [
            re.sub(f"[:;] {RESTORE}", "", text).replace(str(copy.path), str(backup))
            for text in check(copy, compare=False, progress=progress).wrong
        ]
        way = "restore an earlier backup, or this one as it is with --unsound"
        refuse(f"{backup} is not sound; nothing was changed: {way}", "damaged", wrong, file=backup)

    if not backup.exists():
        raise InputError(f"no backup at {backup}")
    try:
        return files.restore(path, backup, check=None if unsound else refuse_damaged)
    except CollectionError as error:
        if RESTORE not in str(error):
            raise
        damaged = f"{backup} is damaged, or is not a backup of a collection; nothing was changed"
        raise CollectionError(f"{damaged}: restore an earlier backup") from error


def _check_documents(store: Store, progress: Progress) -> Checked:
    total, seen, wrong = documents.count(store), 0, []
    for seen, (document, stored_hash) in enumerate(documents.each(store), start=1):
        if document.content_hash != stored_hash:
            wrong.append(f"document {document.id!r} does not match its content hash")
        if seen % 1000 == 0:
            progress("checking documents", seen, total)
    kept = [
        (document.id, document.content_hash == known) for document, known in documents.each(store, "kept_documents")
    ]
    wrong += [f"the kept document {id!r} does not match its content hash" for id, same in kept if not same]
    if seen != total:
        wrong.append(f"the document numbers run to {total}, but there are {seen} documents")
    return counted(seen + len(kept), "document"), wrong


def _check_runs(store: Store, progress: Progress) -> Checked:
    """Every ranking, withdrawn or not, must give the content its hash says, and as many rows as are recorded."""
    stored, wrong = runs.facts(store, withdrawn=True), []
    tables = runs.ids(store)
    for kind, table in zip(("topic", "document"), tables, strict=True):
        # The pages of an id table must follow each other without a gap.
        query = """SELECT first_code, count, lag(first_code + count, 1, 0) OVER (ORDER BY first_code)
                   FROM id_pages WHERE kind = ?"""
        pages = store.rows(query, kind)
        wrong += [f"the {kind} ids have a gap before code {first}" for first, _, end in pages if first != end]
        if len(table) != (expected := sum(count for _, count, _ in pages)):
            wrong.append(f"the {kind} ids are {len(table)}, but their pages say {expected}")
    for done, one in enumerate([] if wrong else stored, start=1):
        progress("checking runs", done, len(stored))
        try:
            run = runs.decoded(store, one, tables)
        except (CranfieldError, ValueError, IndexError) as error:
            wrong.append(f"the ranking of run {one.name!r} cannot be read: {error}")
            continue
        if run.content_hash != one.content_hash:
            wrong.append(f"run {one.name!r} does not match its content hash")
        if (len(run.topic_ids), run.row_count) != (one.topics, one.rows):
            sizes = f"{len(run.topic_ids)} topics and {run.row_count} rows"
            wrong.append(f"run {one.name!r} has {sizes}, unlike its record")
    wrong += _not_json(store, "the lines of a warning", "SELECT code, lines FROM run_warnings")
    return counted(len(stored), "run"), wrong


def _not_json(store: Store, what: str, query: str) -> Iterator[str]:
    """What is not JSON as Python reads it; SQLite takes longer numbers."""
    for name, text in store.rows(query):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            yield f"{what} {name!r} is not JSON"


def _check_history(store: Store, against: Path | None, anchor: history.Anchor | None) -> Checked:
    """The chain of hashes is whole, all it guards is as it says, and it goes on from where another file saw it."""
    with store.snapshot():
        wrong = list(history.faults(store))
        entries, recorded = history.begun(store)
        checked = f"{counted(entries, 'entry', 'entries')} since {recorded[:16].replace('T', ' ')}"
        if against is None or anchor is None:
            return checked, wrong
        return f"{checked}, against {against.name}", wrong + [
            f"{against}: {text}, or this is of another collection" for text in history.anchor_faults(store, anchor)
        ]


def _anchor_of(store: Store, file: Path) -> history.Anchor:
    """The place in the history that a backup, a card or a bundle carries."""
    if inputs.may_be_bundle(file):
        bundle = release.open_bundle(file)  # whose files are there as long as it is
        return _anchor_of(store, bundle.qrels.with_name(release.CARD))
    if not file.is_file():
        raise InputError(f"{file} is not a file")
    with file.open("rb") as stream:
        is_collection = stream.read(15) == b"SQLite format 3"
    if is_collection:
        with open_store(file, migrated=False) as copy:
            if copy.setting("made", "") != store.setting("made", ""):
                raise InputError(f"{file} is of another collection: {copy.setting('name', '')}")
            return history.head(copy)
    content, own = object_in(Source(file).text()) or {}, store.setting("name", "")
    if (other := content.get("collection", content.get("name", own))) != own:  # in a release, or in a card
        raise InputError(f"{file} is of another collection: {quoted(other)}")
    match content.get("history"):
        case [int() as entries, str() as head] if 0 < entries < 2**63:
            return history.Anchor(entries, head.lower())
    raise InputError(f"{file} is no backup, and no card or release that carries the history of a collection")


def _check_judgments(store: Store) -> Checked:
    """What counts is what the events say, and queues, leases and assignments make sense."""
    with store.snapshot():
        wrong = list(events.faults(store, moment=moment()))
        try:
            judging.planned(store, rules.Overlap)
            judging.planned(store, rules.Probes)
        except CranfieldError as error:
            wrong.append(f"the plan for overlap or probes is invalid ({error})")
        return counted(events.last_event(store)[0], "event"), wrong
