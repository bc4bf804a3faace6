"""Parquet tables with the usual spellings of topic, document and score."""

from __future__ import annotations

import io
from typing import BinaryIO, ClassVar

import pyarrow as pa
import pyarrow.parquet

from cranfield.base.errors import SourceError
from cranfield.base.files import Source
from cranfield.base.tables import Findings
from cranfield.runs import reading
from cranfield.runs.run import Rows, Run


@reading.run_formats.register("parquet")
class Parquet:
    """A Parquet table."""

    summary: ClassVar[str] = "a Parquet table with the columns topic, document, score, and rank and tag if you like"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    @staticmethod
    def sniff(head: bytes, name: str) -> bool:
        """Recognise the magic bytes."""
        return head.startswith(b"PAR1")

    @staticmethod
    def read(source: Source) -> Rows:
        """Read the columns that a run has; whole numbers as ids become their digits. Line numbers are row numbers."""
        with source.open() as stream:
            data = stream.read()
        try:
            file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
            roles = reading.roles_of(file.schema_arrow.names)
            if roles is None:
                raise reading.not_a_run(source, "Parquet file of a run", "the columns of a run were not found")
            table = file.read(columns=list(roles.values()))
            table.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise SourceError(source.name, f"is not a sound Parquet file: {error}") from None
        parts = {part: _plain(table[name], part) for part, name in roles.items()}
        if all(column is not None for column in parts.values()) and (clean := reading.clean_rows(source, parts)):
            return clean
        rows = reading.ExactRows(Findings(reading.RUN), has_scores="score" in roles)
        for number, values in enumerate(table.to_pylist(), start=1):
            rows.add(number, {part: values[name] for part, name in roles.items()})
        return rows.rows(source)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row, as one table."""
        parts = [pa.record_batch(part) for part in reading.columns_of(run)]
        empty = pa.record_batch(
            {name: pa.array([], pa.large_string()) for name in ("topic", "document", "rank", "score", "tag")}
        )
        pyarrow.parquet.write_table(pa.Table.from_batches(parts or [empty]), stream, compression="zstd")


def _plain(column: pa.ChunkedArray, part: str) -> pa.ChunkedArray | None:
    """A column of a plain type as text, scores as doubles; None where its values need a closer look."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if part == "score" and pa.types.is_floating(kind):
        return column.cast(pa.float64())
    is_plain = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    return column.cast(pa.large_string()) if is_plain else None
