"""One collection file, open: its connection, its tables, and what holds for it as a whole.

`pysqlite3` (the extra `sqlite`) is preferred where it is installed, since it brings a current SQLite;
sqlite-utils makes the same choice, so that both always speak with one library.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from cranfield.base.errors import RESTORE, CollectionBusy, CollectionError, CollectionMoved, not_utf8
from cranfield.base.records import Grade, GradeScale
from cranfield.base.registry import deferred
from cranfield.base.text import now, shortened
from cranfield.store import history, migrations

with deferred:
    from cranfield.store import files

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

PRAGMAS = {
    "busy_timeout": BUSY_MILLISECONDS,
    "foreign_keys": "ON",
    "synchronous": "FULL",
    "recursive_triggers": "ON",
    "trusted_schema": "OFF",
    "temp_store": "MEMORY",
}
"""What SQLite forgets when a file is closed, and every connection sets again."""

PATIENCE_SECONDS = 600.0
"""How long a writer waits for another one before it gives up. Bulk loading is the one long write."""

SQLITE_VERSION = sqlite3.sqlite_version
Say = Callable[[str], None]
Identity = tuple[int, int]
"""Device and inode of a file."""
Name = TypeVar("Name")
Shape = TypeVar("Shape")

_AT_ONCE = 500
_OLDEST = (3, 37)
_ROOM = 1 << 16


def marks(values: Sized) -> str:
    """A question mark for each value, as a statement has them."""
    return ", ".join("?" * len(values))


class Store(AbstractContextManager["Store"]):
    """A collection file, open. All reading goes through `rows`, `row` and `each`, all writing through `write`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, say: Say | None = None, writable: bool = True
    ) -> None:
        self.path, self.connection, self.say, self.writable = path, connection, say, writable
        self._history: history.Recorder | None = None
        self.identity: Identity | None = None
        """Device and inode of the file, where writing must find it in its place."""
        self._real = Path(os.path.realpath(path))
        """The file itself, where `path` is a link to it: SQLite keeps its log beside it."""
        self._log_path = self._real.with_name(f"{self._real.name}-wal")
        self._log: Identity | None = None
        self.kept_as: Path | None = None
        """The copy of the file as it was, where opening it brought it up to date."""

    @property
    def command(self) -> str:
        """How a command about this file begins, where the command line does not see the sentence it stands in."""
        is_here = self._real == Path("collection.db").resolve()
        return "cranfield" if is_here else f"cranfield -C {quote(str(self.path))}"

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last one to close folds the write-ahead log back into it."""
        self.connection.close()

    @contextmanager
    def write(self, *, patience: float = PATIENCE_SECONDS) -> Iterator[sqlite3.Connection]:
        """One transaction that takes the write lock at its start and leaves all or nothing behind.

        A deferred transaction that reads and then writes fails at once when another writer was in between;
        `BEGIN IMMEDIATE` waits instead, again and again until `patience` ends, and the first time the user is told.
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
                    if self._history is None:
                        # A file that was a backup goes back into WAL: else who reads long keeps writers out.
                        self.connection.execute("PRAGMA journal_mode = WAL")
                        # SQLite calls triggers that write to FTS5 unsafe; opening has shown that these are ours.
                        # Once: a change of it makes SQLite prepare all statements anew.
                        self.connection.execute("PRAGMA trusted_schema = ON")
                        self._history = history.recorder(self.connection)
                    self.connection.execute("BEGIN IMMEDIATE")
                break
            except CollectionBusy:
                if time.monotonic() - started >= patience:
                    raise
                if self.say is not None:
                    self.say("another process is writing to this collection; waiting for it to finish …")
                    self.say = None
        with translated(self.path):
            if self._history is not None:
                self._history.begin()
            try:
                yield self.connection
                self._history = self._history or history.recorder(self.connection, everything=True)
                if self._history is not None:
                    self._history.append()
                # A failed COMMIT (disk full) leaves the transaction open: the next writer would inherit it.
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                if self._history is not None and self._history.failure is not None:
                    raise self._history.failure from None
                raise
        if self.identity is not None and self._log is None:
            self._log = identity_of(self._log_path)
        self._refuse_moved()

    def _refuse_moved(self) -> None:
        """Raise where the path no longer leads to the open file: what is written is then in a file that is gone."""
        if self.identity is None:
            return
        place, real = identity_of(self.path), identity_of(self._real, follow_symlinks=False)
        has_log = self._log in (None, identity_of(self._log_path))
        if not (place == real == self.identity and has_log):
            self._say_moved(place, real, has_log=has_log)

    def _say_moved(self, place: Identity | None, real: Identity | None, *, has_log: bool) -> NoReturn:
        """Say what was done to the file, and take its log out of the way of another one that lies there now."""
        if place == self.identity:
            # Whoever opens a link that was put here meanwhile finds the file, but looks for its log elsewhere.
            how = f"the log of {self.path} was taken away" if real == place else f"{self.path} became a link"
            how = how if real else f"{self._real}, or a folder that it is in, was renamed"
            raise CollectionMoved(f"{how} while it was in use")
        log = ""
        if place is None:
            # The log goes into the file it belongs to, wherever that is now.
            with translated(self.path):
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif real != self.identity and self._log and has_log:
            # SQLite would replay it onto the file that lies here now. Who has opened that one already is told above.
            log = f"; its log is now {self._log_path.rename(f'{self._real}.moved-{os.getpid()}-wal')}"
        how = "removed or renamed" if place is None else "replaced by another file"
        raise CollectionMoved(f"{self.path} was {how} while it was in use{log}")

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
        return [row[0] for row in self.rows(sql, *values)]

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
        kind = object if default is None else list if isinstance(default, tuple) else type(default)
        return stored(kind, text, f"the setting {name} of {self.path}")

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

    def add_scale(self, scale: GradeScale) -> int:
        """Put a new version of the scale in force, inside `write()`, and give its number."""
        version = self.insert("INSERT INTO scales (relevant_from, created) VALUES (?, ?)", scale.relevant_from, now())
        self.put("grades", [(version, step.grade, step.label, step.gain, step.text) for step in scale.grades])
        return version

    def guidelines(self) -> str:
        """The guidelines in force; empty where there are none."""
        return str(self.value("SELECT text FROM guidelines ORDER BY version DESC LIMIT 1") or "")

    def add_guidelines(self, text: str) -> int:
        """Put new guidelines in force, inside `write()`, and give their version."""
        digest = sha256(text.encode("utf-8")).hexdigest()
        return self.insert("INSERT INTO guidelines (text, sha256, created) VALUES (?, ?, ?)", text, digest, now())


def stored(kind: type[Shape], text: str, what: str) -> Shape:
    """What is stored as JSON, of its kind: what a file says about itself is input like any other."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, kind):
            return value
    raise CollectionError(f"{what} is invalid ({shortened(text, 60)}): {RESTORE}")


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


def grouped(rows: Iterable[tuple[Name, Shape]]) -> dict[Name, list[Shape]]:
    """What stands in the second column for each value of the first."""
    found: dict[Name, list[Shape]] = {}
    for name, value in rows:
        found.setdefault(name, []).append(value)
    return found


# How a file is opened: it must be ours, run nothing of a stranger's, and have the tables of this version.


def open_store(path: Path, *, say: Say | None = None, migrated: bool = True) -> Store:
    """Open an existing collection, bringing an older file up to date (a backup of it is made first).

    A file that cannot be written, as published collections are, is opened for reading alone. Without `migrated` an
    older file stays as it is. `say` tells the user that the file was upgraded, or that writing has to wait.
    """
    if not path.exists():
        refuse_lost(path)
        raise CollectionError(f"no collection at {path}; create one with: cranfield init -C {path}")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a file"
        raise CollectionError(f"{path} is {kind}; a collection is one file, usually named collection.db")
    identity = identity_of(path)
    # Nobody may read the file beside SQLite: closing it would give up the locks of this process.
    connection, writable = connect_for_use(path)
    store = Store(path, connection, say=say, writable=writable)
    store.identity = identity
    try:
        store._refuse_moved()
        if store.value("PRAGMA application_id") != APPLICATION_ID:
            raise CollectionError(f"{path} is empty or another SQLite file, not a Cranfield collection")
        refuse_foreign(store)
        applied, known = applied_migrations(store), known_migrations()
        unknown = [name for name in applied if name not in known]
        if unknown:
            raise CollectionError(
                f"{path} was written by a newer Cranfield (it has the migration {unknown[-1]!r}, which this"
                " version does not know): upgrade with pip install --upgrade cranfield"
            )
        if migrated and set(applied) != set(known):
            files.bring_up_to_date(store)
    except BaseException:
        connection.close()
        raise
    return store


def known_migrations() -> dict[str, Path]:
    """The file of each migration, in the order of their numbers."""
    found = (path for folder in migrations.__path__ for path in Path(folder).glob("*.sql"))
    return {path.stem: path for path in sorted(found, key=lambda path: path.name)}


def statements_of(migration: Path) -> list[str]:
    """The statements of a migration; blank lines part them, and paragraphs that begin with -- are remarks."""
    paragraphs = migration.read_text(encoding="utf-8").strip().split("\n\n")
    return [one.removesuffix(";") for one in paragraphs if not one.startswith("--")]


def applied_migrations(store: Store) -> list[str]:
    if not store.row("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations' AND type = 'table'"):
        return []
    query = "SELECT name FROM _sqlite_migrations WHERE migration_set = 'cranfield' ORDER BY id"
    return store.column(query)


_CREATES = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|VIEW|TRIGGER|INDEX) \"?(\w+)")
_QUOTES_AND_BLANKS = re.compile(r"""[\s"\[\]]""")
BY_LIBRARY = {
    "_sqlite_migrations": (
        "CREATETABLE_sqlite_migrations(idINTEGERPRIMARYKEY,migration_setTEXT,nameTEXT,applied_atTEXT)"
    ),
    "documents_fts_data": "CREATETABLE'documents_fts_data'(idINTEGERPRIMARYKEY,blockBLOB)",
    "documents_fts_idx": "CREATETABLE'documents_fts_idx'(segid,term,pgno,PRIMARYKEY(segid,term))WITHOUTROWID",
    "documents_fts_docsize": "CREATETABLE'documents_fts_docsize'(idINTEGERPRIMARYKEY,szBLOB)",
    "documents_fts_config": "CREATETABLE'documents_fts_config'(kPRIMARYKEY,v)WITHOUTROWID",
}
"""What sqlite-utils and FTS5 make, without quotes and blanks, which differ."""
_QUOTED_OTHERWISE = {"documents_fts", "documents_ai", "documents_ad", "documents_au"}
"""What sqlite-utils made in older files, with other quotes and blanks."""


def declared() -> tuple[dict[str, str], list[str]]:
    """The statement of each table, view, trigger and index that the migrations make, and the columns they add."""
    statements = [statement for migration in known_migrations().values() for statement in statements_of(migration)]
    made = {match[1]: text for text in statements if (match := _CREATES.match(text))}
    return made, [text.partition(" ADD COLUMN ")[2] for text in statements if text.startswith("ALTER")]


def refuse_foreign(store: Store) -> None:
    """Refuse a file that would run what a stranger wrote: in triggers, or in tables, views and indexes like ours."""
    (made, added), foreign = declared(), []
    # SQLite takes names, and the kinds in its own table, in any case.
    columns = "lower(type), lower(name), name, lower(tbl_name), coalesce(sql, '')"
    for kind, name, written, table, sql in store.rows(f"SELECT {columns} FROM sqlite_master"):
        plain = _QUOTES_AND_BLANKS.sub("", sql)
        if name in BY_LIBRARY:
            is_ours = plain == BY_LIBRARY[name]
        elif name in _QUOTED_OTHERWISE:
            is_ours = plain == _QUOTES_AND_BLANKS.sub("", made[name])
        elif name in made:
            for column in added:
                sql = sql.replace(f", {column}", "", 1)
            is_ours = sql == made[name]
        else:
            is_alone = table not in made and not table.startswith("documents_fts_")
            is_ours = kind in ("table", "view") or (kind == "index" and (not sql or is_alone))
            if kind == "table" and "references" in sql.lower():
                # A table of the user's own must not keep rows of ours; `check` looks at all our keys.
                store.connection.execute("PRAGMA foreign_keys = OFF")
        if not is_ours:
            foreign.append(f"the {kind} {written!r}")
    if foreign:
        raise CollectionError(
            f"{store.path} was not opened: it has {', '.join(sorted(foreign))}, which no version of Cranfield makes"
            " and which could change what commands do; if it is yours, remove it in the sqlite3 shell"
        )


def left_log(path: Path) -> Path | None:
    """The write-ahead log or rollback journal beside a file, where one has something to put into it."""
    logs = (Path(f"{os.path.realpath(path)}-{kind}") for kind in ("wal", "journal"))
    return next((log for log in logs if log.exists() and log.stat().st_size), None)


def refuse_lost(path: Path) -> None:
    """Raise where only the log of a collection is left: SQLite would replay it onto any file that comes there."""
    if log := left_log(path):
        raise CollectionError(
            f"{log} is the log of a collection that is gone, with its latest judgments: if it was renamed, name it"
            f" {path.name} again; if it is lost, {RESTORE}, or move the log away"
        )


def identity_of(path: Path, *, follow_symlinks: bool = True) -> Identity | None:
    """The identity of the file at a path, or of the link there; None where there is none."""
    try:
        place = path.stat(follow_symlinks=follow_symlinks)
    except OSError:
        return None
    return place.st_dev, place.st_ino


def connect(path: Path, *, mode: str = "rw", called: Path | None = None) -> sqlite3.Connection:
    """Open the file with our settings: explicit transactions, WAL, full synchronisation, foreign keys.

    `isolation_level=None` keeps Python from starting transactions behind our back. Errors name the file `called`.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise CollectionError(
            f"SQLite {sqlite3.sqlite_version} is too old; pip install pysqlite3 provides a current one"
        )
    with translated(called or path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        for name, value in PRAGMAS.items():
            connection.execute(f"PRAGMA {name} = {value}")
    return connection


def connect_for_use(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the file for writing where that is possible, else for reading alone; say which."""
    try:
        connection = connect(path)
        with translated(path):
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection, True
    except CollectionError as error:
        unwritable = isinstance(error.__cause__, sqlite3.OperationalError) and not isinstance(error, CollectionBusy)
        log = left_log(path)
        if log and "for writing" in str(error):
            raise CollectionError(
                f"{path} cannot be opened: its latest changes are in {log.name}, which cannot be put into it"
                f" here ({error.__cause__}); copy both files to a writable folder and open the copy"
            ) from error
        if log or not unwritable:
            raise
    # Without a log nothing is missing from the file, and nobody can be changing it.
    return connect(path, mode="ro&immutable=1"), False


# What can go wrong: errors of SQLite as sentences.

_SENTENCES = {
    "locked|busy": "{path} is being written by another process; try again when it has finished",
    "full": "the disk is full: nothing was written to {path}; free some space and try again",
    "no such module: fts5": "this SQLite has no full-text search; pip install pysqlite3 provides one that has it",
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
    except UnicodeDecodeError:  # what SQLite says repeats names of the file as they are
        raise CollectionError(f"{path} is damaged: its tables have names that are not UTF-8; {RESTORE}") from None
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        raise _in_a_sentence(path, error) from error


def _in_a_sentence(path: Path, error: sqlite3.DatabaseError) -> CollectionError:
    if isinstance(error, sqlite3.OperationalError):
        words = next(words for words in _SENTENCES if any(word in str(error) for word in words.split("|")))
        kind = CollectionBusy if words == "locked|busy" else CollectionError
        return kind(_SENTENCES[words].format(path=path, message=error))
    what = f"is damaged or not a collection: {error};"
    if isinstance(error, sqlite3.IntegrityError):
        what = f"refuses what was to be written: {error};"
    elif "not a database" in str(error):
        what = "is not a collection (not an SQLite file); if it was one,"
    return CollectionError(f"{path} {what} {RESTORE}")
