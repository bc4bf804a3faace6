"""Change guidelines or scale while judging goes on: a new version, and what was judged under the old ones."""

from dataclasses import dataclass
from pathlib import Path

from cranfield.errors import InputError
from cranfield.records import GradeScale
from cranfield.workflows.opening import read_text
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.pace import off_scale, older_than
from cranfield.store.scales import add_guidelines, add_scale, current_guidelines, current_scale


@dataclass(frozen=True, slots=True)
class Changed:
    """The new version, how many judgments stand from before it, and how many of their grades are not on the scale."""

    version: int
    older: int
    off_scale: int = 0


def change_guidelines(store: Store, path: Path) -> Changed:
    """Put new guidelines in force."""
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path} has no text in it")
    with store.write():
        if current_guidelines(store)[1] == text:
            raise InputError(f"{path} is what is in force already; nothing was changed")
        version = add_guidelines(store, text, now=now())
        return Changed(version, older_than(store, scale=0, guidelines=version))


def change_scale(store: Store, scale: GradeScale) -> Changed:
    """Put a new scale in force."""
    with store.write():
        if current_scale(store)[1] == scale:
            raise InputError("this scale is in force already; nothing was changed")
        version = add_scale(store, scale, now=now())
        return Changed(version, older_than(store, scale=version, guidelines=0), off_scale(store, scale=version))
