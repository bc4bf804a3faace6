"""What makes a collection file a packet: for whom it is, and where it comes from."""

from dataclasses import dataclass

from cranfield.store.settings import put_setting, setting
from cranfield.store.store import Store

PACKET = "packet"
"""The setting that makes a collection a packet, and the name of the queue in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFacts:
    """A packet: of which collection (its name, and when it was made), for whom, into which layer.

    `session` is under which the documents are reserved in the collection; `up_to_event` the last event it had then.
    """

    collection: str
    collection_made: str
    assessor: str
    layer: str
    session: str
    up_to_event: int


def put_packet_facts(store: Store, facts: PacketFacts) -> None:
    """Make a new collection file a packet, inside its `write()`."""
    value = {
        "collection": facts.collection,
        "collection_made": facts.collection_made,
        "assessor": facts.assessor,
        "layer": facts.layer,
        "session": facts.session,
        "up_to_event": facts.up_to_event,
    }
    put_setting(store, PACKET, value)


def answered_in_packet(store: Store, facts: PacketFacts) -> tuple[int, int]:
    """Give how many documents the queue of a packet has, and how many of them its assessor has answered."""
    rows = store.rows(
        """SELECT count(*), count(*) FILTER (WHERE EXISTS (
                      SELECT 1 FROM judgments WHERE judgments.topic = queue_entries.topic
                      AND judgments.document = queue_entries.document AND judgments.layer = ?
                      AND judgments.assessor = ? AND judgments.kind <> 'postponed'))
           FROM queue_entries JOIN queues ON number = queue WHERE name = ?""",
        facts.layer,
        facts.assessor,
        PACKET,
    )
    return int(rows[0][0]), int(rows[0][1])


def packet_facts(store: Store) -> PacketFacts | None:
    """Give what is known of a packet; None where the file is a collection of its own."""
    found = setting(store, PACKET)
    if found is None:
        return None
    return PacketFacts(
        collection=found["collection"],
        collection_made=found["collection_made"],
        assessor=found["assessor"],
        layer=found["layer"],
        session=found["session"],
        up_to_event=found["up_to_event"],
    )
