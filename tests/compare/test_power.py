"""Discriminative power, topics needed, differences that can be found."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from scipy import stats
from statsmodels.stats.power import TTestPower

from cranfield.base.errors import UsageError
from cranfield.compare.by_measure import (
    DiscriminativePower,
    detectable_difference,
    discriminative_power,
    power_at,
    residual_deviation,
)
from cranfield.compare.differences import draws_needed


def test_discriminative_power_is_the_share_of_significant_pairs():
    found = discriminative_power([0.001, 0.05, 0.06, 1.0], [0.3, -0.1, 0.2, 0.0])
    assert found == DiscriminativePower(pairs=4, significant=2, smallest_difference=0.1)
    assert found.share == 0.5


def test_where_nothing_is_significant_there_is_no_smallest_difference():
    found = discriminative_power([0.2], [0.3])
    assert (found.significant, found.share, math.isnan(found.smallest_difference)) == (0, 0.0, True)


@pytest.mark.parametrize("topics", [2, 5, 50, 400])
@pytest.mark.parametrize("effect", [0.05, 0.3, 1.0])
def test_power_is_that_of_statsmodels(topics, effect):
    expected = TTestPower().power(effect, topics, 0.05)
    assert power_at(topics, math.sqrt(topics) * effect, 0.05) == pytest.approx(expected, abs=1e-9)


def test_power_is_what_a_simulation_finds():
    drawn = np.random.default_rng(1).normal(0.05, 0.12, (20_000, 30))
    share = (stats.ttest_1samp(drawn, 0, axis=1).pvalue <= 0.05).mean()
    assert power_at(30, math.sqrt(30) * 0.05 / 0.12, 0.05) == pytest.approx(share, abs=0.012)


@given(topics=st.integers(2, 3000), power=st.sampled_from([0.2, 0.8, 0.99]), alpha=st.sampled_from([0.001, 0.05]))
def test_the_detectable_difference_is_found_with_the_wanted_power(topics, power, alpha):
    difference = detectable_difference(topics, deviation=0.3, power=power, alpha=alpha)
    assert power_at(topics, math.sqrt(topics) * difference / 0.3, alpha) == pytest.approx(power, abs=1e-7)


def test_edges_of_power():
    assert power_at(10, 0, 0.05) == pytest.approx(0.05)
    assert power_at(50, 1e300, 0.05) == 1
    assert detectable_difference(1, deviation=0.1) == math.inf
    assert detectable_difference(10, deviation=0) == 0


def test_a_tail_far_out_is_not_lost():
    # One degree of freedom: P(|T| ≥ 12.7) at a noncentrality of 40 is P(|χ₁| ≤ 3.14…) but for the spread of 40 ± 1.
    assert power_at(2, 40, 0.05) == pytest.approx(0.99830, abs=2e-5)


def test_what_cannot_be_planned_is_an_error(kept: Kept):
    with kept.raises(UsageError):
        detectable_difference(50, deviation=0.1, power=0.05)
    with kept.raises(UsageError):
        detectable_difference(2, deviation=0.1, power=0.99, alpha=1e-12)


def test_the_deviation_of_two_runs_is_that_of_their_differences():
    scores = np.random.default_rng(2).random((2, 30))
    expected = float(np.std(scores[0] - scores[1], ddof=1))
    assert residual_deviation(scores) == pytest.approx(expected)


def test_the_residual_deviation_is_that_of_the_average_pair():
    scores = np.random.default_rng(3).random((6, 25))
    pairs = [np.var(scores[i] - scores[j], ddof=1) for j in range(6) for i in range(j)]
    assert residual_deviation(scores) == pytest.approx(math.sqrt(np.mean(pairs)))


@pytest.mark.parametrize(("pairs", "alpha"), [(1, 0.05), (8256, 0.05), (3, 0.01), (7, 0.03)])
def test_draws_needed_are_the_fewest_with_which_a_corrected_p_can_be_significant(pairs, alpha):
    draws = draws_needed(pairs, alpha=alpha)
    assert pairs / (1 + draws) <= alpha * (1 + 1e-12) < pairs / draws
