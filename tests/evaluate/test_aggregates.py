"""Many topics become one value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cranfield.evaluate.measure import Measure, aggregated, summaries


@pytest.mark.parametrize("how", ["mean", "geometric", "median", "min", "max", "sum"])
@given(
    values=arrays(float, (3, 7), elements=st.floats(0, 1, allow_subnormal=False)),
    scored=st.one_of(st.just(np.ones((3, 7), dtype=bool)), arrays(bool, (3, 7))),
)
def test_rows_at_once_give_the_last_digit_of_one_row_after_the_other(how, values, scored):
    each = [aggregated(row[kept], how) for row, kept in zip(values, scored, strict=True)]
    np.testing.assert_array_equal(summaries([Measure("NumRet", (("agg", how),))], [values], scored), [each])


def test_no_topic_has_no_mean():
    assert np.isnan(summaries([Measure("AP")], [np.empty((2, 0))], np.empty((2, 0), dtype=bool))).all()
