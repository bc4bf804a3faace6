"""Leave-out-uniques against brute force: the qrels made anew without the group, and everything evaluated again."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mappings import qrels_from, ranking_from, run_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measures
from cranfield.evaluate.scores import score
from cranfield.qrels.qrels import qrels_of, sorted_qrels
from cranfield.reuse.hold_out import Reranking, hold_out_all, uniques_of
from cranfield.reuse.provenance import Contributor, provenance_of

MEASURES = parse_measures(
    [
        "AP AP@3 P@3 R@3 RR nDCG nDCG@3 nDCG(gain='exponential')@2 DCG@4 RBP RBP(gain='scaled') Bpref",
        "ERR Q Rprec Judged@3 Success@2 AP(rel=2) nDCG(judged_only=True)@3 nDCGRel G IPrecAvg",
        "RBPResidual FirstUnjudged",
    ]
)
TOPICS = ("1", "2", "3")
DOCUMENTS = tuple("abcdefgh")

fewer = settings(max_examples=settings().max_examples // 2)
"""Each example evaluates a whole collection once for every group."""


@st.composite
def collections(draw):
    """Small collections with ties, missing topics, short lists, graded and negative grades, orphans and outsiders."""
    lists = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3).map(float), min_size=1, max_size=7)
    names = [f"r{number}" for number in range(draw(st.integers(2, 6)))]
    runs = {name: {topic: draw(lists) for topic in TOPICS if draw(st.integers(0, 4))} for name in names}
    grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1, max_size=8)
    qrels = {topic: draw(grades) for topic in TOPICS}
    contributors = [
        Contributor(
            name, draw(st.sampled_from("xyz")), draw(st.sampled_from("lm")), number == 0 or draw(st.booleans())
        )
        for number, name in enumerate(names)
    ]
    return {name: lists or {"1": {"a": 1.0}} for name, lists in runs.items()}, qrels, contributors


def ranked(lists, topic):
    """Rank the slow and obvious way: score descending, ties by id descending."""
    return sorted(
        lists.get(topic, {}), key=lambda document: (lists[topic][document], document.encode()), reverse=True
    )


def rows_of(runs, qrels, contributors, *, depth, level, without):
    """Give the qrels without what only one group brought."""
    member = {one.run: one.member_of(level) for one in contributors if one.contributing}
    kept = []
    for topic, grades in qrels.items():
        for document, grade in grades.items():
            brought = {member[run] for run in member if document in ranked(runs[run], topic)[:depth]}
            if brought != {without}:
                kept.append((topic, document, grade))
    return kept


def again(rows, runs):
    """Evaluate everything again; a topic without any row keeps its place, with the value of a list of nothing."""
    reduced = qrels_of(rows)
    if not rows:
        return np.zeros((len(MEASURES), len(runs), len(TOPICS)))
    scores = score(align(reduced, list(runs.values())), MEASURES)
    values = np.zeros((len(MEASURES), len(runs), len(TOPICS)))
    values[:, :, [TOPICS.index(topic) for topic in scores.topic_ids]] = scores.values
    return values


UNTOUCHED_BY_QRELS = [place for place, one in enumerate(MEASURES) if one.name in ("RBPResidual", "FirstUnjudged")]


@fewer
@given(collections(), st.integers(1, 4), st.sampled_from(["group", "run", "family"]))
def test_holding_out_equals_evaluating_again_with_rebuilt_qrels(collection, depth, level):
    lists, qrels, contributors = collection
    runs = {name: run_from(some, tag=name) for name, some in lists.items()}
    known = qrels_from(qrels)
    aligned = align(known, list(runs.values()))
    provenance = provenance_of(aligned, known, list(runs.values()), contributors, depth=depth).by(level)
    everything = hold_out_all(aligned, provenance, MEASURES)
    own = everything.own
    members = sorted({one.member_of(level) for one in contributors if one.contributing})
    assert list(provenance.groups) == members
    for number, group in enumerate(members):
        rows = rows_of(lists, qrels, contributors, depth=depth, level=level, without=group)
        expected, found = again(rows, runs), everything.values[number].copy()
        left = [topic in {topic for topic, _, _ in rows} for topic in TOPICS]
        for place in UNTOUCHED_BY_QRELS:  # these are not 0 for a topic that nobody judged
            expected[place][:, ~np.array(left)] = found[place][:, ~np.array(left)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        mine = [place for place, name in enumerate(own.run_names) if members[own.group_of_run[place]] == group]
        all_places = [list(runs).index(own.run_names[place]) for place in mine]
        summaries = replace(everything.full, values=found).summary
        np.testing.assert_allclose(own.held_out[:, mine], summaries[:, all_places], rtol=0, atol=1e-12)


@fewer
@given(collections(), st.integers(1, 4))
def test_uniques_are_what_only_one_group_brought(collection, depth):
    lists, qrels, contributors = collection
    runs, known = [run_from(some, tag=name) for name, some in lists.items()], qrels_from(qrels)
    aligned = align(known, runs)
    provenance = provenance_of(aligned, known, runs, contributors, depth=depth)
    found = uniques_of(aligned, provenance, rel=2)
    for number, group in enumerate(provenance.groups):
        rows = rows_of(lists, qrels, contributors, depth=depth, level="group", without=group)
        gone = {(t, d): g for t, some in qrels.items() for d, g in some.items()}.items() - {
            (t, d): g for t, d, g in rows
        }.items()
        assert found.judged[number] == sum(grade >= 0 for _, grade in gone)
        assert found.relevant[number] == sum(grade >= 2 for _, grade in gone)


@fewer
@given(collections(), st.integers(1, 4))
def test_a_kept_pool_says_the_same_as_its_depth(collection, depth):
    lists, qrels, contributors = collection
    runs, known = [run_from(some, tag=name) for name, some in lists.items()], qrels_from(qrels)
    aligned = align(known, runs)
    entries = [(t, d, name) for name, some in lists.items() for t in some for d in ranked(some, t)[:depth]]
    by_depth = provenance_of(aligned, known, runs, contributors, depth=depth)
    kept = provenance_of(aligned, known, runs, contributors, entries=[*entries, ("9", "a", "r0"), ("1", "zz", "r0")])
    for level in ("run", "group", "family"):
        assert kept.by(level).owner.tolist() == by_depth.by(level).owner.tolist()


SAMPLED = parse_measures(["AP nDCG@3"])


def a_sample(rows):
    """Give qrels with strata of (topic, document, grade, stratum)."""
    columns = list(zip(*rows, strict=True))
    coded = []
    for column in (columns[0], columns[1], columns[3]):
        words = sorted(set(column))
        coded.append((words, np.array([words.index(word) for word in column], dtype=np.int32)))
    return sorted_qrels(
        (pa.array(coded[0][0], pa.large_string()), coded[0][1]),
        (pa.array(coded[1][0], pa.large_string()), coded[1][1]),
        np.array(columns[2], dtype=np.int32),
        strata=coded[2][1],
        stratum_names=tuple(coded[2][0]),
    )


@fewer
@given(collections(), st.integers(0, 2**32))
def test_groups_are_held_out_of_samples_with_strata_too(collection, seed):
    lists, qrels, contributors = collection
    rng = np.random.default_rng(seed)
    runs = {name: run_from(some, tag=name) for name, some in lists.items()}
    rows = [
        (topic, document, grade, str(rng.choice(["deep", "top"])))
        for topic, some in qrels.items()
        for document, grade in some.items()
    ]
    known = a_sample(rows)
    aligned = align(known, list(runs.values()))
    provenance = provenance_of(aligned, known, list(runs.values()), contributors, depth=3)
    everything = hold_out_all(aligned, provenance, SAMPLED)
    for number, group in enumerate(provenance.groups):
        kept = {(t, d) for t, d, _ in rows_of(lists, qrels, contributors, depth=3, level="group", without=group)}
        left = [row for row in rows if row[:2] in kept]
        expected = np.zeros((len(SAMPLED), len(runs), len(TOPICS)))
        if left:
            scores = score(align(a_sample(left), list(runs.values())), SAMPLED)
            expected[:, :, [TOPICS.index(topic) for topic in scores.topic_ids]] = scores.values
        np.testing.assert_allclose(everything.values[number], expected, rtol=0, atol=1e-12)


def worked():
    """Three groups: x alone brought the relevant a, y alone the irrelevant c; b is everybody's, o nobody's."""
    runs = [
        ranking_from({"1": ["a", "b", "c"]}, tag="A"),
        ranking_from({"1": ["b", "c", "a"]}, tag="B"),
        ranking_from({"1": ["b", "q", "a"]}, tag="C"),
        ranking_from({"1": ["o", "a"]}, tag="new"),
    ]
    qrels = qrels_from({"1": {"a": 1, "b": 1, "c": 0, "o": 0, "q": -1}})
    contributors = [Contributor("A", "x"), Contributor("B", "y"), Contributor("C", "z")]
    aligned = align(qrels, runs)
    return aligned, provenance_of(aligned, qrels, runs, contributors, depth=2)


def test_a_worked_example_by_hand():
    aligned, provenance = worked()
    (ap,) = parse_measures(["AP"])
    own = hold_out_all(aligned, provenance, [ap]).own
    assert own.run_names == ("A", "B", "C")
    np.testing.assert_allclose(own.full, [[1, 5 / 6, 5 / 6]])
    np.testing.assert_allclose(own.held_out, [[1 / 2, 5 / 6, 5 / 6]])
    np.testing.assert_allclose(own.relative, [[1 / 2, 0, 0]], atol=1e-12)
    found = uniques_of(aligned, provenance)
    assert (found.judged.tolist(), found.relevant.tolist()) == ([1, 1, 0], [1, 0, 0])
    assert provenance.orphans == 1
    assert int(provenance.judged.sum()) == 4


def test_all_runs_are_ranked_again_without_each_group():
    aligned, provenance = worked()
    (ap,) = parse_measures(["AP"])
    without_x, without_y, without_z = hold_out_all(aligned, provenance, [ap]).rerankings(ap)
    # full: A 1, B and C 5/6, new 1/4; without x: A 1/2, B and C 1, new 0
    assert without_x == Reranking("x", 1 / 5, pytest.approx(1 / 3), "A", 2)
    assert (without_y.tau_b, without_y.drop) == (1.0, 0)
    assert (without_z.tau_b, without_z.run) == (1.0, "C")


def test_a_score_may_rise_and_the_sign_is_kept():
    runs = [ranking_from({"1": ["b", "q", "a"]}, tag="A"), ranking_from({"1": ["b"]}, tag="B")]
    qrels = qrels_from({"1": {"a": 1, "b": 1}})
    aligned = align(qrels, runs)
    provenance = provenance_of(aligned, qrels, runs, [Contributor("A", "x"), Contributor("B", "y")], depth=3)
    own = hold_out_all(aligned, provenance, parse_measures(["AP"])).own
    np.testing.assert_allclose(own.drop, [[5 / 6 - 1, 0]])


def test_a_topic_that_loses_all_that_is_relevant_stays_with_0_and_is_counted():
    runs = [ranking_from({"1": ["a"], "2": ["b"]}, tag="A"), ranking_from({"1": ["z"], "2": ["b"]}, tag="B")]
    qrels = qrels_from({"1": {"a": 1}, "2": {"b": 1}})
    aligned = align(qrels, runs)
    provenance = provenance_of(aligned, qrels, runs, [Contributor("A", "x"), Contributor("B", "y")], depth=3)
    (ap,) = parse_measures(["AP"])
    assert hold_out_all(aligned, provenance, [ap]).own.held_out.tolist() == [[0.5, 0.5]]


def test_scores_near_zero_have_no_relative_drop():
    run = ranking_from({"1": ["a"], **{str(topic): ["z"] for topic in range(2, 202)}}, tag="A")
    other = ranking_from({"2": ["b"]}, tag="B")
    qrels = qrels_from({"1": {"a": 1}, **{str(topic): {"b": 1} for topic in range(2, 202)}})
    aligned = align(qrels, [run, other])
    given_by = [Contributor("A", "x"), Contributor("B", "y")]
    provenance = provenance_of(aligned, qrels, [run, other], given_by, depth=3)
    own = hold_out_all(aligned, provenance, parse_measures(["AP"])).own
    assert np.isnan(own.relative).all()
    spread = own.spreads(own.measures[0])[1]
    assert (spread.runs, spread.worst, np.isnan(spread.mean)) == (0, "", True)
