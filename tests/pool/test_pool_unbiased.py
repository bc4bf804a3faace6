"""Probabilities of whole plans: what estimates add up to, on average over many draws, is what there is."""

import numpy as np
import pytest
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.pool.build import build
from cranfield.pool.extend import extend
from cranfield.pool.plan import parse, parse_stored

TOPICS = [str(number) for number in range(300)]
"""Topics that are all alike, and drawn for one by one: the draws hang on the topic."""


def names(first, last):
    return [f"d{number:02d}" for number in range(first, last)]


def falling(documents):
    return {document: 99.0 - place for place, document in enumerate(documents)}


OLD = {"A": {"1": falling(names(0, 12))}}
LATER = {"B": {"1": falling(reversed(names(6, 12)))}}
"""B brings to its top what A has at the end: with both runs, d06 to d11 have better ranks."""


def many(spec):
    """Give the runs with their one topic many times over."""
    return {name: dict.fromkeys(TOPICS, lists["1"]) for name, lists in spec.items()}


def is_unbiased(pool, truth):
    """Estimate the number of documents of each topic: every drawn one stands for 1 / probability."""
    estimates = np.bincount(pool.entries["topic"], weights=1 / pool.entries["probability"], minlength=len(TOPICS))
    error = np.std(estimates) / np.sqrt(len(estimates))
    return abs(np.mean(estimates) - truth) < 4 * error + 1e-9


@pytest.mark.parametrize(
    ("plan", "documents"),
    [
        ("sample 3; sample 3", 12),  # the second has nobody left to draw from
        ("sample 50% ranks=1-3; sample 50%", 12),
        ("depth 1; statap 4 ranks=2-8; sample 2", 12),
        ("stratified strata=1-4:50; sample 25%", 12),
    ],
)
def test_samples_that_follow_each_other_estimate_without_bias(toolbox, plan, documents):
    assert is_unbiased(build(parse(plan), toolbox.pooled(many(OLD)), seed=1), documents)


def test_what_a_sample_passed_over_is_not_drawn_by_a_later_one(toolbox):
    pool = build(parse("sample 2 ranks=1-5; sample 3 ranks=4-9"), toolbox.pooled(OLD), seed=4)
    first, second = ({entry.document for entry in toolbox.entries(pool) if entry.step == step} for step in (1, 2))
    assert first < set(names(0, 5))
    assert second < set(names(5, 9))
    assert [entry.probability for entry in toolbox.entries(pool)] == [2 / 5] * 2 + [3 / 4] * 3


@pytest.mark.parametrize(
    "plan", ["sample 6; rrf 8", "sample 6; depth 2", "statap 6; shuffle 8", "sample 2; mtf 3; rrf 1"]
)
def test_a_fixed_step_after_a_sample_is_refused_and_can_be_read_where_it_is_stored(plan, kept: Kept):
    with kept.raises(UsageError):
        parse(plan)
    assert str(parse_stored(plan)) == plan


@pytest.mark.parametrize(
    "plan",
    [
        "depth 1; sample 1 ranks=2-12",
        "depth 4; sample 2",
        "depth 2; statap 3",
        "depth 2; stratified strata=3-6:25,7-12:25",
        "depth 2; stratified until 6 strata=3-6:25,7-12",
    ],
)
def test_estimates_stay_right_when_later_runs_make_documents_certain(toolbox, plan):
    before, after = toolbox.pooled(many(OLD)), toolbox.pooled(many({**OLD, **LATER}))
    assert is_unbiased(extend(build(parse(plan), before, seed=1), after), 12)


def test_a_share_stays_the_share_of_the_plan_when_the_pool_grows(toolbox):
    """Of three documents 5 % are at least one; of ninety later ones they are not a third."""
    old = {"A": {"1": falling(names(0, 13)), "2": falling(names(0, 90))}}
    later = {"B": {"1": falling(f"e{number:02d}" for number in range(90))}}
    plan = parse("depth 10; sample 5% ranks=11-90")
    first = build(plan, toolbox.pooled(old), topics=["1"])
    grown = extend(first, toolbox.pooled({**old, **later}))
    sizes = {
        stratum.name: (int(size), int(taken))
        for stratum, size, taken in zip(grown.stratum_table, grown.populations[0], grown.drawn[0], strict=True)
    }
    assert sizes == {
        "depth 10": (10, 10),
        "depth 10 +1": (10, 10),
        "sample 5% ranks=11-90": (3, 1),
        "sample 5% ranks=11-90 +1": (80, 4),
    }


def test_a_stratum_that_fills_up_grows_at_the_rate_it_had(toolbox):
    """v1 draws 50 % of ranks 1-4 and, to have eight, six of the other eight: 75 %. What is new is at ranks 5 on."""
    plan = parse("stratified 8 strata=1-4:50,5-12")
    later = {"B": {"1": falling([*names(0, 4), *(f"e{number}" for number in range(8))])}}
    first = build(plan, toolbox.pooled(OLD))
    grown = extend(first, toolbox.pooled({**OLD, **later}))
    assert [(entry.probability, entry.version) for entry in toolbox.entries(grown)] == [
        *[(0.5, 1)] * 2,
        *[(0.75, 1)] * 6,
        *[(0.75, 2)] * 6,
    ]
