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
from cranfield.store import engine
from cranfield.store.engine import applied_names, known_names, migrate

if TYPE_CHECKING:
    import sqlite3

    from sqlite_utils import Database


PATIENCE_SECONDS = 600.0
"""How long a writer waits for another one before it gives up. Bulk loading is the one long write."""

Waiting = Callable[[float], None]


def _ignore(seconds: float) -> None:
    """Wait without a word."""


class Store:
    """A collection file, open. All reading goes through `rows` and `row`, all writing through `write`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, waiting: Waiting = _ignore, writable: bool = True
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
    def tables(self) -> Database:
        """The same connection through sqlite-utils. Imported late: sqlite-utils imports pandas."""
        from sqlite_utils import Database

        return Database(self.connection, execute_plugins=False)

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
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            try:
                self.connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT (disk full) leaves the transaction open: the next writer would inherit it.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def _begin(self, patience: float) -> None:
        started = time.monotonic()
        while True:
            try:
                with engine.translated(self.path):
                    self._keep_log()
                    self.connection.execute("BEGIN IMMEDIATE")
                return
            except CollectionBusy:
                waited = time.monotonic() - started
                if waited >= patience:
                    raise
                self.waiting(waited)

    def _keep_log(self) -> None:
        """Put a file that was a backup back into WAL before it is written: else who reads long keeps writers out."""
        if not self._has_log:
            self.connection.execute("PRAGMA journal_mode = WAL")
            self._has_log = True

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


def create_store(path: Path, *, furnish: Callable[[Store], None]) -> None:
    """Make a new collection file, complete or not at all; an existing file is never overwritten.

    `furnish` writes what a collection begins with, in the transaction that makes the tables.
    """
    if path.exists():
        raise CollectionError(f"{path} exists already; choose another name, or go on with it (cranfield status)")
    if not path.parent.is_dir():
        raise CollectionError(f"there is no folder {path.parent} to make {path.name} in")
    with whole_file(path) as unfinished, Store(path, _new_file(unfinished, path)) as store:
        store.row("PRAGMA journal_mode = WAL")
        with store.write() as connection:
            connection.execute(f"PRAGMA application_id = {engine.APPLICATION_ID}")
            migrate(store.tables)
            furnish(store)


def open_store(path: Path, *, waiting: Waiting = _ignore) -> Store:
    """Open an existing collection, bringing an older file up to date (a backup of it is made first).

    A file that cannot be written, as published collections are, is opened for reading alone.
    """
    _refuse_what_is_no_file(path)
    connection, writable = engine.connect_for_use(path)
    store = Store(path, connection, waiting=waiting, writable=writable)
    try:
        _refuse_foreign_or_newer(store)
        if set(applied_names(connection)) != set(known_names()):
            _bring_up_to_date(store)
    except BaseException:
        connection.close()
        raise
    return store


def _refuse_what_is_no_file(path: Path) -> None:
    if not path.exists():
        raise CollectionError(f"there is no collection at {path}; make one with: cranfield init -C {path}")
    if path.is_dir():
        raise CollectionError(f"{path} is a folder; a collection is one file, usually called collection.db")
    if not path.is_file():
        raise CollectionError(f"{path} is not a file; a collection is one file, usually called collection.db")
    if not engine.is_sqlite(path):
        raise CollectionError(f"{path} is not a collection (not an SQLite file)")


def _refuse_foreign_or_newer(store: Store) -> None:
    if store.value("PRAGMA application_id") != engine.APPLICATION_ID:
        raise CollectionError(f"{store.path} is an SQLite file, but not a Cranfield collection")
    unknown = [name for name in applied_names(store.connection) if name not in known_names()]
    if unknown:
        raise CollectionError(
            f"{store.path} was written by a newer Cranfield (it has the step {unknown[-1]!r}, which this version"
            " does not know): upgrade with pip install --upgrade cranfield"
        )


def _bring_up_to_date(store: Store) -> None:
    if not store.writable:
        raise CollectionError(
            f"{store.path} is of an older version of Cranfield and must be brought up to date, but it can only be"
            " read here; copy it to a folder that can be written and open the copy"
        )
    keep = store.path.with_name(f"{store.path.name}.before-{known_names()[-1]}")
    if not keep.exists():
        backup_to(store, keep)
    with store.write():
        migrate(store.tables)
    store.kept_as = keep


def backup_to(store: Store, target: Path) -> None:
    """Copy the live file, page by page, into a new file that is complete or not there at all."""
    if target.exists():
        raise CollectionError(f"{target} exists already; a backup never overwrites a file")
    if not target.parent.is_dir():
        raise CollectionError(f"there is no folder {target.parent} for the copy")
    with whole_file(target) as unfinished, engine.translated(target), closing(_new_file(unfinished, target)) as copy:
        store.connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _new_file(path: Path, called: Path) -> sqlite3.Connection:
    """Open a file that will be `called` otherwise once it is complete; errors give that name."""
    return engine.connect(path, mode="rwc", called=called)


# What is true of the collection as a whole: its name and its settings, as JSON values by name.


def put_setting(store: Store, name: str, value: Any) -> None:
    """Set one value; to be called inside `store.write()`."""
    store.connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, json.dumps(value)])


def setting(store: Store, name: str, default: Any = None) -> Any:
    """Give one value, or the default where it was never set."""
    value = store.value("SELECT value FROM settings WHERE name = ?", name)
    return default if value is None else json.loads(value)


def settings(store: Store) -> dict[str, Any]:
    """Give all values by name."""
    return {name: json.loads(value) for name, value in store.rows("SELECT name, value FROM settings ORDER BY name")}


# What SQLite itself can say about the soundness of a file.

_REBUILD = """rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"""


def page_faults(store: Store) -> Iterator[str]:
    """Give what SQLite's own integrity check finds."""
    for (message,) in store.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite: {message}"


def schema_faults(store: Store) -> Iterator[str]:
    """Compare tables, indexes, triggers and views with those of a new file."""
    from sqlite_utils import Database

    fresh = Database(memory=True, execute_plugins=False)
    migrate(fresh)
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
