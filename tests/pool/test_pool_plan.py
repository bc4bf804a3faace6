"""The plan language: what it means, how it is spelled, and what it answers to mistakes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import UsageError
from cranfield.pool.plan import Amount, Cap, Plan, Scope, Selection, parse
from cranfield.pool.strategy import strategies


def selection(name, amount=Amount(), scope=Scope(), **options):  # noqa: B008
    return Selection(strategies.get(name).configured(options), amount, scope)


EXAMPLES = {
    "depth 10; rrf k=60 until 100; sample 5% ranks=11-100": (
        "depth 10; rrf until 100; sample 5% ranks=11-100",
        [
            selection("depth", Amount("count", 10)),
            selection("rrf", Amount("until", 100), k=60.0),
            selection("sample", Amount("share", 5.0), Scope(ranks=(11, 100))),
        ],
    ),
    "depth 20 by=group; cap 800": (
        "depth 20 by=group; cap 800",
        [selection("depth", Amount("count", 20), Scope(by="group")), Cap(800)],
    ),
    "then take 7 ; ": ("take 7", [selection("take", Amount("count", 7))]),
    "sample 2.5 % by=group ranks=1-9": (
        "sample 2.5% by=group ranks=1-9",
        [selection("sample", Amount("share", 2.5), Scope(by="group", ranks=(1, 9)))],
    ),
    "uniform 7": ("sample 7", [selection("sample", Amount("count", 7))]),
    'depth 3 topics="a b:5"': ('depth topics="a b:5" 3', [selection("depth", Amount("count", 3), topics="a b:5")]),
}


@pytest.mark.parametrize("text", EXAMPLES, ids=str)
def test_a_plan_means_its_steps_and_has_one_spelling(text):
    canonical, steps = EXAMPLES[text]
    plan = parse(text)
    assert plan == Plan(tuple(steps))
    assert str(plan) == canonical
    assert parse(str(plan)) == plan
    assert parse(plan.spelled_out) == plan


def test_every_option_is_spelled_out_for_the_manifest(kept: Kept):
    kept(parse("depth 5; rrf 10").spelled_out)


WRONG = {
    "": ["at position 1: expected the name of a strategy, found the end"],
    " ; ": ["at position 1: expected the name of a strategy, found the end"],
    "depht 10": ["at position 1: unknown pooling strategy 'depht'; did you mean 'depth'?"],
    "depth 10; rff until 5; smaple 3": [
        "at position 11: unknown pooling strategy 'rff'; did you mean 'rrf'",
        "at position 24: unknown pooling strategy 'smaple'; did you mean 'sample'?",
    ],
    "rrf kk=60 untl 100": [
        "at position 5: unknown option of rrf 'kk'; did you mean 'k'? (known: by, cap, floor, k, ranks, stop)",
        "found 'untl'; did you mean 'until'?",
        "at position 11: expected an amount (10, until 100, 5%, budget 1000), an option or a scope, found 'untl'",
    ],
    "rrf k=sixty": ["at position 5: option 'k' takes a number, not 'sixty'"],
    "rrf k=-1": ["at position 5: option 'k' must be a number at least 0, not -1.0"],
    "rrf until": ["at position 10: expected a number after 'until', found the end of the step"],
    "rrf until many": ["at position 11: expected a number after 'until', found 'many'"],
    "rrf 10 20": ["at position 8: a step has one amount; this one has '10' already"],
    "rrf 0": ["at position 5: an amount is at least 1, not 0"],
    "sample 120%": ["at position 8: an amount is more than 0 and at most 100 per cent, not 120"],
    "sample 1.5": ["at position 8: expected a whole number of documents or a share such as 5%, found '1.5'"],
    "rrf 5 ranks=20-10": ["at position 7: expected ranks as in ranks=11-100, from 1 and rising, found '20-10'"],
    "rrf 5 by=team": ["at position 7: unknown value of 'by': 'team' (known: group, run, topic)"],
    "rrf 5 by=run by=group": ["at position 14: 'by' is given twice"],
    "rrf across nothing 5": ["at position 5: expected 'topics' after 'across'"],
    "depth 10 rrf until 5": ["steps are separated by ';': did you mean '; rrf'?"],
    "depth": ["at position 1: depth takes a rank, as in 'depth 10'"],
    "depth until 5": ["at position 1: depth takes a rank"],
    "depth 5 ranks=1-9": ["at position 1: depth takes no ranks=: its amount is the rank"],
    "depth 5 topics=7": ["at position 9: option 'topics' takes topics with depths, as in 101:50,107:20; not '7'"],
    "rrf 5 by=topic": ["at position 1: by=topic belongs to depth"],
    "sample": ["at position 1: sample needs an amount"],
    "rrf budget 9 across topics": ["at position 1: rrf cannot compare topics"],
    "rrf 5 floor=3": ["at position 1: floor= and cap= need 'across topics'"],
    "rrf 5 stop=nonrelevant": ["at position 1: rrf is not adaptive"],
    "rrf 5 stop=nonrelvant": ["at position 7: unknown stopping rule 'nonrelvant'; did you mean 'nonrelevant'?"],
    "cap 10": ["at position 1: cap has no step before it"],
    "depth 5; cap": ["at position 13: cap takes one number from 1 up, as in 'cap 800'; found the end of the step"],
    "depth 5; cap ten": ["at position 14: cap takes one number from 1 up, as in 'cap 800'; found 'ten'"],
    "sample 5; cap 3": ["at position 11: cap after a sample would invalidate its inclusion probabilities"],
    "stratified strata=5-1": ["at position 12: option 'strata' takes ranks with rates"],
    "stratified strata=1-9,5-20": ["at position 12: strata must rise and not overlap; '5-20' does"],
    "stratified order=rank2": ["at position 12: unknown pooling strategy 'rank2'"],
    "stratified order=sample": [
        "at position 12: option 'order' takes rank or a fixed strategy; 'sample' is sampling"
    ],
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text or "nothing")
def test_a_wrong_plan_is_answered_with_place_expectation_and_nearest_word(text, kept: Kept):
    with pytest.raises(UsageError) as caught:
        parse(text)
    told = str(caught.value)
    kept(told)
    for expected in WRONG[text]:
        assert expected in told


@given(st.text(alphabet="depthrfsamlucin 0123456789;=%-:.,\"'kby"))
def test_no_text_is_answered_otherwise_than_with_a_plan_or_a_usage_error(text):
    try:
        plan = parse(text)
    except UsageError:
        return
    assert parse(str(plan)) == plan


@st.composite
def plans(draw):
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["rrf", "borda", "popularity", "take", "rbp-a"]))
        option = {"rrf": " k={}", "popularity": " k={}"}.get(name, "").format(draw(st.integers(1, 200)))
        amount = draw(st.sampled_from(["", " 10", " until 33", " 12.5%", " budget 900"]))
        scope = draw(st.sampled_from(["", " by=group", " ranks=3-40", " by=group ranks=1-2"]))
        steps.append(name + option + amount + scope)
    return "; ".join([*steps, *draw(st.sampled_from([[], ["cap 50"]]))])


@given(plans())
def test_the_canonical_text_parses_to_an_equal_plan(text):
    plan = parse(text)
    assert parse(str(plan)) == plan
    assert str(parse(str(plan))) == str(plan)
