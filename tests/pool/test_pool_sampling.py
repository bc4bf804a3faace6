"""Samples: who is drawn, with which probability, and that estimates made from them are right on average."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.pool.build import build
from cranfield.pool.candidates import candidates_of, document_draws, numbers
from cranfield.pool.plan import parse
from cranfield.pool.strategy import strategies


def test_a_draw_is_the_hash_that_is_written_down():
    from hashlib import sha256

    drawn = document_draws(7, "sample", "t", ["x", "ü"])
    expected = [
        int.from_bytes(sha256(b"cranfield-draw-1\n7\nsample\nt\n" + name.encode()).digest()[:8], "big")
        for name in ("x", "ü")
    ]
    assert drawn.tolist() == expected


def test_numbers_belong_to_their_occasion_and_never_change():
    drawn = numbers(1, "topic", "purpose", 0, count=3)
    assert drawn.tolist() == numbers(1, "topic", "purpose", 0, count=5)[:3].tolist()
    assert drawn.tolist() != numbers(1, "topic", "purpose", 1, count=3).tolist()
    assert drawn.round(6).tolist() == [0.21159, 0.550982, 0.638155]


def test_a_uniform_sample_has_the_smallest_draws_and_equal_probabilities(toolbox, worked):
    pool = build(parse("depth 1; sample 50%"), worked, topics=["1"], seed=3)
    rest = ["d2", "d4", "d6", "d7"]
    drawn = dict(zip(rest, document_draws(3, "sample", "1", rest), strict=True))
    smallest = sorted(rest, key=drawn.__getitem__)[:2]
    assert [(entry.document, entry.probability) for entry in toolbox.entries(pool)] == [
        *((document, 1.0) for document in ("d5", "d3", "d1")),
        *((document, 0.5) for document in smallest),
    ]
    assert pool.populations.tolist() == [[3, 4]]
    assert pool.drawn.tolist() == [[3, 2]]
    left = [document for document in rest if document not in smallest]
    assert sorted(pool.document_ids.take(pool.undrawn["document"]).to_pylist()) == left
    assert pool.undrawn[["topic", "stratum"]].tolist() == [(0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("share", "drawn"),
    [("1%", 1), ("12%", 1), ("37%", 3), ("50%", 4), ("100%", 7), ("2", 2), ("9", 7), ("until 5", 5)],
)
def test_a_share_is_rounded_and_takes_at_least_one(order_of, share, drawn):
    assert len(order_of(f"sample {share}").split()) == drawn


@given(st.integers(0, 1000), st.integers(1, 7), st.integers(1, 7))
def test_a_larger_sample_contains_the_smaller_one(order_of, seed, one, other):
    small, large = sorted([one, other])
    assert order_of(f"sample {large}", seed=seed).startswith(order_of(f"sample {small}", seed=seed))


def test_strata_of_ranks_have_their_own_rates(toolbox, worked):
    pool = build(parse("stratified strata=1-1:100,2-4:34,5-5:50"), worked, topics=["1"], seed=1)
    by_stratum = {}
    for entry in toolbox.entries(pool):
        by_stratum.setdefault((entry.stratum.split()[-1], entry.probability), set()).add(entry.document)
    # best ranks: d1 d3 d5 1; d2 d6 2; d4 4; d7 5
    assert set(by_stratum) == {("1-1", 1.0), ("2-4", 1 / 3), ("5-5", 1.0)}
    assert by_stratum["1-1", 1.0] == {"d1", "d3", "d5"}
    assert by_stratum["2-4", 1 / 3] < {"d2", "d6", "d4"}
    assert by_stratum["5-5", 1.0] == {"d7"}


def test_a_rate_takes_at_least_one_document_of_its_stratum(toolbox, worked):
    pool = build(parse("stratified strata=1-1:10,2-5:100"), worked, topics=["1"], seed=1)
    # Of d1, d3 and d5 at rank 1 a tenth would be none; the chance of the one that is drawn says what it stands for.
    assert sorted(entry.probability for entry in toolbox.entries(pool)) == [1 / 3, 1.0, 1.0, 1.0, 1.0]


def test_strata_can_be_cut_from_the_order_of_a_strategy(toolbox, worked):
    pool = build(parse("stratified order=rrf strata=1-2:100,3-5:34"), worked, topics=["1"])
    certain = {entry.document for entry in toolbox.entries(pool) if entry.probability == 1}
    assert certain == {"d3", "d1"}
    assert len(pool) == 3


def test_a_stratum_without_a_rate_gets_what_is_left(toolbox, worked):
    pool = build(parse("stratified until 5 strata=1-1:100,2-5"), worked, topics=["1"])
    assert [entry.probability for entry in toolbox.entries(pool)] == [1.0, 1.0, 1.0, 0.5, 0.5]


RELEVANT = {"d1", "d4", "d6", "d7"}

DESIGNS = [
    ("sample", {}, 3),
    ("stratified", {"strata": "1-1:34,2-5:50"}, None),
    ("stratified", {"strata": "1-3:50,4-7:25", "order": "rrf"}, None),
    ("statap", {}, 2),
    ("statap", {}, 3),
    ("statap", {}, 5),
]


@pytest.mark.parametrize(("name", "options", "size"), DESIGNS, ids=lambda value: str(value))
def test_the_number_of_relevant_is_estimated_without_bias(worked, name, options, size):
    candidates = candidates_of(worked, "1")
    strategy = strategies.get(name).configured(options)
    everybody = np.arange(len(candidates))
    relevant = np.array([document in RELEVANT for document in candidates.ids])
    estimates = []
    for seed in range(3000):
        sample = strategy(candidates, everybody, size, seed)
        assert (sample.probabilities > 0).all()
        assert (sample.probabilities <= 1).all()
        estimates.append((relevant[sample.chosen] / sample.probabilities).sum())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - relevant.sum()) < 4 * error + 1e-9


@pytest.mark.parametrize(("name", "options", "size"), DESIGNS, ids=lambda value: str(value))
def test_a_document_is_drawn_as_often_as_its_probability_says(worked, name, options, size):
    candidates = candidates_of(worked, "1")
    strategy = strategies.get(name).configured(options)
    times, probabilities = np.zeros(len(candidates)), np.zeros(len(candidates))
    for seed in range(3000):
        sample = strategy(candidates, np.arange(len(candidates)), size, seed)
        times[sample.chosen] += 1
        probabilities[sample.chosen] = sample.probabilities
    assert np.abs(times / 3000 - probabilities).max() < 0.04


def test_statap_weighs_documents_as_by_hand(toolbox):
    # two runs of two: W(1) = (1 + 1 + 1/2) / 4 = .625, W(2) = (1 + 1/2) / 4 = .375; x .3125, y .5, z .1875
    runs = toolbox.pooled({"A": {"1": {"x": 2, "y": 1}}, "B": {"1": {"y": 2, "z": 1}}})
    candidates = candidates_of(runs, "1")
    found = {}
    for seed in range(200):
        sample = strategies.get("statap")(candidates, np.arange(3), 1, seed)
        found.update({candidates.ids[number]: float(p) for number, p in zip(sample.chosen, sample.probabilities)})  # noqa: B905
    assert found == pytest.approx({"x": 0.3125, "y": 0.5, "z": 0.1875})


def test_a_bucket_smaller_than_its_draws_has_the_exact_probability():
    from math import comb

    from cranfield.pool.strategies.sampling import inclusion

    exact = sum(min(times, 2) * comb(5, times) * 0.3**times * 0.7 ** (5 - times) for times in range(6)) / 2
    assert inclusion(5, 0.3, 2) == pytest.approx(exact)
    assert inclusion(5, 0.3, 5) == pytest.approx(0.3)
    assert 0 < inclusion(3000, 0.0005, 7) < 1
