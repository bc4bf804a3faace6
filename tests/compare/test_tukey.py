"""Tukey's test by randomisation."""

from itertools import permutations, product

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import InputError
from cranfield.compare.comparison import tukey
from cranfield.compare.significance.randomisation import randomisation


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_it_is_what_listing_all_permutations_gives():
    scores = np.array([[0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.7], [0.4, 0.6, 0.5, 0.6]])
    orders = list(permutations(range(3)))
    ranges = [
        np.ptp(np.mean([scores[list(order), topic] for topic, order in enumerate(chosen)], axis=0))
        for chosen in product(orders, repeat=4)
    ]
    gaps = np.abs(np.subtract.outer(scores.mean(axis=1), scores.mean(axis=1)))
    expected = (np.array(ranges) >= gaps[:, :, None] - 1e-9).mean(axis=2)
    found = tukey(scores, draws=100_000, rng=rng(1))
    np.testing.assert_allclose(found, expected, atol=0.006)


def test_with_two_runs_it_is_the_randomisation_test():
    scores = rng(2).random((2, 12))
    expected = float(randomisation(scores[0], scores[1], rng=rng()).p)
    assert tukey(scores, draws=100_000, rng=rng(3))[0, 1] == pytest.approx(expected, abs=0.006)


def test_the_pairing_is_kept():
    # The topics differ enormously, the runs a little and always the same way.
    topics = np.linspace(0, 1, 20)
    scores = np.stack([topics, topics + 0.01, topics + 0.02])
    assert tukey(scores, rng=rng())[0, 2] < 0.001


def test_p_is_symmetric_one_on_the_diagonal_and_never_zero():
    scores = rng(4).random((5, 30)) + np.arange(5)[:, None]
    found = tukey(scores, draws=99, rng=rng(5))
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 1)
    assert found.min() == 1 / 100


def test_a_larger_difference_never_has_a_larger_p():
    scores = rng(6).random((8, 15))
    p, means = tukey(scores, draws=500, rng=rng(7)), scores.mean(axis=1)
    gaps = np.abs(np.subtract.outer(means, means))[np.triu_indices(8, 1)]
    assert (np.diff(p[np.triu_indices(8, 1)][np.argsort(gaps)]) <= 0).all()


def test_among_equal_runs_even_one_false_win_is_rare():
    drawn = rng(8)
    wins = [tukey(drawn.random((6, 12)), draws=199, rng=drawn).min() <= 0.1 for _ in range(400)]
    assert 0.05 <= np.mean(wins) <= 0.155


def test_a_pair_is_significant_from_a_certain_difference_on():
    scores = rng(9).random((20, 25)) + np.linspace(0, 0.4, 20)[:, None]
    p = tukey(scores, draws=2000, rng=rng(10))
    gaps = np.abs(np.subtract.outer(scores.mean(axis=1), scores.mean(axis=1)))
    for alpha in (0.05, 0.2):
        assert gaps[p > alpha].max() < gaps[p <= alpha].min()


def test_too_few_draws_cannot_be_significant():
    scores = rng(9).random((3, 25)) + np.arange(3)[:, None]
    assert (tukey(scores, draws=18, rng=rng(10)) > 0.05).all()
    assert (tukey(scores, draws=19, rng=rng(10))[0, 1:] <= 0.05).all()


def test_equal_runs_and_a_single_topic_prove_nothing():
    assert tukey(np.tile(rng(1).random(9), (3, 1)), draws=50, rng=rng()).tolist() == [[1.0] * 3] * 3
    assert tukey([[0.1], [0.5], [0.9]], draws=50, rng=rng()).tolist() == [[1.0] * 3] * 3


def test_the_size_of_the_blocks_changes_nothing(monkeypatch):
    scores = rng(11).random((7, 9))
    whole = tukey(scores, draws=300, rng=rng(12))
    monkeypatch.setattr("cranfield.compare.comparison.CACHED", 200)
    np.testing.assert_array_equal(tukey(scores, draws=300, rng=rng(12)), whole)


def test_what_is_no_number_is_an_error(kept: Kept):
    with kept.raises(InputError):
        tukey([[0.1], [np.nan]], rng=rng())
