"""Arrow arrays and numpy arrays of codes, each seen as the other without a copy.

`pyarrow.array` and `to_numpy` look whether pandas is at hand, and import it: half a second that a command can do
without.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def indices(codes: NDArray[np.integer]) -> pa.Array:
    """Give codes as an Arrow array, to take ids with."""
    whole = np.ascontiguousarray(codes, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def named(ids: pa.Array, codes: NDArray[np.integer]) -> list[str]:
    """Give the ids that some codes stand for."""
    return list(ids.take(indices(codes)).to_pylist())


def places(found: pa.Array) -> NDArray[np.uint64]:
    """Give the result of `sort_indices` as numbers."""
    return np.frombuffer(found.buffers()[1], dtype=np.uint64, count=len(found) + found.offset)[found.offset :]
