"""CSV and TSV, with a header or in MS MARCO's three columns."""

from typing import TYPE_CHECKING, BinaryIO, ClassVar

from cranfield.runs.csv_layout import layout_of
from cranfield.runs.format import run_formats
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.runs.run import Rows, Run


@run_formats.register("csv", "tsv")
class Csv:
    """Comma, semicolon or tab separated values."""

    summary: ClassVar[str] = (
        "CSV or TSV with a header (topic, document, score, …), or without: topic document rank [score [tag]]"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a header with the columns of a run, or three to five columns that make sense as one."""
        return layout_of(head) is not None

    @staticmethod
    def read(source: Source) -> "Rows":
        """Read rows; where there is a rank and no score, the score is minus the rank."""
        from cranfield.runs.csv_reading import read

        return read(source)

    @staticmethod
    def write(run: "Run", stream: BinaryIO) -> None:
        """Write a header and topic, document, rank, score and tag of each row, divided by commas."""
        from cranfield.runs.text_writing import write_csv

        write_csv(run, stream)
