"""Parquet tables with the usual spellings of topic, document and score."""

from __future__ import annotations

import io
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from cranfield.base.errors import ProblemsFound, SourceError
from cranfield.base.files import Source, most_grown
from cranfield.base.tables import Findings
from cranfield.runs import reading
from cranfield.runs.columns import LineNumbers
from cranfield.runs.run import Rows, Run

_TEXTS = ("string", "large_string", "string_view", "null")
_WANTED = {
    "score": ("scores", "scores must be numbers"),
    "rank": ("ranks", "ranks must be numbers"),
    "tag": ("tags", "tags must be text or integers"),
}


@reading.run_formats.register("parquet")
class Parquet:
    """A Parquet table."""

    summary = "a Parquet table with the columns topic, document, score, and rank and tag if you like"
    suffixes = (".parquet",)

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
            # A value that is repeated takes no room in the file: how much the rows would take is known only here.
            most, facts = most_grown(len(data)), file.metadata
            held = [facts.row_group(number).total_byte_size for number in range(facts.num_row_groups)]
            if max(sum(held), 8 * len(roles) * facts.num_rows) > most:
                raise SourceError(source.name, source.grown_beyond(most))
            table = file.read(columns=list(roles.values()))
            table.validate(full=True)
            parts = {part: _plain(source, table[name], part) for part, name in roles.items()}
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise SourceError(source.name, f"is not a sound Parquet file: {error}") from None
        return reading.rows_of(source, parts, LineNumbers(), Findings(reading.RUN))

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row, as one table."""
        parts = [pa.record_batch(part) for part in reading.columns_of(run)]
        empty = pa.record_batch(
            {name: pa.array([], pa.large_string()) for name in ("topic", "document", "rank", "score", "tag")}
        )
        pyarrow.parquet.write_table(pa.Table.from_batches(parts or [empty]), stream, compression="zstd")


def _plain(source: Source, column: pa.ChunkedArray, part: str) -> pa.ChunkedArray:
    """A column as text, scores as doubles; ids are text or whole numbers, scores and ranks any numbers."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_number = part in ("score", "rank") and (pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    if not is_number and not pa.types.is_integer(kind) and str(kind) not in _TEXTS:
        what, wanted = _WANTED.get(part, (f"{part} ids", "ids must be text or integers"))
        found = reading.problem("bad-row", f"{what} are of type {kind}; {wanted}").at(source.name)
        raise ProblemsFound("this is not a Parquet file of a run", [found])
    return column.cast(pa.float64() if is_number and part == "score" else pa.large_string())
