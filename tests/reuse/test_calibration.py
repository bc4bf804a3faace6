"""Calibration: expected and true losses agree, and few runs called SAFE have lost much."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept import Kept

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.assess import Knowledge, assess_runs, why_untestable
from cranfield.reuse.provenance import Contributor, pooled_shares, prefixes_of, provenance_of
from cranfield.reuse.verdict import Thresholds

ROOT = Path(__file__).parents[2]
TREC_2 = ROOT.parent / "shared" / "data" / "trec-2-adhoc"
MEASURES = [parse_measure("nDCG@10"), parse_measure("P@10")]

_specification = importlib.util.spec_from_file_location("calibration_page", ROOT / "docs" / "calibration.py")
script = sys.modules["calibration_page"] = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(script)


@pytest.mark.parametrize(
    "shape",
    [
        {"rates": (0.15,)},
        {"rates": (0.4,)},
        {"rates": (0.3, 0.12, 0.04)},
        {"rates": (0.15,), "groups": 5, "runs": 2},
        {"rates": (0.1,), "depth": 25},
    ],
    ids=str,
)
def test_expected_and_true_losses_of_made_collections_agree_in_the_mean(made, shape):
    collections = [made(seed=seed, topics=50, **shape) for seed in range(3)]
    for place, _ in enumerate(MEASURES):
        found = [
            script.calibrated(one.alignment, one.prefixes, MEASURES, rng=np.random.default_rng(1))[place]
            for one in collections
        ]
        true, expected = (np.concatenate([getattr(one, name) for one in found]) for name in ("true", "expected"))
        safe = np.concatenate([one.true_where("SAFE") for one in found])
        assert expected.mean() == pytest.approx(true.mean(), rel=0.2, abs=0.001)
        assert np.mean([one.covered for one in found]) > 0.85
        assert (safe > 2 * Thresholds().tolerance).sum() <= 0.05 * len(safe)


@pytest.mark.parametrize("name", ["P@5", "RR"])
def test_with_few_topics_too_most_losses_stay_below_their_upper_ends(made, name):
    collections = [made(seed=seed, topics=10, groups=10) for seed in range(6)]
    found = [
        script.calibrated(one.alignment, one.prefixes, [parse_measure(name)], rng=np.random.default_rng(1))[0]
        for one in collections
    ]
    assert np.mean([one.covered for one in found]) > 0.9


@pytest.mark.parametrize("depth", [3, 5, 10])
def test_real_outsiders_lose_what_is_expected_when_everything_is_judged(made, depth):
    true, expected = [], []
    for seed in range(4):
        collection = made(seed=seed, topics=50, groups=10, pooled=6, rates=(0.2, 0.05), depth=depth)
        provenance = collection.prefixes.by("group")
        whole = align(collection.everything, collection.runs)
        measure = MEASURES[1]
        found = assess_runs(
            collection.alignment, measure, Knowledge(provenance.depth, provenance), rng=np.random.default_rng(1)
        )
        lost = (measure.values(whole.lists) - measure.values(collection.alignment.lists)).reshape(whole.shape)
        true.append(lost.mean(axis=1)[collection.outsiders])
        expected.append(found.loss.mean[collection.outsiders])
    assert np.mean(expected) == pytest.approx(np.mean(true), rel=0.15)
    assert np.corrcoef(np.concatenate(expected), np.concatenate(true))[0, 1] > 0.5


def test_the_labels_that_only_the_outsider_brought_have_no_say_in_what_it_is_expected_to_lose(made):
    collection = made()
    provenance = collection.prefixes.by("group")
    mine = np.flatnonzero(provenance.owner == 2)
    changed = replace(collection.qrels, grades=collection.qrels.grades.copy())
    changed.grades[mine] = 1 - changed.grades[mine]
    alignment = align(changed, collection.runs, keep_rows=True)
    prefixes = prefixes_of(alignment, changed, collection.runs, collection.prefixes.contributors, depth=10)
    before, after = (
        script.calibrated(one, pre, MEASURES, rng=np.random.default_rng(1))[0]
        for one, pre in ((collection.alignment, collection.prefixes), (alignment, prefixes))
    )
    place = before.run_names.index("run-2-0")
    assert after.expected[place] == pytest.approx(before.expected[place], abs=1e-12)
    assert after.true[place] != pytest.approx(before.true[place])


def untestable(made, *, contributing, depth=10, only_positive=False):
    collection = made()
    rows = [row for row in collection.qrels if row[2] > 0] if only_positive else list(collection.qrels)
    qrels = qrels_of(rows)
    alignment = align(qrels, collection.runs)
    contributors = [
        Contributor(run.tag, group, contributing=bool(group))
        for run, group in zip(collection.runs, contributing, strict=True)
    ]
    provenance = provenance_of(alignment, qrels, collection.runs, contributors, depth=depth)
    found = assess_runs(alignment, MEASURES[1], Knowledge(provenance.depth, provenance), rng=np.random.default_rng(1))
    assert why_untestable(alignment, provenance) == found.untestable
    assert found.loss is None
    return found, pooled_shares(alignment, provenance)


EACH = list("abcdefgh")


def test_one_group_alone_teaches_nothing(made, kept: Kept):
    found, _ = untestable(made, contributing=["a", "a", "", "", "", "", "", ""])
    kept(found.untestable)


def test_positives_alone_teach_nothing(made, kept: Kept):
    found, _ = untestable(made, contributing=EACH, only_positive=True)
    kept(found.untestable)
    assert {verdict.level for verdict in found.verdicts} <= {"UNTESTABLE", "UNRELIABLE"}


def test_a_pool_depth_that_does_not_fit_the_qrels_teaches_nothing(made, kept: Kept):
    found, shares = untestable(made, contributing=EACH, depth=40)
    kept(found.untestable)
    assert (shares < 0.99).sum() == 8


def test_one_group_that_owns_most_of_what_is_unique_teaches_nothing(made, kept: Kept):
    found, _ = untestable(made, contributing=["a", "a", "a", "a", "a", "a", "b", "c"])
    kept(found.untestable)


def test_runs_that_all_say_the_same_teach_nothing(made, kept: Kept):
    collection = made(groups=1, length=10)
    runs = [replace(collection.runs[0], tag=tag) for tag in EACH]
    alignment = align(collection.qrels, runs)
    contributors = [Contributor(tag, tag) for tag in EACH]
    provenance = provenance_of(alignment, collection.qrels, runs, contributors, depth=10)
    found = assess_runs(alignment, MEASURES[0], Knowledge(provenance.depth, provenance), rng=np.random.default_rng(1))
    kept(found.untestable)
    assert {verdict.level for verdict in found.verdicts} == {"POOLED"}


def test_a_family_with_three_groups_teaches_about_its_own_runs(made):
    collection = made(pooled=7)
    provenance = collection.prefixes.by("group")
    families = ["lexical"] * 4 + ["dense"] * 4
    knowledge = Knowledge(provenance.depth, provenance, families=families)
    found = assess_runs(collection.alignment, MEASURES[1], knowledge, rng=np.random.default_rng(1))
    plain = assess_runs(
        collection.alignment, MEASURES[1], Knowledge(provenance.depth, provenance), rng=np.random.default_rng(1)
    )
    assert [family for family, _ in found.family_models] == ["dense", "lexical"]
    dense = dict(found.family_models)["dense"]
    assert [group for group, _ in dense.by_group] == ["group-4", "group-5", "group-6"]
    assert found.evidence[7].groups == 3
    assert found.loss.mean[7] != plain.loss.mean[7]


@pytest.fixture(scope="module")
def trec_2():
    script.MEASURES = ("nDCG@10", "P@10")
    qrels = TREC_2 / "qrels" / "qrels.101-150.disk1.disk2"
    runs = script.runs_in(TREC_2 / "runs", script.topics_of(qrels))
    return runs, script.rows_of(qrels), script.groups_of(TREC_2 / "meta" / "desc.xml")


REFERENCE = {
    20: (0.0404, 0.0410, 0.61, 0.0087),
    50: (0.0150, 0.0158, 0.52, 0.0118),
    100: (0.0073, 0.0081, 0.50, 0.0202),
}
"""nDCG@10 on TREC-2 in a first-order form: mean expected and true loss, correlation, largest true loss of the safe"""


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("depth", sorted(REFERENCE))
def test_trec_2_comes_out_at_least_as_well_as_computed_elsewhere_and_as_the_page_says(trec_2, depth):
    ndcg, precision = script.calibrations(*trec_2, depth)
    expected, true, correlation, largest = REFERENCE[depth]
    assert len(ndcg.true) == 37
    assert ndcg.true.mean() == pytest.approx(true, abs=0.00005)
    assert abs(ndcg.expected.mean() - ndcg.true.mean()) <= abs(expected - true) + 0.00005
    assert ndcg.correlation > correlation
    assert ndcg.true_where("SAFE").max() <= largest + 0.00005
    assert precision.expected.mean() == pytest.approx(precision.true.mean(), rel=0.06)
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in text.strip("|").split("|")] for text in page.splitlines() if text[:1] == "|"]
    for found in (ndcg, precision):
        assert list(script.line(depth, found))[:6] in [row[:6] for row in rows]
