"""Measures as values: parsed, printed, compared."""

import pytest
from kept import Kept

from cranfield.base.errors import UnknownName, UsageError
from cranfield.evaluate.measure import parse_measure, parse_measures


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        ("P( judged_only = True )@5", "P(judged_only=True)@5"),
        ("RBP(p=0.9)", "RBP(p=0.9)"),
        ("RBP(p=0.8)", "RBP"),
        ("AP(rel=1)", "AP"),
        ("AP(agg=mean)", "AP"),
        ("AP(agg='geometric')", "AP(agg='geometric')"),
        ("NumRet(agg=sum)", "NumRet"),
        (
            "nDCG(discount=original, base=3, gain=exponential)",
            "nDCG(base=3, discount='original', gain='exponential')",
        ),
        ("nDCG(dcg='exp-log2')@20", "nDCG(gain='exponential')@20"),
        ("nDCG(gains={2: 9, 1: 3.5})", "nDCG(gains={1: 3.5, 2: 9})"),
        ("IPrec@0.5", "IPrec@0.5"),
        ("Recall@5", "R@5"),
        ("MAP", "AP"),
        ("map", "AP"),
        ("ndcg_cut.10", "nDCG@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P_10", "P@10"),
        ("recip_rank", "RR"),
        ("gm_map", "AP(agg='geometric')"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("Rprec_mult_0.20", "Rprec(times=0.2)"),
        ("unj_5", "Unjudged(over='cutoff')@5"),
        ("ndcg.1=3,2=9", "nDCG(gains={1: 3, 2: 9})"),
        ("utility.2,-1,0,0.5", "Utility(a=2, d=0.5)"),
        ("11pt_avg..25,.5,.75", "IPrecMean(levels='.25,.5,.75')"),
        ("ndcg_cut.23.4", "nDCG@23"),
        ("set_F.2", "SetF(beta=2)"),
        ("set_F_0.5", "SetF(beta=0.5)"),
        ("rbp.p=0.5", "RBP(gain='topic', p=0.5)"),
        ("rbp_p=0.5", "RBP(gain='topic', p=0.5)"),
        ("rbp.p=0.5,1=3,2=9", "RBPGains(gains={1: 3, 2: 9}, p=0.5)"),
    ],
)
def test_an_expression_is_printed_in_one_canonical_way(text: str, printed: str):
    measure = parse_measure(text)
    assert str(measure) == printed
    assert parse_measure(printed) == measure
    assert hash(parse_measure(printed)) == hash(measure)


def test_a_cutoff_loses_what_is_behind_its_point_as_in_trec_eval():
    assert [str(one) for one in parse_measures(["ndcg_cut.10,20,23.4"])] == ["nDCG@10", "nDCG@20", "nDCG@23"]
    assert [str(one) for one in parse_measures(["iprec_at_recall.0.1,0.25"])] == ["IPrec@0.1", "IPrec@0.25"]


def test_a_family_of_trec_eval_means_its_usual_cutoffs():
    assert [str(measure) for measure in parse_measures(["success"])] == ["Success@1", "Success@5", "Success@10"]
    assert [str(measure) for measure in parse_measures(["P.5,7,3"])] == ["P@5", "P@7", "P@3"]


def test_all_of_all_trec_exists():
    """trec_eval 10 prints 98 numbers; Rprec_mult_1.00 is Rprec again."""
    assert len(parse_measures(["all_trec"])) == 97


def test_several_expressions_may_stand_in_one_text_and_repetitions_count_once():
    assert [str(measure) for measure in parse_measures(["AP P@5 map", "AP(rel=1)", " F(beta=2) "])] == [
        "AP", "P@5", "F(beta=2)",
    ]  # fmt: skip


def test_a_collections_threshold_is_taken_where_none_is_said_and_always_printed():
    texts = ["AP", "AP(rel=1)", "nDCG@10", "NumRet"]
    assert [str(one) for one in parse_measures(texts, threshold=2)] == ["AP(rel=2)", "AP(rel=1)", "nDCG@10", "NumRet"]
    assert parse_measure("AP", threshold=2) == parse_measure("AP(rel=2)")


@pytest.mark.parametrize(
    "text",
    [
        "P@x",
        "AP(rel=2",
        "AP)",
        "AP(rel)",
        "P@0",
        "P@2.5",
        "Judged",
        "SetP@5",
        "IPrec@3",
        "AP(rel=x)",
        "AP(rel=1.5)",
        "AP(judged_only=3)",
        "nDCG(gain=foo)",
        "RBP(p=1)",
        "nDCG(gains={1})",
        "nDCG(gains=3)",
        "AP AP(rel=2) success x y",
        "success",
        "prefs_simp",
        "map_avgjg",
        "utility.1,2",
    ],
)
def test_a_wrong_expression_says_what_is_wrong_and_where(text: str, kept: Kept):
    with kept.raises(UsageError):
        parse_measure(text)


def test_the_case_of_a_measure_does_not_matter():
    assert [str(one) for one in parse_measures(["ndcg@10", "Map", "p@5", "RBP"])] == ["nDCG@10", "AP", "P@5", "RBP"]


def test_unknown_names_come_with_the_nearest(kept: Kept):
    with kept.raises(UnknownName):
        parse_measure("nDGC@10")
    with kept.raises(UnknownName):
        parse_measure("nDCG(gian=linear)")
