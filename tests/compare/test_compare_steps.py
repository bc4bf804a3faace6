"""Comparisons of scores that are there: what is asked for is checked, and what is found is said as it is."""

from math import inf

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import UnknownName, UsageError
from cranfield.compare.by_measure import ONE_TOPIC, MeasureComparison, Options, compare_scores
from cranfield.compare.differences import MOST_WORK, difference_interval, draws_needed, enough_draws, seeded
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import Scores
from cranfield.workflows.compare import MOST_PAIRS, Comparison, claimed_pairs, shown_pairs
from cranfield.workflows.evaluate.evaluate import Evaluation


def scores_of(values: object, measure: str = "AP", names: list[str] | None = None) -> Scores:
    table = np.asarray(values, dtype=float)
    return Scores(
        measures=tuple(parse_measures([measure])),
        run_names=tuple(names or [f"r{number}" for number in range(len(table))]),
        topic_ids=tuple(f"t{number}" for number in range(table.shape[1])),
        values=table[None],
        scored=np.ones(table.shape, dtype=bool),
    )


def spread(runs: int, topics: int, *, seed: int = 1, apart: float = 0.4) -> np.ndarray:
    """Scores of runs from bad to good on topics from hard to easy."""
    rng = np.random.default_rng(seed)
    means = np.linspace(0.1, 0.1 + apart, runs)[:, None] + rng.random(topics) * 0.3
    return np.clip(means + rng.normal(0, 0.08, (runs, topics)), 0, 1)


def compared(values: object, measure: str = "AP", **how: object) -> MeasureComparison:
    (found,) = compare_scores(scores_of(values, measure), Options(**how))
    return found


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (("permutation", ""), ("randomisation", "holm")),
        (("student", "holm-bonferroni"), ("t", "holm")),
        (("paired-t", "fdr"), ("t", "benjamini-hochberg")),
        (("tukey", ""), ("tukey", "tukey")),
        (("tukey", "tukey"), ("tukey", "tukey")),
    ],
)
def test_tests_and_corrections_are_kept_by_their_first_names(said: tuple[str, str], meant: tuple[str, str]):
    how = Options(test=said[0], correction=said[1])
    assert (how.test, how.correction) == meant


def test_a_correction_beside_tukeys_is_refused(kept: Kept):
    with kept.raises(UsageError):
        Options(test="tukey", correction="bonferroni")
    with kept.raises(UsageError):
        Options(correction="tukey")
    with kept.raises(UnknownName):
        Options(test="nothing")


@pytest.mark.parametrize("seed", [-1, "x", 1.5, None, True])
def test_a_seed_is_a_whole_number(seed: object, kept: Kept):
    with kept.raises(UsageError):
        seeded(seed)


def test_by_default_there_are_draws_enough_for_a_pair_to_be_significant():
    assert enough_draws(3) == 10_000
    assert enough_draws(561) == 20 * draws_needed(561)
    assert 561 / (1 + enough_draws(561)) == pytest.approx(0.05 / 20, rel=1e-3)
    assert draws_needed(3_000) < enough_draws(3_000) == MOST_WORK // 3_000
    assert enough_draws(8_256) == 10_000 < draws_needed(8_256)


def test_a_drawing_test_of_many_pairs_finds_something_and_says_how_often_it_drew(kept: Kept):
    found = compared(spread(20, 30, apart=0.8), test="permutation")
    assert found.test_draws == 20 * draws_needed(190)
    assert found.power.significant > 100
    assert found.notes == ()
    kept(found.tested)


@pytest.mark.parametrize("alias", ["randomisation", "permutation", "randomization"])
def test_too_few_draws_are_said_whatever_the_test_was_called(alias: str, kept: Kept):
    found = compared(spread(40, 50), test=alias, draws=1_000)
    kept(found.notes)


def test_what_is_counted_was_not_drawn(kept: Kept):
    assert compared(np.round(spread(3, 12), 1), test="randomisation").test_draws == 0
    assert compared(spread(3, 12)).test_draws == 0
    assert compared(spread(3, 12), test="tukey", draws=500).test_draws == 500
    kept(compared(spread(3, 12)).tested)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap", "tukey"])
def test_of_one_topic_every_test_says_that_nothing_is_possible(test: str):
    found = compared([[0.2], [0.5]], test=test)
    assert found.notes == (ONE_TOPIC,)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap"])
def test_without_any_difference_every_test_is_degenerate(test: str):
    (pair,) = compared([[0.2, 0.4, 0.1], [0.2, 0.4, 0.1]], test=test).results
    assert (pair.degenerate, pair.p) == (True, 1.0)


def test_few_topics_are_said_to_make_intervals_too_narrow(kept: Kept):
    assert compared(spread(3, 20)).notes == ()
    (note,) = compared(spread(3, 5)).notes
    kept(note)


@pytest.mark.parametrize(("topics", "coverage"), [(2, 0.50), (3, 0.72), (5, 0.85), (10, 0.90), (19, 0.93)])
def test_the_coverage_in_the_documentation_is_that_of_normal_values(topics: int, coverage: float):
    values = np.random.default_rng(topics).normal(size=(4_000, topics))
    found = difference_interval(values, np.zeros_like(values), draws=2_000, rng=np.random.default_rng(1))
    assert np.mean((found.low <= 0) & (found.high >= 0)) == pytest.approx(coverage, abs=0.02)


def detectable(found: MeasureComparison) -> str:
    return found.power_note().partition("; ")[2]


def test_a_difference_that_no_two_runs_can_have_is_not_promised(kept: Kept):
    values = [[0.1, 0.9], [0.8, 0.1]]
    kept(detectable(compared(values)))


def test_what_cannot_be_said_about_power_has_its_reason(kept: Kept):
    kept(detectable(compared([[0.1, 0.2]] * 2)))
    kept(detectable(compared([[0.1], [0.2]])))


def test_runs_may_be_named_by_the_files_that_were_typed(kept: Kept):
    how = Options(baselines=("a.run", "dense"))
    found = how.with_names(("a.run", "b.run", "c.run", "d.run"), ("bm25", "seed1", "seed2", "dense"))
    assert found.baselines == ("bm25", "dense")
    with kept.raises(UsageError):
        Options(baselines=("a",)).with_names(("a", "b"), ("b", "a"))


def test_a_file_may_be_typed_in_two_ways(kept: Kept):
    how = Options(baselines=("b.run", "./runs//a.run"))
    found = how.with_names(("./b.run", "runs/a.run", "c.run", "d"), ("bm25", "dense", "seed1", "seed2"))
    assert found.baselines == ("bm25", "dense")
    with kept.raises(UsageError):
        Options(baselines=("b.run",)).with_names(("./b.run", "c.run"), ("bm25", "b.run"))


@pytest.mark.parametrize("measure", ["nDCG", "G", "RnDCG"])
def test_where_a_grade_costs_something_no_difference_is_the_largest(measure: str):
    assert compared([[0.1, -4], [2, 0.3]], f"{measure}(gains={{1: -1, 2: 2}})").largest == inf
    assert compared([[0.1, 0.4], [0.2, 0.3]], f"{measure}(gains={{1: 0, 2: 2}})").largest == 1


def test_few_pairs_are_all_shown_the_clearest_first():
    found = compared(spread(5, 20))
    shown = shown_pairs(found)
    assert len(shown.pairs) == 10
    assert (shown.notes, shown.best) == ((), "")
    keys = [(pair.adjusted_p, pair.p, -abs(pair.effect)) for pair in shown.pairs]
    assert keys == sorted(keys)


def test_of_many_pairs_the_best_against_the_others_is_shown(kept: Kept):
    found = compared(spread(12, 20))
    shown = shown_pairs(found)
    names = [name for name, _ in found.standing]
    assert shown.best == names[0]
    assert [pair.other(shown.best) for pair in shown.pairs] == names[1:]
    assert all(names[0] in (pair.a, pair.b) for pair in shown.pairs)
    kept(shown.notes)
    many = shown_pairs(compared(spread(50, 20)))
    assert len(many.pairs) == 40
    kept(many.notes)


def test_all_pairs_with_baselines_are_shown_from_the_best_run_down_while_they_are_few():
    found = compared(spread(30, 20), baselines=("r3", "r8"))
    shown = shown_pairs(found)
    names = [name for name, _ in found.standing]
    assert [(pair.b, pair.a) for pair in shown.pairs] == [
        *(("r3", name) for name in names if name != "r3"),
        *(("r8", name) for name in names if name not in ("r3", "r8")),
    ]
    assert shown.notes == ()


def test_of_many_pairs_with_baselines_the_clearest_are_shown_and_said_to_be(kept: Kept):
    found = compared(spread(40, 20), baselines=("r3", "r8"))
    shown = shown_pairs(found)
    kept(shown.notes)
    assert max(pair.adjusted_p for pair in shown.pairs) <= min(
        pair.adjusted_p for pair in found.results if pair not in shown.pairs
    )


def test_claims_are_worked_out_for_the_pairs_that_are_shown():
    found = compared(spread(50, 20))
    assert claimed_pairs(found)[:40] == list(shown_pairs(found).pairs)
    assert len({(pair.a, pair.b) for pair in claimed_pairs(found)}) == MOST_PAIRS


def test_rows_tell_the_tolerance_of_their_ties():
    scores = scores_of(spread(2, 5))
    (row,) = Comparison(Evaluation(scores=scores), compare_scores(scores, Options(tolerance=0.02))).table().records()
    assert (row["tolerance"], row["draws"], row["test_draws"]) == (0.02, 10_000, 0)
