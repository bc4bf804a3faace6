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
    " 10 ": ("depth 10", [selection("depth", Amount("count", 10))]),
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


WRONG = [
    "",
    " ; ",
    "depht 10",
    "depth 10; rff until 5; smaple 3",
    "rrf kk=60 untl 100",
    "rrf k=sixty",
    "rrf k=-1",
    "rrf until",
    "rrf until many",
    "rrf 10 20",
    "rrf 0",
    "sample 120%",
    "sample 1.5",
    "rrf 5 ranks=20-10",
    "rrf 5 by=team",
    "rrf 5 by=run by=group",
    "rrf across nothing 5",
    "depth 10 rrf until 5",
    "depth",
    "depth until 5",
    "depth 5 ranks=1-9",
    "depth 5 topics=7",
    "rrf 5 by=topic",
    "sample",
    "rrf budget 9 across topics",
    "rrf 5 floor=3",
    "rrf 5 stop=nonrelevant",
    "rrf 5 stop=nonrelvant",
    "cap 10",
    "depth 5; cap",
    "depth 5; cap ten",
    "sample 5; cap 3",
    "stratified strata=5-1",
    "stratified strata=1-9,5-20",
    "stratified order=rank2",
    "stratified order=sample",
]


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text or "nothing")
def test_a_wrong_plan_is_answered_with_place_expectation_and_nearest_word(text, kept: Kept):
    with pytest.raises(UsageError) as caught:
        parse(text)
    kept(str(caught.value))


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
