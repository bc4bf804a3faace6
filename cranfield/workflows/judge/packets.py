"""Judging packets: one small collection file for one assessor who is offline, or must not see the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import ceil
from pathlib import Path
from shlex import quote
from typing import NamedTuple
from uuid import uuid4

from cranfield._version import __version__
from cranfield.base.errors import (
    RESTORE,
    CollectionError,
    CranfieldError,
    InputError,
    Problem,
    ProblemsFound,
    UsageError,
    check_known,
    quoted,
)
from cranfield.base.records import Document, Pair, Topic
from cranfield.base.text import Changed, Result, Table, beside, counted, moment, now, table_of
from cranfield.judge.events import Event, Kind, faults_of, fold
from cranfield.store import Store, create_store, documents, events, files, judging, open_store
from cranfield.store.events import Found
from cranfield.store.judging import Lease
from cranfield.store.store import grouped
from cranfield.workflows import outside
from cranfield.workflows.judge.organise import ADJUDICATORS
from cranfield.workflows.judge.queue import Queue, choose_source
from cranfield.workflows.judge.session import checked_name

_SECONDS_A_DAY = 86_400


def make_packet(
    store: Store,
    path: Path,
    *,
    assessor: str,
    pool: str = "",
    queue: str = "",
    topics: Sequence[str] = (),
    days: float = 14,
) -> Changed:
    """Write a packet with what is open for the assessor in a pool (the latest) or in a queue.

    In the same transaction the documents are reserved for the assessor: for `days` nobody else is given them; 0
    reserves nothing.
    """
    name = checked_name(store, assessor)
    check_known("topic", topics, documents.topic_ids(store))
    if pool and queue:
        raise UsageError("use either --pool or --queue, not both")
    source = replace(choose_source(store, pool=pool, queue=queue), only=tuple(topics))
    layer, session = source.layer, str(uuid4())
    own = Queue(source, name, session)
    # Documents that stay outside are fetched before anybody has to wait for the file.
    wanted = {one.document for topic in own.roles for one in own.load(topic).waiting}
    is_outside, missing = (
        bool(documents.outside_sources(store)),
        wanted - documents.content_hashes(store, wanted).keys(),
    )
    found = dict(outside.Outside(store).find_all(sorted(missing))) if is_outside else {}
    failures = {document: one.reason for document, one in found.items() if not isinstance(one, Document)}
    wanted -= failures.keys()
    with store.write():
        queues = [own.load(topic) for topic in own.roles]
        pairs = [
            (queue.topic, one.document)
            for queue in queues
            for one in sorted(queue.waiting, key=lambda one: queue.places[one.document])
            if one.document in wanted
        ]
        if not pairs:
            why = f" ({next(iter(failures.values()))})" if failures else ""
            if held := [lease for queue in queues for lease in queue.held.values()]:
                who = " and ".join(sorted({quoted(lease.assessor) for lease in held}))
                more = counted(ceil(max(lease.expires - moment() for lease in held) / _SECONDS_A_DAY), "more day")
                what = f"{counted(len(held), 'document')} reserved for {who}, for up to {more}"
                why = f": {what} or until what was judged is merged (cranfield judge merge PACKET)"
            raise InputError(f"no open documents for {quoted(name)}{why}; no packet was written")
        # They are kept as they are given away: what comes back was judged by them.
        documents.keep(store, (one for one in found.values() if isinstance(one, Document)))
        events.add_assessor(store, name)
        store.put("packets", [(session, name, layer, json.dumps(pairs, ensure_ascii=False), now())])
        for topic, document in pairs if days else ():
            until = moment() + days * _SECONDS_A_DAY
            store.put("leases", [Lease(layer, topic, document, name, session, until)], existing="OR REPLACE")
        create_store(path, furnish=lambda packet: _furnish(store, packet, name, layer, session, pairs))
    in_topics = len({topic for topic, _ in pairs})
    left_out = f"{counted(len(failures), 'document')} could not be fetched and left out, for example"
    notes = (
        f"wrote {path}: {counted(len(pairs), 'document')} of {counted(in_topics, 'topic')}",
        *(f"warning: {left_out} {quoted(one)}: {reason}" for one, reason in islice(failures.items(), 1)),
        f"judge it with: cranfield -C {quote(str(path))} judge",
        f"merge it with: cranfield judge merge {quote(str(path))}",
    )
    return Changed({"documents": len(pairs), "topics": in_topics, "layer": layer}, notes)


def _furnish(store: Store, packet: Store, assessor: str, layer: str, session: str, pairs: Sequence[Pair]) -> None:
    """Write what an assessor needs, and nothing else, in the transaction that makes the file."""
    facts = judging.PacketFacts(
        collection=store.setting("name", ""),
        collection_made=store.setting("made", ""),
        assessor=assessor,
        layer=layer,
        session=session,
        up_to_event=events.last_event(store)[0],
    )
    packet.set("name", f"{facts.collection}, packet for {assessor}")
    packet.set("made_by", f"cranfield {__version__}")
    packet.set("made", now())
    packet.set("probes", store.setting("probes", {}))
    judging.put_setting(packet, facts)
    for table in ("scales", "grades", "guidelines"):  # all versions, under their numbers
        packet.put(table, store.rows(f"SELECT * FROM {table}"))  # noqa: S608 (one of three words)
    topics, names = (dict.fromkeys(part) for part in zip(*pairs, strict=True))
    found = [documents.fetch(store, name) for name in names]
    copied: dict[str, Sequence[Document | Topic]] = {
        "topics": [topic for topic in documents.topics(store) if topic.id in topics],
        "documents": [document for document in found if document is not None],
    }
    for kind, records in copied.items():
        source = documents.add_source(packet, documents.LoadedFile(kind, judging.PACKET, judging.PACKET, ""))
        documents.add(packet, records, source=source)
        documents.finish_source(packet, source, records=len(records))
    queued = [judging.Queued(topic, name) for topic, name in pairs]
    judging.add_queue(packet, judging.PACKET, queued, purpose="queue", layer=layer)


def write_recovery(store: Store, answers: Sequence[Event]) -> str:
    """Write the answers of a session whose collection is gone into a packet; say where, and how they come back.

    The open connection still reads the file that was removed.
    """
    first = answers[0]
    pairs = list(dict.fromkeys(event.pair for event in answers))

    def furnish(packet: Store) -> None:
        _furnish(store, packet, first.assessor, first.layer, first.session, pairs)
        found = [find for find in events.finds(store) if find.assessor == first.assessor and find[:2] in pairs]
        events.add_found(packet, *found)
        events.append_events(packet, answers)

    name = f"{store.path.stem}.recovered-{now().replace(':', '')}.db"
    for folder in (store.path.parent, Path.cwd(), Path.home()):
        try:
            create_store(folder / name, furnish=furnish)
        except (CranfieldError, OSError):
            continue
        kept = f"{counted(len(answers), 'answer')} of this session kept in {folder / name}"
        return f"{kept}; when the collection is back: cranfield judge merge {folder / name} --trust"
    return "the answers of this session could not be written to any folder"


# What is refused: invalid events, and events that do not belong to the packet.

_IN_A_PACKET: frozenset[Kind] = frozenset({"judged", "undone", "postponed", "cannot-judge", "noted"})
"""What one assessor does in a session; all else is done in the collection."""


def refusals(
    store: Store,
    fresh: Sequence[Event],
    known: Sequence[Event],
    finds: Sequence[Found],
    packet: judging.PacketFacts | None,
) -> Iterator[Problem]:
    """Everything for which a packet is refused; `known` are its events that were merged before.

    `packet` is what it says of itself; None for a file that is trusted.
    """
    topics = set(documents.topic_ids(store))
    brought: list[Event | Found] = [*fresh, *finds]
    named = {one.topic for one in brought}
    for one in sorted(named - topics) if topics else ():
        yield Problem("unknown-topic", f"topic {quoted(one)} is not in this collection")
    wanted = {one.document for one in brought}
    for one in sorted(documents.unknown(store, wanted)) if documents.count(store) else ():
        yield Problem("unknown-document", f"document {quoted(one)} is not in this collection")
    versions = store.scales()
    faults = grouped(
        ((code, meaning), f"{what}, topic {event.topic}, document {event.document}")
        for event in fresh
        for code, meaning, what in faults_of(event, versions)
    )
    for kind, places in faults.items():
        yield _several(*kind, places)
    there, lost = {event.uuid: event.pair for event in (*fresh, *known)}, []
    for event in fresh:
        if event.kind != "undone":
            continue
        # In a packet the event that is undone must be the packet's, of the same document.
        pair = there.get(event.undoes)
        if pair is None and packet is None:
            here = events.event_with_uuid(store, event.undoes)
            pair = None if here is None else here.pair
        if pair is None or (packet is not None and pair != event.pair):
            lost.append(f"{event.undoes}, topic {event.topic}, document {event.document}")
    if lost:
        yield _several("undoes-nothing", "an undo refers to an unknown event", lost)
    entitled = set(map(str, store.setting(ADJUDICATORS, ())))
    decided = {event.assessor for event in fresh if event.kind == "adjudicated"}
    for one in sorted(decided - entitled) if entitled else ():
        yield Problem("not-entitled", f"{quoted(one)} may not adjudicate in this collection")
    if packet is not None:
        yield from _not_issued(store, fresh, known, finds, packet)


_RANDOM = re.compile("[0-9a-f]{8}(-?)[0-9a-f]{4}\\1[4][0-9a-f]{3}\\1[89ab][0-9a-f]{3}\\1[0-9a-f]{12}")
"""An id that a session makes (UUID 4): those of imports and propagated grades follow from their content."""


def _not_issued(
    store: Store, fresh: Sequence[Event], known: Sequence[Event], finds: Sequence[Found], facts: judging.PacketFacts
) -> Iterator[Problem]:
    """What differs from what the assessor was given here."""
    issued = judging.issued_packet(store, facts.session)
    if issued is None:
        if fresh:
            yield Problem("not-issued", "this collection has no record of issuing the packet; --trust merges it")
        return
    assessor, layer = issued.assessor, issued.layer
    if facts.assessor != assessor:
        told = f"the packet was issued to {quoted(assessor)}, but comes back from {quoted(facts.assessor)}"
        yield Problem("other-assessor", told)
    query = "SELECT DISTINCT session, assessor FROM judgment_events WHERE session IN ({})"
    sessions = dict(store.among(query, list({event.session for event in fresh})))
    given = {document for _, document in issued.pairs}
    pairs = issued.pairs | {find[:2] for find in finds if find.document in given}
    # A packet is a queue; a probe comes after an answer, which it leaves in force: it must not take its place.
    answered = {one.pair for one in (*fresh, *known) if one.purpose in ("queue", "search")}
    purposes = {"queue": pairs, "search": pairs - issued.pairs, "probe": answered & pairs}
    places = {
        ("other-assessor", f"the packet is for {quoted(assessor)}, but others judged in it"): [
            quoted(event.assessor) for event in fresh if event.assessor != assessor
        ],
        ("other-layer", f"the packet is for the layer {quoted(layer)}"): [
            quoted(event.layer) for event in fresh if event.layer != layer
        ],
        ("other-kind", "a packet may contain only what one assessor did in judging sessions"): [
            f"{event.kind} by a {event.source}"
            for event in fresh
            if event.kind not in _IN_A_PACKET or event.source != "person"
        ],
        ("bad-id", "the id of an event or session is none that judging makes"): [
            quoted(name) for event in fresh for name in (event.uuid, event.session) if not _RANDOM.fullmatch(name)
        ],
        ("other-session", "a judging session of another assessor"): [
            quoted(sessions[event.session]) for event in fresh if sessions.get(event.session, assessor) != assessor
        ],
        ("not-in-the-packet", "a document that the assessor was not given"): [
            *(f"{event.topic} {event.document}" for event in fresh if event.pair not in pairs),
            *(f"{find.topic} {find.document}, found by search" for find in finds if find.document not in given),
        ],
        ("other-purpose", "a purpose that the document was not given for"): [
            f"{event.purpose}, {event.topic} {event.document}"
            for event in fresh
            if event.pair in pairs - purposes.get(event.purpose, set())
        ],
        ("other-assessor", f"the packet is for {quoted(assessor)}, but others searched in it"): sorted(
            {find.assessor for find in finds} - {assessor}
        ),
    }
    for (code, meaning), seen in places.items():
        if seen:
            yield _several(code, meaning, seen)


def _several(code: str, meaning: str, places: Collection[str]) -> Problem:
    often = f" ({counted(len(places), 'event')})" if len(places) > 1 else ""
    return Problem(code, f"{meaning}{often}: {next(iter(places))}", count=len(places))


# Merging a packet, with a report of all conflicts.


class Conflict(NamedTuple):
    """Something the organiser should look at. Nothing is lost by it: all events are kept.

    `what` is disagreement, judged-here-too, event-differs (it is here already and says something else; what is here
    stays), clock-ahead (it says it happened in the future), text-changed or topic-changed.
    """

    what: str
    topic: str
    document: str
    message: str


@dataclass(frozen=True)
class MergedPacket(Result):
    """What a packet brought: new events, those that were there already, and the conflicts of the new ones."""

    new: int
    same: int
    assessors: Sequence[str]
    conflicts: Sequence[Conflict]
    remarks: Sequence[str] = field(default=(), compare=False)

    def table(self) -> Table:
        return table_of(["conflict", "topic", "document", "what"], self.conflicts)


def merge_packet(store: Store, path: Path, *, trust: bool = False) -> MergedPacket:
    """Take in the events of a packet by their UUIDs; doing it twice is harmless.

    All or nothing: a packet that holds what cannot be, or what its assessor was not given here, is refused with all
    that is wrong. With `trust` it is taken as it is, also a recovery file and a copy of the whole collection.
    """
    if not path.exists():
        raise InputError(f"no packet at {path}")
    try:
        with open_store(path) as packet:
            facts = judging.packet_facts(packet)
            own, there = ((one.setting("name", ""), one.setting("made", "")) for one in (store, packet))
            if facts is not None:
                there = facts.collection, facts.collection_made
            if own != there:
                raise InputError(
                    f"{path} does not come from this collection, but from {quoted(there[0])}, made {there[1]}"
                )
            if path.samefile(store.path):
                raise InputError(f"{path} is this collection itself")
            if facts is None and not trust:
                raise InputError(f"{path} is no packet, but a copy of the whole collection; --trust merges it")
            if not trust:
                changed = [one.id for one, known in documents.each(packet) if one.content_hash != known]
                texts = (f"document {quoted(name)} does not match its hash" for name in changed)
                wrong = [*files.scale_faults(packet), *texts]
                if wrong:
                    raise InputError(f"{path}: {wrong[0]}; the packet was changed by hand")
            brought, finds = list(events.events(packet)), events.finds(packet)
            scale_map, guidelines_map = _version_maps(store, packet, brought, path, trust=trust)
            other_topics = {topic.id: known for topic, known in documents.topics_with_hash(packet)}
    except CollectionError as error:
        # A packet has no backup, but its assessor may have a better one.
        raise type(error)(str(error).replace(RESTORE, "ask its assessor for another copy")) from error
    translated = [
        replace(event, scale=scale_map[event.scale], guidelines=guidelines_map.get(event.guidelines, 0))
        for event in brought
    ]
    with store.write():
        here = {event.uuid: events.event_with_uuid(store, event.uuid) for event in translated}
        fresh = [event for event in translated if here[event.uuid] is None]
        known = [(event, stored) for event in translated if (stored := here[event.uuid]) is not None]
        problems = list(refusals(store, fresh, [event for event, _ in known], finds, None if trust else facts))
        if problems:
            raise ProblemsFound(f"{path}: nothing was merged", [problem.at(str(path)) for problem in problems])
        conflicts = list(_conflicts(store, fresh, known, other_topics))
        events.append_events(store, fresh)
        pooled = set(events.pooled_documents(store)) if finds else set()
        events.add_found(store, *(find for find in finds if find[:2] not in pooled))
        if facts is not None and (trust or judging.issued_packet(store, facts.session)):
            judging.release_leases(store, facts.session)
    names = sorted({event.assessor for event in fresh})
    by = f" by {', '.join(names)}" if names else ""
    already = beside({"already present": len(known)})
    remarks = [f"{path}: {counted(len(fresh), 'event')} merged{by}{already}"]
    remarks += [f"{counted(len(conflicts), 'conflict')}; no judgments were lost"] if conflicts else []
    return MergedPacket(len(fresh), len(known), names, conflicts, remarks)


def _version_maps(
    store: Store, packet: Store, brought: Sequence[Event], path: Path, *, trust: bool
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """The versions of scale and guidelines here that the versions of the packet are, by content.

    Guidelines of a file that is trusted may be unknown here: the backup that was restored may be older than they are.
    """
    ours, theirs = store.scales(), packet.scales()
    known = {}
    for version, scale in theirs.items():
        same = [number for number, ours_then in ours.items() if ours_then == scale]
        known[version] = version if version in same else max(same, default=0)
    hashes = "SELECT sha256, version FROM guidelines"
    texts = dict(store.rows(hashes))
    guidelines = {version: texts.get(text, 0) for text, version in packet.rows(hashes)}
    scales = {event.scale for event in brought if not known.get(event.scale)}
    others = {event.guidelines for event in brought if event.guidelines and not guidelines.get(event.guidelines)}
    for code, what, lost in (
        ("other-scale", "on a scale", scales),
        ("other-guidelines", "under guidelines", set() if trust else others),
    ):
        if lost:
            told = f"the packet was judged {what} (version {min(lost)}) that this collection never had"
            raise ProblemsFound(f"{path}: nothing was merged", [Problem(code, told, file=str(path))])
    return known, guidelines


def _content(event: Event) -> tuple[object, ...]:
    """What two copies of an event must agree on. Imports and propagation make the same event at any time."""
    what = event.kind, event.layer, event.topic, event.document, event.assessor, event.grade, event.undoes
    words = event.reason, event.note, event.evidence, event.purpose, event.source
    made = event.kind in ("imported", "propagated") or event.source != "person"
    return (*what, *words, *(() if made or event.session == "" else (event.happened, event.seconds)))


def _conflicts(
    store: Store, fresh: Sequence[Event], known: Sequence[tuple[Event, Event]], other_topics: Mapping[str, str]
) -> Iterator[Conflict]:
    """Compare the judgments of the packet with those here, and the texts that were judged with those here now.

    `known` are events of the packet beside those that are here already under the same UUID.
    """
    for there, here in known:
        if _content(there) != _content(here):
            message = f"topic {there.topic}: event {there.uuid} for {there.document} differs in the packet"
            yield Conflict("event-differs", *there.pair, f"{message}; the stored event is kept")
    hashes = documents.content_hashes(store, {event.document for event in fresh})
    own_topics = {topic.id: known for topic, known in documents.topics_with_hash(store)}
    for topic, text in other_topics.items():
        if text != own_topics.get(topic, text):
            yield Conflict("topic-changed", topic, "", f"the text of topic {topic} has changed")
    present = now()
    for event in fold(fresh).values():
        pair = topic, document = event.pair
        for other in events.standing(store, layers=[event.layer], pair=pair) if event.grade is not None else ():
            if other.grade is not None and other.grade != event.grade and other.kind != "propagated":
                what = "judged-here-too" if other.assessor == event.assessor else "disagreement"
                told = f"topic {topic}: {document} is {event.grade} for {event.assessor} in the packet"
                yield Conflict(what, *pair, f"{told} and {other.grade} for {other.assessor} here")
        if event.happened > present:
            told = f"topic {topic}: {document} was judged at {event.happened}, which is in the future"
            yield Conflict("clock-ahead", *pair, told)
        if event.document_hash and hashes.get(document, event.document_hash) != event.document_hash:
            yield Conflict("text-changed", *pair, f"topic {topic}: the text of {document} has changed")
