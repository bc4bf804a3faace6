"""Live pools that begin with a pool that is there: what was handed out, what counts now, and what is over."""

from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from offering import batch

from cranfield.pool.build import build, duplicates_of, without_model
from cranfield.pool.extend import extend, missing_by_depth, with_chosen
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import parse
from cranfield.pool.pool import NO_PROBABILITY, Stratum

PLANS = [
    "depth 1; mtf until 6",
    "depth 1; hedge",
    "max-mean-ns budget 8 across topics floor=2",
    "mtf-global budget 7 across topics",
    "depth 1; ucb1-tuned budget 7",
    "sample 2; mtf stop=target:1",
    "depth 1; hedge 2; sample 50%",
]


def test_what_is_in_a_pool_is_not_offered_again(worked):
    plan = parse("depth 1; mtf until 6")
    pool = build(plan, worked, topics=["1"])
    live = LivePool(plan, worked, pool=pool)
    offered = [choice.document for choice in batch(live, 9)]
    assert len(offered) == 3
    assert not set(offered) & set(pool.documents_of("1"))
    live.hand_out("1", *offered[:2])
    assert [choice.document for choice in batch(live, 9)] == offered[2:]


@given(data=st.data())
def test_standing_with_some_judgments_is_having_been_told_them_alone(worked, data):
    plan, seed = parse(data.draw(st.sampled_from(PLANS))), data.draw(st.integers(0, 3))
    pool = build(plan, worked, seed=seed)
    live, handed_out = LivePool(plan, worked, pool=pool), {topic: pool.documents_of(topic) for topic in pool.topics}
    standing = {topic: [] for topic in pool.topics}
    for _ in range(data.draw(st.integers(0, 14))):
        topic = data.draw(st.sampled_from(pool.topics))
        act = data.draw(st.sampled_from(["choose", "judge", "take back", "change"]))
        if act == "choose":
            chosen = [choice.document for choice in batch(live, 2, topics=[topic])]
            live.hand_out(topic, *chosen)
            handed_out[topic] += chosen
        elif act == "judge":
            judged = {one.document for one in standing[topic]}
            left = [document for document in handed_out[topic] if document not in judged]
            if left:
                standing[topic].append(Judged(topic, data.draw(st.sampled_from(left)), data.draw(st.booleans())))
        elif standing[topic]:
            place = data.draw(st.integers(0, len(standing[topic]) - 1))
            taken_back = standing[topic].pop(place)
            if act == "change":
                standing[topic].append(Judged(topic, taken_back.document, not taken_back.relevant))
        live.set_judgments(topic, standing[topic])
    fresh = LivePool(plan, worked, pool=pool)
    for topic, documents in handed_out.items():
        fresh.hand_out(topic, *documents[len(pool.documents_of(topic)) :])
    for judged in standing.values():
        for one in judged:
            fresh.learn(one)
    assert batch(live, 9) == batch(fresh, 9)


def test_a_budget_that_was_spent_is_not_any_more_when_a_judgment_is_taken_back(worked):
    plan = parse("max-mean budget 4 across topics floor=1")
    live = LivePool(plan, worked)
    judged = {"1": [], "2": []}
    while choice := live.offer():
        one = Judged(choice.topic, choice.document, True)
        judged[one.topic].append(one)
        live.learn(one)
    assert live.ended == dict.fromkeys(["1", "2"], "budget 4 reached")
    topic = max(judged, key=lambda name: len(judged[name]))
    live.set_judgments(topic, judged[topic][:-1])
    assert live.ended == {}
    assert len(batch(live, 9)) == 1


def test_what_was_handed_out_before_the_end_is_no_part_of_a_sample_after_it(toolbox, worked):
    plan = parse("hedge until 5 stop=nonrelevant:2; sample 50%")
    live = LivePool(plan, worked, topics=["1"])
    chosen = [choice.document for choice in batch(live, 4)]
    live.hand_out("1", *chosen)
    for document in chosen[:2]:
        live.learn(Judged("1", document, False))
    assert live.ended == {"1": "the last 2 judged documents were not relevant"}
    ((sample, undrawn),) = live.at("1").later().items()
    drawn = [entry.document for entry in toolbox.entries(toolbox.snapshot(live)) if entry.stratum == sample.name]
    assert {*drawn, *undrawn} == {f"d{number}" for number in range(1, 8)} - set(chosen)
    assert toolbox.snapshot(live).documents_of("1")[:4] == chosen


def test_a_topic_that_was_closed_offers_nothing_whatever_is_taken_back(worked):
    plan = parse("depth 1; hedge 2")
    live = LivePool(plan, worked, topics=["1"])
    for document in (first := [choice.document for choice in batch(live, 9)]):
        live.learn(Judged("1", document, True))
    live.close("1", "2 reached")
    live.set_judgments("1", [Judged("1", first[0], True)])
    assert live.ended == {"1": "2 reached"}
    again = LivePool(plan, worked, pool=build(plan, worked, topics=["1"]), ended={"1": "2 reached"})
    assert batch(again, 9) == []
    assert again.ended == {"1": "2 reached"}


def test_a_warm_up_that_is_judged_late_does_not_count_as_steps_without_a_find(worked):
    live = LivePool(parse("depth 1; mtf stop=dry:2"), worked, topics=["1"])
    warm_up = [choice.document for choice in batch(live, 3)]
    others = [choice.document for choice in batch(live, 5, under_judgment=[("1", one) for one in warm_up])]
    for document, label in zip(others[:2], [False, True], strict=True):
        live.learn(Judged("1", document, label))
    for document in warm_up:
        live.learn(Judged("1", document, False))
    assert live.ended == {}
    live.learn(Judged("1", others[2], False))
    assert live.ended == {}
    live.learn(Judged("1", others[3], False))
    assert live.ended == {"1": "nothing relevant in the last 2 steps"}


def test_chosen_documents_stand_behind_the_others_and_an_extension_keeps_them(toolbox, worked):
    plan = parse("depth 1; mtf until 5")
    few = worked.chosen(["A", "B"])
    step = Stratum(2, "mtf until 5")
    begun = build(plan, few, topics=["1"])
    pool = with_chosen(begun, few, {"1": [("d5", step, NO_PROBABILITY)]})
    assert [(one.document, one.step, one.probability) for one in toolbox.entries(pool)] == [
        ("d3", 1, 1.0),
        ("d1", 1, 1.0),
        ("d5", 2, None),
    ]
    assert toolbox.entry(pool, "1", "d5").contributions == [("A", 5)]
    grown = extend(pool, worked)  # d5 is the first of C: it is there already
    assert [(one.document, one.step, one.version) for one in toolbox.entries(grown)] == [
        ("d3", 1, 1),
        ("d1", 1, 1),
        ("d5", 2, 1),
    ]
    assert toolbox.entry(grown, "1", "d5").contributions == [("A", 5), ("C", 1)]
    live = LivePool(plan, worked, pool=grown)
    assert len(batch(live, 9)) == 2


def test_a_chosen_document_goes_on_standing_for_its_near_duplicates(worked):
    plan, clusters = parse("depth 1; mtf until 6"), {"d5": "x", "d4": "x", "d7": "x"}
    few = worked.chosen(["A", "B"])
    begun = build(plan, few, topics=["1"], clusters=clusters)
    live = LivePool(plan, few, pool=begun, clusters=clusters)
    assert "d5" not in live.at("1").candidates.ids  # d4 has the better rank
    candidates = live.at("1").candidates
    left_out = duplicates_of(candidates, candidates.documents[[candidates.numbers["d4"]]])
    assert [(one.document, one.representative) for one in left_out] == [("d5", "d4")]
    pool = with_chosen(begun, few, {"1": [("d4", Stratum(2, "mtf until 6"), NO_PROBABILITY)]}, clusters=clusters)
    grown = extend(pool, worked, clusters=clusters)  # d5 is first in C
    assert "d5" not in grown.documents_of("1")
    assert [(one.document, one.representative) for one in grown.duplicates] == [("d5", "d4"), ("d7", "d4")]
    again = LivePool(plan, worked, pool=grown, clusters=clusters)
    assert not {"d5", "d7"} & set(again.at("1").candidates.ids)


def test_a_plan_that_cannot_be_repeated_is_checked_without_its_model():
    assert parse("depth 5; mtf until 9").is_reproducible
    plan = parse("depth 5; cal negatives=7 until 9 stop=dry:3; rrf 2")
    assert not plan.is_reproducible
    stand_in = without_model(plan)
    assert stand_in.steps[0] == plan.steps[0]
    assert (stand_in.steps[1].amount, stand_in.steps[1].scope) == (plan.steps[1].amount, plan.steps[1].scope)
    assert stand_in.is_reproducible
    assert without_model(parse("mtf 3")) == parse("mtf 3")


def test_a_budget_for_all_topics_cannot_follow_topics_that_end_one_by_one(kept: Kept):
    with kept.raises(Exception):
        parse("mtf until 9; rrf budget 90")


def test_what_a_deeper_pool_would_add(worked):
    # topic 1: best ranks d1 d3 d5 1, d2 d6 2, d4 4, d7 5; topic 2: d1 d8 1, d9 2
    pool = build(parse("depth 1"), worked)
    assert missing_by_depth(pool, worked).tolist() == [0, 3, 0, 1, 1]
    clusters = {"d6": 1, "d3": 1}
    pool = build(parse("depth 1"), worked, clusters=clusters)
    assert missing_by_depth(pool, worked, clusters=clusters).tolist() == [0, 2, 0, 1, 1]
    assert missing_by_depth(build(parse("sample 1"), worked, topics=["2"]), worked).sum() == 2
