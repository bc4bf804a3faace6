"""Verdicts: the table of rules, in order, and how they are worded."""

import math
from dataclasses import replace

import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import ProblemsFound
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import measures, parse_measure
from cranfield.reuse.assess import tolerance_of
from cranfield.reuse.verdict import Evidence, Thresholds, account, verdict_of

GOOD = Evidence(
    judged=0.95, topics=50, low_topics=0, unjudged=25, low=0.5, high=0.6, loss=0.004, upper=0.01, groups=22
)


@pytest.mark.parametrize(("measure", "ranks"), [("DCG@2", 2), ("DCG", 4)])
def test_without_a_highest_value_the_tolerance_is_a_share_of_a_list_full_of_the_highest_grade(measure, ranks):
    lists = align(qrels_from({"1": {"a": 2, "b": 1}}), [ranking_from({"1": list("abcd")})]).lists
    full = sum(2 / math.log2(rank + 1) for rank in range(1, ranks + 1))
    assert tolerance_of(parse_measure(measure), lists, Thresholds()) == pytest.approx(0.01 * full, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("SAFE", "small-loss")),
        ({"pool_judged": 0.62}, ("PROVISIONAL", "pool-unfinished")),
        ({"topic_pool_judged": 0.98}, ("PROVISIONAL", "topic-unfinished")),
        ({"pooled_unjudged": 0.011}, ("PROVISIONAL", "pooled-unjudged")),
        ({"pooled_unjudged": 0.01}, ("SAFE", "small-loss")),
        ({"judged": 0.49, "upper_blind": 0.03}, ("CAUTION", "coverage")),
        ({"judged": 0.49, "upper_blind": 0.031}, ("UNRELIABLE", "minority-judged")),
        ({"low_topics": 11, "upper_blind": 0.03}, ("SAFE", "small-loss")),
        ({"judged": 0.1, "depth_known": False, "loss": None}, ("UNTESTABLE", "kappa-unknown")),
        ({"pooled": True, "judged": 1.0, "unjudged": 0}, ("POOLED", "contributed")),
        ({"unjudged": 0, "judged": 1.0}, ("SAFE", "no-holes")),
        ({"high": 0.51}, ("SAFE", "narrow-interval")),
        ({"judged": 0.49}, ("UNRELIABLE", "minority-judged")),
        ({"low_topics": 11}, ("UNRELIABLE", "topics-unjudged")),
        ({"low_topics": 10}, ("SAFE", "small-loss")),
        ({"loss": 0.031}, ("UNRELIABLE", "large-loss")),
        ({"loss": -0.031}, ("UNRELIABLE", "large-loss")),
        ({"untestable": "nobody knows", "loss": None, "upper": None}, ("UNTESTABLE", "kappa-unknown")),
        ({"loss": None, "upper": None}, ("UNTESTABLE", "kappa-unknown")),
        ({"loss": 0.011}, ("CAUTION", "loss")),
        ({"loss": -0.011}, ("CAUTION", "loss")),
        ({"loss": 0.03}, ("CAUTION", "loss")),
        ({"upper": 0.031}, ("CAUTION", "upper-loss")),
        ({"judged": 0.79}, ("CAUTION", "coverage")),
        ({"low": None, "high": None}, ("SAFE", "small-loss")),
    ],
)
def test_each_rule_gives_its_level(changes, expected):
    found = verdict_of(replace(GOOD, **changes))
    assert (found.level, found.rule) == expected
    assert found.reason


ALL_WRONG = Evidence(
    judged=0.1,
    topics=10,
    low_topics=9,
    unjudged=9,
    low=0.1,
    high=0.9,
    pool_judged=0.5,
    loss=0.5,
    upper=0.9,
    pooled=True,
)


def test_the_first_rule_that_applies_wins():
    levels = []
    evidence = ALL_WRONG
    steps = [
        {"pool_judged": 1.0, "unjudged": 0},
        {"unjudged": 9, "high": 0.105},
        {"high": 0.9},
        {"judged": 0.6},
        {"low_topics": 1},
        {"loss": None, "untestable": "no groups"},
        {"loss": 0.02, "untestable": ""},
        {"loss": 0.0},
        {"upper": 0.0},
        {"judged": 0.9},
    ]
    for step in [{}, *steps]:
        evidence = replace(evidence, **step)
        levels.append((verdict_of(evidence).level, verdict_of(evidence).rule))
    assert levels == [
        ("PROVISIONAL", "pool-unfinished"),
        ("POOLED", "contributed"),
        ("SAFE", "narrow-interval"),
        ("UNRELIABLE", "minority-judged"),
        ("UNRELIABLE", "topics-unjudged"),
        ("UNRELIABLE", "large-loss"),
        ("UNTESTABLE", "kappa-unknown"),
        ("CAUTION", "loss"),
        ("CAUTION", "upper-loss"),
        ("CAUTION", "coverage"),
        ("SAFE", "small-loss"),
    ]


def test_direct_evidence_beats_a_bad_collection():
    whole = replace(
        GOOD, unjudged=0, judged=1.0, loss=None, upper=None, untestable="only 1 group contributed to the pool"
    )
    assert (verdict_of(whole).level, verdict_of(whole).rule) == ("SAFE", "no-holes")


def test_a_run_that_is_hardly_judged_is_unreliable_even_where_nothing_can_be_learned():
    dark = replace(GOOD, judged=0.3, loss=None, upper=None, untestable="only 1 group contributed to the pool")
    assert verdict_of(dark).rule == "minority-judged"


def test_thresholds_are_one_table_that_can_be_set():
    strict = Thresholds().with_values({"tolerance": 0.002, "caution_judged": 0.99})
    assert verdict_of(replace(GOOD, tolerance=strict.tolerance, loss=0.001, upper=0.001), strict).rule == "coverage"
    rows = list(strict.rows())
    assert rows[0][:3] == ("tolerance", 0.002, 0.01)
    assert all(meaning for *_, meaning in rows)


def test_thresholds_that_cannot_be_are_all_listed_at_once(kept: Kept):
    with pytest.raises(ProblemsFound) as caught:
        Thresholds().with_values({"tolerence": 0.1, "caution_judged": 1.5, "caution_loss": float("nan")})
    told = [problem.message for problem in caught.value.problems]
    kept(told[0])
    kept(told[1:])


def test_facts_counts_samples_and_condensed_lists_take_no_verdict():
    taken = {name for name, kind in measures.items() if _with_cutoff(name, kind.cutoff).takes_verdict}
    refused = set(measures.names()) - taken
    assert {"AP", "nDCG", "P", "RR", "RBP", "Bpref", "Rprec", "R", "Success", "DCG", "ERR", "Q"} <= taken
    assert {
        "infAP",
        "xinfAP",
        "infNDCG",
        "statP",
        "statAP",
        "Judged",
        "NumRel",
        "NumRelRet",
        "RBPResidual",
    } <= refused
    assert not parse_measure("nDCG(judged_only=True)@10").takes_verdict


def _with_cutoff(name, cutoff):
    return parse_measure(name + {"needed": "@10", "level": "@0.5"}.get(cutoff, ""))


def test_the_account_reads_as_in_the_design(kept: Kept):
    evidence = replace(GOOD, judged=0.74, low_topics=4, unjudged=130, low=0.571, high=0.835, loss=0.043, upper=0.071)
    kept(account("dense-v2", "nDCG@10", 0.61, "judged@10", evidence, verdict_of(evidence)))


@pytest.mark.parametrize(
    ("changes", "contributed"),
    [
        ({"pooled": True, "judged": 1.0, "unjudged": 0, "depth": "10"}, True),
        ({"loss": None, "upper": None, "untestable": "only 2 groups contributed to the pool", "unjudged": 1}, False),
        ({"loss": -0.02, "upper": -0.04, "upper_is_maximum": True, "groups": 5}, True),
        ({"upper": -0.04}, True),
        ({"judged": 0.9999, "low": None, "high": None}, False),
    ],
)
def test_other_cases_are_worded_for_people_too(changes, contributed, kept: Kept):
    evidence = replace(GOOD, **changes)
    kept(account("r", "nDCG@10", 0.6, "judged@10", evidence, verdict_of(evidence), contributed=contributed))


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"loss": 0.0104, "upper": 0.02}, "expected loss .0104 (limit .010)"),
        ({"loss": -0.0304, "upper": -0.04}, "expected to fall by .0304 once judged (limit .030)"),
        ({"loss": 0.0096, "upper": 0.02}, "expected loss .0096 (limit .010)"),
        ({"loss": 0.005, "upper": 0.03004}, "loss may reach .0300 (95%; limit .030)"),
        ({"judged": 0.7958, "loss": 0.0, "upper": 0.0}, "79.58% judged (limit 80%)"),
        ({"judged": 0.4962}, "only 49.62% judged (limit 50%)"),
        ({"pool_judged": 0.9876}, "98.76% of the pool judged"),
    ],
)
def test_a_number_never_looks_like_the_limit_that_it_exceeds(changes, shown):
    assert verdict_of(replace(GOOD, **changes)).reason == shown


def test_a_nearly_finished_pool_never_looks_finished(kept: Kept):
    kept(verdict_of(replace(GOOD, pool_judged=0.9899)).reason)
    kept(verdict_of(replace(GOOD, topic_pool_judged=0.9899)).reason)
    assert verdict_of(replace(GOOD, pool_judged=0.99, topic_pool_judged=0.99)).level == "SAFE"


def test_an_interval_that_lies_beside_the_score_is_as_wide_as_the_way_to_it():
    beside = replace(GOOD, unjudged=1, pooled=False, score=0.7778, low=0.6667, high=0.6667)
    assert verdict_of(beside).rule != "narrow-interval"
    assert verdict_of(replace(beside, score=0.6667)).rule == "narrow-interval"


def test_a_loss_that_is_no_number_is_not_known():
    strange = replace(GOOD, unjudged=3, pooled=False, low=0.1, high=0.9, loss=float("nan"), upper=float("nan"))
    assert verdict_of(strange).level == "UNTESTABLE"


def test_a_plan_that_goes_on_is_provisional_by_its_topics(kept: Kept):
    kept(verdict_of(replace(GOOD, finished=0.0)).reason)


def test_pooled_says_for_how_many_topics_there_is_no_list(kept: Kept):
    said = verdict_of(replace(GOOD, pooled=True, unjudged=0, topics=25, missing=25))
    kept(said.reason)
