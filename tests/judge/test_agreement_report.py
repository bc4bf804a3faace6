"""Agreement of the assessors of a collection, from their events."""

from collections.abc import Callable
from pathlib import Path

import pytest
from kept import Kept

from cranfield.base.errors import InputError
from cranfield.judge.events import Event
from cranfield.store.events import append_events
from cranfield.store.store import Store
from cranfield.workflows.judge.agreement import agreement_report, agreement_with_people
from cranfield.workflows.judge.imports import import_judgments
from cranfield.workflows.judge.organise import StoredAdjudication
from cranfield.workflows.judge.session import StoredSession

OPINIONS = """topic,document,grade,assessor,time
t1,d01,2,ada,2026-01-01
t1,d01,0,bob,2026-01-02
t1,d02,1,ada,2026-01-01
t1,d02,1,bob,2026-01-03
t1,d03,3,ada,2026-01-01
t2,d05,3,ada,2026-01-01
t2,d05,3,bob,2026-01-04
t2,d05,2,cy,2026-01-05
"""


@pytest.fixture
def compared(judging: Store, tmp_path: Path) -> Store:
    (tmp_path / "given.csv").write_text(OPINIONS)
    import_judgments(judging, tmp_path / "given.csv")
    return judging


def values(estimates) -> dict[str, float | None]:  # type: ignore[no-untyped-def]
    return {one.coefficient: one.value for one in estimates}


def test_everything_is_counted_over_what_two_or_more_judged(compared: Store):
    report = agreement_report(compared)
    assert report.steps.grades == (0, 1, 2, 3)
    assert report.confusion.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 2], [0, 0, 0, 1]]
    overall = values(report.compared["overall"][0].estimates)
    assert (overall["raw"], overall["positive"], overall["overlap"]) == (0.4, 6 / 7, 0.75)
    assert [(one.first, one.second, int(one.table.sum()), one.shift) for one in report.compared["pair"]] == [
        ("ada", "bob", 3, pytest.approx(-2 / 3)),
        ("ada", "cy", 1, -1.0),
        ("bob", "cy", 1, -1.0),
    ]
    assert [one.first for one in report.compared["topic"]] == ["t1", "t2"]


def test_the_same_judgments_give_the_same_report(compared: Store):
    first, again = (agreement_report(compared) for _ in range(2))
    assert [first.compared[table] == again.compared[table] for table in ("overall", "topic")] == [True, True]


def test_a_decision_is_no_opinion(compared: Store):
    before = agreement_report(compared)
    bench = StoredAdjudication(compared, "ada")
    while case := bench.next_item():
        bench.judge(case, 3)
    after = agreement_report(compared)
    assert (before.confusion == after.confusion).all()


def test_probes_are_compared_with_the_first_answer_of_the_same_assessor(
    judging: Store, sit: Callable[..., StoredSession]
):
    desk = sit("ana", topics=["t3"])
    first = desk.next_item()
    desk.judge(first, 0, seconds=1.0)
    desk.undo()
    desk.judge(desk.next_item(), 1, seconds=1.0)
    desk.judge(desk.reopen("t3", "d20"), 2, seconds=1.0)
    desk.judge(desk.next_item(), 3, seconds=1.0)
    with judging.write():
        for number, (document, grade, kind, undoes) in enumerate(
            [
                ("d20", 3, "judged", ""),
                ("d21", 3, "judged", ""),
                ("d21", 0, "judged", ""),
                ("d21", None, "undone", "p2"),
            ]
        ):
            probe = Event(
                uuid=f"p{number}",
                kind=kind,  # type: ignore[arg-type]
                topic="t3",
                document=document,
                assessor="ana",
                happened="2026",
                grade=grade,
                purpose="probe",
                undoes=undoes,
            )
            append_events(judging, [probe])
    report = agreement_report(judging)
    assert [(one.first, one.second, one.shift) for one in report.compared["probes"]] == [("ana", "ana", 1.0)]
    assert report.compared["probes"][0].table.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert values(report.compared["overall"][0].estimates)["raw"] is None


def test_without_overlap_there_is_nothing_to_compare(judging: Store, tmp_path: Path, kept: Kept):
    (tmp_path / "given.csv").write_text("topic,document,grade,assessor\nt1,d01,1,ada\nt1,d02,1,bob\n")
    import_judgments(judging, tmp_path / "given.csv")
    with kept.raises(InputError):
        agreement_report(judging)
    assert agreement_with_people(judging, "machine/m@1") is None


def test_a_machine_is_one_assessor_more_where_its_layer_is_named(compared: Store, tmp_path: Path):
    (tmp_path / "m.qrels").write_text("t1 0 d03 3\nt1 0 d01 2\n")
    import_judgments(compared, tmp_path / "m.qrels", layer="machine/m@1", assessor="m@1")
    report = agreement_report(compared, layers=["main", "machine/m@1"])
    assert ("ada", "m@1") in [(one.first, one.second) for one in report.compared["pair"]]
    found = agreement_with_people(compared, "machine/m@1")
    assert found is not None
    assert found.table.tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
