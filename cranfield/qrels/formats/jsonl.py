"""One JSON object per line, with the topic, the document and the grade under names that are in use."""

from __future__ import annotations

import json
from typing import BinaryIO

from cranfield.base.files import Source
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.reading import QrelsRows, columns_of, qrels_formats, read_named
from cranfield.runs.columns import joined_lines


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
        return read_named(source)

    @staticmethod
    def write(qrels: Qrels, stream: BinaryIO) -> None:
        """Write objects with topic, document and grade."""
        for part in columns_of(qrels, json.dumps):
            words = ('{"topic": ', part["topic"], ', "document": ', part["document"], ', "grade": ', part["grade"])
            stream.write(joined_lines(*words, "}\n"))
