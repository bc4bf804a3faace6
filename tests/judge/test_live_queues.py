"""A queue of settle adapts to each judgment, and ends when it is decided which run is ahead."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kept import Kept
from mappings import qrels_from, ranking_from

from cranfield.evaluate.align import align
from cranfield.evaluate.measure import parse_measure
from cranfield.judge.queue import Assigned
from cranfield.judge.session import Item
from cranfield.reuse.intervals import identities
from cranfield.reuse.pairs import open_score
from cranfield.reuse.settle import Chances, Contest, Goal
from cranfield.store.judging import Queued, add_queue, put_assignments
from cranfield.store.store import Store, open_store
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.organise import judging_progress
from cranfield.workflows.judge.packets import make_packet, merge_packet
from cranfield.workflows.judge.queue import split_notes
from cranfield.workflows.judge.session import StoredSession

NOW = "2026-01-01T00:00:00.000Z"
LENGTH = 4
Sit = Callable[..., StoredSession]


def documents_of(first: int) -> list[str]:
    return [f"d{number:02}" for number in range(first, first + LENGTH)]


def contest(goal: Goal = "certain", measure: str = "P@4", chances: tuple[float, float] = (0.8, 0.2)) -> Contest:
    """A and B have nothing in common and nothing is judged: the first of A's twelve unjudged must outdo B's."""
    runs = [
        ranking_from({topic: documents_of(first) for topic in ("t1", "t2", "t3")}, tag=tag)
        for tag, first in (("A", 1), ("B", 11))
    ]
    aligned = align(qrels_from({topic: {"d30": 1} for topic in ("t1", "t2", "t3")}), runs)
    pair = open_score(aligned, identities(aligned, runs), parse_measure(measure), 0, 1, depth=4, highest=1)
    likely = [chances[name > "d10"] for name in pair.documents.names(pair.unjudged.document)]
    return Contest(pair, Chances(np.array(likely), 0.8), goal)


@pytest.fixture
def queued(judging: Store) -> Callable[..., None]:
    def add(*contests: Contest) -> None:
        live = [one.to_json() for one in contests]
        with judging.write():
            add_queue(judging, "pair", [Queued(*one) for one in contests[0].names], purpose="settle", contests=live)

    return add


def true_grade(item: Item) -> int:
    """A's documents are relevant, those of B are not."""
    return int(item.document.id < "d10")


def judge_all(desk: StoredSession, grade: Callable[[Item], int] = true_grade) -> list[tuple[str, str]]:
    given = []
    while item := desk.next_item():
        given.append(item.pair)
        desk.judge(item, grade(item), seconds=1.0)
    return given


def test_only_what_decides_is_handed_out_topic_by_topic(queued: Callable[..., None], sit: Sit, kept: Kept):
    queued(contest())
    desk = sit("ana", queue="pair")
    given = judge_all(desk)
    assert len(given) == len({*given}) == 13  # 13 of 24 are enough where each of them helps A
    changes = [topic for (topic, _), (before, _) in zip(given[1:], given, strict=False) if topic != before]
    assert len(changes) <= 4
    assert desk.progress().left == 0
    kept(desk.progress().decided)


def test_surprises_make_more_documents_needed(queued: Callable[..., None], sit: Sit):
    queued(contest())
    desk = sit("ana", queue="pair")
    assert desk.progress().of == 16  # 12 / .8 are expected to make the lowest lead 0, and one lifts it above
    for _ in range(3):
        item = desk.next_item()
        desk.judge(item, 1 - true_grade(item), seconds=1.0)
    assert desk.progress().of > 16
    assert len(judge_all(desk)) == 13


def test_an_undo_opens_again_what_was_decided(queued: Callable[..., None], sit: Sit):
    queued(contest())
    desk = sit("ana", queue="pair")
    *_, last = judge_all(desk)
    again = desk.undo()
    assert (again.pair, desk.progress().decided, desk.next_item().pair) == (last, "", last)
    desk.judge(again, 1 - true_grade(again), seconds=1.0)
    assert (desk.progress().decided, len(judge_all(desk))) == ("", 1)
    assert desk.progress().decided


def test_two_assessors_are_never_given_the_same_and_both_stop(queued: Callable[..., None], sit: Sit):
    queued(contest())
    desks, given = [sit("ana", queue="pair"), sit("eve", queue="pair")], []
    items = [desk.next_item() for desk in desks]
    while any(items):
        for place, (desk, item) in enumerate(zip(desks, items, strict=True)):
            if item is not None:
                given.append(item.pair)
                desk.judge(item, true_grade(item), seconds=1.0)
                items[place] = desk.next_item()
    assert len(given) == len({*given}) == 14  # the other had one open when it was decided
    assert [bool(desk.progress().decided) for desk in desks] == [True, True]


def test_whoever_is_killed_goes_on_where_all_was_saved(
    collection: Path, queued: Callable[..., None], sit: Sit, clock
):
    queued(contest())
    desk = sit("ana", queue="pair")
    for _ in range(5):
        item = desk.next_item()
        desk.judge(item, true_grade(item), seconds=1.0)
    open_one = desk.next_item()
    clock.seconds += 10_000  # nobody gave the lease back
    with open_store(collection) as store:
        again = Judge(store).session("ana", queue="pair", clock=clock)
        assert (again.next_item().pair, len(judge_all(again))) == (open_one.pair, 8)


def test_what_cannot_be_judged_is_passed_over_and_left_to_others(queued: Callable[..., None], sit: Sit):
    queued(contest())
    desk = sit("ana", queue="pair")
    first = desk.next_item()
    desk.judge(first, None, reason="unreadable", seconds=1.0)
    other = sit("eve", queue="pair", topics=["t1"])
    assert other.next_item().pair == first.pair
    other.leave()
    assert first.pair not in judge_all(desk)
    assert desk.progress().decided
    assert sit("eve", queue="pair").next_item() is None


def test_once_it_is_decided_no_second_judgment_is_missing(
    judging: Store, queued: Callable[..., None], sit: Sit, kept: Kept
):
    judge, topics = Judge(judging), ("t1", "t2", "t3")
    roles = [Assigned(topic, *who) for topic in topics for who in (("ana", "primary"), ("eve", "second"))]
    with judging.write():
        put_assignments(judging, roles, topics=topics)
    judge.assign(overlap=0.5)
    queued(contest())
    kept("\n".join(split_notes(judging, "pair")))
    for name in ("ana", "eve"):
        desk = sit(name, queue="pair")
        kept(f"{name}: {desk.progress().left} left")
        judge_all(desk)
        kept("\n".join(judge.closing_notes(desk)))
        kept("\n".join(judge.progress(queue="pair").remarks))


def test_a_packet_takes_what_is_needed_now_and_its_grades_decide(
    judging: Store, queued: Callable[..., None], tmp_path: Path, sit: Sit
):
    queued(contest())
    made = make_packet(judging, tmp_path / "packet.db", assessor="eve", queue="pair")
    assert made.facts["documents"] == 16
    with open_store(tmp_path / "packet.db") as packet:
        judge_all(Judge(packet).session("eve"))
    merge_packet(judging, tmp_path / "packet.db")
    desk = sit("ana", queue="pair")
    assert (desk.next_item(), bool(desk.progress().decided)) == (None, True)


def test_a_likely_decision_takes_fewer_and_several_measures_are_decided_in_turn(
    judging: Store, queued: Callable[..., None], sit: Sit, kept: Kept
):
    queued(*(contest("likely", measure, chances=(0.5, 0.5)) for measure in ("P@4", "DCG@4")))
    desk = sit("ana", queue="pair")
    assert 3 < len(judge_all(desk)) < 10
    kept(desk.progress().decided)
    kept("\n".join(judging_progress(judging, queue="pair").remarks))


def test_the_names_that_a_queue_keeps_are_these():
    words = (
        "measure until runs topics depth closure highest highest_grade levels level_counts grades spread thresholds"
        " documents"
    )
    assert list(contest().to_json()) == words.split()
    assert contest().to_json()["documents"][0] == ["t1", "d01", 1, 0, 0.8, None]
