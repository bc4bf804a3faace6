"""Sizes of differences, by hand."""

import numpy as np
import pytest

from cranfield.compare.differences import effects_of

A, B = np.array([0.5, 0.4, 0.9, 0.2]), np.array([0.3, 0.4, 0.5, 0.4])


def test_mean_and_relative_difference():
    assert float(effects_of(A, B).difference) == pytest.approx(0.1)
    assert float(effects_of(A, B).relative) == pytest.approx(0.1 / 0.4)
    assert float(effects_of(-A, -B).relative) == pytest.approx(-0.25)


def test_a_relative_difference_to_nothing_is_infinite_or_none():
    zeros = np.zeros(2)
    assert [float(effects_of(a, zeros).relative) for a in ([0.1, 0.2], [-0.1, 0.0], zeros)] == [np.inf, -np.inf, 0]


def test_cohen_divides_by_the_deviation_of_the_differences():
    differences = np.array([0.2, 0.0, 0.4, -0.2])
    expected = 0.1 / np.sqrt(((differences - 0.1) ** 2).sum() / 3)
    assert float(effects_of(A, B).effect) == pytest.approx(expected)
    # m = 3: Γ(1.5) / (√1.5 · Γ(1)) = 0.88623 / 1.22474
    assert float(effects_of(A, B).hedges) == pytest.approx(expected * 0.7236012546)


def test_the_factor_of_hedges_is_near_its_usual_approximation():
    for topics in (10, 50, 1000):
        sizes = effects_of(np.arange(topics), np.zeros(topics))
        assert sizes.hedges / sizes.effect == pytest.approx(1 - 3 / (4 * (topics - 1) - 1), abs=5e-4)


def test_the_factor_of_hedges_takes_the_bias_out():
    drawn = np.random.default_rng(1).normal(0.5, 1.0, (40_000, 6))
    sizes = effects_of(drawn, np.zeros_like(drawn))
    assert sizes.effect.mean() > 0.55
    assert sizes.hedges.mean() == pytest.approx(0.5, abs=0.01)


def test_standardised_effects_without_spread():
    low, high = [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]
    for a, b, expected in ((high, low, np.inf), (low, high, -np.inf), (low, low, 0), ([0.2], [0.3], np.nan)):
        sizes = effects_of(a, b)
        np.testing.assert_equal([float(sizes.effect), float(sizes.hedges)], [expected, expected])
    assert np.isnan(effects_of([0.2, 0.4], [0.3, 0.1]).hedges)


@pytest.mark.parametrize(
    ("tolerance", "expected"), [(0.0, (2, 1, 1)), (0.1, (2, 1, 1)), (0.2, (1, 3, 0)), (1.0, (0, 4, 0))]
)
def test_wins_ties_and_losses_with_a_tolerance(tolerance, expected):
    counted = effects_of(A, B, tolerance=tolerance)
    assert (int(counted.wins), int(counted.ties), int(counted.losses)) == expected


def test_a_difference_of_exactly_the_tolerance_is_a_tie_in_spite_of_rounding():
    assert 0.3 - 0.2 != 0.1
    for a, b in ((0.3, 0.2), (0.2, 0.1), (0.8, 0.7)):
        assert int(effects_of([a], [b], tolerance=0.1).ties) == 1


def test_many_pairs_at_once_give_one_value_each():
    many = effects_of(np.stack([A, B]), np.stack([B, B]))
    assert (many.wins.tolist(), many.ties.tolist(), many.losses.tolist()) == ([2, 0], [1, 4], [1, 0])
    assert many.effect.shape == (2,)
