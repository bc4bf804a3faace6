"""The history of a collection: every change of what is guarded, as one chain of hashes.

Each entry holds the SHA-256 of rows: of those that were appended, or of a whole small table as it was then. Its hash
is of itself and of the hash before it. What somebody changes in the file by hand no longer matches its entry. Whoever
recomputes the chain too changes its head, which every release, card and backup carries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from cranfield.base.text import now

if TYPE_CHECKING:
    import sqlite3

    from cranfield.store.store import Store

EVENT_COLUMNS = (
    *("uuid", "kind", "layer", "topic", "document", "assessor", "grade", "undoes", "reason", "note", "evidence"),
    *("purpose", "source", "source_name", "seconds", "confidence", "scale", "guidelines", "document_hash"),
    *("shown_order", "position", "session", "happened", "recorded"),
)
"""The columns of a judgment event after its number."""

APPENDED = {
    "judgment_events": f"sequence, {', '.join(EVENT_COLUMNS)}",
    "pool_choices": """rowid, pool, number, topic, document, step, reason, version, known, elsewhere, chosen,
                       hash""",
    "scales": "version, relevant_from, created",
    "grades": "rowid, scale, grade, label, gain, description",
    "guidelines": "version, text, sha256, created",
    "runs": """number, name, tag, group_name, family, role, priority, description, ordered_by, topics, rows,
               content_hash, file_name, file_sha256, submitted""",
    "run_warnings": "rowid, run, code, message, count, lines, topic",
    "id_pages": "rowid, kind, first_code, count",
    "assessors": "rowid, name, kind, added",
    "packets": "rowid, session, assessor, layer, documents, made",
    "releases": "rowid, name, content_hash, rows, manifest, made",
}
"""Tables to which rows are only appended, by their number: an entry is of the rows that came with one change.

So nobody can hide a change of what was there by appending an entry.
"""

WHOLE = {
    "settings": "name, value",
    "sources": "number, kind, name, format, sha256, records, added",
    "documents": "number, id, content_hash, source",
    "topics": "number, id, content_hash, source",
    "duplicate_scans": "number, threshold, shingle, permutations, seed, documents, made",
    "duplicates": "scan, document, cluster, kind, similarity, representative",
    "withdrawals": "number, withdrawn, withdrawn_because",
    "pools": """number, name, plan, plan_in_full, grammar, seed, judging_order, one_per_cluster, content_hash, made,
                made_by""",
    "pool_versions": "pool, version, plan_in_full, seed, content_hash, made, made_by, inputs_hash",
    "pool_runs": "pool, run, group_name, priority, content_hash, version",
    "pool_topics": "pool, topic, version",
    "pool_ends": "pool, topic, rule, version, known, final, ended",
    "assignments": "topic, assessor, role, made",
    "queues": "number, name, purpose, layer, made, contests",
    "queue_entries": "queue, topic, document, position, why",
    "found_documents": "topic, document, assessor, words, found",
    "topic_drafts": "topic, author, state, reason, expected, changed",
    "tried_hits": "topic, document, rank, stratum, population",
}
"""Tables of which an entry is the whole content, and the columns that count, the key first.

The texts of documents, rankings, entries of pools and rows of releases are not here: `check` compares them with
content hashes that are.
"""

_TABLES = {"withdrawals": "runs"}
"""The tables of subjects that are not called like their table."""

_BY_HAND = " by hand"
_AT_ONCE = 1_000
_LOWEST = -(2**63)


class Anchor(NamedTuple):
    """A place in the history: the number of its last entry then, and the hash of that entry."""

    entries: int
    head: str


NOWHERE = Anchor(0, "")


def head(store: Store) -> Anchor:
    """Where the history stands now."""
    row = store.row("SELECT number, hex(hash) FROM history ORDER BY number DESC LIMIT 1")
    return Anchor(row[0], row[1].lower()) if row else NOWHERE


def anchor_faults(store: Store, anchor: Anchor) -> list[str]:
    """What is wrong if the history, when it had as many entries as the anchor says, did not end as it says."""
    entry = store.value("SELECT hex(hash) FROM history WHERE number = ?", anchor.entries)
    if entry is None:
        entries = head(store).entries
        return [f"the history has {entries:,} entries; it had {anchor.entries:,} then: entries were removed"]
    return [] if entry.lower() == anchor.head else [f"entry {anchor.entries:,} of the history is another one now"]


Found = dict[str, bytes]
"""The whole tables that were found changed by hand when they were next written to: the SHA-256 of what was found."""


def watch(connection: sqlite3.Connection) -> Found | None:
    """Note, from now on, which guarded tables this connection changes; None for a file without a history yet.

    Before a whole table is changed, it is compared with its last entry: an honest change must not cover up what
    somebody did by hand. The triggers are this connection's own: nothing of them is in the file.
    """
    if not _exists(connection):
        return None
    found: Found = {}

    def compare(subject: str) -> None:
        content = digest_of(_rows(connection, subject))
        if content != _last_entry(connection, subject)[1]:
            found[subject] = content

    connection.create_function("compare_with_history", 1, compare)
    connection.execute("CREATE TEMP TABLE touched (subject TEXT PRIMARY KEY) WITHOUT ROWID")
    for subject in (*APPENDED, *WHOLE):
        comparing = "" if subject in APPENDED else f"SELECT compare_with_history('{subject}');"
        for verb in ("INSERT", "UPDATE", "DELETE"):
            connection.execute(
                f"CREATE TEMP TRIGGER touched_{subject}_{verb} BEFORE {verb} ON main.{_TABLES.get(subject, subject)}"
                f" WHEN NOT EXISTS (SELECT 1 FROM touched WHERE subject = '{subject}') BEGIN"
                f" {comparing} INSERT OR IGNORE INTO touched VALUES ('{subject}'); END"
            )
    return found


def record(connection: sqlite3.Connection, found: Found | None) -> None:
    """Append what the open transaction has changed; all there is, where the history begins with it."""
    if found is not None:
        touched = {row[0] for row in connection.execute("SELECT subject FROM touched")}
        connection.execute("DELETE FROM touched")
    else:
        touched = {*APPENDED, *WHOLE} if _exists(connection) else set()
    if not touched:
        return
    before = connection.execute("SELECT number, hash FROM history ORDER BY number DESC LIMIT 1").fetchone()
    number, chained = before or (0, b"")
    recorded = now()
    entries: list[tuple[str, int | None, int | None, bytes]] = [
        (subject + _BY_HAND, None, None, content) for subject, content in (found or {}).items()
    ]
    for subject in (name for name in (*APPENDED, *WHOLE) if name in touched):
        last, digest = _last_entry(connection, subject)
        first = final = None
        if subject in APPENDED:
            first = last + 1
            (final,) = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {subject}").fetchone()
            if final < first:
                continue
        content = digest_of(_rows(connection, subject, _LOWEST if first is None else first))
        if content != digest:
            entries.append((subject, first, final, content))
    for entry in entries:
        number += 1
        chained = _chained(chained, number, *entry, recorded)
        connection.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *entry, recorded, chained))
    if found:
        found.clear()


def faults(store: Store) -> Iterator[str]:
    """Where the file is not what its history says: rows changed, removed or inserted, or the chain itself."""
    appended = {subject: _Appended(_rows(store.connection, subject)) for subject in APPENDED}
    chained, expected, latest = b"", 1, dict[str, bytes]()
    query = "SELECT number, subject, first, last, digest, recorded, hash FROM history ORDER BY number"
    for number, subject, first, last, digest, recorded, stored in store.each(query):
        if number != expected:
            yield f"entries {expected:,} to {number - 1:,} of the history are missing"
        if _chained(chained, number, subject, first, last, digest, recorded) != stored:
            yield f"entry {number:,} of the history ({subject}) was changed"
        chained, expected = stored, number + 1
        if subject.endswith(_BY_HAND):
            table = subject.removesuffix(_BY_HAND)
            yield f"{table}: rows were changed, removed or inserted by hand before {recorded}"
        elif subject not in appended:
            latest[subject] = digest
        elif digest_of(appended[subject].up_to(last)) != digest:
            rows = f"row {first:,}" if first == last else f"rows {first:,} to {last:,}"
            yield f"{rows} of {subject}: changed, removed or inserted since {recorded}"
    if expected == 1:
        yield "there is no history"
        return
    for subject, rest in appended.items():
        if rest.ahead is not None:
            yield f"row {rest.ahead[0]:,} of {subject} was inserted by hand"
    for subject in WHOLE:
        if digest_of(_rows(store.connection, subject)) != latest.get(subject):
            yield f"{subject}: rows were changed, removed or inserted by hand"


def begun(store: Store) -> tuple[int, str]:
    """How many entries the history has, and from when on it holds."""
    entries, recorded = store.row("SELECT count(*), coalesce(min(recorded), '') FROM history")
    return entries, recorded


class _Appended:
    """The rows of a table in order, taken as far as each entry goes; `ahead` is the next one."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self.ahead = next(rows, None)

    def up_to(self, last: int) -> Iterator[Any]:
        while self.ahead is not None and self.ahead[0] <= last:
            row, self.ahead = self.ahead, next(self._rows, None)
            yield row


def _last_entry(connection: sqlite3.Connection, subject: str) -> tuple[int, bytes]:
    """How far the rows of a table are in the history, and the digest of its last entry."""
    query = "SELECT last, digest FROM history WHERE subject = ? ORDER BY number DESC LIMIT 1"
    return connection.execute(query, [subject]).fetchone() or (0, b"")


def _exists(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'history'").fetchone())


def digest_of(rows: Iterable[Any]) -> bytes:
    """SHA-256 of rows as JSON, some at a time."""
    digest, rest = sha256(), iter(rows)
    while part := list(islice(rest, _AT_ONCE)):
        digest.update(json.dumps(part).encode())
    return digest.digest()


def _rows(connection: sqlite3.Connection, subject: str, first: int = _LOWEST) -> Iterator[Any]:
    if subject in APPENDED:
        query = f"SELECT {APPENDED[subject]} FROM {subject} WHERE rowid >= ? ORDER BY rowid"
        return connection.execute(query, [first])
    order = ", ".join(map(str, range(1, WHOLE[subject].count(",") + 2)))
    return connection.execute(f"SELECT {WHOLE[subject]} FROM {_TABLES.get(subject, subject)} ORDER BY {order}")


def _chained(
    before: bytes, number: int, subject: str, first: int | None, last: int | None, digest: bytes, recorded: str
) -> bytes:
    words = json.dumps([before.hex(), number, subject, first, last, digest.hex(), recorded])
    return sha256(words.encode()).digest()
