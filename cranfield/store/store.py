"""One collection file, open: its connection, its tables, and what holds for it as a whole.

`pysqlite3` (the extra `sqlite`) is preferred where it is installed, since it brings a current SQLite;
sqlite-utils makes the same choice, so that both always speak with one library.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cranfield.base.errors import RESTORE, CollectionBusy, CollectionError, CollectionMoved, not_utf8
from cranfield.base.files import whole_file
from cranfield.base.records import Grade, GradeScale
from cranfield.base.registry import deferred
from cranfield.store import history
from cranfield.store.schema import applied_migrations, known_migrations, migrate, refuse_foreign

with deferred:
    import sqlite_utils  # it imports pandas

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

APPLICATION_ID = 0x43524E46
"""The four letters CRNF in the header of the file: `file` and we recognise a collection by them."""

BUSY_MILLISECONDS = 1_000
"""How long one attempt to write waits; `Store.write` repeats it, so that a waiting user can be told."""

PATIENCE_SECONDS = 600.0
"""How long a writer waits for another one before it gives up. Bulk loading is the one long write."""

IntegrityError = sqlite3.IntegrityError
Waiting = Callable[[float], None]
Shape = TypeVar("Shape")

_AT_ONCE = 500
_OLDEST = (3, 37)
_ROOM = 1 << 16
_WAL_RESET_FIXED = (3, 51, 3)
_WAL_RESET_BACKPORTS: dict[tuple[int, ...], int] = {(3, 44): 6, (3, 50): 7}
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"}


def marks(values: Sized) -> str:
    """A question mark for each value, as a statement has them."""
    return ", ".join("?" * len(values))


class Store:
    """A collection file, open. All reading goes through `rows`, `row` and `each`, all writing through `write`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, waiting: Waiting | None = None, writable: bool = True
    ) -> None:
        self.path, self.connection, self.waiting, self.writable = path, connection, waiting, writable
        self._has_log = False
        self._found: history.Found | None = None
        self.identity: tuple[int, int] | None = None
        """Device and inode of the file, where writing must find it in its place."""
        self._log: tuple[int, int] | None = None
        self.kept_as: Path | None = None
        """The copy of the file as it was, where opening it brought it up to date."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last one to close folds the write-ahead log back into it."""
        self.connection.close()

    @contextmanager
    def write(self, *, patience: float = PATIENCE_SECONDS) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the write lock at its start and leaves all or nothing behind.

        A deferred transaction that reads and then writes fails at once when another writer was in between;
        `BEGIN IMMEDIATE` waits instead. The wait is repeated until `patience` ends, and told to `waiting`.
        """
        if not self.writable:
            # SQLite opens a file all the same where it finds no room for its log.
            if shutil.disk_usage(self.path).free < _ROOM:
                raise CollectionError(f"{self.path} cannot be written: the disk is full; free some space, try again")
            raise CollectionError(f"{self.path} is read-only here; copy it to a writable folder")
        self._refuse_moved()
        started = time.monotonic()
        while True:
            try:
                with translated(self.path):
                    if not self._has_log:
                        # A file that was a backup goes back into WAL: else who reads long keeps writers out.
                        self.connection.execute("PRAGMA journal_mode = WAL")
                        # SQLite calls triggers that write to FTS5 unsafe; opening has shown that these are ours.
                        # Once: a change of it makes SQLite prepare all statements anew.
                        self.connection.execute("PRAGMA trusted_schema = ON")
                        self._has_log = True
                    if self._found is None:
                        self._found = history.watch(self.connection)
                    self.connection.execute("BEGIN IMMEDIATE")
                break
            except CollectionBusy:
                waited = time.monotonic() - started
                if waited >= patience:
                    raise
                if self.waiting is not None:
                    self.waiting(waited)
        with translated(self.path):
            try:
                yield self.connection
                history.record(self.connection, self._found)
                # A failed COMMIT (disk full) leaves the transaction open: the next writer would inherit it.
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
        if self.identity is not None and self._log is None:
            self._log = identity_of(self._log_path)
        self._refuse_moved()

    @property
    def _log_path(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def _refuse_moved(self) -> None:
        """Raise where the path no longer leads to the open file: what is written is then in a file that is gone."""
        if self.identity is None:
            return
        place, has_log = identity_of(self.path), self._log is None or identity_of(self._log_path) == self._log
        if place == self.identity:
            if not has_log:
                raise CollectionMoved(f"the log of {self.path} was taken away while it was in use")
            return
        if place is None:
            # The log goes into the file it belongs to, wherever that is now.
            with translated(self.path):
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif self._log is not None and has_log:
            # SQLite would replay it onto the file that lies here now. Who has opened that one already is told above.
            self._log_path.rename(self.path.with_name(f"{self.path.name}.moved-{os.getpid()}-wal"))
        how = "removed or renamed" if place is None else "replaced by another file"
        raise CollectionMoved(f"{self.path} was {how} while it was in use")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that all see the file at one moment, whatever others write meanwhile.

        Inside another one, or inside `write`, the moment is that of the outer one.
        """
        if self.connection.in_transaction:
            yield
            return
        with translated(self.path):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("ROLLBACK")

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a query, as tuples."""
        with translated(self.path):
            return self.connection.execute(sql, values).fetchall()

    def each(self, sql: str, *values: Any) -> Iterator[Any]:
        """The rows of a query, read as they are needed."""
        with translated(self.path):
            yield from self.connection.execute(sql, values)

    def row(self, sql: str, *values: Any) -> Any:
        """The first row of a query as a tuple, or None."""
        with translated(self.path):
            return self.connection.execute(sql, values).fetchone()

    def value(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.row(sql, *values)
        return row[0] if row else None

    def column(self, sql: str, *values: Any) -> list[Any]:
        """The first column of all rows of a query."""
        return column(self.rows(sql, *values))

    def among(self, sql: str, values: Sequence[str]) -> Iterator[Any]:
        """The rows of a query with `IN ({})`, some hundred values at a time: SQLite has a limit."""
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            yield from self.rows(sql.format(marks(part)), *part)

    def insert(self, sql: str, *values: Any) -> int:
        """Insert a row inside `write()` and give its number."""
        return int(self.connection.execute(sql, values).lastrowid or 0)

    def put(self, table: str, rows: Iterable[Sequence[Any]], *, existing: str = "") -> None:
        """Insert rows with a value for each column, inside `write()`; `existing` is OR IGNORE or OR REPLACE."""
        values = list(rows)
        if values:
            self.connection.executemany(f"INSERT {existing} INTO {table} VALUES ({marks(values[0])})", values)

    # What holds for the collection as a whole: settings, and scale and guidelines in versions. A change of scale or
    # guidelines never touches what was judged under an earlier version.

    def setting(self, name: str, default: Any = None) -> Any:
        """One setting, or the default where it was never set."""
        text = self.value("SELECT value FROM settings WHERE name = ?", name)
        if text is None:
            return default
        value = json.loads(text)
        if default is not None and not isinstance(value, list if isinstance(default, tuple) else type(default)):
            raise CollectionError(f"the setting {name} of {self.path} is invalid ({value!r}): {RESTORE}")
        return value

    def settings(self) -> dict[str, Any]:
        """All settings by name."""
        rows = self.rows("SELECT name, value FROM settings ORDER BY name")
        return {name: json.loads(value) for name, value in rows}

    def set(self, name: str, value: Any) -> None:
        """Set one setting, as JSON, inside `write()`."""
        self.put("settings", [(name, json.dumps(value))], existing="OR REPLACE")

    def versions(self) -> tuple[int, int]:
        """The versions of scale and guidelines in force; 0 where there are no guidelines."""
        scale, guidelines = self.row(
            "SELECT (SELECT max(version) FROM scales), coalesce((SELECT max(version) FROM guidelines), 0)"
        )
        if scale is None:
            raise CollectionError(f"{self.path} has no grade scale: the file is damaged; {RESTORE}")
        return scale, guidelines

    def scale(self, version: int | None = None) -> GradeScale:
        """One version of the scale; without a number, the one in force."""
        number = self.versions()[0] if version is None else version
        relevant_from = self.value("SELECT relevant_from FROM scales WHERE version = ?", number)
        steps = self.rows("SELECT grade, label, gain, description FROM grades WHERE scale = ? ORDER BY grade", number)
        return GradeScale(tuple(Grade(*step) for step in steps), relevant_from)

    def scales(self) -> dict[int, GradeScale]:
        """All versions of the scale."""
        return {
            version: self.scale(version) for version in self.column("SELECT version FROM scales ORDER BY version")
        }

    def other_scales(self) -> dict[int, GradeScale]:
        """The versions of the scale that say something else than the one in force."""
        if self.versions()[0] == 1:  # the first is in force, as in most collections
            return {}
        scale = self.scale()
        return {version: known for version, known in self.scales().items() if known != scale}

    def add_scale(self, scale: GradeScale, *, now: str) -> int:
        """Put a new version of the scale in force, inside `write()`, and give its number."""
        version = self.insert("INSERT INTO scales (relevant_from, created) VALUES (?, ?)", scale.relevant_from, now)
        self.put("grades", [(version, step.grade, step.label, step.gain, step.text) for step in scale.grades])
        return version

    def guidelines(self) -> str:
        """The guidelines in force; empty where there are none."""
        return str(self.value("SELECT text FROM guidelines ORDER BY version DESC LIMIT 1") or "")

    def add_guidelines(self, text: str, *, now: str) -> int:
        """Put new guidelines in force, inside `write()`, and give their version."""
        digest = sha256(text.encode("utf-8")).hexdigest()
        return self.insert("INSERT INTO guidelines (text, sha256, created) VALUES (?, ?, ?)", text, digest, now)

    def copy_versions(self, other: Store) -> None:
        """Copy all versions of scale and guidelines into a new file, under their numbers, inside its `write()`."""
        for table in ("scales", "grades", "guidelines"):
            other.put(table, self.rows(f"SELECT * FROM {table}"))


def stored(kind: type[Shape], text: str, what: str) -> Shape:
    """What is stored as JSON, of its kind: what a file says about itself is input like any other."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise CollectionError(f"{what} is invalid: {RESTORE}")
    return value


class Query(Generic[Shape]):
    """A query under a name: called with the store and a value for each `?`, it gives its rows in a shape."""

    def __init__(self, sql: str, shape: Callable[[list[Any]], Shape]) -> None:
        self.sql, self.shape = sql, shape

    def __call__(self, store: Store, *values: Any) -> Shape:
        return self.shape(store.rows(self.sql, *values))


def column(rows: list[Any]) -> list[Any]:
    """The first column."""
    return [row[0] for row in rows]


def value(rows: list[Any]) -> Any:
    """The first column of the first row, or None."""
    return rows[0][0] if rows else None


def nothing(rows: list[Any]) -> None:
    """What a statement gives that only writes, inside `write()`."""


def records(kind: Callable[..., Shape]) -> Callable[[list[Any]], list[Shape]]:
    """Each row as a record, its columns in the order of the fields."""
    return lambda rows: list(starmap(kind, rows))


def first(kind: Callable[..., Shape]) -> Callable[[list[Any]], Shape | None]:
    """The first row as a record, or None where there is none."""
    return lambda rows: kind(*rows[0]) if rows else None


def grouped(rows: list[Any]) -> dict[Any, list[Any]]:
    """What stands in the second column for each value of the first."""
    found: dict[Any, list[Any]] = {}
    for name, value in rows:
        found.setdefault(name, []).append(value)
    return found


# How a file is made, opened and copied.


def create_store(path: Path, *, furnish: Callable[[Store], None]) -> None:
    """Make a new collection file, complete or not at all; an existing file is never overwritten.

    `furnish` writes what a collection begins with, in the transaction that makes the tables.
    """
    if path.exists():
        raise CollectionError(f"{path} already exists; choose another name, or continue with it (cranfield status)")
    if not path.parent.is_dir():
        raise CollectionError(f"cannot create {path.name}: no such folder: {path.parent}")
    _refuse_stale_log(path)
    with whole_file(path) as unfinished, Store(path, connect(unfinished, mode="rwc", called=path)) as store:
        store.row("PRAGMA journal_mode = WAL")
        with store.write() as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrate(sqlite_utils.Database(connection, execute_plugins=False))
            furnish(store)


def open_store(path: Path, *, waiting: Waiting | None = None, migrated: bool = True) -> Store:
    """Open an existing collection, bringing an older file up to date (a backup of it is made first).

    A file that cannot be written, as published collections are, is opened for reading alone. Without `migrated` an
    older file stays as it is.
    """
    if not path.exists():
        raise CollectionError(f"no collection at {path}; create one with: cranfield init -C {path}")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a file"
        raise CollectionError(f"{path} is {kind}; a collection is one file, usually named collection.db")
    identity = identity_of(path)
    with path.open("rb") as stream:
        if stream.read(16) != b"SQLite format 3\x00":
            raise CollectionError(f"{path} is not a collection (not an SQLite file)")
    connection, writable = connect_for_use(path)
    store = Store(path, connection, waiting=waiting, writable=writable)
    store.identity = identity
    try:
        store._refuse_moved()
        if migrated:
            _bring_up_to_date(store)
    except BaseException:
        connection.close()
        raise
    return store


def _refuse_stale_log(path: Path) -> None:
    """Refuse a new file beside the log of one that is gone: SQLite would replay that log onto it."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise CollectionError(f"{log} is the log of a collection that is gone: move it away, or choose another name")


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at a path; None where there is none."""
    try:
        place = path.stat()
    except OSError:
        return None
    return place.st_dev, place.st_ino


def _bring_up_to_date(store: Store) -> None:
    """Refuse a foreign or newer file; give an older one the tables of this version."""
    if store.value("PRAGMA application_id") != APPLICATION_ID:
        raise CollectionError(f"{store.path} is an SQLite file, but not a Cranfield collection")
    applied, known = applied_migrations(store), known_migrations()
    unknown = [name for name in applied if name not in known]
    if unknown:
        raise CollectionError(
            f"{store.path} was written by a newer Cranfield (it has the migration {unknown[-1]!r}, which this"
            " version does not know): upgrade with pip install --upgrade cranfield"
        )
    refuse_foreign(store)
    if set(applied) == set(known):
        return
    if not store.writable:
        raise CollectionError(
            f"{store.path} was written by an older version of Cranfield and must be migrated, but it is read-only"
            " here; copy it to a writable folder and open the copy"
        )
    keep = store.path.with_name(f"{store.path.name}.before-{known[-1]}")
    if not keep.exists():
        back_up(store, keep)
    with store.write() as connection:
        migrate(sqlite_utils.Database(connection, execute_plugins=False))
    store.kept_as = keep


def back_up(store: Store, target: Path) -> None:
    """Copy the live file, page by page, into a new file that is complete or not there at all."""
    if target.exists():
        raise CollectionError(f"{target} already exists; a backup never overwrites a file")
    if not target.parent.is_dir():
        raise CollectionError(f"cannot write the copy: no such folder: {target.parent}")
    _refuse_stale_log(target)
    with (
        whole_file(target) as unfinished,
        translated(target),
        closing(connect(unfinished, mode="rwc", called=target)) as copy,
    ):
        store.connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def restore(path: Path, backup: Path, *, check: Callable[[Store], None], now: str) -> Path | None:
    """Put a copy of a backup in the place of a collection; returns the name under which the old file is kept.

    `check` raises where the copy is not sound; then nothing is changed. The old file goes aside together with its
    write-ahead log: SQLite would replay that log onto the copy and damage it.
    """
    with whole_file(path, replace=True) as unfinished:
        with open_store(backup, migrated=False) as source:
            back_up(source, unfinished)
        with open_store(unfinished) as copy:
            check(copy)
            if copy.kept_as is not None:  # an older version of the copy, which the backup itself keeps
                copy.kept_as.unlink()
        aside = path.with_name(f"{path.name}.replaced-{now.replace(':', '')}")
        if path.exists():
            _refuse_while_open(path)
        moved = [kind for kind in ("", "-wal", "-shm") if path.with_name(path.name + kind).exists()]
        for kind in moved:
            path.with_name(path.name + kind).rename(aside.with_name(aside.name + kind))
    return aside if moved else None


def _refuse_while_open(path: Path) -> None:
    """Raise if another process has the file open. A sound file takes in its log when this connection closes."""
    try:
        with closing(connect(path)) as connection, translated(path):
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except CollectionBusy:
        raise CollectionBusy(f"{path} is in use; end all judging sessions and commands, then restore it") from None
    except CollectionError:
        return  # a damaged file cannot be locked: that is why it is replaced


def connect(path: Path, *, mode: str = "rw", called: Path | None = None) -> sqlite3.Connection:
    """Open the file with our settings: explicit transactions, WAL, full synchronisation, foreign keys.

    `isolation_level=None` keeps Python from starting transactions behind our back. Errors name the file `called`.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise CollectionError(
            f"SQLite {sqlite3.sqlite_version} is too old; pip install 'cranfield[sqlite]' provides a current one"
        )
    with translated(called or path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA recursive_triggers = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def connect_for_use(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the file for writing where that is possible, else for reading alone; say which."""
    try:
        connection = connect(path)
        with translated(path):
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection, True
    except CollectionError as error:
        log = path.with_name(path.name + "-wal")
        unwritable = isinstance(error.__cause__, sqlite3.OperationalError) and not isinstance(error, CollectionBusy)
        if not unwritable or (log.exists() and log.stat().st_size):
            raise
    # Without a write-ahead log nothing is missing from the file, and nobody can be changing it.
    return connect(path, mode="ro&immutable=1"), False


# What can go wrong: errors of SQLite as sentences, risks of this SQLite and this place, faults of a file.

_SENTENCES = {
    "locked|busy": "{path} is being written by another process; try again when it has finished",
    "full": "the disk is full: nothing was written to {path}; free some space and try again",
    "no such module: fts5": (
        "this SQLite has no full-text search; pip install 'cranfield[sqlite]' provides one that has it"
    ),
    "readonly|unable to open": "{path} cannot be opened for writing ({message}); the folder must be writable too",
    "": "{path}: SQLite error: {message}",
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into a sentence about the collection at `path`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise not_utf8(error) from None
    except sqlite3.OperationalError as error:
        message = str(error)
        words = next(words for words in _SENTENCES if any(word in message for word in words.split("|")))
        kind = CollectionBusy if words == "locked|busy" else CollectionError
        raise kind(_SENTENCES[words].format(path=path, message=message)) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        raise CollectionError(f"{path} is damaged or not a collection: {error}; {RESTORE}") from error


def known_troubles(path: Path, *, shared: bool = True) -> list[str]:
    """What is risky: this SQLite, where several who write have `shared` the file, and the place it lies in."""
    troubles = []
    if shared and has_wal_reset_bug(sqlite3.sqlite_version_info):
        troubles.append(
            f"SQLite {sqlite3.sqlite_version} has the WAL-reset bug: very rarely, two processes that write at the"
            " same time can damage the file. Install 'cranfield[sqlite]' where several people judge in one file"
        )
    if (kind := file_system_of(path)) in _NETWORK_FILE_SYSTEMS:
        troubles.append(
            f"{path} is on a network file system ({kind}), where SQLite's locks are not reliable: keep it on a"
            " local disk and give the other assessors packets"
        )
    return troubles


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether this SQLite version has the WAL-reset bug (3.7.0 to 3.51.2, but for two backports)."""
    fixed_in = _WAL_RESET_BACKPORTS.get(version[:2])
    if fixed_in is not None and version[2] >= fixed_in:
        return False
    return version < _WAL_RESET_FIXED


def file_system_of(path: Path, *, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of file system `path` lies on, or an empty string where that cannot be told."""
    try:
        table = [line.split()[1:3] for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    place = os.path.realpath(path)
    covering = [(len(point), kind) for point, kind in table if point in ("/", place) or place.startswith(point + "/")]
    return max(covering, default=(0, ""))[1]


def index_faults(store: Store) -> Iterator[str]:
    """Whether the search index is what the documents say it should be; a file that is only read is trusted."""
    if not store.writable:
        return
    try:
        with store.write() as connection:
            # The 1 makes FTS5 compare the index with the documents, not only with itself.
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 1)")
    except (CollectionError, IntegrityError) as error:
        rebuild = "rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"
        yield f"the search index does not match the documents ({error}); {rebuild}"
