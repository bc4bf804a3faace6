"""The median half-width of intervals of differences."""

import numpy as np
import pytest
from scipy import stats

from cranfield.compare.comparison import median_half_width


def test_it_is_the_median_over_pairs_of_half_of_scipys_interval():
    scores = np.random.default_rng(3).random((6, 11))
    widths = []
    for a in range(6):
        for b in range(a + 1, 6):
            interval = stats.ttest_rel(scores[a], scores[b]).confidence_interval(0.95)
            widths.append((interval.high - interval.low) / 2)
    assert median_half_width(scores) == pytest.approx(np.median(widths), rel=1e-12)


def test_one_run_or_one_topic_has_none():
    assert np.isnan(median_half_width([[0.1, 0.2]]))
    assert np.isnan(median_half_width([[0.1], [0.2]]))


def test_of_two_runs_it_is_half_of_their_only_interval():
    one, other = np.random.default_rng(4).random((2, 9))
    interval = stats.ttest_rel(one, other).confidence_interval(0.95)
    assert median_half_width([one, other]) == pytest.approx((interval.high - interval.low) / 2, rel=1e-12)


def test_equal_runs_differ_by_nothing():
    assert median_half_width([[0.1, 0.5, 0.2]] * 3) == 0.0
