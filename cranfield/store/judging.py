"""What a judging session reads and writes: current answers, leases, assignments, drafts, queues, progress."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from cranfield.base.errors import RESTORE, CollectionError, CranfieldError, InputError, UnknownName, quoted
from cranfield.base.records import Pair
from cranfield.base.text import now
from cranfield.judge.queue import NOTHING, Answers, Assigned, Overlap, Probes, SampledHit
from cranfield.store.events import LONGEST_LEASE, NOT_UNDONE, durations
from cranfield.store.store import Query, Store, column, first, grouped, nothing, records, value

Plan = TypeVar("Plan", Overlap, Probes)
Record = TypeVar("Record")


_STANDS = """SELECT document, coalesce(max(kind) FILTER (WHERE own), ''), coalesce(max(event) FILTER (WHERE own), 0),
                    coalesce(max(scale) FILTER (WHERE own), 0), coalesce(max(guidelines) FILTER (WHERE own), 0),
                    group_concat(assessor, char(10)) FILTER (WHERE grade IS NOT NULL AND NOT own AND NOT adjudicated),
                    group_concat(assessor, char(10)) FILTER (WHERE kind = 'cannot-judge' AND NOT own),
                    max(adjudicated)
             FROM (SELECT *, assessor = ?1 AND NOT adjudicated AS own FROM judgments
                   WHERE layer = ?2 AND topic = ?3{})
             GROUP BY document"""


def answers(store: Store, layer: str, topic: str, *, assessor: str, document: str = "") -> Mapping[str, Answers]:
    """The current answers to each document of a topic, or to one, for one assessor."""
    query = _STANDS.format(" AND document = ?4" if document else "")
    rows = store.rows(query, assessor, layer, topic, *filter(None, [document]))
    found = defaultdict[str, Answers](lambda: NOTHING)
    alike: dict[tuple[Any, ...], Answers] = {}  # most documents stand alike: they share one object
    for name, *stands in rows:
        if (key := tuple(stands)) not in alike:
            own, event, scale, guidelines, graded, refused, decided = stands
            others, unable = (frozenset(names.split("\n") if names else ()) for names in (graded, refused))
            alike[key] = Answers(own, event, (scale, guidelines), others, unable, bool(decided))
        found[name] = alike[key]
    return found


_ANSWERED = "adjudicated = 1 OR iif(assessor = ?3, kind <> 'postponed', grade IS NOT NULL)"

pool_counts = Query[list[tuple[str, int, int, int]]](
    f"""WITH stood AS MATERIALIZED (
            SELECT topic, (SELECT max(CASE WHEN {_ANSWERED} THEN 2 ELSE assessor = ?3 END)
                           FROM judgments WHERE judgments.topic = pool_entries.topic AND layer = ?2
                           AND judgments.document = pool_entries.document) AS state
            FROM pool_entries WHERE pool = (SELECT number FROM pools WHERE name = ?1))
        SELECT topic, count(*) FILTER (WHERE state = 2), count(*), count(*) FILTER (WHERE state = 1)
        FROM stood GROUP BY topic""",
    list,
)
"""(topic, done, of, postponed) of a pool as it stands in a layer for one assessor, where one answer is enough.

It says the same as `judge.queue.state_of` for whoever is not second, in a sixth of the time.
"""


own_relevance = Query[dict[str, bool]](
    """SELECT document, grade >= relevant_from FROM judgments INDEXED BY judgments_by_assessor
       JOIN scales ON version = scale
       WHERE layer = ? AND topic = ? AND assessor = ? AND adjudicated = 0 AND grade IS NOT NULL""",
    dict,
)
"""Document -> whether an assessor has judged it relevant for a topic of a layer, by the scale of the grade."""


def judged_and_probed(store: Store, layer: str, topic: str, *, assessor: str) -> tuple[list[str], set[str]]:
    """What one assessor has judged for a topic, earliest first, and what they saw again as a probe."""
    values = assessor, layer, topic
    where = "assessor = ? AND layer = ? AND topic = ?"
    judged = f"""SELECT document FROM judgments INDEXED BY judgments_by_assessor
                 WHERE {where} AND kind = 'judged' ORDER BY event"""
    probed = f"SELECT document FROM judgment_events WHERE purpose = 'probe' AND {where}"
    return store.column(judged, *values), set(store.column(probed, *values))


own_topics = Query[list[str]](
    "SELECT topic FROM judgments WHERE layer = ? AND assessor = ? GROUP BY topic ORDER BY max(event) DESC", column
)
"""The topics of a layer in which an assessor has answered something, that of the latest answer first."""


def pace_of(store: Store, *, assessor: str, since: str, limit: int) -> tuple[int, list[float]]:
    """How many answers of an assessor stand since a moment, and the seconds of the latest, earliest first."""
    answered = "FROM judgment_events AS answer WHERE kind IN ('judged', 'cannot-judge') AND assessor = ?"
    standing = NOT_UNDONE.format("answer")
    count = store.value(f"SELECT count(*) {answered} AND happened >= ? AND {standing}", assessor, since)
    query = f"SELECT seconds {answered} AND seconds IS NOT NULL ORDER BY happened DESC LIMIT ?"
    return int(count), durations(store.column(query, assessor, limit))[::-1]


changes_of_others = Query[int]("PRAGMA data_version", value)
"""A number that changes whenever another connection has written to the file."""


# Draft topics: who tries them, on which hits, and whether they were accepted or refused.

DraftState = Literal["draft", "accepted", "refused"]


@dataclass(frozen=True)
class Draft:
    """A topic that is or was tried. `expected` is the number of relevant documents when it was decided."""

    topic: str
    author: str
    state: DraftState = "draft"
    reason: str = ""
    expected: float | None = None


draft_of = Query("SELECT topic, author, state, reason, expected FROM topic_drafts WHERE topic = ?", first(Draft))
"""The draft of a topic, or None where it was never tried."""


def put_draft(store: Store, draft: Draft, *, tried: Sequence[SampledHit] = ()) -> None:
    """Write how a draft stands, and which hits of a new one are judged, inside `store.write()`."""
    store.connection.execute(
        """INSERT INTO topic_drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (topic) DO UPDATE SET
           author = excluded.author, state = excluded.state, reason = excluded.reason,
           expected = excluded.expected, changed = excluded.changed""",
        [draft.topic, draft.author, draft.state, draft.reason, draft.expected, now()],
    )
    rows = [(draft.topic, one.document, one.rank, one.stratum, one.population) for one in tried]
    store.put("tried_hits", rows)


tried_hits = Query(
    "SELECT document, rank, stratum, population FROM tried_hits WHERE topic = ? ORDER BY rank", records(SampledHit)
)
"""The hits of a draft that are judged, by rank."""

refused_topics = Query[dict[str, str]](
    "SELECT topic, reason FROM topic_drafts WHERE state = 'refused' ORDER BY topic", dict
)
"""The topics that were refused, each with the reason."""


# Leases: which document is open for which assessor, and until when. Times are seconds since 1970.


class Lease(NamedTuple):
    """A document leased to an assessor in one session."""

    layer: str
    topic: str
    document: str
    assessor: str
    session: str
    expires: float


def live_leases(store: Store, layer: str, *, topic: str = "", document: str = "", moment: float) -> list[Lease]:
    """The leases of a layer, of one of its topics or of one document, that have not run out.

    One that would hold for years was given by a clock far ahead, and keeps nobody from the document.
    """
    names = {"topic": topic, "document": document}
    only = "".join(f" AND {name} = ?" for name, value in names.items() if value)
    query = f"""SELECT layer, topic, document, assessor, session, expires FROM leases
                WHERE layer = ?{only} AND expires > ? AND expires < ?"""
    values = (layer, *filter(None, names.values()), moment, moment + LONGEST_LEASE)
    return [Lease(*row) for row in store.rows(query, *values)]


def release_leases(store: Store, session: str, *, pair: Pair | None = None) -> None:
    """Give back one document that a session has, or everything, inside `store.write()`."""
    only, values = ("", []) if pair is None else (" AND topic = ? AND document = ?", list(pair))
    store.connection.execute(f"DELETE FROM leases WHERE session = ?{only}", [session, *values])


forget_expired = Query[None](f"DELETE FROM leases WHERE expires NOT BETWEEN ?1 AND ?1 + {LONGEST_LEASE}", nothing)
"""Remove the leases that had run out at a moment, and those of a clock far ahead."""


# Assignments: who judges which topics, and what is planned for all of them.


assigned = Query(
    "SELECT topic, assessor, role FROM assignments LEFT JOIN topics ON id = topic ORDER BY number, topic, role",
    records(Assigned),
)
"""All assignments, topics in the order they were given."""


graded_by = Query[list[tuple[str, str, str]]](
    """SELECT topic, assessor, document FROM judgments JOIN assessors ON name = assessor
       WHERE layer = 'main' AND assessors.kind = 'person' AND judgments.kind IN ('judged', 'imported')""",
    list,
)
"""(topic, assessor, document) of every grade that a person gave and that stands in the main layer."""


def put_assignments(store: Store, made: Sequence[Assigned], *, topics: Sequence[str]) -> None:
    """Replace the assignments of these topics, inside `store.write()`."""
    store.connection.executemany("DELETE FROM assignments WHERE topic = ?", [(topic,) for topic in topics])
    moment = now()
    store.put("assignments", [(one.topic, one.assessor, one.role, moment) for one in made])


# What makes a collection file a packet: for whom it is, and where it comes from.

PACKET = "packet"
"""The setting that makes a collection a packet, and the name of the queue in it."""


@dataclass(frozen=True, kw_only=True)
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

    def __post_init__(self) -> None:
        texts = self.collection, self.collection_made, self.assessor, self.layer, self.session
        if not all(isinstance(text, str) for text in texts):
            raise InputError("all but up_to_event must be text")


class IssuedPacket(NamedTuple):
    """A packet that was issued here: to whom, for which layer, with which (topic, document)."""

    assessor: str
    layer: str
    pairs: set[Pair]


def issued_packet(store: Store, session: str) -> IssuedPacket | None:
    """The packet that was issued under a session, or None."""
    row = store.row("SELECT assessor, layer, documents FROM packets WHERE session = ?", session)
    try:
        return row and IssuedPacket(row[0], row[1], {(topic, name) for topic, name in json.loads(row[2])})
    except (ValueError, TypeError, RecursionError):
        raise CollectionError(f"what packet {session} was issued with is invalid: {RESTORE}") from None


_PARTS: dict[type, tuple[str, tuple[str, ...]]] = {
    Overlap: ("overlap", ("share", "by", "seed")),
    Probes: ("probes", ("share", "after", "seed")),
    PacketFacts: (PACKET, ("collection", "collection_made", "assessor", "layer", "session", "up_to_event")),
}
"""The setting in which each of these is kept, and the names under which its parts are written."""


def put_setting(store: Store, *records: Overlap | Probes | PacketFacts | None) -> None:
    """Keep overlap, probes or the facts of a packet, inside `store.write()`; what is None stays as it was."""
    for record in filter(None, records):
        name, parts = _PARTS[type(record)]
        store.set(name, {part: getattr(record, part) for part in parts})


def _setting(store: Store, kind: type[Record]) -> Record | None:
    name, parts = _PARTS[kind]
    kept = store.setting(name)
    try:
        return kind(**{part: kept[part] for part in parts}) if kept else None
    except (CranfieldError, LookupError, TypeError, OverflowError) as error:
        why = f" ({error})" if isinstance(error, CranfieldError) else ""
        told = f"the setting {quoted(name)} of {store.path} is invalid: {json.dumps(kept, ensure_ascii=False)}"
        raise CollectionError(f"{told}{why}") from None


def planned(store: Store, kind: type[Plan]) -> Plan:
    """The planned overlap or the planned probes; none by default."""
    return _setting(store, kind) or kind()


def packet_facts(store: Store) -> PacketFacts | None:
    """What is known of a packet; None where the file is a collection of its own."""
    return _setting(store, PacketFacts)


# Queues: documents that were asked for by name, beside the pools.


class QueueFacts(NamedTuple):
    """A queue: its number, and the layer that its judgments go into.

    `contests` are those that a live queue is to decide, as JSON; none where the queue stays as it was made.
    """

    number: int
    layer: str
    contests: str = "[]"


class Queued(NamedTuple):
    """One document that was asked for. `why` is for the organiser: assessors stay blind."""

    topic: str
    document: str
    why: str = ""


def add_queue(
    store: Store,
    name: str,
    queued: Iterable[Queued],
    *,
    purpose: str,
    layer: str = "main",
    contests: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Add a queue inside `store.write()` and give its number; positions count the entries of each topic."""
    if store.row("SELECT 1 FROM queues WHERE name = ?", name):
        known = f"a queue named {quoted(name)} already exists"
        raise InputError(f"{known}; judge it with cranfield judge --queue {name}, or choose another name")
    query = "INSERT INTO queues (name, purpose, layer, made, contests) VALUES (?, ?, ?, ?, ?)"
    number = store.insert(query, name, purpose, layer, now(), json.dumps(list(contests), ensure_ascii=False))
    places = Counter[str]()
    for one in queued:
        places[one.topic] += 1
        store.put("queue_entries", [(number, one.topic, one.document, places[one.topic], one.why)])
    return number


def queue_named(store: Store, name: str) -> QueueFacts:
    """The queue of this name."""
    row = store.row("SELECT number, layer, contests FROM queues WHERE name = ?", name)
    if row is None:
        raise UnknownName("queue", name, store.column("SELECT name FROM queues"))
    return QueueFacts(*row)


queue_names = Query[list[str]]("SELECT name FROM queues WHERE purpose <> 'queue' ORDER BY number", column)
"""The queues in the order they were made, but that of a packet."""

unjudged_queues = Query[list[str]](
    """SELECT DISTINCT name FROM queues JOIN queue_entries AS one ON number = queue WHERE purpose <> 'queue'
       AND NOT EXISTS (SELECT 1 FROM judgments WHERE topic = one.topic AND document = one.document
                       AND layer = queues.layer AND (grade IS NOT NULL OR kind = 'cannot-judge'))""",
    column,
)
"""The queues with a document that nobody has answered; one that adapts may be decided all the same."""

queue_topics = Query[list[str]]("SELECT DISTINCT topic FROM queue_entries WHERE queue = ? ORDER BY topic", column)
"""The topics of a queue by its number."""

queue_documents = Query[list[str]](
    "SELECT document FROM queue_entries WHERE queue = ? AND topic = ? ORDER BY position", column
)
"""The documents of one topic of a queue in their order."""

queue_answers = Query[dict[Pair, int | None]](
    """SELECT topic, document, grade FROM queue_entries CROSS JOIN judgments USING (topic, document)
       WHERE queue = ? AND layer = ? AND (grade IS NOT NULL OR kind = 'cannot-judge')
       ORDER BY grade IS NOT NULL, adjudicated, event""",
    lambda rows: {(topic, document): grade for topic, document, grade in rows},
)
"""(topic, document) -> grade of what is answered of a queue in a layer: an adjudicator's, else the latest.

None where it cannot be judged."""

settled_pairs = Query[list[Pair]](
    """SELECT topic, document FROM queue_entries JOIN queues ON number = queue WHERE purpose = 'settle'
       EXCEPT SELECT topic, document FROM pool_entries""",
    list,
)
"""(topic, document) of all that was asked for to decide between runs, and that no pool has."""


# How judging goes on, over all assessors: counts, seconds, refusals.


class Refusal(NamedTuple):
    """A document that an assessor could not judge, and why."""

    topic: str
    document: str
    assessor: str
    reason: str
    happened: str


answers_by_assessor = Query[dict[str, tuple[int, int, int]]](
    """SELECT assessor, count(grade), sum(kind = 'cannot-judge'), sum(kind = 'postponed')
       FROM judgments WHERE layer = ? AND adjudicated = 0 GROUP BY assessor""",
    lambda rows: {row[0]: row[1:] for row in rows},
)
"""How many grades, refusals and postponements of each assessor stand in a layer; decisions are left out."""

postponed_by_topic = Query[dict[str, int]](
    "SELECT topic, count(*) FROM judgments WHERE layer = ? AND kind = 'postponed' GROUP BY topic", dict
)
"""How many documents of each topic are postponed in a layer."""

seconds_by_assessor = Query[dict[str, list[float]]](
    """SELECT assessor, seconds FROM judgment_events
       WHERE layer = ? AND kind IN ('judged', 'cannot-judge') AND seconds IS NOT NULL ORDER BY sequence""",
    lambda rows: {name: durations(seconds) for name, seconds in grouped(rows).items()},
)
"""The seconds of attention of each assessor's judgments in a layer, those that were undone too."""

last_seen = Query[dict[str, str]](
    """SELECT name, moment FROM (
           SELECT name, (SELECT max(happened) FROM judgment_events WHERE assessor = name) AS moment FROM assessors)
       WHERE moment <> ''""",
    dict,
)
"""When each assessor last did something."""

refusals = Query(
    """SELECT judgments.topic, judgments.document, judgments.assessor, reason, happened
       FROM judgments JOIN judgment_events ON sequence = event
       WHERE judgments.layer = ? AND judgments.kind = 'cannot-judge' ORDER BY 1, 2, 3""",
    records(Refusal),
)
"""What could not be judged in a layer, by topic and document."""


def older_than(store: Store, versions: tuple[int, int] | None = None, *, layer: str = "", assessor: str = "") -> int:
    """How many grades of people stand that were given under an older scale or older guidelines than these.

    Without `versions` than those in force. Only those of a layer, or of an assessor, where one is given; what
    machines said, and draft topics, count not.
    """
    machines = "SELECT name FROM assessors WHERE kind = 'machine'"
    where = f"kind = 'judged' AND (scale < ? OR guidelines < ?) AND assessor NOT IN ({machines})"
    where += " AND layer = ?" if layer else " AND layer <> 'try'"
    where += " AND assessor = ?" if assessor else ""
    values = [*(versions or store.versions()), *filter(None, (layer, assessor))]
    return int(store.value(f"SELECT count(*) FROM judgments WHERE {where}", *values))


off_scale = Query[int](
    """SELECT count(*) FROM judgments WHERE grade IS NOT NULL
       AND grade NOT IN (SELECT grade FROM grades WHERE grades.scale = ?)""",
    value,
)
"""How many standing grades are not on one version of the scale."""
