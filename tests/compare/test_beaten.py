"""The baselines that a run beats."""

import numpy as np
import pytest

from cranfield.compare.comparison import beaten, compare_all, paired_scores


@pytest.fixture
def scores():
    drawn = np.random.default_rng(1)
    values = drawn.random(30) + drawn.normal(0, 0.02, (4, 30)) + np.array([0.0, 0.3, 0.3, 0.6])[:, None]
    return paired_scores(["low", "middle", "twin", "high"], values)


def test_a_table_can_say_which_baselines_a_run_beats(scores):
    results = compare_all(scores, baselines=[0, 2], rng=np.random.default_rng(2))
    assert beaten(results) == {"middle": ("low",), "low": (), "twin": ("low",), "high": ("low", "twin")}


def test_a_baseline_that_wins_beats_the_run(scores):
    results = compare_all(scores, baselines=[3], rng=np.random.default_rng(2))
    assert beaten(results) == {"low": (), "middle": (), "twin": (), "high": ("low", "middle", "twin")}
