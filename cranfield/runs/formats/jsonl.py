"""JSON lines: one object per row, with the usual spellings of topic, document and score."""

import json
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from cranfield.runs.fields import roles_of
from cranfield.runs.format import run_formats
from cranfield.source import Source

if TYPE_CHECKING:
    from cranfield.runs.run import Rows, Run


@run_formats.register("jsonl", "json-lines", "ndjson")
class JsonLines:
    """One JSON object per line."""

    summary: ClassVar[str] = (
        'JSON lines: {"topic": "51", "document": "AP880212-0001", "score": 12.5}, rank and tag if you like'
    )
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise a first line that is an object with the columns of a run."""
        line = next((line for line in head.split(b"\n") if line.strip()), b"")
        if not line.lstrip().startswith(b"{"):
            return False
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return name.endswith((".jsonl", ".ndjson"))
        return isinstance(value, dict) and roles_of(value) is not None

    @staticmethod
    def read(source: Source) -> "Rows":
        """Read an object per line; ids that come as whole numbers become their decimal digits."""
        from cranfield.runs.jsonl_reading import read

        return read(source)

    @staticmethod
    def write(run: "Run", stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row."""
        from cranfield.runs.text_writing import write_json_lines

        write_json_lines(run, stream)
