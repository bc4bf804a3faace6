"""Which systems meet."""

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import InputError, UsageError
from cranfield.compare.comparison import paired_scores, pairs


def listed(entries, baselines=None):
    rows, others = pairs(entries, baselines=baselines)
    return list(zip(rows.tolist(), others.tolist(), strict=True))


def test_all_pairs_meet_once():
    assert listed(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_every_system_meets_the_baseline():
    assert listed(4, [1]) == [(0, 1), (2, 1), (3, 1)]


def test_two_baselines_meet_each_other_only_once():
    assert listed(4, [2, 0]) == [(0, 2), (1, 2), (3, 2), (1, 0), (3, 0)]


def test_where_all_are_baselines_all_pairs_meet():
    assert {frozenset(pair) for pair in listed(5, [3, 1, 4, 0, 2])} == {frozenset(pair) for pair in listed(5)}
    assert len(listed(5, [3, 1, 4, 0, 2])) == 10


@pytest.mark.parametrize(("entries", "baselines"), [(1, None), (3, [1, 1])])
def test_what_cannot_be_paired_is_an_error(entries, baselines, kept: Kept):
    with kept.raises(UsageError):
        pairs(entries, baselines=baselines)


def test_runs_keep_their_rows():
    scores = paired_scores(["a", "b"], [[0.1, 0.3], [0.5, 0.7]])
    assert scores.labels == ("a", "b")
    assert scores.values.tolist() == [[0.1, 0.3], [0.5, 0.7]]


def test_scores_must_be_numbers(kept: Kept):
    with kept.raises(InputError):
        paired_scores(["a"], [[0.1, np.nan]])
