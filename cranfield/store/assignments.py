"""Assignments: who judges which topics, and what is planned for all of them."""

from collections.abc import Sequence
from dataclasses import asdict

from cranfield.judge.assignment import Assigned, Overlap
from cranfield.judge.probes import Probes
from cranfield.store.settings import put_setting, setting
from cranfield.store.store import Store


def assigned(store: Store) -> list[Assigned]:
    """Give all assignments."""
    return [
        Assigned(*row) for row in store.rows("SELECT topic, assessor, role FROM assignments ORDER BY topic, role")
    ]


def put_assignments(store: Store, made: Sequence[Assigned], *, topics: Sequence[str], now: str) -> None:
    """Replace the assignments of these topics, inside `store.write()`."""
    many = store.connection.executemany
    many("DELETE FROM assignments WHERE topic = ?", [(topic,) for topic in topics])
    many("INSERT INTO assignments VALUES (?, ?, ?, ?)", [(one.topic, one.assessor, one.role, now) for one in made])


def planned_overlap(store: Store) -> Overlap:
    """Give how many documents more than one assessor judges; none where nothing was planned."""
    return Overlap(**setting(store, "overlap", {}))


def plan_overlap(store: Store, overlap: Overlap) -> None:
    """Plan how many documents more than one assessor judges, inside `store.write()`."""
    put_setting(store, "overlap", asdict(overlap))


def planned_probes(store: Store) -> Probes:
    """Give how often an assessor sees an earlier document again; never where nothing was planned."""
    return Probes(**setting(store, "probes", {}))


def plan_probes(store: Store, probes: Probes) -> None:
    """Plan how often an assessor sees an earlier document again, inside `store.write()`."""
    put_setting(store, "probes", asdict(probes))
