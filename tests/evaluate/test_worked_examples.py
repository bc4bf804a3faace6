"""Examples from teaching, to the digits that are printed there: scores first, then what a comparison can say.

A ranking is written as the ranks of the relevant documents, or as the grade at each rank. The collection's relevant
documents that are not retrieved are given as a number.
"""

import math

import numpy as np
import pytest
from mappings import qrels_from, ranking_from

from cranfield.compare.comparison import compare_all, paired_scores
from cranfield.compare.significance import tests as significance_tests
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import aggregated, parse_measure, parse_measures
from cranfield.evaluate.scores import score


def of_grades(measure: str, ranked: list[int], *, others: list[int] | None = None) -> float:
    """The value of a measure for a ranking with these grades; `others` are judged and not retrieved."""
    judged = {f"d{rank:03}": grade for rank, grade in enumerate(ranked, start=1)}
    missed = {f"m{number:03}": grade for number, grade in enumerate(others or [])}
    alignment = align(qrels_from({"1": judged | missed}), [ranking_from({"1": list(judged)})])
    return float(parse_measure(measure).values(alignment.lists)[0])


def of_ranks(measure: str, ranks: list[int], *, of: int, length: int = 0) -> float:
    """The value of a measure where the relevant documents stand at these ranks, out of `of` relevant in all."""
    ranked = [int(rank in ranks) for rank in range(1, max([length, *ranks]) + 1)]
    return of_grades(measure, ranked, others=[1] * (of - len(ranks)))


@pytest.mark.parametrize(
    ("ranks", "relevant", "expected"),
    [
        ([1, 3, 4, 5, 6, 10], 6, 0.775),
        ([2, 5, 6, 7, 9, 10], 6, 0.52),
        ([1, 3, 6, 9, 10], 5, 0.62),
        ([2, 5, 7], 3, 0.44),
    ],
)
def test_average_precision_of_four_rankings(ranks: list[int], relevant: int, expected: float):
    digits = 3 if expected == 0.775 else 2
    assert round(of_ranks("AP", ranks, of=relevant), digits) == expected


def test_their_mean_average_precision_is_053():
    """Of the last two rankings, as the answers of one run to two topics."""
    topics = {"1": [1, 3, 6, 9, 10], "2": [2, 5, 7]}
    judged = {topic: {f"d{rank:02}": 1 for rank in ranks} for topic, ranks in topics.items()}
    run = ranking_from({topic: [f"d{rank:02}" for rank in range(1, 11)] for topic in topics})
    scores = score(align(qrels_from(judged), [run]), parse_measures(["MAP"]))
    assert [round(value, 2) for value in scores.values[0, 0]] == [0.62, 0.44]
    assert round(float(scores.summary[0, 0]), 2) == 0.53


def test_precision_and_recall_along_a_ranking_with_four_of_ten_relevant():
    ranks = [1, 2, 5, 8]
    precisions = [of_ranks(f"P@{rank}", ranks, of=10) for rank in ranks]
    recalls = [of_ranks(f"R@{rank}", ranks, of=10) for rank in ranks]
    assert precisions == [1 / 1, 2 / 2, 3 / 5, 4 / 8]
    assert recalls == [0.1, 0.2, 0.3, 0.4]


def test_average_precision_divides_by_ten_and_not_by_four():
    assert of_ranks("AP", [1, 2, 5, 8], of=10) == pytest.approx((1 + 1 + 3 / 5 + 4 / 8) / 10, abs=1e-15)


def test_two_of_four_relevant_first_and_last_or_both_first():
    assert of_grades("AP", [1, 0, 0, 1], others=[1, 1]) == 0.375
    assert of_grades("AP", [1, 1, 0, 0], others=[1, 1]) == 0.5
    assert of_grades("RR", [1, 0, 0, 1]) == 1
    assert of_grades("RR", [0, 1, 1]) == 0.5
    assert of_ranks("P@10", [1, 3, 6, 10], of=4) == 0.4


def test_relevant_at_every_other_rank():
    ranked = [1, 0, 1, 0, 1]
    assert [of_grades(f"P@{k}", ranked) for k in (3, 4, 5)] == [2 / 3, 2 / 4, 3 / 5]
    assert round(of_grades("AP", ranked), 2) == 0.76


def test_more_found_can_mean_lower_precision_and_higher_recall():
    a, b = [1, 1, 0], [1, 1, 0, 1, 0]
    assert (of_grades("SetP", a, others=[1] * 8), of_grades("SetR", a, others=[1] * 8)) == (2 / 3, 0.2)
    assert (of_grades("SetP", b, others=[1] * 7), of_grades("SetR", b, others=[1] * 7)) == (3 / 5, 0.3)


def test_precision_recall_and_f_of_two_sets():
    """The .603 and .559 that are often printed come from P and R that were rounded first."""
    first = [1] * 16 + [0] * 9
    second = [1] * 12 + [0] * 3
    got = [
        [round(of_grades(name, ranked, others=[1] * missed), 3) for name in ("SetP", "SetR", "F")]
        for ranked, missed in ((first, 12), (second, 16))
    ]
    assert got == [[0.64, 0.571, 0.604], [0.80, 0.429, 0.558]]


def test_f_of_low_precision_and_high_recall_is_low():
    assert round(of_grades("F", [1] * 9 + [0] * 81, others=[1]), 2) == 0.18


def test_five_relevant_ranked_first_or_late_or_mixed():
    assert (of_ranks("P@5", [1, 2, 3, 4, 5], of=5), of_ranks("AP", [1, 2, 3, 4, 5], of=5)) == (1, 1.0)
    late = [6, 7, 8, 9, 10]
    assert (of_ranks("P@5", late, of=5), of_ranks("P@10", late, of=5)) == (0, 0.5)
    assert round(of_ranks("AP", late, of=5), 3) == 0.354
    mixed = [2, 3, 6, 7, 8]
    assert (of_ranks("P@5", mixed, of=5), round(of_ranks("AP", mixed, of=5), 3)) == (0.4, 0.573)


def test_interpolated_precision_at_eleven_recall_levels():
    levels = [round(of_ranks(f"IPrec@{level / 10}", [2, 3, 6, 7, 8], of=5), 3) for level in range(11)]
    assert levels == [0.667] * 5 + [0.625] * 6
    assert round(of_ranks("IPrecAvg", [2, 3, 6, 7, 8], of=5), 3) == 0.644


def test_interpolated_precision_is_0_where_recall_never_gets():
    """A printed average of .439 for this ranking is a slip of arithmetic."""
    levels = [round(of_ranks(f"IPrec@{level / 10}", [2, 3, 6, 8], of=5), 3) for level in range(11)]
    assert levels == [0.667] * 5 + [0.5] * 4 + [0] * 2
    assert round(of_ranks("IPrecAvg", [2, 3, 6, 8], of=5), 3) == 0.485


def test_dcg_with_the_original_discount():
    ranked = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    got = [round(of_grades(f"DCG(discount=original)@{k}", ranked), 2) for k in range(1, 11)]
    assert got == [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]


def test_ndcg_with_the_original_discount():
    assert round(of_grades("DCG(discount=original)", [2, 2, 1, 0]), 4) == 4.6309
    assert round(of_grades("DCG(discount=original)", [2, 1, 2, 0]), 4) == 4.2619
    assert round(of_grades("nDCG(discount=original)", [2, 1, 2, 0]), 4) == 0.9203
    assert of_grades("nDCG(discount=original)", [2, 2, 1, 0]) == 1.0


def test_swapping_two_documents_of_equal_grade_keeps_ndcg_at_1():
    judged = qrels_from({"1": {"a": 2, "b": 2, "c": 1, "d": 0}})
    runs = [ranking_from({"1": list(order)}, tag=order) for order in ("abcd", "bacd", "acbd")]
    first, swapped, other = score(align(judged, runs), parse_measures(["nDCG(discount=original)"])).summary[0]
    assert (first, swapped) == (1.0, 1.0)
    assert round(other, 4) == 0.9203


def test_exponential_gain_against_a_textbooks_ideal():
    """The ideal there is three documents of grade 2; the collection's own ideal would be another."""
    ideal = of_grades("DCG(gain=exponential)", [2, 2, 2])
    first, second = (of_grades("DCG(gain=exponential)", ranked) for ranked in ([2, 0, 1], [1, 2, 0]))
    assert [round(value, 2) for value in (first, second, ideal)] == [3.5, 2.89, 6.39]
    assert [round(value / ideal, 2) for value in (first, second)] == [0.55, 0.45]


def test_the_geometric_mean_turns_two_systems_round_on_a_hard_topic():
    steady, uneven = np.array([0.30, 0.30, 0.10]), np.array([0.50, 0.40, 0.01])
    assert aggregated(uneven, "mean") > aggregated(steady, "mean")
    assert aggregated(uneven, "geometric") < aggregated(steady, "geometric")


def test_mean_reciprocal_rank_and_mean_rank_disagree():
    a, b = [1, 1, 100], [2, 2, 2]
    reciprocal = [sum(of_ranks("RR", [rank], of=1) for rank in ranks) / 3 for ranks in (a, b)]
    assert reciprocal[0] > reciprocal[1]
    assert sum(a) / 3 > sum(b) / 3
    assert math.isclose(reciprocal[1], 0.5)


def p_of(test: str, a: np.ndarray, b: np.ndarray) -> float:
    return float(significance_tests.get(test)(a, b, rng=np.random.default_rng(1)).p)


def test_four_wins_and_three_losses_on_seven_topics_say_nothing():
    a = np.array([0.60, 0.42, 0.33, 0.71, 0.10, 0.25, 0.48])
    b = np.array([0.41, 0.40, 0.12, 0.55, 0.30, 0.52, 0.49])
    result = significance_tests.get("sign")(a, b, rng=np.random.default_rng(1))
    assert (float(result.statistic), float(result.p)) == (1.0, 1.0)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation", "bootstrap"])
def test_of_two_experiments_with_the_same_means_only_the_consistent_one_is_significant(test):
    old = np.array([0.02, 0.39, 0.26, 0.38, 0.14, 0.11, 0.10])
    consistent = np.array([0.22, 0.57, 0.48, 0.59, 0.33, 0.30, 0.31])
    erratic = np.array([0.90, 0.22, 0.95, 0.30, 0.05, 0.33, 0.05])
    assert (old.mean(), consistent.mean(), erratic.mean()) == pytest.approx((0.20, 0.40, 0.40))
    assert p_of(test, consistent, old) <= 0.05
    assert p_of(test, erratic, old) > 0.05


def test_the_consistent_experiment_has_a_narrow_interval_and_the_other_one_includes_zero():
    old = np.array([0.02, 0.39, 0.26, 0.38, 0.14, 0.11, 0.10])
    consistent = np.array([0.22, 0.57, 0.48, 0.59, 0.33, 0.30, 0.31])
    erratic = np.array([0.90, 0.22, 0.95, 0.30, 0.05, 0.33, 0.05])
    scores = paired_scores(["consistent", "erratic", "old"], [consistent, erratic, old])
    steady, wild = compare_all(scores, baselines=[2], rng=np.random.default_rng(1))
    assert (steady.wins, steady.losses, wild.wins, wild.losses) == (7, 0, 3, 4)
    assert 0.18 < steady.low < 0.2 < steady.high < 0.22
    assert wild.low < 0 < wild.high


def test_a_comparison_by_geometric_means_turns_the_order_round_on_a_hard_topic():
    # Difference of mean logarithms = logarithm of the ratio of geometric means: to compare by geometric mean,
    # compare the logarithms.
    brilliant, steady = np.array([0.90, 0.80, 0.70, 0.01]), np.array([0.70, 0.60, 0.55, 0.20])
    (plain,) = compare_all(paired_scores(["a", "b"], [brilliant, steady]), rng=np.random.default_rng(1))
    logs = paired_scores(["a", "b"], np.log([brilliant, steady]))
    (geometric,) = compare_all(logs, rng=np.random.default_rng(1))
    assert (plain.mean_a, plain.mean_b) == pytest.approx((0.6025, 0.5125))
    assert (np.exp(geometric.mean_a), np.exp(geometric.mean_b)) == pytest.approx((0.26645, 0.46362), abs=1e-5)
    assert plain.difference > 0 > geometric.difference


def test_a_comparison_by_mean_reciprocal_rank_turns_the_order_of_mean_rank_round():
    ranks = np.array([[1, 1, 10], [2, 2, 2]])
    (by_rank,) = compare_all(paired_scores(["a", "b"], -ranks), rng=np.random.default_rng(1))
    (by_reciprocal,) = compare_all(paired_scores(["a", "b"], 1 / ranks), rng=np.random.default_rng(1))
    assert (by_rank.mean_a, by_rank.mean_b) == (-4, -2)
    assert (by_reciprocal.mean_a, by_reciprocal.mean_b) == pytest.approx((0.7, 0.5))
    assert by_rank.difference < 0 < by_reciprocal.difference
