"""Laws that every measure keeps, whatever the lists look like."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import Measure, measures, parse_measure

CUTOFFS = {"needed": (1, 3, 10), "optional": (None, 3), "level": (0.0, 0.3, 1.0), "none": (None,)}
VARIANTS = {
    "nDCG": [
        "nDCG(gain=exponential)@3",
        "nDCG(discount=original)",
        "nDCG(judged_only=True)",
        "nDCG(gains={1: 5, 2: 5, 3: 7})",
    ],
    "DCG": ["DCG(gain=exponential)@3", "DCG(discount=original, base=3)"],
    "RBP": ["RBP(gain=scaled)", "RBP(gain=topic)", "RBP(p=0.5)"],
    "ERR": ["ERR(max_grade=4)"],
    "AP": ["AP(rel=2)", "AP(judged_only=True)"],
    "Q": ["Q(beta=10)"],
    "F": ["F(beta=2)@3"],
    "SetP": ["SetP(relative=True)"],
    "IPrec": ["IPrec(rounding='9')@0.3", "IPrec(rounding='10')@0.3"],
}


def usual(name: str) -> list[Measure]:
    kind = measures.get(name)
    inside = "(documents=100)" if name == "Accuracy" else ""
    texts = [f"{name}{inside}" + ("" if cutoff is None else f"@{cutoff}") for cutoff in CUTOFFS[kind.cutoff]]
    return [parse_measure(text) for text in [*texts, *VARIANTS.get(name, [])]]


ALL = [measure for name in measures.names() for measure in usual(name)]
MONOTONE = [measure for measure in ALL if measure.kind.monotone]

grade = st.sampled_from([None, -1, 0, 0, 1, 1, 2, 3])
"""None is a document that was never pooled."""


@st.composite
def judged_lists(draw: st.DrawFn) -> tuple[list[int | None], list[int]]:
    """Grades of a ranked list, and grades of judged documents that are not in it."""
    return draw(st.lists(grade, max_size=12)), draw(
        st.lists(st.sampled_from([-1, 0, 1, 2, 3]), min_size=1, max_size=5)
    )


def values(
    wanted: list[Measure], ranked: list[int | None], missed: list[int], *, name: str = "d{:04}"
) -> list[float]:
    pool = {name.format(place): found for place, found in enumerate(ranked) if found is not None}
    pool |= {name.format(1000 + place): found for place, found in enumerate(missed)}
    run = ranking_from({"1": [name.format(place) for place in range(len(ranked))]} if ranked else {"other": ["x"]})
    lists = align(qrels_from({"1": pool}), [run]).lists
    return [float(measure.values(lists)[0]) for measure in wanted]


def value(measure: Measure, ranked: list[int | None], missed: list[int]) -> float:
    return values([measure], ranked, missed)[0]


@given(lists=judged_lists())
def test_a_value_is_a_number_within_its_bounds(lists):
    outside = {}
    for measure, got in zip(ALL, values(ALL, *lists), strict=True):
        low, high = measure.kind.bounds or (-np.inf, np.inf)
        if not (np.isfinite(got) and low - 1e-12 <= got <= high + 1e-12):
            outside[str(measure)] = got
    assert outside == {}


@given(lists=judged_lists())
def test_renaming_documents_in_an_order_keeping_way_changes_nothing(lists):
    assert values(ALL, *lists) == values(ALL, *lists, name="é{:06}-ü")


@given(lists=judged_lists(), place=st.integers(0, 10))
def test_moving_a_document_up_past_a_judged_one_of_lower_grade_never_hurts(lists, place: int):
    ranked, missed = lists
    if place + 1 >= len(ranked):
        return
    above, below = ranked[place], ranked[place + 1]
    if above is None or below is None or above < 0 or below <= above:
        return
    better = [*ranked[:place], below, above, *ranked[place + 2 :]]
    before, after = values(MONOTONE, ranked, missed), values(MONOTONE, better, missed)
    worse = [str(one) for one, old, new in zip(MONOTONE, before, after, strict=True) if new < old - 1e-12]
    assert worse == []


IDEAL = [
    parse_measure(text)
    for text in [
        "AP",
        "nDCG",
        "nDCG@3",
        "nDCG(gain=exponential)@5",
        "nDCG(discount=original)",
        "Rprec",
        "Bpref",
        "Q",
        "G",
        "BinG",
        "nDCGRel",
        "RnDCG",
        "RelativeP@3",
        "RR",
        "Success@1",
        "SetR",
        "IPrecAvg",
        "IPrec@1",
    ]
]


@given(grades=st.lists(st.integers(0, 3), min_size=1, max_size=12).filter(any))
def test_the_ideal_ranking_scores_1(grades: list[int]):
    got = values(IDEAL, sorted(grades, reverse=True), [0])
    assert got == pytest.approx([1.0] * len(IDEAL), abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_an_expression_is_printed_as_it_is_parsed(measure: Measure):
    assert parse_measure(str(measure)) == measure


@given(lists=judged_lists(), k=st.integers(1, 15))
def test_judged_and_unjudged_add_up_to_1(lists, k: int):
    ranked, missed = lists
    total = value(parse_measure(f"Judged@{k}"), ranked, missed) + value(
        parse_measure(f"Unjudged@{k}"), ranked, missed
    )
    assert total == (1.0 if ranked else 0.0)


@given(lists=judged_lists(), p=st.sampled_from([0.5, 0.8, 0.95]))
def test_rbp_and_its_residual_stay_within_1(lists, p: float):
    got = value(parse_measure(f"RBP(p={p})"), *lists) + value(parse_measure(f"RBPResidual(p={p})"), *lists)
    assert got <= 1 + 1e-12


@given(lists=judged_lists())
def test_q_with_no_weight_on_gain_is_average_precision(lists):
    assert value(parse_measure("Q(beta=0)"), *lists) == pytest.approx(value(parse_measure("AP"), *lists), abs=1e-12)
