"""BCa intervals, against scipy, by simulation, and at their edges."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from kept import Kept
from numpy.typing import ArrayLike
from scipy import stats

from cranfield.base.errors import InputError
from cranfield.compare.differences import Interval, difference_interval


def mean_interval(scores: ArrayLike, **options: Any) -> Interval:
    """That of the mean of scores is that of their difference from 0."""
    return difference_interval(scores, np.zeros_like(scores, dtype=float), **options)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("topics", [12, 50])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_scipys(topics, level):
    scores = rng(topics).exponential(0.2, topics)
    ours = mean_interval(scores, level=level, draws=60_000, rng=rng(1))
    peer = stats.bootstrap(
        (scores,), np.mean, confidence_level=level, n_resamples=60_000, method="BCa", rng=rng(2), vectorized=True
    ).confidence_interval
    width = peer.high - peer.low
    assert float(ours.low) == pytest.approx(peer.low, abs=0.02 * width)
    assert float(ours.high) == pytest.approx(peer.high, abs=0.02 * width)


def test_the_interval_is_that_of_all_resamples_listed():
    # With five topics one resample in 26 has the observed mean itself; it counts half, whatever the last digit says.
    scores = rng(5).exponential(0.2, 5)
    means = np.sort(scores[list(product(range(5), repeat=5))].mean(axis=1))
    tied = np.abs(means - scores.mean()) < 1e-12
    bias = stats.norm.ppf(((means < scores.mean()) & ~tied).mean() + tied.mean() / 2)
    skew = ((scores - scores.mean()) ** 3).sum() / (6 * ((scores - scores.mean()) ** 2).sum() ** 1.5)
    z = bias + stats.norm.ppf([0.05, 0.95])
    low, high = np.quantile(means, stats.norm.cdf(bias + z / (1 - skew * z)))
    found = mean_interval(scores, level=0.9, draws=200_000, rng=rng())
    assert (float(found.low), float(found.high)) == (pytest.approx(low, abs=2e-3), pytest.approx(high, abs=2e-3))


def test_skewed_scores_get_an_interval_that_leans_the_same_way():
    scores = np.array([0.01, 0.02, 0.02, 0.03, 0.03, 0.04, 0.05, 0.9])
    found = mean_interval(scores, rng=rng())
    assert found.high - scores.mean() > 1.5 * (scores.mean() - found.low)


@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_nine_intervals_in_ten_hold_the_true_mean(shape):
    drawn = rng(42)
    scores = drawn.normal(0.3, 0.1, (1200, 40)) if shape == "normal" else drawn.exponential(0.3, (1200, 40))
    found = mean_interval(scores, level=0.9, draws=2000, rng=drawn)
    assert 0.86 <= ((found.low <= 0.3) & (found.high >= 0.3)).mean() <= 0.93


def test_the_interval_of_differences_is_that_of_the_mean_of_the_differences():
    drawn = rng(3)
    a, b = drawn.random((4, 20)), drawn.random((4, 20))
    ours, plain = difference_interval(a, b, rng=rng(1)), mean_interval(a - b, rng=rng(1))
    np.testing.assert_allclose([ours.low, ours.high], [plain.low, plain.high], atol=1e-9)


def test_equal_scores_are_a_point():
    found = mean_interval([0.1 + 0.2, 0.3, 0.3], rng=rng())
    assert (float(found.low), float(found.high)) == (pytest.approx(0.3), pytest.approx(0.3))
    found = difference_interval([0.3, 0.2], [0.2, 0.1], rng=rng())
    assert float(found.low) == float(found.high) == pytest.approx(0.1)
    found = difference_interval([0.3, 0.2], [0.3, 0.2], rng=rng())
    assert (float(found.low), float(found.high)) == (0.0, 0.0)


def test_one_topic_bounds_nothing():
    found = mean_interval([0.4], rng=rng())
    assert (float(found.low), float(found.high)) == (-np.inf, np.inf)


def test_two_topics_have_an_interval_between_them():
    found = mean_interval([0.2, 0.6], rng=rng())
    assert (float(found.low), float(found.high)) == (pytest.approx(0.2), pytest.approx(0.6))


def test_a_row_gets_the_same_interval_alone_among_others_and_in_small_blocks(monkeypatch):
    scores = rng(6).random((9, 15))
    scores[4] = 0.5
    together = mean_interval(scores, draws=1000, rng=rng(7))
    monkeypatch.setattr("cranfield.compare.differences.SORTED_AT_ONCE", 2000)
    cut = mean_interval(scores, draws=1000, rng=rng(7))
    np.testing.assert_allclose([cut.low, cut.high], [together.low, together.high], rtol=1e-12)
    alone = mean_interval(scores[8], draws=1000, rng=rng(7))
    np.testing.assert_allclose([alone.low, alone.high], [together.low[8], together.high[8]], rtol=1e-12)


def test_one_generator_does_not_give_the_same_draws_twice():
    scores, drawn = rng(6).random(15), rng(7)
    first, second = (mean_interval(scores, draws=100, rng=drawn) for _ in range(2))
    assert float(first.low) != float(second.low)


def test_an_extreme_level_reaches_the_ends_and_no_further():
    scores = np.concatenate([np.zeros(30), [1.0]])
    found = mean_interval(scores, level=1 - 1e-12, draws=200, rng=rng())
    assert 0 <= found.low <= scores.mean() <= found.high <= 1


def test_scores_are_checked(kept: Kept):
    with kept.raises(InputError):
        mean_interval([0.1, np.nan], rng=rng())
