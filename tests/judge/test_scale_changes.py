"""A scale that changes midway: every grade keeps the meaning it was given with, and the old ones are told."""

from collections.abc import Callable

import pytest
from kept import Kept

from assessor_ui import messages
from cranfield.base.errors import InputError
from cranfield.base.records import Grade, GradeScale
from cranfield.judge.events import Event
from cranfield.store.events import append_events
from cranfield.store.store import Store
from cranfield.workflows.collection import NAMED, change_guidelines, change_scale
from cranfield.workflows.judge.agreement import agreement_report, agreement_with_people
from cranfield.workflows.judge.judge import Judge
from cranfield.workflows.judge.organise import StoredAdjudication, judging_progress, open_cases
from cranfield.workflows.judge.session import StoredSession
from cranfield.workflows.qrels import Qrels, Selection, older_grades, qrels_for, scoring_warnings
from cranfield.workflows.status import status as collection_status

Sit = Callable[..., StoredSession]

OLD = NAMED["graded"]  # 0 to 3, relevant from 2
NEW = GradeScale((Grade(0, "no", 0.0), Grade(1, "yes", 1.0)), relevant_from=1)
NOW = "2026-01-01T00:00:00.000Z"


def judge(desk: StoredSession, *grades: int) -> None:
    for grade in grades:
        item = desk.next_item()
        assert item is not None
        desk.judge(item, grade, seconds=1)
    desk.leave()


def said(uuid: str, assessor: str, document: str, grade: int, scale: int, **more: object) -> Event:
    fields = {"kind": "judged", "topic": "t3", "happened": NOW, **more}
    return Event(uuid=uuid, assessor=assessor, document=document, grade=grade, scale=scale, **fields)  # type: ignore[arg-type]


@pytest.fixture
def changed(judging: Store, sit: Sit) -> Store:
    """Ana has judged t3 as 1 (marginal), 2 and 3; then the scale became no and yes."""
    judge(sit("ana", topics=["t3"]), 1, 2, 3)
    Qrels(judging).release("before")
    change_scale(judging, NEW)
    return judging


def in_two(store: Store, word: str = "now") -> list[tuple[str, str, int]]:
    return list(Qrels(store).export(word, binary=True).qrels)


BINARY = [("t3", "d20", 0), ("t3", "d21", 1), ("t3", "d22", 1)]


def test_a_grade_stays_relevant_or_not_as_it_was_given(changed: Store, sit: Sit):
    assert in_two(changed) == in_two(changed, "before") == BINARY
    judge(sit("ana", rejudge=True), 1)
    assert in_two(changed) == [("t3", "d20", 1), *BINARY[1:]]
    last = Qrels(changed).export("now", binary=True, selection=Selection(as_of="3")).qrels
    assert list(last) == BINARY


def test_of_a_release_of_two_scales_the_judgments_tell_the_grades_apart(changed: Store, sit: Sit, kept: Kept):
    judge(sit("ana", rejudge=True), 0)
    made = Qrels(changed).release("both", selection=Selection(unjudged=True)).manifest
    assert made.scales == {"1": 2, "2": 1}
    judge(sit("ana", rejudge=True), 0, 0)
    with kept.raises(InputError):
        in_two(changed, "both")
    then = Selection(as_of=str(made.up_to_event), rule=made.rule, unjudged=True)
    found = list(Qrels(changed).export("now", binary=True, selection=then).qrels)
    assert [row for row in found if row[2] >= 0] == BINARY
    assert sum(row[2] < 0 for row in found) == made.unjudged == 18


def export_warning(store: Store, **options: bool) -> str:
    first = Qrels(store).export("now", **options).remarks[0]
    return first.removeprefix("warning: ") if first.startswith("warning: ") else ""


def test_older_grades_are_counted_where_qrels_go_out(changed: Store, sit: Sit, kept: Kept):
    before = older_grades(changed, "before")
    kept(before)
    assert older_grades(changed) == before
    kept(export_warning(changed))
    kept(export_warning(changed, binary=True))
    (warning,) = scoring_warnings(changed, None, ["main"], qrels_for(changed))
    kept(warning)
    judge(sit("ana", rejudge=True), 0, 1, 1)
    assert older_grades(changed) == ""
    assert (export_warning(changed), *scoring_warnings(changed, "now", ["main"], qrels_for(changed))) == ("",)
    assert older_grades(changed, "before") == before


def test_a_scale_that_comes_back_makes_its_grades_those_of_the_present(changed: Store):
    change_scale(changed, OLD)
    assert older_grades(changed) == ""


def test_opinions_of_two_scales_agree_by_what_each_meant(changed: Store):
    with changed.write():
        theirs = {"d20": 1, "d21": 1, "d22": 0}
        events = [said(name, "bob", name, grade, 2) for name, grade in theirs.items()]
        append_events(changed, events)
    report = agreement_report(changed)
    values = {one.coefficient: one.value for one in report.compared["overall"][0].estimates}
    # Relevant for ana are d21 and d22, for bob d20 and d21.
    assert values["positive"] == pytest.approx(2 / 4)
    assert values["overlap"] == pytest.approx(1 / 3)
    assert values["raw"] == 0
    assert report.steps.names == (0, "1 not relevant", "1 relevant", 2, 3)
    assert (report.opinions, report.older, report.compared["overall"][0].share_relevant) == (
        6,
        3,
        pytest.approx(4 / 6),
    )


def test_a_machine_is_compared_with_people_by_the_scale_of_each(changed: Store):
    with changed.write():
        layer = {"layer": "machine/m@1", "source": "machine"}
        grades = {"d20": 1, "d21": 1, "d22": 0}
        append_events(changed, [said(name, "m@1", name, grade, 2, **layer) for name, grade in grades.items()])
    found = agreement_with_people(changed, "machine/m@1")
    assert found is not None
    assert {one.coefficient: one.value for one in found.estimates}["positive"] == pytest.approx(2 / 4)


def test_probes_are_compared_by_the_scale_of_each_answer(changed: Store):
    with changed.write():
        append_events(changed, [said("again", "ana", "d20", 1, 2, purpose="probe")])
    (probe,) = agreement_report(changed).compared["probes"]
    assert {one.coefficient: one.value for one in probe.estimates}["positive"] == 0


def test_an_answer_is_called_what_it_was_called_when_it_was_given(changed: Store, sit: Sit):
    desk = sit("ana", topics=["t3"])
    told = {one.document: messages.answered(one.answer, desk.scale) for one in desk.history()}
    assert told == {
        "d20": "1 marginal (older scale)",
        "d21": "2 relevant (older scale)",
        "d22": "3 highly relevant (older scale)",
    }
    again = desk.reopen("t3", "d20")
    assert again.before is not None
    assert again.before.scale == OLD
    saved = desk.judge(again, 1, seconds=1)
    assert messages.answered(saved.answer, desk.scale) == "1 yes"
    taken_back = desk.undo()
    assert taken_back is not None
    assert taken_back.before is not None
    assert taken_back.before.scale is None


def test_a_found_document_can_get_the_same_number_on_the_new_scale(changed: Store, sit: Sit):
    hits = {hit.document: hit for hit in sit("ana", topics=["t3"]).search("t3", "soup")}
    assert (hits["d20"].state, hits["d20"].grade) == ("judged", None)


def test_a_case_shows_each_opinion_on_its_own_scale(changed: Store):
    with changed.write():
        append_events(changed, [said("b20", "bob", "d20", 1, 2), said("b21", "bob", "d21", 1, 2)])
    assert open_cases(changed) == [("t3", "d20"), ("t3", "d21")]
    bench = StoredAdjudication(changed, "zoe", across=True)
    case = bench.next_item()
    assert case is not None
    assert case.document.id == "d20"
    assert len(bench) == 1
    spoken = {messages.opinion(0, one, bench.scale) for one in case.opinions}
    assert spoken == {"A: 1 marginal (older scale)", "A: 1 yes"}


def test_a_trial_counts_relevant_by_the_scale_its_author_judged_on(judging: Store):
    desk = Judge(judging).begin_trial("t1", author="ana")
    judge(desk, *([1] * 5))
    change_scale(judging, NEW)
    estimate = Judge(judging).try_("t1").estimate
    assert (estimate.judged, estimate.relevant) == (5, 0)


def test_whoever_looks_is_told_what_waits_to_be_judged_again(changed: Store, sit: Sit):
    machine = said("m", "m@1", "d20", 1, 1, layer="machine/m@1", source="machine")
    with changed.write():
        append_events(changed, [machine])
    assert sit("ana", topics=["t3"]).older() == 3
    assert (sit("bob").older(), sit("ana", rejudge=True).older(), sit("ana", layer="after").older()) == (0, 0, 0)
    assert (judging_progress(changed).older, collection_status(changed).counts.older) == (3, 3)
    judge(sit("ana", rejudge=True), 1, 1, 1)
    assert (judging_progress(changed).older, collection_status(changed).counts.older) == (0, 0)


def test_a_sitting_notices_that_scale_or_guidelines_were_changed(judging: Store, sit: Sit, tmp_path, kept: Kept):
    desk = sit("ana")
    assert desk.keep(None) == ""
    change_scale(judging, NEW)
    kept(desk.keep(None))
    (tmp_path / "guidelines.md").write_text("Judge well.")
    change_guidelines(judging, tmp_path / "guidelines.md")
    kept(desk.keep(None))
    desk.judge(desk.next_item(), 3, seconds=1)
    assert judging.rows("SELECT scale, guidelines FROM judgments") == [(1, 0)], "under what he was shown"
    assert sit("ana").keep(None) == ""
