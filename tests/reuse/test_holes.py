"""Coverage: what of a run nobody judged, down to the depth that matters."""

from dataclasses import replace

import numpy as np
import pytest

from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.assess import Knowledge, assess_runs, coverage_of, measure_depths
from cranfield.reuse.provenance import Contributor, pooled_shares, provenance_of
from cranfield.runs.reading import read_rows
from cranfield.runs.run import ranked


def run_of(tmp_path, tag, lists):
    lines = [
        f"{topic} Q0 {document} {rank} {100 - rank} {tag}\n"
        for topic, documents in lists.items()
        for rank, document in enumerate(documents, start=1)
    ]
    path = tmp_path / f"{tag}.run"
    path.write_text("".join(lines))
    return ranked(read_rows(Source(path)))


@pytest.fixture
def collection(tmp_path):
    qrels = qrels_of(
        [
            ("t1", "a", 1),
            ("t1", "b", 0),
            ("t1", "c", 0),
            ("t1", "p", -1),
            ("t2", "a", 1),
            ("t2", "b", 0),
            ("t3", "z", 1),
        ]
    )
    runs = [
        run_of(tmp_path, "old", {"t1": "abc", "t2": "ab", "t3": "z"}),
        run_of(tmp_path, "new", {"t1": "xapy", "t2": "ab"}),
    ]
    contributors = [Contributor("old", "one"), Contributor("new", "two", contributing=False)]
    alignment = align(qrels, runs)
    return alignment, provenance_of(alignment, qrels, runs, contributors, depth=3)


@pytest.mark.parametrize(
    ("measure", "depth"),
    [
        ("nDCG@10", [10, 10]),
        ("P@5", [5, 5]),
        ("AP", [50, 20]),
        ("AP@30", [30, 30]),
        ("Rprec", [50, 20]),
        ("Bpref", [50, 20]),
        ("nDCG", [50, 20]),
        ("IPrec@0.5", [50, 20]),
        ("RBP(p=0.5)", [7, 7]),
        ("RBP", [21, 21]),
        ("RBP@10", [10, 10]),
    ],
)
def test_the_depth_that_matters_is_the_cutoff_or_the_pool_depth_or_where_the_weight_ends(measure, depth):
    assert measure_depths(parse_measure(measure), np.array([50, 20])).tolist() == depth


def test_judged_at_k_is_over_the_length_of_short_lists_and_says_so(collection):
    alignment, provenance = collection
    coverage = coverage_of(alignment, parse_measure("P@4"), pool_depth=provenance.depth, provenance=provenance)
    np.testing.assert_array_equal(coverage.judged, [[1, 1, 1], [0.25, 1, np.nan]])
    np.testing.assert_array_equal(coverage.count, [[0, 0, 0], [3, 0, 0]])
    np.testing.assert_array_equal(coverage.first, [[0, 0, 0], [1, 0, 0]])
    judged = [coverage.evidence(run, topic_judged=0.5) for run in (0, 1)]
    assert [(one.judged, one.low_topics) for one in judged] == [(1.0, 0), (0.625, 1)]
    assert [(one.topics, one.unjudged) for one in judged] == [(3, 0), (2, 3)]
    assert [coverage.first_unjudged(run) for run in (0, 1)] == [None, 1]


def test_a_contributor_is_pooled_only_as_deep_as_the_pool_goes(collection):
    alignment, provenance = collection
    for measure, pooled in (("P@3", [True, False]), ("P@4", [True, False])):
        coverage = coverage_of(alignment, parse_measure(measure), pool_depth=provenance.depth, provenance=provenance)
        assert [coverage.evidence(run, topic_judged=0.5).pooled for run in (0, 1)] == pooled
    coverage = coverage_of(alignment, parse_measure("P@3"), pool_depth=provenance.depth)
    assert [coverage.evidence(run, topic_judged=0.5).pooled for run in (0, 1)] == [False, False]


def test_a_contributor_with_documents_below_the_pool_depth_is_not_pooled_there(tmp_path):
    qrels = qrels_of([("t1", "a", 1), ("t1", "b", 0), ("t1", "c", 0)])
    runs = [run_of(tmp_path, "old", {"t1": "abc"}), run_of(tmp_path, "other", {"t1": "ca"})]
    alignment = align(qrels, runs)
    contributors = [Contributor("old", "one"), Contributor("other", "two")]
    provenance = provenance_of(alignment, qrels, runs, contributors, depth=2)
    coverage = coverage_of(alignment, parse_measure("P@3"), pool_depth=provenance.depth, provenance=provenance)
    assert [coverage.evidence(run, topic_judged=0.5).pooled for run in (0, 1)] == [False, True]
    assert coverage.evidence(0, topic_judged=0.5).unjudged == 0


def test_a_pool_that_is_shallow_in_one_topic_does_not_pool_the_run_there(tmp_path):
    qrels = qrels_of([(topic, document, 0) for topic in ("t1", "t2") for document in "abc"])
    runs = [run_of(tmp_path, "old", {"t1": "abc", "t2": "cba"})]
    alignment = align(qrels, runs)
    provenance = provenance_of(alignment, qrels, runs, [Contributor("old", "one")], depth=np.array([3, 1]))
    coverage = coverage_of(alignment, parse_measure("P@3"), pool_depth=provenance.depth, provenance=provenance)
    assert coverage.contributed.tolist() == [[True, False]]
    assert not coverage.evidence(0, topic_judged=0.5).pooled


def test_for_rbp_it_is_the_weight_that_stands_on_judged_documents(collection):
    alignment, provenance = collection
    for measure in ("RBP", "RBP(p=0.5)"):
        coverage = coverage_of(alignment, parse_measure(measure), pool_depth=provenance.depth)
        residual = (
            parse_measure(measure.replace("RBP", "RBPResidual"))
            .values(alignment.lists)
            .reshape(alignment.scored.shape)
        )
        known = alignment.present
        np.testing.assert_allclose(coverage.judged[known], 1 - residual[known], atol=1e-12)
    cut = coverage_of(alignment, parse_measure("RBP(p=0.5)@2"), pool_depth=provenance.depth)
    np.testing.assert_allclose(cut.judged, [[1, 1, 1], [1 / 3, 1, np.nan]], atol=1e-12)


def test_what_is_pooled_and_waiting_makes_the_pool_unfinished(collection):
    alignment, provenance = collection
    knowledge = Knowledge(provenance.depth, provenance)
    found = assess_runs(alignment, parse_measure("P@4"), knowledge, rng=np.random.default_rng(1))
    assert found.evidence[0].pool_judged == pytest.approx(6 / 7)
    assert found.verdicts[0].rule == "pool-unfinished"


@pytest.fixture
def nearly_complete(tmp_path):
    """A pool of 300 documents in which one has no grade: the first of both runs."""
    names = [f"d{number:03}" for number in range(300)]
    qrels = qrels_of([("t", name, -1 if name == "d000" else number % 2) for number, name in enumerate(names)])
    above, below = {"t": names}, {"t": [*names[1:250], "d000"]}
    runs = [run_of(tmp_path, "above", above), run_of(tmp_path, "below", below)]
    return align(qrels, runs)


def test_a_nearly_complete_pool_counts_as_complete_except_for_whom_it_matters(nearly_complete):
    knowledge = Knowledge(np.array([300]))
    found = assess_runs(nearly_complete, parse_measure("P@10"), knowledge, rng=np.random.default_rng(1))
    assert [one.rule for one in found.verdicts] == ["pooled-unjudged", "no-holes"]
    assert found.evidence[0].pooled_unjudged == pytest.approx(0.1)
    deep = assess_runs(nearly_complete, parse_measure("P@300"), knowledge, rng=np.random.default_rng(1))
    assert deep.evidence[0].pooled_unjudged == pytest.approx(1 / 300)
    assert "PROVISIONAL" not in {one.level for one in deep.verdicts}


@pytest.mark.parametrize(("ungraded", "rule"), [(1, "no-holes"), (2, "topic-unfinished")])
def test_one_ungraded_document_of_a_small_pool_is_no_unfinished_topic(tmp_path, ungraded, rule):
    names, topics = [f"d{number}" for number in range(9)], [f"t{number:02}" for number in range(30)]
    waiting = {("t00", name) for name in names[:ungraded]}
    qrels = qrels_of([(topic, name, -1 if (topic, name) in waiting else 0) for topic in topics for name in names])
    runs = [run_of(tmp_path, "r", dict.fromkeys(topics, names[ungraded:]))]
    found = assess_runs(
        align(qrels, runs), parse_measure("P@5"), Knowledge(np.full(30, 9)), rng=np.random.default_rng(1)
    )
    assert [one.rule for one in found.verdicts] == [rule]


def test_in_a_sample_what_was_not_drawn_is_not_waiting(tmp_path):
    rows = [("t", name, -1 if place % 2 else place % 3 // 2) for place, name in enumerate("abcdefgh")]
    run, knowledge = run_of(tmp_path, "r", {"t": "abcdefgh"}), Knowledge(np.array([8]))
    for strata, rule in ((None, "pool-unfinished"), (np.zeros(8, dtype=np.int32), "kappa-unknown")):
        qrels = replace(qrels_of(rows), strata=strata, stratum_names=("all",))
        found = assess_runs(align(qrels, [run]), parse_measure("P@4"), knowledge, rng=np.random.default_rng(1))
        assert found.verdicts[0].rule == rule


def test_contributors_that_the_qrels_do_not_know_show(tmp_path):
    qrels = qrels_of([("t1", "a", 1), ("t1", "b", 0)])
    runs = [run_of(tmp_path, "good", {"t1": "ab"}), run_of(tmp_path, "odd", {"t1": "axyz"})]
    alignment = align(qrels, runs)
    contributors = [Contributor("good", "one"), Contributor("odd", "two")]
    provenance = provenance_of(alignment, qrels, runs, contributors, depth=4)
    assert pooled_shares(alignment, provenance).tolist() == [1.0, 0.25]


def test_the_pool_depth_is_told_as_one_number_or_as_a_range(collection):
    alignment, _ = collection
    for depth, words in (([5, 5, 5], "5"), ([5, 9, 7], "5 to 9")):
        assert coverage_of(alignment, parse_measure("AP"), pool_depth=np.array(depth)).depth_in_words == words
