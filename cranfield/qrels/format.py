"""What a qrels format is: a class that recognises, reads and writes one kind of file."""

from typing import TYPE_CHECKING, BinaryIO, Protocol

from cranfield.registry import Registry
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.rows import QrelsRows


class QrelsFormat(Protocol):
    """One kind of qrels file.

    `summary` says in one line what the file looks like. Nothing here may need pyarrow before `read` or `write`
    is called: the list of formats is shown without it.
    """

    summary: str

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Say whether the first bytes of a file look like this format."""

    @staticmethod
    def read(source: Source) -> "QrelsRows":
        """Read the whole file; what is wrong with it goes into the rows' `problems`."""

    @staticmethod
    def write(qrels: "Qrels", stream: BinaryIO) -> None:
        """Write qrels so that reading them gives the same qrels."""


qrels_formats: Registry[type[QrelsFormat]] = Registry(
    "qrels format", package="cranfield.qrels.formats", group="cranfield.qrels_formats"
)
