"""Letters straight from scores are those that a full comparison gives."""

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.compare.comparison import compare_all, letters_of, letters_of_scores, paired_scores

LABELS = [f"run{number}" for number in range(7)]


def scores(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((7, 20)) * 0.5 + np.linspace(0, 0.4, 7)[:, np.newaxis]


@pytest.mark.parametrize("seed", range(5))
def test_by_t_and_holm_they_are_those_of_all_pairs(seed: int):
    results = compare_all(
        paired_scores(LABELS, scores(seed)), test="t", correction="holm", draws=10, rng=np.random.default_rng(1)
    )
    expected = {label: "".join(given) for label, given in letters_of(results, LABELS).items()}
    found = letters_of_scores(LABELS, scores(seed), test="t", rng=np.random.default_rng(1))
    assert found == expected
    assert len(set(found.values())) > 1


@pytest.mark.parametrize("seed", range(3))
def test_by_tukey_they_are_those_of_tukeys_test(seed: int):
    rng = np.random.default_rng(1)
    results = compare_all(paired_scores(LABELS, scores(seed)), correction="tukey", draws=5_000, rng=rng)
    expected = {label: "".join(given) for label, given in letters_of(results, LABELS).items()}
    found = letters_of_scores(LABELS, scores(seed), test="tukey", draws=5_000, rng=np.random.default_rng(1))
    assert found == expected


def test_one_run_has_no_letters(kept: Kept):
    with kept.raises(UsageError):
        letters_of_scores(["one"], [[0.5, 0.6]], test="t", rng=np.random.default_rng(1))
