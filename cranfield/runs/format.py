"""What a run format is: a class that recognises, reads and writes one kind of file."""

from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol

from cranfield.registry import Registry
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.runs.run import Rows, Run


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
    def read(source: Source) -> "Rows":
        """Read the whole file; what is wrong with it goes into the rows' `problems`."""

    @staticmethod
    def write(run: "Run", stream: BinaryIO) -> None:
        """Write a run so that reading it gives the same run."""


run_formats: Registry[type[RunFormat]] = Registry(
    "run format", package="cranfield.runs.formats", group="cranfield.run_formats"
)
