"""The exact distribution of sign flips, against listing all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.compare.significance import randomisation as sign_flips
from cranfield.compare.significance.wilcoxon import two_sided_tail

NOISE = 1e-12


def listed(differences: np.ndarray) -> float:
    signs = np.array(list(product([-1.0, 1.0], repeat=len(differences))))
    return float((np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).mean())


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=9))
def test_differences_on_a_lattice_are_counted_as_listing_them_does(steps):
    differences = np.array(steps) * 0.1
    assert sign_flips.exact_p(differences, noise=NOISE) == pytest.approx(listed(differences), abs=1e-12)


@given(st.lists(st.floats(-1, 1).filter(lambda value: value == 0 or abs(value) > 1e-6), min_size=1, max_size=9))
def test_any_differences_are_counted_as_listing_them_does(values):
    differences = np.array(values)
    sums = np.abs(np.array(list(product([-1.0, 1.0], repeat=len(values)))) @ differences)
    near = np.abs(sums - abs(differences.sum()))
    if ((near > 1e-14) & (near < 1e-8)).any():
        return  # whether such sums are equal is a matter of taste
    assert sign_flips.exact_p(differences, noise=NOISE) == pytest.approx(listed(differences), abs=1e-12)


def test_sixteen_arbitrary_differences_are_counted_by_meeting_in_the_middle():
    differences = np.random.default_rng(7).normal(0.2, 1, size=16)
    assert sign_flips.exact_p(differences, noise=NOISE) == pytest.approx(listed(differences), abs=1e-12)


def test_many_arbitrary_differences_are_too_much_work():
    differences = np.random.default_rng(1).normal(0.3, 1, size=25)
    assert sign_flips.exact_p(differences, noise=NOISE) is None
    assert sign_flips.exact_p(differences[:24], noise=NOISE) is not None


def test_zero_differences_do_not_matter():
    differences = np.array([0.31, 0.17, -0.05, 0.22])
    padded = np.concatenate([differences, np.zeros(100)])
    assert sign_flips.exact_p(padded, noise=NOISE) == sign_flips.exact_p(differences, noise=NOISE) == 0.25


@given(st.lists(st.integers(1, 12), min_size=1, max_size=10), st.integers(-3, 130))
def test_the_tail_of_integer_weights_is_that_of_the_list(weights, observed):
    signs = np.array(list(product([-1, 1], repeat=len(weights))))
    expected = (np.abs(signs @ np.array(weights)) >= observed).mean()
    assert two_sided_tail(np.array(weights), observed) == pytest.approx(expected, abs=1e-12)
