"""Drawing in blocks: how often, how much at once, and the same draws for everybody.

All pairs of systems are tested with the same draws, so that a pair's p-value does not hang on which other pairs
were asked for, and the draws are one matrix product instead of a loop over pairs.
"""

import math
from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from cranfield.compare.result import Values, check_share
from cranfield.errors import UsageError

DRAWS = 10_000
BLOCK = 2**22
"""Numbers that are held at once: 32 MB of doubles."""

PLENTY = 20
"""How many times the draws that are just enough are drawn where nobody says how many."""

MOST_WORK = 2**28
"""Pairs times draws that a test may take unasked: some seconds."""


def seeded(seed: int) -> np.random.Generator:
    """Give the generator of a seed.

    Whoever draws by a seed takes this one: the same test on the same scores then is the same wherever one asks.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:  # type: ignore[redundant-expr]
        raise UsageError(f"a seed is a whole number from 0 up, not {seed!r}")
    return np.random.default_rng(seed)


def blocks(total: int, *, width: int, block: int = BLOCK) -> Iterator[slice]:
    """Cut `total` rows of `width` numbers into slices of at most `block` numbers, but of at least one row."""
    rows = max(1, block // max(width, 1))
    return (slice(start, min(start + rows, total)) for start in range(0, total, rows))


def check_draws(draws: int) -> None:
    """Refuse to draw nothing."""
    if draws < 1:
        raise UsageError(f"at least one draw is needed, not {draws}")


def draws_needed(pairs: int, *, alpha: float = 0.05) -> int:
    """The draws below which no pair can be significant after Bonferroni's or Holm's correction.

    The smallest p is 1 / (1 + draws), and the correction multiplies it by the number of pairs: 10,000 draws over the
    8,256 pairs of 129 runs cannot get below 0.8. Tukey's test corrects inside its draws and needs no more of them.
    """
    check_share("alpha", alpha)
    return math.ceil(pairs / alpha - 1e-9) - 1


def enough_draws(pairs: int, *, alpha: float = 0.05) -> int:
    """The draws of a test where nobody says how many: so many that a clear pair can be significant after Holm.

    20 times `draws_needed`, so that the smallest corrected p is alpha / 20, and at least `DRAWS`; less where that
    would take longer than `MOST_WORK`. Where even `draws_needed` would, `DRAWS`: then no number of draws within
    reason helps, and the caller has to say it.
    """
    needed = draws_needed(pairs, alpha=alpha)
    most = MOST_WORK // max(pairs, 1)
    return max(DRAWS, min(PLENTY * needed, most)) if needed <= most else DRAWS


def repeated(rng: np.random.Generator) -> Iterator[np.random.Generator]:
    """Give generators that all draw the same, independent of what `rng` draws later."""
    child = rng.spawn(1)[0]
    while True:
        yield deepcopy(child)


def sign_sums(values: Values, *, draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """Give the sums of each row under random signs, in blocks (draws × rows)."""
    rows, topics = values.shape
    for part in blocks(draws, width=max(rows, topics)):
        signs = np.where(rng.random((part.stop - part.start, topics)) < 0.5, -1.0, 1.0)
        yield signs @ values.T


def resampled_sums(values: Values, *, draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """Give the sums of each row over topics drawn with replacement, in blocks (draws × rows)."""
    rows, topics = values.shape
    for part in blocks(draws, width=max(rows, topics)):
        size = part.stop - part.start
        drawn = (rng.random((size, topics)) * topics).astype(np.int64)
        drawn += np.arange(size)[:, None] * topics
        times = np.bincount(drawn.ravel(), minlength=size * topics).reshape(size, topics)
        yield times.astype(np.float64) @ values.T
