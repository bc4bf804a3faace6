"""Live pools in a collection: filled up as they are judged, after restarts, by several at once, and proved."""

import contextlib
import json
import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import Kept
from offering import batch

from cranfield.base.errors import InputError, ProblemsFound
from cranfield.judge.events import Event
from cranfield.pool.live import Judged, LivePool
from cranfield.pool.plan import parse
from cranfield.store.events import append_events
from cranfield.store.judging import Lease
from cranfield.store.live_pools import StandingAnswer, touched
from cranfield.workflows.pool.live import Label, Refilled, Refiller, in_order, labels_of

EXAMPLES = 400 if os.environ.get("CRANFIELD_SOAK") else 12

LABELS = {
    "1": {f"d{number}": number in (1, 3, 5) for number in range(1, 8)},
    "2": {"d1": False, "d8": True, "d9": False},
}
WIDE = {
    name: {
        topic: {f"{topic}{(number * step) % 40:02d}": 100.0 - number for number in range(40)} for topic in ("p", "q")
    }
    for name, step in {"A": 1, "B": 3, "C": 7}.items()
}
RELEVANT = {"p": {f"p{number:02d}": number % 3 == 0 for number in range(40)}, "q": {}}

PLANS = [
    "depth 1; mtf until 6",
    "thompson 4 by=group",
    "depth 1; hedge",
    "max-mean-ns budget 8 across topics floor=2",
    "mtf-global budget 7 across topics",
    "depth 1; ucb1-tuned budget 7",
    "sample 2; mtf stop=target:1",
    "depth 1; hedge 2; rrf 1; sample 50%",
]


@pytest.mark.parametrize("plan", PLANS)
def test_a_live_pool_is_judged_to_its_end_and_proved(hall, toolbox, plan):
    hall.submit(toolbox.worked)
    hall.build(plan, seed=3)
    ended = hall.finish(LABELS)
    assert set(ended) == {"1", "2"}
    assert hall.wrong() == []


@pytest.mark.parametrize("plan", PLANS)
def test_what_is_chosen_one_by_one_is_what_the_core_chooses(hall, toolbox, plan):
    hall.submit(toolbox.worked)
    hall.build(plan, seed=3)
    hall.finish(LABELS, batch=1)
    live = LivePool(parse(plan), toolbox.pooled(toolbox.worked), seed=3)
    if not live.spreads:
        for topic in live.topics:
            while choice := live.offer(topics=[topic]):
                live.learn(Judged(topic, choice.document, LABELS[topic].get(choice.document, False)))
        expected = {topic: set(toolbox.snapshot(live).documents_of(topic)) for topic in live.topics}
        assert {topic: set(hall.entries(topic)) for topic in live.topics} == expected
    total = {"max-mean-ns budget 8 across topics floor=2": 8, "mtf-global budget 7 across topics": 7}.get(plan)
    assert total is None or total == len(hall.entries("1")) + len(hall.entries("2"))


def test_every_choice_keeps_its_ranks_its_step_and_what_it_was_made_from(hall, toolbox):
    hall.submit(toolbox.worked)
    hall.build("depth 1; mtf until 5", topics=("1",))
    for document in hall.entries("1"):
        hall.judge("1", document, int(LABELS["1"][document]))
    assert hall.refill("1", batch=1) == Refilled(1, None)
    (row,) = hall.store.rows("SELECT topic, document, step, reason, version, known, elsewhere FROM pool_choices")
    document = hall.entries("1")[3]
    assert row == ("1", document, 2, row[3], 1, 3, "[]")
    entry = hall.store.row(
        "SELECT position, step, stratum, probability, version FROM pool_entries WHERE document = ?", document
    )
    assert entry == (4, 2, "mtf until 5", None, 1)
    ranks = dict(hall.store.rows("SELECT run, rank FROM pool_ranks WHERE document = ?", document))
    assert ranks == {
        run: lists.index(document) + 1
        for run, lists in toolbox.lists_of(toolbox.worked, "1").items()
        if document in lists
    }
    assert hall.store.rows("SELECT population, drawn FROM pool_strata WHERE step = 2") == [(1, 1)]


def test_another_process_and_a_restart_choose_what_this_one_would(hall, toolbox):
    hall.submit(WIDE)
    hall.build("depth 2; max-mean until 30", seed=5)
    for turn in range(8):
        for document in hall.to_judge("p"):
            hall.judge("p", document, int(RELEVANT["p"][document]))
        if turn % 2:
            hall.refill("p", batch=3)
        else:
            with hall.store.write():
                Refiller(hall.store, "pool").refill("p", batch=3)
    one_process = Refiller(hall.store, "pool")
    assert hall.wrong() == []
    with hall.store.write():
        assert one_process.refill("p").ended is None


def test_a_document_under_judgment_elsewhere_is_not_chosen_and_the_record_says_so(hall, toolbox):
    hall.submit(WIDE)
    hall.build("hedge until 9")
    first = batch(LivePool(parse("hedge until 9"), toolbox.pooled(WIDE)), 2, topics=["p"])
    with hall.store.write():
        for document, seconds in ((first[0].document, 60), (first[1].document, -60), ("not a candidate", 60)):
            hall.store.put("leases", [Lease("main", "p", document, "kim", "s", time.time() + seconds)])
    assert hall.refill("p", batch=1) == Refilled(1, None)
    assert hall.entries("p") == [first[1].document]
    assert json.loads(hall.store.value("SELECT elsewhere FROM pool_choices")) == [first[0].document]
    assert hall.wrong() == []


def test_what_is_out_is_not_chosen_twice_and_counts_for_the_amount(hall):
    hall.submit(WIDE)
    hall.build("depth 1; hedge until 8")
    assert hall.refill("p", batch=3).added == 3
    assert hall.refill("p", batch=30).added == 4  # the warm-up has one document: all three runs begin with it
    assert len(hall.entries("p")) == len(set(hall.entries("p"))) == 8
    assert hall.refill("p") == Refilled(0, None)
    for document in hall.to_judge("p"):
        hall.judge("p", document)
    assert hall.refill("p") == Refilled(0, "until 8 reached")
    assert hall.wrong() == []


def test_what_was_judged_elsewhere_is_chosen_without_being_judged_again(hall, toolbox):
    hall.submit(WIDE)
    for number in range(0, 40, 2):
        hall.judge("p", f"p{number:02d}", int(number % 3 == 0))
    hall.judge("p", "unheard-of", 1)
    hall.build("depth 2; mtf until 20", "second")
    hall.build("depth 2; mtf until 20", "fresh", seed=0)
    ended = hall.finish(RELEVANT, "second", batch=3)
    assert ended == {"p": "until 20 reached", "q": "until 20 reached"}
    assert len(hall.entries("p", "second")) == 20
    assert hall.wrong("second") == []
    hall.finish(RELEVANT, "fresh", batch=3)
    assert hall.wrong("fresh") == []


def test_an_undone_judgment_has_never_been(hall, toolbox):
    hall.submit(WIDE)
    hall.build("depth 2; mtf until 25", seed=1)
    for document in hall.to_judge("p"):
        hall.judge("p", document)
    hall.refill("p", batch=2)
    slip = hall.judge("p", hall.to_judge("p")[0], 1)
    hall.refill("p", batch=2)
    hall.undo(slip)
    hall.refill("p", batch=2)
    again = hall.judge("p", slip.document, 0)
    hall.refill("p", batch=2)
    hall.judge("p", again.document, 1)  # changed: the new grade counts, where it was given
    hall.refill("p", batch=2)
    assert hall.wrong() == []


def test_an_end_that_rests_on_a_judgment_is_taken_back_with_it(hall):
    hall.submit(WIDE)
    hall.build("mtf until 30 stop=nonrelevant:3")
    hall.refill("p", batch=3)
    events = [hall.judge("p", document) for document in hall.to_judge("p")]
    assert hall.refill("p") == Refilled(0, "the last 3 judged documents were not relevant")
    hall.undo(events[-1])
    hall.judge("p", events[-1].document, 1)
    assert hall.refill("p", batch=2) == Refilled(2, None)
    assert hall.store.rows("SELECT * FROM pool_ends") == []
    assert hall.wrong() == []


def test_an_end_stays_when_the_steps_after_it_have_added_their_documents(hall):
    hall.submit(WIDE)
    hall.build("hedge 3 stop=nonrelevant:3; sample 20%", seed=2)
    hall.refill("p", batch=3)
    events = [hall.judge("p", document) for document in hall.to_judge("p")]
    ended = hall.refill("p", batch=1)
    assert ended == Refilled(7, "3 reached")  # a fifth of the 37 that are left, all at once
    assert hall.store.rows("SELECT DISTINCT probability FROM pool_entries WHERE step = 2") == [(7 / 37,)]
    assert hall.store.value("SELECT count(*) FROM pool_undrawn") == 30
    hall.undo(events[0])
    with hall.store.write():
        assert Refiller(hall.store, "pool").refill("p") == Refilled(0, "3 reached")
    assert hall.refill("p") == Refilled(0, "3 reached")
    assert hall.wrong() == []


def test_a_document_nobody_could_judge_was_seen_and_has_no_label(hall):
    hall.submit(WIDE)
    hall.build("depth 1; mtf until 6")
    for document in hall.to_judge("p"):
        hall.said("p", document, kind="cannot-judge")
    assert hall.refill("p", batch=2) == Refilled(2, None)
    for document in hall.to_judge("p"):
        hall.said("p", document, kind="postponed")
    assert hall.refill("p", batch=9) == Refilled(3, None)
    assert hall.wrong() == []


def test_the_latest_grade_counts_and_a_decision_more(hall):
    hall.submit(WIDE)
    hall.build("depth 1; mtf until 9")
    first = hall.entries("p")[0]
    hall.judge("p", first, 0)
    hall.judge("p", first, 1, assessor="kim")
    hall.said("p", first, kind="adjudicated", grade=0, assessor="lee")
    for document in hall.entries("p")[1:]:
        hall.judge("p", document, 0)
    hall.refill("p", batch=2)
    hall.judge("p", first, 1, assessor="kim")  # an opinion does not change a decision
    hall.refill("p", batch=2)
    assert hall.wrong() == []


def test_a_transaction_that_was_rolled_back_leaves_no_trace_in_memory(hall):
    for plan, name in (("hedge until 9", "alone"), ("max-mean budget 30 across topics floor=3", "together")):
        if name == "alone":
            hall.submit(WIDE)
        hall.build(plan, name)
        with contextlib.suppress(ZeroDivisionError), hall.store.write():
            event = hall_event("p", f"p{len(name):02d}")
            append_events(hall.store, [event])
            hall.refillers.setdefault(name, Refiller(hall.store, name)).refill("p", batch=4)
            raise ZeroDivisionError
        assert hall.entries("p", name) == []
        hall.judge("q", "q01", 1)
        assert hall.refill("p", name, batch=2).added == 2
        assert hall.wrong(name) == []


def hall_event(topic, document):
    return Event(
        uuid=f"u-{topic}-{document}",
        kind="judged",
        topic=topic,
        document=document,
        assessor="eva",
        happened="2026-01-01T00:00:00.000Z",
        grade=1,
    )


def test_a_budget_across_topics_goes_where_it_finds_most_above_a_floor(hall):
    spec = {
        name: {
            topic: {f"{topic}-{name}-{number:03d}": 100.0 - number for number in range(60)}
            for topic in ("poor", "rich")
        }
        for name in "AB"
    }
    labels = {"rich": {document: True for name in "AB" for document in spec[name]["rich"]}}
    hall.submit(spec)
    hall.build("depth 2; max-mean budget 60 across topics floor=6")
    ended = hall.finish(labels, batch=1)
    assert ended == dict.fromkeys(["poor", "rich"], "budget 60 reached")
    assert {topic: len(hall.entries(topic)) for topic in ("poor", "rich")} == {"poor": 6, "rich": 54}
    assert hall.wrong() == []


def test_a_topic_waits_for_one_that_finds_more_unless_other_people_judge_that(hall):
    hall.submit(WIDE)
    hall.build("depth 1; max-mean budget 30 across topics floor=2")
    for topic in ("p", "q"):
        for document in hall.entries(topic):
            hall.judge(topic, document, int(topic == "p"))
    assert hall.refill("q", batch=2) == Refilled(0, None)
    assert hall.refill("p", batch=2) == Refilled(2, None)
    with hall.store.write():
        hall.store.connection.execute("INSERT INTO assignments VALUES ('p', 'eva', 'primary', '')")
        hall.store.connection.execute("INSERT INTO assignments VALUES ('q', 'kim', 'primary', '')")
    assert hall.refill("q", batch=2) == Refilled(2, None)
    with hall.store.write():
        hall.store.connection.execute("INSERT INTO assignments VALUES ('p', 'kim', 'share', '')")
    for document in hall.to_judge("q"):
        hall.judge("q", document)
    assert hall.refill("q", batch=2) == Refilled(0, None)
    assert hall.wrong() == []


def test_a_pool_learns_in_the_order_in_which_documents_came_or_were_judged():
    came = {"warm-up": (0, 0), "early": (0, 0), "known": (7, 2), "known-too": (7, 1), "new": (7, 3)}
    labels = {
        "warm-up": Label(False, 6),
        "early": Label(True, 2),
        "known": Label(True, 1),
        "known-too": Label(None, 5),
        "new": Label(False, 9),
        "not in the pool": Label(True, 3),
    }
    told = [(one.document, one.relevant) for one in in_order("1", came, labels)]
    assert told == [("early", True), ("warm-up", False), ("known-too", None), ("known", True), ("new", False)]


def test_a_label_is_the_latest_grade_and_a_decision_goes_before_opinions():
    def label(*answers):
        return labels_of([StandingAnswer("d", *answer) for answer in answers], {1: 1, 2: 2})["d"]

    assert label((False, 0, 1, 4), (False, 1, 1, 6)) == Label(True, 4)
    assert label((False, 1, 1, 6), (False, 0, 1, 8)) == Label(False, 6)
    assert label((True, 0, 1, 5), (False, 1, 1, 9)) == Label(False, 5)
    assert label((False, 1, 2, 3)) == Label(False, 3)  # relevant from 2 on the second scale
    assert label((False, None, 1, 2), (False, 1, 1, 7)) == Label(True, 2)
    assert label((False, None, 1, 2)) == Label(None, 2)


def test_an_event_that_is_not_there_any_more_means_that_all_topics_are_looked_at(hall):
    hall.submit(WIDE)
    first = hall.judge("p", "p01")
    second = hall.judge("q", "q01")
    assert touched(hall.store, after=(1, first.uuid)) == {("q", "q01")}
    assert touched(hall.store, after=(2, second.uuid)) == set()
    assert touched(hall.store, after=(2, "rolled back")) is None
    hall.undo(first)
    assert touched(hall.store, after=(2, second.uuid)) == {("p", "p01")}


TAMPERED = [
    "UPDATE pool_choices SET document = 'p39' WHERE number = 3",
    "UPDATE pool_choices SET known = known - 1 WHERE number = 4",
    "DELETE FROM pool_choices WHERE number = 2",
    "UPDATE pool_entries SET position = position + 1 WHERE step = 2",
    "DELETE FROM pool_ranks WHERE run = 'A'",
    "DELETE FROM pool_entries WHERE step = 2",
    "UPDATE pool_strata SET drawn = drawn + 1 WHERE step = 2",
    "UPDATE pool_ends SET rule = 'it was enough'",
    "UPDATE pool_versions SET made_by = 'me', content_hash = 'x'",
    "UPDATE pools SET seed = 8",
]


@pytest.mark.parametrize("statement", TAMPERED)
def test_a_live_pool_that_was_tampered_with_is_found(hall, statement):
    hall.submit(WIDE)
    hall.build("depth 2; thompson until 12", seed=7)
    hall.finish(RELEVANT)
    assert hall.wrong() == []
    for trigger in ("pool_choices_update", "pool_choices_delete"):
        hall.store.connection.execute(f"DROP TRIGGER {trigger}")
    hall.store.connection.execute(statement)
    assert hall.wrong() != []


def test_a_forged_choice_is_found_even_where_its_hashes_were_made_anew(hall):
    from cranfield.store.live_pools import choices

    hall.submit(WIDE)
    hall.build("depth 2; thompson until 12", seed=7)
    hall.finish(RELEVANT)
    for trigger in ("pool_choices_update", "pool_choices_delete"):
        hall.store.connection.execute(f"DROP TRIGGER {trigger}")
    change = "UPDATE {} SET document = 'p-forged' WHERE document = ? AND topic = 'p'"
    last = [one for one in choices(hall.store, 1) if one.topic == "p"][-1]
    free = next(document for document in RELEVANT["p"] if document not in hall.entries("p"))
    for table in ("pool_choices", "pool_entries", "pool_ranks"):
        hall.store.connection.execute(change.format(table).replace("p-forged", free), [last.document])
    before = ""
    for one in choices(hall.store, 1):
        before = one.hash_after(before)
        hall.store.connection.execute("UPDATE pool_choices SET hash = ? WHERE number = ?", [before, one.number])
    assert any(f"the plan selects {last.document}" in difference for difference in hall.wrong())


def test_choices_cannot_be_changed_by_accident(hall, kept: Kept):
    hall.submit(WIDE)
    hall.build("hedge until 3")
    hall.refill("p")
    with kept.raises(Exception), hall.store.write() as connection:
        connection.execute("DELETE FROM pool_choices")


def test_a_live_pool_that_cannot_begin_is_refused_before_anything_is_written(hall, kept: Kept):
    hall.submit(WIDE)
    with kept.raises(ProblemsFound):
        hall.build("depth 2; mtf budget 3 across topics")
    with kept.raises(ProblemsFound):
        hall.build("mtf budget 9 across topics floor=9")
    with kept.raises(InputError):
        hall.build("depth 1; cal until 9")
    assert hall.store.rows("SELECT * FROM pools") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=EXAMPLES)
@given(data=st.data())
def test_whatever_happens_while_judging_every_choice_can_be_proved(halls, toolbox, data):
    hall, name = halls(), "pool"
    hall.submit(toolbox.worked)
    hall.build(data.draw(st.sampled_from(PLANS)), name, seed=data.draw(st.integers(0, 3)))
    events = []
    for _ in range(data.draw(st.integers(5, 25))):
        topic = data.draw(st.sampled_from(["1", "2"]))
        act = data.draw(st.sampled_from(["refill", "refill", "judge", "judge", "undo", "elsewhere", "restart"]))
        if act == "refill":
            hall.refill(topic, name, batch=data.draw(st.integers(1, 3)))
        elif act == "judge" and hall.entries(topic, name):
            document = data.draw(st.sampled_from(hall.entries(topic, name)))
            assessor = data.draw(st.sampled_from(["eva", "kim"]))
            events.append(hall.judge(topic, document, data.draw(st.integers(0, 1)), assessor=assessor))
        elif act == "undo" and events:
            hall.undo(events.pop())
        elif act == "elsewhere":
            hall.judge(topic, data.draw(st.sampled_from(sorted(LABELS[topic]))), data.draw(st.integers(0, 1)))
        elif act == "restart":
            hall.refillers.clear()
    assert len(hall.entries("1", name)) == len(set(hall.entries("1", name)))
    assert hall.wrong(name) == []
