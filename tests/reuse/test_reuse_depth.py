"""New relevant documents by depth, and the curve through them."""

import math

import numpy as np
import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.reuse.collection import decay_of, fit_decay, new_by_depth
from cranfield.reuse.provenance import Contributor, provenance_of

QRELS = qrels_from({"1": {"a": 1, "b": 0, "c": 2, "d": -1, "e": 1}, "2": {"a": 0, "f": 1}})
RUNS = [
    ranking_from({"1": ["a", "x", "c", "e"], "2": ["a"]}, tag="A"),
    ranking_from({"1": ["b", "c", "d"], "2": ["y", "a", "f"]}, tag="B"),
    ranking_from({"1": ["e"], "2": ["f"]}, tag="new"),
]
ALIGNED = align(QRELS, RUNS)
PROVENANCE = provenance_of(ALIGNED, QRELS, RUNS, [Contributor("A", "x"), Contributor("B", "y")], depth=3)


def test_each_depth_has_its_new_documents():
    found = new_by_depth(ALIGNED, PROVENANCE)
    assert found.judged.tolist() == [[2, 1, 0], [1, 0, 1]]
    assert found.relevant.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert new_by_depth(ALIGNED, PROVENANCE, rel=2).relevant.tolist() == [[0, 1, 0], [0, 0, 0]]


def test_a_topic_that_yields_at_its_last_depth_is_not_exhausted():
    assert new_by_depth(ALIGNED, PROVENANCE).not_exhausted == ["2"]
    shallower = provenance_of(
        ALIGNED, QRELS, RUNS, [Contributor("A", "x"), Contributor("B", "y")], depth=np.array([2, 0])
    )
    assert new_by_depth(ALIGNED, shallower).not_exhausted == ["1"]


def test_the_fit_finds_the_curve_that_the_counts_lie_on():
    found = fit_decay(300 * np.arange(1, 41) ** -0.6 - 1)
    assert (found.c, found.s, found.error) == pytest.approx((300, -0.6, 0), abs=1e-9)


def test_the_interval_is_one_standard_error_of_the_fit_away():
    new = np.round(400 * np.arange(1, 51) ** -0.63 * np.tile([0.9, 1.1], 25)).astype(int)
    decay = decay_of(new)
    beyond = np.arange(51, 101)
    low, expected, high = (decay.beyond(errors=errors) for errors in (-1.0, 0.0, 1.0))
    assert expected == pytest.approx((decay.c * beyond**decay.s - 1).sum())
    assert low == pytest.approx((decay.c * math.exp(-decay.error) * beyond**decay.s - 1).sum())
    assert high == pytest.approx((decay.c * math.exp(decay.error) * beyond**decay.s - 1).sum())
    assert low < expected < high


def test_the_sum_ends_where_the_curve_falls_to_nothing():
    decay = decay_of(np.round(20 / np.arange(1, 31)).astype(int))
    assert decay.beyond(errors=-1.0) >= 0
    assert not decay.new_at(1000)


@pytest.mark.parametrize("new", [[9, 5, 3, 2, 2, 1, 1, 1, 1], [0] * 20, [3] * 20, list(range(20))])
def test_what_cannot_be_extrapolated_says_why(new, kept: Kept):
    kept(decay_of(np.array(new)))
