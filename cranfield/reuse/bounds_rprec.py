"""Bounds of R-precision, in which every relevant document more makes the measure look deeper."""

import numpy as np

from cranfield.evaluate.lists import Counts, Found, ratio
from cranfield.reuse.bounds_freedom import Ends, Freedom, of_cells


def r_precision_ends(freedom: Freedom) -> Ends:
    """Give the ends of R-precision: all numbers m of documents that turn out relevant are tried.

    m decides the depth. Then the value is highest with the m highest holes relevant, and documents outside only after
    all holes, and lowest with all outside before any hole, and the lowest holes first. How many of these are down to
    the depth is told by the numbers of known relevant documents and of holes there.
    """
    relevant = freedom.lists.relevant_count(freedom.rel)
    known = freedom.lists.relevant(freedom.rel)
    longest = int(freedom.lists.length.max(initial=0))
    most = int((freedom.inside.count + freedom.outside).max(initial=0))
    lower, upper = freedom.values.copy(), freedom.values.copy()
    for cells in freedom.blocks(max(longest, most) + 1):
        holes, outside = freedom.inside.count[cells][:, np.newaxis], freedom.outside[cells][:, np.newaxis]
        chosen = np.arange(most + 1)
        depth = _depth(freedom, relevant[cells][:, np.newaxis] + chosen)
        at = np.minimum(depth, longest)
        found = np.take_along_axis(_running_counts(known, cells, longest), at, axis=1)
        within = np.take_along_axis(_running_counts(freedom.inside, cells, longest), at, axis=1)
        highest = ratio(found + np.minimum(chosen, within), depth)
        below = holes - within
        lowest = ratio(found + np.maximum(np.maximum(chosen - outside, 0) - below, 0), depth)
        possible = chosen <= holes + outside
        lower[cells] = np.where(possible, lowest, np.inf).min(axis=1)
        upper[cells] = np.where(possible, highest, -np.inf).max(axis=1)
    return Ends(lower, upper)


def _depth(freedom: Freedom, relevant: Counts) -> Counts:
    times = float(freedom.setting("times"))  # type: ignore[arg-type]
    return relevant if times == 1.0 else np.floor(times * relevant + 0.9).astype(np.int64)


def _running_counts(found: Found, cells: Counts, longest: int) -> Counts:
    """Give how many documents stand at the first n ranks of each cell, n from 0."""
    some, _ = of_cells(found, cells)
    width = longest + 1
    counts = np.bincount(some.cell * width + some.rank, minlength=len(cells) * width)
    return np.cumsum(counts.reshape(len(cells), width), axis=1)
