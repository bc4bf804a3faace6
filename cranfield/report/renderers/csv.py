"""Comma-separated values."""

from __future__ import annotations

import csv
import io

from cranfield.base.tables import Table, Value
from cranfield.report.rendering import renderers


@renderers.register("csv")
def render_csv(table: Table) -> str:
    """Comma-separated values with a header line; numbers in full precision."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows([_plain(value) for value in row] for row in table.rows)
    return stream.getvalue()


def _plain(value: Value) -> Value:
    if isinstance(value, tuple):
        return " ".join(str(number) for number in value)
    return str(value).lower() if isinstance(value, bool) else value
