"""Significant differences between two runs that are reversed without a group."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from mappings import qrels_from, ranking_from

from cranfield.compare.significance.student import student
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import Scores
from cranfield.reuse.hold_out import AllHoldOut, hold_out_all
from cranfield.reuse.provenance import Contributor, provenance_of

(P2,) = parse_measures(["P@2"])


def a_matrix(rng, runs, topics, kind):
    if kind == "tenths":
        return rng.integers(0, 4, (runs, topics)) / 10
    values = rng.random((runs, topics)) * 0.2 + rng.random((runs, 1)) * 0.2
    return (
        np.repeat(values[:1], runs, axis=0) + rng.permutation(runs)[:, None] % 2 * 0.1 if kind == "copies" else values
    )


@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 2**31), st.sampled_from(["tenths", "doubles", "copies"]))
def test_reversals_are_those_of_the_paired_t_test_on_every_pair(runs, topics, seed, kind):
    rng = np.random.default_rng(seed)
    whole, *without = (a_matrix(rng, runs, topics, kind) for _ in range(4))
    names = tuple(map(str, range(max(runs, topics))))
    full = Scores((P2,), names[:runs], names[:topics], whole[None], np.ones((runs, topics), dtype=bool))
    expected = 0
    for first in range(runs):
        for second in range(first):
            signs = []
            for values in (whole, *without):
                apart = values[first].mean() - values[second].mean()
                p = student(values[first], values[second], rng=rng).p.item()
                signs.append(np.sign(apart) * (p <= 0.05) if abs(apart) > 1e-12 else 0)
            expected += sum(signs[0] * one < 0 for one in signs[1:])
    assert AllHoldOut(None, (P2,), full, iter([np.array(without)[:, None]])).reversals(P2) == expected


def held_out(topics):
    """Two good runs of one group and one of another, over some topics; what the first group brings is its own."""
    ids = [str(topic) for topic in range(topics)]
    runs = [
        ranking_from({topic: ["a", "b", "z"] for topic in ids}, tag="A"),
        ranking_from({topic: ["z", "c"] for topic in ids}, tag="B"),
        ranking_from({topic: ["y", "z", "c"] for topic in ids}, tag="C"),
    ]
    qrels = qrels_from({topic: {"a": 1, "b": 1, "c": 1, "z": int(topic) % 2, "y": 0} for topic in ids})
    contributors = [Contributor("A", "one"), Contributor("B", "two"), Contributor("C", "two")]
    aligned = align(qrels, runs)
    return hold_out_all(aligned, provenance_of(aligned, qrels, runs, contributors, depth=3), [P2])


def test_a_run_that_falls_behind_both_others_reverses_two_differences():
    # A is better than both; without its own a and b it is worse than B, and so than C half of the time
    assert held_out(20).reversals(P2) == 2


def test_without_common_topics_no_pair_is_reversed():
    runs = [ranking_from({"1": ["a"]}, tag="A"), ranking_from({"2": ["a"]}, tag="B")]
    qrels = qrels_from({"1": {"a": 1}, "2": {"a": 1}})
    aligned = align(qrels, runs, topics="run")
    given_by = [Contributor("A", "x"), Contributor("B", "y")]
    assert hold_out_all(aligned, provenance_of(aligned, qrels, runs, given_by, depth=3), [P2]).reversals(P2) == 0
