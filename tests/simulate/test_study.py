"""What plans would have cost, found and done: a case worked by hand, the slow and obvious way, and laws."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.evaluate.scores import score
from cranfield.pool.build import build
from cranfield.pool.plan import parse
from cranfield.simulate.study import Cost, study


def studied(known, plan, *words, **options):
    from cranfield.evaluate.measure import own_measures, parse_measures

    return list(study(known, [parse(plan)], tuple(own_measures(parse_measures(words))), **options))


def test_the_first_documents_of_the_worked_example_cost_six_and_find_four_of_five(worked):
    (found,) = studied(worked, "depth 1", "AP")
    assert found.cost == Cost(
        documents=6, topics=2, mean=3.0, least=3, most=3, unknown=0, relevant=4, known_relevant=5, share=0.8, empty=0
    )
    assert found.plan == found.strategy == "depth 1"
    assert found.budget is None


def test_what_nobody_judged_costs_and_is_counted_and_finds_nothing(worked):
    (found,) = studied(worked, "depth 2", "AP")
    assert (found.cost.documents, found.cost.unknown, found.cost.relevant) == (8, 2, 4)


def test_the_ranking_of_the_worked_example_changes_as_it_does_by_hand(worked):
    (found,) = studied(worked, "depth 1", "AP")
    (effect,) = found.effects
    assert found.scores.summary[0] == pytest.approx([5 / 6, (0.25 + 1 / 6) / 2, 11 / 12])
    assert (effect.tau_b, effect.tau_ap) == (pytest.approx(1 / 3), pytest.approx(0))
    assert (effect.fall, effect.falling) == (1, "A")


def test_outsiders_of_the_worked_example_lose_what_they_lose_by_hand(worked):
    (found,) = studied(worked, "depth 1", "AP")
    spread = found.loss(found.effects[0].measure)
    assert found.held_out.held_out[0] == pytest.approx([1 / 3, (0.25 + 1 / 6) / 2, (1 / 3 + 1 / 2) / 2])
    assert spread.mean == pytest.approx((0.6 + 0 + 6 / 11) / 3)
    assert (spread.largest, spread.worst) == (pytest.approx(0.6), "A")


def test_a_topic_of_which_nothing_relevant_is_found_is_counted(toolbox):
    known = toolbox.field(
        {"A": {"1": ["a", "b"], "2": ["c", "d"]}, "B": {"1": ["a"]}}, {"1": {"b": 1}, "2": {"c": 1}}
    )
    (found,) = studied(known, "depth 1", "AP")
    assert (found.cost.empty, found.cost.relevant) == (1, 1)


def test_a_run_that_feeds_nothing_is_ranked_and_brings_nothing(toolbox):
    known = toolbox.field(toolbox.worked, toolbox.grades, toolbox.groups, new=("C",))
    (found,) = studied(known, "depth 1", "AP")
    assert found.scores.run_names == ("A", "B", "C")
    assert (found.cost.documents, found.cost.relevant) == (4, 2)
    assert known.reachable == 5
    assert toolbox.field(toolbox.worked, toolbox.grades, new=("A", "C")).reachable == 3


def test_a_plan_that_learns_takes_what_nobody_judged_for_a_miss(toolbox):
    lists = {"A": {"1": ["a", "u", "v", "w"]}, "B": {"1": ["b", "c", "d"]}}
    known = toolbox.field(lists, {"1": {"a": 1, "b": 1, "c": 1, "d": 1}})
    for seed in range(4):
        (found,) = studied(known, "mtf until 5", "AP", seed=seed)
        assert (found.cost.relevant, found.cost.unknown) == (4, 1)


def test_grades_below_the_threshold_are_not_relevant(toolbox):
    runs = toolbox.field(toolbox.worked, toolbox.grades)
    known = replace(runs, relevant_from=2)
    (found,) = studied(known, "depth 3", "AP")
    assert (found.cost.relevant, found.cost.known_relevant) == (0, 0)
    assert math.isnan(found.cost.share)


PLANS = ("depth 1", "depth 2", "take 3", "rrf 2", "mtf until 3", "depth 1; mtf until 4", "depth 1; sample 2")


def reduced(known, plan, lists, grades, seed):
    """The judgments that a plan makes, the slow way: play it, judge what is asked for, and keep what has a grade."""
    from cranfield.pool.live import Judged, LivePool

    chosen = {topic: [] for topic in known.topics}
    if plan.adaptive:
        live = LivePool(plan, known.pooled, topics=list(known.topics), seed=seed)
        while choice := live.offer():
            chosen[choice.topic].append(choice.document)
            live.learn(Judged(choice.topic, choice.document, grades[choice.topic].get(choice.document, 0) >= 1))
    else:
        pool = build(plan, known.pooled, topics=list(known.topics), seed=seed)
        chosen = {topic: pool.documents_of(topic) for topic in known.topics}
    kept = {
        topic: {name: grades[topic][name] for name in some if grades[topic].get(name, -1) >= 0}
        for topic, some in chosen.items()
    }
    return sum(map(len, chosen.values())), {topic: kept.get(topic, {}) for topic in grades}


def average_precision(ranking, judged):
    relevant = [judged.get(document, 0) >= 1 for document in ranking]
    total = sum(grade >= 1 for grade in judged.values())
    hits = [sum(relevant[: place + 1]) / (place + 1) for place, hit in enumerate(relevant) if hit]
    return sum(hits) / total if total else 0.0


def naive_tau_b(first, second):
    def sign(left, right):
        return 0 if math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12) else (1 if left > right else -1)

    pairs = [(sign(*one), sign(*other)) for one, other in zip(combinations(first, 2), combinations(second, 2))]  # noqa: B905
    apart = [sum(pair[side] != 0 for pair in pairs) for side in (0, 1)]
    if not all(apart):
        return math.nan
    return sum(left * right for left, right in pairs) / math.sqrt(apart[0] * apart[1])


def naive_tau_ap(truth, estimate, names):
    """Of each run but the first, the share of those above it that belong there; ties by name, NaN where all tie."""
    truth, estimate = ([round(float(value), 10) for value in values] for values in (truth, estimate))
    if len(set(truth)) < 2 or len(set(estimate)) < 2:
        return math.nan
    places = range(len(names))
    true = sorted(places, key=lambda place: (-truth[place], names[place]))
    guessed = sorted(places, key=lambda place: (-estimate[place], names[place]))
    shares = [
        sum(true.index(above) < true.index(run) for above in guessed[:rank]) / rank
        for rank, run in enumerate(guessed)
        if rank
    ]
    return 2 * sum(shares) / len(shares) - 1


@given(data=st.data(), plan=st.sampled_from(PLANS), seed=st.integers(0, 3))
def test_cost_scores_and_tau_are_those_of_the_slow_and_obvious_way(toolbox, data, plan, seed):
    lists, grades = data.draw(toolbox.fields())
    known = toolbox.field(lists, grades)
    if known.pooled.depth < 2:
        return
    (found,) = studied(known, plan, "AP", seed=seed)
    asked, judged = reduced(known, parse(plan), lists, grades, seed)
    means = [
        np.mean([average_precision(some.get(topic, []), judged[topic]) for topic in grades])
        for some in lists.values()
    ]
    whole = [
        np.mean([average_precision(some.get(topic, []), grades[topic]) for topic in grades])
        for some in lists.values()
    ]
    kept = [grade for some in judged.values() for grade in some.values()]
    assert found.cost.documents == asked
    assert found.cost.unknown == asked - len(kept)
    assert found.cost.relevant == sum(grade >= 1 for grade in kept)
    assert found.scores.summary[0] == pytest.approx(means)
    assert found.effects[0].tau_b == pytest.approx(naive_tau_b(whole, means), nan_ok=True)
    full = score(known.alignment, toolbox.measures("AP")).summary[0]
    expected = naive_tau_ap(full, found.scores.summary[0], list(lists))
    assert found.effects[0].tau_ap == pytest.approx(expected, nan_ok=True)


@given(data=st.data(), measure=st.sampled_from(("AP", "nDCG@3", "P@2", "RR", "bpref", "ERR@4", "R@3")))
def test_a_plan_that_covers_everything_finds_everything_and_changes_nothing(toolbox, data, measure):
    lists, grades = data.draw(toolbox.fields(judge_all=True))
    known = toolbox.field(lists, grades)
    (found,) = studied(known, f"depth {known.pooled.depth}", measure)
    (effect,) = found.effects
    assert found.cost.unknown == 0
    assert found.cost.relevant == found.cost.known_relevant == known.reachable
    assert effect.tau_b == pytest.approx(1) or math.isnan(effect.tau_b)
    assert effect.tau_ap == pytest.approx(1) or (math.isnan(effect.tau_ap) and math.isnan(effect.tau_b))
    assert (effect.fall, effect.falling) == (0, "")
    assert (found.scores.values == score(known.alignment, toolbox.measures(measure)).values).all()


def test_one_run_has_no_ranking(toolbox):
    known = toolbox.field({"A": {"1": ["a"]}}, {"1": {"a": 1}})
    (found,) = studied(known, "depth 1", "AP")
    assert math.isnan(found.effects[0].tau_b)
    assert found.effects[0].fall is None
