"""Systems compared pair by pair: difference, interval, effect, wins, p and corrected p together."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.compare import effect
from cranfield.compare.corrections import Correction, corrections
from cranfield.compare.drawing import DRAWS, blocks, repeated
from cranfield.compare.intervals import difference_interval
from cranfield.compare.pairing import Indices, PairedScores, pairs
from cranfield.compare.result import SignificanceTest, Values
from cranfield.compare.significance import tests
from cranfield.compare.tukey import tukey

PAIRED_AT_ONCE = 2**22
"""Differences that are held at once: 32 MB of doubles."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """Everything about system `a` against system `b`; differences are a − b, and wins are a's.

    `low` and `high` bound the mean difference. `effect` is Cohen's d_z, `hedges` the same corrected for few topics.
    `exact` and `degenerate` are those of the test.
    """

    a: str
    b: str
    topics: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    relative: float
    effect: float
    hedges: float
    wins: int
    ties: int
    losses: int
    statistic: float
    p: float
    adjusted_p: float
    exact: bool
    degenerate: bool


def clearness(result: PairResult) -> tuple[float, float, float]:
    """Give what sorts pairs from the clearest down: the corrected p, p, and the size of the effect."""
    size = abs(result.effect)
    return result.adjusted_p, result.p, 0.0 if math.isnan(size) else -size


def compare_all(
    scores: PairedScores,
    *,
    baselines: Sequence[int] | None = None,
    test: str | SignificanceTest = "t",
    correction: str | Correction = "holm",
    level: float = 0.95,
    tolerance: float = 0.0,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> list[PairResult]:
    """Compare all pairs, or every system with each baseline; see `pairs` for which and in what order.

    `correction` sees the p-values of exactly these pairs. `draws` is for the intervals; a test that draws has its own
    (`partial(randomisation, draws=100_000)` can be given as `test`). Apart from the corrected p, a pair's result does
    not depend on which other pairs there are.
    """
    correct = corrections.get(correction) if isinstance(correction, str) else correction
    options = _Options(
        test=tests.get(test) if isinstance(test, str) else test,
        level=level,
        tolerance=tolerance,
        draws=draws,
        interval_rngs=repeated(rng),
        test_rngs=repeated(rng),
    )
    first, second = pairs(len(scores.labels), baselines=baselines)
    parts = blocks(len(first), width=scores.values.shape[1], block=PAIRED_AT_ONCE)
    results = [result for part in parts for result in _measured(scores, first[part], second[part], options)]
    adjusted = correct([result.p for result in results])
    return [replace(result, adjusted_p=float(p)) for result, p in zip(results, adjusted, strict=True)]


def compare_by_tukey(
    scores: PairedScores,
    *,
    baselines: Sequence[int] | None = None,
    test: str | SignificanceTest = "randomisation",
    level: float = 0.95,
    tolerance: float = 0.0,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> list[PairResult]:
    """Compare as `compare_all` does, with the corrected p from Tukey's test by randomisation over all systems.

    The yardstick is the range of all systems, also where only pairs with a baseline are asked for. `p` is that of
    `test` on the pair alone; for a pair whose differences vary much more than others' it can exceed the corrected
    one, because Tukey's test takes all systems for alike.
    """
    results = compare_all(
        scores,
        baselines=baselines,
        test=test,
        correction="none",
        level=level,
        tolerance=tolerance,
        draws=draws,
        rng=rng,
    )
    # From the generator itself: intervals and tests draw from its children, so this is what `tukey` gives alone.
    judged = tukey(scores.values, draws=draws, rng=rng)
    met = zip(*pairs(len(scores.labels), baselines=baselines), strict=True)
    return [
        replace(result, adjusted_p=float(judged.p[row, other]))
        for result, (row, other) in zip(results, met, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Options:
    """How pairs are measured, and the generators that draw the same for every block of pairs."""

    test: SignificanceTest
    level: float
    tolerance: float
    draws: int
    interval_rngs: Iterator[np.random.Generator]
    test_rngs: Iterator[np.random.Generator]


def _measured(scores: PairedScores, first: Indices, second: Indices, options: _Options) -> Iterator[PairResult]:
    """Give the results of some of the pairs, few enough to be held as matrices, with p still uncorrected."""
    columns = _columns(scores.values[first], scores.values[second], options)
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    topics, labels = scores.values.shape[1], scores.labels
    for row, other, values in zip(first.tolist(), second.tolist(), rows, strict=True):
        yield PairResult(labels[row], labels[other], topics, **dict(zip(columns, values, strict=True)))


def _columns(a: Values, b: Values, options: _Options) -> dict[str, NDArray[Any]]:
    bounds = difference_interval(a, b, level=options.level, draws=options.draws, rng=next(options.interval_rngs))
    counts = effect.tally(a, b, tolerance=options.tolerance)
    tested = options.test(a, b, rng=next(options.test_rngs))
    return {
        "mean_a": a.mean(axis=1),
        "mean_b": b.mean(axis=1),
        "difference": effect.mean_difference(a, b),
        "low": bounds.low,
        "high": bounds.high,
        "relative": effect.relative_difference(a, b),
        "effect": effect.cohen(a, b),
        "hedges": effect.hedges(a, b),
        "wins": counts.wins,
        "ties": counts.ties,
        "losses": counts.losses,
        "statistic": tested.statistic,
        "p": tested.p,
        "adjusted_p": tested.p,
        "exact": tested.exact,
        "degenerate": tested.degenerate,
    }
