"""Scores of several runs: per topic, put together, as rows."""

import math

import numpy as np
import pytest
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import aggregated, parse_measures
from cranfield.evaluate.scores import score
from cranfield.workflows.evaluate.evaluate import Evaluation

QRELS = qrels_from({"1": {"a": 2, "b": 0}, "2": {"a": 1, "c": 1}, "3": {"z": 0}})
RUNS = [ranking_from({"1": ["a", "b"], "2": ["b", "a"]}, tag="one"), ranking_from({"1": ["b", "a"]}, tag="two")]


def scores(*measures: str, **options):
    return score(align(QRELS, RUNS, **options), parse_measures(list(measures)))


def test_a_missing_topic_and_one_with_nothing_relevant_score_0_and_count():
    assert list(scores("AP").rows(by_topic=True)) == [
        ("one", "1", "AP", 1.0),
        ("one", "2", "AP", 0.25),
        ("one", "3", "AP", 0.0),
        ("one", "all", "AP", 1.25 / 3),
        ("two", "1", "AP", 0.5),
        ("two", "2", "AP", 0.0),
        ("two", "3", "AP", 0.0),
        ("two", "all", "AP", 0.5 / 3),
    ]


def test_with_the_runs_own_topics_others_do_not_count():
    assert [row[3] for row in scores("AP", topics="run").rows()] == [0.625, 0.5]


def test_counts_are_added_up():
    assert [row[3] for row in scores("NumRet", "NumRel", "NumRelRet", "NumQ").rows()] == [4, 3, 2, 3, 2, 3, 1, 3]


def test_scores_carry_what_they_were_made_with():
    made = scores("AP")
    assert (made.qrels_hash, made.order) == (QRELS.content_hash, "trec_eval 10")
    attributes = Evaluation(scores=made).frame().attrs
    assert attributes.pop("topics") == {"one": 3, "two": 3}
    assert attributes.pop("notes")
    assert attributes == {"qrels": QRELS.content_hash, "reference": "trec_eval 10"}


def test_a_frame_has_the_rows():
    frame = Evaluation(scores=scores("AP", "RR"), by_topic=True).frame()
    assert list(frame.columns) == ["run", "topic", "measure", "value"]
    assert len(frame) == 2 * 2 * 4


def test_one_measures_scores_are_runs_by_topics():
    assert scores("AP", "RR").values[1].tolist() == [[1, 0.5, 0], [0.5, 0, 0]]


@pytest.mark.parametrize(
    ("how", "expected"),
    [("mean", 0.35), ("median", 0.25), ("min", 0.1), ("max", 0.8), ("sum", 1.4), ("geometric", 0.2659)],
)
def test_topics_can_be_put_together_in_other_ways(how, expected: float):
    assert round(aggregated(np.array([0.1, 0.8, 0.25, 0.25]), how), 4) == expected


def test_a_zero_counts_as_one_hundred_thousandth_in_a_geometric_mean():
    assert aggregated(np.array([0.0, 1.0]), "geometric") == pytest.approx(math.sqrt(1e-5))


def test_no_topic_gives_no_number():
    assert math.isnan(aggregated(np.array([]), "mean"))
