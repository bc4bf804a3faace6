"""What an assessor is told of documents that somebody else has before him, and of how much is left."""

from collections.abc import Callable

import pytest

from cranfield.base.records import Topic
from cranfield.base.text import in_words
from cranfield.judge.queue import Assigned, Overlap
from cranfield.judge.session import Held, TopicState
from cranfield.store.judging import put_assignments, put_setting
from cranfield.store.store import Store
from cranfield.workflows.judge.session import StoredSession

NOW = "2026-01-02T00:00:00.000Z"
T3 = Topic("t3", "soup t3")
Sit = Callable[..., StoredSession]


def judge_next(desk: StoredSession, times: int = 1) -> list[tuple[str, int, int | None]]:
    """Judge, and give each document with its place and with what was left when it was shown."""
    shown = []
    for _ in range(times):
        item = desk.next_item()
        assert item is not None
        shown.append((item.document.id, item.position, item.left))
        desk.judge(item, 1, seconds=1)
    return shown


def test_a_topic_tells_what_another_holds_and_until_when(sit: Sit, clock):
    lost, desk = sit("ana", topics=["t3"], lease_seconds=60), sit("ben", topics=["t3"])
    lost.next_item()
    judge_next(desk, 2)
    clock.seconds += 20
    assert desk.next_item() is None
    assert desk.topics() == [TopicState(T3, 2, 3, 0, held=Held(1, 40.0))]
    assert (desk.progress().left, desk.topics()[0].held) == (1, Held(1, 40.0))
    clock.seconds += 41
    assert desk.topics() == [TopicState(T3, 2, 3, 0)]
    assert judge_next(desk) == [("d20", 1, 1)]


def test_what_a_sitting_of_his_own_holds_is_told_apart(sit: Sit):
    killed = sit("ana", topics=["t3"])
    killed.next_item()
    again = sit("ana", topics=["t3"])
    judge_next(again, 2)
    assert again.next_item() is None
    assert again.topics() == [TopicState(T3, 2, 3, 0, held=Held(1, 600.0, own=1))]


def test_what_lies_before_the_assessor_himself_is_not_held(sit: Sit):
    desk = sit("ana", topics=["t3"])
    desk.next_item()
    assert desk.topics() == [TopicState(T3, 0, 3, 0)]


def test_the_first_to_run_out_says_when_to_look_again(sit: Sit, clock):
    first, second, desk = (sit(name, topics=["t3"], lease_seconds=60) for name in ("ana", "cleo", "ben"))
    first.next_item()
    clock.seconds += 30
    second.next_item()
    judge_next(desk)
    assert desk.topics() == [TopicState(T3, 1, 3, 0, held=Held(2, 30.0))]


def test_what_is_left_counts_down_by_one_for_whoever_has_only_some_documents(sit: Sit, judging: Store):
    overlap = Overlap(0.4, 2, 7)
    with judging.write():
        given = [Assigned("t1", "ana", "primary"), Assigned("t1", "ben", "second")]
        put_assignments(judging, given, topics=["t1"])
        put_setting(judging, overlap)
    twice = [f"d{number:02}" for number in range(1, 13) if overlap.needed("t1", f"d{number:02}") == 2]
    ben = sit("ben", topics=["t1"])
    count = len(twice)
    assert judge_next(ben, count) == [(name, place + 1, count - place) for place, name in enumerate(twice)]


def test_what_others_have_done_is_not_left(sit: Sit):
    ana = sit("ana", topics=["t3"])
    judge_next(ana, 2)
    ana.leave()
    ben = sit("ben", topics=["t3"])
    assert (ben.progress().left, ben.progress().today) == (1, 0)
    assert judge_next(ben) == [("d22", 3, 1)]


def test_what_was_taken_back_is_left_again(sit: Sit):
    desk = sit("ana", topics=["t3"])
    judge_next(desk, 2)
    item = desk.undo()
    assert item is not None
    assert (item.document.id, item.left) == ("d21", 2)


def test_a_chosen_topic_says_what_is_left_of_it(sit: Sit):
    desk = sit("ana")
    desk.choose_topic("t2")
    assert judge_next(desk) == [("d05", 1, 6)]


def test_what_another_sitting_of_the_same_assessor_has_is_not_called_others(sit: Sit, clock):
    cut_off = sit("ana", topics=["t3"], lease_seconds=60)
    cut_off.next_item()
    held = sit("ana", topics=["t3"]).topics()[0].held
    assert held == Held(1, 60.0, own=1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "1 minute"),
        (61, "2 minutes"),
        (7_200, "120 minutes"),
        (7_201, "3 hours"),
        (172_800, "48 hours"),
        (14 * 86_400 - 5, "14 days"),
    ],
)
def test_how_long_it_takes_is_told_in_minutes_hours_or_days(seconds: float, words: str):
    assert in_words(seconds) == words
