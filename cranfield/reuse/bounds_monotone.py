"""Bounds of measures that go one way: each hole only helps, or only hurts, whatever the others are.

The value is then lowest and highest where all holes that the measure looks at are alike, and so are all that it does
not look at, and all documents that no list has. Precision, recall and their kin are functions of two counts, relevant
documents found and relevant documents there are, and rise or fall with each; DCG, RBP and ERR rise with each gain:
ERR by (1 / r - what follows below r) times the chance to get to r, and what follows is at most 1 / (r + 1).
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from cranfield.evaluate.lists import Counts, Values
from cranfield.evaluate.measures.user_models import powers
from cranfield.reuse.bounds_freedom import Ends, Freedom, filled, gains_possible, of_cells

_ROWS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class _Case:
    """The grade of the holes inside, that of the holes beyond the cutoff, and how many documents no list has."""

    inside: int
    outside: int
    further: int


def monotone_ends(freedom: Freedom) -> Ends:
    """Give the ends of a measure that goes one way."""
    lower, upper = freedom.values.copy(), freedom.values.copy()
    cells = freedom.cells
    size = max(_ROWS_AT_ONCE // max(int(freedom.lists.length.max(initial=1)), 1), 1)
    for start in range(0, len(cells), size):
        part = cells[start : start + size]
        ends = [_values(freedom, part, case) for case in _cases(freedom)]
        lower[part], upper[part] = np.min(ends, axis=0), np.max(ends, axis=0)
    return Ends(lower, upper)


def _cases(freedom: Freedom) -> list[_Case]:
    grades = _worst_and_best(freedom)
    beyond = len(freedom.holes) > len(freedom.inside) or bool(freedom.beside.any())
    return [_Case(*case) for case in product(grades, grades if beyond else grades[:1], {0, freedom.further})]


def _worst_and_best(freedom: Freedom) -> tuple[int, int]:
    """Give the grades with the lowest and the highest gain; without gains, 0 and the highest."""
    if "gains" not in freedom.measure.kind.parameters:
        return 0, freedom.highest
    gains = gains_possible(freedom.measure, freedom.highest)
    return int(np.argmin(gains)), int(np.argmax(gains))


def _values(freedom: Freedom, cells: Counts, case: _Case) -> Values:
    holes, _ = of_cells(freedom.inside, cells)
    others = np.zeros((len(cells), freedom.highest + 1), dtype=np.int64)
    others[:, case.outside] += (freedom.holes.count - freedom.inside.count + freedom.beside)[cells]
    others[:, freedom.highest] += case.further
    grades = np.full(len(holes), case.inside, dtype=np.int32)
    return freedom.measure.values(filled(freedom, cells, holes, grades, outside=others))


def reciprocal_ends(freedom: Freedom) -> Ends:
    """Give the ends of reciprocal rank: at least as it is, at most as if the first hole were relevant."""
    if freedom.rel > freedom.highest:
        return Ends(freedom.values, freedom.values)
    return Ends(freedom.values, np.maximum(freedom.values, freedom.inside.highest(1.0 / freedom.inside.rank)))


def persistence_ends(freedom: Freedom, *, tail: bool) -> Ends:
    """Give the ends of rank-biased precision: the residual above the base.

    With a tail, what lies beyond the end of the list counts as unknown too, and adds p^N: a longer list could have
    had it. A cutoff ends the list for good. Source: Moffat and Zobel, TOIS 2008.
    """
    gain, p = freedom.setting("gain"), float(freedom.setting("p"))  # type: ignore[arg-type]
    if gain == "binary" and freedom.rel > freedom.highest:
        return Ends(freedom.values, freedom.values)
    weight = (1.0 - p) * powers(p, freedom.inside.rank)
    upper = freedom.values + freedom.inside.total(weight)
    if tail and freedom.cutoff is None:
        upper = upper + powers(p, freedom.lists.length + 1)
    return Ends(_lowest_of_topic(freedom, weight) if gain == "topic" else freedom.values, upper)


def _lowest_of_topic(freedom: Freedom, weight: Values) -> Values:
    """Give the lowest RBP when the gain is the grade over the highest grade h of the topic.

    A hole can raise h, which takes from all others. Holes of grade h add their whole weight, so the value is
    base / h + weights: highest where h stays as it is, and lowest with no hole relevant, or with the highest grade of
    the scale at the one place where it gains least.
    """
    present = np.where(freedom.grade_counts > 0, np.arange(freedom.highest + 1), 0).max(axis=1, initial=0)
    now = np.maximum(present, 1)[freedom.lists.topics]
    least = np.where(freedom.outside > 0, 0.0, 1.0 - freedom.inside.highest(1.0 - weight))
    raised = freedom.values * now / freedom.highest + least
    return np.where(freedom.is_free, np.minimum(freedom.values, raised), freedom.values)
