"""Run files of any known format become rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol

from cranfield.base.errors import Problem, ProblemsFound
from cranfield.base.files import Source
from cranfield.base.registry import Registry
from cranfield.runs.problems import problem
from cranfield.runs.run import Rows

if TYPE_CHECKING:
    from cranfield.runs.run import Run


# What a run format is: a class that recognises, reads and writes one kind of file.


class RunFormat(Protocol):
    """One kind of run file.

    `summary` says in one line what the file looks like, `suffixes` how such files are usually called. Nothing here
    may need pyarrow before `read` or `write` is called: the list of formats is shown without it.
    """

    summary: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Say whether the first bytes of a file look like this format."""

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the whole file; what is wrong with it goes into the rows' `problems`."""

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write a run so that reading it gives the same run."""


run_formats: Registry[type[RunFormat]] = Registry(
    "run format", package="cranfield.runs.formats", group="cranfield.run_formats"
)


def read_rows(source: Source, *, format: str | None = None) -> Rows:
    """Read a run file in the named format, or in the one its first bytes look like.

    A file with nothing in it is read as TREC, and found empty there.
    """
    return format_of(source, format=format).read(source)


def format_of(source: Source, *, format: str | None = None) -> type[RunFormat]:
    """Give the named format, or the one that recognises the file."""
    if format is not None:
        return run_formats.get(format)
    head = source.head()
    if not head.strip():
        return run_formats.get("trec")
    known = run_formats.first(lambda format: format.sniff(head, source.name))
    if known is not None:
        return known
    raise ProblemsFound("this is not a run file of a known format", [_unknown(source)])


def _unknown(source: Source) -> Problem:
    expected = "; ".join(f"{name}: {known.summary}" for name, known in run_formats.items())
    return problem("unknown-format", f"the format was not recognised; expected one of: {expected}").at(source.name)
