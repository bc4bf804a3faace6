"""The SQLite library in use: how a connection is set up, and which known troubles it has.

`pysqlite3` (the extra `sqlite`) is preferred where it is installed, since it brings a current SQLite;
sqlite-utils makes the same choice, so that both always speak with one library.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionBusy, CollectionError, not_utf8
from cranfield.store import migrations

if TYPE_CHECKING:
    import sqlite3

    from sqlite_utils import Database
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

APPLICATION_ID = 0x43524E46
"""The four letters CRNF in the header of the file: `file` and we recognise a collection by them."""

BUSY_MILLISECONDS = 1_000
"""How long one attempt to write waits; `Store.write` repeats it, so that a waiting user can be told."""

_OLDEST = (3, 37)
_WAL_RESET_FIXED = (3, 51, 3)
_WAL_RESET_BACKPORTS: dict[tuple[int, ...], int] = {(3, 44): 6, (3, 50): 7}
IntegrityError = sqlite3.IntegrityError
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"}


def connect(path: Path, *, mode: str = "rw", called: Path | None = None) -> sqlite3.Connection:
    """Open the file with our settings: explicit transactions, WAL, full synchronisation, foreign keys.

    `isolation_level=None` keeps Python from starting transactions behind our back. Errors name the file `called`.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise CollectionError(
            f"SQLite {sqlite3.sqlite_version} is too old; pip install 'cranfield[sqlite]' brings a current one"
        )
    with translated(called or path):
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA recursive_triggers = ON")
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


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into a sentence about the collection at `path`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise not_utf8(error) from None
    except sqlite3.OperationalError as error:
        raise _operational(path, str(error)) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        raise CollectionError(f"{path} is damaged or not a collection: {error}; restore it from a backup") from error


def _operational(path: Path, message: str) -> CollectionError:
    if "locked" in message or "busy" in message:
        return CollectionBusy(f"{path} is being written by another process; try again when it has finished")
    if "full" in message:
        return CollectionError(f"the disk is full: nothing was written to {path}; make room and try again")
    if "no such module: fts5" in message:
        return CollectionError(
            "this SQLite has no full-text search; pip install 'cranfield[sqlite]' brings one that has"
        )
    if "readonly" in message or "unable to open" in message:
        return CollectionError(f"{path} cannot be opened for writing ({message}); the folder must be writable too")
    return CollectionError(f"{path}: SQLite says: {message}")


def known_troubles(path: Path, *, shared: bool = True) -> list[str]:
    """Say what is risky: this SQLite, where several who write have `shared` the file, and the place it lies in."""
    troubles = []
    if shared and has_wal_reset_bug(sqlite3.sqlite_version_info):
        troubles.append(
            f"SQLite {sqlite3.sqlite_version} has the WAL-reset bug: very rarely, two processes writing at once can"
            " damage the file. Install 'cranfield[sqlite]' on machines where several people judge in one file"
        )
    if (kind := file_system_of(path)) in _NETWORK_FILE_SYSTEMS:
        troubles.append(
            f"{path} lies on a network file system ({kind}), where SQLite's locks cannot be relied on: keep it on a"
            " local disk and let the others use packets"
        )
    return troubles


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Say whether this SQLite version has the WAL-reset bug (3.7.0 to 3.51.2, but for two backports)."""
    fixed_in = _WAL_RESET_BACKPORTS.get(version[:2])
    if fixed_in is not None and version[2] >= fixed_in:
        return False
    return version < _WAL_RESET_FIXED


def file_system_of(path: Path, *, mounts: Path = Path("/proc/self/mounts")) -> str:
    """Give the kind of file system `path` lies on, or an empty string where that cannot be told."""
    try:
        table = [line.split()[1:3] for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    place = os.path.realpath(path)
    covering = [(len(point), kind) for point, kind in table if point in ("/", place) or place.startswith(point + "/")]
    return max(covering, default=(0, ""))[1]


# How a collection file gets its tables: numbered steps, recorded in the file, each applied once.

SET = "cranfield"


def known_names() -> list[str]:
    """Give the names of all steps this version knows, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(migrations.__path__))


def applied_names(connection: sqlite3.Connection) -> list[str]:
    """Give the names of the steps the file has been through, in order."""
    has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
    if not has_table:
        return []
    query = "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id"
    return [name for (name,) in connection.execute(query, [SET])]


def migrate(database: Database, *, stop_before: str | None = None) -> None:
    """Apply the steps that are missing, inside the transaction that the caller has begun."""
    from sqlite_utils.migrations import Migrations

    steps = Migrations(SET)
    for name in known_names():
        steps(name=name)(import_module(f"{migrations.__name__}.{name}").up)
    steps.apply(database, stop_before=stop_before)
