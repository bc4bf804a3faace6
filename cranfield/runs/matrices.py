"""Lists of about the same length as the rows of a matrix, which numpy sorts all at once, each within the cache."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL = 1024


def worth_a_matrix(counts: NDArray[np.int64]) -> bool:
    """Say whether lists of these lengths fill a matrix at least by half."""
    return int(counts.max(initial=0)) * len(counts) <= 2 * int(counts.sum()) + _SMALL


def matrix_of(values: NDArray[Any], counts: NDArray[np.int64], *, fill: np.generic) -> NDArray[Any]:
    """Give one row per list, short ones filled up at the end. The matrix is always a copy."""
    depth = int(counts.max(initial=0))
    if len(values) == depth * len(counts):
        return values.reshape(len(counts), depth).copy()
    matrix = np.full((len(counts), depth), fill, dtype=values.dtype)
    matrix[inside(counts)] = values
    return matrix


def inside(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each place of the matrix whether it belongs to its list."""
    return np.asarray(np.arange(int(counts.max(initial=0))) < counts[:, None])
