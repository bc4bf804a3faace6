"""From events to what counts now: the latest answer of each assessor that was not taken back."""

from collections.abc import Iterable

from cranfield.judge.events import Event, PairKey, key_of

NEVER_STANDING = frozenset({"undone", "noted"})


def fold(events: Iterable[Event]) -> dict[PairKey, Event]:
    """Give the standing answer for each layer, topic, document and assessor.

    Events come in the order they were recorded. An undone event gives way to the one before it, as if it had never
    been; an undo of an undo is not known: judge again. Answers to probes never stand, they are only compared; a
    remark changes nothing; a propagated grade never displaces one that was given, and putting a document off that has
    a grade already leaves the grade in force.
    """
    listed = list(events)
    undone = {event.undoes for event in listed if event.kind == "undone"}
    standing: dict[PairKey, Event] = {}
    for event in listed:
        if event.uuid in undone or event.kind in NEVER_STANDING or event.purpose == "probe":
            continue
        before = standing.get(key_of(event))
        if before is None or not _gives_way(event, before):
            standing[key_of(event)] = event
    return standing


def _gives_way(event: Event, before: Event) -> bool:
    if event.kind == "propagated":
        return before.kind != "propagated"
    return event.kind == "postponed" and before.grade is not None
