"""Files of this machine: written whole or not at all, never outside their folder; and where a user's own are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cranfield.base.errors import FULL, CranfieldError, InputError, UsageError, reason_of

_LOGS = ("-wal", "-shm", "-journal")


def refuse_target(path: Path) -> None:
    """Refuse a path at which no report, card or table may be written: a folder, or an SQLite file or its log."""
    if not path.name or path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path.name}: no such folder: {path.parent}")
    # A file with a log may be open here: to read and close it beside SQLite would give up the locks of this process.
    is_database = path.exists() and (path.name.endswith(_LOGS) or Path(f"{os.path.realpath(path)}-wal").exists())
    if not is_database and path.is_file():
        with path.open("rb") as stream:
            is_database = stream.read(15) == b"SQLite format 3"
    if is_database:
        raise UsageError(f"{path} is a collection or another SQLite file; choose another name")


def inside(path: Path, folder: Path) -> Path:
    """A path that a file or a folder from elsewhere names; one that leads out of the folder is refused."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path} leads out of {folder}: copy what it stands for, or name that file itself")
    return path


@contextmanager
def whole_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A temporary path beside `path`; what is written there takes its place at the end, if all went well.

    Without `replace` an existing file is refused, also one that another process makes in the meantime: a hard link
    fails where a rename would overwrite. Whoever is killed leaves at most a file called `…unfinished-PID`.
    """
    if not path.name or path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if not replace and path.exists():
        raise UsageError(f"{path} already exists; choose another name")
    unfinished = path.with_name(f"{path.name}.unfinished-{os.getpid()}")
    try:
        unfinished.unlink(missing_ok=True)  # of a process that was killed, or a link that somebody has put there
        yield unfinished
        if replace:
            refuse_target(path)  # `restore` has moved the collection away by now
            unfinished.replace(path)
            return
        try:
            os.link(unfinished, path)
        except FileExistsError:
            raise UsageError(f"{path} already exists; choose another name") from None
        except OSError:
            # Some file systems have no hard links; there a rename is the best there is.
            unfinished.rename(path)
    except OSError as error:
        kind = CranfieldError if error.errno in FULL else UsageError
        raise kind(f"{path} cannot be written: {reason_of(error)}") from None
    finally:
        unfinished.unlink(missing_ok=True)


# Where a program keeps what belongs to the user, not to a collection.


def settings_folder() -> Path:
    """Where settings of this user are kept: the remembered name, and which sources were approved."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "cranfield"
