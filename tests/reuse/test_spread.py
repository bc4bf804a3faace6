"""The conformal index, and what stands for it where there are few groups."""

import numpy as np
import pytest

from cranfield.reuse.unjudged_model import Upper, conformal_upper, spread_of


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, Upper(1.0, 1, is_maximum=True)),
        (18, Upper(18.0, 18, is_maximum=True)),
        (19, Upper(19.0, 19, is_maximum=False)),
        (38, Upper(38.0, 38, is_maximum=False)),
        (39, Upper(38.0, 39, is_maximum=False)),
        (99, Upper(95.0, 99, is_maximum=False)),
    ],
)
def test_the_index_is_95_percent_of_n_plus_one_rounded_up(n, expected):
    assert conformal_upper(np.arange(n, 0, -1)) == expected


def test_runs_are_averaged_but_groups_are_what_the_upper_end_counts():
    found = spread_of(np.array([0.1, -0.2, 0.3, np.nan]), np.array([0, 0, 1, 1]), ["A", "B", "C", "D"])
    assert (found.runs, found.worst, found.largest) == (3, "C", 0.3)
    assert found.mean == pytest.approx(0.2 / 3)
    assert found.median == 0.1
    assert found.mean_absolute == pytest.approx(0.2)
    assert found.upper == Upper(0.3, 2, is_maximum=True)
