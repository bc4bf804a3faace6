"""The real thing: the pool of TREC-2, with figures that were computed by other means, twice."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept import Kept

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.collection import check_testability, decay_of, examine, hold_out_levels, new_by_depth
from cranfield.reuse.hold_out import hold_out_all, uniques_of
from cranfield.reuse.provenance import NOBODY, Contributor, infer_pool, provenance_of
from cranfield.runs.check import Expectations, check, repair
from cranfield.runs.reading import read_rows

TREC_2 = Path(__file__).parents[2].parent / "shared" / "data" / "trec-2-adhoc"
TOPICS = frozenset(str(topic) for topic in range(101, 151))
MEASURES = parse_measures(["AP", "P@10", "nDCG@10", "Judged@10"])
AP, P10, NDCG, _ = MEASURES

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def a_run(path):
    rows = read_rows(Source(path))
    name = path.name.removeprefix("input.").removesuffix(".gz")
    return repair(rows, check(rows, Expectations(topics=TOPICS)), name=name)[0]


@pytest.fixture(scope="module")
def runs():
    return [a_run(path) for path in sorted((TREC_2 / "runs").iterdir())]


@pytest.fixture(scope="module")
def qrels():
    text = (TREC_2 / "qrels" / "qrels.101-150.disk1.disk2").read_text(encoding="utf-8")
    return qrels_of(
        [(topic, document, int(grade)) for topic, _, document, grade in map(str.split, text.splitlines())]
    )


@pytest.fixture(scope="module")
def contributors(runs):
    told = (TREC_2 / "meta" / "desc.xml").read_text(encoding="utf-8")
    groups = dict(re.findall(r"<tag>(.*?)</tag>\s*<organization>(.*?)</organization>", told))
    return [Contributor(run.tag, groups[run.tag], contributing=run.tag != "rutfmed") for run in runs]


@pytest.fixture(scope="module")
def report(runs, qrels, contributors):
    aligned = align(qrels, runs)
    levels = provenance_of(aligned, qrels, runs, contributors, depth=100).levels()
    return examine(aligned, levels["group"], hold_out_levels(aligned, levels, MEASURES), MEASURES)


def test_orphans_and_uniques(report):
    assert (report.judged, report.provenance.orphans) == (62_620, 62_620 - 51_395)
    assert report.provenance.orphans / report.judged == pytest.approx(0.179, abs=0.0005)
    assert report.relevant / report.judged == 11_645 / 62_620
    uniques = {level: (one.uniques.judged.sum(), one.uniques.relevant.sum()) for level, one in report.levels.items()}
    assert uniques == {"run": (26_866, 2_743), "group": (31_755, 3_507)}
    by_group, groups = report.levels["group"].uniques, report.provenance.groups
    assert dict(zip(groups, by_group.relevant.tolist(), strict=True))["Verity Corp."] == 386
    assert sorted(by_group.relevant.tolist())[-3:] == [362, 384, 386]
    assert sorted(report.levels["run"].uniques.relevant.tolist())[-3:] == [221, 328, 386]


@pytest.mark.parametrize(
    ("level", "measure", "mean", "largest", "worst", "lowest_tau", "mean_tau", "rank_drop"),
    [
        ("run", AP, 0.0236, 0.1150, "TOPIC2", 0.9858, 0.9978, 3),
        ("group", AP, 0.0393, 0.1150, "lsia1", 0.9716, 0.9938, 4),
        ("run", P10, 0.0117, 0.1057, "prc2", 0.9799, 0.9986, 7),
        ("group", P10, 0.0201, 0.1220, "prc2", 0.9799, 0.9968, 7),
    ],
)
def test_drops_and_rankings(report, level, measure, mean, largest, worst, lowest_tau, mean_tau, rank_drop):
    found = report.levels[level].summaries[measure]
    assert round(found.relative.mean, 4) == mean
    assert (round(found.relative.largest, 4), found.relative.worst) == (largest, worst)
    assert (round(found.lowest_tau_b, 4), round(found.tau_b, 4)) == (lowest_tau, mean_tau)
    assert (max(one.drop for one in found.rerankings), found.reversals) == (rank_drop, 0)


def test_the_same_run_can_be_the_worst_by_a_digit_more(report):
    drops = {
        level: dict(zip(one.held_out.own.run_names, one.held_out.own.relative[0], strict=True))
        for level, one in report.levels.items()
    }
    assert drops["run"]["TOPIC2"] == pytest.approx(0.114973, abs=1e-6)
    assert drops["run"]["lsia1"] == pytest.approx(0.114259, abs=1e-6)
    assert drops["group"]["lsia1"] == pytest.approx(0.115011, abs=1e-6)


def test_absolute_drops(report):
    found = {level: one.summaries[AP] for level, one in report.levels.items()}
    assert [round(one.drop.mean, 4) for one in found.values()] == [0.0080, 0.0045]
    assert [round(one.drop.largest, 4) for one in found.values()] == [0.0274, 0.0274]
    by_precision = {level: one.summaries[P10] for level, one in report.levels.items()}
    assert [round(one.drop.mean, 5) for one in by_precision.values()] == [0.00854, 0.0047]
    assert [round(one.drop.largest, 3) for one in by_precision.values()] == [0.048, 0.046]


def test_the_verdict_is_with_care(report):
    assert [verdict.fairness for verdict in report.verdicts] == ["with care", "with care", "fair"]
    assert report.fairness == "with care"
    assert [problem.code for problem in report.problems] == ["orphans"]


def test_zobel_s_curve(report):
    new = report.new_by_depth.relevant.sum(axis=0)
    assert new[:10].tolist() == [441, 329, 272, 260, 226, 215, 208, 185, 174, 163]
    half = decay_of(new[:50])
    assert (round(half.c, 1), round(half.s, 4), round(half.beyond())) == (446.2, -0.4132, 3728)
    assert new[50:].sum() == 3331
    whole = report.decay
    assert (round(whole.c, 1), round(whole.s, 4), round(whole.beyond())) == (503.5, -0.4627, 4912)
    assert whole.beyond(errors=-1.0) < whole.beyond() < whole.beyond(errors=1.0)


@pytest.mark.parametrize(
    ("depth", "judged", "relevant", "unique", "means", "largest", "judged_after"),
    [
        (10, 7_214, 2_473, 1_293, (0.0962, 0.1862), (0.2940, 0.4938, 0.4622), (0.681, 0.340)),
        (20, 12_863, 3_930, 1_814, (0.0757, 0.0981), (0.2295, 0.3320, 0.3121), (0.770, 0.400)),
        (50, 28_082, 7_036, 2_773, (0.0538, 0.0385), (0.1622, 0.1743, 0.1741), (0.848, 0.440)),
        (100, 51_395, 10_367, 3_507, (0.0401, 0.0201), (0.1178, 0.1220, 0.1236), (0.883, 0.462)),
    ],
)
def test_pools_of_other_depths(
    runs, qrels, contributors, depth, judged, relevant, unique, means, largest, judged_after
):
    brought = provenance_of(align(qrels, runs), qrels, runs, contributors, depth=depth).owner != NOBODY
    made = qrels_of([row for row, kept in zip(qrels, brought, strict=True) if kept])
    assert (len(made), int((made.grades > 0).sum())) == (judged, relevant)
    aligned = align(made, runs)
    provenance = provenance_of(aligned, made, runs, contributors, depth=depth)
    own = hold_out_all(aligned, provenance, MEASURES).own
    assert uniques_of(aligned, provenance).relevant.sum() == unique
    assert tuple(round(own.spreads(measure)[1].mean, 4) for measure in (AP, P10)) == means
    assert tuple(round(own.spreads(measure)[1].largest, 4) for measure in (AP, P10, NDCG)) == largest
    assert (round(own.held_out[3].mean(), 3), round(own.held_out[3].min(), 3)) == judged_after


def test_scores_in_32_bits_give_the_other_counts(runs, qrels, contributors):
    aligned = align(qrels, runs, reference="9")
    provenance = provenance_of(aligned, qrels, runs, contributors, depth=100)
    by_run = provenance_of(aligned, qrels, runs, contributors, depth=100).by("run")
    assert int(provenance.judged.sum()) - provenance.orphans == 51_392
    assert (provenance.removed_counts.sum(), by_run.removed_counts.sum()) == (31_752, 26_863)
    assert new_by_depth(aligned, provenance).relevant.sum() == 10_367


def test_the_contributors_are_guessed_right(runs, qrels):
    guess = infer_pool(align(qrels, runs))
    assert guess.depth == 100
    assert [one.run for one in guess.contributors if not one.contributing] == ["rutfmed"]


TEN = ["Brkly3", "dortL2", "crnlL2", "INQ001", "siems2", "lsia1", "pircs3", "CLARTM", "cityau", "VTcms2"]


def guessed(qrels, runs, *names):
    return infer_pool(align(qrels, [run for run in runs if run.tag in names]))


@pytest.fixture(scope="module")
def made_again(runs, qrels, contributors):
    """The pools that ten of the runs alone would have made, by their depth."""
    aligned = align(qrels, runs)
    fed = [replace(one, contributing=one.run in TEN) for one in contributors]
    found = {}
    for depth in (10, 20, 50):
        prefixes = provenance_of(aligned, qrels, runs, fed, depth=depth)
        rows = np.unique(prefixes.rows)
        documents = qrels.document_ids.to_pylist()
        found[depth] = qrels_of(
            [
                (qrels.topics[topic], documents[document], int(grade))
                for topic, document, grade in zip(
                    qrels.topic_of_row[rows], qrels.documents[rows], qrels.grades[rows], strict=True
                )
            ]
        )
    return found


@pytest.mark.parametrize("depth", [10, 20, 50])
def test_a_pool_of_ten_runs_is_guessed_from_its_runs_and_not_from_others(runs, made_again, depth):
    pool = made_again[depth]
    for names in (TEN, TEN[:5], ["Brkly3", "dortL2"]):
        guess = guessed(pool, runs, *names)
        assert (abs(guess.depth - depth) <= 1, guess.fed.all()) == (True, True)
    for pair in (
        ("HNCad1", "HNCad2"),
        ("pircs4", "dortQ2"),
        ("INQ002", "crnlV2"),
        ("prc1", "prc2"),
        ("TMC8", "TMC9"),
    ):
        assert guessed(pool, runs, *pair).refusal
    outside = [run.tag for run in runs if run.tag not in TEN]
    assert guessed(pool, runs, *outside).refusal
    everybody = guessed(pool, runs, *TEN, *outside)
    assert abs(everybody.depth - depth) <= 1
    assert {one.run for one in everybody.contributors if one.contributing} == set(TEN)


def test_two_runs_of_the_whole_pool_tell_its_depth(runs, qrels):
    for pair in (("cityau", "crnlL2"), ("CLARTA", "siems2"), ("siems3", "prc1"), ("citri1", "erima2")):
        assert abs(guessed(qrels, runs, *pair).depth - 100) <= 1


@pytest.mark.parametrize("depth", [110, 120, 150, 200])
def test_a_depth_beyond_the_pool_is_told_with_the_depth_that_it_had(runs, qrels, contributors, depth, kept: Kept):
    aligned = align(qrels, runs)
    provenance = provenance_of(aligned, qrels, runs, contributors, depth=depth).by("group")
    problems = check_testability(aligned, provenance)
    told = [problem for problem in problems if problem.code == "depth-beyond-the-pool"]
    assert [problem.severity for problem in told] == ["warning"]
    kept(told[0].message)


@pytest.mark.parametrize("depth", [10, 50, 100])
def test_a_depth_that_the_pool_had_is_not_doubted(runs, qrels, contributors, depth):
    aligned = align(qrels, runs)
    provenance = provenance_of(aligned, qrels, runs, contributors, depth=depth).by("group")
    problems = check_testability(aligned, provenance)
    assert "depth-beyond-the-pool" not in [problem.code for problem in problems]
