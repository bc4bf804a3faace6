"""The qrels that a command uses: now, as of a moment, of a release, of a file; and how releases are kept."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept import Kept

from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError
from cranfield.base.text import stored_moment
from cranfield.judge.events import Event
from cranfield.judge.queue import Assigned
from cranfield.store.events import append_events, last_event
from cranfield.store.judging import put_assignments
from cranfield.store.store import Store, open_store
from cranfield.workflows.check import check
from cranfield.workflows.collection import NAMED, init_collection
from cranfield.workflows.judge.imports import import_judgments
from cranfield.workflows.judge.session import StoredSession
from cranfield.workflows.qrels import Qrels, Selection, qrels_for, release_faults

NOW = "2026-01-01T00:00:00.000Z"
Sit = Callable[..., StoredSession]


def given_file(folder: Path, text: str, name: str = "given.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


@pytest.fixture
def judged(judging: Store, tmp_path: Path) -> Store:
    text = "topic,document,grade,assessor\nt3,d20,2,ada\nt3,d20,0,bob\nt3,d21,1,bob\n"
    import_judgments(judging, given_file(tmp_path, text))
    return judging


def test_without_a_word_it_is_what_is_judged_now(judged: Store):
    assert list(qrels_for(judged)) == [("t3", "d20", 0), ("t3", "d21", 1)]
    assert list(qrels_for(judged)) == list(qrels_for(judged, "now"))


def test_the_primary_assessor_comes_before_the_latest_and_the_collections_own_rule_before_the_usual_one(
    judged: Store,
):
    with judged.write():
        put_assignments(judged, [Assigned("t3", "ada", "primary")], topics=["t3"])
    assert list(qrels_for(judged)) == [("t3", "d20", 2), ("t3", "d21", 1)]
    Qrels(judged).rule("lowest")
    assert list(qrels_for(judged)) == [("t3", "d20", 0), ("t3", "d21", 1)]
    assert list(qrels_for(judged, None, Selection(rule=("highest",)))) == [("t3", "d20", 2), ("t3", "d21", 1)]


def test_three_states_are_kept_apart(judged: Store, sit: Sit):
    desk = sit("ana", topics=["t3"])
    desk.judge(desk.next_item(), None, reason="torn", seconds=1.0)
    desk.judge(desk.reopen("t3", "d30", "soup"), 3, seconds=1.0)
    desk.leave()
    whole = {(topic, document): grade for topic, document, grade in qrels_for(judged, None, Selection(unjudged=True))}
    assert {pair: grade for pair, grade in whole.items() if pair[0] == "t3"} == {
        ("t3", "d20"): 0,
        ("t3", "d21"): 1,
        ("t3", "d22"): -1,
        ("t3", "d30"): 3,
    }
    assert len(whole) == 12 + 6 + 4
    assert ("t3", "d01") not in whole


def test_what_a_sample_passed_over_is_pooled_and_not_judged(judged: Store):
    with judged.write() as connection:
        connection.execute("INSERT INTO pool_undrawn VALUES (1, 't3', 'd29', 2, 'deep')")
    assert ("t3", "d29", -1) in list(qrels_for(judged, None, Selection(unjudged=True)))
    assert ("t3", "d29", -1) not in list(qrels_for(judged))


def test_the_judgments_of_draft_topics_and_of_machines_stay_out(judged: Store, tmp_path: Path):
    import_judgments(judged, given_file(tmp_path, "t3 0 d22 3\n", "a.qrels"), layer="try")
    import_judgments(judged, given_file(tmp_path, "t3 0 d22 3\n", "b.qrels"), layer="machine/m@1")
    assert len(qrels_for(judged)) == 2
    assert list(qrels_for(judged, None, Selection(layers=("main", "machine/m@1"))))[-1] == ("t3", "d22", 3)


def test_a_release_is_frozen_and_tells_how_it_came_about(judged: Store, sit: Sit):
    with judged.write():
        judged.add_guidelines("Judge well.")
        judged.add_scale(NAMED["graded"])
    desk = sit("ana", topics=["t3"])
    desk.judge(desk.next_item(), 3, seconds=1.0)
    manifest = Qrels(judged).release("v1", note="the first").manifest
    assert (manifest.layers, manifest.rule) == (("main",), ("adjudicated", "primary", "majority", "latest"))
    assert (manifest.topics, manifest.judged, manifest.unjudged) == (1, 3, 0)
    assert (manifest.grades, manifest.scales, manifest.guidelines) == (
        {"0": 1, "1": 1, "3": 1},
        {"1": 2, "2": 1},
        {"0": 2, "1": 1},
    )
    assert (manifest.up_to_event, manifest.note, manifest.collection) == (4, "the first", "test")
    assert manifest.pools == {"pool": ""}
    frozen = qrels_for(judged, "v1")
    assert frozen.content_hash == manifest.content_hash
    desk.undo()
    assert len(qrels_for(judged, "now")) == 2
    assert qrels_for(judged, "v1") == frozen
    assert Qrels(judged).list(manifest.name).manifest == manifest
    again = qrels_for(judged, "now", Selection(as_of=str(manifest.up_to_event), rule=manifest.rule))
    assert again.content_hash == manifest.content_hash


def test_a_name_is_given_once_and_rows_cannot_be_changed(judged: Store, kept: Kept):
    Qrels(judged).release("v1")
    with kept.raises(UsageError):
        Qrels(judged).release("v1")
    for bad in ("now", "a b", "", "../x", "-x"):
        with kept.raises(UsageError):
            Qrels(judged).release(bad)
    for statement in ("UPDATE release_rows SET grade = 1", "DELETE FROM releases", "DELETE FROM release_rows"):
        with kept.raises(CollectionError), judged.write() as connection:
            connection.execute(statement)


def test_a_release_that_was_tampered_with_is_found_out(judged: Store, kept: Kept):
    Qrels(judged).release("v1")
    assert release_faults(judged) == []
    with judged.write() as connection:
        connection.execute("DROP TRIGGER release_rows_update")
        connection.execute("UPDATE release_rows SET grade = 3 WHERE document = 'd20'")
    kept(release_faults(judged))
    with kept.raises(CollectionError):
        qrels_for(judged, "v1")
    assert [finding.what for finding in check(judged).findings if finding.wrong] == ["tables", "pools", "releases"]


def test_a_release_with_what_was_not_judged_keeps_it_apart(judged: Store):
    manifest = Qrels(judged).release("v1", selection=Selection(unjudged=True)).manifest
    assert (manifest.judged, manifest.unjudged, manifest.grades["-1"]) == (2, 19, 19)
    assert list(qrels_for(judged, "v1")) == list(qrels_for(judged, "now", Selection(unjudged=True)))


def test_nothing_cannot_be_released_or_written(judging: Store, kept: Kept):
    with kept.raises(InputError):
        Qrels(judging).release("v1")
    with kept.raises(InputError):
        Qrels(judging).export("now")


def test_qrels_of_a_file_are_frozen_as_they_are_and_once(judging: Store, tmp_path: Path, kept: Kept):
    file = given_file(tmp_path, "t3 0 d20 2\nt9 0 d20 1\nt3 0 zzz -1\n", "official.qrels")
    done = Qrels(judging).import_(file, "official")
    assert done.new
    kept([remark.removeprefix("warning: ") for remark in done.remarks[:-2]])
    assert (done.manifest.file, len(done.manifest.file_sha256), done.manifest.unjudged) == ("official.qrels", 64, 1)
    assert not Qrels(judging).import_(file, "official").new
    assert list(qrels_for(judging, "official")) == [("t3", "d20", 2), ("t3", "zzz", -1), ("t9", "d20", 1)]
    assert list(qrels_for(judging)) == [("t3", "d20", 2), ("t9", "d20", 1)]
    other = given_file(tmp_path, "t3 0 d20 1\n", "other.qrels")
    with kept.raises(UsageError):
        Qrels(judging).import_(other, "official")


def test_which_qrels_are_meant_must_be_clear(
    judging: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Kept
):
    with kept.raises(InputError):
        qrels_for(judging)
    for name in ("a", "b"):
        Qrels(judging).import_(given_file(tmp_path, "t3 0 d21 99\n", f"{name}.qrels"), name)
    with kept.raises(InputError):
        qrels_for(judging)
    with kept.raises(UnknownName):
        qrels_for(judging, "c")
    monkeypatch.chdir(tmp_path)
    given_file(tmp_path, "t3 0 d20 0\n", "a")
    with kept.raises(UsageError):
        qrels_for(judging, "a")
    assert list(qrels_for(judging, "./a")) == [("t3", "d20", 0)]
    assert list(qrels_for(None, "./a")) == [("t3", "d20", 0)]
    with kept.raises(UsageError):
        qrels_for(None)


def test_as_of_a_moment_the_judgments_are_as_they_were(judged: Store, sit: Sit, kept: Kept):
    before = last_event(judged)[0]
    desk = sit("ana", topics=["t3"])
    desk.judge(desk.next_item(), 3, seconds=1.0)
    assert list(Qrels(judged).export(None, selection=Selection(as_of=str(before))).qrels) == [
        ("t3", "d20", 0),
        ("t3", "d21", 1),
    ]
    assert len(Qrels(judged).export(None, selection=Selection(as_of="2999-12-31")).qrels) == 3
    with kept.raises(InputError):
        Qrels(judged).export(None, selection=Selection(as_of="2020-01-01T00:00Z"))
    with kept.raises(InputError):
        Qrels(judged).export(None, selection=Selection(as_of="noon"))


def test_a_release_is_what_it_is(judged: Store, kept: Kept):
    Qrels(judged).release("v1")
    with kept.raises(UsageError):
        Qrels(judged).export("v1", selection=Selection(rule=("latest",)))


def test_an_export_is_graded_or_binary(judged: Store, kept: Kept):
    stream = io.BytesIO()
    Qrels(judged).export(None, binary=True).write(stream)
    assert stream.getvalue() == b"t3 0 d20 0\nt3 0 d21 0\n"
    with kept.raises(UnknownName):
        Qrels(judged).export(None, format="xml").write(stream)


def test_a_difference_is_between_any_two(judged: Store, tmp_path: Path):
    Qrels(judged).release("v1")
    import_judgments(judged, given_file(tmp_path, "topic,document,grade,assessor\nt3,d22,3,ada\n", "more.csv"))
    found = Qrels(judged).diff("v1", "now")
    assert [(one.what, one.document, one.after) for one in found.changes] == [("added", "d22", 3)]
    assert Qrels(judged).diff("v1", "v1").changes == ()


def test_moments_are_stored_as_utc():
    assert stored_moment("2026-01-31T17:30+02:00") == "2026-01-31T15:30:00.000Z"
    assert stored_moment("2026-01-31 17:30") == "2026-01-31T17:30:00.000Z"
    assert stored_moment("2026-01-31") == "2026-01-31T00:00:00.000Z"
    assert stored_moment("2026-01-31", end_of_day=True) == "2026-01-31T23:59:59.999Z"


@st.composite
def happenings(draw: st.DrawFn) -> list[Event]:
    made: list[Event] = []
    kinds = ["judged", "judged", "imported", "adjudicated", "propagated", "cannot-judge", "postponed", "undone"]
    for number in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(kinds))
        earlier = draw(st.sampled_from(made)) if made and kind == "undone" else None
        made.append(
            Event(
                uuid=f"e{number}",
                kind=kind,
                topic="1",
                document=earlier.document if earlier else draw(st.sampled_from(["d", "e\tf"])),
                assessor=earlier.assessor if earlier else draw(st.sampled_from(["ada", "bob"])),
                happened=NOW,
                layer=earlier.layer if earlier else draw(st.sampled_from(["main", "after"])),
                grade=draw(st.integers(0, 3))
                if kind in ("judged", "imported", "adjudicated", "propagated")
                else None,
                undoes=earlier.uuid if earlier else "",
                purpose=draw(st.sampled_from(["pool", "pool", "probe"])),
            )
        )
    return made


@given(happenings(), st.integers(0, 14))
def test_as_of_an_event_the_qrels_are_those_of_the_time(
    tmp_path_factory: pytest.TempPathFactory, made: list[Event], until: int
):
    """What is folded up to an event is what the projection said right after it."""
    import shutil

    folder = tmp_path_factory.mktemp("as-of")
    empty = tmp_path_factory.getbasetemp() / "empty-graded.db"
    if not empty.exists():
        init_collection(empty, name="test", scale=NAMED["graded"])
    shutil.copy(empty, folder / "c.db")
    with open_store(folder / "c.db") as store:
        with store.write():
            append_events(store, made[:until])
        then = list(qrels_for(store, "now", Selection(layers=("main", "after"))))
        with store.write():
            append_events(store, made[until:])
        assert list(qrels_for(store, "now", Selection(layers=("main", "after"), as_of=str(until)))) == then
        whole = list(qrels_for(store, "now", Selection(layers=("main", "after"), as_of=str(len(made)))))
        assert whole == list(qrels_for(store, "now", Selection(layers=("main", "after"))))
