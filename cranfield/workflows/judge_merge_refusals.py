"""What a packet cannot bring: events that cannot be, and events that are not the packet's."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from cranfield.errors import Problem, quoted
from cranfield.judge.events import Event, Kind
from cranfield.judge.soundness import faults_of
from cranfield.store import Store
from cranfield.store.documents import content_hashes, document_count
from cranfield.store.events import event_with_uuid
from cranfield.store.packets import PACKET, PacketFacts, packet_facts
from cranfield.store.queues import queue_documents, queue_named, queue_topics
from cranfield.store.scales import scale_versions
from cranfield.store.topics import topic_ids
from cranfield.text import counted

Find = tuple[str, str, str, str, str]
"""Topic, document, assessor, words, when: something that was found by searching."""

_IN_A_PACKET: frozenset[Kind] = frozenset({"judged", "undone", "postponed", "cannot-judge", "noted"})
"""What one assessor does at a desk; all else is done in the collection."""

_FAULTS = {
    "grade-off-scale": "a grade is not on the scale it says it was given on",
    "bad-time": "a time cannot be read",
    "bad-seconds": "somebody took less than no time",
}


@dataclass(frozen=True, slots=True)
class PacketRules:
    """What belongs to a packet: for whom and into which layer it is, and its documents."""

    facts: PacketFacts
    pairs: frozenset[tuple[str, str]]


def rules_of(packet: Store, found: Sequence[Find]) -> PacketRules | None:
    """Give what belongs to a packet: what was put into it and what was found in it; None for a whole collection."""
    facts = packet_facts(packet)
    if facts is None:
        return None
    queue = queue_named(packet, PACKET).number
    queued = {
        (topic, name) for topic in queue_topics(packet, queue) for name, _ in queue_documents(packet, queue, topic)
    }
    return PacketRules(facts, frozenset(queued | {find[:2] for find in found}))


def refusals(
    store: Store, fresh: Sequence[Event], known: Sequence[Event], finds: Sequence[Find], rules: PacketRules | None
) -> list[Problem]:
    """Give everything for which nothing is merged; `known` are events of the packet that are here already."""
    return [
        *_strangers(store, fresh, finds),
        *_impossible(store, fresh),
        *_undoing_nothing(store, fresh, known, rules),
        *(_not_of_the_packet(fresh, finds, rules) if rules is not None else ()),
    ]


def _strangers(store: Store, fresh: Sequence[Event], finds: Sequence[Find]) -> Iterator[Problem]:
    known = set(topic_ids(store))
    topics = {event.topic for event in fresh} | {find[0] for find in finds}
    for one in sorted(topics - known) if known else ():
        yield Problem("unknown-topic", f"topic {quoted(one)} is not in this collection")
    wanted = list({event.document for event in fresh} | {find[1] for find in finds})
    for one in sorted(set(wanted) - content_hashes(store, wanted).keys()) if document_count(store) else ():
        yield Problem("unknown-document", f"document {quoted(one)} is not in this collection")


def _impossible(store: Store, fresh: Sequence[Event]) -> Iterator[Problem]:
    scales = scale_versions(store)
    seen: dict[str, list[str]] = {}
    for event in fresh:
        for code, what in faults_of(event, scales):
            seen.setdefault(code, []).append(f"{what}, topic {event.topic}, document {event.document}")
    for code, places in seen.items():
        yield _several(code, _FAULTS[code], places)


def _undoing_nothing(
    store: Store, fresh: Sequence[Event], known: Sequence[Event], rules: PacketRules | None
) -> Iterator[Problem]:
    """Find undos of events that are nowhere; in a packet the event must be the packet's, of the same document."""
    there = {event.uuid: (event.topic, event.document) for event in (*fresh, *known)}
    lost = []
    for event in fresh:
        if event.kind != "undone":
            continue
        pair = there.get(event.undoes)
        if pair is None and rules is None:
            here = event_with_uuid(store, event.undoes)
            pair = None if here is None else (here.topic, here.document)
        if pair is None or (rules is not None and pair != (event.topic, event.document)):
            lost.append(f"{event.undoes}, topic {event.topic}, document {event.document}")
    if lost:
        yield _several("undoes-nothing", "an event takes back one that is not there", lost)


def _not_of_the_packet(fresh: Sequence[Event], finds: Sequence[Find], rules: PacketRules) -> Iterator[Problem]:
    facts = rules.facts
    tests: Sequence[tuple[str, str, Callable[[Event], str]]] = (
        (
            "other-assessor",
            f"the packet is for {quoted(facts.assessor)}, and others answered in it",
            lambda event: "" if event.assessor == facts.assessor else quoted(event.assessor),
        ),
        (
            "other-layer",
            f"the packet is for the layer {quoted(facts.layer)}",
            lambda event: "" if event.layer == facts.layer else quoted(event.layer),
        ),
        (
            "other-kind",
            "a packet brings what one assessor did at his desk, and nothing else",
            lambda event: (
                "" if event.kind in _IN_A_PACKET and event.source == "person" else f"{event.kind} by a {event.source}"
            ),
        ),
        (
            "not-in-the-packet",
            "a document was neither put into the packet nor found in it",
            lambda event: "" if (event.topic, event.document) in rules.pairs else f"{event.topic} {event.document}",
        ),
    )
    for code, meaning, seen in tests:
        places = [what for event in fresh if (what := seen(event))]
        if places:
            yield _several(code, meaning, places)
    names = sorted({find[2] for find in finds} - {facts.assessor})
    if names:
        yield _several(
            "other-assessor", f"the packet is for {quoted(facts.assessor)}, and others searched in it", names
        )


def _several(code: str, meaning: str, places: Collection[str]) -> Problem:
    often = f" ({counted(len(places), 'event')})" if len(places) > 1 else ""
    return Problem(code, f"{meaning}{often}: {next(iter(places))}", count=len(places))
