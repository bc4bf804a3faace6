"""The documents of one topic that lie before one assessor, and how they are leased to him."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from cranfield.judge.events import Purpose
from cranfield.judge.queue import (
    NOTHING,
    Answers,
    Count,
    Entry,
    Order,
    Overlap,
    Role,
    State,
    count_of,
    may_lease,
    ordered,
    roles_of,
    state_again,
    state_of,
)
from cranfield.store.documents import topic_ids
from cranfield.store.events import add_found, found_documents, found_topics
from cranfield.store.judging import (
    Lease,
    QueueFacts,
    answers_of_document,
    answers_of_topic,
    assigned,
    leases_of_document,
    live_leases,
    pool_counts,
    put_lease,
    queue_documents,
    queue_topics,
    refused_topics,
    topics_of_own,
    tried_hits,
)
from cranfield.store.pools import PoolFacts, documents_to_judge, pool_topics
from cranfield.store.store import Store

if TYPE_CHECKING:
    from cranfield.workflows.pool.live import Refiller


# What there is to judge: a pool with what was found beside it, a queue, one's own old judgments, a draft topic.

TRY_LAYER = "try"
"""Where the judgments of draft topics go: never into the qrels."""


class Work(Protocol):
    """What a sitting is about: which topics, which documents, and how each of them stands for the assessor."""

    @property
    def purpose(self) -> Purpose:
        """Why the documents are shown."""

    @property
    def order(self) -> Order:
        """The order they are shown in."""

    def topics(self) -> list[str]:
        """Give all topics, in the order of the collection."""

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the topics an assessor may judge, and what he is to them."""

    def members(self, topic: str) -> list[Entry]:
        """Give the documents of a topic, in no order."""

    def in_order(self, topic: str, members: Sequence[Entry]) -> list[Entry]:
        """Put the documents of a topic in the order they are shown in."""

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say how a document stands for the assessor."""

    def counted(self, layer: str, assessor: str) -> dict[str, Count]:
        """Give the counts of those topics that can be counted all at once, unless he is second there."""

    def grows(self, topic: str) -> bool:
        """Say whether more documents can be chosen for a topic from what is judged so far."""

    def refill(self, topic: str) -> bool:
        """Choose more documents from what is judged so far, inside `store.write()`; say whether some came."""

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Put a document that was found by searching among those of the topic, inside `store.write()`."""


class Filling:
    """What fills up a live pool while it is judged. Nothing heavy is loaded before a topic has run out."""

    def __init__(self, store: Store, facts: PoolFacts, *, batch: int) -> None:
        self._store, self._facts, self._batch = store, facts, batch

    def grows(self, topic: str) -> bool:
        """Say whether the pool is live and has the topic."""
        return self._refiller is not None and topic in pool_topics(self._store, self._facts.name)

    def refill(self, topic: str) -> bool:
        """Let the pool choose its next documents, inside `store.write()`; say whether some came."""
        if self._refiller is None:
            return False
        return self._refiller.refill(self._facts.name, topic, batch=self._batch).added > 0

    @cached_property
    def _refiller(self) -> Refiller | None:
        from cranfield.pool.plan import parse_stored

        if not parse_stored(self._facts.plan_in_full).is_live:
            return None
        from cranfield.workflows.pool.live import Refiller

        refiller = Refiller(self._store)
        refiller.prepare(self._facts.name)
        return refiller


@dataclass(frozen=True)
class PoolWork:
    """A pool, and what assessors found beside it by searching. A live pool grows while it is judged."""

    store: Store
    facts: PoolFacts
    order: Order
    overlap: Overlap
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    filling: Filling | None = None
    purpose: Purpose = "pool"

    def topics(self) -> list[str]:
        """Give the topics of the pool, and those for which something was found; refused ones are left out."""
        pooled = {*pool_topics(self.store, self.facts.name), *found_topics(self.store)}
        return _in_order(self.store, pooled - refused_topics(self.store).keys(), self.only)

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the topics that are assigned to the assessor, or to nobody."""
        return roles_of(self.topics(), assigned(self.store), assessor)

    def members(self, topic: str) -> list[Entry]:
        """Give the documents of the pool, and after them those that were found."""
        pooled = documents_to_judge(self.store, self.facts.name, topic)
        known = dict(pooled)
        found = [document for document in found_documents(self.store, topic) if document not in known]
        last = max(known.values(), default=0)
        beside = [Entry(document, last + place, "search") for place, document in enumerate(found, start=1)]
        entries = [*(Entry(document, place) for document, place in pooled), *beside]
        return [_planned(topic, entry, self.overlap) for entry in entries] if self.overlap.share else entries

    def in_order(self, topic: str, members: Sequence[Entry]) -> list[Entry]:
        """Put the pool in order; what was found comes after it, in the order it was found."""
        pooled = [entry for entry in members if entry.purpose != "search"]
        found = [entry for entry in members if entry.purpose == "search"]
        return [*ordered(pooled, self.order, topic, clusters=self.clusters), *ordered(found, Order(), topic)]

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say how a document stands for the assessor."""
        return state_of(entry, answers, role)

    def counted(self, layer: str, assessor: str) -> dict[str, Count]:
        """Count in the file itself, where each document needs one answer and nothing was found beside the pool."""
        if self.overlap.share:
            return {}
        beside = set(found_topics(self.store))
        counts = pool_counts(self.store, self.facts.name, layer, assessor=assessor)
        return {topic: Count(*count) for topic, count in counts.items() if topic not in beside}

    def grows(self, topic: str) -> bool:
        """Say whether the plan has a step that needs judgments."""
        return self.filling is not None and self.filling.grows(topic)

    def refill(self, topic: str) -> bool:
        """Let a live pool choose its next documents for a topic."""
        return self.filling is not None and self.filling.refill(topic)

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Record the find; what the pool has already stays the pool's."""
        if document not in dict(documents_to_judge(self.store, self.facts.name, topic)):
            add_found(self.store, topic, document, assessor=assessor, words=words, now=now)


class FixedWork:
    """Work that is small and does not grow."""

    def counted(self, layer: str, assessor: str) -> dict[str, Count]:
        """It is small: its topics are counted one by one."""
        return {}

    def grows(self, topic: str) -> bool:
        """Nothing comes of itself."""
        return False

    def refill(self, topic: str) -> bool:
        """Nothing comes of itself."""
        return False


@dataclass(frozen=True)
class QueueWork(FixedWork):
    """The documents of a named queue."""

    store: Store
    facts: QueueFacts
    order: Order
    overlap: Overlap
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    purpose: Purpose = "queue"

    def topics(self) -> list[str]:
        """Give the topics of the queue."""
        return _in_order(self.store, set(queue_topics(self.store, self.facts.number)), self.only)

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the topics that are assigned to the assessor, or to nobody."""
        return roles_of(self.topics(), assigned(self.store), assessor)

    def members(self, topic: str) -> list[Entry]:
        """Give the documents that were asked for."""
        queued = queue_documents(self.store, self.facts.number, topic)
        return [replace(_planned(topic, Entry(*one), self.overlap), purpose="queue") for one in queued]

    def in_order(self, topic: str, members: Sequence[Entry]) -> list[Entry]:
        """Put them in order."""
        return ordered(members, self.order, topic, clusters=self.clusters)

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say how a document stands for the assessor."""
        return state_of(entry, answers, role)

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Record the find: it belongs to what is judged of the topic."""
        add_found(self.store, topic, document, assessor=assessor, words=words, now=now)


@dataclass(frozen=True)
class AgainWork(FixedWork):
    """What the assessor has judged, as far as scale or guidelines have changed since."""

    store: Store
    layer: str
    assessor: str
    versions: tuple[int, int]
    order: Order
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    purpose: Purpose = "rejudge"

    def topics(self) -> list[str]:
        """Give the topics he has judged in."""
        own = topics_of_own(self.store, self.layer, assessor=self.assessor)
        return _in_order(self.store, set(own), self.only)

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the topics he has judged in: what he said there is his."""
        return dict.fromkeys(self.topics(), "primary")

    def members(self, topic: str) -> list[Entry]:
        """Give what he has judged, as it stands."""
        answers = answers_of_topic(self.store, self.layer, topic, assessor=self.assessor)
        own = ((document, one) for document, one in answers.items() if state_again(one, self.versions) != "not his")
        return [Entry(document, one.own_event, "rejudge") for document, one in own]

    def in_order(self, topic: str, members: Sequence[Entry]) -> list[Entry]:
        """Put it in order; that of the plan is the order it was judged in."""
        return ordered(members, self.order, topic, clusters=self.clusters)

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say whether it was judged under the versions in force."""
        return state_again(answers, self.versions)

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Record the find: it belongs to what is judged of the topic."""
        add_found(self.store, topic, document, assessor=assessor, words=words, now=now)


@dataclass(frozen=True)
class TrialWork(FixedWork):
    """A draft topic: a sample of the hits of its words, and what its author found beside them."""

    store: Store
    topic: str
    author: str
    order: Order = field(default_factory=Order)
    purpose: Purpose = "try"

    def topics(self) -> list[str]:
        """Give the one topic."""
        return [self.topic]

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the one topic: it is its author's."""
        return {self.topic: "primary"}

    def members(self, topic: str) -> list[Entry]:
        """Give the sample by rank, and after it what else was answered."""
        tried = {one.document: one.rank for one in tried_hits(self.store, topic)}
        answered = answers_of_topic(self.store, TRY_LAYER, topic, assessor=self.author)
        last = max(tried.values(), default=0)
        beside = {name: last + one.own_event for name, one in answered.items() if one.own and name not in tried}
        return [Entry(document, place, "try") for document, place in (tried | beside).items()]

    def in_order(self, topic: str, members: Sequence[Entry]) -> list[Entry]:
        """Put them in order of rank."""
        return ordered(members, self.order, topic)

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say how a document stands for the author."""
        return state_of(entry, answers, role)

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Keep the pool as it is: a draft has none yet."""


def _planned(topic: str, entry: Entry, overlap: Overlap) -> Entry:
    needed = overlap.needed(topic, entry.document)
    if needed == 1:
        return entry
    return replace(entry, needed=needed, purpose="overlap" if entry.purpose == "pool" else entry.purpose)


def _in_order(store: Store, wanted: set[str], only: Sequence[str]) -> list[str]:
    known = [topic for topic in topic_ids(store) if topic in wanted]
    known += sorted(wanted - set(known))
    return [topic for topic in known if not only or topic in only]


Pair = tuple[str, str]
"""A topic and a document."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits where: the assessor, the layer he judges in, this sitting, and how long a document is his."""

    store: Store
    assessor: str
    layer: str
    session: str
    lease_seconds: float
    clock: Callable[[], float]

    def lease(self, topic: str, document: str) -> Lease:
        """Give the lease of a document from now on."""
        until = self.clock() + self.lease_seconds
        return Lease(self.layer, topic, document, self.assessor, self.session, until)

    def answers(self, topic: str, document: str) -> Answers:
        """Give what stands about a document, seen from here."""
        return answers_of_document(self.store, self.layer, topic, document, assessor=self.assessor)

    def blocks(self, leases: Collection[Lease], entry: Entry, answers: Answers) -> bool:
        """Say whether leases of others, or of another sitting of the same assessor, keep a document away."""
        return self.blocking(leases, entry, answers) is not None

    def blocking(self, leases: Collection[Lease], entry: Entry, answers: Answers) -> Lease | None:
        """Give the lease that keeps a document away: one of his own other sittings, else the first to run out."""
        moment = self.clock()
        others = [one for one in leases if one.expires > moment and one.session != self.session]
        own = [one for one in others if one.assessor == self.assessor]
        if not own and (not others or may_lease(entry, answers, [one.assessor for one in others])):
            return None
        return min(own or others, key=lambda one: one.expires)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A document the assessor has before him, and what stood about it when he got it.

    `until` is when the lease runs out; a document that he only looks at again has no lease. `late` is one that he has
    answered too late and taken back: another grade of it is a second opinion as well.
    """

    topic: str
    entry: Entry
    position: int
    of: int
    purpose: Purpose
    known: Answers
    until: float | None
    late: bool = False

    @property
    def pair(self) -> Pair:
        """The topic and the document."""
        return self.topic, self.entry.document


@dataclass
class Line:
    """The queue of one topic: what was not looked at yet, in order, and what was put off, longest first.

    `held` is what somebody else has before him, with the lease that keeps it away. `open` is all that is not done.
    """

    topic: str
    role: Role
    entries: Mapping[str, Entry]
    places: Mapping[str, int]
    count: Count
    fresh: deque[Entry] = field(default_factory=deque)
    postponed: deque[Entry] = field(default_factory=deque)
    held: Mapping[str, Lease] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def has_work(self, deferred: Collection[Pair]) -> bool:
        """Say whether something is there to be judged, but for what was put off a second time."""
        waiting = (*self.fresh, *self.postponed) if deferred else (self.fresh or self.postponed)
        return any((self.topic, entry.document) not in deferred for entry in waiting)


def count_topic(seat: Seat, work: Work, topic: str, role: Role) -> Count:
    """Count the documents of a topic as they stand for the assessor."""
    answers = answers_of_topic(seat.store, seat.layer, topic, assessor=seat.assessor)
    return count_of(work.state(entry, answers.get(entry.document, NOTHING), role) for entry in work.members(topic))


def load_line(seat: Seat, work: Work, topic: str, role: Role) -> Line:
    """Read the queue of a topic as it is now; what others have before them is left out."""
    answers = answers_of_topic(seat.store, seat.layer, topic, assessor=seat.assessor)
    leases: dict[str, list[Lease]] = {}
    for lease in live_leases(seat.store, seat.layer, topic=topic, moment=seat.clock()):
        leases.setdefault(lease.document, []).append(lease)
    members = work.in_order(topic, work.members(topic))
    states = {entry.document: work.state(entry, answers.get(entry.document, NOTHING), role) for entry in members}
    own = [entry for entry in members if states[entry.document] != "not his"]
    undone = [entry for entry in own if states[entry.document] != "done"]
    blocking = (
        seat.blocking(leases.get(entry.document, ()), entry, answers.get(entry.document, NOTHING)) for entry in undone
    )
    held = {entry.document: one for entry, one in zip(undone, blocking, strict=True) if one is not None}
    free = [entry for entry in undone if entry.document not in held]
    off = [entry for entry in free if states[entry.document] == "postponed"]
    return Line(
        topic,
        role,
        entries={entry.document: entry for entry in own},
        places={entry.document: place for place, entry in enumerate(own, start=1)},
        count=count_of(states.values()),
        fresh=deque(entry for entry in free if states[entry.document] == "open"),
        postponed=deque(sorted(off, key=lambda entry: answers[entry.document].own_event)),
        held=held,
        open={entry.document for entry in undone},
    )


def pick(seat: Seat, work: Work, line: Line, *, passed_over: Collection[Pair]) -> Ticket | None:
    """Lease the first open document of a queue, inside `store.write()`; None where there is none left.

    Each is looked at again, since others judge too; what turns out done or leased is dropped from the queue.
    """
    while line.fresh:
        entry = line.fresh[0]
        if (line.topic, entry.document) not in passed_over:
            found = _leased(seat, work, line, entry, {"open"})
            if found is not None:
                return found
        line.fresh.popleft()
        if work.state(entry, seat.answers(line.topic, entry.document), line.role) != "done":
            line.postponed.append(entry)
    for entry in list(line.postponed):
        if (line.topic, entry.document) in passed_over:
            continue
        found = _leased(seat, work, line, entry, {"open", "postponed"})
        if found is not None:
            return found
        line.postponed.remove(entry)
    return None


def _leased(seat: Seat, work: Work, line: Line, entry: Entry, wanted: Collection[State]) -> Ticket | None:
    answers = seat.answers(line.topic, entry.document)
    if work.state(entry, answers, line.role) not in wanted:
        return None
    if is_blocked(seat, line.topic, entry, answers):
        return None
    place = line.places[entry.document]
    return leased(seat, Ticket(line.topic, entry, place, line.count.of, entry.purpose, answers, None))


def is_blocked(seat: Seat, topic: str, entry: Entry, answers: Answers) -> bool:
    """Say whether another sitting has a document now, so that nobody else may."""
    return seat.blocks(leases_of_document(seat.store, seat.layer, topic, entry.document), entry, answers)


def leased(seat: Seat, ticket: Ticket) -> Ticket:
    """Lease a document, or renew its lease, inside `store.write()`."""
    lease = seat.lease(*ticket.pair)
    put_lease(seat.store, lease)
    return replace(ticket, until=lease.expires)
