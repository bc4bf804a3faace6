"""Letters in tables, and the baselines that are beaten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.compare.comparison import beaten, compare_all, letter, letters, letters_of, paired_scores


def matrix(runs, pairs):
    different = np.zeros((runs, runs), dtype=bool)
    for row, other in pairs:
        different[row, other] = different[other, row] = True
    return different


@st.composite
def verdicts(draw):
    runs = draw(st.integers(1, 14))
    pairs = [(row, other) for other in range(runs) for row in range(other)]
    return matrix(runs, [pair for pair in pairs if draw(st.booleans())])


@given(verdicts(), st.randoms(use_true_random=False))
def test_two_runs_share_a_letter_if_and_only_if_they_do_not_differ(different, shuffler):
    order = list(range(len(different)))
    shuffler.shuffle(order)
    given_letters = [set(each) for each in letters(different, order=order)]
    shared = [[bool(one & other) for other in given_letters] for one in given_letters]
    assert shared == (~different).tolist()


@given(verdicts())
def test_no_letter_is_idle(different):
    given_letters = letters(different)
    for name in {name for each in given_letters for name in each}:
        rest = [set(each) - {name} for each in given_letters]
        assert [[bool(one & other) for other in rest] for one in rest] != (~different).tolist()


def test_a_chain_gets_the_classic_display():
    different = matrix(4, [(0, 2), (0, 3), (1, 3)])
    assert letters(different) == (("a",), ("a", "b"), ("b", "c"), ("c",))


def test_the_best_run_gets_the_first_letter_wherever_it_stands():
    different = matrix(3, [(0, 2), (1, 2)])
    assert letters(different, order=[2, 0, 1]) == (("b",), ("b",), ("a",))


def test_all_alike_share_one_letter_and_all_different_have_their_own():
    assert letters(np.zeros((3, 3))) == (("a",),) * 3
    assert letters(~np.eye(3, dtype=bool)) == (("a",), ("b",), ("c",))


def test_letters_do_not_stop_at_z():
    assert [letter(number) for number in (0, 25, 26, 51, 52)] == ["a", "z", "a2", "z2", "a3"]
    given_letters = letters(~np.eye(60, dtype=bool))
    assert given_letters[25:27] == (("z",), ("a2",))
    assert len(set(given_letters)) == 60


@pytest.fixture
def scores():
    drawn = np.random.default_rng(1)
    values = drawn.random(30) + drawn.normal(0, 0.02, (4, 30)) + np.array([0.0, 0.3, 0.3, 0.6])[:, None]
    return paired_scores(["low", "middle", "twin", "high"], values)


def test_letters_of_a_comparison_group_what_does_not_differ(scores):
    found = letters_of(compare_all(scores, rng=np.random.default_rng(2)), scores.labels)
    assert found == {"low": ("c",), "middle": ("b",), "twin": ("b",), "high": ("a",)}


def test_a_table_can_say_which_baselines_a_run_beats(scores):
    results = compare_all(scores, baselines=[0, 2], rng=np.random.default_rng(2))
    assert beaten(results) == {"middle": ("low",), "low": (), "twin": ("low",), "high": ("low", "twin")}


def test_a_baseline_that_wins_beats_the_run(scores):
    results = compare_all(scores, baselines=[3], rng=np.random.default_rng(2))
    assert beaten(results) == {"low": (), "middle": (), "twin": (), "high": ("low", "middle", "twin")}
