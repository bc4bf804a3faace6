"""Systems compared pair by pair."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from kept import Kept
from scipy import stats

from cranfield.base.errors import UnknownName
from cranfield.compare.comparison import PairedScores, PairResult, compare_all, paired_scores, tukey


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_scores(runs: int = 4, topics: int = 20) -> PairedScores:
    drawn = rng(1)
    values = drawn.random(topics) + drawn.normal(0, 0.1, (runs, topics)) + np.linspace(0.2, 0, runs)[:, None]
    return paired_scores([f"run{number}" for number in range(runs)], values)


def test_one_pair_has_everything():
    a, b = np.array([0.5, 0.4, 0.9, 0.2]), np.array([0.3, 0.4, 0.5, 0.4])
    (found,) = compare_all(paired_scores(["new", "old"], [a, b]), rng=rng())
    t = stats.ttest_rel(a, b)
    expected = PairResult(
        a="new",
        b="old",
        topics=4,
        mean_a=0.5,
        mean_b=0.4,
        difference=0.1,
        low=found.low,
        high=found.high,
        relative=0.25,
        effect=0.1 / np.sqrt(0.2 / 3),
        hedges=0.1 / np.sqrt(0.2 / 3) * 0.7236012546,
        wins=2,
        ties=1,
        losses=1,
        statistic=t.statistic,
        p=t.pvalue,
        adjusted_p=t.pvalue,
        exact=False,
        degenerate=False,
    )
    assert asdict(found) == pytest.approx(asdict(expected))
    assert -0.2 <= found.low < 0.1 < found.high <= 0.4


def test_results_are_plain_numbers():
    (found,) = compare_all(some_scores(2), rng=rng())
    kinds = {type(value) for value in asdict(found).values()}
    assert kinds == {str, int, float, bool}


def test_the_family_of_a_correction_is_the_pairs_that_were_asked_for():
    scores = some_scores(4)
    every = compare_all(scores, correction="bonferroni", rng=rng())
    against = compare_all(scores, baselines=[3], correction="bonferroni", rng=rng())
    assert [(pair.a, pair.b) for pair in against] == [("run0", "run3"), ("run1", "run3"), ("run2", "run3")]
    assert [pair.adjusted_p for pair in every] == [min(1, 6 * pair.p) for pair in every]
    assert [pair.adjusted_p for pair in against] == [min(1, 3 * pair.p) for pair in against]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap"])
def test_a_pair_is_the_same_alone_and_among_others_and_in_small_blocks(test, monkeypatch):
    scores = some_scores(5, 30)
    every = {(pair.a, pair.b): pair for pair in compare_all(scores, test=test, correction="none", rng=rng(3))}
    alone = paired_scores(["run1", "run4"], scores.values[[1, 4]])
    (found,) = compare_all(alone, test=test, correction="none", rng=rng(3))
    assert asdict(found) == pytest.approx(asdict(every["run1", "run4"]))
    monkeypatch.setattr("cranfield.compare.comparison.DRAWN_AT_ONCE", 60)
    cut = compare_all(scores, test=test, correction="none", rng=rng(3))
    assert [asdict(pair) for pair in cut] == [pytest.approx(asdict(every[pair.a, pair.b])) for pair in cut]


def test_the_baseline_stands_second_so_that_a_gain_is_positive():
    scores = some_scores(3)
    found = compare_all(scores, baselines=[2], rng=rng())
    assert all(pair.b == "run2" and pair.difference == pytest.approx(pair.mean_a - pair.mean_b) for pair in found)
    assert found[0].difference > 0


def test_intervals_are_the_same_whichever_test_is_chosen():
    scores = some_scores(4)
    by_tukey = compare_all(scores, test="t", correction="tukey", rng=rng(3))
    for test in ("t", "randomisation", "bootstrap", "wilcoxon", "sign"):
        found = compare_all(scores, test=test, rng=rng(3))
        assert [(pair.low, pair.high) for pair in found] == [(pair.low, pair.high) for pair in by_tukey]


def test_tukey_gives_the_corrected_p_of_all_systems_also_against_a_baseline():
    scores = some_scores(5)
    judged = tukey(scores.values, rng=rng(9))
    found = compare_all(scores, baselines=[4], correction="tukey", rng=rng(9))
    assert [(pair.a, pair.b, pair.adjusted_p) for pair in found] == [
        (f"run{row}", "run4", judged[row, 4]) for row in range(4)
    ]
    every = compare_all(scores, correction="tukey", rng=rng(9))
    assert [pair.adjusted_p for pair in every] == judged[np.triu_indices(5, 1)].tolist()


def test_the_same_generator_gives_the_same_results():
    for correction in ("holm", "tukey"):
        how = {"test": "randomisation", "correction": correction}
        first, second = (compare_all(some_scores(3, 30), rng=rng(4), **how) for _ in range(2))
        assert first == second


def test_a_tolerance_makes_ties_and_nothing_else():
    scores = some_scores(2)
    (plain,) = compare_all(scores, rng=rng())
    (tolerant,) = compare_all(scores, tolerance=10.0, rng=rng())
    assert tolerant == replace(plain, wins=0, ties=20, losses=0)


def test_a_stranger_s_test_can_be_given_as_a_function():
    from cranfield.compare.significance.sign import sign

    scores = some_scores(3)
    assert compare_all(scores, test=sign, rng=rng()) == compare_all(scores, test="sign", rng=rng())


def test_an_unknown_test_or_correction_is_named(kept: Kept):
    with kept.raises(UnknownName):
        compare_all(some_scores(2), test="tt", rng=rng())
    with kept.raises(UnknownName):
        compare_all(some_scores(2), correction="holms", rng=rng())


def test_systems_that_are_the_same_are_no_trouble():
    (found,) = compare_all(paired_scores(["a", "b"], np.tile([0.2, 0.5, 0.6], (2, 1))), rng=rng())
    assert (found.difference, found.low, found.high, found.p, found.adjusted_p, found.ties) == (0, 0, 0, 1, 1, 3)
