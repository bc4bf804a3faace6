"""Comma- or tab-separated rows under a header that names the columns, as BEIR ships its qrels."""

from __future__ import annotations

from typing import BinaryIO, ClassVar

from cranfield.base.files import Source
from cranfield.qrels.qrels import Qrels
from cranfield.qrels.reading import QRELS, QrelsRows, columns_of, qrels_formats, read_named
from cranfield.runs.columns import joined_lines


@qrels_formats.register("csv")
class CommaSeparated:
    """Comma-separated values with a header."""

    summary = (
        "comma-separated with a header: topic (or query-id), document (or corpus-id), grade (or relevance, score)"
    )
    delimiter: ClassVar[str] = ","
    header: ClassVar[tuple[str, ...]] = ("topic", "document", "grade")

    @classmethod
    def sniff(cls, head: bytes, name: str) -> bool:
        """Recognise a header of names between delimiters."""
        line = next(iter(head.splitlines()), b"").decode("utf-8", "replace")
        words = [word.strip().strip('"') for word in line.split(cls.delimiter)]
        return QRELS.roles(words).keys() == QRELS.columns.keys()

    @classmethod
    def read(cls, source: Source) -> QrelsRows:
        """Read the rows."""
        return read_named(source, delimiter=cls.delimiter)

    @classmethod
    def write(cls, qrels: Qrels, stream: BinaryIO) -> None:
        """Write a header and rows; ids are quoted where that is needed and nowhere else."""

        def quoted_where_needed(word: str) -> str:
            doubled = word.replace('"', '""')
            return f'"{doubled}"' if cls.delimiter in word or '"' in word else word

        stream.write((cls.delimiter.join(cls.header) + "\n").encode())
        for part in columns_of(qrels, quoted_where_needed):
            words = (part["topic"], cls.delimiter, part["document"], cls.delimiter, part["grade"])
            stream.write(joined_lines(*words, "\n"))


@qrels_formats.register("tsv", "beir")
class TabSeparated(CommaSeparated):
    """Tab-separated values with a header, BEIR's `query-id corpus-id score` among them."""

    summary = "tab-separated with a header, as BEIR has it: query-id corpus-id score"
    delimiter = "\t"
    header = ("query-id", "corpus-id", "score")
