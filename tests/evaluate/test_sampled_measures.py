"""Estimates from sampled pools: against the formulas written out, against the truth, and over many samples."""

import math
import random
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from mappings import qrels_from, ranking_from, run_from

from cranfield.base.files import Source
from cranfield.evaluate.align import Alignment, align
from cranfield.evaluate.lists import Values
from cranfield.evaluate.measure import parse_measure
from cranfield.qrels.qrels import Qrels, sorted_qrels
from cranfield.qrels.reading import read_qrels

Rows = dict[str, tuple[str, int]]
"""document -> (stratum, grade); -1 was not drawn."""

EPSILON = 1e-5
SAMPLED = ["xinfAP", "infNDCG", "infNDCG@5", "statAP", "statP@5"]
PLAIN = ["AP", "nDCG", "nDCG@5", "AP", "P@5"]


def stratified(topics: dict[str, Rows]) -> Qrels:
    flat = [(topic, document, *row) for topic, rows in topics.items() for document, row in rows.items()]
    names = sorted({stratum for _, _, stratum, _ in flat})
    plain = qrels_from({topic: dict.fromkeys(rows, 0) for topic, rows in topics.items()})
    codes = {name: plain.topics.index(name) for name in topics}
    documents = {name: code for code, name in enumerate(plain.document_ids.to_pylist())}
    return sorted_qrels(
        (plain.topic_ids, np.array([codes[row[0]] for row in flat], dtype=np.int32)),
        (plain.document_ids, np.array([documents[row[1]] for row in flat], dtype=np.int32)),
        np.array([row[3] for row in flat], dtype=np.int32),
        strata=np.array([names.index(row[2]) for row in flat], dtype=np.int32),
        stratum_names=tuple(names),
    )


def aligned(topics: dict[str, Rows], ranking: list[str]) -> Alignment:
    return align(stratified(topics), [ranking_from(dict.fromkeys(topics, ranking))])


def estimates(measure: str, found: Alignment) -> Values:
    return parse_measure(measure).values(found.lists)


def written_out(rows: Rows, ranking: list[str]) -> tuple[float, float]:
    """xinfAP and infNDCG as sums over one ranking, the way NIST's sample_eval goes down a list."""
    size, drawn, relevant, grades = defaultdict(int), defaultdict(int), defaultdict(int), defaultdict(float)
    for stratum, grade in rows.values():
        size[stratum] += 1
        drawn[stratum] += grade >= 0
        relevant[stratum] += grade > 0
    for stratum, grade in rows.values():
        if grade > 0:
            grades[grade] += size[stratum] / drawn[stratum]
    estimated = sum(relevant[one] * size[one] / drawn[one] for one in size if drawn[one])
    seen, seen_drawn, seen_relevant = defaultdict(int), defaultdict(int), defaultdict(int)
    precisions, gains = defaultdict(float), defaultdict(float)
    for rank, document in enumerate(ranking, start=1):
        if document not in rows:
            continue
        stratum, grade = rows[document]
        pooled = sum(seen.values())
        if grade > 0:
            above = sum(
                seen[one] / pooled * (seen_relevant[one] + EPSILON) / (seen_drawn[one] + 3 * EPSILON)
                for one in size
                if seen[one]
            )
            precisions[stratum] += 1 / rank + pooled / rank * above
            gains[stratum] += grade / math.log2(rank + 1)
            seen_relevant[stratum] += 1
        seen[stratum] += 1
        seen_drawn[stratum] += grade >= 0
    ap = sum(
        relevant[one] * size[one] / drawn[one] / estimated * precisions[one] / relevant[one]
        for one in size
        if relevant[one]
    )
    dcg = sum(seen[one] * gains[one] / seen_drawn[one] for one in size if seen_drawn[one])
    ideal = [grade for grade in sorted(grades, reverse=True) for _ in range(math.floor(grades[grade] + 0.5))]
    return ap, dcg / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, start=1))


@pytest.mark.parametrize("seed", range(12))
def test_the_vector_form_is_the_formula_written_out(seed: int):
    draw = random.Random(seed)
    documents = [f"d{number:02}" for number in range(40)]
    topics = {}
    for topic in "123":
        rows = {name: (draw.choice("abc"), draw.choice([-1, -1, 0, 0, 1, 2])) for name in documents[:30]}
        topics[topic] = {**rows, "d00": ("a", 2), "d01": ("b", 0), "d02": ("c", 1)}
    ranking = draw.sample(documents, 25)
    found = aligned(topics, ranking)
    expected = np.array([written_out(rows, ranking) for rows in topics.values()]).T
    np.testing.assert_allclose(estimates("xinfAP", found), expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimates("infNDCG", found), expected[1], rtol=0, atol=1e-12)


def test_where_everything_was_drawn_the_estimates_are_the_measures():
    draw = random.Random(3)
    documents = [f"d{number:02}" for number in range(60)]
    topics = {
        topic: {name: (draw.choice("ab"), draw.choice([0, 0, 1, 3])) for name in documents[:40]} for topic in "12"
    }
    found = aligned(topics, draw.sample(documents, 50))
    for sampled, plain in zip(SAMPLED, PLAIN, strict=True):
        tolerance = 1e-3 if sampled == "xinfAP" else 1e-12
        np.testing.assert_allclose(estimates(sampled, found), estimates(plain, found), rtol=0, atol=tolerance)


def test_without_strata_each_pool_is_one_stratum():
    documents = [f"d{number}" for number in range(9)]
    grades = [1, -1, 0, 2, -1, -1, 0, 1, -1]
    ranking = ranking_from({"1": [*documents[:3], "never pooled", *documents[3:8]]})
    bare = align(qrels_from({"1": dict(zip(documents, grades, strict=True))}), [ranking])
    named = align(
        stratified({"1": {name: ("s", grade) for name, grade in zip(documents, grades, strict=True)}}), [ranking]
    )
    for measure in SAMPLED:
        assert estimates(measure, bare).tolist() == estimates(measure, named).tolist()


SIZES = {"top": (12, 12), "middle": (30, 10), "rest": (60, 12)}
"""Stratum -> its documents, and how many of them are drawn."""


@pytest.fixture(scope="module")
def many_samples() -> tuple[Alignment, dict[str, float]]:
    """One ranking and one truth, sampled anew in each of 3,000 topics; and the true scores."""
    rng = np.random.default_rng(7)
    strata = np.repeat(list(SIZES), [size for size, _ in SIZES.values()])
    documents = [f"d{number:03}" for number in range(len(strata))]
    chance = np.repeat([0.6, 0.3, 0.1], [size for size, _ in SIZES.values()])
    truth = np.where(rng.random(len(strata)) < chance, rng.integers(1, 4, len(strata)), 0)
    shuffled = np.argsort(np.arange(len(strata)) + rng.normal(0, 60, len(strata)))
    ranking = [documents[place] for place in shuffled[:80]]
    topics = {}
    for number in range(3000):
        grades = np.full(len(strata), -1)
        for name, (_, drawn) in SIZES.items():
            chosen = rng.permutation(np.flatnonzero(strata == name))[:drawn]
            grades[chosen] = truth[chosen]
        topics[str(number)] = {
            document: (str(stratum), int(grade))
            for document, stratum, grade in zip(documents, strata, grades, strict=True)
        }
    whole = align(
        qrels_from({"1": dict(zip(documents, truth.tolist(), strict=True))}), [ranking_from({"1": ranking})]
    )
    names = ("AP", "nDCG", "nDCG@20", "P@20", "NumRel")
    return aligned(topics, ranking), {name: float(estimates(name, whole)[0]) for name in names}


def standard_error(values: Values) -> float:
    return float(values.std() / math.sqrt(len(values)))


def test_precision_from_a_sample_has_no_bias(many_samples):
    found, truth = many_samples
    got = estimates("statP@20", found)
    assert got.mean() == pytest.approx(truth["P@20"], abs=4 * standard_error(got))


def test_the_sum_behind_sampled_average_precision_has_no_bias(many_samples):
    found, truth = many_samples
    estimated_relevant = found.lists.sample.estimated_counts()[:, 1:].sum(axis=1)
    got = estimates("statAP", found) * estimated_relevant
    assert got.mean() == pytest.approx(truth["AP"] * truth["NumRel"], abs=4 * standard_error(got))
    assert estimated_relevant.mean() == pytest.approx(truth["NumRel"], abs=4 * standard_error(estimated_relevant))


@pytest.mark.parametrize(
    ("estimate", "measure", "bias"),
    [("xinfAP", "AP", 0.02), ("statAP", "AP", 0.02), ("infNDCG", "nDCG", 0.01), ("infNDCG@20", "nDCG@20", 0.04)],
)
def test_estimates_stand_around_the_truth_where_the_plain_measure_is_far_off(
    many_samples, estimate: str, measure: str, bias: float
):
    found, truth = many_samples
    assert estimates(estimate, found).mean() == pytest.approx(truth[measure], abs=bias)
    assert abs(estimates(measure, found).mean() - truth[measure]) > 2 * bias


def test_a_stratum_without_draws_adds_nothing_and_is_counted():
    rows = {"a": ("top", 1), "b": ("top", 0), "c": ("rest", -1), "d": ("rest", -1)}
    found = aligned({"1": rows, "2": {"a": ("rest", -1)}}, ["c", "a", "b", "d"])
    assert found.lists.sample.strata_without_draws() == 2
    assert estimates("statAP", found).tolist() == [0.5, 0.0]
    assert estimates("infNDCG", found)[0] == pytest.approx(1 / math.log2(3))
    assert all(np.isfinite(estimates(measure, found)).all() for measure in SAMPLED)


def test_strata_go_along_when_topics_are_chosen_and_ties_reordered(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("1 0 a top 1\n1 0 b rest -1\n2 0 a top 0\n2 0 b rest 2\n2 0 c rest -1\n", encoding="utf-8")
    qrels = read_qrels(Source(path))
    run = run_from({"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0, "b": 1.0, "a": 1.0}})
    everything, second = align(qrels, [run]), align(qrels, [run], topics=["2"])
    for measure in SAMPLED:
        assert estimates(measure, everything)[1] == estimates(measure, second)[0]
    assert estimates("statP@1", second).tolist() == [0.0]
    assert estimates("statP@2", second).tolist() == [1.0]
    assert estimates("statP(judged_only=True)@1", second).tolist() == [2.0]


def test_over_all_samples_there_are_the_sums_have_no_bias_at_all():
    truth = {"a": ("x", 1), "b": ("x", 1), "c": ("x", 0), "d": ("x", 1), "e": ("y", 1), "f": ("y", 0), "g": ("y", 1)}
    ranking = ["e", "a", "never pooled", "b", "g", "c", "d"]
    topics = {
        f"{''.join(first)}{''.join(second)}": {
            name: (stratum, grade if name in (*first, *second) else -1) for name, (stratum, grade) in truth.items()
        }
        for first in combinations("abcd", 2)
        for second in combinations("efg", 2)
    }
    found, whole = aligned(topics, ranking), aligned({"1": truth}, ranking)
    relevant = found.lists.sample.estimated_counts()[:, 1]
    assert len(relevant) == 18
    assert relevant.mean() == pytest.approx(5)
    assert (estimates("statAP", found) * relevant).mean() == pytest.approx(5 * estimates("AP", whole)[0])
    assert estimates("statP@4", found).mean() == pytest.approx(estimates("P@4", whole)[0])
