"""How drops are spread over runs: mean, median, largest, and what a new group would hardly exceed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]

COVERED = 0.95
"""The share of new groups that the upper end of a spread is meant for."""


@dataclass(frozen=True, slots=True)
class Upper:
    """A value that a further one of the same kind exceeds with a probability of at most 5 %.

    It is the ⌈0.95 (n + 1)⌉-th smallest of `n` exchangeable values. With n < 19 there is none so high: `value` is
    then the largest, and `is_maximum` says that no such promise is made.
    """

    value: float
    n: int
    is_maximum: bool

    def __str__(self) -> str:
        return f"max of {self.n}" if self.is_maximum else f"{COVERED:.0%} of {self.n}"


@dataclass(frozen=True, slots=True)
class Spread:
    """Drops of `runs` runs; the largest is that of the run `worst`. All NaN where there is no run.

    `upper` counts one drop per group, its largest: runs of one group are not independent of each other.
    """

    runs: int
    mean: float
    median: float
    upper: Upper
    largest: float
    worst: str
    mean_absolute: float


def conformal_upper(values: ArrayLike, *, share: float = COVERED) -> Upper:
    """Give the upper value by the conformal index ⌈share (n + 1)⌉, or the maximum where that exceeds n.

    Source: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005.
    """
    rising = np.sort(np.asarray(values, dtype=np.float64))
    if not len(rising):
        return Upper(float("nan"), 0, is_maximum=True)
    index = ceil(round(share * (len(rising) + 1), 9))  # 0.95 * 20 is 19, and must not become 20
    return Upper(float(rising[min(index, len(rising)) - 1]), len(rising), is_maximum=index > len(rising))


def spread_of(drops: Values, groups: NDArray[np.int32], names: Sequence[str]) -> Spread:
    """Give the spread of the drops of runs that belong to groups; a NaN is no drop."""
    known = np.flatnonzero(~np.isnan(drops))
    nothing = float("nan")
    if not len(known):
        return Spread(0, nothing, nothing, conformal_upper([]), nothing, "", nothing)
    kept, group = drops[known], groups[known]
    by_group = [kept[group == one].max() for one in np.unique(group)]
    worst = int(np.argmax(kept))
    return Spread(
        runs=len(kept),
        mean=float(kept.mean()),
        median=float(np.median(kept)),
        upper=conformal_upper(by_group),
        largest=float(kept[worst]),
        worst=names[int(known[worst])],
        mean_absolute=float(np.abs(kept).mean()),
    )
