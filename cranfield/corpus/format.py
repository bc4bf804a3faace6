"""What a file format of documents or topics is: it recognises itself, reads, and writes.

Reading gives records and problems in the order of the file. A bad record is a problem of severity `error` in its
place, and reading goes on behind it; a `warning` stands before the record it is about, which is given all the same.
A format has no state, so a class with static methods is one: the class itself is what is registered.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol, TextIO

from cranfield.errors import Problem
from cranfield.records import Document, Topic
from cranfield.source import Source


class DocumentFormat(Protocol):
    """A file format of documents. `summary` is its line in the help; `suffixes` are the usual file endings."""

    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def suffixes(self) -> tuple[str, ...]: ...  # noqa: D102

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether a file that begins with `head` is of this format."""
        ...

    def read(self, source: Source) -> Iterator[Document | Problem]:
        """Give the documents and the problems, streamed."""
        ...


class WritableDocumentFormat(DocumentFormat, Protocol):
    """A file format in which documents can be written, too."""

    def write(self, documents: Iterable[Document], stream: TextIO) -> None:
        """Write all documents so that reading them gives them back."""
        ...


class TopicFormat(Protocol):
    """A file format of topics. `summary` is its line in the help; `suffixes` are the usual file endings."""

    @property
    def summary(self) -> str: ...  # noqa: D102
    @property
    def suffixes(self) -> tuple[str, ...]: ...  # noqa: D102

    def sniff(self, head: bytes, name: str) -> bool:
        """Whether a file that begins with `head` is of this format."""
        ...

    def read(self, source: Source) -> Iterator[Topic | Problem]:
        """Give the topics and the problems, streamed."""
        ...

    def write(self, topics: Iterable[Topic], stream: TextIO) -> None:
        """Write all topics so that reading them gives them back."""
        ...
