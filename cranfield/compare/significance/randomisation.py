"""Fisher's randomisation test."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.differences import DRAWS, TestResult, Values, blocks, paired_differences, significance_test

LARGEST_ENUMERATION = 24
"""Non-zero differences up to which the sums of all 2^n signs are counted (two sorted lists of 2^12)."""


@significance_test(
    "randomisation", "randomization", "permutation", "sign-flip", title="randomisation", counts_signs=True
)
def randomisation(a: ArrayLike, b: ArrayLike, *, draws: int = DRAWS, rng: np.random.Generator) -> TestResult:
    """Fisher's randomisation test: had the systems swapped names on random topics, how often as large a mean?

        p = P(|mean(±d)| ≥ |mean(d)|) over all 2^n signs

    Exact up to 24 non-zero differences, else by `draws` random sign vectors, p = (1 + hits) / (1 + draws), which is
    never 0 and keeps the level, since the observed signs are one of the possible ones. All differences zero: p = 1,
    marked degenerate. One topic: p = 1. The statistic is the mean difference.

    Source: Fisher, "The Design of Experiments", 1935; Smucker, Allan and Carterette, CIKM 2007; the 1s: Phipson
    and Smyth, "Permutation p-values should never be zero", 2010.
    """
    differences = paired_differences(a, b)
    counted = [
        exact_p(row, noise=noise) for row, noise in zip(differences.values, differences.noise.tolist(), strict=True)
    ]
    p = np.array([np.nan if value is None else value for value in counted], dtype=np.float64)
    exact = ~np.isnan(p)
    if not exact.all():
        values = differences.values[~exact]
        threshold = np.abs(values.sum(axis=1)) - differences.topics * differences.noise[~exact]
        hits = np.zeros(len(values), dtype=np.int64)
        parts = list(blocks(draws, width=max(values.shape)))
        room = np.empty((parts[0].stop, len(values)))  # one for all parts: new memory is slow
        for part in parts:
            signs = np.where(rng.random((part.stop - part.start, differences.topics)) < 0.5, -1.0, 1.0)
            sums = np.matmul(signs, values.T, out=room[: len(signs)])
            hits += np.count_nonzero(np.abs(sums, out=sums) >= threshold, axis=0)
        p[~exact] = (1 + hits) / (1 + draws)
    nothing = (differences.values == 0).all(axis=1)
    return differences.result(differences.values.mean(axis=1), p, exact=exact, degenerate=nothing)


def exact_p(differences: Values, *, noise: float) -> float | None:
    """P(|Σ ±d| ≥ |Σ d|) over all signs, or None where these are too many.

    Zero differences do not matter, since their sign changes nothing. Sums nearer than n · noise are equal.
    """
    nonzero = differences[differences != 0]
    if len(nonzero) > LARGEST_ENUMERATION:
        return None
    least = abs(float(nonzero.sum())) - len(nonzero) * noise
    if least <= 0:
        return 1.0
    # Met in the middle: all sums of either half. By symmetry as many sign vectors are at most −least as reach it.
    halves = []
    for half in np.array_split(np.abs(nonzero), [len(nonzero) // 2]):
        sums = np.zeros(1)
        for size in half:
            sums = np.concatenate([sums - size, sums + size])
        halves.append(np.sort(sums))
    first, second = halves
    reaching = len(second) - np.searchsorted(second, least - first, side="left")
    return 2.0 * float(reaching.sum()) / (len(first) * len(second))
