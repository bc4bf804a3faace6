"""Parquet tables with the usual spellings of topic, document and score."""

from __future__ import annotations

import io
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from cranfield.base.errors import SourceError
from cranfield.base.files import Source
from cranfield.base.tables import Findings
from cranfield.runs import reading, sets
from cranfield.runs.columns import LineNumbers
from cranfield.runs.run import Rows, Run


@reading.run_formats.register("parquet")
class Parquet:
    """A Parquet table."""

    summary = "a Parquet table with the columns topic, document, score, and optionally rank and tag"
    suffixes = (".parquet",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise the magic bytes."""
        return head.startswith(b"PAR1")

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the columns that a run has; whole numbers as ids become their digits. Line numbers are row numbers."""
        if source.run:
            return reading.rows_of(source, sets.parts_of(source), LineNumbers(), Findings(reading.RUN))
        with source.open() as stream:
            data = stream.read()
        try:
            file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
            roles = reading.roles_of(file.schema_arrow.names)
            if roles is None:
                raise reading.not_a_run(source, "Parquet file")
            sets.refuse_grown(source.name, file.metadata, len(data), len(roles))
            table = file.read(columns=list(roles.values()))
            table.validate(full=True)
            parts = {part: sets.plain(source, table[name], part) for part, name in roles.items()}
        except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
            raise SourceError(source.name, f"is not a sound Parquet file: {error}") from None
        return reading.rows_of(source, parts, LineNumbers(), Findings(reading.RUN))

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write the run as a set of one, with the columns run, topic, document, rank and score."""
        sets.write(stream, [run])
