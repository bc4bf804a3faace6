"""Open a collection, make one, copy one."""

from pathlib import Path

from cranfield._version import __version__
from cranfield.records import BINARY, GradeScale
from cranfield.source import Source
from cranfield.workflows.licence import SETTING, checked_licence
from cranfield.workflows.watching import now
from cranfield.store import Store, create_store, open_store
from cranfield.store.scales import add_guidelines, add_scale
from cranfield.store.settings import put_setting
from cranfield.store.store import Waiting, backup_to

__all__ = ["Store", "back_up", "init_collection", "open_collection"]


def init_collection(
    path: Path, *, name: str, scale: GradeScale = BINARY, guidelines: Path | None = None, licence: str = ""
) -> None:
    """Make a new collection with its scale and, where given, a Markdown file of guidelines and a licence."""
    text, terms = read_text(guidelines) if guidelines else "", checked_licence(licence)

    def furnish(store: Store) -> None:
        put_setting(store, "name", name)
        put_setting(store, "made_by", f"cranfield {__version__}")
        put_setting(store, "made", now())
        if terms:
            put_setting(store, SETTING, terms)
        add_scale(store, scale, now=now())
        if text:
            add_guidelines(store, text, now=now())

    create_store(path, furnish=furnish)


def open_collection(path: Path, *, waiting: Waiting | None = None) -> Store:
    """Open an existing collection; `waiting` is told the seconds while another process writes."""
    return open_store(path, waiting=waiting) if waiting else open_store(path)


def back_up(store: Store, target: Path) -> None:
    """Copy the collection into a new file, correctly, even while others write to it."""
    backup_to(store, target)


def read_text(path: Path) -> str:
    """Give a text file from outside, decoded."""
    return "\n".join(line for _, line in Source(path).lines()) + "\n"
