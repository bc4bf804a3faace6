"""Tables as pandas frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from cranfield.report.table import Table


def frame_of_table(table: "Table") -> "pandas.DataFrame":
    """Give the rows of a table as a frame, under the names that data formats have; numbers are never rounded.

    A column of numbers in which some are missing is one of floats, with NaN for them.
    """
    import pandas as pd

    columns = {}
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        gaps = column.numeric and (not cells or None in cells)
        columns[column.name] = pd.Series(cells, dtype="float64") if gaps else pd.Series(cells, dtype=_kind(cells))
    return pd.DataFrame(columns)


def _kind(cells: Sequence[object]) -> str | None:
    """Give the kind of a column that holds something else than text or numbers alone: it stays as it is."""
    return "object" if not cells or None in cells else None
