"""Near-duplicates scored by novelty: only the first of a cluster is worth anything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.base.errors import InputError
from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure, parse_measures
from cranfield.evaluate.scores import by_novelty, score
from cranfield.qrels.reading import read_qrels

JUDGED = {"a1": 2, "a2": 2, "b": 1, "c1": 0, "c2": 1, "n": 0}
CLUSTERS = {"a1": 1, "a2": 1, "a3": 1, "c1": 2, "c2": 2}


def novel(judged: dict[str, int], ranking: list[str], clusters: dict[str, int], *measures: str) -> list[float]:
    qrels, run = qrels_from({"1": judged}), ranking_from({"1": ranking})
    lists = by_novelty(align(qrels, [run]), qrels, [run], clusters).lists
    return [float(parse_measure(measure).values(lists)[0]) for measure in measures]


def test_a_later_member_counts_as_not_relevant():
    got = novel({"a1": 1, "a2": 1, "b": 1}, ["a1", "a2", "b"], CLUSTERS, "P@3", "AP", "NumRel", "NumJudgedNonrel")
    assert got == [pytest.approx(2 / 3), pytest.approx((1 + 2 / 3) / 2), 2.0, 1.0]


def test_the_ideal_ranking_has_each_cluster_once_with_its_best_grade():
    judged = {"a1": 1, "a2": 3, "b": 1}
    assert novel(judged, ["a2", "b", "a1"], CLUSTERS, "nDCG", "Recall@2", "Rprec") == [1.0, 1.0, 1.0]
    assert novel(judged, ["a1", "b", "a2"], CLUSTERS, "nDCG") == [
        pytest.approx((1 + 1 / 1.584962500721156) / (3 + 1 / 1.584962500721156))
    ]


def test_an_unjudged_copy_makes_no_later_one_redundant_and_a_judged_one_does():
    assert novel({"a1": 2, "a2": -1}, ["a3", "a2", "a1"], CLUSTERS, "RR", "Judged@3") == [1 / 3, pytest.approx(1 / 3)]
    assert novel({"c1": 0, "c2": 1}, ["c1", "c2"], CLUSTERS, "RR", "NumRel") == [0.0, 1.0]


def test_clusters_do_not_reach_across_topics_or_runs():
    qrels = qrels_from({"1": {"a1": 1}, "2": {"a2": 1}})
    runs = [ranking_from({"1": ["a1"], "2": ["a2"]}, tag="x"), ranking_from({"1": ["a2", "a1"]}, tag="y")]
    aligned = by_novelty(align(qrels, runs), qrels, runs, CLUSTERS)
    assert parse_measure("RR").values(aligned.lists).tolist() == [1.0, 1.0, 0.5, 0.0]


def test_chosen_topics_keep_their_own_counts():
    qrels = qrels_from({"1": {"a1": 1, "a2": 1, "b": 1}, "2": {"a2": 1}})
    run = ranking_from({"2": ["a1", "a2"]})
    aligned = by_novelty(align(qrels, [run], topics=["2"]), qrels, [run], CLUSTERS)
    assert parse_measure("AP").values(aligned.lists).tolist() == [0.5]


def test_the_hash_is_another_one_and_depends_on_the_clusters_alone():
    qrels, run = qrels_from({"1": JUDGED}), ranking_from({"1": ["a1"]})
    plain = align(qrels, [run])
    hashes = [
        by_novelty(plain, qrels, [run], clusters).qrels_hash
        for clusters in (CLUSTERS, {name: f"x{number}" for name, number in CLUSTERS.items()}, {"a1": 1, "a2": 1})
    ]
    assert hashes[0] == hashes[1]
    assert len({plain.qrels_hash, *hashes}) == 3


def test_a_run_that_repeats_itself_falls_behind():
    qrels = qrels_from({"1": {"a1": 1, "a2": 1, "b": 1, "e": 1}})
    runs = [
        ranking_from({"1": ["a1", "a2", "n"]}, tag="copies"),
        ranking_from({"1": ["b", "n", "m", "e"]}, tag="new"),
    ]
    plain = align(qrels, runs)
    measures = parse_measures(["AP"])
    np.testing.assert_allclose(score(plain, measures).summary, [[0.5, 0.375]])
    np.testing.assert_allclose(score(by_novelty(plain, qrels, runs, CLUSTERS), measures).summary, [[1 / 3, 0.5]])


def test_sampled_qrels_are_refused(tmp_path, kept: Kept):
    (tmp_path / "qrels").write_text("1 0 a1 top 1\n", encoding="utf-8")
    qrels, run = read_qrels(Source(tmp_path / "qrels")), ranking_from({"1": ["a1"]})
    with kept.raises(InputError):
        by_novelty(align(qrels, [run]), qrels, [run], CLUSTERS)


documents = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(
    ranking=documents,
    judged=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1),
    clusters=st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 3)),
)
def test_scores_stay_within_bounds_and_are_the_plain_ones_without_clusters(ranking, judged, clusters):
    measures = ["AP", "nDCG", "nDCG@3", "P@3", "R@3", "Rprec", "RR", "Bpref", "Q", "RBP", "ERR"]
    assert all(0 <= value <= 1 + 1e-12 for value in novel(judged, ranking, clusters, *measures))
    lists = align(qrels_from({"1": judged}), [ranking_from({"1": ranking})]).lists
    plain = [float(parse_measure(measure).values(lists)[0]) for measure in measures]
    assert novel(judged, ranking, {}, *measures) == plain
