"""Comma-separated values."""

from __future__ import annotations

import csv
from types import SimpleNamespace

from cranfield.base.text import Table, Value, harmless_cell
from cranfield.report.rendering import renderers


@renderers.register("csv")
def render_csv(table: Table, *, raw: bool = False) -> str:
    """Comma-separated values with a header line; numbers in full precision.

    Text that a spreadsheet would take for a formula stands behind an apostrophe, unless it is `raw`.
    """
    lines: list[str] = []
    # A carriage return within a cell is quoted only where lines end with one too.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows([_plain(value, raw=raw) for value in row] for row in table.rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _plain(value: Value, *, raw: bool) -> Value:
    if isinstance(value, str):
        return value if raw else harmless_cell(value)
    if isinstance(value, tuple):
        return " ".join(str(number) for number in value)
    return str(value).lower() if isinstance(value, bool) else value
