"""A number of documents shared over topics."""

from collections.abc import Collection

import numpy as np

from cranfield.errors import Problem, ProblemsFound
from cranfield.runs.run import Places
from cranfield.text import counted


def levels(have: Places, available: Places, budget: int) -> Places:
    """Give the size that each topic may reach so that all together have `budget` documents, as evenly as can be.

    Every topic reaches the same level, except those that have more already and those that cannot get so far; what
    these leave goes to the others. What does not divide evenly goes to the first topics.
    """
    check_budget(int(have.sum()), budget)
    low, high = 0, int((have + available).max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _filled(have, available, middle).sum() <= budget else (low, middle - 1)
    filled = _filled(have, available, low)
    more = np.flatnonzero((filled == np.maximum(low, have)) & (filled < have + available) & (have <= low))
    filled[more[: budget - int(filled.sum())]] += 1
    return filled


def check_budget(have: int, budget: int) -> None:
    """Refuse a budget that is spent before its step begins."""
    if have > budget:
        message = f"a budget of {counted(budget, 'document')} is below what the steps before it choose: {have:,}"
        remedy = "raise the budget, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])


def check_until(step: str, sizes: Collection[int], until: int) -> None:
    """Refuse an adaptive step that every topic has gone beyond before it begins."""
    if sizes and min(sizes) >= until:
        message = f"'{step}' would choose nothing: the steps before it bring at least {min(sizes):,} to every topic"
        remedy = "raise the number, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])


def _filled(have: Places, available: Places, level: int) -> Places:
    return np.asarray(have + np.clip(level - have, 0, available), dtype=np.int64)
