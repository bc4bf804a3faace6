"""Files that are complete or not there at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cranfield.errors import UsageError


@contextmanager
def whole_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `path`; what is written there takes its place at the end, if all went well.

    Without `replace` an existing file is refused, also one that another process makes in the meantime: a hard link
    fails where a rename would overwrite. Whoever is killed leaves at most a file called `…unfinished-PID`.
    """
    if not replace and path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    unfinished = path.with_name(f"{path.name}.unfinished-{os.getpid()}")
    try:
        yield unfinished
        if replace:
            unfinished.replace(path)
        else:
            _move(unfinished, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _move(unfinished: Path, path: Path) -> None:
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name") from None
    except OSError:
        # Some file systems have no hard links; there a rename is the best there is.
        unfinished.rename(path)
