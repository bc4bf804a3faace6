"""The six TREC columns: topic, Q0, document, rank, score, tag."""

import re
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from cranfield.runs.format import run_formats
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.runs.run import Rows, Run

_ITERATION = re.compile(rb"[Qq][0-9]+|0")


@run_formats.register("trec")
class Trec:
    """Six columns between blanks or tabs, as trec_eval reads them."""

    summary: ClassVar[str] = "six columns divided by blanks or tabs: topic Q0 document rank score tag"
    suffixes: ClassVar[tuple[str, ...]] = (".run", ".trec", ".res", ".txt")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of six columns, or of some more or fewer whose second is Q0."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip()]
        fitting = [columns for columns in lines if _looks_fitting(columns)]
        return len(fitting) * 2 > len(lines)

    @staticmethod
    def read(source: Source) -> "Rows":
        """Read the file in blocks, clean ones at full speed, others line by line exact."""
        from cranfield.runs.trec_reading import read

        return read(source)

    @staticmethod
    def write(run: "Run", stream: BinaryIO) -> None:
        """Write ranks from 1 and scores with as many digits as they need to come back unchanged."""
        from cranfield.runs.text_writing import write_trec

        write_trec(run, stream)


def _looks_fitting(columns: list[bytes]) -> bool:
    if len(columns) < 3 or columns[0][:1] in (b"{", b"[", b"<"):
        return False
    return len(columns) == 6 or _ITERATION.fullmatch(columns[1]) is not None
