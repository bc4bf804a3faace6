"""Numbers as they are written, in files that are not regular: which strings are some, and what they say."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def matching(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    """Say which strings match a regular expression."""
    found = pc.match_substring_regex(texts, pattern)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def read(texts: pa.Array, readable: NDArray[np.bool_], kind: pa.DataType) -> NDArray[Any]:
    """Read strings as numbers of a kind, with or without a plus sign; what is not readable is 0."""
    plain = pc.if_else(pa.array(readable), pc.utf8_ltrim(texts, characters="+"), "0")
    return np.array(pc.cast(plain, kind).to_numpy(zero_copy_only=False))
