"""Seat an assessor before a collection file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

from cranfield.errors import InputError, UnknownName, UsageError, quoted
from cranfield.judge.events import MAIN
from cranfield.judge.queue import order_named
from cranfield.workflows import watching
from cranfield.workflows.judging_desk import CollectionDesk
from cranfield.workflows.judging_line import Seat
from cranfield.workflows.judging_work import AgainWork, Filling, PoolWork, QueueWork, Work
from cranfield.store import Store
from cranfield.store.assignments import planned_overlap
from cranfield.store.events import add_assessor, assessors
from cranfield.store.leases import forget_expired
from cranfield.store.packets import PACKET, PacketFacts, packet_facts
from cranfield.store.pools import PoolFacts, clusters_by_document, facts_of_pool
from cranfield.store.queues import queue_named
from cranfield.store.scales import current_guidelines, current_scale

LEASE_SECONDS = 600.0
"""How long a document is an assessor's before others may have it, unless he renews it."""

BATCH = 10
"""How many documents a live pool chooses at once for a topic."""

_LONGEST_NAME = 80


def open_desk(
    store: Store,
    *,
    assessor: str,
    pool: str = "",
    queue: str = "",
    layer: str = "",
    order: str = "plan",
    seed: int = 0,
    topics: Sequence[str] = (),
    rejudge: bool = False,
    lease_seconds: float = LEASE_SECONDS,
    batch: int = BATCH,
    clock: Callable[[], float] = watching.moment,
) -> CollectionDesk:
    """Seat an assessor before a pool (the latest by default), before a queue, or before his own old judgments.

    In a packet it is the packet's own queue. The layer is `main`, or that of the queue. `topics` are the only ones he
    sees, where some are given.
    """
    if queue and (pool or rejudge):
        raise UsageError("a queue is judged by itself: leave the pool, or judging again, away")
    packet = packet_facts(store)
    if packet is not None:
        _check_packet(packet, assessor.strip(), layer)
    if not (queue or pool or rejudge) and packet is not None:
        queue = PACKET
    chosen, overlap = order_named(order, seed=seed), planned_overlap(store)
    clusters = clusters_by_document(store) if chosen.name == "cluster" else {}
    work: PoolWork | QueueWork | AgainWork
    if queue:
        facts = queue_named(store, queue)
        layer = layer or facts.layer
        work = QueueWork(store, facts, chosen, overlap, clusters)
    elif rejudge:
        versions = current_scale(store)[0], current_guidelines(store)[0]
        work = AgainWork(store, layer or MAIN, assessor.strip(), versions, chosen, clusters)
    else:
        pooled = facts_of_pool(store, pool)
        chosen = replace(chosen, pooled=_order_of_pool(pooled))
        # Only the main layer teaches a live pool what to choose next.
        filling = Filling(store, pooled, batch=batch) if (layer or MAIN) == MAIN else None
        work = PoolWork(store, pooled, chosen, overlap, clusters, filling=filling)
    work = _only(work, topics, assessor.strip())
    return seated(store, work, assessor=assessor, layer=layer or MAIN, lease_seconds=lease_seconds, clock=clock)


def _check_packet(packet: PacketFacts, assessor: str, layer: str) -> None:
    """Refuse what could not be merged: another name, or another layer."""
    if assessor != packet.assessor:
        raise UsageError(
            f"this packet is for {quoted(packet.assessor)}, not for {quoted(assessor)}: judge it with"
            f" -a {packet.assessor!r}, or ask for a packet of your own"
        )
    if layer and layer != packet.layer:
        raise UsageError(f"this packet is for the layer {quoted(packet.layer)}: leave --layer away")


def _order_of_pool(facts: PoolFacts) -> str:
    """Give how a pool was ordered for judging, where that is not simply its plan."""
    if facts.judging_order == "plan":
        return ""
    return f"random:{facts.seed}" if facts.judging_order == "random" else facts.judging_order


def _only(
    work: PoolWork | QueueWork | AgainWork, topics: Sequence[str], assessor: str
) -> PoolWork | QueueWork | AgainWork:
    """Give the work for these topics alone; one that is not the assessor's is refused."""
    mine = work.roles(assessor) if topics else {}
    for topic in topics:
        if topic not in mine:
            raise UnknownName("topic of yours", topic, mine)
    return replace(work, only=tuple(topics))


def assessor_of_packet(store: Store) -> str:
    """Give the name a packet was made for; empty where the file is no packet."""
    facts = packet_facts(store)
    return "" if facts is None else facts.assessor


def seated(
    store: Store,
    work: Work,
    *,
    assessor: str,
    layer: str,
    lease_seconds: float = LEASE_SECONDS,
    clock: Callable[[], float] = watching.moment,
) -> CollectionDesk:
    """Seat an assessor before some work; he becomes known to the collection."""
    name = checked_name(store, assessor)
    alike = _like_named(store, name)
    with store.write():
        add_assessor(store, name, now=watching.now())
        forget_expired(store, moment=clock())
    return CollectionDesk(Seat(store, name, layer, uuid4().hex, lease_seconds, clock), work, like_named=alike)


def _like_named(store: Store, name: str) -> list[str]:
    """Give the people whose names differ from that of somebody new in nothing but capitals: he may be one of them."""
    known = assessors(store)
    alike = [other for other, kind in known.items() if kind == "person" and other.casefold() == name.casefold()]
    return [] if name in known else alike


def checked_name(store: Store, assessor: str) -> str:
    """Give an assessor's name without blanks around it; one that no person can have is refused."""
    name = assessor.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{quoted(assessor)} is no name for an assessor; give one line of 1 to {_LONGEST_NAME} letters"
        )
    if assessors(store).get(name, "person") != "person":
        raise InputError(f"{quoted(name)} is not a person here, but where judgments came from; take another name")
    return name
