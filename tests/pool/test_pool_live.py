"""Live pools: chosen from what was judged so far, the same after a restart, for several assessors, with an end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept
from offering import batch

from cranfield.base.errors import ProblemsFound, UsageError
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import parse
from cranfield.pool.replay import replay
from cranfield.pool.stopping import Review, parsed_rule, stopping_rules

LABELS = {
    "1": {f"d{number}": number in (1, 3, 5) for number in range(1, 8)},
    "2": {"d1": False, "d8": True, "d9": False},
}


def judged_all(live, labels=LABELS, *, limit=999):
    """Judge what is offered until nothing is, and give it in order."""
    order = []
    while len(order) < limit and (choice := live.offer()):
        order.append((choice.topic, choice.document, choice.step))
        live.learn(Judged(choice.topic, choice.document, labels[choice.topic].get(choice.document)))
    return order


def test_the_warm_up_comes_first_then_the_adaptive_step_until_its_amount(worked):
    live = LivePool(parse("depth 1; mtf until 5"), worked, topics=["1"])
    order = judged_all(live)
    assert [step for _, _, step in order] == [1, 1, 1, 2, 2]
    assert [document for _, document, _ in order[:3]] == ["d5", "d3", "d1"]
    assert live.ended == {"1": "until 5 reached"}


def test_a_number_of_documents_is_counted_beyond_the_warm_up(worked):
    live = LivePool(parse("depth 1; hedge 2"), worked, topics=["1"])
    assert [step for _, _, step in judged_all(live)] == [1, 1, 1, 2, 2]


def test_steps_after_the_adaptive_one_follow_when_it_has_ended(toolbox, worked):
    live = LivePool(parse("depth 1; hedge 2; sample 50%"), worked, topics=["1"])
    order = judged_all(live)
    assert [step for _, _, step in order] == [1, 1, 1, 2, 2, 3]
    pool = toolbox.snapshot(live)
    assert [(entry.step, entry.probability) for entry in toolbox.entries(pool)] == [
        (1, 1.0),
        (1, 1.0),
        (1, 1.0),
        (2, None),
        (2, None),
        (3, 0.5),
    ]


def test_without_an_amount_everything_is_judged(worked):
    live = LivePool(parse("max-mean"), worked)
    assert len(judged_all(live)) == 10
    assert live.ended == {"1": "no document is left", "2": "no document is left"}


def test_a_snapshot_is_the_pool_so_far_and_changes_nothing(toolbox, worked):
    live = LivePool(parse("depth 1; mtf until 6"), worked, topics=["1"])
    order = judged_all(live, limit=4)
    pool = toolbox.snapshot(live)
    assert pool.ids == [document for _, document, _ in order]
    assert toolbox.entry(pool, "1", order[3][1]).stratum == "mtf until 6"
    assert len(judged_all(live)) == 2
    assert len(toolbox.snapshot(live)) == 6


PLANS = [
    "depth 1; mtf until 6",
    "thompson 4 by=group",
    "depth 1; hedge",
    "max-mean-ns budget 8 across topics floor=2",
    "mtf-global budget 7 across topics",
    "depth 1; ucb1-tuned budget 7",
    "sample 2; mtf stop=target:1",
]


@given(data=st.data())
def test_a_restart_stands_where_the_program_stood(worked, data):
    plan = parse(data.draw(st.sampled_from(PLANS)))
    seed = data.draw(st.integers(0, 3))
    live = LivePool(plan, worked, seed=seed)
    history, pending = [], []
    for _ in range(data.draw(st.integers(0, 12))):
        if pending and data.draw(st.booleans()):
            topic, document = pending.pop(data.draw(st.integers(0, len(pending) - 1)))
            history.append(Judged(topic, document, data.draw(st.sampled_from([True, False, None]))))
            live.learn(history[-1])
        else:
            offered = batch(live, 1, under_judgment=pending)
            pending += [(choice.topic, choice.document) for choice in offered]
    assert len(set(pending)) == len(pending)
    assert not set(pending) & {(one.topic, one.document) for one in history}
    again = LivePool(plan, worked, seed=seed)
    for one in history:
        again.learn(one)
    assert batch(live, 3, under_judgment=pending) == batch(again, 3, under_judgment=pending)


def test_a_document_under_judgment_elsewhere_is_not_offered(worked):
    live = LivePool(parse("depth 1; mtf until 5"), worked, topics=["1"])
    first = batch(live, 3)
    pending = [(choice.topic, choice.document) for choice in first]
    more = batch(live, 9, under_judgment=pending)
    assert len(more) == 2  # until 5, of which 3 are being judged
    assert not {choice.document for choice in more} & {choice.document for choice in first}
    assert batch(live, 9, under_judgment=[*pending, *((one.topic, one.document) for one in more)]) == []


def test_a_document_that_was_offered_before_the_end_still_enters(toolbox, worked):
    live = LivePool(parse("mtf stop=nonrelevant:2"), worked, topics=["1"])
    offered = [choice.document for choice in batch(live, 3)]
    for document in offered:
        live.learn(Judged("1", document, False))
    assert live.ended == {"1": "the last 2 judged documents were not relevant"}
    assert toolbox.snapshot(live).documents_of("1") == offered


def test_judgments_from_elsewhere_teach_and_count(toolbox, worked):
    live = LivePool(parse("max-mean until 4"), worked, topics=["1"])
    live.learn(Judged("1", "d7", False))
    live.learn(Judged("1", "unheard-of", True))
    live.learn(Judged("77", "d1", True))
    assert len(judged_all(live)) == 3
    assert toolbox.snapshot(live).documents_of("1")[0] == "d7"


def test_a_budget_across_topics_goes_where_it_finds_most_above_a_floor(toolbox):
    spec = {
        name: {
            topic: {f"{topic}-{name}-{number}": 100.0 - number for number in range(100)} for topic in ("poor", "rich")
        }
        for name in "AB"
    }
    labels = {
        topic: {document: topic == "rich" for name in "AB" for document in spec[name][topic]}
        for topic in ("poor", "rich")
    }
    runs = toolbox.pooled(spec)
    for plan, expected in {
        "depth 2; max-mean budget 60 across topics": {"poor": 15, "rich": 45},
        "depth 2; max-mean budget 60 across topics floor=6": {"poor": 6, "rich": 54},
        "depth 2; max-mean budget 60 across topics floor=6 cap=40": {"poor": 20, "rich": 40},
        "depth 2; mtf-global budget 60 across topics floor=6": {"poor": 6, "rich": 54},
        "depth 2; max-mean budget 60": {"poor": 30, "rich": 30},
    }.items():
        live = LivePool(parse(plan), runs)
        judged_all(live, labels)
        assert toolbox.snapshot(live).sizes == expected, plan
        assert set(live.ended) == {"poor", "rich"}


def test_what_cannot_be_afforded_is_refused_at_the_start(worked, kept: Kept):
    with kept.raises(ProblemsFound):
        LivePool(parse("depth 2; mtf budget 7 across topics"), worked)
    with kept.raises(ProblemsFound):
        LivePool(parse("mtf budget 9 across topics floor=5"), worked)
    with kept.raises(UsageError):
        LivePool(parse("depth 2"), worked)


YES, NO = [True], [False]

RULES = [
    ("nonrelevant:3", YES + NO * 2, None),
    ("nonrelevant:3", YES + NO * 3, "the last 3 judged documents were not relevant"),
    ("nonrelevant:3", NO * 2 + [None, False], "the last 3 judged documents were not relevant"),
    ("dry:3", YES + NO * 2, None),
    ("dry:3", YES + NO * 2 + [None], "nothing relevant in the last 3 steps"),
    ("too-rich:4", YES * 4, None),
    ("too-rich:4", YES * 3 + NO * 3, None),
    ("too-rich:4", YES * 3 + NO * 2, "the topic is too rich: 3 of 5 judged documents are relevant"),
    ("total-recall:2", YES * 2 + NO * 2, None),
    ("total-recall:2", YES * 2 + NO * 3, "5 documents judged, 2 of them relevant"),
    ("knee:10", NO * 20, None),
    # the knee is at 100: (100 / 100) / (1 / 100) = 100, and the bound 156 - 100 = 56
    ("knee", YES * 100 + NO * 100, "the gain curve has its knee at 100 of 200 documents (slope ratio 100.0)"),
    ("knee", YES * 100 + NO * 50, None),  # 50 < 56
    ("knee", YES * 100 + NO * 56, "the gain curve has its knee at 100 of 156 documents (slope ratio 56.0)"),
    ("knee:157", YES * 100 + NO * 56, None),
]


@pytest.mark.parametrize(("rule", "labels", "reason"), RULES, ids=lambda value: str(value)[:40])
def test_a_rule_says_when_it_is_enough_and_why(rule, labels, reason):
    assert parsed_rule(rule)(Review(labels)) == reason


def test_the_warm_up_does_not_make_a_topic_look_dry():
    labels = [False] * 5 + [True, False]
    for rule in ("nonrelevant:2", "dry:2"):
        assert parsed_rule(rule)(Review(labels, warm_up=0)) is None
        assert parsed_rule(rule)(Review([False] * 7, warm_up=6)) is None
        assert parsed_rule(rule)(Review([False] * 7, warm_up=5)) is not None


def test_a_target_is_reached_when_the_first_relevant_ones_of_the_sample_are_found_again():
    rule, reached = parsed_rule("target:2"), "found again: the first 2 relevant documents of the sample"
    assert rule(Review([], targets=[True])) is None
    assert rule(Review([], targets=[True, False, True])) is None
    assert rule(Review([], targets=[True, True, False])) == reached
    assert rule(Review([], targets=[True, True])) == reached


def test_the_labels_of_a_target_sample_are_kept_from_the_strategy_until_it_asks(toolbox):
    documents = {f"d{number:02d}": 99.0 - number for number in range(40)}
    runs = toolbox.pooled({"A": {"1": documents}})
    labels = {"1": {document: document < "d20" for document in documents}}
    live = LivePool(parse("sample 10; mtf stop=target:1"), runs, topics=["1"], seed=2)
    order = [document for _, document, _ in judged_all(live, labels)]
    sample, rest = order[:10], order[10:]
    relevant = [document for document in sample if labels["1"][document]]
    deepest = relevant[0]
    assert deepest < max(relevant)  # the sample holds more than one, and the first is the target
    assert live.ended["1"] == "found again: the first 1 relevant document of the sample"
    # the only run is followed from its top to the target; what the sample has costs nothing
    assert rest == [document for document in sorted(documents) if document not in sample and document < deepest]


def test_every_rule_has_a_summary_and_a_spelling():
    for name, part in stopping_rules.items():
        assert part.summary
        assert str(parse(f"mtf stop={name}:77")) == f"mtf stop={name}:77" if name != "target" else True


def test_a_replay_takes_the_known_labels_and_leaves_the_others_unjudged(worked):
    labels = {"1": {"d1": True, "d3": True, "d5": False, "d2": False}, "2": {"d8": True}}
    fixed = replay(parse("take 4"), worked, labels)
    assert [(one.topic, one.document, one.relevant) for one in fixed] == [
        ("1", "d1", True),
        ("2", "d1", None),
        ("1", "d3", True),
        ("2", "d8", True),
        ("1", "d5", False),
        ("2", "d9", None),
        ("1", "d2", False),
    ]
    adaptive = replay(parse("mtf"), worked, labels)
    assert sorted((one.topic, one.document) for one in adaptive) == sorted(
        (topic, document) for topic in ("1", "2") for document in LABELS[topic]
    )
    spread = replay(parse("max-mean budget 6 across topics"), worked, labels)
    assert len(spread) == 6


def test_an_adaptive_plan_finds_relevant_documents_sooner_where_one_run_is_good(toolbox):
    rng = np.random.default_rng(5)
    ids = [f"d{number:03d}" for number in range(300)]
    relevant = set(ids[:60])
    spec = {"good": {"1": {document: float(document in relevant) + rng.random() for document in ids}}}
    spec |= {f"bad{number}": {"1": {document: rng.random() for document in ids}} for number in range(5)}
    runs, labels = toolbox.pooled(spec), {"1": {document: document in relevant for document in ids}}

    def found(plan):
        return sum(one.relevant is True for one in replay(parse(plan), runs, labels)[:100])

    depth = found("take 100")
    for name in ("mtf", "max-mean", "max-mean-ns", "thompson", "ucb1-tuned", "hedge"):
        assert found(f"{name} until 100") > depth, name
