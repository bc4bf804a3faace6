"""Qrels and runs given as frames and mappings are checked as files are."""

import numpy as np
import pandas as pd
import pytest
from kept import Kept
from mappings import qrels_from, run_from

from cranfield.base.errors import CranfieldError
from cranfield.evaluate.frames import qrels_given, runs_given

TERRIER = {"qid": [1, 1], "query": "x y", "docid": [7, 8], "docno": ["a", "b"], "rank": [0, 1], "score": [2.0, 1.0]}
OTHERS = {"query_id": ["1", "1"], "doc_id": ["b", "a"], "score": [1.0, 2.0], "run": "other"}
TWICE = pd.DataFrame([["1", "a", 1.0, 2.0]], columns=["topic", "document", "score", "score"])


def refused(call) -> list[str]:
    with pytest.raises(CranfieldError) as error:
        call()
    return [line.strip() for line in str(error.value).splitlines()]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"topic": ["1", "2"], "document": ["a", "b"], "grade": [2, -1]}),
        pd.DataFrame({"qid": [1, 2], "docno": ["a", "b"], "label": [2.0, -1.0]}),
        pd.DataFrame({"query_id": pd.Categorical(["1", "2"]), "doc_id": ["a", "b"], "relevance": [2, -1]}),
        pd.DataFrame({"Query-ID": ["1", 2], "doc_id": ["a", "b"], "rel": np.array([2, -1], dtype="int8")}),
        {"1": {"a": 2}, "2": {"b": -1}},
        {1: {"a": 2.0}, 2: {"b": np.int64(-1)}},
    ],
)
def test_qrels_may_come_in_many_forms(frame):
    assert qrels_given(frame) == qrels_from({"1": {"a": 2}, "2": {"b": -1}})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"topic": ["1", "1"], "document": ["a", "b"], "score": [2, 1]}),
        pd.DataFrame(
            {"qid": [1, 1], "query": "x y", "docid": [7, 8], "docno": ["a", "b"], "rank": [0, 1], "score": [2.0, 1.0]}
        ),
        pd.DataFrame(
            {"query_id": ["1", "1"], "doc_id": ["b", "a"], "score": [1.0, 2.0], "run": "other"}, index=[7, 7]
        ),
        {"1": {"b": 1, "a": 2}},
    ],
)
def test_a_run_may_come_in_many_forms(frame):
    assert runs_given(frame, name="mine") == [run_from({"1": {"a": 2.0, "b": 1.0}}, tag="mine")]


def test_without_scores_ranks_are_the_order():
    frame = pd.DataFrame({"topic": "1", "document": ["a", "b"], "rank": [2, 1]})
    assert [documents for _, documents, _ in runs_given(frame, name="x")[0]] == [["b", "a"]]


def test_everything_wrong_with_qrels_is_told_at_once(kept: Kept):
    frame = pd.DataFrame(
        {
            "topic": ["1", 1.5, "1", "1", "2 3"],
            "document": ["a", "b", None, "a", "e"],
            "grade": [1, "x", 1.9, 0, float("inf")],
        }
    )
    kept(refused(lambda: qrels_given(frame))[1:])


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "abc", None, True, 10**400])
def test_a_score_that_is_no_finite_number_is_told(score, kept: Kept):
    said = refused(lambda: runs_given({"1": {"a": 1.0, "b": score}}, name="x"))
    kept(said[1])


@pytest.mark.parametrize(
    "value",
    [
        pd.DataFrame({"topic": ["1"], "document": ["a"]}),
        [1, 2],
        {"1": ["a"]},
        {},
        pd.DataFrame([["1", "a", 1.0, 2.0]], columns=["topic", "document", "score", "score"]),
    ],
)
def test_what_is_no_run_is_told(value, kept: Kept):
    kept(" ".join(refused(lambda: runs_given(value, name="x"))))


def test_a_document_twice_in_a_topic_is_told_of_every_run(kept: Kept):
    frame = pd.DataFrame({"topic": "1", "document": ["a", "a", "b", "b"], "score": 1.0, "run": ["x", "x", "y", "y"]})
    kept(refused(lambda: runs_given(frame)))


def test_qrels_need_their_columns(kept: Kept):
    kept(refused(lambda: qrels_given(pd.DataFrame({"topic": ["1"], "document": ["a"]})))[0])
    kept(refused(lambda: qrels_given({}))[1])
