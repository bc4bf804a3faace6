"""A packet is a small collection for one assessor; what he does in it comes back once, with its conflicts."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import CollectionError, InputError, ProblemsFound, UnknownName, UsageError
from cranfield.base.records import Document
from cranfield.judge.queue import Assigned
from cranfield.store import documents
from cranfield.store.events import events, projection_faults
from cranfield.store.judging import live_leases, older_than, packet_facts, put_assignments
from cranfield.store.store import Store, open_store
from cranfield.workflows.check import check
from cranfield.workflows.collection import NAMED, back_up
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.packets import make_packet, merge_packet
from cranfield.workflows.judge.session import StoredSession
from cranfield.workflows.qrels import Selection, qrels_for
from cranfield.workflows.status import status as collection_status

NOW = "2026-01-02T00:00:00.000Z"
Sit = Callable[..., StoredSession]


def packet_for(store: Store, folder: Path, assessor: str = "eve", **options: object) -> Path:
    make_packet(store, folder / "packet.db", assessor=assessor, **options)  # type: ignore[arg-type]
    return folder / "packet.db"


def judge_all(path: Path, grade: int, assessor: str = "eve") -> int:
    with open_store(path) as store:
        desk = Judge(store).session(assessor)
        count = 0
        while item := desk.next_item():
            desk.judge(item, grade, seconds=1.0)
            count += 1
        desk.leave()
    return count


def test_a_packet_holds_the_open_documents_of_its_topics_and_nothing_else(judging: Store, tmp_path: Path, sit: Sit):
    desk = sit("ana", topics=["t2"])
    desk.judge(desk.next_item(), 3, seconds=1.0)
    desk.leave()
    made = make_packet(judging, tmp_path / "packet.db", assessor="eve", topics=("t2", "t3"))
    assert made.facts == {"documents": 8, "topics": 2, "layer": "main"}
    with open_store(tmp_path / "packet.db") as packet:
        assert documents.topic_ids(packet) == ["t2", "t3"]
        assert packet.rows("SELECT topic, document, position, why FROM queue_entries ORDER BY topic, position") == [
            *(("t2", f"d{number:02}", place, "") for place, number in enumerate(range(6, 11), start=1)),
            *(("t3", f"d{number}", place, "") for place, number in enumerate(range(20, 23), start=1)),
        ]
        assert packet.value("SELECT count(*) FROM documents") == 8
        assert packet.value("SELECT count(*) FROM judgment_events") == 0
        assert packet.value("SELECT count(*) FROM pools") == 0
        facts = packet_facts(packet)
        assert facts is not None
        assert (facts.assessor, facts.collection, facts.layer, facts.up_to_event) == ("eve", "test", "main", 1)
        assert [finding.wrong for finding in check(packet).findings if finding.wrong] == []


def test_a_packet_is_judged_by_the_same_desk_and_comes_back_once(judging: Store, tmp_path: Path):
    path = packet_for(judging, tmp_path, topics=("t3",))
    assert judge_all(path, 2) == 3
    done = merge_packet(judging, path)
    assert (done.new, done.same, done.assessors, done.conflicts) == (3, 0, ["eve"], [])
    assert list(qrels_for(judging)) == [("t3", "d20", 2), ("t3", "d21", 2), ("t3", "d22", 2)]
    again = merge_packet(judging, path)
    assert (again.new, again.same, again.conflicts) == (0, 3, [])
    assert projection_faults(judging) == []


def test_what_happened_after_the_first_merge_comes_with_the_second_undoing_included(judging: Store, tmp_path: Path):
    path = packet_for(judging, tmp_path, topics=("t3",))
    with open_store(path) as packet:
        desk = Judge(packet).session("eve")
        desk.judge(desk.next_item(), 2, seconds=1.0)
        merge_packet(judging, path)
        desk.undo()
        desk.judge(desk.next_item(), 1, seconds=1.0)
        desk.leave()
    assert merge_packet(judging, path).new == 2
    assert list(qrels_for(judging)) == [("t3", "d20", 1)]
    assert [event.kind for event in events(judging)] == ["judged", "undone", "judged"]
    assert projection_faults(judging) == []


def test_the_documents_of_a_packet_are_reserved_until_it_comes_back(
    judging: Store, tmp_path: Path, sit: Sit, kept: Kept
):
    import time

    path = packet_for(judging, tmp_path, topics=("t3",))
    with kept.raises(InputError):
        packet_for(judging, tmp_path, "bob", topics=("t3",))
    assert len(live_leases(judging, "main", moment=time.time())) == 3
    judge_all(path, 1)
    merge_packet(judging, path)
    assert live_leases(judging, "main", moment=time.time()) == []
    free = make_packet(judging, tmp_path / "free.db", assessor="bob", topics=("t2",), days=0)
    assert free.facts["documents"] == 6
    assert live_leases(judging, "main", moment=time.time()) == []


def test_an_assessor_gets_only_the_topics_that_are_his(judging: Store, tmp_path: Path):
    with judging.write():
        made = [Assigned("t1", "ana", "primary"), Assigned("t2", "ana", "primary"), Assigned("t3", "eve", "primary")]
        put_assignments(judging, made, topics=["t1", "t2", "t3"])
    with open_store(packet_for(judging, tmp_path)) as packet:
        assert documents.topic_ids(packet) == ["t3"]


def test_conflicts_are_told_and_nothing_is_lost_by_them(judging: Store, tmp_path: Path, sit: Sit, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",), days=0)
    judge_all(path, 2)
    desk = sit("ana", topics=["t3"])
    desk.judge(desk.next_item(), 0, seconds=1.0)
    desk.judge(desk.next_item(), 2, seconds=1.0)
    desk.leave()
    with judging.write():
        source = documents.add_source(judging, documents.LoadedFile("documents", "new.jsonl", "jsonl", ""))
        documents.add(judging, [Document("d22", "another text")], source=source, update=True)
    done = merge_packet(judging, path)
    assert [(one.what, one.topic, one.document) for one in done.conflicts] == [
        ("disagreement", "t3", "d20"),
        ("text-changed", "t3", "d22"),
    ]
    kept(done.conflicts[0].message)
    assert len(list(events(judging))) == 5


def test_a_scale_and_guidelines_that_changed_meanwhile_leave_grades_to_be_given_again(judging: Store, tmp_path: Path):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 1)
    with judging.write():
        judging.add_scale(NAMED["binary"])
        judging.add_guidelines("Judge well.")
    done = merge_packet(judging, path)
    assert (done.new, done.conflicts, older_than(judging)) == (3, [], 3)
    assert [(event.scale, event.guidelines) for event in events(judging)] == [(1, 0)] * 3


def test_a_scale_that_was_changed_in_the_packet_is_refused(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    with open_store(path) as packet, packet.write():
        packet.add_scale(NAMED["binary"])
    judge_all(path, 1)
    with kept.raises(ProblemsFound):
        merge_packet(judging, path)
    assert list(events(judging)) == []


def test_a_file_of_another_collection_is_refused(
    judging: Store, tmp_path: Path, new_store: Callable[..., Store], kept: Kept
):
    other = new_store("other.db")
    with kept.raises(InputError):
        merge_packet(judging, other.path)
    with kept.raises(InputError):
        merge_packet(judging, judging.path)


def test_a_copy_of_the_collection_that_was_judged_apart_is_merged_if_it_is_trusted(
    judging: Store, tmp_path: Path, kept: Kept
):
    back_up(judging, tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:
        desk = Judge(copy).session("eve", topics=["t3"])
        desk.judge(desk.next_item(), 3, seconds=1.0)
        desk.leave()
    with kept.raises(InputError):
        merge_packet(judging, tmp_path / "copy.db")
    assert merge_packet(judging, tmp_path / "copy.db", trust=True).new == 1


def test_a_packet_of_an_unknown_topic_or_for_a_name_that_is_none_is_refused(
    judging: Store, tmp_path: Path, kept: Kept
):
    with kept.raises(UnknownName):
        packet_for(judging, tmp_path, topics=("t33",))
    with kept.raises(Exception):
        packet_for(judging, tmp_path, assessor=" ")
    assert not (tmp_path / "packet.db").exists()


def test_what_was_found_in_a_packet_by_searching_counts_as_pooled_here(judging: Store, tmp_path: Path):
    path = packet_for(judging, tmp_path, topics=("t2", "t3"))
    with open_store(path) as packet:
        desk = Judge(packet).session("eve")
        desk.judge(desk.reopen("t3", "d05", "soup"), 3, seconds=1.0)
        desk.leave()
    merge_packet(judging, path)
    assert judging.rows("SELECT topic, document, assessor, words FROM found_documents") == [
        ("t3", "d05", "eve", "soup")
    ]
    assert ("t3", "d05", 3) in list(qrels_for(judging, None, Selection(unjudged=True)))


def test_a_packet_that_cannot_be_made_reserves_nothing(judging: Store, tmp_path: Path, kept: Kept):
    (tmp_path / "packet.db").write_text("mine")
    with kept.raises(Exception):
        packet_for(judging, tmp_path, topics=("t3",))
    assert judging.value("SELECT count(*) FROM leases") == 0
    with sqlite3.connect(judging.path) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def spoilt(path: Path, **changes: object) -> None:
    """Change the first event of a packet, as somebody with an editor would."""
    marks = ", ".join(f"{name} = ?" for name in changes)
    with sqlite3.connect(path) as plain:
        plain.execute("DROP TRIGGER judgment_events_update")
        plain.execute(f"UPDATE judgment_events SET {marks} WHERE sequence = 1", list(changes.values()))
    plain.close()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"grade": 7}, "grade-off-scale"),
        ({"happened": "yesterday"}, "bad-time"),
        ({"happened": "2026-13-01T00:00:00.000Z"}, "bad-time"),
        ({"seconds": -5}, "bad-seconds"),
        ({"layer": "after"}, "other-layer"),
        ({"kind": "adjudicated"}, "other-kind"),
        ({"source": "machine"}, "other-kind"),
        ({"topic": "t1"}, "not-in-the-packet"),
        ({"document": "d01"}, "not-in-the-packet"),
        ({"kind": "undone", "grade": None, "undoes": "nobody-knows"}, "undoes-nothing"),
        # What check would call wrong must not come in: events are never removed again.
        ({"position": 0}, "bad-position"),
        ({"shown_order": "plan\x1b"}, "bad-order"),
        ({"seconds": 1e300}, "bad-seconds"),
        ({"confidence": 7.0}, "bad-confidence"),
        ({"confidence": -1e-9}, "bad-confidence"),
        # An import or a propagated grade would be taken for known by such an id.
        ({"uuid": "886313e1-3b8a-5372-9b90-0c9aee199e5d"}, "bad-id"),
        ({"uuid": "first"}, "bad-id"),
        ({"session": ""}, "bad-id"),
        ({"guidelines": 7}, "other-guidelines"),
        ({"guidelines": -1}, "other-guidelines"),
        *(({"purpose": purpose}, "other-purpose") for purpose in ("pool", "probe", "search", "rejudge", "try")),
        ({"session": "first"}, "bad-id"),
    ],
)
def test_what_cannot_be_and_what_is_not_the_packets_own_is_refused(
    judging: Store, tmp_path: Path, changes: dict[str, object], code: str, kept: Kept
):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    spoilt(path, **changes)
    with pytest.raises(ProblemsFound) as told:
        merge_packet(judging, path)
    assert [problem.code for problem in told.value.problems] == [code]
    kept(told.value.problems[0].message)
    assert (list(events(judging)), len(live_leases(judging, "main", moment=time.time()))) == ([], 3)


def test_a_packet_that_comes_back_under_another_name_or_was_never_issued_is_refused(
    judging: Store, tmp_path: Path, kept: Kept
):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    with sqlite3.connect(path) as plain:
        plain.execute("DROP TRIGGER judgment_events_update")
        plain.execute("INSERT INTO assessors VALUES ('bob', 'person', '')")
        plain.execute("UPDATE judgment_events SET assessor = 'bob'")
        plain.execute("""UPDATE settings SET value = replace(value, '"eve"', '"bob"') WHERE name = 'packet'""")
    plain.close()
    with kept.raises(ProblemsFound):
        merge_packet(judging, path)
    with sqlite3.connect(path) as plain:
        plain.execute('UPDATE settings SET value = replace(value, \'"session": "\', \'"session": "x\')')
    plain.close()
    with kept.raises(ProblemsFound):
        merge_packet(judging, path)
    assert list(events(judging)) == []
    assert merge_packet(judging, path, trust=True).assessors == ["bob"]


def test_everything_wrong_with_a_packet_is_told_at_once(judging: Store, tmp_path: Path):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    with sqlite3.connect(path) as plain:
        plain.execute("DROP TRIGGER judgment_events_update")
        plain.execute("INSERT INTO assessors VALUES ('bob', 'person', '')")
        plain.execute("UPDATE judgment_events SET assessor = 'bob', grade = 8, seconds = -1")
    plain.close()
    with pytest.raises(ProblemsFound) as told:
        merge_packet(judging, path)
    assert [(problem.code, problem.count) for problem in told.value.problems] == [
        ("grade-off-scale", 3),
        ("bad-seconds", 3),
        ("other-assessor", 3),
    ]


def test_a_packet_whose_session_is_no_text_is_refused(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE settings SET value = json_set(value, '$.session', json('{}')) WHERE name = 'packet'")
    with kept.raises(CollectionError):
        merge_packet(judging, path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE settings SET value = '[1]' WHERE name = 'packet'",
        "UPDATE settings SET value = '{\"a\":' WHERE name = 'packet'",
        "UPDATE judgment_events SET evidence = '[1]' WHERE sequence = 2",
    ],
)
def test_a_damaged_packet_is_named_and_asked_for_again(judging: Store, tmp_path: Path, change: str, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    with sqlite3.connect(path) as plain:
        plain.execute("DROP TRIGGER judgment_events_update")
        plain.execute(change)
    plain.close()
    with kept.raises(CollectionError):
        merge_packet(judging, path)


def test_an_undo_takes_back_nothing_of_another_document(judging: Store, tmp_path: Path, sit: Sit, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",), days=0)
    desk = sit("ana", topics=["t3"])
    theirs = desk.judge(desk.next_item(), 2, seconds=1.0).answer.event
    desk.leave()
    judge_all(path, 1)
    spoilt(path, kind="undone", grade=None, undoes=theirs)
    with kept.raises(ProblemsFound):
        merge_packet(judging, path)


def test_a_packet_says_nothing_in_the_name_of_a_session_here_and_ends_none(
    judging: Store, tmp_path: Path, sit: Sit, kept: Kept
):
    path = packet_for(judging, tmp_path, topics=("t3",))
    desk = sit("ana", topics=["t2"])
    desk.judge(desk.next_item(), 2, seconds=1.0)
    desk.next_item()
    (session,) = {event.session for event in events(judging)}
    with sqlite3.connect(path) as plain:
        value = "json_set(value, '$.session', ?)"
        plain.execute(f"UPDATE settings SET value = {value} WHERE name = 'packet'", [session])
    plain.close()
    assert merge_packet(judging, path).new == 0
    assert judging.column("SELECT assessor FROM leases WHERE session = ?", session) == ["ana"]
    path.unlink()
    other = packet_for(judging, tmp_path, topics=("t1",))
    judge_all(other, 1)
    spoilt(other, session=session)
    with kept.raises(ProblemsFound):
        merge_packet(judging, other)


def test_an_event_that_says_something_else_than_the_one_here_is_told(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    merge_packet(judging, path)
    spoilt(path, grade=3)
    done = merge_packet(judging, path)
    assert [(one.what, one.topic, one.document) for one in done.conflicts] == [("event-differs", "t3", "d20")]
    kept(done.conflicts[0].message)
    assert (done.new, done.same) == (0, 3)
    assert {row[2] for row in qrels_for(judging)} == {2}


def test_a_clock_that_goes_ahead_is_told_and_loses_nobody_his_work(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    judge_all(path, 2)
    spoilt(path, happened="2199-01-01T00:00:00.000Z")
    done = merge_packet(judging, path)
    assert [(one.what, one.document) for one in done.conflicts] == [("clock-ahead", "d20")]
    kept(done.conflicts[0].message)
    assert done.new == 3


def test_a_packet_is_judged_by_whom_and_for_what_it_was_made(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    with open_store(path) as packet:
        with kept.raises(UsageError):
            Judge(packet).session("bob")
        with kept.raises(UsageError):
            Judge(packet).session("eve", layer="after")


def test_the_status_of_a_packet_says_what_to_do_with_it(judging: Store, tmp_path: Path, kept: Kept):
    path = packet_for(judging, tmp_path, topics=("t3",))
    with open_store(path) as packet:
        kept(collection_status(packet).next_step)
        desk = Judge(packet).session("eve")
        desk.judge(desk.next_item(), 2, seconds=1.0)
        desk.judge(desk.next_item(), None, reason="broken", seconds=1.0)
        desk.judge(desk.next_item(), None, seconds=1.0)
        found = collection_status(packet)
        counts = found.counts
        assert (counts.pooled, counts.judged, counts.unjudged, found.packet_for) == (3, 2, 1, "eve")
        desk.judge(desk.next_item(), 2, seconds=1.0)
        kept(collection_status(packet).next_step[1])


@pytest.mark.parametrize("change", ["guidelines SET text = 'other'", "documents SET text = 'wholly other'"])
def test_a_packet_with_other_guidelines_or_texts_is_refused(judging: Store, tmp_path: Path, kept: Kept, change: str):
    with judging.write():
        judging.add_guidelines("Judge well.")
    path = packet_for(judging, tmp_path)
    judge_all(path, 1)
    with sqlite3.connect(path) as plain:
        for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            plain.execute(f'DROP TRIGGER "{name}"')
        plain.execute(f"UPDATE {change}")
    plain.close()
    with kept.raises(InputError):
        merge_packet(judging, path)
    assert list(events(judging)) == []


def test_a_packet_that_is_not_there_is_called_a_packet(judging: Store, kept: Kept):
    with kept.raises(InputError):
        merge_packet(judging, Path("nofile.db"))
