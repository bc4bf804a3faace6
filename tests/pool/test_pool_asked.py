"""What is refused before a pool is built: words of a plan that would have no effect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import ProblemsFound, UsageError
from cranfield.pool.build import build
from cranfield.pool.plan import Amount, full_depth, parse, parse_stored

# topic 1: best ranks d1 d3 d5 1, d2 d6 2, d4 4, d7 5; topic 2: d1 d8 1, d9 2; the longest list has 5
NO_EFFECT = {
    "stratified strata=6-9:50": ["'stratified strata=6-9:50' would select nothing that is not there by then"],
    "stratified order=rrf strata=50-60:50": [
        "'stratified strata=50-60:50 order=rrf' would select nothing that is not there by then"
    ],
    "depth 1 by=topic": ["'depth 1 by=topic' would select nothing that is not there by then"],
    "depth 3; rrf until 3": ["'rrf until 3' would select nothing that is not there by then"],
    "depth 1; sample until 2": ["'sample until 2' would select nothing that is not there by then"],
    "depth 1; take budget 5": ["'take budget 5' would select nothing that is not there by then"],
    "sample 2; sample 2": [("'sample 2' would select nothing that is not there by then")],
    "stratified 2 strata=1-1:100,2-5": [
        "the rates of 'stratified strata=1-1:100,2-5 2' need more than its amount in 1 topic (1)"
    ],
    "depth 6; depth 7 topics=1:2": [
        "'depth 6' exceeds the runs: the longest ranking has 5 documents",
        "'depth topics=1:2 7' exceeds the runs: the longest ranking has 5 documents",
    ],
}


@pytest.mark.parametrize("plan", NO_EFFECT, ids=str)
def test_words_without_effect_are_refused_when_a_pool_is_asked_for(toolbox, plan):
    runs = toolbox.pooled(toolbox.worked, {"A": "north", "B": "north", "C": "south"})
    with pytest.raises(ProblemsFound) as caught:
        build(parse(plan), runs, refuse_idle=True)
    assert [str(problem) for problem in caught.value.problems] == NO_EFFECT[plan]


@pytest.mark.parametrize(
    "plan",
    [
        "depth 10 by=group",
        "depth 1; rrf until 3",  # topic 1 has three already, topic 2 has not
        "depth 5; rrf 3",  # there is nothing that could be chosen
        "depth 2; stratified strata=1-2:50,3-5:50",
        "stratified 4 strata=1-1:100,2-5",
        "depth 1 topics=2:2",
    ],
)
def test_a_step_that_does_something_or_has_nothing_left_is_no_mistake(toolbox, plan):
    runs = toolbox.pooled(toolbox.worked, {"A": "north", "B": "north", "C": "south"})
    if "group" not in plan:
        runs = toolbox.pooled(toolbox.worked)
    assert build(parse(plan), runs, refuse_idle=True).content_hash == build(parse(plan), runs).content_hash


def test_a_pool_that_is_there_is_built_again_without_these_questions(worked):
    assert build(parse_stored("stratified until 2"), worked).sizes == {"1": 7, "2": 3}
    assert build(parse("depth 3; rrf until 2"), worked).sizes == {"1": 5, "2": 3}


REFUSED = {
    "stratified budget 20": "stratified accepts an amount only for a stratum without a rate",
    "stratified 10%": "stratified accepts an amount only for a stratum without a rate",
    "stratified strata=1-20:100,21-50": "the stratum 21-50 has no rate and so needs an amount",
    "stratified 9 strata=1-20,21-50": "one stratum may go without a rate, to get what the others leave; 1-20 and",
    "stratified order=stratified": "option 'order' must be rank or a fixed strategy; 'stratified' is sampling",
    "depth 5 by=topic topics=1:40": "topics= sets depths, and with by=topic the amount is a number of documents",
    f"mtf stop=dry:{'7' * 5000}": "an integer of at most 9 digits, not '7777",
    f"depth 10 topics=1:{'9' * 5000}": "option 'topics' must be topics with depths, as in 101:50,107:20; not '1:999",
    "depth 10 topics=1:٣": "option 'topics' must be topics with depths, as in 101:50,107:20; not '1:٣'",
    'depth 10 topics=a"b:5': """a value with '"' in it must be in double quotes, with '"' written twice: 'a"b:5'""",
    'depth 10 topics="a"b:5"': "must be in double quotes",
    "depth 9999999999999": "found '9999999999999'",
    "rrf until 9999999999999": "found 'until 9999999999999'",
    "depth 10 then rrf": "found 'then'; steps are separated by ';'",
    "depth 10, rrf": "found '10,'; steps are separated by ';'",
}


@pytest.mark.parametrize("plan", REFUSED, ids=lambda plan: plan[:40])
def test_a_plan_that_cannot_be_meant_is_refused_in_words(plan):
    with pytest.raises(UsageError) as caught:
        parse(plan)
    assert REFUSED[plan] in str(caught.value)


@pytest.mark.parametrize(
    ("plan", "canonical"),
    [
        ("sample 0.00001%", "sample 0.00001%"),
        ("sample 20.833333333333332%", "sample 20.833333333333332%"),
        ("sample 5.10%", "sample 5.1%"),
        ("sample 100%", "sample 100%"),
        ("take budget 100000000000", "take budget 100000000000"),
        ('depth 10 topics="a""b:5"', 'depth topics="a""b:5" 10'),
        ('depth 10 topics="a\u00a0b;c:5"', 'depth topics="a\u00a0b;c:5" 10'),
    ],
)
def test_what_is_stored_is_read_as_the_same_plan(plan, canonical):
    meant = parse(plan)
    assert str(meant) == canonical
    assert parse_stored(str(meant)) == parse_stored(meant.spelled_out) == meant


@given(st.floats(0, 100, exclude_min=True))
def test_every_share_is_read_back_to_the_last_bit(share):
    amount = Amount("share", share)
    assert parse_stored(f"sample {amount}").steps[0].amount == amount


def test_only_a_plain_depth_is_the_depth_of_a_pool():
    found = {
        plan: full_depth(str(parse(plan)), alone=True)
        for plan in ("depth 2", "depth 2 topics=1:10", "depth 2 by=group", "depth 2; rrf 1")
    }
    assert found == {"depth 2": 2, "depth 2 topics=1:10": 0, "depth 2 by=group": 0, "depth 2; rrf 1": 0}
