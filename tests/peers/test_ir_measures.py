"""Per-topic values against ir_measures, in the spelling that both share."""

import pytest
from mappings import qrels_from, run_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure

ir_measures = pytest.importorskip("ir_measures")

SHARED_SPELLING = [
    "P@5",
    "P(rel=2)@10",
    "P(judged_only=True)@5",
    "R@10",
    "R(rel=2)@20",
    "AP",
    "AP(rel=2)",
    "AP@10",
    "AP(judged_only=True)",
    "RR",
    "Rprec",
    "nDCG",
    "nDCG@10",
    "nDCG(judged_only=True)@5",
    "nDCG(gains={1:3,2:9})@10",
    "Bpref",
    "Bpref(rel=2)",
    "infAP",
    "SetP",
    "SetR",
    "SetF",
    "SetAP",
    "SetP(relative=True)",
    "Success@1",
    "Success(rel=2)@5",
    "NumRet",
    "NumRet(rel=2)",
    "NumRel",
]
TOLERANCE = 1e-9


def differences(text: str, qrels, run, *, tolerance: float = TOLERANCE, theirs: str = "") -> list:
    aligned = align(qrels_from(qrels), [run_from(run)], reference="9")
    ours = dict(zip(aligned.topic_ids, parse_measure(text).values(aligned.lists).tolist(), strict=True))
    expected = {
        found.query_id: float(found.value)
        for found in ir_measures.iter_calc([ir_measures.parse_measure(theirs or text)], qrels, run)
    }
    assert set(ours) == set(expected)
    return [(topic, ours[topic], expected[topic]) for topic in ours if abs(ours[topic] - expected[topic]) > tolerance]


@pytest.mark.parametrize("text", SHARED_SPELLING)
def test_the_same_expression_has_the_same_value(random_data, text: str):
    for seed in range(4):
        qrels, run = random_data(seed, topics=25)
        assert differences(text, qrels, run) == []


@pytest.mark.parametrize("level", ["0.0", "0.3", "0.7", "1.0"])
def test_interpolated_precision_agrees_with_version_9s_rounding(random_data, level: str):
    qrels, run = random_data(5)
    ours = f"IPrec(rounding='9')@{level}"
    assert differences(ours, qrels, run, theirs=f"IPrec@{level}") == []


def test_reciprocal_rank_with_a_cutoff_agrees_where_nothing_is_tied(random_data):
    """ir_measures leaves this one to a script that keeps tied documents in the order of the file."""
    for seed in range(4):
        qrels, run = random_data(seed, ties=False)
        assert differences("RR@3", qrels, run) == []


def test_judged_agrees_where_nothing_is_tied_or_negative(random_data):
    """ir_measures breaks ties the other way round for Judged, and counts a negative grade as a judgment."""
    for seed in range(4):
        qrels, run = random_data(seed, ties=False, negative=False)
        assert differences("Judged@10", qrels, run) == []


def test_rank_biased_precision_agrees(random_data):
    pytest.importorskip("cwl", reason="ir_measures has RBP from cwl-eval")
    qrels, run = random_data(7, ties=False, negative=False)
    assert differences("RBP(p=0.9)", qrels, run, theirs="RBP(p=0.9,rel=1)", tolerance=1e-7) == []


def test_the_spelling_is_read_and_printed_alike():
    for text in SHARED_SPELLING:
        theirs = ir_measures.parse_measure(text)
        assert parse_measure(str(theirs)) == parse_measure(text)
