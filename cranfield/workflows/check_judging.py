"""Prove that what counts is what the events say, and that queues, leases and assignments make sense."""

from cranfield.errors import CranfieldError
from cranfield.workflows.watching import moment
from cranfield.store import Store
from cranfield.store.assignments import planned_overlap, planned_probes
from cranfield.store.events import last_sequence, projection_faults
from cranfield.store.judging_soundness import assignment_faults, event_faults, lease_faults, queue_faults
from cranfield.text import counted


def judging_faults(store: Store) -> tuple[str, list[str]]:
    """Give how much was checked, and what is wrong."""
    with store.snapshot():
        wrong = [
            *projection_faults(store),
            *event_faults(store),
            *lease_faults(store, moment=moment()),
            *queue_faults(store),
            *assignment_faults(store),
            *_plan_faults(store),
        ]
        return counted(last_sequence(store), "event"), wrong


def _plan_faults(store: Store) -> list[str]:
    try:
        planned_overlap(store)
        planned_probes(store)
    except (CranfieldError, TypeError, KeyError) as error:
        return [f"what is planned for overlap or probes makes no sense ({error})"]
    return []
