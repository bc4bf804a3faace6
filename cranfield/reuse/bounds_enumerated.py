"""Bounds by trying everything: for measures without an algorithm, on lists with few holes."""

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import Counts, Found
from cranfield.reuse.bounds_freedom import Ends, Freedom, filled, of_cells

MOST_COMPLETIONS = 256
"""How many completions of one list are tried; with more, the bounds are those that the measure has anyway."""

_ROWS_AT_ONCE = 1 << 22


def enumerated_ends(freedom: Freedom) -> Ends:
    """Give the ends of any measure, exact where a list has few completions, and its general bounds elsewhere."""
    grades = freedom.highest + 1
    free = freedom.holes.count[freedom.cells] * np.log(grades) + np.log(freedom.further + 1)
    few = (free <= np.log(MOST_COMPLETIONS) + 1e-9) & (freedom.beside[freedom.cells] == 0)
    lowest, highest = freedom.measure.bounds
    lower, upper = freedom.values.copy(), freedom.values.copy()
    loose = np.zeros(len(lower), dtype=bool)
    many = freedom.cells[~few]
    lower[many], upper[many], loose[many] = lowest, highest, True
    _try_all(freedom, freedom.cells[few], lower, upper)
    return Ends(lower, upper, loose)


def _try_all(freedom: Freedom, cells: Counts, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> None:
    """Put the ends of some cells into place, those with equally many holes together."""
    lower[cells], upper[cells] = np.inf, -np.inf
    counts = freedom.holes.count[cells]
    for holes in np.unique(counts).tolist():
        alike = cells[counts == holes]
        labels = _labels(int(holes), freedom.highest + 1)
        for further in range(freedom.further + 1):
            longest = max(int(freedom.lists.length[alike].max(initial=1)), 1)
            size = max(_ROWS_AT_ONCE // (longest * len(labels)), 1)
            for start in range(0, len(alike), size):
                some = alike[start : start + size]
                values = _values(freedom, some, labels, further)
                lower[some] = np.minimum(lower[some], values.min(axis=1))
                upper[some] = np.maximum(upper[some], values.max(axis=1))


def _labels(holes: int, grades: int) -> NDArray[np.int32]:
    """Give all ways to grade so many holes, one row each."""
    return np.indices((grades,) * holes, dtype=np.int32).reshape(holes, grades**holes).T


def _values(freedom: Freedom, cells: Counts, labels: NDArray[np.int32], further: int) -> NDArray[np.float64]:
    """Give the value of each cell (rows) under each labelling (columns)."""
    holes, _ = of_cells(freedom.holes, np.repeat(cells, len(labels)))
    grades = np.broadcast_to(labels, (len(cells), *labels.shape)).ravel()
    within = freedom.cutoff is None or holes.rank <= freedom.cutoff
    kept = np.broadcast_to(within, len(holes))
    width = freedom.highest + 1
    outside = np.bincount((holes.cell * width + grades)[~kept], minlength=len(holes.count) * width)
    others = outside.reshape(-1, width)
    others[:, freedom.highest] += further
    inside: Found = holes.where(kept)
    lists = filled(freedom, np.repeat(cells, len(labels)), inside, grades[kept], outside=others)
    return freedom.measure.values(lists).reshape(len(cells), len(labels))
