"""From events to what counts now: the latest answer of each assessor that was not taken back."""

from collections.abc import Iterable

from cranfield.judge.events import Event, PairKey, key_of

NEVER_STANDING = frozenset({"undone", "noted"})


def fold(events: Iterable[Event]) -> dict[PairKey, Event]:
    """Give the standing answer for each layer, topic, document and assessor.

    Events come in the order they were recorded. An undone event gives way to the one before it, as if it had never
    been; an undo of an undo is not known: judge again. Answers to probes never stand, they are only compared; a
    remark changes nothing; a propagated grade never displaces one that was given.
    """
    listed = list(events)
    undone = {event.undoes for event in listed if event.kind == "undone"}
    standing: dict[PairKey, Event] = {}
    for event in listed:
        if event.uuid in undone or event.kind in NEVER_STANDING or event.purpose == "probe":
            continue
        before = standing.get(key_of(event))
        if before is not None and event.kind == "propagated" and before.kind != "propagated":
            continue
        standing[key_of(event)] = event
    return standing
