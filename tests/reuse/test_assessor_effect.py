"""What exchanging assessors does to scores and rankings."""

import numpy as np
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import score
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.correlation import assessor_effect, tau_b

RUNS = [
    ranking_from({"1": ["a", "b", "c"], "2": ["a", "b"]}, tag="A"),
    ranking_from({"1": ["c", "b", "x"], "2": ["b", "a"]}, tag="B"),
    ranking_from({"1": ["x", "a"], "2": ["c", "a"]}, tag="C"),
]
QRELS = qrels_from({"1": {"a": 1, "b": 1, "c": 0}, "2": {"a": 2, "b": 1, "c": 0}})
FIRST = np.array([1.0, 1, 0, 2, 1, 0])
SECOND = np.array([0, np.nan, 1, 0, 3, -1])
MEASURES = parse_measures(["AP", "nDCG@2", "ERR"])


def effect(assessors, *, draws=400, measures=MEASURES, runs=RUNS):
    aligned = align(QRELS, runs)
    return assessor_effect(aligned, QRELS, runs, assessors, measures, draws=draws, rng=np.random.default_rng(7))


def scored(rows):
    """Score with qrels made of the choices; ERR's scale is that of all grades together."""
    full = qrels_of([*rows, ("9", "z", 3)])
    return score(align(full, RUNS, topics=["1", "2"]), MEASURES).summary


def test_the_interval_and_the_taus_are_those_of_all_four_possible_qrels():
    found = effect([FIRST, SECOND])
    rows = list(QRELS)
    merged = np.where(np.nan_to_num(SECOND, nan=-1) >= 0, np.nan_to_num(SECOND), FIRST).astype(int)
    possible = []
    for one in (FIRST, merged):
        for two in (FIRST, merged):
            grades = [one[place] if topic == "1" else two[place] for place, (topic, _, _) in enumerate(rows)]
            possible.append(scored([(*row[:2], int(grade)) for row, grade in zip(rows, grades, strict=True)]))
    for place in range(2):  # with ERR the official scores are on another scale
        values = np.array([one[place] for one in possible])
        np.testing.assert_allclose(found.low[place], values.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.high[place], values.max(axis=0), atol=1e-12)
        taus = {round(tau_b(found.official[place], one), 9) for one in values}
        assert {round(tau, 9) for tau in found.taus[place].tolist()} == taus
    assert found.topics_with_choice == 2


def test_assessors_who_agree_change_nothing():
    found = effect([FIRST, FIRST], draws=5)
    np.testing.assert_allclose(found.low, found.official)
    np.testing.assert_allclose(found.high, found.official)
    assert (found.taus == 1).all()
    assert found.tau(found.measures[0]) == [1.0] * 4


def test_the_same_seed_draws_the_same():
    first, second = effect([FIRST, SECOND], draws=20), effect([FIRST, SECOND], draws=20)
    np.testing.assert_array_equal(first.taus, second.taus)


def test_a_topic_that_an_assessor_did_not_judge_is_never_that_one_s():
    nothing_on_2 = np.where(np.arange(6) < 3, [0, 1, 1, 0, 0, 0], np.nan)
    found = effect([FIRST, nothing_on_2])
    assert found.topics_with_choice == 1
    only = effect([np.where(np.arange(6) < 3, FIRST, np.nan), nothing_on_2])
    np.testing.assert_allclose(found.low, only.low)


def test_one_tau_is_summarized_with_its_interval():
    mean, low, high, lowest = effect([FIRST, SECOND]).tau(MEASURES[0])
    assert lowest <= low <= mean <= high <= 1


def test_other_ways_to_put_topics_together_work_too():
    measures = parse_measures(["AP(agg='median')"])
    found = effect([FIRST, FIRST], draws=3, measures=measures)
    np.testing.assert_allclose(found.high, found.official)
