"""Parquet tables with the usual spellings of topic, document and score."""

from typing import TYPE_CHECKING, BinaryIO, ClassVar

from cranfield.runs.format import run_formats
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.runs.run import Rows, Run


@run_formats.register("parquet")
class Parquet:
    """A Parquet table."""

    summary: ClassVar[str] = "a Parquet table with the columns topic, document, score, and rank and tag if you like"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise the magic bytes."""
        return head.startswith(b"PAR1")

    @staticmethod
    def read(source: Source) -> "Rows":
        """Read the columns that a run has; whole numbers as ids become their decimal digits."""
        from cranfield.runs.parquet_files import read

        return read(source)

    @staticmethod
    def write(run: "Run", stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row."""
        from cranfield.runs.parquet_files import write

        write(run, stream)
