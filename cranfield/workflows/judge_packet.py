"""Make a judging packet: one small collection file for one assessor who is offline, or must not see the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from cranfield._version import __version__
from cranfield.errors import InputError, UnknownName, UsageError, quoted
from cranfield.judge.events import MAIN
from cranfield.judge.queue import NOTHING, order_named
from cranfield.workflows.judging import checked_name
from cranfield.workflows.judging_work import PoolWork, QueueWork, Work
from cranfield.workflows.watching import moment, now
from cranfield.store import Store, create_store
from cranfield.store.answers import answers_of_topic
from cranfield.store.assignments import planned_overlap
from cranfield.store.documents import add_documents, document
from cranfield.store.events import add_assessor, last_sequence
from cranfield.store.leases import Lease, live_leases, put_lease
from cranfield.store.packets import PACKET, PacketFacts, put_packet_facts
from cranfield.store.pools import clusters_by_document, facts_of_pool
from cranfield.store.queues import Queued, add_queue, queue_named
from cranfield.store.scales import copy_scales
from cranfield.store.settings import put_setting, setting
from cranfield.store.sources import LoadedFile, add_source, finish_source
from cranfield.store.topics import add_topics, topic_ids, topics

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


def _work(store: Store, request: PacketRequest) -> tuple[Work, str]:
    if request.pool and request.queue:
        raise UsageError("a packet is made from a pool or from a queue, not from both")
    order, overlap = order_named(request.order, seed=request.seed), planned_overlap(store)
    clusters = clusters_by_document(store) if request.order == "cluster" else {}
    if request.queue:
        queue = queue_named(store, request.queue)
        return QueueWork(store, queue, order, overlap, clusters, request.topics), queue.layer
    return PoolWork(store, facts_of_pool(store, request.pool), order, overlap, clusters, request.topics), MAIN


def _open_documents(store: Store, work: Work, assessor: str, layer: str) -> Iterator[tuple[str, str]]:
    """Give the (topic, document) that the assessor would be given here, in order, but for those that others have."""
    taken = {(one.topic, one.document) for one in live_leases(store, layer, moment=moment())}
    for topic, role in work.roles(assessor).items():
        answers = answers_of_topic(store, layer, topic, assessor=assessor)
        for entry in work.in_order(topic, work.members(topic)):
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
