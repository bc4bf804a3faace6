"""Estimates: beside the score, with their error, never in its place."""

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.evaluate.expression import parse_measure
from cranfield.reuse.expected_loss import Loss, completed, condensed_sibling, webber_park_shift
from cranfield.reuse.hold_out import hold_out_own


def groups(*numbers):
    return np.array(numbers, dtype=np.int32)


def test_the_expected_loss_is_added_with_its_interval():
    measure = parse_measure("P@10")
    loss = Loss(measure, np.zeros((4, 1)), np.array([0.02, -0.01, 0.0, 0.02]), np.array([0.05, -0.03, 0.0, 0.1]))
    found = completed(np.array([0.5, 0.4, 0.3, 0.95]), loss)
    np.testing.assert_allclose(found.value, [0.52, 0.39, 0.3, 0.97])
    np.testing.assert_allclose(found.low, [0.5, 0.37, 0.3, 0.95])
    np.testing.assert_allclose(found.high, [0.55, 0.4, 0.3, 1.0])


def test_an_estimate_of_a_measure_in_which_grades_cost_something_may_lie_below_0():
    measure = parse_measure("nDCG(gains={0: -1, 1: 1})@2")
    loss = Loss(measure, np.zeros((1, 1)), np.array([-0.1]), np.array([0.05]))
    found = completed(np.array([-0.2]), loss)
    np.testing.assert_allclose([found.value, found.low, found.high], [[-0.3], [-0.3], [-0.15]])


def test_the_shift_is_the_mean_over_groups_and_its_error_is_measured_on_groups_left_out(kept: Kept):
    shift = webber_park_shift(np.array([0.04, 0.02, 0.05]), groups(0, 0, 1))
    assert shift.value == pytest.approx(0.04)
    assert shift.error == pytest.approx((np.mean([abs(0.04 - 0.05), abs(0.02 - 0.05)]) + abs(0.05 - 0.03)) / 2)
    assert shift.plain_error == pytest.approx(0.04)
    assert shift.helps
    kept(str(shift))


def test_a_shift_that_is_worse_than_nothing_says_so(kept: Kept):
    shift = webber_park_shift(np.array([0.1, 0.0, 0.0, 0.0]), groups(0, 1, 2, 3))
    assert not shift.helps
    kept(str(shift))


def test_one_group_gives_a_shift_that_nobody_could_test(kept: Kept):
    shift = webber_park_shift(np.array([0.1, 0.2]), groups(0, 0))
    assert (shift.value, np.isnan(shift.error), shift.helps) == (pytest.approx(0.15), True, False)
    kept(str(shift))


def test_drops_without_groups_are_refused():
    with pytest.raises(UsageError):
        webber_park_shift(np.array([]), groups())
    with pytest.raises(UsageError):
        webber_park_shift(np.array([0.1]), groups(-1))


def test_the_shift_is_made_from_own_hold_outs(made):
    collection = made()
    provenance = collection.prefixes.by("group")
    measure = parse_measure("nDCG@10")
    own = hold_out_own(collection.alignment, provenance, [measure])
    shift = webber_park_shift(own.drop[0], own.group_of_run)
    assert shift.value == pytest.approx(float(own.drop[0].mean()))
    assert shift.groups == 8


def test_the_condensed_sibling_leaves_the_unjudged_out(made):
    collection = made(pooled=4)
    measure = parse_measure("P@5")
    sibling, values = condensed_sibling(collection.alignment, measure)
    assert str(sibling) == "P(judged_only=True)@5"
    plain = measure.values(collection.alignment.lists).reshape(collection.alignment.shape).mean(axis=1)
    wanted = measure.values(collection.alignment.lists.condensed).reshape(collection.alignment.shape).mean(axis=1)
    np.testing.assert_allclose(values, wanted)
    assert (values[collection.outsiders] > plain[collection.outsiders]).all()
