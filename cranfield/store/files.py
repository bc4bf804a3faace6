"""A collection file as a whole: made, brought up to date, copied, restored; its risks and its faults."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from shutil import copymode
from typing import Any

from cranfield.base.errors import RESTORE, CollectionBusy, CollectionError, InputError
from cranfield.base.registry import deferred
from cranfield.base.text import now
from cranfield.base.writing import whole_file
from cranfield.store.store import (
    APPLICATION_ID,
    BY_LIBRARY,
    SQLITE_VERSION,
    Store,
    connect,
    declared,
    known_migrations,
    left_log,
    open_store,
    refuse_lost,
    statements_of,
    translated,
)

with deferred:
    import sqlite3

    import sqlite_utils  # it imports pandas

_WAL_RESET_FIXED = (3, 51, 3)
_WAL_RESET_BACKPORTS: dict[tuple[int, ...], int] = {(3, 44): 6, (3, 50): 7}
_NETWORK_FILE_SYSTEMS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"}


def create_store(path: Path, *, furnish: Callable[[Store], None]) -> None:
    """Make a new collection file, complete or not at all; an existing file is never overwritten.

    `furnish` writes what a collection begins with, in the transaction that makes the tables.
    """
    if path.exists():
        raise CollectionError(
            f"{path} already exists; name another file (init: -C OTHER.db), or continue with it (cranfield status)"
        )
    if not path.parent.is_dir():
        raise CollectionError(f"cannot create {path.name}: no such folder: {path.parent}")
    refuse_lost(path)
    with whole_file(path) as unfinished, Store(path, connect(unfinished, mode="rwc", called=path)) as store:
        store.row("PRAGMA journal_mode = WAL")
        with store.write() as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            _migrate(connection)
            furnish(store)


def _migrate(connection: Any) -> None:
    """Apply the migrations that are missing, inside the transaction that the caller has begun."""
    from sqlite_utils.migrations import Migrations

    connection.create_function("crc32", 1, zlib.crc32, deterministic=True)  # the checksums of m0007
    steps = Migrations("cranfield")
    for name, migration in known_migrations().items():

        def apply(database: Any, migration: Path = migration) -> None:
            for statement in statements_of(migration):
                database.execute(statement)

        steps(name=name)(apply)
    steps.apply(sqlite_utils.Database(connection, execute_plugins=False))


def bring_up_to_date(store: Store) -> None:
    """Give an older file the tables of this version; a copy of it is kept as it was."""
    if not store.writable:
        raise CollectionError(
            f"{store.path} was written by an older version of Cranfield and must be migrated, but it is read-only"
            " here; copy it to a writable folder and open the copy"
        )
    keep = store.path.with_name(f"{store.path.name}.before-{max(known_migrations())}")
    if is_new := not keep.exists():
        back_up(store, keep)
    try:
        with store.write() as connection:
            _migrate(connection)
    except CollectionError as error:
        if is_new:  # the file is as it was
            keep.unlink()
        if not any(words in str(error) for words in ("already exists", "duplicate column")):
            raise
        misfit = f"the list of migrations in {store.path} does not fit its tables ({error.__cause__})"
        raise CollectionError(f"{misfit}; {RESTORE}") from error
    store._history = None  # there are more tables now: the next write looks at them anew
    store.kept_as = keep
    if store.say is not None:
        store.say(f"{store.path} was written by an older version and has been upgraded; the original is {keep}")


def back_up(store: Store, target: Path, *, called: Path | None = None) -> None:
    """Copy the live file, page by page, into a new file that is complete or not there at all.

    Errors name the file `called`.
    """
    if target.exists():
        raise CollectionError(f"{target} already exists; a backup never overwrites a file")
    if not target.parent.is_dir():
        raise CollectionError(f"cannot write the copy: no such folder: {target.parent}")
    refuse_lost(target)
    with (
        whole_file(target) as unfinished,
        translated(called or target),
        closing(connect(unfinished, mode="rwc", called=called or target)) as copy,
    ):
        store.connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        copymode(store.path, unfinished)  # what is private, or open to a team, stays so


def restore(path: Path, backup: Path, *, check: Callable[[Store], None] | None) -> Path | None:
    """Put a copy of a backup in the place of a collection; returns the name under which what was there is kept.

    `check`, if any, raises where the copy is not sound; then nothing is changed. The old file goes aside together
    with its log or journal: SQLite would replay that onto the copy and damage it. A link stays, and leads to it.
    """
    path = path.resolve() if path.is_symlink() else path
    with whole_file(path, replace=True) as unfinished:
        with open_store(backup, migrated=False) as source:
            _refuse_other(path, source)
            back_up(source, unfinished, called=path)
        with open_store(unfinished) as copy:
            if check is not None:
                check(copy)
            if copy.kept_as is not None:  # an older version of the copy, which the backup itself keeps
                copy.kept_as.unlink()
        aside = path.with_name(f"{path.name}.replaced-{now().replace(':', '')}")
        if path.exists():
            _refuse_while_open(path)
            copymode(path, unfinished)
        moved = [kind for kind in ("", "-wal", "-shm", "-journal") if path.with_name(path.name + kind).exists()]
        for kind in moved:
            path.with_name(path.name + kind).rename(aside.with_name(aside.name + kind))
    return aside.with_name(aside.name + moved[0]) if moved else None


def _refuse_other(path: Path, backup: Store) -> None:
    """Raise if the file at a path is another collection than the one that the backup is of."""
    with suppress(CollectionError, OSError), open_store(path, migrated=False) as there:
        kept, known = ((one.setting("name", ""), one.setting("made", "")) for one in (backup, there))
        if kept[1] != known[1]:
            kind = "the packet" if backup.setting("packet") else "a backup of"
            raise InputError(
                f"{backup.path} is {kind} {kept[0]!r}, made {kept[1]}, but {path} is {known[0]!r}, made"
                f" {known[1]}; nothing was changed: name another file with -C, or move that one away first"
            )


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


# What is risky, and what can be wrong.


def known_troubles(path: Path, *, shared: bool = True) -> list[str]:
    """What is risky: this SQLite, where several who write have `shared` the file, and the place it lies in."""
    troubles = []
    if shared and has_wal_reset_bug(tuple(map(int, SQLITE_VERSION.split(".")))):
        troubles.append(
            f"SQLite {SQLITE_VERSION} has the WAL-reset bug: very rarely, two processes that write at the"
            " same time can damage the file. Where several people judge in one file: pip install pysqlite3"
        )
    for log in sorted(Path(os.path.realpath(path)).parent.glob("*-wal")):
        file = log.with_name(log.name.removesuffix("-wal"))
        if not file.exists() and left_log(file) and ".moved-" not in log.name:  # moved by us: its answers were kept
            troubles.append(
                f"{log} is the log of a file that is gone; if {path.name} is that file, its latest judgments are in"
                f" the log: before anything is changed, rename {path.name} to {file.name}"
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


def schema_faults(store: Store) -> Iterator[str]:
    """What is missing of tables, indexes, triggers and views; opening has compared those that are there."""
    made, _ = declared()
    kinds = {name: re.sub("UNIQUE |VIRTUAL ", "", text).split()[1].lower() for name, text in made.items()}
    kinds |= dict.fromkeys(BY_LIBRARY, "table")
    there = set(store.column("SELECT lower(name) FROM sqlite_master"))
    return (f"the {kind} {name} is missing" for name, kind in kinds.items() if name not in there)


def foreign_tables(store: Store) -> list[str]:
    """The names of tables and views that are not ours: people add their own in Datasette or in SQL."""
    ours = {*BY_LIBRARY, *declared()[0]}
    query = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    return [name for name in store.column(query) if name not in ours]


def scale_faults(store: Store) -> Iterator[str]:
    """The versions of scale and guidelines that make no sense or are not what their hash says."""
    versions = store.column("SELECT version FROM scales ORDER BY version")
    if not versions:
        yield "there is no grade scale"
    for version in versions:
        try:
            store.scale(version)
        except InputError as error:
            yield f"version {version} of the scale is invalid: {error}"
    for version, text, known in store.rows("SELECT version, text, sha256 FROM guidelines"):
        if sha256(text.encode("utf-8")).hexdigest() != known:
            yield f"version {version} of the guidelines does not match its hash"


def index_faults(store: Store) -> Iterator[str]:
    """Whether the search index is what the documents say it should be; a file that is only read is trusted."""
    if not store.writable:
        return
    try:
        with store.write() as connection:
            # The 1 makes FTS5 compare the index with the documents, not only with itself.
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 1)")
    except CollectionError as error:
        rebuild = "rebuild it in the sqlite3 shell: INSERT INTO documents_fts(documents_fts) VALUES('rebuild')"
        yield f"the search index does not match the documents ({error}); {rebuild}"


# A quick look at the names in a file, for a shell that completes them: without all that opening a collection does.

_NAMES = {
    "runs": "SELECT name FROM runs WHERE withdrawn IS NULL ORDER BY name",
    "topics": "SELECT id FROM topics ORDER BY number",
    "pools": "SELECT name FROM pools ORDER BY number DESC",
    "queues": "SELECT name FROM queues ORDER BY number DESC",
    "releases": "SELECT name FROM releases ORDER BY name",
}
_MOST_STEPS = 5_000_000


def names(path: Path, noun: str) -> list[str]:
    """The names of the runs, topics, pools, queues or releases in a file, which is only read."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
        connection.set_progress_handler(lambda: True, _MOST_STEPS)  # a view in the place of a table may have no end
        return [str(name) for (name,) in connection.execute(_NAMES[noun])]
