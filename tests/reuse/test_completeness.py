"""What a score would be if the pool went deeper: against labels that are known, and where nothing can be told."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from kept import Kept

from cranfield.evaluate.align import align
from cranfield.evaluate.lists import Sample
from cranfield.evaluate.measure import parse_measure
from cranfield.qrels.qrels import qrels_of, sorted_qrels
from cranfield.reuse.assess import Knowledge, assess_measures
from cranfield.reuse.completeness import Completion, _Labelled
from cranfield.reuse.provenance import Contributor, provenance_of
from cranfield.reuse.verdict import Evidence, Thresholds, account, completed_score, verdict_of
from cranfield.runs.run import Run

ROOT = Path(__file__).parents[2]


def scores(alignment, measure):
    return measure.values(alignment.lists).reshape(alignment.scored.shape).mean(axis=1)


@pytest.fixture(scope="module")
def collection(made):
    return made(seed=3, topics=40, documents=400, groups=10, depth=10, length=120, rates=(0.1,), taste=1.5)


@pytest.fixture(scope="module")
def completion(collection):
    return Completion(collection.alignment, collection.prefixes.by("group"))


def deeper(collection, depth):
    """The runs against the labels of all that any of them retrieves down to a depth."""
    pooled = {
        (topic, document) for run in collection.runs for topic, documents, _ in run for document in documents[:depth]
    }
    qrels = qrels_of([row for row in collection.everything if row[:2] in pooled])
    return align(qrels, collection.runs)


@pytest.mark.parametrize("name", ["AP", "nDCG", "Rprec", "Bpref"])
def test_completed_scores_are_near_the_truth(collection, completion, name):
    measure = parse_measure(name)
    now, truth = scores(collection.alignment, measure), scores(deeper(collection, completion.depth), measure)
    (found,) = completion.of([measure], rng=np.random.default_rng(1))
    assert completion.depth == 100
    assert np.abs(found.value - truth).mean() < max(np.abs(now - truth).mean(), 0.015)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.7
    assert (found.low < found.high).all()


def test_what_is_drawn_for_a_document_is_the_same_in_all_runs_and_counts_in_r(collection, completion):
    pairs = completion._pairs
    labelled = _Labelled(pairs, np.full(40, 10), np.full(40, 100))
    here = pairs.of_row >= 0
    assert (labelled.grade[pairs.of_row[here]] >= 0).sum() == (collection.alignment.lists.grades >= 0).sum()
    measures = [parse_measure(name) for name in ("AP", "P@100", "NumRel")]
    now = [scores(collection.alignment, measure) for measure in measures]
    np.testing.assert_allclose(pairs.scores(measures[:2], labelled.grade), now[:2])
    everything = np.where(labelled.open, np.int32(1), labelled.grade)
    _, precision, relevant = pairs.scores(measures, everything)
    assert (precision > now[1]).all()
    assert (relevant == (everything > 0).sum()).all()


def test_what_was_judged_below_the_pool_counts_but_is_no_sample_to_learn_from(collection, completion):
    """Judgments of a queue of settle, say: here those of all relevant documents at ranks 11 to 20 of one run."""
    pooled = {row[:2] for row in collection.qrels}
    below = {(topic, document) for topic, documents, _ in collection.runs[0] for document in documents[10:20]}
    chosen = [row for row in collection.everything if row[:2] in below - pooled and row[2] > 0]
    qrels = qrels_of([*collection.qrels, *chosen])
    alignment = align(qrels, collection.runs, keep_rows=True)
    prefixes = provenance_of(alignment, qrels, collection.runs, collection.prefixes.contributors, depth=10)
    found = Completion(alignment, prefixes.by("group"))
    (more, *_), (before, *_) = found._now._fitted, completion._now._fitted
    np.testing.assert_array_equal(more, before)
    assert len(chosen) > 20
    assert (found._now.grade > 0).sum() == (completion._now.grade > 0).sum() + len(chosen)


def test_topics_may_be_pooled_to_different_depths(collection):
    depth = {f"t{number:03}": 10 if number % 2 else 30 for number in range(40)}
    pooled = {
        (topic, document)
        for run in collection.runs
        for topic, documents, _ in run
        for document in documents[: depth[topic]]
    }
    qrels = qrels_of([row for row in collection.everything if row[:2] in pooled])
    alignment = align(qrels, collection.runs, keep_rows=True)
    depths = np.array([depth[topic] for topic in alignment.topic_ids])
    prefixes = provenance_of(alignment, qrels, collection.runs, collection.prefixes.contributors, depth=depths)
    completion, measure = Completion(alignment, prefixes.by("group")), parse_measure("AP")
    truth = scores(deeper(collection, 100), measure)
    (found,) = completion.of([measure], rng=np.random.default_rng(1))
    assert not found.unknown
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.7


def test_the_same_draws_give_the_same_scores_whatever_other_measures_there_are(completion):
    measures = [parse_measure(name) for name in ("AP", "nDCG", "Bpref")]
    first, again = (completion.of(measures, rng=np.random.default_rng(5)) for _ in range(2))
    alone = [completion.of([measure], rng=np.random.default_rng(5))[0] for measure in measures]
    for one, other, by_itself in zip(first, again, alone, strict=True):
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.value, by_itself.value)


def test_no_score_is_completed_to_a_rank_that_no_contributing_run_has(made):
    long, short = (made(depth=10, length=length) for length in (130, 30))
    assert [Completion(one.alignment, one.prefixes.by("group")).depth for one in (long, short)] == [100, 30]


def test_where_nothing_can_be_told_the_reason_is_given(made, collection, kept: Kept):
    shallow = made(depth=9, length=30)
    ended = made(depth=10, length=10)
    known = collection.prefixes.by("group")
    removed = np.zeros((len(known.groups), len(known.owner)), dtype=bool)
    sample = Sample(*(np.zeros(1, dtype=np.int64),) * 5)
    for alignment, provenance in (
        (shallow.alignment, shallow.prefixes.by("group")),
        (ended.alignment, ended.prefixes.by("group")),
        (replace(collection.alignment, pair_keys=None), known),
        (collection.alignment, replace(known, removed=removed)),
        (replace(collection.alignment, lists=replace(collection.alignment.lists, stratified=sample)), known),
    ):
        (found,) = Completion(alignment, provenance).of([parse_measure("AP")], rng=np.random.default_rng(1))
        kept(found.unknown)
        assert found.of_run(0) is None
        assert found.uneven[0] == 0


@pytest.mark.parametrize("relevant", [15, 25])
def test_where_the_pool_contradicts_what_is_expected_of_a_deeper_one_nothing_is_told(relevant, kept: Kept):
    """Topics whose relevant documents are all ranked high, and relevant to no other topic: they run out."""
    rng, topics, length = np.random.default_rng(1), 20, 100
    topic, document = np.arange(topics)[:, np.newaxis], np.arange(topics * relevant)
    is_relevant = document % topics == topic
    worth = 3 * is_relevant + 0.7 * rng.normal(size=is_relevant.shape)
    topic_ids = pa.array([f"t{number:02}" for number in range(topics)], pa.large_string())
    document_ids = pa.array([f"d{number:03}" for number in document.tolist()], pa.large_string())
    offsets, falling = np.arange(topics + 1, dtype=np.int64) * length, np.tile(np.arange(length, 0, -1.0), topics)
    runs, pooled = [], np.zeros_like(is_relevant)
    for number in range(6):
        best = np.argsort(-worth - 0.7 * rng.normal(size=worth.shape), axis=1)[:, :length]
        runs.append(Run(f"r{number}", topic_ids, offsets, document_ids, best.ravel().astype(np.int32), falling))
        np.put_along_axis(pooled, best[:, :10], values=True, axis=1)
    places = (one.astype(np.int32) for one in np.nonzero(pooled))
    qrels = sorted_qrels(
        (topic_ids, next(places)), (document_ids, next(places)), is_relevant[pooled].astype(np.int32)
    )
    alignment = align(qrels, runs, keep_rows=True)
    prefixes = provenance_of(alignment, qrels, runs, [Contributor(run.tag, run.tag) for run in runs], depth=10)
    (found,) = Completion(alignment, prefixes.by("group")).of([parse_measure("AP")], rng=rng)
    kept(found.unknown)


def test_a_measure_that_looks_below_the_pool_never_passes_as_plainly_pooled(collection):
    provenance = collection.prefixes.by("group")
    _, (deep, cut) = assess_measures(
        collection.alignment,
        [parse_measure("AP"), parse_measure("P@5")],
        Knowledge(provenance.depth, provenance),
        thresholds=Thresholds().with_values({"caution_drift": 100}),
        learn="where unjudged",
    )
    assert {one.title for one in deep.verdicts} == {"POOLED to rank 10"}
    assert {one.title for one in cut.verdicts} == {"POOLED"}
    assert all(one.completed is not None and one.completed[0] == 100 for one in deep.evidence)
    assert all(one.completed is None for one in cut.evidence)


def test_runs_that_a_deeper_pool_would_change_unlike_the_others_are_not_called_pooled(kept: Kept):
    good = Evidence(judged=1.0, topics=50, low_topics=0, unjudged=0, pooled=True, score=0.3, low=0.3, high=0.3)
    below = {"to_rank": "10", "interval_to": "10", "goes_on": True, "depth": "10"}
    deep = replace(good, **below, completed=(100, 0.26, 0.24, 0.29), uneven=-0.011)
    assert verdict_of(good).title == "POOLED"
    assert verdict_of(replace(deep, uneven=-0.01)).title == "POOLED to rank 10"
    uneven = verdict_of(deep)
    assert (uneven.level, uneven.rule) == ("CAUTION", "uneven-drift")
    kept(account("r", "AP", 0.3, "judged@10", deep, uneven, contributed=True))
    unknown = replace(deep, completed=None, uneven=0.0)
    kept(account("r", "AP", 0.3, "judged@10", unknown, verdict_of(unknown), contributed=True))
    wide = replace(deep, pooled=False, unjudged=3, high=0.305)
    assert verdict_of(wide).rule == "uneven-drift"
    assert verdict_of(replace(wide, high=0.4, loss=0.001, upper=0.002, groups=22)).rule == "uneven-drift"


@pytest.mark.shared
@pytest.mark.parametrize("depth", [10, 20, 50])
def test_on_trec_2_completed_scores_are_nearer_to_the_truth_at_every_depth(depth):
    sys.path.append(str(ROOT / "docs"))
    collection = import_module("left_out").trec_2(ROOT.parent / "shared" / "data" / "trec-2-adhoc")
    pool, full = (collection.qrels(one) for one in (depth, 100))
    alignment, whole = align(pool, collection.runs, keep_rows=True), align(full, collection.runs)
    prefixes = provenance_of(alignment, pool, collection.runs, collection.contributors, depth=depth)
    completion = Completion(alignment, prefixes.by("group"))
    for name in ("AP", "nDCG", "Rprec", "Bpref"):
        measure = parse_measure(name)
        now, truth = scores(alignment, measure), scores(whole, measure)
        (found,) = completion.of([measure], rng=np.random.default_rng(1))
        assert np.abs(found.value - truth).mean() < np.abs(now - truth).mean()
        assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.7


@pytest.mark.parametrize(
    ("completed", "shown"),
    [((100, 0.24, 0.22, 0.27), ".24, .22–.27"), ((200, 0.7277, 0.7276, 0.7279), ".7277, .7276–.7279"), (None, "")],
)
def test_a_completed_score_is_short_and_its_ends_never_look_the_same_where_they_are_not(completed, shown):
    evidence = Evidence(judged=1.0, topics=50, low_topics=0, unjudged=0, completed=completed)
    assert completed_score(evidence) == shown
