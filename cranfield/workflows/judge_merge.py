"""Take the judgments of a packet back in, and say where they meet something else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cranfield.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.judge.events import Event
from cranfield.judge.fold import fold
from cranfield.workflows.judge_merge_refusals import refusals, rules_of
from cranfield.workflows.watching import now
from cranfield.store import Store, open_store
from cranfield.store.documents import content_hashes
from cranfield.store.events import append_many, event_with_uuid, events, standing_of
from cranfield.store.found import add_found
from cranfield.store.leases import release_session
from cranfield.store.opinions import finds, pooled_documents
from cranfield.store.packets import packet_facts
from cranfield.store.scales import guidelines_versions, scale_versions
from cranfield.store.settings import setting
from cranfield.store.topics import topics_with_hash


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
    for topic, document, assessor, words, when in found:
        if (topic, document) not in pooled:
            add_found(store, topic, document, assessor=assessor, words=words, now=when)


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
