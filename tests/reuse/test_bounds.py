"""Bounds equal what trying every completion gives, for every measure and depth."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.measure import Measure, measures, parse_measure
from cranfield.reuse.completions import unjudged_within
from cranfield.reuse.intervals import interval, interval_depth, intervals_of_runs, is_nonrelevant_unjudged

ROUNDS = 40 if os.environ.get("CRANFIELD_SOAK") else 1
DEPTHS = [(1, 0), (3, 0), (10, 0), (None, 0), (None, 1), (None, 2)]
"""How far down documents are open (None: the whole list), and how many more beside the list are."""
CUTOFFS = {"needed": (1, 3, 10), "optional": (None, 3), "level": (0.0, 0.3, 1.0), "none": (None,)}
VARIANTS = [
    "P(rel=2)@3",
    "R(rel=2)@2",
    "RR(rel=2)",
    "AP(rel=2)",
    "AP(rel=2)@3",
    "AP(rel=4)",
    "YAAP(rel=2)",
    "Bpref(rel=2)",
    "Bpref(rel=4)",
    "BinG(rel=3)",
    "Rprec(times=0.5)",
    "Rprec(times=2, rel=2)",
    "IPrec(rounding='9')@0.3",
    "IPrec(rounding='10', rel=2)@0.3",
    "IPrecAvg(rounding='9')",
    "F(beta=2)@3",
    "F(beta=0.5, rel=2)",
    "SetF(beta=3)",
    "SetP(relative=True)",
    "Accuracy(documents=50, rel=2)@2",
    "Utility(a=2, b=-1, c=-3, d=1, documents=50)",
    "Utility(a=0, b=1, c=1)",
    "CG(gain=exponential)@3",
    "CG(gains={1: 3, 2: 9})",
    "DCG(gain=exponential)@3",
    "DCG(discount=original, base=3)",
    "DCG(gains={0: -1, 1: 2, 2: 1})",
    "DCG(gains={1: -1})@3",
    "nDCG(gain=exponential)@3",
    "nDCG(gain=exponential)",
    "nDCG(discount=original)",
    "nDCG(discount=original, base=4)@3",
    "nDCG(gains={1: 5, 2: 5, 3: 7})",
    "nDCG(gains={1: 4, 2: 1})@3",
    "nDCG(gains={0: 1, 1: 3})",
    "nDCG(gains={0: 1, 1: 3})@2",
    "RBP(gain=scaled)",
    "RBP(gain=topic)",
    "RBP(gain=topic, p=0.5)@3",
    "RBP(p=0.5, rel=2)",
    "ERR(max_grade=4)",
    "ERR(max_grade=1)@3",
    "Q(beta=10)",
    "Q(beta=0)",
    "Q(beta=5, rel=2)@3",
    "Q(rel=3)",
    "nDCG(agg=geometric)",
]


def usual(name: str) -> list[Measure]:
    kind = measures.get(name)
    inside = "(documents=100)" if name == "Accuracy" else ""
    texts = [f"{name}{inside}" + ("" if cutoff is None else f"@{cutoff}") for cutoff in CUTOFFS[kind.cutoff]]
    return [parse_measure(text) for text in texts]


ALL = [measure for name in measures.names() for measure in usual(name) if measure.quality]
ALL = [measure for measure in ALL if measure.kind.unjudged != "sampled"]
ALL += [parse_measure(text) for text in VARIANTS]


WITHOUT_DEPTH = {str(measure) for measure in ALL if measure.name == "RBP" and measure.cutoff is None}


@dataclass(frozen=True)
class Case:
    """One ranked list: a grade at each rank, None where never pooled; and judged documents that it lacks."""

    ranked: tuple[int | None, ...]
    missed: tuple[int, ...]


def is_hole(grade: int | None) -> bool:
    return grade is None or grade < 0


def random_list(rng: np.random.Generator, highest: int, *, longest: int, holes: int) -> tuple[int | None, ...]:
    size = int(rng.integers(0, longest + 1))
    ranked: list[int | None] = [int(rng.integers(0, highest + 1)) * int(rng.integers(0, 2)) for _ in range(size)]
    for place in rng.permutation(size)[: int(rng.integers(0, holes + 1))].tolist():
        ranked[place] = None if rng.random() < 0.7 else -1
    return tuple(ranked)


def random_cases(
    rng: np.random.Generator, highest: int, number: int, *, longest: int = 7, holes: int = 3
) -> list[Case]:
    return [
        Case(
            random_list(rng, highest, longest=longest, holes=holes),
            tuple(int(rng.integers(-1, highest + 1)) for _ in range(int(rng.integers(0, 5)))),
        )
        for _ in range(number)
    ]


def aligned(cases: Sequence[Case]) -> Alignment:
    """Align one run with one topic for each case."""
    ranking, judged = {}, {}
    for number, case in enumerate(cases):
        topic = f"{number:06}"
        pool = {f"d{place:03}": grade for place, grade in enumerate(case.ranked) if grade is not None}
        pool |= {f"m{place:03}": grade for place, grade in enumerate(case.missed)}
        judged[topic] = pool or {"nothing": -1}
        ranking[topic] = [f"d{place:03}" for place in range(len(case.ranked))]
    return align(qrels_from(judged), [ranking_from({"other": ["x"], **ranking})])


def completions(case: Case, highest: int, depth: int | None, beside: int) -> list[Case]:
    """Give all ways to grade the holes down to a depth, and so many documents beside the list."""
    places = [place for place, grade in enumerate(case.ranked[:depth]) if is_hole(grade)]
    found = []
    for labels in product(range(highest + 1), repeat=len(places)):
        ranked = list(case.ranked)
        for place, label in zip(places, labels, strict=True):
            ranked[place] = label
        others = combinations_with_replacement(range(highest + 1), beside)
        found += [Case(tuple(ranked), (*case.missed, *more)) for more in others]
    return found


def tried(
    cases: Sequence[Case], wanted: Sequence[Measure], *, highest: int, depth: int | None, beside: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Give the lowest and the highest value of each case, as measures by cases."""
    made = [completions(case, highest, depth, beside) for case in cases]
    starts = np.cumsum([0, *(len(one) for one in made)])[:-1]
    lists = replace(aligned([one for each in made for one in each]).lists, highest_grade=highest)
    values = np.array([measure.values(lists) for measure in wanted])
    return np.minimum.reduceat(values, starts, axis=1), np.maximum.reduceat(values, starts, axis=1)


def mismatches(
    cases: Sequence[Case], wanted: Sequence[Measure], *, highest: int, depth: int | None = None, beside: int = 0
) -> list[object]:
    """Give the cases in which bounds are not those of all completions."""
    lists = replace(aligned(cases).lists, highest_grade=highest)
    others = np.full(len(lists), beside)
    found = [interval(one, lists, unjudged_within(lists, depth), beside=others) for one in wanted]
    got = np.array([[one.lower, one.upper] for one in found])
    lower, upper = tried(cases, wanted, highest=highest, depth=depth, beside=beside)
    wrong = (np.abs(got[:, 0] - lower) > 1e-12) | (np.abs(got[:, 1] - upper) > 1e-12)
    return [
        (str(wanted[m]), cases[c], highest, depth, beside, got[m, :, c].tolist(), (lower[m, c], upper[m, c]))
        for m, c in np.argwhere(wrong).tolist()
    ]


def has_exact_ends(measure: Measure, highest: int) -> bool:
    """Q goes by order with one relevant grade alone; without an engine there are general bounds."""
    return measure.kind.interval != "bounds" and (measure.kind.interval != "q" or (measure.rel or 1) == highest)


@pytest.mark.parametrize("highest", [1, 2, 3])
@pytest.mark.parametrize(("depth", "beside"), DEPTHS)
def test_bounds_are_those_of_all_completions(highest: int, depth: int | None, beside: int):
    rng = np.random.default_rng([highest, depth or 0, beside])
    wanted = [one for one in ALL if has_exact_ends(one, highest)]
    if beside:  # only pairs have documents beside a list, and other measures make no claims on pairs
        wanted = [one for one in wanted if is_nonrelevant_unjudged(one, highest)]
    for _ in range(ROUNDS):
        cases = random_cases(rng, highest, 150)
        assert mismatches(cases, wanted, highest=highest, depth=depth, beside=beside)[:3] == []


def measured(*texts: str) -> list[Measure]:
    return [parse_measure(text) for text in texts]


def ends(case: Case, text: str, **options: object) -> tuple[float, float]:
    chosen = {"depth": lambda _: None, **options}
    found = intervals_of_runs(aligned([case]), measured(text), **chosen)
    return float(found.lower[0, 0, 0]), float(found.upper[0, 0, 0])


def drawn(text: str, *, missed: tuple[int, ...] = ()) -> Case:
    """Give a list as it is drawn: $ relevant, - not relevant, ? unjudged."""
    return Case(tuple({"$": 1, "-": 0, "?": None}[letter] for letter in text), missed)


def test_lists_with_many_holes_have_the_bounds_of_all_completions_too():
    """Where prefix sums and several blocks have more to do. On a graded scale Q has general bounds then."""
    rng = np.random.default_rng(5)
    always = measured("AP", "AP@5", "nDCG", "nDCG@5", "nDCG(gain=exponential)@5", "Bpref", "Rprec", "Q(rel=3)")
    for highest, holes in ((1, 9), (2, 6), (3, 5)):
        cases = random_cases(rng, highest, 12, longest=12, holes=holes)
        wanted = [*always, *(measured("Q@6", "Q") if highest == 1 else ())]
        wanted = [one for one in wanted if has_exact_ends(one, highest)]
        assert mismatches(cases, wanted, highest=highest)[:3] == []
        assert mismatches(cases, wanted, highest=highest, depth=8)[:3] == []


def test_small_blocks_give_the_same_bounds(monkeypatch: pytest.MonkeyPatch):
    cases = random_cases(np.random.default_rng(6), 2, 60)
    whole = intervals_of_runs(aligned(cases), ALL, depth=lambda _: 5)
    monkeypatch.setattr("cranfield.reuse.completions._PLACES_AT_ONCE", 20)
    monkeypatch.setattr("cranfield.reuse.completions._ROWS_AT_ONCE", 20)
    monkeypatch.setattr("cranfield.reuse.intervals._ROWS_AT_ONCE", 20)
    parts = intervals_of_runs(aligned(cases), ALL, depth=lambda _: 5)
    np.testing.assert_allclose(parts.lower, whole.lower, atol=1e-14)
    np.testing.assert_allclose(parts.upper, whole.upper, atol=1e-14)


def test_two_runs_of_one_topic_have_each_its_own_holes():
    qrels = qrels_from({"1": {"a": 1, "b": 0}, "2": {"a": 1}})
    first = ranking_from({"1": ["a", "x", "b"], "2": ["x", "y", "a"]}, tag="first")
    second = ranking_from({"1": ["b", "a"]}, tag="second")
    found = intervals_of_runs(align(qrels, [first, second]), measured("P@2", "AP"), depth=lambda _: 2)
    assert found.lower[0].tolist() == [[0.5, 0.0], [0.5, 0.0]]
    assert found.upper[0].tolist() == [[1.0, 1.0], [0.5, 0.0]]
    # Rank 2 of topic 2, the third relevant at rank 3: (1/2 + 2/3) / 2; both holes relevant: (1 + 1 + 1) / 3.
    assert found.upper[1].tolist() == [[1.0, 1.0], [0.5, 0.0]]
    assert found.lower[1].tolist() == [[1.0, 1 / 3], [0.5, 0.0]]


@pytest.mark.parametrize(
    ("p", "lower", "upper"), [(0.5, 0.76611, 0.76630), (0.8, 0.44701, 0.48891), (0.95, 0.16613, 0.59930)]
)
def test_rbp_has_its_residual_with_the_tail(p: float, lower: float, upper: float):
    case = drawn("$$---$----$-??--?---")
    assert ends(case, f"RBP(p={p})") == (pytest.approx(lower, abs=5e-6), pytest.approx(upper, abs=5e-6))
    lists = aligned([case]).lists
    base, residual = (float(measure.values(lists)[0]) for measure in measured(f"RBP(p={p})", f"RBPResidual(p={p})"))
    assert ends(case, f"RBP(p={p})") == (base, pytest.approx(base + residual, abs=1e-15))
    assert ends(case, f"RBP(p={p})", tail="none")[1] == pytest.approx(base + residual - p**20, abs=1e-15)


def test_the_tail_of_rbp_ends_with_a_cutoff():
    assert ends(drawn("$?-"), "RBP(p=0.5)@2") == (0.5, 0.75)
    assert ends(drawn("$?-"), "RBP(p=0.5)") == (0.5, 0.875)
    assert ends(drawn(""), "RBP") == (0.0, 1.0)


def test_all_holes_relevant_is_not_the_highest_average_precision():
    case = drawn("$--$------" + "?" * 10)
    assert float(measured("AP")[0].values(aligned([case]).lists)[0]) == 0.75
    assert ends(case, "AP")[1] == 0.75
    one_more = drawn("$--$------$" + "?" * 9)
    assert float(measured("AP")[0].values(aligned([one_more]).lists)[0]) == pytest.approx(0.5909, abs=5e-5)


def test_holes_below_the_cutoff_move_the_ideal_only_where_the_whole_list_counts():
    case = drawn("$$" + "-" * 8 + "?" * 8)
    assert ends(case, "nDCG@10") == (pytest.approx(0.36, abs=0.005), 1.0)
    assert ends(case, "nDCG@10", depth=lambda _: 10) == (1.0, 1.0)


def test_documents_beside_the_list_lower_average_precision_towards_0():
    lists = aligned([drawn("$")]).lists
    found = interval(*measured("AP"), lists, lists.unjudged, beside=np.array([9]))
    assert (found.lower.tolist(), found.upper.tolist()) == ([0.1], [1.0])


def test_a_middle_grade_can_be_the_best_for_ndcg():
    """At 0 the hole gains nothing; at 3 it raises the ideal more than the score."""
    by_grade = [float(measured("nDCG@2")[0].values(aligned([Case((1, grade), (1,))]).lists)[0]) for grade in range(4)]
    assert np.argmax(by_grade) == 1
    assert ends(Case((1, None), (1,)), "nDCG@2", highest=3) == (min(by_grade), max(by_grade))


def test_a_weak_document_below_a_strong_one_can_be_worth_more_for_q():
    """Moving a grade up past a higher one lowers Q here, so that bounds cannot go by order alone."""
    lower, upper = (
        float(measured("Q")[0].values(aligned([Case(ranked, ())]).lists)[0]) for ranked in ((1, 3, 0), (0, 3, 1))
    )
    assert lower < upper


def test_bounds_that_are_not_worked_out_exactly_are_wider_and_true():
    cases = random_cases(np.random.default_rng(7), 3, 150)
    wanted = measured("Q", "Q@3", "Q(beta=5, rel=2)", "G", "RnDCG", "nDCGRel")
    got = intervals_of_runs(aligned(cases), wanted, depth=lambda _: None, highest=3)
    lower, upper = tried(cases, wanted, highest=3, depth=None)
    assert (got.lower[:, 0] <= lower + 1e-12).all()
    assert (got.upper[:, 0] >= upper - 1e-12).all()


@pytest.mark.parametrize(
    "text",
    [
        "Judged@3",
        "Unjudged@3",
        "FirstUnjudged",
        "RBPResidual",
        "xinfAP",
        "infNDCG",
        "statP@3",
        "statAP",
        "infAP",
        "NumRel",
        "AP(judged_only=True)",
        "nDCG(gains={1: -1})",
        "AP(rel=0)",
    ],
)
def test_measures_without_an_interval_say_why(text: str, kept: Kept):
    lists = aligned([drawn("$?-")]).lists
    found = interval(measured(text)[0], lists, lists.unjudged)
    kept(found.missing)
    assert np.isnan([found.lower, found.upper]).all()
    assert np.isfinite(found.values).all()


def test_a_list_without_holes_has_its_score_for_both_ends():
    cases = random_cases(np.random.default_rng(8), 3, 100, holes=0)
    found = intervals_of_runs(aligned(cases), ALL, depth=lambda _: None, tail="none")
    assert np.array_equal(found.lower, found.values)
    assert np.array_equal(found.upper, found.values)


LAWFUL = [
    *(
        "P@3",
        "R@3",
        "RelativeP@3",
        "F",
        "Success@2",
        "SetP",
        "SetAP",
        "RR",
        "AP",
        "AP(rel=2)@4",
        "YAAP",
        "BinG",
        "Rprec",
    ),
    *(
        "IPrec@0.3",
        "CG",
        "DCG@3",
        "nDCG",
        "nDCG@3",
        "nDCG(gain=exponential)@4",
        "RBP",
        "RBP(gain=topic)@5",
        "ERR",
        "Q@3",
    ),
]
PASSING_OVER = ["Bpref", "nDCG(gains={0: 1, 1: 3})@3"]


@given(seed=st.integers(0, 2**32), highest=st.integers(1, 3))
def test_the_score_lies_within_its_bounds(seed: int, highest: int):
    cases = random_cases(np.random.default_rng(seed), highest, 8, longest=20, holes=12)
    found = intervals_of_runs(aligned(cases), measured(*LAWFUL), depth=lambda _: 7)
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper).all()


@pytest.mark.parametrize(("texts", "share"), [(LAWFUL, 0.6), ([*LAWFUL, *PASSING_OVER], 1.0)])
@given(seed=st.integers(0, 2**32), highest=st.integers(1, 3), depth=st.integers(1, 12))
def test_judging_holes_within_the_depth_leaves_the_score_within_the_bounds(
    texts: list[str], share: float, seed: int, highest: int, depth: int
):
    """Some of the holes; where a hole is not the same as a judged document, all of them."""
    rng = np.random.default_rng(seed)
    cases = random_cases(rng, highest, 6, longest=14, holes=8)
    later = [judged_later(case, highest, depth, share, rng) for case in cases]
    before = intervals_of_runs(aligned(cases), measured(*texts), depth=lambda _: depth, highest=highest)
    lists = replace(aligned(later).lists, highest_grade=highest)
    values = np.array([one.values(lists) for one in measured(*texts)])
    assert (before.lower[:, 0] - 1e-12 <= values).all()
    assert (values <= before.upper[:, 0] + 1e-12).all()


def judged_later(case: Case, highest: int, depth: int, share: float, rng: np.random.Generator) -> Case:
    """Give the case with a share of the holes down to the depth judged at random."""
    judged = [is_hole(grade) and rng.random() < share for grade in case.ranked[:depth]]
    grades = [
        int(rng.integers(0, highest + 1)) if now else old for now, old in zip(judged, case.ranked, strict=False)
    ]
    return Case((*grades, *case.ranked[depth:]), case.missed)


def test_looking_deeper_gives_wider_bounds():
    cases = random_cases(np.random.default_rng(9), 2, 300)
    found = [
        intervals_of_runs(aligned(cases), measured(*LAWFUL), depth=lambda _, depth=depth: depth)
        for depth in (1, 2, 4, None)
    ]
    for narrow, wide in pairwise(found):
        assert (wide.lower <= narrow.lower + 1e-12).all()
        assert (wide.upper >= narrow.upper - 1e-12).all()


def test_summaries_are_made_as_the_measure_says():
    cases = [drawn("$?"), drawn("-?"), drawn("$$")]
    found = intervals_of_runs(
        aligned(cases), measured("P@2", "P(agg=min)@2", "NumRelRet", "P(agg=geometric)@2"), depth=lambda _: 2
    )
    np.testing.assert_allclose(found.lowest[:, 0], [0.5, 0.0, 3.0, (0.5 * 1e-5) ** (1 / 3)])
    np.testing.assert_allclose(found.highest[:, 0], [2.5 / 3, 0.5, 5.0, 0.5 ** (1 / 3)])


def test_topics_that_a_run_lacks_count_only_where_they_are_scored():
    qrels = qrels_from({"1": {"a": 1}, "2": {"a": 1}})
    run = ranking_from({"1": ["x", "a"]})
    ends = {}
    for topics in ("qrels", "run"):
        found = intervals_of_runs(align(qrels, [run], topics=topics), measured("P@1"), depth=lambda _: 1)
        ends[topics] = (float(found.lowest[0, 0]), float(found.highest[0, 0]))
    assert ends == {"qrels": (0.0, 0.5), "run": (0.0, 1.0)}


def test_unjudged_documents_count_down_to_the_cutoff_or_that_of_the_pool():
    texts = ["P@10", "AP", "AP@5", "IPrec@0.5", "Rprec", "RBP@7", "RBP", "RR", "DCG", "nDCG"]
    depths = [interval_depth(measure, pool_depth=100) for measure in measured(*texts)]
    assert depths == [10, 100, 5, 100, 100, 7, None, None, None, 100]


def test_each_topic_may_have_a_depth_of_its_own():
    cases = [drawn("-?"), drawn("-?"), drawn("")]
    found = intervals_of_runs(aligned(cases), measured("P@2", "AP"), depth=lambda _: np.array([1, 2, 5]))
    assert found.upper[:, 0].tolist() == [[0.0, 0.5, 0.0], [0.0, 0.5, 0.0]]


def test_all_holes_count_for_rbp_whatever_the_depth():
    assert ends(drawn("-?"), "RBP(p=0.5)", depth=lambda _: 1) == (0.0, 0.5)


def test_a_higher_grade_of_the_scale_widens_the_interval():
    case = Case((1, None), (1,))
    assert ends(case, "CG")[1] == 2.0
    assert ends(case, "CG", highest=3)[1] == 4.0


def test_qrels_without_a_relevant_document_still_have_an_upper_bound():
    assert ends(Case((0, None), ()), "AP") == (0.0, 0.5)


def test_long_lists_have_the_bounds_of_the_highest_and_the_lowest_holes():
    """For measures that go by order, the m highest and the m lowest holes relevant, for every m, tell the bounds."""
    rng = np.random.default_rng(11)
    wanted = measured("AP", "AP@60", "YAAP", "Rprec", "Rprec(times=1.5)", "BinG", "Bpref", "IPrecAvg", "nDCG", "Q")
    for _ in range(3):
        ranked = [None if draw < 0.4 else int(draw > 0.85) for draw in rng.random(120)]
        case = Case(tuple(ranked), (1,) * 20)
        found = intervals_of_runs(aligned([case]), wanted, depth=lambda _: 100)
        holes = [place for place, grade in enumerate(ranked[:100]) if grade is None]
        highest = [labelled(case, holes, set(holes[:count])) for count in range(len(holes) + 1)]
        lowest = [labelled(case, holes, set(holes[len(holes) - count :])) for count in range(len(holes) + 1)]
        upper = [one.values(aligned(highest).lists).max() for one in wanted]
        lower = [one.values(aligned(lowest).lists).min() for one in wanted]
        np.testing.assert_allclose(found.upper[:, 0, 0], upper, atol=1e-12)
        np.testing.assert_allclose(found.lower[:, 0, 0], lower, atol=1e-12)


def labelled(case: Case, holes: list[int], relevant: set[int]) -> Case:
    """Give the case with its holes judged, some of them relevant."""
    grades = {place: int(place in relevant) for place in holes}
    return Case(tuple(grades.get(place, old) for place, old in enumerate(case.ranked)), case.missed)
