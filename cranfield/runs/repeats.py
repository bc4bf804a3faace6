"""Documents that stand more than once in a topic."""

import numpy as np

from cranfield.runs.run import Places, Rows


def repeated_rows(rows: Rows) -> Places:
    """Give the rows, in file order, whose document stands in an earlier row of the same topic.

    A pair of topic and document is one 64-bit number; the ordinary case, no repeat, is one sort of numbers.
    """
    keys = _keys(rows)
    if not _has_equal(np.sort(keys)):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    again = keys[order][1:] == keys[order][:-1]
    return np.sort(order[1:][again])


def _keys(rows: Rows) -> Places:
    keys = rows.topics.astype(np.int64)
    keys <<= 32
    keys |= rows.documents
    return keys


def _has_equal(values: Places) -> bool:
    return bool((values[1:] == values[:-1]).any())
