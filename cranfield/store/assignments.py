"""Assignments: who judges which topics, and what is planned for all of them."""

from collections.abc import Sequence

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
    found = setting(store, "overlap")
    return Overlap(found["share"], found["by"], found["seed"]) if found else Overlap()


def plan_overlap(store: Store, overlap: Overlap) -> None:
    """Plan how many documents more than one assessor judges, inside `store.write()`."""
    put_setting(store, "overlap", {"share": overlap.share, "by": overlap.by, "seed": overlap.seed})


def planned_probes(store: Store) -> Probes:
    """Give how often an assessor sees an earlier document again; never where nothing was planned."""
    found = setting(store, "probes")
    return Probes(found["share"], found["after"], found["seed"]) if found else Probes()


def plan_probes(store: Store, probes: Probes) -> None:
    """Plan how often an assessor sees an earlier document again, inside `store.write()`."""
    put_setting(store, "probes", {"share": probes.share, "after": probes.after, "seed": probes.seed})
