"""Leases: who has which document before him now, and until when. Times are seconds since 1970."""

from dataclasses import dataclass

from cranfield.store.store import Store


@dataclass(frozen=True, slots=True)
class Lease:
    """One document before one assessor, in one sitting."""

    layer: str
    topic: str
    document: str
    assessor: str
    session: str
    expires: float


_COLUMNS = "layer, topic, document, assessor, session, expires"


def put_lease(store: Store, lease: Lease) -> None:
    """Give or renew a lease, inside `store.write()`."""
    store.connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)",
        [lease.layer, lease.topic, lease.document, lease.assessor, lease.session, lease.expires],
    )


def leases_of_document(store: Store, layer: str, topic: str, document: str) -> list[Lease]:
    """Give all leases of a document, those that have run out too."""
    query = f"SELECT {_COLUMNS} FROM leases WHERE layer = ? AND topic = ? AND document = ?"
    return [Lease(*row) for row in store.rows(query, layer, topic, document)]


def live_leases(store: Store, layer: str, *, topic: str = "", moment: float) -> list[Lease]:
    """Give the leases of a layer, or of one of its topics, that have not run out."""
    one_topic, values = (" AND topic = ?", [topic]) if topic else ("", [])
    query = f"SELECT {_COLUMNS} FROM leases WHERE layer = ?{one_topic} AND expires > ?"
    return [Lease(*row) for row in store.rows(query, layer, *values, moment)]


def release_lease(store: Store, lease: Lease) -> None:
    """Give one document back, inside `store.write()`; what another sitting has stays with it."""
    store.connection.execute(
        "DELETE FROM leases WHERE layer = ? AND topic = ? AND document = ? AND assessor = ? AND session = ?",
        [lease.layer, lease.topic, lease.document, lease.assessor, lease.session],
    )


def release_session(store: Store, session: str) -> None:
    """Give back everything that a sitting has, inside `store.write()`."""
    store.connection.execute("DELETE FROM leases WHERE session = ?", [session])


def forget_expired(store: Store, *, moment: float) -> None:
    """Remove leases that have run out, inside `store.write()`."""
    store.connection.execute("DELETE FROM leases WHERE expires <= ?", [moment])
