"""Rankings of systems compared: vectors by hand, brute force, and scipy as a witness."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cranfield.reuse.correlation import levelled, max_rank_drop, ranks, tau_ap, tau_b

pairs_of_scores = st.integers(2, 9).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 4).map(float), min_size=size, max_size=size)] * 2)
)


def test_tau_by_hand():
    assert tau_b([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(4 / 6)
    # three pairs concordant, one discordant, one tied in each ranking
    assert tau_b([3, 2, 2, 1], [2, 3, 1, 1]) == pytest.approx(2 / 5)


def test_tau_b_of_a_constant_ranking_is_undefined():
    assert math.isnan(tau_b([1, 1, 1], [1, 2, 3]))


@given(pairs_of_scores)
def test_tau_b_is_that_of_scipy(scores):
    with np.errstate(invalid="ignore"):
        expected = stats.kendalltau(*scores).statistic
    assert tau_b(*scores) == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_tau_ap_by_hand():
    names = ["A", "B", "C", "D"]
    assert tau_ap([4, 3, 2, 1], [4, 3, 2, 1], names=names) == 1
    assert tau_ap([4, 3, 2, 1], [1, 2, 3, 4], names=names) == -1
    # a swap at the top costs more than one at the bottom: 2/3 (0/1 + 2/2 + 3/3) - 1 and 2/3 (1/1 + 1/2 + 3/3) - 1
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1], names=names) == pytest.approx(1 / 3)
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2], names=names) == pytest.approx(7 / 9)


def test_tau_ap_sees_no_order_in_the_last_digit():
    assert tau_ap([0.5, 0.2, 0.2], [0.5, 0.2, 0.1 + 0.2 - 0.1], names=["a", "b", "c"]) == 1.0


def test_tau_ap_breaks_ties_by_name():
    assert tau_ap([2, 2, 1], [3, 2, 1], names=["A", "B", "C"]) == 1
    assert tau_ap([2, 2, 1], [3, 2, 1], names=["B", "A", "C"]) == pytest.approx(0)


@given(pairs_of_scores)
def test_tau_ap_is_its_definition(scores):
    truth, estimate = scores
    names = [f"s{number}" for number in range(len(truth))][::-1]
    if len(set(truth)) < 2 or len(set(estimate)) < 2:
        assert math.isnan(tau_ap(truth, estimate, names=names))
        return
    true_order = sorted(range(len(truth)), key=lambda one: (-truth[one], names[one]))
    order = sorted(range(len(truth)), key=lambda one: (-estimate[one], names[one]))
    total = 0.0
    for i in range(1, len(order)):
        right = [one for one in order[:i] if true_order.index(one) < true_order.index(order[i])]
        total += len(right) / i
    assert tau_ap(truth, estimate, names=names) == pytest.approx(2 * total / (len(order) - 1) - 1)


def test_systems_that_tie_share_the_best_rank():
    assert ranks([0.3, 0.1, 0.3, 0.2]).tolist() == [1, 4, 1, 3]


def test_noise_of_arithmetic_is_a_tie():
    assert ranks([0.1 + 0.2, 0.3, 0.30000001]).tolist() == [2, 2, 1]
    assert levelled(np.array([0.1 + 0.2, 0.3, 0.0])).tolist() == [0.3, 0.3, 0.0]


def test_the_largest_drop_has_its_system():
    before, after = [4, 3, 2, 1], [1.5, 3, 2, 1]
    assert max_rank_drop(before, after) == (0, 2)
    assert max_rank_drop(before, after, among=[1, 2]) == (1, -1)
