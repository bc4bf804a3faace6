"""One JSON object per line, with the topic, the document and the grade under names that are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from cranfield.base.files import Source
from cranfield.qrels.reading import qrels_formats

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.reading import QrelsRows


@qrels_formats.register("jsonl")
class JsonLines:
    """JSON lines."""

    summary = "JSON lines: objects with topic (or query-id), document (or corpus-id) and grade (or relevance, score)"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a file that begins with an object."""
        return head.lstrip().startswith(b"{")

    @staticmethod
    def read(source: Source) -> QrelsRows:
        """Read the objects line by line."""
        from cranfield.qrels.reading import read_json_lines

        return read_json_lines(source)

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write objects with topic, document and grade."""
        from cranfield.qrels.reading import write_json_lines

        write_json_lines(qrels, stream)
