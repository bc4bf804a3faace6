"""Systems compared pair by pair: difference, interval, effect, wins, p and corrected p together; and letters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import UsageError
from cranfield.base.registry import Registry, deferred
from cranfield.base.spread import HERE, Workers
from cranfield.compare.differences import (
    DRAWS,
    SignificanceTest,
    Values,
    as_scores,
    blocks,
    difference_interval,
    effects_of,
    noise_of,
    significant,
)
from cranfield.compare.significance import tests

with deferred:
    from scipy import stats

# Corrections for many tests: p-values in, adjusted p-values out, in the same order.
#
# An adjusted p-value is compared with alpha as it stands. The family is exactly the p-values that are given: a run
# against itself, or a pair that was not tested, must not be among them.


Correction = Callable[[ArrayLike], Values]
"""A rule that raises p-values so that all of them together keep an error rate."""

corrections: Registry[Correction] = Registry(
    "correction", package="cranfield.compare.comparison", group="cranfield.corrections"
)

TITLES = {"none": "not corrected", "tukey": ""}
"""What a note below a table calls those that are not called by their own name."""


@corrections.register("none")
def uncorrected(p: ArrayLike) -> Values:
    """The p-values as they are: appropriate for a single planned comparison only."""
    return np.array(p, dtype=np.float64)


@corrections.register("bonferroni")
def bonferroni(p: ArrayLike) -> Values:
    """Bonferroni's correction: min(1, m · p) for m tests. Controls the familywise error rate at alpha.

    Holm's correction does the same and is never less powerful. Source: Dunn, JASA 56, 1961.
    """
    raw = np.asarray(p, dtype=np.float64)
    return np.minimum(raw * len(raw), 1.0)


@corrections.register("holm", "holm-bonferroni")
def holm(p: ArrayLike) -> Values:
    """Holm's step-down correction: the largest of (m − j + 1) · p₍ⱼ₎ over all j up to the rank of p, at most 1.

    Controls the familywise error rate at alpha under any dependence. Source: Holm, Scandinavian Journal
    of Statistics 6, 1979.
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    adjusted = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    return np.minimum(adjusted, 1.0)[np.argsort(order)]


@corrections.register("benjamini-hochberg", "bh", "fdr")
def benjamini_hochberg(p: ArrayLike) -> Values:
    """Benjamini and Hochberg's step-up correction: the smallest of m / j · p₍ⱼ₎ over all j from the rank of p on.

    Controls the false discovery rate at alpha, for independent or positively dependent tests, and not the familywise
    error rate. Source: Benjamini and Hochberg, JRSS B 57, 1995.
    """
    return np.asarray(stats.false_discovery_control(p))


# Scores of several systems on the same topics, and the pairs that are compared.

Indices = NDArray[np.intp]


class PairedScores(NamedTuple):
    """One row of scores per entry, one column per topic."""

    labels: tuple[str, ...]
    values: Values


def paired_scores(labels: Sequence[str], values: ArrayLike) -> PairedScores:
    """Scores that can be compared, one row per label; NaN is an error."""
    return PairedScores(tuple(labels), as_scores(values))


def pairs(entries: int, *, baselines: Sequence[int] | None = None) -> tuple[Indices, Indices]:
    """The pairs of rows that are compared, as (row, other row), each once.

    Without baselines all pairs, the earlier row first. With baselines each row against each baseline, the baseline as
    the other one; two baselines meet once, the earlier as the baseline, since a pair that is tested twice would be
    counted twice by a correction.
    """
    if entries < 2:
        raise UsageError(f"a comparison needs at least two systems, not {entries}")
    first, second = np.triu_indices(entries, k=1)
    if baselines is None:
        return first, second
    if len(set(baselines)) < len(baselines):
        raise UsageError("a baseline is named twice")
    meeting = [
        (row, base)
        for place, base in enumerate(baselines)
        for row in range(entries)
        if row not in baselines[: place + 1]
    ]
    rows, others = np.array(meeting, dtype=np.intp).T
    return rows, others


# Tukey's honestly significant differences, by randomisation over all runs at once.

CACHED = 2**18
"""Scores that are permuted at once: 2 MB, about what a processor keeps at hand."""


def tukey(scores: ArrayLike, *, draws: int = DRAWS, rng: np.random.Generator) -> Values:
    """Tukey's HSD by randomisation: had the runs swapped names on every topic, how large would the range of means be?

        q* = max − min of the runs' means, after each topic's scores are permuted among the runs
        p(i, j) = (1 + #{q* ≥ |mean(i) − mean(j)|}) / (1 + draws)

    `scores` is runs × topics. Permuting within topics keeps the pairing: Tukey's table, or a permutation over the
    whole matrix, takes the differences between topics for noise and finds almost nothing. A pair is compared with the
    largest range of all runs, so the familywise error rate is at most alpha, and p is never 0. It assumes
    that all runs are alike under the null, so one unusual run raises the critical difference for all. With one topic
    p = 1.

    Source: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", TOIS 30, 2012.
    """
    matrix = as_scores(scores)
    by_topic = np.ascontiguousarray(matrix.T)
    ranges = np.empty(draws)
    for part in blocks(draws, width=by_topic.size, block=CACHED):
        copies = np.broadcast_to(by_topic, (part.stop - part.start, *by_topic.shape))
        ranges[part] = np.ptp(rng.permuted(copies, axis=2).mean(axis=1), axis=1)
    ranges.sort()
    means = matrix.mean(axis=1)
    gaps = np.abs(means[:, None] - means[None, :]) - float(noise_of(matrix).max())
    reaching = draws - np.searchsorted(ranges, gaps, side="left")
    return np.asarray((1 + reaching) / (1 + draws))


# All pairs, with everything that is known of each.

TUKEY = "tukey"
"""The name of Tukey's test, which is no test of single pairs but corrects for all of them."""

DRAWN_AT_ONCE = 2**29
"""The drawn differences of one piece of work, about a second."""


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

    @property
    def clearness(self) -> tuple[float, float, float]:
        """What sorts pairs from the clearest down: the corrected p, p, and the size of the effect."""
        size = abs(self.effect)
        return self.adjusted_p, self.p, 0.0 if math.isnan(size) else -size

    def other(self, entry: str) -> str:
        """The other entry of the pair."""
        return self.b if self.a == entry else self.a


def compare_all(
    scores: PairedScores,
    *,
    baselines: Sequence[int] | None = None,
    test: str | SignificanceTest = "t",
    correction: str = "holm",
    tolerance: float = 0.0,
    draws: int = DRAWS,
    rng: np.random.Generator,
    workers: Workers = HERE,
) -> list[PairResult]:
    """Compare all pairs, or every system with each baseline; see `pairs` for which and in what order.

    `correction` sees the p-values of exactly these pairs. With `tukey` the corrected p is that of Tukey's test over
    all systems, also where only pairs with a baseline are requested; `p` is that of `test` on the pair alone, and can
    exceed the corrected one where its differences vary much more than others'. `draws` is for the intervals; a test
    that draws has its own (`partial(randomisation, draws=100_000)` can be given as `test`). Apart from the corrected
    p, a pair's result does not depend on which other pairs there are: so they are spread over the workers.
    """
    run_test = tests.get(test) if isinstance(test, str) else test
    first, second = pairs(len(scores.labels), baselines=baselines)
    shared = _Comparing(scores, run_test, tolerance, draws, *rng.spawn(2))
    # Products of matrices round otherwise where their shapes differ: the pieces are the same whoever does them.
    cut = blocks(len(first), width=draws * scores.values.shape[1], block=DRAWN_AT_ONCE)
    pieces = [(first[part], second[part]) for part in cut]
    results = [result for piece in workers.map(_compare_pairs, pieces, shared) for result in piece]
    if correction == TUKEY:
        # From the generator itself: intervals and tests draw from its children, so this is what `tukey` gives alone.
        adjusted = tukey(scores.values, draws=draws, rng=rng)[first, second]
    else:
        adjusted = corrections.get(correction)([result.p for result in results])
    return [replace(result, adjusted_p=float(p)) for result, p in zip(results, adjusted, strict=True)]


class _Comparing(NamedTuple):
    """What the comparison of any pairs needs; every part of them draws from generators in the same state."""

    scores: PairedScores
    test: SignificanceTest
    tolerance: float
    draws: int
    interval_rng: np.random.Generator
    test_rng: np.random.Generator


def _compare_pairs(pairs: tuple[Indices, Indices], shared: _Comparing) -> list[PairResult]:
    """Compare some pairs of rows; their p is not corrected yet."""
    scores, (first, second) = shared.scores, pairs
    a, b = scores.values[first], scores.values[second]
    bounds = difference_interval(a, b, draws=shared.draws, rng=deepcopy(shared.interval_rng))
    tested = shared.test(a, b, rng=deepcopy(shared.test_rng))
    columns: dict[str, NDArray[Any]] = {
        "mean_a": a.mean(axis=1),
        "mean_b": b.mean(axis=1),
        "low": bounds.low,
        "high": bounds.high,
        **effects_of(a, b, tolerance=shared.tolerance)._asdict(),
        "statistic": tested.statistic,
        "p": tested.p,
        "adjusted_p": tested.p,
        "exact": tested.exact,
        "degenerate": tested.degenerate,
    }
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [
        PairResult(scores.labels[row], scores.labels[other], a.shape[1], **dict(zip(columns, cells, strict=True)))
        for row, other, cells in zip(first.tolist(), second.tolist(), rows, strict=True)
    ]


def beaten(results: Sequence[PairResult], *, alpha: float = 0.05) -> dict[str, tuple[str, ...]]:
    """For each system the others that it beats significantly, by corrected p, in the order of the results."""
    wins: dict[str, list[str]] = {label: [] for result in results for label in (result.a, result.b)}
    for result in results:
        if result.difference and significant(result.adjusted_p, alpha=alpha):
            better, worse = (result.a, result.b) if result.difference > 0 else (result.b, result.a)
            wins[better].append(worse)
    return {label: tuple(others) for label, others in wins.items()}
