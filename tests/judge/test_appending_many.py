"""Thousands of events at once leave the same as one by one, and both what the fold says."""

import shutil
from dataclasses import replace
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from cranfield.judge.events import Event
from cranfield.store import events as stored
from cranfield.store.events import append_events, events, projection_faults
from cranfield.store.store import Store, open_store
from cranfield.workflows.collection import init_collection

KINDS = ["judged", "judged", "postponed", "cannot-judge", "adjudicated", "imported", "propagated", "noted", "undone"]
NOW = "2026-01-01T00:00:00.000Z"


@st.composite
def happenings(draw: st.DrawFn) -> list[Event]:
    made: list[Event] = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(KINDS))
        earlier = draw(st.sampled_from(made)) if made and kind == "undone" else None
        made.append(
            Event(
                uuid=f"e{draw(st.integers(0, 8)) if draw(st.booleans()) else 100 + number}",
                kind=kind,
                topic=earlier.topic if earlier else "1",
                document=earlier.document if earlier else draw(st.sampled_from(["d", "e"])),
                assessor=draw(st.sampled_from(["ada", "bob"])),
                happened=NOW,
                layer=earlier.layer if earlier else draw(st.sampled_from(["main", "after"])),
                grade=draw(st.integers(0, 1))
                if kind in ("judged", "adjudicated", "imported", "propagated")
                else None,
                undoes=earlier.uuid if earlier else "",
                purpose=draw(st.sampled_from(["pool", "pool", "probe"])),
            )
        )
    return made


def standing_rows(store: Store) -> list[tuple[object, ...]]:
    return store.rows("SELECT * FROM judgments ORDER BY 1, 2, 3, 4, 5")


@given(st.lists(happenings(), min_size=1, max_size=3))
def test_many_at_once_leave_the_same_as_one_by_one(tmp_path_factory, parts: list[list[Event]]):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("twice")
    empty = tmp_path_factory.getbasetemp() / "empty.db"
    if not empty.exists():
        init_collection(empty, name="test")
    found = {}
    for name, few in {"one": 100, "many": 0}.items():
        shutil.copy(empty, folder / f"{name}.db")
        with mock.patch.object(stored, "FEW", few), open_store(folder / f"{name}.db") as store:
            added = []
            for part in parts:
                with store.write():
                    added.append([event.sequence for event in append_events(store, part)])
            assert projection_faults(store) == []
            found[name] = added, [replace(one, recorded="") for one in events(store)], standing_rows(store)
    assert found["one"] == found["many"]
