"""Laws that hold for whatever scores: bounds, mirrors, constants that cancel."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cranfield.compare.comparison import corrections
from cranfield.compare.differences import difference_interval, effects_of, paired_differences
from cranfield.compare.significance import tests as significance_tests

NAMES = ["bootstrap", "randomisation", "sign", "t", "wilcoxon"]
HUNDREDTHS = st.integers(0, 100).map(lambda value: value / 100)
WILD = st.floats(-1e100, 1e100, allow_subnormal=True)


@st.composite
def pairs(draw, elements=HUNDREDTHS, most=30):
    topics = draw(st.integers(1, most))
    row = arrays(np.float64, topics, elements=elements)
    return draw(row), draw(row)


def outcome(name, a, b):
    result = significance_tests.get(name)(a, b, rng=np.random.default_rng(0))
    return float(result.statistic), float(result.p)


@pytest.mark.parametrize("name", NAMES)
@given(pair=pairs(elements=WILD))
def test_p_lies_above_zero_and_not_above_one(name, pair):
    statistic, p = outcome(name, *pair)
    assert 0 < p <= 1
    assert not np.isnan(statistic)


@pytest.mark.parametrize("name", NAMES)
@given(pair=pairs())
def test_swapping_the_systems_negates_the_statistic_and_keeps_p(name, pair):
    a, b = pair
    statistic, p = outcome(name, a, b)
    assert outcome(name, b, a) == (pytest.approx(-statistic), pytest.approx(p))


@pytest.mark.parametrize("name", NAMES)
@given(pair=pairs(), constant=st.integers(-300, 300))
def test_a_constant_added_to_both_changes_nothing(name, pair, constant):
    a, b = pair
    statistic, p = outcome(name, a, b)
    moved = outcome(name, a + constant / 100, b + constant / 100)
    assert moved == (pytest.approx(statistic, rel=1e-6, abs=1e-9), pytest.approx(p, rel=1e-6))


@pytest.mark.parametrize("name", ["randomisation", "sign", "t", "wilcoxon"])
@given(pair=pairs(most=20), order=st.randoms(use_true_random=False))
def test_the_order_of_the_topics_does_not_matter(name, pair, order):
    a, b = pair
    places = list(range(len(a)))
    order.shuffle(places)
    statistic, p = outcome(name, a, b)
    assert outcome(name, a[places], b[places]) == (pytest.approx(statistic, rel=1e-6, abs=1e-12), pytest.approx(p))


@given(pair=pairs())
def test_effects_mirror(pair):
    a, b = pair
    forth, back = effects_of(a, b), effects_of(b, a)
    for name in ("difference", "effect", "hedges"):
        np.testing.assert_allclose(getattr(forth, name), -getattr(back, name))
    assert (int(forth.wins), int(forth.ties), int(forth.losses)) == (int(back.losses), int(back.ties), int(back.wins))
    assert int(forth.wins) + int(forth.ties) + int(forth.losses) == len(a)


@given(pair=pairs())
def test_intervals_mirror_and_lie_within_the_differences(pair):
    a, b = pair
    assume(len(a) > 1)
    forth = difference_interval(a, b, draws=500, rng=np.random.default_rng(1))
    back = difference_interval(b, a, draws=500, rng=np.random.default_rng(1))
    np.testing.assert_allclose([forth.low, forth.high], [-back.high, -back.low], atol=1e-9)
    differences = paired_differences(a, b).values
    assert differences.min() - 1e-9 <= forth.low <= forth.high <= differences.max() + 1e-9


@given(pair=pairs(elements=WILD))
def test_any_scores_have_an_interval(pair):
    interval = difference_interval(pair[0], np.zeros_like(pair[0]), draws=50, rng=np.random.default_rng(1))
    assert interval.low <= interval.high


@given(pair=pairs(elements=WILD))
def test_effects_of_any_scores_warn_about_nothing(pair):
    a, b = pair
    assert {np.shape(column) for column in effects_of(a, b)} == {()}


P_VALUES = arrays(np.float64, st.integers(0, 40), elements=st.floats(0, 1))


@pytest.mark.parametrize("name", ["benjamini-hochberg", "bonferroni", "holm", "none"])
@given(p=P_VALUES, order=st.randoms(use_true_random=False))
def test_corrected_p_values_are_not_smaller_keep_the_order_and_stay_with_their_test(name, p, order):
    correct = corrections.get(name)
    adjusted = correct(p)
    assert ((adjusted >= p) & (adjusted <= 1)).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    places = list(range(len(p)))
    order.shuffle(places)
    np.testing.assert_array_equal(correct(p[places]), adjusted[places])


@given(p=P_VALUES)
def test_corrections_are_ordered_by_what_they_promise(p):
    values = [corrections.get(name)(p) for name in ("none", "benjamini-hochberg", "holm", "bonferroni")]
    for weaker, stronger in pairwise(values):
        assert (weaker <= stronger + 1e-15).all()
