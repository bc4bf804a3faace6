"""Which systems meet, and how seeds become one entry."""

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


@pytest.mark.parametrize(
    ("entries", "baselines"),
    [
        (1, None),
        (3, [1, 1]),
    ],
)
def test_what_cannot_be_paired_is_an_error(entries, baselines, kept: Kept):
    with kept.raises(UsageError):
        pairs(entries, baselines=baselines)


def test_plain_runs_keep_their_rows_and_have_one_seed_each():
    scores = paired_scores(["a", "b"], [[0.1, 0.3], [0.5, 0.7]])
    assert scores.labels == ("a", "b")
    assert scores.values.tolist() == [[0.1, 0.3], [0.5, 0.7]]
    assert scores.means == pytest.approx([0.2, 0.6])
    assert scores.seeds.tolist() == [1, 1]
    assert scores.seed_deviation.tolist() == [0, 0]


def test_seeds_of_one_system_become_its_mean_and_their_variance_is_kept():
    values = [[0.2, 0.4], [0.1, 0.1], [0.4, 0.4], [0.6, 0.7]]
    scores = paired_scores(["neural", "bm25", "neural", "neural"], values)
    assert scores.labels == ("neural", "bm25")
    np.testing.assert_allclose(scores.values, [[0.4, 0.5], [0.1, 0.1]])
    assert scores.seeds.tolist() == [3, 1]
    np.testing.assert_allclose(scores.seed_deviation, [np.std([0.3, 0.4, 0.65], ddof=1), 0])


def test_scores_must_be_numbers(kept: Kept):
    with kept.raises(InputError):
        paired_scores(["a"], [[0.1, np.nan]])
