"""Line numbers of rows, without keeping one number per row."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


def _none() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LineNumbers:
    """Where the rows of a file stand in it: on every line but the `skipped` ones.

    `skipped` holds line numbers (from 1, rising) that gave no row: blank lines, refused lines, a header. Row i
    (from 0) then stands on the line i + 1 + k, where k skipped lines lie before it. An ordinary file has none,
    and its line numbers cost nothing.
    """

    skipped: NDArray[np.int64] = field(default_factory=_none)

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the line numbers of some rows."""
        rows_before = self.skipped - np.arange(1, len(self.skipped) + 1)
        return np.asarray(rows + 1 + np.searchsorted(rows_before, rows, side="right"), dtype=np.int64)

    def at(self, row: int) -> int:
        """Give the line number of one row."""
        return int(self.of(np.array([row], dtype=np.int64))[0])

    def without(self, lines: NDArray[np.int64]) -> "LineNumbers":
        """Give the numbering after the rows on these lines were taken out."""
        return LineNumbers(np.union1d(self.skipped, lines).astype(np.int64))
