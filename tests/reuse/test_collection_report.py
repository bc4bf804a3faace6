"""A collection seen from outside: what is reported, what the verdict is, and what makes it untestable."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

import cranfield as cf
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.reuse.collection import _verdict as collection_verdict
from cranfield.reuse.collection import check_testability, examine, hold_out_levels
from cranfield.reuse.provenance import Contributor, pooled_shares, provenance_of
from cranfield.reuse.verdict import Thresholds

MEASURES = parse_measures(["AP", "P@5"])
(AP, P5) = MEASURES


def a_collection(*, groups=12, topics=10, own=0, depth=20):
    """Runs of some groups: all find the same relevant documents, and each `own` more that nobody else finds."""
    rng = np.random.default_rng(3)
    relevant = [f"r{number}" for number in range(10)]
    ids = [str(topic) for topic in range(topics)]
    judged = {topic: {} for topic in ids}
    runs = []
    for group in range(groups):
        lists = {}
        for topic in ids:
            ranked = [*relevant, *(f"n{number}" for number in range(9 - own))]
            rng.shuffle(ranked)
            ranked = [*(f"own{group}-{number}" for number in range(own)), *ranked, f"x{group}"]
            judged[topic] |= {document: int(document[0] in "ro") for document in ranked[:depth]}
            lists[topic] = [*ranked, f"y{group}", f"z{group}"]
        runs.append(ranking_from(lists, tag=f"run{group:02d}"))
    contributors = [Contributor(run.tag, f"group{number:02d}") for number, run in enumerate(runs)]
    return qrels_from(judged), runs, contributors


def report_of(qrels, runs, contributors, *, depth=20, **options):
    aligned = align(qrels, runs)
    levels = provenance_of(aligned, qrels, runs, contributors, depth=depth).levels()
    return examine(aligned, levels["group"], hold_out_levels(aligned, levels, MEASURES), MEASURES, **options)


def codes(report):
    return [(problem.code, problem.severity) for problem in report.problems]


def test_a_pool_without_uniques_is_fair():
    report = report_of(*a_collection())
    assert report.fairness == "fair"
    assert [(one.measure, one.fairness, one.drop) for one in report.verdicts] == [
        (AP, "fair", 0.0),
        (P5, "fair", 0.0),
    ]
    assert codes(report) == []
    assert list(report.levels) == ["group", "run"]


def test_a_pool_in_which_everybody_is_alone_with_the_best_is_unfair(kept: Kept):
    report = report_of(*a_collection(own=2))
    assert report.fairness == "unfair"
    verdict = report.verdicts[1]
    assert verdict.drop > 0.06
    kept(verdict.reason)


def test_what_counts_as_fair_can_be_set():
    qrels, runs, contributors = a_collection(own=2)
    assert report_of(qrels, runs, contributors, thresholds=Thresholds(fair=0.01, unfair=0.99)).fairness == "with care"
    assert report_of(qrels, runs, contributors, thresholds=Thresholds(fair=0.001, unfair=0.002)).fairness == "unfair"
    assert report_of(qrels, runs, contributors, thresholds=Thresholds(fewest_groups=13)).fairness == "untestable"


def test_a_significant_difference_that_turns_round_is_no_fair_pool(kept: Kept):
    ids = [str(topic) for topic in range(20)]
    runs = [
        ranking_from({topic: ["a", "b", "z"] for topic in ids}, tag="A"),
        ranking_from({topic: ["z", "c"] for topic in ids}, tag="B"),
        ranking_from({topic: ["y", "z", "c"] for topic in ids}, tag="C"),
        ranking_from({topic: ["z", "y", "c"] for topic in ids}, tag="D"),
    ]
    qrels = qrels_from({topic: {"a": 1, "b": 1, "c": 1, "z": int(topic) % 2, "y": 0} for topic in ids})
    contributors = [Contributor(name, name) for name in "ABCD"]
    report = report_of(qrels, runs, contributors, depth=3, thresholds=Thresholds(fair=0.99, unfair=1))
    assert report.verdicts[1].fairness == "with care"
    kept(report.verdicts[1].reason)


@pytest.mark.parametrize("groups", [1, 2])
def test_one_or_two_groups_are_untestable(groups, kept: Kept):
    report = report_of(*a_collection(groups=groups))
    assert report.fairness == "untestable"
    assert codes(report)[0] == ("few-groups", "error")
    kept(report.verdicts[0].reason)
    assert math.isnan(report.verdicts[0].drop)
    assert ("group" in report.levels) == (groups == 2)


def test_few_groups_are_told():
    assert codes(report_of(*a_collection(groups=5))) == [("few-groups", "warning")]


def test_qrels_of_positives_alone_are_untestable():
    qrels, runs, contributors = a_collection()
    positives = qrels_from({"0": {"r0": 1, "r1": 1}, "1": {"r2": 1}})
    assert ("positives-only", "error") in codes(report_of(positives, runs, contributors))
    assert report_of(positives, runs, contributors).fairness == "untestable"
    assert report_of(qrels, runs, contributors).fairness == "fair"


def test_where_no_loss_can_be_estimated_the_fairness_of_the_pool_is_not_known():
    topics, groups = [str(number) for number in range(8)], {f"run{number}": f"group{number}" for number in range(7)}
    ranked = {f"d{place}": 9.0 - place for place in range(8)}
    judged = {f"d{place}": place % 2 for place in range(5)}
    qrels = {topic: judged | ({f"own{name}": 0 for name in groups} if topic == "0" else {}) for topic in topics}
    runs = {name: dict.fromkeys(topics, ranked) | {"0": {f"own{name}": 9.5} | ranked} for name in groups}
    runs["other"] = dict.fromkeys(topics, ranked) | {"0": {"new": 9.5} | ranked}
    found = cf.open_files(qrels=qrels, runs=runs, groups=groups, pool_depth=5, progress=False).reuse(measures="P@5")
    other = found.runs.set_index("run").loc["other"]
    assert (other.verdict, found.fairness) == ("UNTESTABLE", "untestable")
    assert [other.reason] == [*found.collection.reason]


def test_a_depth_deeper_than_the_pool_is_untestable(kept: Kept):
    qrels, runs, contributors = a_collection(own=1, depth=10)
    assert codes(report_of(qrels, runs, contributors, depth=10)) == []
    report = report_of(qrels, runs, contributors, depth=100)
    assert codes(report) == [("depth-does-not-fit", "error"), ("depth-beyond-the-pool", "warning")]
    kept(report.verdicts[0].reason)


def test_a_depth_shallower_than_the_pool_is_untestable_because_most_is_nobodys():
    qrels, runs, contributors = a_collection(own=5)
    report = report_of(qrels, runs, contributors, depth=1)
    assert ("orphans", "error") in codes(report)
    assert report.fairness == "untestable"


def test_a_contributor_that_was_none_is_named(kept: Kept):
    qrels, runs, contributors = a_collection()
    stranger = ranking_from({"0": [f"{'rs'[number % 2]}{number // 2}" for number in range(20)]}, tag="stranger")
    report = report_of(qrels, [*runs, stranger], [*contributors, Contributor("stranger", "other")])
    (problem,) = report.problems
    assert (problem.code, problem.severity) == ("run-does-not-fit", "warning")
    kept(problem.message)


def test_orphans_are_told(kept: Kept):
    qrels, runs, contributors = a_collection()
    rows = {topic: {} for topic in qrels.topics}
    for topic, document, grade in qrels:
        rows[topic][document] = grade
    for topic in rows:
        rows[topic] |= {"orphan1": 0, "orphan2": 1, "open": -1, "x3": 1}
    aligned_qrels = qrels_from(rows)
    told = report_of(aligned_qrels, runs, contributors, depth=20)
    assert codes(told) == [("orphans", "warning")]
    assert (told.provenance.orphans, told.fairness) == (20, "fair")
    kept(told.problems[0].message)


def test_the_numbers_of_the_pool_are_there():
    report = report_of(*a_collection(own=1))
    assert report.relevant == 10 * (10 + 12)
    assert report.judged == 10 * (10 + 8 + 12 + 12)
    assert report.relevant / report.judged == pytest.approx(22 / 42)
    assert report.levels["group"].uniques.relevant.tolist() == [10] * 12
    assert report.levels["group"].uniques.judged.tolist() == [20] * 12
    assert report.new_by_depth.relevant.sum() == report.relevant
    assert report.new_by_depth.relevant[:, 0].tolist() == [12] * 10
    group = report.levels["group"]
    assert group.held_out.provenance.method == "deletion"
    assert (group.summaries[P5].relative.runs, group.summaries[P5].reversals) == (12, 0)


def test_families_are_a_level_where_all_have_one():
    qrels, runs, contributors = a_collection(own=1)
    with_family = [replace(one, family="even" if number % 2 else "odd") for number, one in enumerate(contributors)]
    report = report_of(qrels, runs, with_family)
    assert list(report.levels) == ["group", "run", "family"]
    assert report.levels["family"].uniques.relevant.tolist() == [60, 60]


def test_the_pooled_share_of_each_contributor_is_that_of_its_prefix():
    qrels = qrels_from({"1": {"a": 1, "b": -1}})
    runs = [ranking_from({"1": ["a", "b", "c"]}, tag="A"), ranking_from({"1": ["x"]}, tag="B")]
    aligned = align(qrels, runs)
    provenance = provenance_of(
        aligned, qrels, runs, [Contributor("A", "x"), Contributor("B", "y", "", False)], depth=3
    )
    np.testing.assert_allclose(pooled_shares(aligned, provenance), [2 / 3, np.nan])
    found = check_testability(aligned, provenance)
    assert [problem.code for problem in found] == ["few-groups", "positives-only", "depth-does-not-fit"]


def test_a_pool_that_flatters_outsiders_is_no_fairer_than_one_that_wrongs_them(kept: Kept):
    told = SimpleNamespace(relative=SimpleNamespace(mean=-0.08, runs=5), reversals=0)
    verdict = collection_verdict(AP, told, "", Thresholds())
    assert verdict.fairness == "unfair"
    kept(verdict.reason)
