"""Corrections for many tests: p-values in, adjusted p-values out, in the same order.

An adjusted p-value is compared with alpha as it stands. The family is exactly the p-values that are given: a run
against itself, or a pair that was not tested, must not be among them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.errors import InputError, UsageError
from cranfield.base.registry import Registry
from cranfield.compare.differences import Values


class Correction(Protocol):
    """A rule that raises p-values so that all of them together keep an error rate."""

    def __call__(self, p: ArrayLike) -> Values:
        """Give the adjusted p-values."""
        ...


corrections: Registry[Correction] = Registry(
    "correction", package="cranfield.compare.corrections", group="cranfield.corrections"
)

TITLES = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini-hochberg": "Benjamini-Hochberg",
    "none": "not corrected",
    "tukey": "",
}
"""What stands below a table; a stranger's correction goes by its name."""


@corrections.register("none")
def uncorrected(p: ArrayLike) -> Values:
    """The p-values as they are: right for one comparison that was planned, and for nothing else."""
    return _checked(p).copy()


@corrections.register("bonferroni")
def bonferroni(p: ArrayLike) -> Values:
    """Bonferroni's correction: min(1, m · p) for m tests. Keeps the chance of even one false win below alpha.

    Holm's keeps the same promise and never finds less. Source: Dunn, JASA 56, 1961.
    """
    raw = _checked(p)
    return np.minimum(raw * len(raw), 1.0)


@corrections.register("holm", "holm-bonferroni")
def holm(p: ArrayLike) -> Values:
    """Holm's step-down correction: the largest of (m − j + 1) · p₍ⱼ₎ over all j up to the rank of p, at most 1.

    Keeps the chance of even one false win below alpha, whatever the dependence. Source: Holm, Scandinavian Journal
    of Statistics 6, 1979.
    """
    raw = _checked(p)
    order = np.argsort(raw, kind="stable")
    adjusted = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    return np.asarray(np.minimum(adjusted, 1.0)[np.argsort(order)])


@corrections.register("benjamini-hochberg", "bh", "fdr")
def benjamini_hochberg(p: ArrayLike) -> Values:
    """Benjamini and Hochberg's step-up correction: the smallest of m / j · p₍ⱼ₎ over all j from the rank of p on.

    Keeps the expected share of false wins among the wins below alpha, for independent or positively dependent tests;
    it does not promise that there is none. Source: Benjamini and Hochberg, JRSS B 57, 1995.
    """
    raw = _checked(p)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * (len(raw) / np.arange(1, len(raw) + 1))
    return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1][np.argsort(order)])


def _checked(p: ArrayLike) -> Values:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"p-values are corrected as one row, not as an array of {values.ndim} dimensions")
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError("a p-value is a number from 0 to 1; a missing one must be left out, not given as NaN")
    return values
