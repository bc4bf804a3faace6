"""Make a judging packet: one small collection file for one assessor who is offline, or must not see the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from cranfield._version import __version__
from cranfield.base.errors import InputError, Problem, ProblemsFound, UnknownName, UsageError, quoted
from cranfield.base.progress import moment, now
from cranfield.base.text import counted
from cranfield.judge.events import MAIN, Event, Kind, faults_of, fold
from cranfield.judge.queue import NOTHING, order_named
from cranfield.store.documents import (
    LoadedFile,
    add_documents,
    add_source,
    add_topics,
    content_hashes,
    document,
    document_count,
    finish_source,
    topic_ids,
    topics,
    topics_with_hash,
)
from cranfield.store.events import (
    add_assessor,
    add_found,
    append_many,
    event_with_uuid,
    events,
    finds,
    last_sequence,
    pooled_documents,
    standing_of,
)
from cranfield.store.judging import (
    PACKET,
    Lease,
    PacketFacts,
    Queued,
    add_queue,
    answers_of_topic,
    live_leases,
    packet_facts,
    put_lease,
    put_packet_facts,
    queue_documents,
    queue_named,
    queue_topics,
    release_session,
)
from cranfield.store.pools import clusters_by_document, facts_of_pool
from cranfield.store.scales import copy_scales, guidelines_versions, scale_versions
from cranfield.store.store import Store, create_store, open_store, put_setting, setting
from cranfield.workflows.judge.queue import Source, pool_source, queue_source
from cranfield.workflows.judge.session import checked_name

DAYS = 14.0
"""How long the documents of a packet are reserved for its assessor."""

_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketRequest:
    """What goes into a packet: what is open for the assessor in a pool (the latest) or in a queue.

    For `days` nobody else is given these documents; 0 reserves nothing.
    """

    assessor: str
    pool: str = ""
    queue: str = ""
    topics: tuple[str, ...] = ()
    order: str = "plan"
    seed: int = 0
    days: float = DAYS


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that was made: for how many documents of how many topics."""

    documents: int
    topics: int
    layer: str


def make_packet(store: Store, path: Path, request: PacketRequest) -> Packet:
    """Write a packet; the documents in it are reserved for the assessor in the same transaction."""
    assessor = checked_name(store, request.assessor)
    _check_topics(store, request.topics)
    work, layer = _work(store, request)
    session = str(uuid4())
    with store.write():
        pairs = list(_open_documents(store, work, assessor, layer))
        if not pairs:
            raise InputError(f"there is nothing open for {quoted(assessor)} to put into a packet")
        add_assessor(store, assessor, now=now())
        for topic, name in pairs if request.days else ():
            until = moment() + request.days * _SECONDS_A_DAY
            put_lease(store, Lease(layer, topic, name, assessor, session, until))
        create_store(path, furnish=lambda packet: _furnish(store, packet, assessor, layer, session, pairs))
    return Packet(len(pairs), len({topic for topic, _ in pairs}), layer)


def _check_topics(store: Store, wanted: Sequence[str]) -> None:
    known = topic_ids(store)
    for topic in wanted:
        if topic not in known:
            raise UnknownName("topic", topic, known)


def _work(store: Store, request: PacketRequest) -> tuple[Source, str]:
    if request.pool and request.queue:
        raise UsageError("a packet is made from a pool or from a queue, not from both")
    order = order_named(request.order, seed=request.seed)
    clusters = clusters_by_document(store) if request.order == "cluster" else {}
    if request.queue:
        queue = queue_named(store, request.queue)
        return queue_source(store, queue, order=order, clusters=clusters, only=request.topics), queue.layer
    pool = facts_of_pool(store, request.pool)
    return pool_source(store, pool, order=order, clusters=clusters, only=request.topics), MAIN


def _open_documents(store: Store, work: Source, assessor: str, layer: str) -> Iterator[tuple[str, str]]:
    """Give the (topic, document) that the assessor would be given here, in order, but for those that others have."""
    taken = {(one.topic, one.document) for one in live_leases(store, layer, moment=moment())}
    for topic, role in work.roles(assessor).items():
        answers = answers_of_topic(store, layer, topic, assessor=assessor)
        for entry in work.entries(topic):
            state = work.state(entry, answers.get(entry.document, NOTHING), role)
            if state in ("open", "postponed") and (topic, entry.document) not in taken:
                yield topic, entry.document


def _furnish(
    store: Store, packet: Store, assessor: str, layer: str, session: str, pairs: Sequence[tuple[str, str]]
) -> None:
    """Write what an assessor needs, and nothing else, in the transaction that makes the file."""
    name = setting(store, "name", "")
    put_setting(packet, "name", f"{name}, packet for {assessor}")
    put_setting(packet, "made_by", f"cranfield {__version__}")
    put_setting(packet, "made", now())
    put_setting(packet, "probes", setting(store, "probes", {}))
    facts = PacketFacts(
        collection=name,
        collection_made=setting(store, "made", ""),
        assessor=assessor,
        layer=layer,
        session=session,
        up_to_event=last_sequence(store),
    )
    put_packet_facts(packet, facts)
    copy_scales(store, packet)
    _copy_texts(store, packet, pairs)
    queued = [Queued(topic, document_id) for topic, document_id in pairs]
    add_queue(packet, PACKET, queued, purpose="queue", layer=layer, now=now())


def _copy_texts(store: Store, packet: Store, pairs: Sequence[tuple[str, str]]) -> None:
    wanted = {topic for topic, _ in pairs}
    source = add_source(packet, LoadedFile("topics", PACKET, PACKET, ""), now=now())
    kept = [topic for topic in topics(store) if topic.id in wanted]
    add_topics(packet, kept, source=source)
    finish_source(packet, source, records=len(kept))
    source, copied = add_source(packet, LoadedFile("documents", PACKET, PACKET, ""), now=now()), 0
    for name in dict.fromkeys(name for _, name in pairs):
        found = document(store, name)
        if found is not None:
            add_documents(packet, [found], source=source)
            copied += 1
    finish_source(packet, source, records=copied)


# What a packet cannot bring: events that cannot be, and events that are not the packet's.

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


# Take the judgments of a packet back in, and say where they meet something else.


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something the organiser should look at. Nothing is lost by it: all events are kept.

    `what` is disagreement, judged-here-too, event-differs (it is here already and says something else; what is here
    stays), clock-ahead (it says it happened in the future), text-changed, topic-changed, other-scale or
    other-guidelines.
    """

    what: str
    topic: str
    document: str
    message: str


@dataclass(frozen=True, slots=True)
class MergedPacket:
    """What a packet brought: new events, those that were there already, and the conflicts of the new ones."""

    new: int
    same: int
    assessors: tuple[str, ...]
    conflicts: tuple[Conflict, ...]


def merge_packet(store: Store, path: Path) -> MergedPacket:
    """Take in the events of a packet, or of a copy of this collection, by their UUIDs; doing it twice is harmless.

    All or nothing: a packet that holds what cannot be, or what is not its own, is refused with all that is wrong.
    """
    with open_store(path) as packet:
        _refuse_strangers(store, packet, path)
        found = list(events(packet))
        found_there = finds(packet)
        rules = rules_of(packet, found_there)
        versions = _version_map(store, packet, found, path)
        other_topics = {topic.id: known for topic, known in topics_with_hash(packet)}
    translated = [_in_our_versions(event, *versions) for event in found]
    with store.write():
        here = {event.uuid: event_with_uuid(store, event.uuid) for event in translated}
        fresh = [event for event in translated if here[event.uuid] is None]
        known = [(event, stored) for event in translated if (stored := here[event.uuid]) is not None]
        problems = refusals(store, fresh, [event for event, _ in known], found_there, rules)
        if problems:
            raise ProblemsFound(f"{path}: nothing was merged", [problem.at(str(path)) for problem in problems])
        conflicts = (*_told_otherwise(known), *_conflicts(store, fresh, other_topics))
        append_many(store, fresh, now=now())
        _take_finds(store, found_there)
        if rules is not None:
            release_session(store, rules.facts.session)
    names = tuple(sorted({event.assessor for event in fresh}))
    return MergedPacket(len(fresh), len(known), names, conflicts)


def _told_otherwise(known: Sequence[tuple[Event, Event]]) -> Iterator[Conflict]:
    """Find events that are here already under the same UUID, but with another content."""
    for there, here in known:
        if _content(there) != _content(here):
            said = f"topic {there.topic}: event {there.uuid} for {there.document} says something else in the packet"
            yield Conflict("event-differs", there.topic, there.document, f"{said}; what is here stays")


def _content(event: Event) -> tuple[object, ...]:
    """Give what two copies of an event must agree on. Imports and propagation make the same event at any time."""
    what = event.kind, event.layer, event.topic, event.document, event.assessor, event.grade, event.undoes
    words = event.reason, event.note, event.evidence, event.purpose, event.source
    made = event.kind in ("imported", "propagated") or event.source != "person"
    return (*what, *words, *(() if made or event.session == "" else (event.happened, event.seconds)))


def _take_finds(store: Store, found: Sequence[tuple[str, str, str, str, str]]) -> None:
    """Record what was found by searching in the packet, unless a pool has it."""
    pooled = set(pooled_documents(store)) if found else set()
    for topic, found_id, assessor, words, when in found:
        if (topic, found_id) not in pooled:
            add_found(store, topic, found_id, assessor=assessor, words=words, now=when)


def _refuse_strangers(store: Store, packet: Store, path: Path) -> None:
    own = setting(store, "name", ""), setting(store, "made", "")
    facts = packet_facts(packet)
    there = setting(packet, "name", ""), setting(packet, "made", "")
    if facts is not None:
        there = facts.collection, facts.collection_made
    if own != there:
        raise InputError(f"{path} does not come from this collection, but from {quoted(there[0])}, made {there[1]}")
    if path.samefile(store.path):
        raise InputError(f"{path} is this very collection")


def _version_map(
    store: Store, packet: Store, found: Sequence[Event], path: Path
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Give the versions of scale and guidelines here that the versions of the packet are, by content."""
    ours, theirs = scale_versions(store), scale_versions(packet)
    scales = {
        version: next((number for number, known in sorted(ours.items(), reverse=True) if known == scale), 0)
        for version, scale in theirs.items()
    }
    scales |= {version: version for version in scales if ours.get(version) == theirs[version]}
    lost = sorted({event.scale for event in found if not scales.get(event.scale)})
    if lost:
        said = f"the packet was judged by a scale (version {lost[0]}) that this collection never had"
        raise ProblemsFound(f"{path}: nothing was merged", [Problem("other-scale", said, file=str(path))])
    texts = {known: number for number, known in guidelines_versions(store).items()}
    guidelines = {version: texts.get(known, 0) for version, known in guidelines_versions(packet).items()}
    return scales, guidelines


def _in_our_versions(event: Event, scales: Mapping[int, int], guidelines: Mapping[int, int]) -> Event:
    return replace(event, scale=scales[event.scale], guidelines=guidelines.get(event.guidelines, 0))


def _conflicts(store: Store, fresh: Sequence[Event], other_topics: Mapping[str, str]) -> Iterator[Conflict]:
    """Compare what stands in the packet with what stands here, and what was judged with what is here now."""
    hashes = content_hashes(store, list({event.document for event in fresh}))
    scale = max(scale_versions(store))
    guidelines = max(guidelines_versions(store), default=0)
    own_topics = {topic.id: known for topic, known in topics_with_hash(store)}
    for topic, known in other_topics.items():
        if known != own_topics.get(topic, known):
            yield Conflict("topic-changed", topic, "", f"topic {topic} has another text now")
    moment = now()
    for event in fold(fresh).values():
        yield from _with_others(store, event)
        if event.happened > moment:
            ahead = f"topic {event.topic}: {event.document} was judged at {event.happened}, which is still to come"
            yield Conflict("clock-ahead", event.topic, event.document, ahead)
        said = event.topic, event.document
        if event.document_hash and hashes.get(event.document, event.document_hash) != event.document_hash:
            yield Conflict("text-changed", *said, f"topic {said[0]}: {said[1]} has another text now")
        if event.scale != scale:
            message = (
                f"topic {said[0]}: {said[1]} was judged by version {event.scale} of the scale, now it is {scale}"
            )
            yield Conflict("other-scale", *said, message)
        if event.guidelines != guidelines:
            yield Conflict("other-guidelines", *said, f"topic {said[0]}: {said[1]} was judged under other guidelines")


def _with_others(store: Store, event: Event) -> Iterator[Conflict]:
    if event.grade is None:
        return
    for known in standing_of(store, event.layer, event.topic, event.document):
        if known.grade is None or known.grade == event.grade or known.kind == "propagated":
            continue
        what = "judged-here-too" if known.assessor == event.assessor else "disagreement"
        message = (
            f"topic {event.topic}: {event.document} is {event.grade} for {event.assessor} in the packet"
            f" and {known.grade} for {known.assessor} here"
        )
        yield Conflict(what, event.topic, event.document, message)
