"""Measures that no peer has, or has wrong, against their definitions by hand."""

import math

import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import measures, parse_measure


def of(measure: str, ranked: list[int | None], missed: tuple[int, ...] = ()) -> float:
    """The value for a list of grades; None is a document that was never pooled."""
    pool = {f"d{rank:03}": grade for rank, grade in enumerate(ranked) if grade is not None}
    pool |= {f"m{number}": grade for number, grade in enumerate(missed)}
    run = ranking_from({"1": [f"d{rank:03}" for rank in range(len(ranked))]} if ranked else {"2": ["x"]})
    return float(parse_measure(measure).values(align(qrels_from({"1": pool}), [run]).lists)[0])


def test_expected_reciprocal_rank():
    first, second = (2**2 - 1) / 2**3, (2**3 - 1) / 2**3
    expected = first / 1 + (1 - first) * second / 3
    assert of("ERR", [2, 0, 3]) == pytest.approx(expected)
    assert of("ERR@2", [2, 0, 3]) == pytest.approx(first)
    assert of("ERR(max_grade=4)", [1]) == pytest.approx(1 / 16)


def test_q_measure():
    """Two relevant, grades 1 and 3, found at 1 and 3: the ideal cumulated gain is 3, 4, 4."""
    expected = ((1 + 1) / (1 + 3) + (2 + 4) / (3 + 4)) / 2
    assert of("Q", [1, 0, 3]) == pytest.approx(expected)
    assert of("Q(beta=2)", [1, 0, 3]) == pytest.approx(((1 + 2) / (1 + 6) + (2 + 8) / (3 + 8)) / 2)


def test_rank_biased_precision_and_what_it_cannot_know():
    assert of("RBP(p=0.5)", [1, None, 1]) == pytest.approx(0.5 * (1 + 0.25))
    assert of("RBPResidual(p=0.5)", [1, None, 1]) == pytest.approx(0.5 * 0.5 + 0.125)
    assert of("RBPResidual(p=0.9)", [1, 0]) == pytest.approx(0.81)
    assert of("RBPResidual(p=0.9)", [], (1,)) == 1.0


def test_graded_rank_biased_precision_is_scaled_by_the_qrels_highest_grade():
    assert of("RBP(p=0.5, gain=scaled)", [2, 4]) == pytest.approx(0.5 * (0.5 + 0.5))


def test_holes_are_told_apart_from_judgments():
    ranked = [1, -1, None, 0]
    assert (of("Judged@4", ranked), of("Unjudged@4", ranked)) == (0.5, 0.5)
    assert of("Judged@10", ranked) == 0.5
    assert of("Unjudged(over=cutoff)@10", ranked) == 0.2
    assert (of("FirstUnjudged", ranked), of("FirstUnjudged", [1, 0]), of("FirstUnjudged", [], (1,))) == (2, 3, 1)


def test_accuracy_is_near_1_for_retrieving_nothing_relevant(kept: Kept):
    assert of("Accuracy(documents=1000)", [0, 0], (1, 1, 1)) == pytest.approx(0.995)
    with kept.raises(UsageError):
        of("Accuracy", [1])


def test_f_weighs_recall_by_the_square_of_beta():
    exact, complete = 1 / 2, 1 / 4
    assert of("F(beta=2)", [1, 0], (1, 1, 1)) == pytest.approx(5 * exact * complete / (4 * exact + complete))
    assert of("SetF(beta=2)", [1, 0], (1, 1, 1)) == pytest.approx(3 * exact * complete / (2 * exact + complete))


def test_bpref_is_1_without_judged_nonrelevant_documents():
    assert of("Bpref", [None, 1, None]) == 1.0


def test_interpolated_precision_means_recall_of_at_least_the_level():
    """Three relevant at ranks 1, 4, 10: recall 0.4 needs two of them; version 10 rounds 1.2 down to one."""
    ranked = [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert of("IPrec@0.4", ranked) == 0.5
    assert of("IPrec(rounding='10')@0.4", ranked) == 1.0
    assert of("IPrec(rounding='9')@0.4", ranked) == 0.5


def test_version_9_can_round_down_too_since_a_tenth_is_no_binary_number():
    """0.7 of 3 plus 0.9 should be 3 and is 2.9999999999999996."""
    ranked = [0, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert (of("IPrec@0.7", ranked), of("IPrec(rounding='9')@0.7", ranked)) == (0.3, 2 / 3)


def test_a_decimal_level_is_not_missed_by_its_binary_form():
    ranked = [1] * 7 + [0] * 93
    assert of("IPrec@0.07", ranked, (1,) * 93) == 1.0


def test_condensed_lists_leave_out_what_nobody_judged():
    assert of("P(judged_only=True)@2", [None, -1, 1, 0]) == 0.5
    assert of("AP(judged_only=True)", [None, 1]) == 1.0


def test_the_original_discount_leaves_the_first_ranks_alone():
    assert of("DCG(discount=original, base=3)", [1, 1, 1, 1]) == pytest.approx(3 + 1 / math.log(4, 3))


@pytest.mark.parametrize("name", measures.names())
def test_every_measure_tells_its_formula_and_where_it_comes_from(name: str):
    kind = measures.get(name)
    assert kind.summary
    assert "Source" in kind.help or name in ("FirstUnjudged", "Accuracy")


@pytest.mark.parametrize("name", measures.names())
def test_every_measure_takes_an_empty_list_and_a_topic_with_nothing_relevant(name: str):
    kind = measures.get(name)
    text = f"{name}{'(documents=9)' if name == 'Accuracy' else ''}"
    text += {"needed": "@5", "level": "@0.5"}.get(kind.cutoff, "")
    assert math.isfinite(of(text, [], (1,)))
    assert math.isfinite(of(text, [0, None], ()))
    assert math.isfinite(of(text, [-1, None], (-1,)))
