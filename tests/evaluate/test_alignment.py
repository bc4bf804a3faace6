"""Qrels and runs brought together: grades at ranks, topic sets, what is refused."""

import pytest
from kept import Kept
from mappings import qrels_from, ranking_from, run_from

from cranfield.base.errors import InputError, UsageError
from cranfield.evaluate import align as value_table
from cranfield.evaluate.align import TopicCounts, align, strangers
from cranfield.evaluate.lists import NOT_POOLED

QRELS = qrels_from({"1": {"a": 2, "b": 0, "c": -1}, "2": {"a": 1}, "3": {"z": 0}})
GONE = int(NOT_POOLED)


def test_each_rank_has_its_grade_and_unpooled_is_a_value_of_its_own():
    aligned = align(QRELS, [ranking_from({"1": ["x", "c", "a"], "2": ["b", "a"]}), ranking_from({"1": ["b"]})])
    assert aligned.lists.grades.tolist() == [GONE, -1, 2, GONE, 1, 0]
    assert aligned.lists.offsets.tolist() == [0, 3, 5, 5, 6, 6, 6]
    assert aligned.lists.topics.tolist() == [0, 1, 2, 0, 1, 2]


def test_the_histogram_counts_grades_from_0_up_retrieved_or_not():
    lists = align(QRELS, [ranking_from({"1": ["x"]})]).lists
    assert lists.levels.tolist() == [0, 1, 2]
    assert lists.level_counts.tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_large_qrels_take_the_other_way_with_the_same_result(monkeypatch):
    runs = [ranking_from({"1": ["x", "c", "a"], "2": ["b", "a"], "9": ["a"]}), ranking_from({"3": ["z", "a"]})]
    small = align(QRELS, runs).lists
    monkeypatch.setattr(value_table, "LARGEST_TABLE", 0)
    large = align(QRELS, runs).lists
    assert large.grades.tolist() == small.grades.tolist()
    assert large.offsets.tolist() == small.offsets.tolist()


def test_runs_that_share_their_ids_are_aligned_each_for_itself():
    from dataclasses import replace

    first = ranking_from({"1": ["a", "b"]}, tag="first")
    second = replace(first, tag="second", documents=first.documents[::-1].copy())
    assert align(QRELS, [first, second]).lists.grades.tolist() == [2, 0, 0, 2]


def test_version_9_orders_by_scores_in_32_bits():
    run = run_from({"1": {"a": 0.1, "b": 0.100000001}})
    assert align(QRELS, [run]).lists.grades.tolist() == [0, 2]
    tied = run_from({"1": {"a": 0.100000001, "b": 0.1}})
    assert align(QRELS, [tied]).lists.grades.tolist() == [2, 0]
    assert align(QRELS, [tied], reference="9").lists.grades.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("topics", "ids", "counts"),
    [
        ("qrels", ("1", "2", "3"), [TopicCounts(3, 1, 1, 1), TopicCounts(3, 2, 0, 1)]),
        ("common", ("1",), [TopicCounts(1, 0, 1, 0), TopicCounts(1, 0, 0, 0)]),
        ("run", ("1", "2", "3"), [TopicCounts(2, 0, 1, 0), TopicCounts(1, 0, 0, 0)]),
        (["3", "1"], ("1", "3"), [TopicCounts(2, 1, 1, 1), TopicCounts(2, 1, 0, 1)]),
    ],
)
def test_the_set_of_topics_is_explicit_and_counted(topics, ids, counts):
    runs = [ranking_from({"1": ["a"], "2": ["a"], "9": ["a"]}), ranking_from({"1": ["a"]})]
    aligned = align(QRELS, runs, topics=topics)
    assert aligned.topic_ids == ids
    assert list(aligned.counts()) == counts


def test_topics_without_qrels_cannot_be_asked_for(kept: Kept):
    with kept.raises(InputError):
        align(QRELS, [ranking_from({"1": ["a"]})], topics=["1", "9"])


def test_no_common_topic_is_told(kept: Kept):
    with kept.raises(InputError):
        align(QRELS, [ranking_from({"1": ["a"]}), ranking_from({"2": ["a"]})], topics="common")


def test_no_run_is_a_wrong_call():
    with pytest.raises(UsageError):
        align(QRELS, [])


def test_a_run_of_another_collection_is_a_stranger(kept: Kept):
    runs = [ranking_from({"7": ["a"]}, tag="r"), ranking_from({"1": ["y"]}, tag="s"), ranking_from({"1": ["a"]})]
    kept(strangers(align(QRELS, runs)))


def test_qrels_without_any_judgment_align_all_the_same():
    aligned = align(qrels_from({"1": {"a": -1}}), [ranking_from({"1": ["a", "b"]})])
    assert aligned.lists.grades.tolist() == [-1, GONE]
    assert aligned.lists.relevant_count(1).tolist() == [0]


def test_condensed_and_cut_lists():
    lists = align(QRELS, [ranking_from({"1": ["x", "c", "a", "b"], "2": ["b"]})]).lists
    assert (lists.condensed.grades.tolist(), lists.condensed.offsets.tolist()) == ([2, 0], [0, 2, 2, 2])
    assert (lists.cut(3).grades.tolist(), lists.cut(3).offsets.tolist()) == ([GONE, -1, 2, GONE], [0, 3, 4, 4])
