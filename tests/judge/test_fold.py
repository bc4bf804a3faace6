"""What counts, from what happened; and that the table of what counts never says anything else."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cranfield.judge.events import Event, fold
from cranfield.store.events import append_events, events, projection_faults, standing
from cranfield.store.store import open_store
from cranfield.workflows.collection import init_collection

NOW = "2026-01-01T00:00:00.000Z"


def event(uuid: str, kind: str = "judged", grade: int | None = 1, **fields: object) -> Event:
    given_grade = grade if kind in ("judged", "adjudicated", "imported", "propagated") else None
    known = {"topic": "t", "document": "d", "assessor": "ana", "happened": NOW, **fields}
    return Event(uuid=uuid, kind=kind, grade=given_grade, **known)


def stands(*happened: Event) -> list[tuple[str, int | None]]:
    return [(one.kind, one.grade) for one in fold(happened).values()]


def test_the_latest_answer_counts():
    assert stands(event("1", grade=1), event("2", grade=2)) == [("judged", 2)]


def test_an_undone_answer_gives_way_to_the_one_before():
    assert stands(event("1", grade=1), event("2", grade=2), event("3", "undone", undoes="2")) == [("judged", 1)]
    assert stands(event("1"), event("2", "undone", undoes="1")) == []


def test_probes_and_notes_never_count():
    assert stands(event("1", grade=1), event("2", grade=2, purpose="probe"), event("3", "noted")) == [("judged", 1)]


def test_a_propagated_grade_never_displaces_one_that_was_given():
    assert stands(event("1", grade=1), event("2", "propagated", 2)) == [("judged", 1)]
    assert stands(event("1", "propagated", 1), event("2", "propagated", 2)) == [("propagated", 2)]


def test_putting_off_keeps_a_grade_and_displaces_everything_else():
    assert stands(event("1", grade=1), event("2", "postponed")) == [("judged", 1)]
    assert stands(event("1", "cannot-judge"), event("2", "postponed")) == [("postponed", None)]


def test_a_decision_stands_beside_the_opinion_of_its_author():
    assert stands(event("1", grade=1), event("2", "adjudicated", 2)) == [("judged", 1), ("adjudicated", 2)]


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    happened: list[Event] = []
    kinds = ["judged", "postponed", "cannot-judge", "adjudicated", "imported", "propagated", "noted", "undone"]
    for number in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(kinds))
        fields = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
        undoes = draw(st.sampled_from(happened)).uuid if kind == "undone" and happened else ""
        if kind == "undone":
            target = next((one for one in happened if one.uuid == undoes), None)
            fields = fields if target is None else {name: getattr(target, name) for name in CHOICES}
        happened.append(event(f"u{number}", kind, draw(st.integers(0, 1)), undoes=undoes, **fields))
    return happened


CHOICES: dict[str, list[str]] = {
    "topic": ["t1", "t2"],
    "document": ["d1", "d2"],
    "assessor": ["ana", "ben"],
    "layer": ["main", "after"],
    "purpose": ["pool", "probe"],
}


@given(st.lists(histories(), min_size=1, max_size=2))
def test_what_counts_is_the_fold_of_the_events_whatever_happens(tmp_path_factory, several):
    path = tmp_path_factory.mktemp("fold") / "collection.db"
    init_collection(Path(path), name="test")
    with open_store(path) as store:
        for number, history in enumerate(several):
            renamed = [
                replace(one, uuid=f"{number}{one.uuid}", undoes=one.undoes and f"{number}{one.undoes}")
                for one in history
            ]
            with store.write():
                added = append_events(store, renamed)
                assert len(added) == len(renamed)
                assert append_events(store, renamed) == []
            assert projection_faults(store) == []
        in_file = list(events(store))
        assert [one.uuid for one in in_file] == [
            f"{number}{one.uuid}" for number, history in enumerate(several) for one in history
        ]
        assert {one.sequence for one in standing(store)} == {one.sequence for one in fold(in_file).values()}
