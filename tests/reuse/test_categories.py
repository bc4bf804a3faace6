"""Decisions about pairs under two qrels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import InputError
from cranfield.compare.comparison import pairs
from cranfield.compare.significance.student import student
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.reuse.hold_out import (
    CATEGORIES,
    Decisions,
    categories,
    critical_t,
    decisions,
    hold_out_all,
)
from cranfield.reuse.provenance import Contributor, provenance_of

matrices = st.tuples(st.integers(2, 6), st.integers(1, 12), st.integers(0, 2**31)).flatmap(
    lambda drawn: st.sampled_from(["tenths", "doubles", "copies"]).map(lambda kind: a_matrix(*drawn, kind))
)


def a_matrix(runs, topics, seed, kind):
    rng = np.random.default_rng(seed)
    if kind == "tenths":
        return rng.integers(0, 4, (runs, topics)) / 10
    values = rng.random((runs, topics)) * 0.2 + rng.random((runs, 1)) * 0.2
    return np.repeat(values[:1], runs, axis=0) + np.arange(runs)[:, None] % 2 * 0.1 if kind == "copies" else values


@given(matrices)
def test_all_pairs_are_decided_as_the_paired_t_test_does(values):
    found = decisions(values, critical_t(values.shape[1]))
    first, second = pairs(len(values))
    tested = student(values[first], values[second], rng=np.random.default_rng(0))
    assert found.significant.tolist() == (tested.p <= 0.05).tolist()
    difference = (values[first] - values[second]).mean(axis=1)
    assert found.sign.tolist() == np.sign(np.where(np.abs(difference) < 1e-12, 0, difference)).tolist()


def test_each_category_has_its_letters():
    full = Decisions(np.array([1, 1, 1, 1, 1, -1, 0]), np.array([1, 1, 1, 0, 0, 0, 0], dtype=bool))
    reduced = Decisions(np.array([1, -1, 1, -1, 1, 1, 1]), np.array([1, 1, 0, 1, 0, 0, 0], dtype=bool))
    found = [CATEGORIES[place] for place in categories(full, reduced).tolist()]
    assert found == ["aa", "ad", "ma", "md", "pa", "pd", "pa"]


def a_collection(topics):
    """Two good runs of one group and one of another, over some topics; what the first group brings is its own."""
    ids = [str(topic) for topic in range(topics)]
    runs = [
        ranking_from({topic: ["a", "b", "z"] for topic in ids}, tag="A"),
        ranking_from({topic: ["z", "c"] for topic in ids}, tag="B"),
        ranking_from({topic: ["y", "z", "c"] for topic in ids}, tag="C"),
    ]
    qrels = qrels_from({topic: {"a": 1, "b": 1, "c": 1, "z": int(topic) % 2, "y": 0} for topic in ids})
    contributors = [Contributor("A", "one"), Contributor("B", "two"), Contributor("C", "two")]
    return qrels, runs, contributors


def test_decisions_are_compared_for_each_left_out_group():
    qrels, runs, contributors = a_collection(20)
    aligned = align(qrels, runs)
    (measure,) = parse_measures(["P@2"])
    held_out = hold_out_all(aligned, provenance_of(aligned, qrels, runs, contributors, depth=3), [measure])
    (all_of_one, own_of_one), (_, own_of_two) = held_out.categories(measure)
    # A is better than both; without its own a and b it is worse than B, and so than C half of the time
    assert all_of_one.sum() == 3
    assert own_of_one.tolist() == [0, 2, 0, 0, 0, 0]
    assert own_of_two.tolist() == [2, 0, 0, 0, 0, 0]


def test_without_common_topics_no_pair_can_be_tested(kept: Kept):
    runs = [ranking_from({"1": ["a"]}, tag="A"), ranking_from({"2": ["a"]}, tag="B")]
    qrels = qrels_from({"1": {"a": 1}, "2": {"a": 1}})
    aligned = align(qrels, runs, topics="run")
    (measure,) = parse_measures(["AP"])
    given_by = [Contributor("A", "x"), Contributor("B", "y")]
    held_out = hold_out_all(aligned, provenance_of(aligned, qrels, runs, given_by, depth=3), [measure])
    with kept.raises(InputError):
        held_out.categories(measure)
