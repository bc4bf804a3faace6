"""Examples from teaching, on what a comparison can and cannot say."""

import numpy as np
import pytest

from cranfield.compare.comparison import compare_all
from cranfield.compare.pairing import paired_scores
from cranfield.compare.significance import tests as significance_tests


def p_of(test: str, a: np.ndarray, b: np.ndarray) -> float:
    return float(significance_tests.get(test)(a, b, rng=np.random.default_rng(1)).p)


def test_four_wins_and_three_losses_on_seven_topics_say_nothing():
    a = np.array([0.60, 0.42, 0.33, 0.71, 0.10, 0.25, 0.48])
    b = np.array([0.41, 0.40, 0.12, 0.55, 0.30, 0.52, 0.49])
    result = significance_tests.get("sign")(a, b, rng=np.random.default_rng(1))
    assert (float(result.statistic), float(result.p)) == (1.0, 1.0)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap"])
def test_of_two_experiments_with_the_same_means_only_the_consistent_one_is_significant(test):
    old = np.array([0.02, 0.39, 0.26, 0.38, 0.14, 0.11, 0.10])
    consistent = np.array([0.22, 0.57, 0.48, 0.59, 0.33, 0.30, 0.31])
    erratic = np.array([0.90, 0.22, 0.95, 0.30, 0.05, 0.33, 0.05])
    assert (old.mean(), consistent.mean(), erratic.mean()) == pytest.approx((0.20, 0.40, 0.40))
    assert p_of(test, consistent, old) <= 0.05
    assert p_of(test, erratic, old) > 0.05


def test_the_consistent_experiment_has_a_narrow_interval_and_the_other_one_includes_zero():
    old = np.array([0.02, 0.39, 0.26, 0.38, 0.14, 0.11, 0.10])
    consistent = np.array([0.22, 0.57, 0.48, 0.59, 0.33, 0.30, 0.31])
    erratic = np.array([0.90, 0.22, 0.95, 0.30, 0.05, 0.33, 0.05])
    scores = paired_scores(["consistent", "erratic", "old"], [consistent, erratic, old])
    steady, wild = compare_all(scores, baselines=[2], rng=np.random.default_rng(1))
    assert (steady.wins, steady.losses, wild.wins, wild.losses) == (7, 0, 3, 4)
    assert 0.18 < steady.low < 0.2 < steady.high < 0.22
    assert wild.low < 0 < wild.high


def test_the_geometric_mean_turns_the_order_round_on_a_hard_topic():
    # Difference of mean logarithms = logarithm of the ratio of geometric means: to compare by geometric mean,
    # compare the logarithms.
    brilliant, steady = np.array([0.90, 0.80, 0.70, 0.01]), np.array([0.70, 0.60, 0.55, 0.20])
    (plain,) = compare_all(paired_scores(["a", "b"], [brilliant, steady]), rng=np.random.default_rng(1))
    logs = paired_scores(["a", "b"], np.log([brilliant, steady]))
    (geometric,) = compare_all(logs, rng=np.random.default_rng(1))
    assert (plain.mean_a, plain.mean_b) == pytest.approx((0.6025, 0.5125))
    assert (np.exp(geometric.mean_a), np.exp(geometric.mean_b)) == pytest.approx((0.26645, 0.46362), abs=1e-5)
    assert plain.difference > 0 > geometric.difference


def test_mean_reciprocal_rank_turns_the_order_of_mean_rank_round():
    ranks = np.array([[1, 1, 10], [2, 2, 2]])
    (by_rank,) = compare_all(paired_scores(["a", "b"], -ranks), rng=np.random.default_rng(1))
    (by_reciprocal,) = compare_all(paired_scores(["a", "b"], 1 / ranks), rng=np.random.default_rng(1))
    assert (by_rank.mean_a, by_rank.mean_b) == (-4, -2)
    assert (by_reciprocal.mean_a, by_reciprocal.mean_b) == pytest.approx((0.7, 0.5))
    assert by_rank.difference < 0 < by_reciprocal.difference
