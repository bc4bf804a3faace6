"""Pass grades on to near-duplicates of judged documents, marked as such."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from cranfield.judge.events import MAIN, Event
from cranfield.judge.propagation import Passed, Torn, propagated
from cranfield.workflows.corpus_duplicates import clusters_of, stored_scan
from cranfield.workflows.qrels_of import merged_now
from cranfield.workflows.watching import now
from cranfield.store import Store
from cranfield.store.documents import content_hashes
from cranfield.store.events import append_many, event_with_uuid, standing

NAMESPACE = UUID("b8f5a1c4-90d2-5b6e-8a43-7f2d0c9e1b52")
"""The space of the UUIDs of propagated events: the same source and target always get the same one."""


@dataclass(frozen=True, slots=True)
class Propagated:
    """What was passed on: new grades, those that stood already, old ones taken back, and clusters torn apart."""

    new: int
    same: int
    withdrawn: int
    torn: tuple[Torn, ...]


def propagate(store: Store, *, layer: str = MAIN, exact_only: bool = False) -> Propagated:
    """Give every near-duplicate of a judged document its grade, in the same layer.

    The clusters are those of the latest search. A grade passes only where all judged members of a cluster agree.
    What passed earlier and no longer would (the source was judged again, or its cluster is torn) is taken back.
    """
    stored_scan(store)
    clusters = _clusters(store, exact_only=exact_only)
    with store.write():
        given = _given(store, layer)
        passed, torn = propagated({pair: event.grade or 0 for pair, event in given.items()}, clusters)
        events = _events(store, passed, given, layer)
        earlier = [event for event in standing(store, layers=[layer]) if event.kind == "propagated"]
        wanted = {event.uuid for event in events}
        stale = [event for event in earlier if event.uuid not in wanted]
        undone = [_undoing(event) for event in stale]
        added = append_many(store, [*undone, *events], now=now())
    new = sum(event.kind == "propagated" for event in added)
    return Propagated(new, len(events) - new, len(added) - new, tuple(torn))


def _clusters(store: Store, *, exact_only: bool) -> dict[str, list[str]]:
    """Give the clusters, the representative first."""
    found = clusters_of(store)
    kept = {name: [one for one in members if one[1] == "exact" or not exact_only] for name, members in found.items()}
    return {str(name): [one[0] for one in members] for name, members in kept.items() if len(members) > 1}


def _given(store: Store, layer: str) -> dict[tuple[str, str], Event]:
    """Give the events that decide the grade of each document somebody looked at, by the collection's rule."""
    opinions, merged = merged_now(store, layers=[layer])
    deciding = set(opinions.events[merged.rows].tolist())
    events = [event for event in standing(store, layers=[layer]) if event.sequence in deciding]
    return {(event.topic, event.document): event for event in events if event.kind != "propagated"}


def _events(
    store: Store, passed: Sequence[Passed], given: Mapping[tuple[str, str], Event], layer: str
) -> list[Event]:
    hashes = content_hashes(store, list({one.document for one in passed}))
    made = []
    for one in passed:
        source = given[one.topic, one.source]
        made.append(
            Event(
                uuid=_uuid(store, source, one.document),
                kind="propagated",
                topic=one.topic,
                document=one.document,
                assessor=source.assessor,
                happened=now(),
                layer=layer,
                grade=one.grade,
                reason=f"near-duplicate of {one.source}",
                source=source.source,
                source_name=source.uuid,
                scale=source.scale,
                guidelines=source.guidelines,
                document_hash=hashes.get(one.document, ""),
            )
        )
    return made


def _uuid(store: Store, source: Event, document: str) -> str:
    """Give the UUID of a propagated event; after one that was taken back here, that of the next turn."""
    turn = 0
    while True:
        made = str(uuid5(NAMESPACE, f"{source.uuid}\x1f{document}\x1f{turn}"))
        if event_with_uuid(store, _undo_of(made)) is None:
            return made
        turn += 1


def _undo_of(uuid: str) -> str:
    return str(uuid5(NAMESPACE, f"undone\x1f{uuid}"))


def _undoing(event: Event) -> Event:
    return Event(
        uuid=_undo_of(event.uuid),
        kind="undone",
        topic=event.topic,
        document=event.document,
        assessor=event.assessor,
        happened=now(),
        layer=event.layer,
        undoes=event.uuid,
        source=event.source,
        scale=event.scale,
        guidelines=event.guidelines,
    )
