"""Parquet tables with the usual spellings of topic, document and score."""

from __future__ import annotations

import io
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from cranfield.base.errors import ProblemsFound, SourceError
from cranfield.base.files import Source
from cranfield.runs.columns import LooseRows, Roles, clean_rows, columns_of, expected_columns, roles_of
from cranfield.runs.problems import Findings, problem
from cranfield.runs.reading import run_formats
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
    def read(source: Source) -> Rows:
        """Read the columns that a run has; whole numbers as ids become their decimal digits."""

        return read(source)

    @staticmethod
    def write(run: Run, stream: BinaryIO) -> None:
        """Write topic, document, rank, score and tag of each row."""

        write(run, stream)


# How Parquet tables are read and written.


def read(source: Source) -> Rows:
    """Read a Parquet run; its line numbers are row numbers from 1."""
    with source.open() as stream:
        data = stream.read()
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
        roles = roles_of(file.schema_arrow.names)
        if roles is None:
            text = f"the columns of a run were not found; expected {expected_columns()}"
            raise ProblemsFound("this is not a Parquet file of a run", [problem("bad-row", text).at(source.name)])
        table = file.read(columns=[name for _, name in roles.items()])
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise SourceError(source.name, f"is not a sound Parquet file: {error}") from None
    return _at_once(source, table, roles) or _one_by_one(source, table, roles)


def write(run: Run, stream: BinaryIO) -> None:
    """Write all rows as one table."""
    parts = [pa.record_batch(part) for part in columns_of(run)]
    names = ("topic", "document", "rank", "score", "tag")
    empty = pa.record_batch({name: pa.array([], pa.large_string()) for name in names})
    pyarrow.parquet.write_table(pa.Table.from_batches(parts or [empty]), stream, compression="zstd")


def _at_once(source: Source, table: pa.Table, roles: Roles) -> Rows | None:
    """Take columns of plain types as they are; None where a type or a value needs a closer look."""
    parts = {}
    for part, name in roles.items():
        column = table[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if part == "score" and pa.types.is_floating(kind):
            parts[part] = column.cast(pa.float64())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind):
            parts[part] = column.cast(pa.large_string())
        else:
            return None
    return clean_rows(source, parts, skipped=np.empty(0, dtype=np.int64))


def _one_by_one(source: Source, table: pa.Table, roles: Roles) -> Rows:
    rows = LooseRows(Findings(), has_scores=roles.score is not None)
    names = dict(roles.items())
    for number, values in enumerate(table.to_pylist(), start=1):
        fields = {part: values.get(names.get(part, "")) for part in ("topic", "document", "score", "rank", "tag")}
        rows.add(number, **fields)
    return rows.rows(source)
