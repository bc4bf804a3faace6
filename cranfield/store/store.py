"""One collection file, open."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import CollectionBusy, CollectionError
from cranfield.base.files import whole_file
from cranfield.base.registry import deferred
from cranfield.store import engine

with deferred:
    import sqlite_utils

if TYPE_CHECKING:
    import sqlite3


PATIENCE_SECONDS = 600.0
"""How long a writer waits for another one before it gives up. Bulk loading is the one long write."""

Waiting = Callable[[float], None]


class Store:
    """A collection file, open. All reading goes through `rows` and `row`, all writing through `write`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, waiting: Waiting | None = None, writable: bool = True
    ) -> None:
        self.path, self.connection, self.waiting, self.writable = path, connection, waiting, writable
        self._has_log = False
        self.kept_as: Path | None = None
        """The copy of the file as it was, where opening it brought it up to date."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last one to close folds the write-ahead log back into it."""
        self.connection.close()

    @cached_property
    def tables(self) -> sqlite_utils.Database:
        """The same connection through sqlite-utils. Imported late: sqlite-utils imports pandas."""
        return sqlite_utils.Database(self.connection, execute_plugins=False)

    @contextmanager
    def write(self, *, patience: float = PATIENCE_SECONDS) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the write lock at its start and leaves all or nothing behind.

        A deferred transaction that reads and then writes fails at once when another writer was in between;
        `BEGIN IMMEDIATE` waits instead. The wait is repeated until `patience` ends, and told to `waiting`.
        """
        if not self.writable:
            raise CollectionError(f"{self.path} can only be read here; copy it to a folder that can be written")
        with engine.translated(self.path):
            self._begin(patience)
            try:
                yield self.connection
                # A failed COMMIT (disk full) leaves the transaction open: the next writer would inherit it.
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _begin(self, patience: float) -> None:
        started = time.monotonic()
        while True:
            try:
                with engine.translated(self.path):
                    if not self._has_log:
                        # A file that was a backup goes back into WAL: else who reads long keeps writers out.
                        self.connection.execute("PRAGMA journal_mode = WAL")
                        self._has_log = True
                    self.connection.execute("BEGIN IMMEDIATE")
                return
            except CollectionBusy:
                waited = time.monotonic() - started
                if waited >= patience:
                    raise
                if self.waiting is not None:
                    self.waiting(waited)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that all see the file at one moment, whatever others write meanwhile.

        Inside another one, or inside `write`, the moment is that of the outer one.
        """
        if self.connection.in_transaction:
            yield
            return
        with engine.translated(self.path):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("ROLLBACK")

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Give all rows of a query, as tuples."""
        with engine.translated(self.path):
            return self.connection.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Any) -> Any:
        """Give the first row of a query as a tuple, or None."""
        with engine.translated(self.path):
            return self.connection.execute(sql, values).fetchone()

    def value(self, sql: str, *values: Any) -> Any:
        """Give the first column of the first row, or None."""
        row = self.row(sql, *values)
        return row[0] if row else None

    def setting(self, name: str, default: Any = None) -> Any:
        """Give what is true of the collection as a whole: one value, or the default where it was never set."""
        value = self.value("SELECT value FROM settings WHERE name = ?", name)
        return default if value is None else json.loads(value)

    def settings(self) -> dict[str, Any]:
        """Give all settings by name."""
        return {
            name: json.loads(value) for name, value in self.rows("SELECT name, value FROM settings ORDER BY name")
        }

    def set(self, name: str, value: Any) -> None:
        """Set one setting, as JSON; to be called inside `write()`."""
        self.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, json.dumps(value)])


def create_store(path: Path, *, furnish: Callable[[Store], None]) -> None:
    """Make a new collection file, complete or not at all; an existing file is never overwritten.

    `furnish` writes what a collection begins with, in the transaction that makes the tables.
    """
    if path.exists():
        raise CollectionError(f"{path} exists already; choose another name, or go on with it (cranfield status)")
    if not path.parent.is_dir():
        raise CollectionError(f"there is no folder {path.parent} to make {path.name} in")
    with whole_file(path) as unfinished, Store(path, engine.connect(unfinished, mode="rwc", called=path)) as store:
        store.row("PRAGMA journal_mode = WAL")
        with store.write() as connection:
            connection.execute(f"PRAGMA application_id = {engine.APPLICATION_ID}")
            engine.migrate(store.tables)
            furnish(store)


def open_store(path: Path, *, waiting: Waiting | None = None) -> Store:
    """Open an existing collection, bringing an older file up to date (a backup of it is made first).

    A file that cannot be written, as published collections are, is opened for reading alone.
    """
    if not path.exists():
        raise CollectionError(f"there is no collection at {path}; make one with: cranfield init -C {path}")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a file"
        raise CollectionError(f"{path} is {kind}; a collection is one file, usually called collection.db")
    with path.open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\x00":
            raise CollectionError(f"{path} is not a collection (not an SQLite file)")
    connection, writable = engine.connect_for_use(path)
    store = Store(path, connection, waiting=waiting, writable=writable)
    try:
        _bring_up_to_date(store)
    except BaseException:
        connection.close()
        raise
    return store


def _bring_up_to_date(store: Store) -> None:
    """Refuse a foreign or newer file; give an older one the tables of this version."""
    if store.value("PRAGMA application_id") != engine.APPLICATION_ID:
        raise CollectionError(f"{store.path} is an SQLite file, but not a Cranfield collection")
    applied, known = engine.applied_names(store.connection), engine.known_names()
    unknown = [name for name in applied if name not in known]
    if unknown:
        raise CollectionError(
            f"{store.path} was written by a newer Cranfield (it has the step {unknown[-1]!r}, which this version"
            " does not know): upgrade with pip install --upgrade cranfield"
        )
    if set(applied) == set(known):
        return
    if not store.writable:
        raise CollectionError(
            f"{store.path} is of an older version of Cranfield and must be brought up to date, but it can only be"
            " read here; copy it to a folder that can be written and open the copy"
        )
    keep = store.path.with_name(f"{store.path.name}.before-{known[-1]}")
    if not keep.exists():
        back_up(store, keep)
    with store.write():
        engine.migrate(store.tables)
    store.kept_as = keep


def back_up(store: Store, target: Path) -> None:
    """Copy the live file, page by page, into a new file that is complete or not there at all."""
    if target.exists():
        raise CollectionError(f"{target} exists already; a backup never overwrites a file")
    if not target.parent.is_dir():
        raise CollectionError(f"there is no folder {target.parent} for the copy")
    with (
        whole_file(target) as unfinished,
        engine.translated(target),
        closing(engine.connect(unfinished, mode="rwc", called=target)) as copy,
    ):
        store.connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


# What SQLite itself can say about the soundness of a file.

_REBUILD = """rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"""


def page_faults(store: Store) -> Iterator[str]:
    """Give what SQLite's own integrity check finds."""
    for (message,) in store.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite: {message}"


def schema_faults(store: Store) -> Iterator[str]:
    """Compare tables, indexes, triggers and views with those of a new file."""
    fresh = sqlite_utils.Database(memory=True, execute_plugins=False)
    engine.migrate(fresh)
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL"
    wanted = {(kind, name): sql for kind, name, sql in fresh.conn.execute(query)}
    found = {(kind, name): sql for kind, name, sql in store.rows(query)}
    fresh.close()
    for kind, name in wanted.keys() - found.keys():
        yield f"the {kind} {name} is missing"
    for kind, name in wanted.keys() & found.keys():
        if wanted[kind, name] != found[kind, name]:
            yield f"the {kind} {name} is not as this version makes it"


def broken_keys(store: Store) -> Iterator[str]:
    """Give the rows that refer to something that is not there."""
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to a row of {parent} that is not there"


def index_faults(store: Store) -> Iterator[str]:
    """Say whether the search index is what the documents say it should be; a file that is only read is trusted."""
    if not store.writable:
        return
    try:
        with store.write() as connection:
            # The 1 makes FTS5 compare the index with the documents, not only with itself.
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 1)")
    except (CollectionError, engine.IntegrityError) as error:
        yield f"the search index does not fit the documents ({error}); {_REBUILD}"
