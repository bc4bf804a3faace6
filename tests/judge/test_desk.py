"""What an assessor is given, in which order, and what is kept of his answers."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from kept import Kept

from assessor_ui.session import Session
from cranfield.base.errors import InputError, UnknownName, UsageError
from cranfield.judge.events import Event, Evidence
from cranfield.judge.queue import Assigned, Overlap, Probes
from cranfield.judge.session import Held, Item, SessionProgress
from cranfield.store.events import append_events, events, projection_faults, standing
from cranfield.store.judging import Queued, add_queue, live_leases, put_assignments, put_setting
from cranfield.store.store import Store
from cranfield.workflows.judge.session import StoredSession

NOW = "2026-01-01T00:00:00.000Z"
T1, T2, T3 = ([f"d{number:02}" for number in range(first, last)] for first, last in ((1, 13), (5, 11), (20, 23)))
Sit = Callable[..., StoredSession]


def named(item: Item | None) -> tuple[str, str] | None:
    return None if item is None else (item.topic.id, item.document.id)


def judged_to_the_end(desk: StoredSession, *, most: int = 200) -> list[tuple[str, str]]:
    shown = []
    while (item := desk.next_item()) is not None:
        shown.append((item.topic.id, item.document.id))
        desk.judge(item, 1, seconds=2.0)
        assert len(shown) <= most
    return shown


def next_of(desk: StoredSession) -> Item:
    item = desk.next_item()
    assert item is not None
    return item


ALL = [
    *(("t1", document) for document in T1),
    *(("t2", document) for document in T2),
    *(("t3", document) for document in T3),
]


def test_one_topic_after_the_other_in_the_order_of_the_plan(sit: Sit):
    desk = sit()
    assert judged_to_the_end(desk) == ALL
    assert desk.next_item() is None
    assert replace(desk.progress(), topics={}) == SessionProgress(21, 21, 21, 2.0)


def test_the_same_document_is_given_until_it_is_answered(sit: Sit):
    desk = sit()
    assert named(desk.next_item()) == named(desk.next_item()) == ("t1", "d01")


def test_what_was_answered_is_kept_whole(sit: Sit, judging: Store):
    desk = sit()
    item = next_of(desk)
    assert (item.position, item.of, item.before) == (1, 12, None)
    saved = desk.judge(item, 2, seconds=4.5, note="clear", evidence=[Evidence(0, 4, "text")])
    (event,) = events(judging)
    assert saved.answer.event == event.uuid
    assert (saved.late, saved.answer.kind, saved.answer.grade, saved.answer.note) == (False, "judged", 2, "clear")
    assert event.document_hash == item.document.content_hash
    assert (event.kind, event.topic, event.document, event.assessor) == ("judged", "t1", "d01", "ana")
    assert (event.grade, event.seconds, event.note) == (2, 4.5, "clear")
    assert event.evidence == (Evidence(0, 4, "text"),)
    assert (event.purpose, event.order, event.position, event.layer) == ("pool", "plan", 1, "main")
    assert (event.scale, event.guidelines, event.source) == (1, 0, "person")
    assert event.session
    assert event.recorded


def test_a_grade_that_is_not_on_the_scale_is_refused(sit: Sit, judging: Store, kept: Kept):
    desk = sit()
    with kept.raises(InputError):
        desk.judge(next_of(desk), 7, seconds=1)
    assert list(events(judging)) == []


@pytest.mark.parametrize(("seconds", "kept"), [(float("nan"), None), (float("inf"), None), (-1.0, None), (0.0, 0.0)])
def test_seconds_that_make_no_sense_are_not_kept(sit: Sit, judging: Store, seconds: float, kept: float | None):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=seconds)
    assert [event.seconds for event in events(judging)] == [kept]


def test_an_answer_and_the_next_lease_are_one_transaction(sit: Sit, judging: Store, clock):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    leases = live_leases(judging, "main", moment=clock())
    assert [(lease.document, lease.assessor) for lease in leases] == [("d02", "ana")]


def test_the_next_document_is_given_without_writing_again(sit: Sit):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    before = desk._store.connection.total_changes
    assert named(desk.next_item()) == ("t1", "d02")
    assert desk._store.connection.total_changes == before


def test_undo_goes_back_to_the_start_of_the_sitting(sit: Sit, judging: Store):
    first = sit()
    first.judge(next_of(first), 3, seconds=1)
    first.leave()
    desk = sit()
    for grade in (1, 2):
        desk.judge(next_of(desk), grade, seconds=1)
    back = [desk.undo(), desk.undo(), desk.undo()]
    assert [named(item) for item in back] == [("t1", "d03"), ("t1", "d02"), None]
    assert [item.before.grade for item in back if item and item.before] == [2, 1]
    assert named(desk.next_item()) == ("t1", "d02")
    assert [(event.document, event.grade) for event in standing(judging)] == [("d01", 3)]
    assert [event.kind for event in events(judging)] == ["judged"] * 3 + ["undone"] * 2
    assert projection_faults(judging) == []
    assert desk.progress().done == 1


def test_after_an_undo_the_documents_come_in_their_old_order(sit: Sit):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    assert named(desk.next_item()) == ("t1", "d02")
    desk.undo()
    assert judged_to_the_end(desk) == ALL


def test_postponed_documents_come_back_at_the_end_of_their_topic_longest_first(sit: Sit):
    desk = sit()
    shown = []
    while (item := desk.next_item()) is not None:
        shown.append(named(item))
        if named(item) in {("t1", "d02"), ("t1", "d01")} and item.before is None:
            desk.judge(item, None, seconds=1)
        else:
            desk.judge(item, 1, seconds=1)
    assert shown == [*ALL[:12], ("t1", "d01"), ("t1", "d02"), *ALL[12:]]


def test_what_is_put_off_again_waits_until_nothing_else_is_left(sit: Sit):
    desk = sit()
    shown = []
    while (item := desk.next_item()) is not None:
        shown.append(named(item))
        if named(item) == ("t1", "d04") and shown.count(("t1", "d04")) < 3:
            desk.judge(item, None, seconds=1)
        else:
            desk.judge(item, 1, seconds=1)
    assert shown == [*ALL[:12], ("t1", "d04"), *ALL[12:], ("t1", "d04")]


def test_the_last_open_document_comes_back_when_it_is_put_off(sit: Sit):
    desk = sit(topics=["t3"])
    desk.judge(next_of(desk), 1, seconds=1)
    desk.judge(next_of(desk), 1, seconds=1)
    desk.judge(next_of(desk), None, seconds=1)
    assert named(desk.next_item()) == ("t3", "d22")


def test_putting_off_a_document_that_has_a_grade_keeps_the_grade(sit: Sit, judging: Store):
    desk = sit()
    desk.judge(next_of(desk), 2, seconds=1)
    desk.judge(desk.reopen("t1", "d01"), None, seconds=1)
    assert [(event.document, event.grade) for event in standing(judging)] == [("d01", 2)]
    assert projection_faults(judging) == []


def test_what_one_cannot_judge_another_may(sit: Sit):
    ana = sit("ana", topics=["t3"])
    ana.judge(next_of(ana), None, reason="in a language I cannot read", seconds=1)
    assert judged_to_the_end(ana) == [("t3", "d21"), ("t3", "d22")]
    ana.leave()
    assert judged_to_the_end(sit("ben", topics=["t3"])) == [("t3", "d20")]


@pytest.mark.parametrize("answered", [False, True])
def test_what_another_has_taken_over_is_not_taken_back(sit: Sit, judging: Store, answered: bool):
    ana, ben = sit("ana", topics=["t3"]), sit("ben", topics=["t3"])
    ana.judge(next_of(ana), 1, seconds=1)
    ana.judge(next_of(ana), None, reason="blurred", seconds=1)
    taken_over = next_of(ben)
    assert named(taken_over) == ("t3", "d21")
    if answered:
        ben.judge(taken_over, 2, seconds=1)
    with pytest.raises(InputError):
        ana.undo()
    assert [event.kind for event in events(judging) if event.assessor == "ana"] == ["judged", "cannot-judge"]
    assert named(ana.undo()) == ("t3", "d20")


def test_two_sittings_never_have_the_same_document(sit: Sit):
    first, second, other = sit("ana"), sit("ana"), sit("ben", topics=["t1"])
    assert [named(desk.next_item()) for desk in (first, second, other)] == [
        ("t1", "d01"),
        ("t1", "d02"),
        ("t1", "d03"),
    ]


def test_two_sittings_of_one_assessor_never_have_the_same_document_of_the_overlap(sit: Sit, judging: Store):
    with judging.write():
        put_setting(judging, Overlap(1.0))
    first, second, other = sit("ana"), sit("ana"), sit("ben", topics=["t1"])
    assert [named(desk.next_item()) for desk in (first, second, other)] == [
        ("t1", "d01"),
        ("t1", "d02"),
        ("t1", "d01"),
    ]


def test_what_an_adjudicator_decided_is_done_for_everybody(sit: Sit, judging: Store):
    decided = Event(uuid="u", kind="adjudicated", topic="t3", document="d20", assessor="zoe", happened=NOW, grade=2)
    with judging.write():
        append_events(judging, [decided])
    assert judged_to_the_end(sit("ana", topics=["t3"])) == ALL[19:]
    assert judged_to_the_end(sit("zoe", topics=["t3"])) == []


def test_a_lease_that_has_run_out_comes_back(sit: Sit, clock):
    lost = sit("ana", topics=["t3"], lease_seconds=60)
    assert named(lost.next_item()) == ("t3", "d20")
    other = sit("ben", topics=["t3"])
    other.judge(next_of(other), 1, seconds=1)
    other.judge(next_of(other), 1, seconds=1)
    assert other.next_item() is None
    assert other.topics()[0].held == Held(1, 60.0)
    clock.seconds += 61
    assert named(other.next_item()) == ("t3", "d20")


def test_a_lease_from_a_clock_far_ahead_locks_nobody_out(sit: Sit, judging: Store, clock):
    ahead = sit("ana", topics=["t3"], lease_seconds=60)
    clock.seconds += 3 * 365 * 86_400
    assert named(ahead.next_item()) == ("t3", "d20")
    clock.seconds -= 3 * 365 * 86_400
    assert live_leases(judging, "main", moment=clock()) == []
    assert judged_to_the_end(sit("ben", topics=["t3"])) == ALL[18:]


def test_an_answer_after_the_lease_is_kept_as_a_second_one_and_said_so(sit: Sit, judging: Store, clock):
    ana, ben = sit("ana", topics=["t3"], lease_seconds=60), sit("ben", topics=["t3"])
    slow = next_of(ana)
    clock.seconds += 61
    ben.judge(next_of(ben), 0, seconds=1)
    assert ana.judge(slow, 3, seconds=90).late is True
    stands = {(event.assessor, event.document): event.grade for event in standing(judging)}
    assert stands == {("ben", "d20"): 0, ("ana", "d20"): 3}


def test_an_answer_after_the_lease_that_nobody_else_gave_is_not_late(sit: Sit, clock):
    desk = sit(lease_seconds=60)
    item = next_of(desk)
    clock.seconds += 61
    assert desk.judge(item, 3, seconds=90).late is False


def test_a_lease_is_kept_while_the_document_is_read(sit: Sit, clock):
    ana = sit("ana", topics=["t3"], lease_seconds=60)
    item = next_of(ana)
    for _ in range(5):
        clock.seconds += 50
        ana.keep(item)
    assert named(sit("ben", topics=["t3"]).next_item()) == ("t3", "d21")


def test_leaving_gives_everything_back(sit: Sit):
    ana = sit("ana", topics=["t3"])
    ana.next_item()
    ana.leave()
    assert named(sit("ben", topics=["t3"]).next_item()) == ("t3", "d20")


def test_an_assessor_goes_on_in_the_topic_he_was_in(sit: Sit):
    desk = sit()
    desk.choose_topic("t2")
    desk.judge(next_of(desk), 1, seconds=1)
    desk.leave()
    assert named(sit().next_item()) == ("t2", "d06")


def test_topics_that_are_everybodys_are_spread(sit: Sit):
    desks = [sit(name) for name in ("ana", "ben", "cleo")]
    assert [named(desk.next_item()) for desk in desks] == [("t1", "d01"), ("t2", "d05"), ("t3", "d20")]


def test_choosing_a_topic_gives_back_what_lies_there_of_another(sit: Sit, kept: Kept):
    ana = sit("ana")
    ana.next_item()
    ana.choose_topic("t3")
    assert named(ana.next_item()) == ("t3", "d20")
    assert named(sit("ben", topics=["t1"]).next_item()) == ("t1", "d01")
    with kept.raises(UnknownName):
        ana.choose_topic("t9")


def assign(store: Store, *made: Assigned) -> None:
    with store.write():
        put_assignments(store, made, topics=[one.topic for one in made])


def test_assigned_topics_are_their_assessors_alone(sit: Sit, judging: Store):
    assign(judging, Assigned("t1", "ben", "primary"), Assigned("t3", "ana", "primary"))
    assert judged_to_the_end(sit("ana")) == [*ALL[18:], *ALL[12:18]]
    assert {topic for topic, _ in judged_to_the_end(sit("ben"))} == {"t1"}


def test_overlap_goes_to_the_second_assessor_and_to_nobody_else(sit: Sit, judging: Store, kept: Kept):
    assign(judging, Assigned("t1", "ana", "primary"), Assigned("t1", "ben", "second"))
    overlap = Overlap(0.4, 2, 7)
    with judging.write():
        put_setting(judging, overlap)
    twice = [document for document in T1 if overlap.needed("t1", document) == 2]
    assert 0 < len(twice) < len(T1)
    assert judged_to_the_end(sit("ben", topics=["t1"])) == [("t1", document) for document in twice]
    assert judged_to_the_end(sit("ana", topics=["t1"])) == [("t1", document) for document in T1]
    with kept.raises(UnknownName):
        sit("cleo", topics=["t1"])
    purposes = {event.document: event.purpose for event in standing(judging)}
    assert purposes == {document: "overlap" if document in twice else "pool" for document in T1}


def test_a_second_assessor_gets_what_the_first_could_not_judge(sit: Sit, judging: Store):
    assign(judging, Assigned("t3", "ana", "primary"), Assigned("t3", "ben", "second"))
    ana, ben = sit("ana", topics=["t3"]), sit("ben", topics=["t3"])
    assert ben.next_item() is None
    ana.judge(next_of(ana), None, reason="blurred", seconds=1)
    assert judged_to_the_end(ben) == [("t3", "d20")]


def test_needed_answers_are_counted_for_each_layer(sit: Sit, judging: Store):
    assert judged_to_the_end(sit("ana", topics=["t3"])) == ALL[18:]
    assert judged_to_the_end(sit("ben", topics=["t3"])) == []
    assert judged_to_the_end(sit("ben", topics=["t3"], layer="after")) == ALL[18:]
    assert {event.layer for event in standing(judging) if event.assessor == "ben"} == {"after"}


def test_a_probe_shows_an_earlier_document_and_never_counts(sit: Sit, judging: Store):
    with judging.write():
        put_setting(judging, Probes(0.5, 3, 1))
    desk = sit(topics=["t1"])
    shown, left = [], []
    while (item := desk.next_item()) is not None:
        again = item.document.id in [document for _, document in shown]
        shown.append(("again" if again else "new", item.document.id))
        left.append((item.left, desk.progress().left, desk.progress().topics["t1"].left))
        assert item.before is None
        desk.judge(item, 0 if again else 2, seconds=1)
    again = [document for kind, document in shown if kind == "again"]
    assert len(again) > 1
    assert len(set(again)) == len(again)
    for place, (kind, document) in enumerate(shown):
        if kind == "again":
            earlier = [other for other_kind, other in shown[:place] if other_kind == "new"]
            assert len(earlier) - earlier.index(document) > 3
    assert {event.grade for event in standing(judging)} == {2}
    assert [event.document for event in events(judging) if event.purpose == "probe"] == again
    assert left == [(number,) * 3 for number in range(len(shown), 0, -1)], "nothing in the counts tells a probe"
    done = desk.progress()
    assert (done.done, done.of, done.today) == (len(shown),) * 3
    assert [(state.done, state.of) for state in desk.topics()] == [(len(shown), len(shown))]
    assert projection_faults(judging) == []


def probed_desk(sit: Sit, judging: Store) -> tuple[StoredSession, str]:
    """Seat somebody who has just answered a probe otherwise than before; give the document."""
    with judging.write():
        put_setting(judging, Probes(0.5, 3, 1))
    desk, seen = sit(topics=["t1"]), set[str]()
    while (item := next_of(desk)).document.id not in seen:
        seen.add(item.document.id)
        desk.judge(item, 2, seconds=1)
    desk.judge(item, 0, seconds=1)
    return desk, item.document.id


def test_the_history_has_what_was_said_last_though_it_does_not_count(sit: Sit, judging: Store):
    desk, probe = probed_desk(sit, judging)
    past = [(one.document, one.answer.grade) for one in desk.history()]
    assert past[0] == (probe, 0)
    assert len({document for document, _ in past}) == len(past)
    assert {document: grade for document, grade in past if document != probe} == {
        event.document: 2 for event in standing(judging) if event.document != probe
    }
    again = desk.reopen("t1", probe)
    assert again.before is not None
    assert again.before.grade == 0
    desk.judge(again, 1, seconds=1)
    assert next((one.document, one.answer.grade) for one in desk.history()) == (probe, 1)
    assert {event.document: event.grade for event in standing(judging)}[probe] == 1


def test_a_probe_that_is_taken_back_is_asked_again_and_counted_once(sit: Sit, judging: Store):
    desk, probe = probed_desk(sit, judging)
    left = desk.progress().left
    again = desk.undo()
    assert again is not None
    assert again.document.id == probe
    assert (again.left, desk.progress().left) == (left + 1, left + 1)
    assert (probe, 0) not in [(one.document, one.answer.grade) for one in desk.history()]
    desk.judge(again, 1, seconds=1)
    assert desk.progress().left == left


def test_taking_back_an_answer_that_made_a_probe_due_makes_no_second_one_due(sit: Sit, judging: Store):
    with judging.write():
        put_setting(judging, Probes(0.5, 3, 1))
    desk, left = sit(topics=["t1"]), []
    while (item := desk.next_item()) is not None:
        desk.judge(item, 2, seconds=1)
        item = desk.undo()
        assert item is not None
        left.append(item.left)
        desk.judge(item, 2, seconds=1)
    assert left == list(range(len(left), 0, -1))


def test_the_order_of_the_pool_and_the_place_in_it_are_recorded(sit: Sit, judging: Store):
    desk = sit(topics=["t1"])
    desk.judge(next_of(desk), 1, seconds=1)
    with judging.write() as connection:
        connection.execute("UPDATE pools SET judging_order = 'random', seed = 4")
    other = sit("ben", topics=["t2"])
    other.judge(next_of(other), 1, seconds=1)
    assert [(event.order, event.position) for event in events(judging)] == [("plan", 1), ("plan of random:4", 1)]


def test_history_has_the_latest_first_and_finds_words(sit: Sit):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1, note="Grüne Soße")
    desk.judge(next_of(desk), None, reason="torn", seconds=1)
    past = desk.history()
    assert [(one.topic, one.document, one.title, one.answer.kind, one.answer.note) for one in past] == [
        ("t1", "d02", "Title d02", "cannot-judge", "torn"),
        ("t1", "d01", "Title d01", "judged", "Grüne Soße"),
    ]
    assert [one.document for one in desk.history("GRÜNE title")] == ["d01"]


def test_the_history_has_the_document_that_is_named_before_those_that_mention_it(sit: Sit):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    desk.judge(next_of(desk), 1, seconds=1, note="much like D01")
    assert [one.document for one in desk.history("D01")] == ["d01", "d02"]


def test_a_document_judged_again_from_the_history_counts_once(sit: Sit, judging: Store):
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    waiting = named(desk.next_item())
    item = desk.reopen("t1", "d01")
    assert item.before is not None
    assert (item.before.grade, item.position) == (1, 1)
    desk.judge(item, 3, seconds=1)
    assert named(desk.next_item()) == waiting
    assert [(event.document, event.grade) for event in standing(judging)] == [("d01", 3)]
    assert desk.progress().done == 1


def test_a_found_document_joins_the_topic_and_is_judged(sit: Sit, judging: Store):
    desk = sit(topics=["t3"])
    states = {hit.document: hit.state for hit in desk.search("t3", "soup")}
    assert (states["d20"], states["d30"]) == ("pooled", "new")
    item = desk.reopen("t3", "d30", "soup")
    assert (item.position, item.of) == (4, 4)
    desk.judge(item, 3, seconds=1)
    assert judging.rows("SELECT topic, document, assessor, words FROM found_documents") == [
        ("t3", "d30", "ana", "soup")
    ]
    assert [(event.document, event.purpose) for event in standing(judging)] == [("d30", "search")]
    found = {hit.document: (hit.state, hit.grade) for hit in desk.search("t3", "soup")}
    assert found["d30"] == ("judged", 3)
    assert (desk.progress().done, desk.progress().of) == (1, 4)
    assert desk.search("t3", "??") == []


def test_a_found_document_that_was_left_unjudged_comes_in_its_turn(sit: Sit):
    ana = sit("ana", topics=["t3"])
    ana.reopen("t3", "d30", "soup")
    ana.leave()
    assert judged_to_the_end(sit("ben", topics=["t3"])) == [*ALL[18:], ("t3", "d30")]


def test_a_pooled_document_that_is_found_stays_the_pools(sit: Sit, judging: Store):
    desk = sit(topics=["t3"])
    desk.judge(desk.reopen("t3", "d22", "soup"), 1, seconds=1)
    assert judging.rows("SELECT * FROM found_documents") == []
    assert [event.purpose for event in events(judging)] == ["pool"]


def test_a_document_that_another_is_judging_cannot_be_taken(sit: Sit, kept: Kept):
    ana, ben = sit("ana", topics=["t3"]), sit("ben", topics=["t3"])
    ana.next_item()
    with kept.raises(InputError):
        ben.reopen("t3", "d20", "soup")
    with kept.raises(UnknownName):
        ben.reopen("t3", "d99", "soup")


def test_a_queue_is_judged_by_its_name(sit: Sit, judging: Store, kept: Kept):
    with judging.write():
        add_queue(
            judging,
            "settle a b",
            [Queued("t2", "d28", "decides"), Queued("t2", "d05"), Queued("t1", "d01")],
            purpose="settle",
        )
    desk = sit(queue="settle a b")
    assert judged_to_the_end(desk) == [("t1", "d01"), ("t2", "d28"), ("t2", "d05")]
    assert {event.purpose for event in events(judging)} == {"queue"}
    assert judged_to_the_end(sit("ben", topics=["t1"]))[0] == ("t1", "d02")
    with kept.raises(UnknownName):
        sit(queue="settle")
    with kept.raises(UsageError):
        sit(queue="settle a b", pool="pool")


def test_what_was_judged_under_older_guidelines_is_judged_again(sit: Sit, judging: Store):
    desk = sit(topics=["t3"])
    judged_to_the_end(desk)
    assert sit(rejudge=True).next_item() is None
    with judging.write():
        judging.add_guidelines("Be strict.")
    again = sit(rejudge=True)
    item = next_of(again)
    assert item.before is not None
    assert (named(item), item.before.grade, again.guidelines) == (("t3", "d20"), 1, "Be strict.")
    again.judge(item, None, seconds=1)
    again.judge(next_of(again), 0, seconds=1)
    again.judge(next_of(again), 2, seconds=1)
    assert named(again.next_item()) == ("t3", "d20")
    assert [(event.document, event.grade, event.guidelines) for event in standing(judging)] == [
        ("d20", 1, 0),
        ("d21", 0, 1),
        ("d22", 2, 1),
    ]
    again.judge(next_of(again), 3, seconds=1)
    assert again.next_item() is None
    assert sit("ben", rejudge=True).next_item() is None


def test_topics_tell_how_far_they_are(sit: Sit, judging: Store):
    assign(judging, Assigned("t2", "ana", "primary"))
    desk = sit()
    desk.judge(next_of(desk), 1, seconds=1)
    desk.judge(next_of(desk), None, seconds=1)
    states = [(one.topic.id, one.done, one.of, one.postponed) for one in desk.topics()]
    assert states == [("t2", 1, 6, 1), ("t1", 0, 12, 0), ("t3", 0, 3, 0)]


def test_what_others_did_shows_in_the_topics(sit: Sit):
    ana, ben = sit("ana"), sit("ben", topics=["t1"])
    assert ana.progress().done == 0
    judged_to_the_end(ben)
    assert next((one.topic.id, one.done, one.of) for one in ana.topics()) == ("t1", 12, 12)
    assert ana.progress().done == 12


def test_a_note_is_kept_and_judges_nothing(sit: Sit, judging: Store):
    desk = sit()
    item = next_of(desk)
    desk.note(item, "compare with d05")
    assert [(event.kind, event.note) for event in events(judging)] == [("noted", "compare with d05")]
    assert standing(judging) == []
    assert named(desk.next_item()) == named(item)


def test_a_note_without_an_answer_comes_back_with_its_document(sit: Sit, judging: Store):
    for _ in range(2):
        leaving = Session(sit())
        leaving.start()
        leaving.set_note(leaving.note or "compare with d05")
        leaving.leave()
    coming = Session(desk := sit())
    coming.start()
    assert coming.note == "compare with d05"
    document = coming.open.document.id
    coming.judge(2)
    assert [(event.kind, event.note) for event in events(judging)] == [
        ("noted", "compare with d05"),
        ("judged", "compare with d05"),
    ]
    coming.set_note("or with d06")
    coming.later()
    assert desk.reopen("t1", document).note == ""
    while coming.open.before is None:
        coming.judge(2)
    assert coming.note == "or with d06"


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 81])
def test_a_name_that_is_none_is_refused(sit: Sit, name: str, kept: Kept):
    with kept.raises(UsageError):
        sit(name)


def test_a_document_without_text_can_be_given(sit: Sit, judging: Store, kept: Kept):
    with judging.write():
        add_queue(judging, "lost", [Queued("t1", "nowhere")], purpose="top-up")
    desk = sit(queue="lost")
    item = next_of(desk)
    assert (item.document.text, item.document.title) == ("", "")
    kept(item.remark)
    desk.judge(item, None, reason="no text", seconds=1)
    assert desk.next_item() is None
