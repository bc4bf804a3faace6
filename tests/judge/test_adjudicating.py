"""The bench: only what is in dispute, nobody named, every decision an event."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kept import Kept

from assessor_ui.session import Session
from cranfield.base.errors import InputError, UsageError
from cranfield.judge.events import Event, Evidence
from cranfield.judge.session import AdjudicationSession, Answer
from cranfield.store.events import append_events, events, projection_faults
from cranfield.store.store import Store
from cranfield.workflows.judge.imports import import_judgments
from cranfield.workflows.judge.organise import StoredAdjudication, open_cases
from cranfield.workflows.judge.session import StoredSession
from cranfield.workflows.qrels import qrels_for

DISPUTED = """topic,document,grade,assessor,note
t1,d01,2,ada,well
t1,d01,0,bob,badly
t1,d02,1,ada,
t1,d02,0,bob,
t1,d03,3,ada,
t1,d03,3,bob,
t1,d04,1,ada,
t2,d05,0,cy,
t2,d05,3,bob,
"""


@pytest.fixture
def disputed(judging: Store, tmp_path: Path) -> Store:
    (tmp_path / "given.csv").write_text(DISPUTED)
    import_judgments(judging, tmp_path / "given.csv")
    return judging


def cases(bench: AdjudicationSession) -> list[tuple[str, str, int, int]]:
    """Go through all cases by putting each off, until the first comes again."""
    found: list[tuple[str, str, int, int]] = []
    while (case := bench.next_item()) and (case.topic.id, case.document.id) not in {one[:2] for one in found}:
        found.append((case.topic.id, case.document.id, case.position, case.of))
        bench.judge(case, None)
    return found


def test_only_disagreements_come_up_and_across_only_those_about_relevance(disputed: Store):
    assert [one[:2] for one in cases(StoredAdjudication(disputed, "eve"))] == [
        ("t1", "d01"),
        ("t1", "d02"),
        ("t2", "d05"),
    ]
    assert [one[:2] for one in cases(StoredAdjudication(disputed, "eve", across=True))] == [
        ("t1", "d01"),
        ("t2", "d05"),
    ]
    assert [one[:2] for one in cases(StoredAdjudication(disputed, "eve", only=["t2"]))] == [("t2", "d05")]
    assert open_cases(disputed, across=True) == [("t1", "d01"), ("t2", "d05")]


def test_opinions_stand_by_grade_without_names(disputed: Store):
    case = StoredAdjudication(disputed, "eve").next_item()
    assert case is not None
    assert case.opinions == (Answer("judged", 0, "badly"), Answer("judged", 2, "well"))
    assert (case.topic.title, case.document.title, case.position, case.of) == ("soup t1", "Title d01", 1, 3)


def test_evidence_is_shown_beside_the_note(disputed: Store):
    span = Evidence(0, 4, "text")
    said = Event(
        uuid="u", kind="judged", topic="t1", document="d04", assessor="di", happened="2026", grade=3, evidence=(span,)
    )
    with disputed.write():
        append_events(disputed, [said])
    bench = StoredAdjudication(disputed, "eve", only=["t1"])
    found = [bench.next_item()]
    while (case := bench.next_item()) and case.document.id != "d04":
        bench.judge(case, None)
        found.append(case)
    assert case is not None
    assert case.opinions == (Answer("judged", 1), Answer("judged", 3, "", (span,)))


def test_a_decision_is_an_event_and_settles_the_grade(disputed: Store):
    bench = StoredAdjudication(disputed, "eve")
    case = bench.next_item()
    assert case is not None
    bench.judge(case, 1, note="half")
    last = list(events(disputed))[-1]
    assert (last.kind, last.assessor, last.grade, last.note, last.document) == (
        "adjudicated",
        "eve",
        1,
        "half",
        "d01",
    )
    assert last.document_hash == case.document.content_hash
    assert {(topic, document): grade for topic, document, grade in qrels_for(disputed)}["t1", "d01"] == 1
    assert len(bench) == 2
    assert projection_faults(disputed) == []


def test_who_decides_second_is_told_and_nothing_is_overwritten(disputed: Store, kept: Kept):
    ana, ben = StoredAdjudication(disputed, "ana"), StoredAdjudication(disputed, "ben")
    deciding = Session(ben)
    deciding.start()
    ana.judge(ana.next_item(), 1)
    kept(deciding.judge(2).text)
    assert deciding.refused
    assert deciding.open.document.id == "d02"
    assert {pair[:2]: pair[2] for pair in qrels_for(disputed)}["t1", "d01"] == 1
    kept(deciding.undo().text)
    ana.undo()
    assert len(open_cases(disputed)) == 3


def test_undo_takes_the_decision_back_and_gives_the_case_again(disputed: Store):
    bench = StoredAdjudication(disputed, "eve")
    first = bench.next_item()
    assert first is not None
    bench.judge(first, 1)
    again = bench.undo()
    assert again is not None
    assert (again.document.id, again.before.grade, again.opinions) == ("d01", 1, first.opinions)
    assert bench.next_item() is not None
    assert bench.undo() is None
    assert [event.kind for event in events(disputed)][-2:] == ["adjudicated", "undone"]
    assert len(open_cases(disputed)) == 3
    assert projection_faults(disputed) == []


def test_undo_brings_the_note_back_and_can_be_tried_again_where_it_failed(
    disputed: Store, monkeypatch: pytest.MonkeyPatch
):
    bench = StoredAdjudication(disputed, "eve")
    bench.judge(bench.next_item(), 1, note="half")
    with monkeypatch.context() as full:
        full.setattr("cranfield.workflows.judge.organise.events.append_events", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bench.undo()
    again = bench.undo()
    assert again is not None
    assert again.before is not None
    assert (again.document.id, again.before.grade, again.before.note) == ("d01", 1, "half")


def test_what_another_decided_meanwhile_is_passed_over(disputed: Store):
    mine, other = StoredAdjudication(disputed, "eve"), StoredAdjudication(disputed, "finn")
    case = other.next_item()
    assert case is not None
    other.judge(case, 0)
    following = mine.next_item()
    assert following is not None
    assert following.document.id == "d02"


def test_all_done_is_none_and_a_grade_must_be_on_the_scale(disputed: Store, kept: Kept):
    bench = StoredAdjudication(disputed, "eve")
    case = bench.next_item()
    assert case is not None
    with kept.raises(InputError):
        bench.judge(case, 9)
    while case := bench.next_item():
        bench.judge(case, 0)
    assert (bench.next_item(), len(bench)) == (None, 0)
    with kept.raises(UsageError):
        StoredAdjudication(disputed, " ")


def test_a_probe_answered_otherwise_is_no_dispute(judging: Store, sit: Callable[..., StoredSession]):
    desk = sit("ana", topics=["t3"])
    desk.judge(desk.next_item(), 3, seconds=1.0)
    probe = Event(
        uuid="p", kind="judged", topic="t3", document="d20", assessor="bob", happened="2026", grade=0, purpose="probe"
    )
    with judging.write():
        append_events(judging, [probe])
    assert open_cases(judging) == []


def test_a_propagated_grade_and_a_postponement_are_no_opinions(judging: Store):
    def add(uuid: str, kind: str, grade: int | None) -> None:
        event = Event(
            uuid=uuid,
            kind=kind,  # type: ignore[arg-type]
            topic="t1",
            document="d01",
            assessor=uuid,
            happened="2026-01-01T00:00:00.000Z",
            grade=grade,
        )
        with judging.write():
            append_events(judging, [event])

    add("a", "judged", 1)
    add("b", "propagated", 0)
    add("c", "postponed", None)
    assert open_cases(judging) == []
    add("d", "imported", 0)
    assert open_cases(judging) == [("t1", "d01")]
    add("e", "adjudicated", 0)
    assert open_cases(judging) == []
