"""What the desk says of a document that was put aside, of an answer that came too late, and of names alike."""

from collections.abc import Callable

from cranfield.judge.session import Item
from cranfield.workflows.judge.session import StoredSession

Sit = Callable[..., StoredSession]


def next_of(desk: StoredSession) -> Item:
    item = desk.next_item()
    assert item is not None
    return item


def counted(desk: StoredSession) -> tuple[int, int]:
    topic = desk.progress().topics["t1"]
    return topic.left, topic.of


def test_a_document_put_aside_counts_what_was_judged_and_found_meanwhile(sit: Sit):
    desk = sit()
    aside = next_of(desk)
    assert (aside.left, aside.of) == (12, 12)
    desk.judge(desk.reopen("t1", "d05", "soup"), 1, seconds=1)
    assert counted(desk) == (11, 12)
    desk.judge(desk.reopen("t1", "d30", "soup"), 1, seconds=1)
    assert counted(desk) == (11, 13)
    desk.undo()
    assert counted(desk)[0] == 12


def test_a_grade_after_a_late_one_was_taken_back_is_a_second_opinion_too(sit: Sit, clock):
    ana, ben = sit("ana", topics=["t3"], lease_seconds=60), sit("ben", topics=["t3"])
    slow = next_of(ana)
    clock.seconds += 61
    ben.judge(next_of(ben), 0, seconds=1)
    assert ana.judge(slow, 3, seconds=90).late is True
    again = ana.undo()
    assert again is not None
    assert ana.judge(again, 2, seconds=9).late is True
    assert ana.judge(next_of(ana), 2, seconds=9).late is False


def test_a_name_that_differs_in_capitals_alone_is_the_known_assessor(sit: Sit):
    names = ("Ana", "anna", "ANA", "ana", "Anna")
    assert [sit(assessor=name).assessor for name in names] == ["Ana", "anna", "Ana", "Ana", "anna"]
