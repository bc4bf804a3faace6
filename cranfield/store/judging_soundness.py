"""What can be wrong with the tables of judging, beyond what their constraints keep out."""

from collections.abc import Iterator

from cranfield.store.store import Store

_LONGEST_LEASE = 400 * 86_400.0
"""Packets reserve documents for days, but nobody for years."""


def event_faults(store: Store) -> Iterator[str]:
    """Give undos of nothing, answers from a sitting that do not say where in the queue they were, and what cannot be.

    That is a grade that its scale does not have, a time that cannot be read, and less than no time.
    """
    undos = store.rows(
        """SELECT sequence, undoes FROM judgment_events AS undo WHERE kind = 'undone' AND NOT EXISTS (
               SELECT 1 FROM judgment_events AS undone WHERE undone.uuid = undo.undoes)"""
    )
    for sequence, uuid in undos:
        yield f"event {sequence} undoes {uuid}, which is not there"
    for sequence, position in store.rows(
        "SELECT sequence, position FROM judgment_events WHERE position < 0 OR (position = 0 AND shown_order <> '')"
    ):
        yield f"event {sequence} has the position {position} in its queue"
    for sequence, grade, scale in store.rows(
        """SELECT sequence, grade, scale FROM judgment_events AS event WHERE grade IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM grades WHERE grades.scale = event.scale AND grades.grade = event.grade)"""
    ):
        yield f"event {sequence} has the grade {grade}, which version {scale} of the scale does not have"
    for sequence, happened, seconds in store.rows(
        """SELECT sequence, happened, seconds FROM judgment_events
           WHERE seconds < 0 OR happened NOT GLOB '????-??-??T??:??:??.???Z' OR julianday(happened) IS NULL"""
    ):
        took = "" if seconds is None else f", and took {seconds:g} seconds"
        yield f"event {sequence} happened at {happened!r}{took}"


def lease_faults(store: Store, *, moment: float) -> Iterator[str]:
    """Give leases that nobody can have been given."""
    query = "SELECT topic, document, assessor, expires FROM leases WHERE session = '' OR expires > ? OR expires <= 0"
    for topic, document, assessor, expires in store.rows(query, moment + _LONGEST_LEASE):
        yield f"the lease of {document!r} for topic {topic!r} by {assessor!r} makes no sense (until {expires})"


def queue_faults(store: Store) -> Iterator[str]:
    """Give queues whose positions do not count 1, 2, 3 … within each topic."""
    rows = store.rows(
        """SELECT queues.name, topic, count(*), count(DISTINCT position), min(position), max(position)
           FROM queue_entries JOIN queues ON number = queue GROUP BY queue, topic"""
    )
    for name, topic, entries, positions, first, last in rows:
        if (positions, first, last) != (entries, 1, entries):
            yield f"the positions of queue {name!r}, topic {topic!r}, do not run from 1 to {entries}"


def assignment_faults(store: Store) -> Iterator[str]:
    """Give topics with two primary assessors, and assignments of topics that are not there."""
    primaries = "SELECT topic FROM assignments WHERE role = 'primary' GROUP BY topic HAVING count(*) > 1"
    for (topic,) in store.rows(primaries):
        yield f"topic {topic!r} has more than one primary assessor"
    lost = """SELECT DISTINCT topic FROM assignments WHERE topic NOT IN (SELECT id FROM topics)
              AND topic NOT IN (SELECT topic FROM pool_topics)"""
    for (topic,) in store.rows(lost):
        yield f"topic {topic!r} is assigned, but not in the collection"
