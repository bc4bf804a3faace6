"""The significance tests, against scipy and against the edges of their definitions."""

import warnings
from functools import partial

import numpy as np
import pytest
from kept import Kept
from scipy import stats

from cranfield.base.errors import InputError, UnknownName, UsageError
from cranfield.compare.significance import tests as significance_tests
from cranfield.compare.significance.bootstrap import bootstrap
from cranfield.compare.significance.randomisation import randomisation
from cranfield.compare.significance.sign import sign
from cranfield.compare.significance.student import student
from cranfield.compare.significance.wilcoxon import wilcoxon

NAMES = ["bootstrap", "randomisation", "sign", "t", "wilcoxon"]
TINY = float(np.finfo(np.float64).tiny)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def scores(pairs: int, topics: int, *, seed: int = 1, shift: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    drawn = rng(seed)
    topic = drawn.beta(1, 2, size=topics)
    a = np.clip(topic + shift + drawn.normal(0, 0.1, (pairs, topics)), 0, 1)
    return a, np.clip(topic + drawn.normal(0, 0.1, (pairs, topics)), 0, 1)


def outcome(name, a, b, seed=0):
    result = significance_tests.get(name)(np.array(a, dtype=float), np.array(b, dtype=float), rng=rng(seed))
    return float(result.statistic), float(result.p), bool(result.exact), bool(result.degenerate)


def test_the_tests_are_found_by_name(kept: Kept):
    assert significance_tests.names() == NAMES
    assert significance_tests.get("permutation") is randomisation
    assert significance_tests.get("paired-t") is student
    with kept.raises(UnknownName):
        significance_tests.get("wilcoxn")


def test_t_is_scipys_paired_t():
    a, b = scores(40, 23)
    expected = stats.ttest_rel(a, b, axis=1)
    result = student(a, b, rng=rng())
    np.testing.assert_allclose(result.statistic, expected.statistic, rtol=1e-9)
    np.testing.assert_allclose(result.p, expected.pvalue, rtol=1e-9)


def test_wilcoxon_is_scipys_where_there_are_no_ties():
    drawn = rng(5)
    a, b = drawn.normal(0.52, 0.1, (20, 30)), drawn.normal(0.5, 0.1, (20, 30))
    result = wilcoxon(a, b, rng=rng())
    expected = [stats.wilcoxon(x, y, method="exact") for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(result.p, [each.pvalue for each in expected], rtol=1e-9)
    total = 30 * 31 / 2
    np.testing.assert_allclose(total - np.abs(result.statistic), [2 * each.statistic for each in expected])
    assert result.exact.all()


def test_wilcoxon_on_many_topics_is_scipys_normal_approximation_with_ties():
    drawn = rng(3)
    a, b = drawn.integers(0, 12, (6, 300)) / 8, drawn.integers(0, 11, (6, 300)) / 8
    result = wilcoxon(a, b, rng=rng())
    expected = [stats.wilcoxon(x, y, correction=False, method="asymptotic").pvalue for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(result.p, expected, rtol=1e-9)
    assert not result.exact.any()


def test_wilcoxon_with_ties_is_exact_and_equals_permuting_the_signs():
    a, b = np.array([3, 5, 2, 7, 7, 1, 4, 4, 6]) / 10, np.array([1, 4, 3, 5, 4, 1, 2, 5, 2]) / 10
    differences = np.array([2, 1, -1, 2, 3, 0, 2, -1, 4])
    ranks = stats.rankdata(np.abs(differences[differences != 0])) * np.sign(differences[differences != 0])
    peer = stats.permutation_test((ranks,), np.sum, permutation_type="samples", n_resamples=np.inf)
    result = wilcoxon(a, b, rng=rng())
    assert float(result.p) == pytest.approx(peer.pvalue, rel=1e-12)
    assert float(result.statistic) == ranks.sum()
    assert bool(result.exact)


def test_differences_that_differ_only_by_rounding_are_ties():
    a, b = np.array([0.3, 0.2, 0.1, 0.4, 0.7]), np.array([0.2, 0.1, 0.2, 0.3, 0.6])
    assert len(np.unique(np.abs(a - b))) > 1
    assert float(wilcoxon(a, b, rng=rng()).statistic) == 3 + 3 + 3 + 3 - 3
    assert outcome("wilcoxon", [0.1 + 0.2], [0.3])[:2] == outcome("sign", [0.1 + 0.2], [0.3])[:2] == (0.0, 1.0)


def test_sign_is_scipys_binomial_test():
    a, b = scores(60, 17)
    a, b = np.round(a, 1), np.round(b, 1)
    result = sign(a, b, rng=rng())
    for x, y, statistic, p in zip(a, b, result.statistic, result.p, strict=True):
        wins, losses = int((x > y).sum()), int((x < y).sum())
        expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        assert (statistic, p) == (wins - losses, pytest.approx(expected, rel=1e-9))


def test_randomisation_is_scipys_exact_permutation_test():
    a, b = scores(12, 9)
    result = randomisation(a, b, rng=rng())
    for x, y, p in zip(a, b, result.p, strict=True):
        peer = stats.permutation_test(
            (x, y), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )
        assert p == pytest.approx(peer.pvalue, rel=1e-12)
    assert result.exact.all()


def test_drawn_randomisation_is_near_the_exact_one_and_says_that_it_is_drawn():
    drawn = rng(4)
    a, b = drawn.normal(0.53, 0.1, (1, 24)), drawn.normal(0.5, 0.1, (1, 24))
    exact = randomisation(a, b, rng=rng())
    # A twenty-fifth topic on which nothing can be seen (but that is no tie) makes it draw.
    padded = [np.hstack([values, [[filler]]]) for values, filler in ((a, 1e-9), (b, 0.0))]
    near = randomisation(*padded, draws=200_000, rng=rng(8))
    assert bool(exact.exact[0])
    assert not bool(near.exact[0])
    assert near.p[0] == pytest.approx(exact.p[0], abs=0.005)


def test_a_drawn_p_is_never_zero_and_counts_the_observed_signs():
    a, b = rng(2).random(60) + 1.0, np.zeros(60)
    assert float(randomisation(a, b, draws=999, rng=rng()).p) == 1 / 1000
    assert float(bootstrap(a, b, draws=999, rng=rng()).p) == 1 / 1000


def test_the_bootstrap_shifts_to_zero_and_counts_means_as_large():
    a, b = scores(1, 40, seed=6, shift=0.02)
    differences = (a - b)[0]
    picks = rng(9).integers(0, 40, (200_000, 40))
    means = (differences - differences.mean())[picks].mean(axis=1)
    expected = (np.abs(means) >= abs(differences.mean())).mean()
    assert bootstrap(a, b, draws=200_000, rng=rng(10)).p[0] == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("name", NAMES)
def test_no_difference_at_all_gives_p_one_in_every_test(name):
    statistic, p, _, _ = outcome(name, [0.1, 0.5, 0.7], [0.1, 0.5, 0.7])
    assert (statistic, p) == (0.0, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_one_topic_proves_nothing_in_any_test(name):
    assert outcome(name, [0.9], [0.1])[1] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_same_gain_on_six_topics_is_as_convincing_as_six_heads(name):
    a, b = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert outcome(name, a, b)[1] == pytest.approx(2 / 64)


def test_where_t_and_bootstrap_are_not_defined_they_say_so():
    assert outcome("t", [0.3, 0.4, 0.5], [0.2, 0.3, 0.4]) == (np.inf, 0.25, False, True)
    assert outcome("t", [0.2, 0.3, 0.4], [0.3, 0.4, 0.5]) == (-np.inf, 0.25, False, True)
    assert outcome("t", [0.2], [0.3]) == (-np.inf, 1.0, False, True)
    assert outcome("bootstrap", [0.5, 0.75], [0.25, 0.5]) == (0.25, 0.5, False, True)
    assert outcome("sign", [0.5], [0.5]) == (0.0, 1.0, True, True)


def test_two_topics_do_not_convince_the_bootstrap():
    assert outcome("bootstrap", [0.3, 0.9], [0.2, 0.6])[1:] == (0.5, False, False)


@pytest.mark.parametrize("name", NAMES)
def test_p_stays_above_zero_where_a_double_would_end(name):
    a, b = 1.0 + rng(1).random(3000) * 1e-3, np.zeros(3000)
    p = outcome(name, a, b)[1]
    assert p == (1 / 10_001 if name in ("randomisation", "bootstrap") else TINY)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_what_is_not_a_score_is_an_error(name, bad, kept: Kept):
    with kept.raises(InputError):
        outcome(name, [0.1, bad], [0.2, 0.3])


@pytest.mark.parametrize("name", NAMES)
def test_no_topics_and_unequal_shapes_are_errors(name, kept: Kept):
    with kept.raises(InputError):
        outcome(name, [], [])
    with kept.raises(UsageError):
        outcome(name, [0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_gets_the_same_result_alone_and_among_others(name):
    a, b = scores(7, 31, shift=0.02)
    together = significance_tests.get(name)(a, b, rng=rng(5))
    for row in range(7):
        alone = significance_tests.get(name)(a[row], b[row], rng=rng(5))
        assert alone.p.shape == ()
        assert (float(alone.p), bool(alone.exact)) == (together.p[row], together.exact[row])
        assert float(alone.statistic) == pytest.approx(together.statistic[row])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_generator_gives_the_same_p(name):
    a, b = scores(3, 30)
    first, second = (significance_tests.get(name)(a, b, rng=rng(11)).p for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("topics", [15, 40])
def test_without_a_true_difference_p_is_small_as_often_as_it_says(name, topics):
    drawn = rng(topics)
    a, b = drawn.normal(0.5, 0.2, (1500, topics)), drawn.normal(0.5, 0.2, (1500, topics))
    p = significance_tests.get(name)(a, b, rng=drawn).p
    for level in (0.05, 0.2, 0.5):
        share = float((p <= level).mean())
        slack = 0.02 if name == "bootstrap" else 0.0
        assert share <= level + 3.5 * np.sqrt(level * (1 - level) / 1500) + slack
        if name != "sign":
            assert share >= level - 3.5 * np.sqrt(level * (1 - level) / 1500)


def test_nothing_is_warned_about():
    a, b = scores(3, 12)
    a[0] = b[0]
    a[1] = b[1] + 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in NAMES:
            significance_tests.get(name)(a, b, rng=rng())
            significance_tests.get(name)(a[:, :1], b[:, :1], rng=rng())


def test_a_test_with_its_own_number_of_draws_is_a_test():
    a, b = scores(1, 30)
    assert partial(randomisation, draws=9)(a, b, rng=rng()).p[0] * 10 == pytest.approx(
        round(partial(randomisation, draws=9)(a, b, rng=rng()).p[0] * 10)
    )
