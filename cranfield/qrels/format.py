"""What a qrels format is: a class that recognises and reads one kind of file."""

from typing import TYPE_CHECKING, Protocol

from cranfield.registry import Registry
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.qrels.rows import QrelsRows


class QrelsFormat(Protocol):
    """One kind of qrels file.

    `summary` says in one line what the file looks like. Nothing here may need pyarrow before `read` is called: the
    list of formats is shown without it.
    """

    summary: str

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Say whether the first bytes of a file look like this format."""

    @staticmethod
    def read(source: Source) -> "QrelsRows":
        """Read the whole file; what is wrong with it goes into the rows' `problems`."""


qrels_formats: Registry[type[QrelsFormat]] = Registry(
    "qrels format", package="cranfield.qrels.formats", group="cranfield.qrels_formats"
)
