"""The four TREC columns: topic, iteration, document, grade; or five with a stratum before the grade."""

from typing import TYPE_CHECKING, BinaryIO

from cranfield.qrels.format import qrels_formats
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.qrels.qrels import Qrels
    from cranfield.qrels.rows import QrelsRows

_COLUMNS = (4, 5)
_HEADINGS = (b"query-id", b"query_id", b"topic", b"qid")


@qrels_formats.register("trec")
class Trec:
    """Columns between blanks or tabs, as trec_eval reads them; # begins a comment line."""

    summary = "columns divided by blanks or tabs: topic iteration document [stratum] grade"

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise lines of four or five columns that are neither JSON nor a header of names."""
        lines = [line.split() for line in head.splitlines()[:50] if line.strip() and not line.startswith(b"#")]
        if not lines:
            return True
        if lines[0][0].lower() in _HEADINGS or lines[0][0][:1] in (b"{", b"["):
            return False
        return 2 * sum(len(words) in _COLUMNS for words in lines) > len(lines)

    @staticmethod
    def read(source: Source) -> "QrelsRows":
        """Read the file in blocks, clean ones at full speed, others line by line exact."""
        from cranfield.qrels.trec_reading import read

        return read(source)

    @staticmethod
    def write(qrels: "Qrels", stream: BinaryIO) -> None:
        """Write one line per judgment, the iteration 0."""
        from cranfield.qrels.writing import write_trec

        write_trec(qrels, stream)
