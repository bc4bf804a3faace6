"""What can go wrong, and how it is worded.

    CranfieldError                a sentence for the user, never a traceback
    ├── UsageError                the call itself is wrong                        exit status 2
    │   └── UnknownName           a word that names nothing; the nearest are listed
    ├── InputError                what came from outside cannot be accepted       exit status 1
    │   ├── SourceError           a file cannot be opened, decompressed or decoded
    │   └── ProblemsFound         a list of problems, each with its place
    ├── CollectionError           the collection file: absent, foreign, newer, damaged
    │   ├── CollectionBusy        another process has been writing for too long
    │   └── CollectionMoved       it was removed, renamed or replaced while it was open
    └── MissingExtra              an optional library is not installed

A message says where (file, line), what was seen, what was expected, and what to do. It starts with a small
letter unless with a name, ends without a full stop, and quotes what was seen with `quoted`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

Severity = Literal["error", "warning"]

LINES_KEPT = 10
"""How many line numbers a problem that occurs often carries as examples."""

RESTORE = "restore the last good backup with: cranfield restore BACKUP"
"""What to do with a damaged collection."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says of a disk, or of a share of it, that is full."""

NAMES_LISTED = 20
"""How many known names are listed beside a good guess."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with what came from outside, and its place.

    `code` is the stable name scripts can rely on; `count` says how often it occurs and `lines` gives the first
    places; `remedy` says what to do, or what `--repair` does about it.
    """

    code: str
    message: str
    severity: Severity = "error"
    file: str = ""
    lines: tuple[int, ...] = ()
    count: int = 1
    topic: str = ""
    remedy: str = ""
    repairable: bool = False

    def at(self, file: str) -> Problem:
        """The same problem with the name of the file it is in."""
        return replace(self, file=file)

    @property
    def is_error(self) -> bool:
        """Whether what it is about cannot be taken."""
        return self.severity == "error"

    @property
    def place(self) -> str:
        """The place as `file:line`, as compilers print it, so that editors can jump to it."""
        return ":".join([part for part in (self.file, str(self.lines[0]) if self.lines else "") if part])

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class CranfieldError(Exception):
    """The root of everything Cranfield raises on purpose."""

    exit_status = 1


class UsageError(CranfieldError):
    """A call that cannot be meant as it stands."""

    exit_status = 2


class UnknownName(UsageError):
    """A word that names nothing, with the nearest known words, and all known ones.

    Where there are near ones and more than `NAMES_LISTED` in all, the others are left out: among 60 measures the good
    guess would be lost.
    """

    def __init__(self, noun: str, name: str, known: Iterable[str]) -> None:
        self.noun, self.name, self.known = noun, name, sorted(known)
        near = nearest(name, self.known)
        guess = f"; did you mean {' or '.join(quoted(word) for word in near)}?" if near else ""
        is_listed = self.known and not (near and len(self.known) > NAMES_LISTED)
        listing = f" (known: {', '.join(self.known)})" if is_listed else ""
        super().__init__(f"unknown {noun} {quoted(name)}{guess}{listing}")


def check_known(noun: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse the first of the names that is not among the known ones."""
    for name in names:
        if name not in known:
            raise UnknownName(noun, name, known)


class InputError(CranfieldError):
    """Something that came from outside and cannot be accepted."""


class SourceError(InputError):
    """A file that cannot be opened, decompressed or decoded."""

    def __init__(self, file: str, message: str, line: int | None = None) -> None:
        self.problem = Problem("unreadable", message, file=file, lines=() if line is None else (line,))
        super().__init__(str(self.problem))


class ProblemsFound(InputError):
    """All problems of an input at once; `total` also counts those beyond the listed ones."""

    def __init__(self, summary: str, problems: Sequence[Problem], *, total: int = 0) -> None:
        self.summary, self.problems, self.total = summary, tuple(problems), max(total, len(problems))
        super().__init__("\n".join([summary, *(f"  {problem}" for problem in self.problems)]))


def refuse(summary: str, code: str, wrong: Iterable[str], *, file: object = "") -> None:
    """Raise all that is wrong with an input, in sentences, if anything is."""
    if problems := [Problem(code, text, file=str(file)) for text in wrong]:
        raise ProblemsFound(summary, problems)


class CollectionError(CranfieldError):
    """The collection file is absent, foreign, newer than this program, or damaged."""


class CollectionBusy(CollectionError):
    """Another process has been writing for longer than we are willing to wait."""


class CollectionMoved(CollectionError):
    """The path no longer leads to the file that is open: it was removed, renamed or replaced."""


class MissingExtra(CranfieldError):
    """A library that lives in an extra is not installed.

    The message names the libraries, as the metadata of the distribution has them, and not `cranfield[extra]`: that
    would be found by name only, whereas the libraries can be installed wherever the program itself came from.
    """

    def __init__(self, purpose: str, extra: str) -> None:
        from importlib.metadata import requires  # slow to import, and seldom needed

        wanted = [line.split(";") for line in requires("cranfield") or () if extra in re.split(r"['\"]", line)]
        names = [re.split(r"[^\w.-]", name)[0].lower() for name, _ in wanted]
        super().__init__(f"{purpose} needs the extra {quoted(extra)}: pip install {' '.join(names)}")


def quoted(value: object, *, limit: int = 80) -> str:
    """`value` in quotes, shortened, with what a terminal would act on made visible."""
    text = str(value)
    return repr(text if len(text) <= limit else f"{text[: limit - 1]}…")


def reason_of(error: OSError) -> str:
    """Why a file cannot be read or written, in words; a full disk is called so."""
    if error.errno in FULL:
        return "the disk is full; free some space and try again"
    return error.strerror or str(error)


def not_utf8(error: UnicodeEncodeError) -> InputError:
    """The sentence about words that are not UTF-8: those of a command line come as lone surrogates."""
    return InputError(f"{quoted(error.object)} is not UTF-8; the collection stores all text as UTF-8")


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """At most two of the known words that are spelled most like `name`, whatever the case."""
    by_folded = {word.casefold(): word for word in known}
    return [by_folded[word] for word in get_close_matches(name.casefold(), list(by_folded), n=2, cutoff=0.6)]
