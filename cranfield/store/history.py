"""The history of a collection: every change of what is guarded, as one chain of hashes.

Each entry holds the SHA-256 of rows: of those that were appended, or of a whole small table as it was then. Its hash
is of itself and of the hash before it. What somebody changes in the file by hand no longer matches its entry. Whoever
recomputes the chain too changes its head, which every release, card and backup carries. How many entries there ever
were is kept where SQLite counts rows: a chain that ends earlier is a chain, too.
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

EVENT_COLUMNS = """uuid, kind, layer, topic, document, assessor, grade, undoes, reason, note, evidence, purpose,
                   source, source_name, seconds, confidence, scale, guidelines, document_hash, shown_order, position,
                   session, happened, recorded"""
"""The columns of a judgment event after its number."""

APPENDED = {
    "judgment_events": f"sequence, {EVENT_COLUMNS}",
    "pool_choices": """rowid, pool, number, topic, document, step, reason, version, known, elsewhere, chosen,
                       hash""",
    "scales": "version, relevant_from, created",
    "grades": "rowid, scale, grade, label, gain, description",
    "guidelines": "version, text, sha256, created",
    "runs": """number, name, tag, group_name, family, role, priority, description, ordered_by, topics, rows,
               content_hash, file_name, file_sha256, submitted""",
    "run_warnings": "rowid, run, code, message, count, lines, topic",
    "run_metadata": "run, text",
    "id_pages": "rowid, kind, first_code, count",
    "kept_documents": "number, id, content_hash, kept",
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
    "outside_sources": "number, kind, place, columns, documents, added",
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

_TABLES = {subject: "runs" if subject == "withdrawals" else subject for subject in (*APPENDED, *WHOLE)}
"""All subjects, and the table of each."""

_BY_HAND = " by hand"
_AT_ONCE = 1_000
_LOWEST, _HIGHEST, _MOST = -(2**63), 2**63 - 1, 2**62


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


class Recorder:
    """Appends to the history what the transactions of one connection change.

    Triggers of the connection (nothing of them is in the file) say which tables are touched. Before a table is
    changed, it is compared with its last entry: an honest change must not cover up what somebody did by hand. Where
    the chain ended is kept from one transaction to the next, so that each reads only what others have appended.
    """

    def __init__(self, connection: sqlite3.Connection, *touched: str) -> None:
        self._connection, self._touched = connection, set(touched)
        self._entries: list[tuple[str, int | None, int | None, bytes]] = []
        self._head: tuple[int, bytes] = 0, b""
        self._last: dict[str, tuple[int, bytes]] = {}
        self.failure: BaseException | None = None
        # A built-in function is asked for each row: Ctrl-C in one of Python would be an error of SQLite.
        connection.create_function("is_touched", 1, self._touched.__contains__)
        connection.create_function("touch", 1, self._touch)
        there = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")}
        for subject, table in _TABLES.items():
            if table not in there:  # an older file, which is about to get it
                continue
            for verb in ("INSERT",) if subject in APPENDED else ("INSERT", "UPDATE", "DELETE"):
                connection.execute(
                    f"CREATE TEMP TRIGGER IF NOT EXISTS touched_{subject}_{verb} BEFORE {verb} ON main.{table}"
                    f" WHEN NOT is_touched('{subject}')"
                    f" BEGIN SELECT raise(ABORT, 'the history was not read') WHERE touch('{subject}'); END"
                )

    def begin(self) -> None:
        """Forget what a transaction touched that was rolled back."""
        if self._touched:
            self._last = {}
        self._touched.clear()
        self._entries.clear()
        self.failure = None

    def _touch(self, subject: str) -> bool:
        """Compare a table with its last entry; True, and the failure kept, where that was not possible.

        SQLite passes no exception on; where Datasette is loaded, it would also be printed.
        """
        try:
            if not self._touched:
                self._catch_up()
            self._touched.add(subject)
            for first, final, content in self._changes(subject):
                self._entries.append((subject + _BY_HAND, first, final, content))
                if final is not None:
                    self._last[subject] = final, content
        except BaseException as error:  # noqa: BLE001 (raised by the store, when SQLite has given up)
            self.failure = error
        return self.failure is not None

    def _catch_up(self) -> None:
        """Read what others have appended; where the chain does not go on from its known end, begin anew."""
        query, rows = "SELECT number, hash, subject, last, digest FROM history", []
        if self._last:
            rows = self._connection.execute(f"{query} WHERE number >= ? ORDER BY number", self._head[:1]).fetchall()
        if not rows or rows[0][:2] != self._head:
            self._head, self._last = (0, b""), {}
            rows = self._connection.execute(f"{query} ORDER BY number DESC LIMIT 1").fetchall()
        for number, chained, subject, *entry in rows:
            self._head, self._last[subject] = (number, chained), (entry[0], entry[1])

    def _changes(self, subject: str) -> Iterator[tuple[int | None, int | None, bytes]]:
        """What a table has beyond its last entry, if anything: the first and the last row that came, and a digest."""
        if subject not in self._last:  # how far its rows are in the history, and the digest of its last entry
            query = "SELECT last, digest FROM history WHERE subject = ? ORDER BY number DESC LIMIT 1"
            self._last[subject] = self._connection.execute(query, [subject]).fetchone() or (0, _EMPTY)
        (last, digest), first, final = self._last[subject], None, None
        if subject in APPENDED:
            first, final = last + 1, self._connection.execute(f"SELECT max(rowid) FROM {subject}").fetchone()[0] or 0
            if final < first:
                return
        content = digest_of(_rows(self._connection, subject, _LOWEST if first is None else first))
        if content != digest:
            yield first, final, content

    def append(self) -> None:
        """Append what the open transaction has changed."""
        entries = self._entries
        for subject in (name for name in _TABLES if name in self._touched):
            entries += ((subject, *change) for change in self._changes(subject))
        recorded = now()
        if entries:
            # As with AUTOINCREMENT, so that entries which were removed stay missing.
            self._head = max(self._head[0], _ever(self._connection)), self._head[1]
        for entry in entries:
            number = self._head[0] + 1
            chained = _chained(self._head[1], number, *entry, recorded)
            self._connection.execute(
                "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *entry, recorded, chained)
            )
            self._head, self._last[entry[0]] = (number, chained), (entry[2] or 0, entry[3])
        if entries:
            counted = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'history'"
            if not self._connection.execute(counted, self._head[:1]).rowcount:
                self._connection.execute("INSERT INTO sqlite_sequence VALUES ('history', ?)", self._head[:1])
        self._touched.clear()
        entries.clear()


def recorder(connection: sqlite3.Connection, *, everything: bool = False) -> Recorder | None:
    """What records the changes from now on, or all there is; None for a file without a history yet."""
    if not connection.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'history'").fetchone():
        return None
    return Recorder(connection, *(_TABLES if everything else ()))


def faults(store: Store) -> Iterator[str]:
    """Where the file is not what its history says: rows changed, removed or inserted, or the chain itself."""
    following = dict.fromkeys(APPENDED, _LOWEST)  # the first row that no entry is of
    chained, expected, latest = b"", 1, dict[str, bytes]()
    query = "SELECT number, subject, first, last, digest, recorded, hash FROM history ORDER BY number"
    for number, subject, first, last, digest, recorded, stored in store.each(query):
        if number != expected:
            yield f"entries {expected:,} to {number - 1:,} of the history are missing"
        if _chained(chained, number, subject, first, last, digest, recorded) != stored:
            yield f"entry {number:,} of the history ({subject}) was changed"
        chained, expected = stored, number + 1
        if subject.endswith(_BY_HAND):
            subject = subject.removesuffix(_BY_HAND)
            yield f"{subject}: rows were changed, removed or inserted by hand before {recorded}"
        elif subject not in following:
            latest[subject] = digest
        elif digest_of(_rows(store.connection, subject, following[subject], last)) != digest:
            rows = f"row {first:,}" if first == last else f"rows {first:,} to {last:,}"
            yield f"{rows} of {subject}: changed, removed or inserted since {recorded}"
        if subject in following:
            following[subject] = max(following[subject], min((last or 0) + 1, _HIGHEST))
    if (ever := _ever(store.connection)) >= expected:
        yield f"entries {expected:,} to {ever:,} of the history are missing"
    if expected == 1:
        yield "there is no history"
        return
    for subject, begin in following.items():
        for row in islice(_rows(store.connection, subject, begin), 1):
            yield f"row {row[0]:,} of {subject} was inserted by hand"
    for subject in WHOLE:
        if digest_of(_rows(store.connection, subject)) != latest.get(subject, _EMPTY):
            yield f"{subject}: rows were changed, removed or inserted by hand"


def _ever(connection: sqlite3.Connection) -> int:
    """How many entries there ever were, as far as the file says so; 0 where only older versions have written it."""
    query = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'history' AND typeof(seq) = 'integer' AND seq < ?"
    return int(connection.execute(query, [_MOST]).fetchone()[0] or 0)


def begun(store: Store) -> tuple[int, str]:
    """How many entries the history has, and from when on it holds."""
    entries, recorded = store.row("SELECT count(*), coalesce(min(recorded), '') FROM history")
    return entries, recorded


def digest_of(rows: Iterable[Any]) -> bytes:
    """SHA-256 of rows as JSON, some at a time."""
    digest, rest = sha256(), iter(rows)
    while part := list(islice(rest, _AT_ONCE)):
        digest.update(json.dumps(part).encode())
    return digest.digest()


_EMPTY = digest_of(())
"""What a table without an entry must be: it came with a later version, and nothing was ever in it."""


def _rows(connection: sqlite3.Connection, subject: str, first: int = _LOWEST, last: int = _HIGHEST) -> Iterator[Any]:
    """The rows of a table, of one to which rows are only appended those from one number to another."""
    if subject in APPENDED:
        query = f"SELECT {APPENDED[subject]} FROM {subject} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        return connection.execute(query, [first, last])
    order = ", ".join(map(str, range(1, WHOLE[subject].count(",") + 2)))
    return connection.execute(f"SELECT {WHOLE[subject]} FROM {_TABLES[subject]} ORDER BY {order}")


def _chained(
    before: bytes, number: int, subject: str, first: int | None, last: int | None, digest: bytes, recorded: str
) -> bytes:
    words = json.dumps([before.hex(), number, subject, first, last, digest.hex(), recorded])
    return sha256(words.encode()).digest()
