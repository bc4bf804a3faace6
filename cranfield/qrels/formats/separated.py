"""Comma- or tab-separated rows under a header that names the columns, as BEIR ships its qrels."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from cranfield.base.files import Source
from cranfield.qrels.reading import qrels_formats

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.reading import QrelsRows

_FEWEST = 3


@qrels_formats.register("csv")
class CommaSeparated:
    """Comma-separated values with a header."""

    summary = (
        "comma-separated with a header: topic (or query-id), document (or corpus-id), grade (or relevance, score)"
    )

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a header of names between commas."""
        return _is_header(head, b",")

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the rows."""
        from cranfield.qrels.reading import read_separated

        return read_separated(source, delimiter=",")

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write topic, document and grade under their names."""
        from cranfield.qrels.reading import write_separated

        write_separated(qrels, stream, delimiter=",", header=("topic", "document", "grade"))


@qrels_formats.register("tsv", "beir")
class TabSeparated:
    """Tab-separated values with a header, BEIR's `query-id corpus-id score` among them."""

    summary = "tab-separated with a header, as BEIR has it: query-id corpus-id score"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a header of names between tabs."""
        return _is_header(head, b"\t")

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the rows."""
        from cranfield.qrels.reading import read_separated

        return read_separated(source, delimiter="\t")

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write the columns as BEIR calls them."""
        from cranfield.qrels.reading import write_separated

        write_separated(qrels, stream, delimiter="\t", header=("query-id", "corpus-id", "score"))


def _is_header(head: bytes, delimiter: bytes) -> bool:
    from cranfield.qrels.reading import role_of

    line = next(iter(head.splitlines()), b"").decode("utf-8", "replace")
    words = [word.strip().strip('"') for word in line.split(delimiter.decode())]
    return len(words) >= _FEWEST and {"topic", "document", "grade"} <= {role_of(word) for word in words}
