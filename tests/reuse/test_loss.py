"""The unjudged relevance ratio and the expected loss: by hand, by trying all labels, and as laws."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import InputError
from cranfield.base.files import Source
from cranfield.evaluate.align import align
from cranfield.evaluate.lists import NOT_POOLED, Lists
from cranfield.evaluate.measure import parse_measure
from cranfield.qrels.qrels import qrels_of
from cranfield.reuse.assess import measure_depths
from cranfield.reuse.expected_loss import ModelCache, expected_loss, scale_model, unjudged_of
from cranfield.reuse.hold_out import hold_out_all, lists_without
from cranfield.reuse.labels import Documents, Labels, Retrieved, count_labels, logit, octave_of
from cranfield.reuse.provenance import Contributor, provenance_of
from cranfield.reuse.unjudged_model import (
    Chain,
    Step,
    UnjudgedModel,
    Upper,
    chances,
    expected_chances,
    fit_chances,
    fit_model,
    is_unlike,
    upper_chances,
)
from cranfield.runs.run import Rows, ranked

SAME = Upper(1.0, 22, is_maximum=False)


def flat_model(*chance: float) -> UnjudgedModel:
    """A model with the same chances for every run: that of reaching each step from the one below."""
    steps = tuple(Step(0.5, float(logit(one)), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0) for one in chance)
    levels = tuple(range(len(chance) + 1))
    return UnjudgedModel(
        levels, 0.5, (), (), SAME, Chain(steps, (0.0,), SAME), None, 0.0, 0.0, SAME, 1.0, 22, 100, 30
    )


def with_chain(model: UnjudgedModel, **changes) -> UnjudgedModel:
    """The model with some of its chances without popularity changed."""
    return replace(model, blind=replace(model.blind, **changes))


def labels_of(judged, own=(), shared=None, *, levels=(0, 1)) -> Labels:
    """Labels of runs that are a group each: counts of judged documents, and own ones (run, topic, octave, level)."""
    judged = np.asarray(judged)
    run, topic, octave, level = np.array(own, dtype=np.int64).reshape(-1, 4).T
    return Labels(
        levels=levels,
        groups=tuple(f"g{number:02}" for number in range(len(judged))),
        group_of_run=np.arange(len(judged), dtype=np.int32),
        judged=judged,
        size=judged.sum(axis=(1, 2)) + np.bincount(run, minlength=len(judged)),
        own=Documents(run, topic, octave),
        own_level=level,
        shared=np.zeros(len(levels), dtype=np.int64) if shared is None else np.asarray(shared),
    )


def documents_at(*octaves: int, run: int = 0) -> Documents:
    """Unjudged documents of one run and one topic."""
    size = len(octaves)
    return Documents(np.full(size, run), np.zeros(size, dtype=np.int64), np.array(octaves))


def small_alignment(rows):
    """One run per row, one topic each way: digits are grades, ? is a hole. Judged but not retrieved: one of each."""
    from cranfield.evaluate.align import Alignment

    grades = [[NOT_POOLED if letter == "?" else int(letter) for letter in row] for row in rows]
    lengths = [len(row) for row in rows]
    lists = Lists(
        grades=np.array([grade for row in grades for grade in row], dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        topics=np.zeros(len(rows), dtype=np.int64),
        levels=np.array([0, 1, 2], dtype=np.int32),
        level_counts=np.array([[4, 2, 1]]),
        highest_grade=2,
    )
    names = tuple(f"r{place}" for place in range(len(rows)))
    there = np.ones((len(rows), 1), dtype=bool)
    return Alignment(names, ("t",), lists, there, there, ((),) * len(rows), np.zeros(sum(lengths), dtype=bool))


def by_trying_all(row, measure, chance, depth, *, power=1):
    """Give the expected score over all labels of the holes within the depth, or that of its square."""
    shares = [1 - chance[0], chance[0] * (1 - chance[1]), chance[0] * chance[1]]
    holes = [place for place, letter in enumerate(row[:depth]) if letter == "?"]
    total = 0.0
    for labels in product(range(3), repeat=len(holes)):
        grades = [NOT_POOLED if letter == "?" else int(letter) for letter in row]
        counts = np.array([4, 2, 1])
        for place, label in zip(holes, labels, strict=True):
            grades[place] = label
            counts[label] += 1
        one = small_alignment([row]).lists
        filled = replace(one, grades=np.array(grades, dtype=np.int32), level_counts=counts[np.newaxis])
        total += float(np.prod([shares[label] for label in labels])) * float(measure.values(filled)[0]) ** power
    return total


ROWS = ["1?0?2", "??1", "012", "?0?1??", "2?"]
CHANCE = (0.3, 0.4)


@pytest.mark.parametrize("name", ["P@3", "P(rel=2)@5", "CG@4", "DCG@5", "DCG(gain='exponential')@5", "RBP", "RBP@3"])
def test_the_loss_of_an_additive_measure_is_the_exact_mean_over_all_labels(name):
    measure = parse_measure(name)
    depth = measure_depths(measure, np.array([5]))
    alignment = small_alignment(ROWS)
    loss = expected_loss(alignment, measure, flat_model(*CHANCE), depth=depth, rng=np.random.default_rng(1), draws=1)
    wanted = [by_trying_all(row, measure, CHANCE, int(depth[0])) for row in ROWS]
    scores = measure.values(alignment.lists)
    np.testing.assert_allclose(loss.mean, wanted - scores, atol=1e-12)
    np.testing.assert_allclose(loss.by_topic[:, 0], wanted - scores, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["nDCG@5", "nDCG", "AP", "RR", "R@3", "Rprec", "Bpref", "Q", "ERR@5", "RBP(gain='topic')", "Success@2"]
)
def test_drawn_losses_come_near_the_mean_over_all_labels(name):
    measure = parse_measure(name)
    depth = measure_depths(measure, np.array([5]))
    alignment = small_alignment(ROWS)
    loss = expected_loss(
        alignment, measure, flat_model(*CHANCE), depth=depth, rng=np.random.default_rng(1), draws=400
    )
    wanted = [by_trying_all(row, measure, CHANCE, int(depth[0])) for row in ROWS]
    np.testing.assert_allclose(loss.mean, wanted - measure.values(alignment.lists), atol=0.02)


@pytest.mark.parametrize(
    ("name", "near"), [("P@3", 1e-9), ("CG@5", 1e-9), ("DCG@5", 1e-9), ("RBP", 1e-9), ("nDCG@5", 0.03), ("RR", 0.03)]
)
def test_the_upper_end_adds_the_luck_of_single_labels(name, near):
    measure = parse_measure(name)
    depth = measure_depths(measure, np.array([5]))
    alignment = small_alignment(ROWS)
    loss = expected_loss(
        alignment, measure, flat_model(*CHANCE), depth=depth, rng=np.random.default_rng(1), draws=400
    )
    first, second = (
        np.array([by_trying_all(row, measure, CHANCE, int(depth[0]), power=power) for row in ROWS])
        for power in (1, 2)
    )
    np.testing.assert_allclose(loss.upper - loss.mean, 1.645 * np.sqrt(np.abs(second - first**2)), atol=near)


def test_luck_and_better_holes_do_not_depend_on_each_other_so_their_squares_add():
    alignment, measure, depth = small_alignment(["1?0?2"]), parse_measure("P@5"), np.array([5])
    known, better = flat_model(*CHANCE), flat_model(2 * CHANCE[0], CHANCE[1])
    wider = with_chain(known, factor=Upper(2.0, 22, is_maximum=False))
    usual, raised, both = (
        expected_loss(alignment, measure, model, depth=depth, rng=np.random.default_rng(1))
        for model in (known, better, wider)
    )
    luck, apart = usual.upper - usual.mean, raised.mean - usual.mean
    assert luck[0] > 0
    np.testing.assert_allclose(both.upper - both.mean, np.sqrt(luck**2 + apart**2))


@pytest.mark.parametrize("name", ["P@3", "nDCG@5"])
def test_the_scale_of_a_measure_multiplies_its_losses(name):
    alignment, measure = small_alignment(ROWS), parse_measure(name)
    plain, raised = (
        expected_loss(
            alignment,
            measure,
            with_chain(flat_model(*CHANCE), scale=scale, factor=Upper(2.0, 22, is_maximum=False)),
            depth=np.array([5]),
            rng=np.random.default_rng(1),
        )
        for scale in (1.0, 1.5)
    )
    np.testing.assert_allclose(raised.mean, 1.5 * plain.mean)
    np.testing.assert_allclose(raised.upper, 1.5 * plain.upper)


def test_a_run_without_holes_that_matter_loses_nothing_and_others_are_not_touched():
    alignment = small_alignment(["012??", "?12"])
    loss = expected_loss(
        alignment, parse_measure("nDCG@3"), flat_model(*CHANCE), depth=np.array([3]), rng=np.random.default_rng(1),
        runs=[0],
    )  # fmt: skip
    np.testing.assert_array_equal(loss.mean, [0.0, np.nan])
    np.testing.assert_array_equal(loss.upper, [0.0, np.nan])


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "P@10"])
def test_the_loss_of_a_run_does_not_depend_on_the_other_runs(made, name):
    collection = made(pooled=5)
    provenance = collection.prefixes.by("group")
    measure = parse_measure(name)
    depth = measure_depths(measure, provenance.depth)
    model = fit_model(count_labels(collection.alignment, depth, provenance))
    everybody = expected_loss(collection.alignment, measure, model, depth=depth, rng=np.random.default_rng(7))
    for run in collection.outsiders:
        alone = align(collection.qrels, [collection.runs[run]])
        loss = expected_loss(alone, measure, model, depth=depth, rng=np.random.default_rng(7))
        np.testing.assert_allclose(
            [loss.mean[0], loss.upper[0]], [everybody.mean[run], everybody.upper[run]], atol=1e-12
        )


def test_a_measure_with_another_way_to_put_topics_together_is_summed_its_own_way():
    alignment = small_alignment(["1?", "??"])
    wide = replace(
        alignment,
        run_names=("r",),
        topic_ids=("a", "b"),
        lists=replace(alignment.lists, topics=np.array([0, 1]), level_counts=np.array([[4, 2, 1]] * 2)),
        present=np.ones((1, 2), dtype=bool),
        scored=np.ones((1, 2), dtype=bool),
    )
    measure = parse_measure("P(agg='max')@2")
    loss = expected_loss(wide, measure, flat_model(*CHANCE), depth=np.array([2, 2]), rng=np.random.default_rng(1))
    assert loss.mean[0] == pytest.approx(0.15)
    # the first topic may rise from 0.65 by the deviation of one label, and the other stays below it
    assert loss.upper[0] == pytest.approx(0.15 + 1.645 * 0.5 * np.sqrt(0.3 * 0.7))


def test_grades_that_the_model_does_not_know_are_refused(kept: Kept):
    alignment = small_alignment(ROWS)
    with kept.raises(InputError):
        expected_loss(
            alignment, parse_measure("AP"), flat_model(0.3), depth=np.array([5]), rng=np.random.default_rng(1)
        )


def run(tag, documents):
    """A run on one topic; a letter is a document."""
    size = len(documents)
    return ranked(
        Rows(
            Source(Path(tag)),
            topic_ids=pa.array(["t"], pa.large_string()),
            topics=np.zeros(size, dtype=np.int32),
            document_ids=pa.array(list(documents), pa.large_string()),
            documents=np.arange(size, dtype=np.int32),
            scores=np.arange(size, 0, -1.0),
            ranks=None,
            tags=((tag, 1),),
        )
    )


def by_hand():
    """Two groups and an outsider on one topic; a and c are common, b and d unique to one, e and f to two."""
    qrels = qrels_of([("t", letter, grade) for letter, grade in zip("abcdef", (1, 1, 0, 0, 1, 0), strict=True)])
    runs = [run("one", "abcd"), run("two", "ecfa"), run("new", "xayb")]
    alignment = align(qrels, runs, keep_rows=True)
    contributors = [Contributor("one", "1"), Contributor("two", "2"), Contributor("new", "3", contributing=False)]
    return alignment, provenance_of(alignment, qrels, runs, contributors, depth=4)


def test_the_tally_parts_what_is_judged_anyway_from_what_only_the_group_brought():
    alignment, provenance = by_hand()
    counts = count_labels(alignment, np.array([4]), provenance)
    assert counts.judged[:, 0].tolist() == [[1, 1], [1, 1], [0, 2]]
    # b stands at rank 2 and d at 4, e at 1 and f at 3: octaves 1 and 2, 0 and 2
    assert counts.own.run.tolist() == [0, 0, 1, 1]
    assert counts.own.octave.tolist() == [1, 2, 0, 2]
    assert counts.own_level.tolist() == [1, 0, 1, 0]
    assert counts.shared.tolist() == [2, 2]
    assert counts.size.tolist() == [4, 4, 4]
    outside = count_labels(alignment, np.array([3]))
    assert outside.judged[:, 0].tolist() == [[1, 2], [2, 1], [0, 1]]
    assert not len(outside.own.run)


def test_ratio_is_the_rate_of_holes_over_the_rate_of_the_other_judged_documents():
    alignment, provenance = by_hand()
    model = fit_model(count_labels(alignment, np.array([4]), provenance))
    assert (model.ratio, model.by_grade, model.by_group) == (1.0, (1.0,), (("1", 1.0), ("2", 1.0)))
    assert (model.groups, model.unjudged, model.relevant, model.spread.is_maximum) == (2, 4, 2, True)
    shallow = fit_model(count_labels(alignment, np.array([3]), provenance))
    # one: a judged, b and c -> b own, c judged; two: c judged, e and f own
    assert shallow.ratio == pytest.approx((2 / 3) / (1 / 3))


def test_each_grade_has_a_ratio_of_its_own():
    levels = [(0, [0] * 8 + [1, 2]), (1, [0] * 8 + [1, 1])]
    own = [(run, 0, 0, level) for run, those in levels for level in those]
    model = fit_model(labels_of([[[4, 4, 2]], [[4, 2, 4]]], own, levels=(0, 1, 2)))
    assert model.by_grade == pytest.approx(((3 / 20) / (6 / 20), (1 / 20) / (6 / 20)))
    assert model.ratio == pytest.approx((4 / 20) / (12 / 20))
    assert len(model.blind.steps) == 2


def test_groups_of_a_family_alone_can_teach():
    alignment, provenance = by_hand()
    counts = count_labels(alignment, np.array([4]), provenance)
    assert fit_model(counts, np.array([1, 2])).by_group == (("2", 1.0),)


def test_holes_of_better_runs_are_relevant_more_often_and_the_model_learns_it():
    rng = np.random.default_rng(3)
    rates = np.linspace(0.2, 0.7, 24)
    hole = chances(-1.5 + 2.5 * (logit(rates) - logit(0.45)))
    judged = rng.binomial(400, rates)
    found = rng.binomial(300, hole)
    own = [(run, 0, 0, int(place < found[run])) for run in range(24) for place in range(300)]
    counts = labels_of(np.stack([400 - judged, judged], axis=1)[:, np.newaxis], own)
    model = fit_model(counts)
    assert model.blind.steps[0].run_slope == pytest.approx(2.5, abs=0.3)
    everyone = Documents(np.arange(24), np.zeros(24, dtype=np.int64), np.zeros(24, dtype=np.int64))
    expected = expected_chances(model, counts, everyone).chances[:, 1]
    np.testing.assert_allclose(expected, hole, atol=0.1)
    assert expected.mean() == pytest.approx(found.mean() / 300, rel=0.02)


def test_beyond_the_rates_of_the_contributors_the_slope_is_at_most_one():
    step = Step(0.5, -1.0, 3.0, 1.0, 0.0, 0.0, -0.5, 0.5)
    model = with_chain(flat_model(0.5), steps=(step,))
    both = Documents(np.array([0, 1]), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))
    seen = logit(expected_chances(model, labels_of(np.array([[[1, 9]], [[10, 10]]]) * 10_000), both).chances[:, 1])
    assert seen[0] == pytest.approx(-1.0 + 3 * 0.5 + (logit(0.9) - 0.5), abs=0.01)
    assert seen[1] == pytest.approx(-1.0, abs=0.01)


def test_the_chance_of_a_hole_depends_on_the_octave_of_its_rank():
    step = Step(0.5, -1.0, 1.0, 1.0, -0.5, 1.0, 0.0, 0.0)
    model = with_chain(flat_model(0.5), steps=(step,))
    seen = logit(expected_chances(model, labels_of([[[5, 5]]]), documents_at(0, 1, 2, 3)).chances[:, 1])
    np.testing.assert_allclose(seen, [-0.5, -1.0, -1.5, -2.0])
    assert octave_of(np.array([1, 2, 3, 4, 5, 8, 9, 16, 17, 100])).tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 7]
    measure = parse_measure("P@4")
    loss = expected_loss(
        small_alignment(["????"]),
        measure,
        with_chain(replace(model, levels=(0, 1, 2)), steps=(step, replace(step, intercept=-20.0))),
        depth=np.array([4]),
        rng=np.random.default_rng(1),
    )
    rank_chances = chances(np.array([-0.5, -1.0, -1.5, -1.5]))
    assert loss.mean[0] == pytest.approx(rank_chances.mean())


def test_a_new_run_meets_one_group_more_than_one_that_was_held_out():
    own = [(run, 0, 0, int(place < 20)) for run in range(4) for place in range(100)]
    shared = np.array([120, 240])
    counts = labels_of([[[50, 50]]] * 4, own, shared)
    growth = fit_model(counts).growth
    before, now = (20 + 60 / 3) / (100 + 90 / 3), 20 / 100
    assert growth == pytest.approx((now / before) ** (np.log(4 / 3) / np.log(3 / 2)), rel=0.01)
    alone = fit_model(replace(counts, shared=0 * shared))
    assert alone.growth == 1.0
    assert fit_model(counts).plain == pytest.approx(alone.plain * growth)


@pytest.mark.parametrize("name", ["AP", "RR", "nDCG@10", "P@10"])
def test_expected_losses_are_scaled_to_what_held_out_contributors_lost(made, name):
    collection = made(seed=4, topics=60, taste=1.5)  # no sisters, whose documents are not a run's loss
    provenance = collection.prefixes.by("group")
    measure = parse_measure(name)
    depth = measure_depths(measure, provenance.depth)
    model = with_chain(fit_model(count_labels(collection.alignment, depth, provenance)), shift=(0.0,))
    model = replace(model, growth=1.0)
    cache = ModelCache(collection.alignment, provenance)
    ratio = scale_model(measure, model, cache, depth=depth, rng=np.random.default_rng(1)).blind.scale
    own = hold_out_all(collection.alignment, provenance, [measure]).own
    assert 0.5 <= ratio <= 2.0
    if name == "P@10":
        assert ratio == pytest.approx(1.0, abs=0.1)
    expected = sum(_expected_of(collection, provenance, model, measure, depth))
    assert ratio == pytest.approx((own.drop[0].sum() + 0.0005 * 8) / (expected + 0.0005 * 8), rel=0.05)


@pytest.mark.parametrize("depth", [3, 5])
def test_holes_below_a_shallow_pool_do_not_count_as_losses_that_never_came(made, depth):
    collection = made(seed=4, topics=60, taste=1.5, depth=depth)
    provenance, measure = collection.prefixes.by("group"), parse_measure("P@10")
    deep = measure_depths(measure, provenance.depth)
    cache = ModelCache(collection.alignment, provenance)
    ratio = scale_model(measure, cache.model(deep), cache, depth=deep, rng=np.random.default_rng(1)).blind.scale
    assert ratio == pytest.approx(1.0, abs=0.1)


def _expected_of(collection, provenance, model, measure, depth):
    """Give what each run is expected to lose when its own group is left out, one group after the other."""
    for group in range(len(provenance.groups)):
        cells = np.full(len(collection.alignment.lists), group, dtype=np.int32)
        without = replace(collection.alignment, lists=lists_without(collection.alignment.lists, provenance, cells))
        runs = np.flatnonzero(provenance.group_of_run == group).tolist()
        yield (
            expected_loss(without, measure, model, depth=depth, rng=np.random.default_rng(2), runs=runs)
            .mean[runs]
            .sum()
        )


def test_in_a_pool_that_was_played_again_holes_are_what_would_not_have_been_chosen():
    alignment, provenance = by_hand()
    removed = np.zeros((2, 6), dtype=bool)
    removed[0, 0] = removed[1, 5] = True  # without one: a is not chosen; without two: f
    counts = count_labels(alignment, np.array([4]), replace(provenance, removed=removed))
    assert list(zip(counts.own.run.tolist(), counts.own_level.tolist(), strict=True)) == [(0, 1), (1, 0)]
    assert not counts.shared.any()


def test_without_popularity_the_upper_ends_are_those_of_the_model_and_of_the_plain_ratio():
    model = with_chain(flat_model(0.2, 0.5), factor=Upper(3.0, 22, is_maximum=False))
    model = replace(model, plain=0.5, plain_factor=Upper(2.0, 22, is_maximum=False))
    labels = labels_of([[[2, 1, 1]]], levels=(0, 1, 2))
    by_model, plain = upper_chances(model, labels, documents_at(0))
    np.testing.assert_allclose(by_model.chances, [[1, 0.6, 0.3]])
    np.testing.assert_allclose(plain.chances, [[1, 0.5, 0.25]])


def popular_model() -> UnjudgedModel:
    """Half of the usual documents are relevant, more of popular ones; without popularity a tenth is."""
    step = Step(0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ((1.0, -3.0),))
    chain = Chain((step,), (0.0,), Upper(1.5, 22, is_maximum=False), scale=2.0)
    plain = {"plain": 0.5, "plain_factor": SAME, "unlike": -5.0}
    return replace(flat_model(0.1), popular=chain, **plain)


def test_popular_documents_are_relevant_more_often():
    documents = replace(documents_at(0, 0), popularity=np.array([-3.0, -2.0]))
    estimate = expected_chances(popular_model(), labels_of([[[5, 5]]]), documents)
    np.testing.assert_allclose(estimate.chances[:, 1], chances(np.array([0.0, 1.0])))
    assert estimate.scale.tolist() == [2.0]
    (end,) = upper_chances(popular_model(), labels_of([[[5, 5]]]), documents)
    few = replace(popular_model(), popular=replace(popular_model().popular, factor=Upper(1.5, 8, is_maximum=True)))
    assert len(upper_chances(few, labels_of([[[5, 5]]]), documents)) == 3
    np.testing.assert_allclose(end.chances[:, 1], np.minimum(1.5 * estimate.chances[:, 1], 1.0))


def test_the_upper_end_of_a_run_unlike_the_contributors_does_not_rest_on_popularity():
    documents = Documents(*(np.array(column) for column in ([0, 1], [0, 0], [0, 0])), np.array([-6.0, -4.0]))
    labels = labels_of([[[5, 5]], [[5, 5]]])
    assert is_unlike(popular_model(), documents, 2).tolist() == [True, False]
    by_model, plain, _ = upper_chances(popular_model(), labels, documents)
    popular = 1.5 * chances(np.array([-1.0]))[0]
    np.testing.assert_allclose(by_model.chances[:, 1], [0.1, popular])
    np.testing.assert_allclose(plain.chances[:, 1], [0.25, popular])
    assert by_model.scale.tolist() == [1.0, 2.0]


def test_no_run_is_unlike_contributors_who_all_retrieve_its_documents():
    lists = ["abcdefgh", "bacdefgh", "cabdefgh", "dabcefgh", "hgfeabcd", "wxyzabcd"]
    runs = [run(str(number), documents) for number, documents in enumerate(lists)]
    qrels = qrels_of([("t", letter, grade) for letter, grade in zip("abcd", (1, 0, 1, 0), strict=True)])
    alignment = align(qrels, runs, keep_rows=True)
    contributors = [Contributor(str(number), str(number), contributing=number < 4) for number in range(6)]
    cache = ModelCache(alignment, provenance_of(alignment, qrels, runs, contributors, depth=1))
    depth = np.array([4])
    unjudged = unjudged_of(alignment, parse_measure("P@4"), np.arange(6), depth, cache.popularity(depth)).documents
    model = cache.model(depth)
    # By comparison alone the fifth run would be unlike them too: the others' documents rank higher.
    relative = replace(model, unlike=float(np.log(4 / 61)))
    assert is_unlike(relative, unjudged, 6).tolist() == [False] * 4 + [True, True]
    assert is_unlike(model, unjudged, 6).tolist() == [False] * 5 + [True]


def test_popularity_fuses_the_lists_of_the_other_groups():
    alignment, provenance = by_hand()
    popularity = Retrieved(alignment, provenance, np.array([4])).popularity
    # one: a b c d, two: e c f a, new (no contributor): x a y b
    np.testing.assert_allclose(popularity[:4], np.log(np.array([1 / 64, 0, 1 / 62, 0]) + 1e-3))
    np.testing.assert_allclose(popularity[8:], np.log(np.array([0, 1 / 61 + 1 / 64, 0, 1 / 62]) + 1e-3))
    shallow = Retrieved(alignment, provenance, np.array([1])).popularity
    np.testing.assert_allclose(shallow[[0, 4, 8]], popularity[[0, 4, 8]])
    assert not shallow[[1, 2, 3, 5, 6, 7]].any()


def test_without_any_hole_the_prior_is_what_remains():
    weights = fit_chances(
        np.zeros((0, 3)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32),
        prior=np.array([-1.0, 1.0, 1.0]), spread=np.ones(3),
    ).weights  # fmt: skip
    np.testing.assert_allclose(weights, [-1.0, 1.0, 1.0])


@given(
    st.integers(0, 10_000),
    st.integers(2, 6),
    st.sampled_from([(0.15,), (0.5,), (0.02,), (0.3, 0.1), (0.4, 0.2, 0.05)]),
    st.sampled_from(["P@10", "nDCG@10", "AP", "RBP", "Bpref"]),
)
def test_losses_are_numbers_that_stay_inside_what_is_possible(made, seed, pooled, rates, name):
    collection = made(seed=seed, topics=4, documents=40, groups=pooled + 2, pooled=pooled, rates=rates, length=20)
    provenance = collection.prefixes.by("group")
    measure = parse_measure(name)
    depth = measure_depths(measure, provenance.depth)
    model = fit_model(count_labels(collection.alignment, depth, provenance))
    loss = expected_loss(collection.alignment, measure, model, depth=depth, rng=np.random.default_rng(1), draws=8)
    scores = measure.values(collection.alignment.lists).reshape(collection.alignment.scored.shape)
    assert np.isfinite(loss.mean).all()
    assert np.isfinite(loss.upper).all()
    assert ((scores + loss.by_topic >= -1e-12) & (scores + loss.by_topic <= 1 + 1e-12)).all()
    if name in ("P@10", "RBP"):
        assert (loss.by_topic >= -1e-12).all()
        assert (loss.upper >= loss.mean - 1e-12).all()


def test_what_others_let_expect_of_a_group_is_that_of_a_fit_without_it():
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(6), [400, 60, 30, 20, 10, 5]).astype(np.int32)
    columns = np.column_stack([np.ones(len(group)), rng.normal(size=(len(group), 2))])
    passed = (rng.random(len(group)) < chances(columns @ [-1.0, 0.8, 0.3] + 0.3 * group)).astype(np.int64)
    prior, spread = np.array([0.0, 1.0, 0.0]), np.ones(3)
    whole = fit_chances(columns, passed, np.ones_like(passed), group, prior=prior, spread=spread)
    for one in range(6):
        kept = group != one
        # A fit whose groups do not differ has dispersion 1: the prior is weighted instead.
        alone = np.zeros(int(kept.sum()), dtype=np.int32)
        others = fit_chances(
            columns[kept],
            passed[kept],
            np.ones_like(passed[kept]),
            alone,
            prior=prior,
            spread=spread / np.sqrt(whole.dispersion),
        )
        expected = chances(columns[~kept] @ others.weights).sum()
        assert others.dispersion == 1
        assert whole.expected_from_others(one) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["AP", "nDCG@8", "Bpref", "RR"])
def test_losses_do_not_depend_on_how_many_draws_are_scored_at_once(made, monkeypatch, name):
    collection = made(seed=5, topics=6, documents=60, groups=5, depth=5, length=12)
    cache = ModelCache(collection.alignment, collection.prefixes.by("group"))
    depth, measure = np.full(6, 8), parse_measure(name)

    def losses(rows):
        monkeypatch.setattr("cranfield.reuse.expected_loss.ROWS", rows)
        rng = np.random.default_rng(2)
        return expected_loss(collection.alignment, measure, cache.model(depth), depth=depth, rng=rng)

    one, several, every = (losses(rows) for rows in (0, 2000, 1_000_000))
    assert one.mean.any()
    for other in (several, every):
        np.testing.assert_allclose(other.by_topic, one.by_topic, atol=1e-12)
        np.testing.assert_allclose(other.upper, one.upper, atol=1e-12)
