"""What the order of tied documents does to scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.evaluate.align import align
from cranfield.evaluate.expression import parse_measures
from cranfield.evaluate.mappings import qrels_from, ranking_from, run_from
from cranfield.evaluate.scores import score
from cranfield.evaluate.ties import Moved, moved_by_ties, score_with_ties

QRELS = qrels_from({"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}})
TIED = run_from({"1": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 0.5}, "2": {"z": 3.0, "a": 2.0}}, tag="tied")


def value(ties: str, measure: str = "nDCG@3", *, run=TIED) -> float:
    aligned = align(QRELS, [run], topics=["1"])
    rng = np.random.default_rng(1)
    return float(score_with_ties(aligned, parse_measures([measure]), ties=ties, rng=rng).summary[0, 0])


def test_the_canonical_order_is_by_document_id_from_high_to_low():
    assert value("trec", "P@1") == 1.0
    assert value("trec") == pytest.approx((1 + 2 / 2) / (2 + 1 / np.log2(3)))


def test_the_best_order_has_the_highest_grades_first_and_the_worst_the_lowest():
    assert value("best") == 1.0
    assert value("worst") == pytest.approx((1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)))
    assert (value("best", "RR"), value("worst", "RR")) == (1.0, 0.5)


def test_the_expected_score_is_the_mean_over_orders():
    """Two of three tied documents are relevant: the first is at rank 1 in two of three orders, else at 2."""
    assert value("expected", "RR") == pytest.approx(2 / 3 + 1 / 3 / 2, abs=0.05)
    assert value("expected", "P@3") == pytest.approx(2 / 3)


def test_it_comes_out_the_same_every_time():
    assert value("expected", "AP") == value("expected", "AP")


def test_a_run_without_ties_has_one_score():
    run = ranking_from({"1": ["b", "a", "c"]})
    assert len({value(order, "AP", run=run) for order in ("trec", "best", "worst", "expected")}) == 1


def test_ties_that_can_move_a_score_are_told():
    aligned = align(QRELS, [TIED, ranking_from({"1": ["a"]}, tag="plain")])
    scores = score(aligned, parse_measures(["RR", "SetR"]))
    assert moved_by_ties(aligned, scores) == [Moved("tied", "RR", 0.75, 0.5, 0.75)]


def test_ties_in_32_bits_are_ties_only_in_version_9():
    run = run_from({"1": {"a": 0.1, "b": 0.100000001}})
    assert not align(QRELS, [run]).tied.any()
    assert align(QRELS, [run], reference="9").tied.tolist() == [False, True]


def test_ties_of_topics_that_do_not_count_are_left_out():
    run = run_from({"0": {"x": 1.0, "y": 1.0}, "1": {"a": 1.0}, "2": {"a": 1.0, "b": 1.0}})
    assert align(QRELS, [run], topics=["2"]).tied.tolist() == [False, True]


@settings(max_examples=min(settings.default.max_examples, 500))
@given(data=st.data())
def test_best_and_worst_are_those_of_runs_that_break_their_ties_by_grade(data):
    """What only the lists with mixed ties are scored for must come out as if all were written down in that order."""
    grades = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2), min_size=1)
    judged = data.draw(st.dictionaries(st.sampled_from(["1", "2", "3"]), grades, min_size=1))
    scored = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1)
    run = st.dictionaries(st.sampled_from(["1", "2", "3"]), scored, min_size=1)
    runs = data.draw(st.lists(run, min_size=1, max_size=3))
    measures = parse_measures(["AP", "RR", "nDCG@2", "P@1", "RBP"])
    qrels = qrels_from(judged)
    for ties, sign in (("best", -1), ("worst", 1)):

        def ordered(topic: str, found: dict[str, int], sign: int = sign) -> list[str]:
            worth = {name: max(judged.get(topic, {}).get(name, 0), 0) for name in found}
            return sorted(found, key=lambda name: (-found[name], sign * worth[name]))

        written = [ranking_from({topic: ordered(topic, found) for topic, found in run.items()}) for run in runs]
        expected = score(align(qrels, written), measures).values
        tied = [run_from({topic: dict(found) for topic, found in run.items()}) for run in runs]
        assert np.allclose(score_with_ties(align(qrels, tied), measures, ties=ties).values, expected, atol=1e-12)
