"""`check` proves that what counts is what the events say, and that the tables of judging make sense."""

import sqlite3

import pytest
from kept import Kept

from cranfield.judge.events import Event
from cranfield.judge.queue import Assigned
from cranfield.store.events import append_events
from cranfield.store.judging import Lease, Queued, add_queue, put_assignments
from cranfield.store.store import Store
from cranfield.workflows.check import check

NOW = "2026-01-01T00:00:00.000Z"


def judged(uuid: str, document: str, **fields: object) -> Event:
    known = {"grade": 1, "order": "plan", "position": 1, "session": "s", **fields}
    return Event(uuid=uuid, kind="judged", topic="1", document=document, assessor="ana", happened=NOW, **known)


@pytest.fixture
def judging(small: Store) -> Store:
    with small.write():
        append_events(small, [judged("a", "d1"), judged("b", "d2", grade=0)])
        undo = Event(uuid="c", kind="undone", topic="1", document="d2", assessor="ana", happened=NOW, undoes="b")
        append_events(small, [undo])
        add_queue(small, "more", [Queued("1", "d3"), Queued("1", "d1"), Queued("2", "d2")], purpose="top-up")
        put_assignments(small, [Assigned("1", "ana", "primary")], topics=["1"])
        small.put("leases", [Lease("main", "2", "d2", "ana", "s", 1.8e9)])
    return small


def wrong(store: Store) -> list[str]:
    return [text for finding in check(store).findings for text in finding.wrong]


def test_what_is_sound_has_nothing_wrong(judging: Store):
    assert wrong(judging) == []
    findings = {finding.what: finding.checked for finding in check(judging).findings}
    assert findings["judgments"] == "3 events"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE judgments SET grade = 0", "judgment 1 d1 of ana does not follow from the events"),
        ("DELETE FROM judgments", "judgment 1 d1 of ana is missing from judgments"),
        ("UPDATE leases SET expires = 9e12", "the lease of document 'd2', topic '2', by 'ana' is invalid"),
        ("UPDATE leases SET session = ''", "the lease of document 'd2', topic '2', by 'ana' is invalid"),
        (
            "UPDATE queue_entries SET position = 3 WHERE document = 'd3'",
            "the positions of queue 'more', topic '1', do not run from 1 to 2",
        ),
        (
            "UPDATE queue_entries SET position = 2 WHERE document = 'd3'",
            "the positions of queue 'more', topic '1', do not run from 1 to 2",
        ),
        (
            "INSERT INTO assignments VALUES ('1', 'ben', 'primary', '')",
            "topic '1' has more than one primary assessor",
        ),
        (
            "INSERT INTO assignments VALUES ('9', 'ben', 'primary', '')",
            "topic '9' is assigned, but not in the collection",
        ),
        (
            'INSERT INTO settings VALUES (\'overlap\', \'{"share": 7, "by": 2, "seed": 0}\')',
            "the plan for overlap or probes is invalid",
        ),
        ("INSERT INTO settings VALUES ('probes', '{\"shape\": 1}')", "the plan for overlap or probes is invalid"),
        (
            "DROP TRIGGER judgment_events_update; UPDATE judgment_events SET undoes = 'x' WHERE undoes <> ''",
            "event 3 undoes x, which does not exist",
        ),
        (
            "DROP TRIGGER judgment_events_update; UPDATE judgment_events SET position = 0 WHERE uuid = 'a'",
            "event 1 has position 0 in its queue",
        ),
    ],
)
def test_what_was_changed_behind_our_back_is_found(judging: Store, statement: str, message: str):
    judging.connection.executescript(statement)
    assert any(message in text for text in wrong(judging)), wrong(judging)


@pytest.mark.parametrize("statement", ["UPDATE judgment_events SET grade = 0", "DELETE FROM judgment_events"])
def test_events_are_never_changed_nor_deleted(judging: Store, statement: str, kept: Kept):
    with kept.raises(sqlite3.IntegrityError):
        judging.connection.execute(statement)


def test_an_event_that_is_there_is_not_added_twice(judging: Store):
    with judging.write():
        assert append_events(judging, [judged("a", "d1", grade=0)]) == []
    assert judging.rows("SELECT document, grade FROM judgments") == [("d1", 1)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"grade": 7}, "event 4 has grade 7, which is not on version 1 of the scale"),
        ({"seconds": -5.0}, f"event 4 has the invalid time or duration '{NOW}', duration -5 seconds"),
    ],
)
def test_an_event_that_cannot_be_is_wrong(judging: Store, fields: dict[str, object], message: str):
    with judging.write():
        append_events(judging, [judged("d", "d3", **fields)])
    assert wrong(judging) == [message]


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01T00:00:00.000Z", "2026-01-01 00:00"])
def test_an_event_at_no_time_is_wrong(judging: Store, moment: str, kept: Kept):
    event = Event(uuid="d", kind="noted", topic="1", document="d1", assessor="ana", happened=moment)
    with judging.write():
        append_events(judging, [event])
    kept(wrong(judging))
