"""Plans at budgets: played once where that is enough, and always as if each had been played for itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.pool.plan import parse
from cranfield.simulate.study import least_budget, open_ended, play, play_at, played_alone, study, with_budget

STRATEGIES = (
    "take",
    "rrf",
    "shuffle",
    "mtf",
    "hedge",
    "thompson",
    "depth 1; mtf",
    "depth 1; rrf",
    "depth 1; cap 2; max-mean",
    "sample 3",
    "statap 3",
    "mtf stop=nonrelevant:2",
    "max-mean budget 9 across topics",
)


def played_at(known, plan, budgets, seed=0):
    plays = {str(one): play(known, one, seed=seed) for one in played_alone(plan, budgets)}
    return play_at(known, plan, budgets, plays)


@given(data=st.data(), strategy=st.sampled_from(STRATEGIES), seed=st.integers(0, 2))
def test_every_budget_judges_what_it_judges_when_it_is_played_alone(toolbox, data, strategy, seed):
    lists, grades = data.draw(toolbox.fields())
    known = toolbox.field(lists, grades)
    plan = open_ended(parse(strategy))
    least = int(least_budget(known, plan).sum())
    budgets = sorted(
        {max(least, 1) + more for more in data.draw(st.lists(st.integers(0, 14), min_size=1, max_size=4))}
    )
    together = played_at(known, plan, budgets, seed=seed)
    for budget, found in zip(budgets, together, strict=True):
        alone = play(known, with_budget(plan, budget), seed=seed)
        assert found.plan == alone.plan
        assert sorted(zip(found.topic.tolist(), found.row.tolist(), strict=True)) == sorted(
            zip(alone.topic.tolist(), alone.row.tolist(), strict=True)
        )
        assert found.sizes.tolist() == alone.sizes.tolist()
        assert len(found) <= budget or strategy.startswith("statap")  # a sample has at least one a topic


def test_a_topic_that_a_rule_ends_gives_nothing_to_others_at_any_budget(toolbox):
    lists = {"A": {"1": list("abcdefgh"), "2": list("abcdefgh")}}
    known = toolbox.field(lists, {"1": dict.fromkeys("abcdefgh", 0), "2": dict.fromkeys("abcdefgh", 1)})
    played = played_at(known, open_ended(parse("mtf stop=nonrelevant:2")), [8, 12])
    assert [one.sizes.tolist() for one in played] == [[2, 4], [2, 6]]


def test_a_larger_budget_finds_at_least_as_much(worked, toolbox):
    outcomes = list(study(worked, [parse("rrf")], toolbox.measures("AP"), budgets=(8, 2, 4, 4)))
    assert [(one.budget, one.plan) for one in outcomes] == [
        (2, "rrf budget 2"),
        (4, "rrf budget 4"),
        (8, "rrf budget 8"),
    ]
    found = [one.cost.relevant for one in outcomes]
    assert found == sorted(found)
    assert [one.strategy for one in outcomes] == ["rrf"] * 3


def test_a_budget_below_the_first_steps_is_passed_over(worked, toolbox):
    outcomes = list(study(worked, [parse("depth 1; mtf"), parse("take")], toolbox.measures("AP"), budgets=(4, 7)))
    assert [one.plan for one in outcomes] == ["depth 1; mtf budget 7", "take budget 4", "take budget 7"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("depth 5", "take budget 9"),
        ("depth 5 by=group", "take budget 9 by=group"),
        ("depth 50 by=topic", "take budget 9"),
        ("rrf k=10 30", "rrf k=10 budget 9"),
        ("depth 2; mtf until 60", "depth 2; mtf budget 9"),
        ("mtf", "mtf budget 9"),
    ],
)
def test_the_last_step_goes_on_until_the_budget_is_spent(given, meant):
    assert str(with_budget(parse(given), 9)) == meant


@pytest.mark.parametrize("plan", ["depth 2; cap 3", "depth 2; mtf until 5; rrf 3"])
def test_a_plan_that_cannot_end_by_a_budget_is_refused(worked, toolbox, plan, kept: Kept):
    with kept.raises(UsageError):
        list(study(worked, [parse(plan)], toolbox.measures("AP"), budgets=(9,)))
