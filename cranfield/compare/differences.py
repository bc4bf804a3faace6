"""Paired differences, and how near two numbers must be to count as the same.

Scores are sums and quotients in doubles: 0.3 − 0.2 and 0.2 − 0.1 differ in the last digit, and a rank test that
believes it sees no tie. Whatever is nearer than `noise`, 2⁻⁴⁰ (about 10⁻¹²) of the largest score of the pair, is
the same number here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.base.registry import Registry, deferred
from cranfield.base.text import counted

with deferred:
    from scipy import special

# What a significance test gives, and when a p-value counts as significant.

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TestResult:
    """The outcome of one test on one pair of systems, or on many at once; all fields have one value per pair.

    `statistic` is signed: positive speaks for `a`, and swapping the systems negates it. `p` is two-sided and lies
    in (0, 1]. `exact` says that p is computed from the whole null distribution, not drawn or approximated.
    `degenerate` says that the test is not defined on these differences and p comes from the rule in its docstring.
    """

    statistic: Values
    p: Values
    exact: Flags
    degenerate: Flags


class SignificanceTest(Protocol):
    """A two-sided paired test.

    `a` and `b` have topics as their last axis: one row of scores each, or one row per pair of systems. Further
    keyword options may have defaults.
    """

    def __call__(self, a: ArrayLike, b: ArrayLike, *, rng: np.random.Generator) -> TestResult:
        """Test whether the paired scores differ."""
        ...


tests: Registry[SignificanceTest] = Registry(
    "significance test", package="cranfield.compare.significance", group="cranfield.tests"
)
Test = TypeVar("Test", bound=SignificanceTest)


def significance_test(*names: str, title: str, counts_signs: bool = False) -> Callable[[Test], Test]:
    """Register a test by its names; `title` is what stands below a table.

    With `counts_signs` its p is never below what the signs of all topics can say, 2^(1−n). A test that draws has the
    keyword `draws`.
    """

    def register(test: Test) -> Test:
        vars(test).update(title=title, counts_signs=counts_signs)
        return tests.register(*names)(test)  # type: ignore[return-value]

    return register


def significant(p: ArrayLike, *, alpha: float = 0.05) -> Flags:
    """Say which p-values are significant: p ≤ alpha, so that a test holds its level exactly."""
    return np.asarray(np.asarray(p, dtype=np.float64) <= alpha)


RELATIVE_NOISE = 2.0**-40
LARGEST = 1e100
SMALLEST = 1e-100
SMALLEST_P = float(np.finfo(np.float64).tiny)
"""What a p-value becomes that is too small for a double: it is never 0."""


class Differences(NamedTuple):
    """a − b for one or more pairs of systems: one row per pair, one column per topic.

    Differences up to the row's `noise` are exactly 0. `shape` is that of a result: () where the caller gave one row.
    """

    values: Values
    noise: Values
    shape: tuple[int, ...]

    @property
    def topics(self) -> int:
        """The number of topics, at least 1."""
        return int(self.values.shape[1])

    @property
    def constant(self) -> Flags:
        """Which pairs have the same difference on every topic; with one topic, all."""
        return np.asarray(np.ptp(self.values, axis=1) <= self.noise)

    @property
    def smallest_p(self) -> float:
        """2^(1−n), the smallest two-sided p that n signs can give."""
        return max(2.0 ** (1 - min(self.topics, 1023)), SMALLEST_P)

    def constant_p(self) -> Values:
        """What p is where the spread is zero: 1 if all differences are zero, else that of n equal signs, 2^(1−n)."""
        return np.where((self.values == 0).all(axis=1), 1.0, self.smallest_p)

    def result(
        self, statistic: Values, p: Values, *, exact: Flags | None = None, degenerate: Flags | None = None
    ) -> TestResult:
        """The outcome of a test, in the shape of its input."""
        none = np.zeros(len(self.values), dtype=bool)
        return TestResult(
            statistic=np.reshape(np.asarray(statistic, dtype=np.float64), self.shape),
            p=np.reshape(np.clip(p, SMALLEST_P, 1.0), self.shape),
            exact=np.reshape(none if exact is None else exact, self.shape),
            degenerate=np.reshape(none if degenerate is None else degenerate, self.shape),
        )


def paired_differences(a: ArrayLike, b: ArrayLike) -> Differences:
    """The differences a − b, topic by topic, with what is only noise of arithmetic set to 0.

    `a` and `b` are single rows of scores or matrices with one row per pair. No topics, NaN or infinity are errors.
    """
    left, right = as_scores(a), as_scores(b)
    if left.shape != right.shape:
        raise UsageError(f"paired scores must have the same shape, not {left.shape} and {right.shape}")
    rows, others = np.atleast_2d(left), np.atleast_2d(right)
    noise = np.maximum(noise_of(rows), noise_of(others))
    values = rows - others
    values[np.abs(values) <= noise[:, None]] = 0.0
    return Differences(values, noise, left.shape[:-1])


def as_scores(values: ArrayLike) -> Values:
    """Scores as doubles, topics last; refused where they cannot be compared."""
    scores: Values = np.asarray(values, dtype=np.float64)
    if scores.shape[-1] == 0:
        raise InputError("no topics to compare on")
    bad = int(np.count_nonzero(~(np.abs(scores) <= LARGEST)))
    if bad:
        raise InputError(f"{bad:,} of {counted(scores.size, 'score')} cannot be compared: NaN or infinite")
    return scores


def noise_of(scores: Values) -> Values:
    """For each row the distance up to which two of its numbers are the same."""
    return np.asarray(np.maximum(np.abs(scores).max(axis=-1) * RELATIVE_NOISE, SMALLEST))


# Drawing in blocks: how often, how much at once, and the same draws for everybody.

DRAWS = 10_000
BLOCK = 2**20
"""Numbers that are drawn at once: 8 MB of doubles, which stay in the cache while they are used."""

PLENTY = 20
"""How many times the draws that are just enough are drawn where nobody says how many."""

MOST_WORK = 2**28
"""The default limit of pairs times draws: some seconds."""


def seeded(seed: int) -> np.random.Generator:
    """The generator of a seed.

    Whoever draws by a seed takes this one: the same test on the same scores then is the same wherever one asks.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:  # type: ignore[redundant-expr]
        raise UsageError(f"the seed must be an integer of at least 0, not {seed!r}")
    return np.random.default_rng(seed)


def blocks(total: int, *, width: int, block: int = BLOCK) -> Iterator[slice]:
    """Cut `total` rows of `width` numbers into slices of at most `block` numbers, but of at least one row."""
    rows = max(1, block // max(width, 1))
    return (slice(start, min(start + rows, total)) for start in range(0, total, rows))


def draws_needed(pairs: int, *, alpha: float = 0.05) -> int:
    """The draws below which no pair can be significant after Bonferroni's or Holm's correction.

    The smallest p is 1 / (1 + draws), and the correction multiplies it by the number of pairs: 10,000 draws over the
    8,256 pairs of 129 runs cannot get below 0.8. Tukey's test corrects inside its draws and needs no more of them.
    """
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


def resampled_sums(values: Values, *, draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """The sums of each row over topics drawn with replacement, in blocks (draws × rows)."""
    rows, topics = values.shape
    for part in blocks(draws, width=max(rows, topics)):
        size = part.stop - part.start
        drawn = (rng.random((size, topics)) * topics).astype(np.int64)
        drawn += np.arange(size)[:, None] * topics
        times = np.bincount(drawn.ravel(), minlength=size * topics).reshape(size, topics)
        yield times.astype(np.float64) @ values.T


# How large a difference is: absolute, relative, in standard deviations, in topics won and lost.


class Effects(NamedTuple):
    """The sizes of the differences a − b, one value of each per pair; `wins`, `ties` and `losses` count a's topics.

    `relative` is the mean difference as a share of b's mean, (mean(a) − mean(b)) / |mean(b)|. Where b's mean is 0: 0
    if the difference is 0 too, else ±∞. It says nothing about spread, and a percentage of a small score looks large.

    `effect` is Cohen's d_z, the standardised paired effect: mean(d) / sd(d), with n − 1 in the deviation. All
    differences zero: 0. Equal but not zero: ±∞. One topic: NaN, since there is no spread to measure with. It is
    t / √n, so it tells how consistent a difference is, not how much a user would notice.

    `hedges` is Hedges' g_z: d_z without its bias upwards on few topics.

        g = d_z · Γ(m/2) / (√(m/2) · Γ((m−1)/2)),  m = n − 1

    Fewer than three topics: NaN, because d_z has no expectation to be corrected. Other edges as d_z.

    Source: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988; Hedges, "Distribution theory for
    Glass's estimator of effect size", 1981.
    """

    difference: Values
    relative: Values
    effect: Values
    hedges: Values
    wins: Counts
    ties: Counts
    losses: Counts


def effects_of(a: ArrayLike, b: ArrayLike, *, tolerance: float = 0.0) -> Effects:
    """Measure how large differences are; up to `tolerance` a topic is tied, and noise always is."""
    differences = paired_differences(a, b)
    values, noise, topics = differences.values, differences.noise, differences.topics
    mean = values.mean(axis=1)
    base = np.abs(np.atleast_2d(as_scores(b)).mean(axis=1))
    cohen, factor = np.full(len(mean), np.nan), np.nan
    if topics > 1:
        cohen = _quotient(mean, np.where(differences.constant, 0.0, values.std(axis=1, ddof=1)))
    if topics > 2:
        half = (topics - 1) / 2
        factor = np.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / np.sqrt(half)
    limit = (tolerance + noise)[:, None]
    wins, losses = (values > limit).sum(axis=1), (values < -limit).sum(axis=1)
    relative = _quotient(mean, np.where(base <= noise, 0.0, base))
    columns = (mean, relative, cohen, cohen * factor, wins, topics - wins - losses, losses)
    return Effects(*(np.reshape(column, differences.shape) for column in columns))


def _quotient(above: Values, below: Values) -> Values:
    """Divide; 0 by 0 is 0, and anything else by 0 is infinite."""
    endless = np.where(above == 0, 0.0, np.copysign(np.inf, above))
    return np.divide(above, below, out=endless, where=below != 0)


# Confidence intervals of mean differences, by the BCa bootstrap.

SORTED_AT_ONCE = 2**23
"""Resampled means that are held and sorted at once: 64 MB of doubles."""


class Interval(NamedTuple):
    """From `low` to `high`, one of each per pair."""

    low: Values
    high: Values


def difference_interval(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, draws: int = DRAWS, rng: np.random.Generator
) -> Interval:
    """The BCa bootstrap interval of the mean paired difference a − b, of one pair or of each row of two matrices.

    With m* the mean differences x of topics drawn with replacement, m the mean and Φ the normal distribution:

        z₀ = Φ⁻¹(share of m* below m, ties half),  a = Σ(x−m)³ / (6 · (Σ(x−m)²)^1.5)
        from the α₁ to the α₂ quantile of m*,  αᵢ = Φ(z₀ + (z₀ + zᵢ) / (1 − a(z₀ + zᵢ))),  zᵢ = Φ⁻¹((1 ∓ level) / 2)

    All differences equal: that point. One topic: −∞ to ∞, because one number says nothing about spread. All rows are
    resampled with the same topics, so that a pair keeps together, and a row's interval does not depend on the other
    rows: it is one interval per pair, not corrected for many pairs.

    Source: Efron, "Better bootstrap confidence intervals", JASA 82, 1987.
    """
    differences = paired_differences(a, b)
    if differences.topics == 1:
        return Interval(np.full(differences.shape, -np.inf), np.full(differences.shape, np.inf))
    mean = differences.values.mean(axis=1)
    ends = np.stack([mean, mean])
    normal = special.ndtri([(1 - level) / 2, (1 + level) / 2]).tolist()
    varied = np.flatnonzero(~differences.constant)
    child = rng.spawn(1)[0]  # a copy of it draws the same for every part, whatever `rng` draws later
    parts = list(blocks(len(varied), width=draws, block=SORTED_AT_ONCE))
    room = np.empty((parts[0].stop if parts else 0, draws))  # one for all parts: new memory is slow
    for part in parts:
        chosen, means = varied[part], room[: part.stop - part.start]
        # Centring keeps resampled means that are tied with the mean tied.
        centred, noise = differences.values[chosen] - mean[chosen, None], differences.noise[chosen, None]
        done = 0
        for sums in resampled_sums(centred, draws=draws, rng=deepcopy(child)):
            np.divide(sums.T, differences.topics, out=means[:, done : done + len(sums)])
            done += len(sums)
        means.sort(axis=1)
        below = (means < -noise).sum(axis=1) + (means <= noise).sum(axis=1)
        # A bias beyond all draws would be infinite: it is taken as half a draw short of that.
        bias = special.ndtri(np.clip(below / (2 * draws), 0.5 / draws, 1 - 0.5 / draws))
        skew = (centred**3).sum(axis=1) / (6 * (centred**2).sum(axis=1) ** 1.5)
        for end, z in zip(ends, normal, strict=True):
            shift = bias + z
            below_pole = 1 - skew * shift
            # Past the pole of shift / (1 − skew · shift) the formula breaks down: the end of the distribution.
            stretched = np.divide(shift, below_pole, out=np.copysign(np.inf, shift), where=below_pole > 0)
            # One quantile of each sorted row, interpolated linearly.
            place = special.ndtr(bias + stretched) * (draws - 1)
            under = np.clip(np.floor(place).astype(np.int64), 0, max(draws - 2, 0))
            over = np.minimum(under + 1, draws - 1)
            each = np.arange(len(means))
            end[chosen] += means[each, under] + (place - under) * (means[each, over] - means[each, under])
    return Interval(np.reshape(ends[0], differences.shape), np.reshape(ends[1], differences.shape))
