"""How far assessors agree: published figures, other libraries, brute force, and what is not defined."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_elsewhere

from cranfield.judge import agreement as by
from cranfield.judge.agreement import (
    COEFFICIENTS,
    Estimate,
    Labels,
    Steps,
    agreement,
    agreement_of_two,
    by_pair,
    by_topic,
    pooled_confusion,
)

FOUR_OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections C and D."""

DIAGNOSES = """
0 0 0 6 0  0 3 0 0 3  0 1 4 0 1  0 0 0 0 6  0 3 0 3 0  2 0 4 0 0  0 0 4 0 2  2 0 3 1 0  2 0 0 4 0  0 0 0 0 6
1 0 0 5 0  1 1 0 4 0  0 3 3 0 0  1 0 0 5 0  0 2 0 3 1  0 0 5 0 1  3 0 0 1 2  5 1 0 0 0  0 2 0 4 0  1 0 2 0 3
0 0 0 0 6  0 1 0 5 0  0 2 0 1 3  2 0 0 4 0  1 0 0 4 1  0 5 0 1 0  4 0 0 0 2  0 2 0 4 0  1 0 5 0 0  0 0 0 0 6
"""
"""Fleiss, Measuring nominal scale agreement among many raters (1971), table 1: 30 patients, 6 psychiatrists each."""


def labels_of(
    rows: list[list[int | None]], *, grades: tuple[int, ...], relevant_from: int = 1, topics: list[str] | None = None
) -> Labels:
    """Opinions from a list per assessor, one entry per item; items are judged in their order."""
    given_grades = [
        (item, assessor, grades.index(grade))
        for assessor, row in enumerate(rows)
        for item, grade in enumerate(row)
        if grade is not None
    ]
    items, assessors, places = np.array(given_grades, dtype=np.int64).reshape(-1, 3).T
    names = tuple(sorted(set(topics or ["1"])))
    return Labels(
        steps=Steps(grades, relevant_from),
        items=items,
        assessors=assessors,
        places=places,
        topics=np.array([names.index((topics or ["1"] * (item + 1))[item]) for item in items], dtype=np.int64),
        assessor_names=tuple(f"assessor {number}" for number in range(len(rows))),
        topic_names=names,
    )


def values(estimates: list[Estimate]) -> dict[str, float | None]:
    return {one.coefficient: one.value for one in estimates}


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_alpha_of_krippendorffs_four_observers_is_as_published():
    found = values(agreement(labels_of(FOUR_OBSERVERS, grades=(1, 2, 3, 4, 5)), rng=rng()))
    published = {"alpha-nominal": 0.743, "alpha-ordinal": 0.815, "alpha-interval": 0.849}
    assert {name: round(found[name] or 0, 3) for name in published} == published


def test_alpha_of_krippendorffs_two_observers_is_as_published():
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    ((_, _, table),) = by_pair(labels_of([meg, owen], grades=(0, 1)))
    found = values(agreement_of_two(table, Steps((0, 1), 1), rng=rng()))
    assert {name: round(found[name] or 0, 3) for name in found if "alpha" in name} == {
        "alpha-nominal": 0.095,
        "alpha-ordinal": 0.095,
        "alpha-interval": 0.095,
    }


def test_fleiss_kappa_of_the_psychiatric_diagnoses_is_as_published():
    patterns = np.array(DIAGNOSES.split(), dtype=float).reshape(30, 5)
    assert_allclose(patterns.mean(0) / 6, [0.144, 0.144, 0.167, 0.306, 0.239], atol=0.0005)
    assert round(float(by.fleiss_kappa(patterns, np.ones(30))), 3) == 0.430


def test_cohens_kappa_of_twenty_yes_and_fifteen_no_is_four_tenths():
    assert_allclose(by.kappa(np.array([[20.0, 5.0], [10.0, 15.0]])), 0.4)


grades = st.integers(0, 3)
two = st.lists(st.tuples(grades, grades), min_size=1, max_size=30)


@given(two, st.sampled_from([(None, "none"), ("linear", "linear"), ("quadratic", "quadratic")]))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]], weights: tuple[str | None, by.Weights]):
    table = np.zeros((4, 4))
    np.add.at(table, tuple(np.array(pairs).T), 1)
    first, second = zip(*pairs, strict=True)
    found = float(by.kappa(table, weights=weights[1]))
    if len({*first, *second}) == 1:
        assert np.isnan(found)
    else:
        assert_allclose(found, cohen_kappa_score(first, second, labels=[0, 1, 2, 3], weights=weights[0]), atol=1e-12)


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(grades, min_size=n, max_size=n), min_size=1)))
def test_fleiss_kappa_is_that_of_statsmodels(items: list[list[int]]):
    patterns = np.array([[row.count(grade) for grade in range(4)] for row in items], dtype=float)
    found = float(by.fleiss_kappa(patterns, np.ones(len(items))))
    if len({grade for row in items for grade in row}) == 1:
        assert np.isnan(found)
    else:
        assert_allclose(found, fleiss_elsewhere(patterns), atol=1e-12)


@given(st.lists(st.lists(st.none() | grades, min_size=3, max_size=3), min_size=1, max_size=12))
def test_alpha_raw_agreement_overlap_and_positive_agreement_are_what_counting_pairs_gives(
    rows: list[list[int | None]],
):
    by_assessor = [list(column) for column in zip(*rows, strict=True)]
    if all(grade is None for row in rows for grade in row):
        return
    found = values(agreement(labels_of(by_assessor, grades=(0, 1, 2, 3), relevant_from=2), rng=rng()))
    units = [[grade for grade in row if grade is not None] for row in rows]
    units = [unit for unit in units if len(unit) > 1]
    pairs = [pair for unit in units for pair in combinations(unit, 2)]
    both = sum(a >= 2 and b >= 2 for a, b in pairs)
    one = sum((a >= 2) != (b >= 2) for a, b in pairs)
    assert found["raw"] == _share(sum(a == b for a, b in pairs), len(pairs))
    assert found["positive"] == _share(2 * both, 2 * both + one)
    assert found["overlap"] == _share(both, both + one)
    for name, distance in _distances([grade for unit in units for grade in unit]).items():
        expected = _alpha(units, distance)
        assert found[name] == (None if expected is None else pytest.approx(expected))


def _share(part: float, whole: float) -> object:
    return pytest.approx(part / whole) if whole else None


def _distances(said: list[int]) -> dict[str, object]:
    def ordinal(a: int, b: int) -> float:
        low, high = sorted((a, b))
        return (sum(low <= g <= high for g in said) - (said.count(a) + said.count(b)) / 2) ** 2

    return {
        "alpha-nominal": lambda a, b: float(a != b),
        "alpha-ordinal": ordinal,
        "alpha-interval": lambda a, b: float((a - b) ** 2),
    }


def _alpha(units: list[list[int]], distance: object) -> float | None:
    said = [grade for unit in units for grade in unit]
    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))  # type: ignore[operator]
    expected = sum(distance(a, b) for a, b in permutations(said, 2))  # type: ignore[operator]
    return None if not expected else 1 - observed / len(said) / (expected / (len(said) * (len(said) - 1)))


def test_where_all_grades_are_the_same_chance_corrected_coefficients_are_not_defined():
    found = values(agreement(labels_of([[1, 1, 1], [1, 1, 1]], grades=(0, 1)), rng=rng()))
    assert found == {
        "raw": 1.0,
        "positive": 1.0,
        "overlap": 1.0,
        "fleiss": None,
        "alpha-nominal": None,
        "alpha-ordinal": None,
        "alpha-interval": None,
    }
    table = np.array([[0, 0], [0, 3]])
    pair = values(agreement_of_two(table, Steps((0, 1), 1), rng=rng()))
    assert [name for name, value in pair.items() if value is None] == [
        *("kappa", "kappa-linear", "kappa-quadratic"),
        *("alpha-nominal", "alpha-ordinal", "alpha-interval"),
    ]


def test_positive_agreement_is_not_defined_where_nobody_found_anything_relevant():
    found = values(agreement(labels_of([[0, 0, 1], [0, 0, 0]], grades=(0, 1, 2), relevant_from=2), rng=rng()))
    assert (found["positive"], found["overlap"]) == (None, None)


def test_items_with_one_opinion_say_nothing():
    whole = agreement(labels_of([[0, 1, 1, 0], [0, 1, 0, None]], grades=(0, 1)), rng=rng())
    without = agreement(labels_of([[0, 1, 1], [0, 1, 0]], grades=(0, 1)), rng=rng())
    assert whole == without
    nothing = agreement(labels_of([[0, 1], [None, None]], grades=(0, 1)), rng=rng())
    assert nothing == [Estimate(name, None, None, None, 0) for name in COEFFICIENTS if "kappa" not in name]


def test_fleiss_takes_the_items_with_the_commonest_number_of_opinions():
    rows = [[0, 1, 1, 0, 1], [0, 1, 0, 0, 0], [None, None, None, 1, None]]
    found = {one.coefficient: one for one in agreement(labels_of(rows, grades=(0, 1)), rng=rng())}
    pairs = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 1.0]])
    assert (found["fleiss"].items, found["raw"].items) == (4, 5)
    assert found["fleiss"].value == pytest.approx(float(by.fleiss_kappa(pairs, np.ones(4))))


def test_fleiss_takes_the_larger_number_where_it_is_commoner():
    rows = [[0, 1, 1, 0], [0, 1, 0, 0], [None, 1, 1, 1]]
    found = {one.coefficient: one for one in agreement(labels_of(rows, grades=(0, 1)), rng=rng())}
    assert (found["fleiss"].items, found["raw"].items) == (3, 4)


def test_an_interval_is_the_percentiles_of_items_drawn_with_replacement():
    first, second = [0, 1, 2, 2, 1, 0, 0, 1, 2, 0] * 6, [0, 1, 1, 2, 0, 0, 1, 1, 2, 0] * 6
    ((_, _, table),) = by_pair(labels_of([first, second], grades=(0, 1, 2)))
    found = {one.coefficient: one for one in agreement_of_two(table, Steps((0, 1, 2), 1), rng=rng())}
    drawn = np.random.default_rng(1).integers(0, 60, (4000, 60))
    plain = [
        cohen_kappa_score(np.array(first)[rows], np.array(second)[rows], weights="quadratic") for rows in drawn[:1000]
    ]
    low, high = np.quantile(plain, [0.025, 0.975])
    assert_allclose([found["kappa-quadratic"].low, found["kappa-quadratic"].high], [low, high], atol=0.03)


def test_the_same_seed_gives_the_same_intervals():
    labels = labels_of(FOUR_OBSERVERS, grades=(1, 2, 3, 4, 5))
    assert agreement(labels, rng=rng()) == agreement(labels, rng=rng())
    assert agreement(labels, rng=rng()) != agreement(labels, rng=np.random.default_rng(8))


def test_confusion_counts_the_first_by_rows_and_the_pooled_one_the_lower_grade_by_rows():
    labels = labels_of([[0, 1, 2, 2], [1, 1, 0, None], [None, None, 0, 2]], grades=(0, 1, 2))
    assert next(by_pair(labels))[2].tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert pooled_confusion(labels).tolist() == [[1, 1, 2], [0, 1, 0], [0, 0, 1]]
    assert [(a, b, int(table.sum())) for a, b, table in by_pair(labels)] == [
        ("assessor 0", "assessor 1", 3),
        ("assessor 0", "assessor 2", 2),
        ("assessor 1", "assessor 2", 1),
    ]


def test_topics_with_nothing_judged_by_two_are_left_out():
    labels = labels_of([[0, 1, 1, 0], [0, None, 1, None]], grades=(0, 1), topics=["a", "b", "c", "b"])
    assert [(topic, len(part.items)) for topic, part in by_topic(labels)] == [("a", 2), ("c", 2)]
