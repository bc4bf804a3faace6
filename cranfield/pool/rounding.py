"""Scores made comparable across machines, and the order they mean."""

import numpy as np

from cranfield.runs.run import Places, Scores

DIGITS = 12
"""Significant digits that count. Sums of doubles differ in the last bits from machine to machine; not in these."""


def rounded(values: Scores) -> Scores:
    """Give the values rounded to `DIGITS` significant digits."""
    sizes = np.abs(values)
    usable = (sizes > 0) & np.isfinite(sizes)
    exponents = np.floor(np.log10(sizes, where=usable, out=np.zeros_like(sizes)))
    power = 10.0 ** (DIGITS - 1 - np.clip(exponents, -290, 290))
    return np.where(usable, np.rint(values * power) / power, values)


def best_first(values: Scores) -> Places:
    """Give the places of the values from high to low; equal ones, after rounding, as they stand.

    Candidates stand by document id, descending, so that this is also their tie rule.
    """
    return np.argsort(-rounded(values), kind="stable")
