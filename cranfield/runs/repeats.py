"""Documents that stand more than once in a topic."""

import numpy as np

from cranfield.runs.matrices import matrix_of, worth_a_matrix
from cranfield.runs.order import taken
from cranfield.runs.run import Places, Rows

_NOTHING = -1


def repeated_rows(rows: Rows) -> Places:
    """Give the rows, in file order, whose document stands in an earlier row of the same topic."""
    if not _has_repeats(rows):
        return np.empty(0, dtype=np.int64)
    keys = _keys(rows)
    order = np.argsort(keys, kind="stable")
    again = keys[order][1:] == keys[order][:-1]
    return np.sort(order[1:][again])


def _has_repeats(rows: Rows) -> bool:
    """Say whether there is any repeat: in the ordinary case that no is all that is needed, so it has to be fast."""
    groups = rows.by_topic
    counts = np.diff(groups.offsets)
    if worth_a_matrix(counts):
        lists = matrix_of(taken(rows.documents, groups.rows), counts, fill=np.int32(_NOTHING))
        lists.sort(axis=1)
        return bool(((lists[:, 1:] == lists[:, :-1]) & (lists[:, 1:] != _NOTHING)).any())
    keys = _keys(rows)
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())


def _keys(rows: Rows) -> Places:
    """Give topic and document of each row as one number."""
    keys = rows.topics.astype(np.int64)
    keys <<= 32
    keys |= rows.documents
    return keys
