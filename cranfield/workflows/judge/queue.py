"""The queue of one assessor: what is judged, what comes next, leased to one session, and how far each topic is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from cranfield.base.errors import UnknownName
from cranfield.base.registry import deferred
from cranfield.judge import queue as rules
from cranfield.judge.events import Event, Purpose
from cranfield.judge.queue import NOTHING, Answers, Count, Entry, Order, Overlap, Role, State
from cranfield.judge.session import Held
from cranfield.store import documents, events, judging, pools
from cranfield.store.judging import Lease, QueueFacts
from cranfield.store.pools import PoolFacts
from cranfield.store.store import Store

with deferred:
    from cranfield.pool import plan as plans
    from cranfield.workflows.pool import live

Pair = tuple[str, str]
"""A topic and a document."""

TRY_LAYER = "try"
"""Where the judgments of draft topics go: never into the qrels."""

_PROBED_AFTER = ("pool", "overlap", "search", "queue")
"""What a document must have been given for, so that its answer can make a probe due."""


@dataclass(frozen=True)
class Source:
    """What is judged: a pool with what was found beside it, a stored queue, one's own judgments, a draft topic.

    `own`: every topic is the assessor's. `versions` are those of scale and guidelines under which all is judged
    again. A live pool chooses a `batch` of documents whenever a topic has run out; 0: it does not grow.
    """

    store: Store
    purpose: Purpose
    find_topics: Callable[[], Iterable[str]]
    find_entries: Callable[[str], list[Entry]]
    order: Order = field(default_factory=Order)
    clusters: Mapping[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    own: bool = False
    versions: tuple[int, int] | None = None
    pool: PoolFacts | None = None
    overlap: Overlap = field(default_factory=Overlap)
    batch: int = 0

    def topics(self) -> list[str]:
        """Give all topics, in the order of the collection."""
        wanted = set(self.find_topics())
        known = [topic for topic in documents.topic_ids(self.store) if topic in wanted]
        known += sorted(wanted - set(known))
        return [topic for topic in known if not self.only or topic in self.only]

    def roles(self, assessor: str) -> dict[str, Role]:
        """Give the topics an assessor may judge, and what they are to them."""
        if self.own:
            return dict.fromkeys(self.topics(), "primary")
        return rules.roles_of(self.topics(), judging.assigned(self.store), assessor)

    def entries(self, topic: str) -> list[Entry]:
        """Give the entries of a topic in their order; what was found by searching comes last, as it was found."""
        every = self.find_entries(topic)
        found = [entry for entry in every if entry.purpose == "search"]
        others = [entry for entry in every if entry.purpose != "search"] if found else every
        placed = rules.ordered(others, self.order, topic, clusters=self.clusters)
        return [*placed, *rules.ordered(found, Order(), topic)]

    def state(self, entry: Entry, answers: Answers, role: Role) -> State:
        """Say how a document stands for the assessor."""
        if self.versions is not None:
            return rules.state_again(answers, self.versions)
        return rules.state_of(entry, answers, role)

    def count(self, topic: str, role: Role, *, layer: str, assessor: str) -> Count:
        """Count the documents of a topic as they stand for an assessor."""
        answers = judging.answers(self.store, layer, topic, assessor=assessor)
        entries = self.find_entries(topic)
        return rules.count_of(self.state(entry, answers.get(entry.document, NOTHING), role) for entry in entries)

    def count_at_once(self, *, layer: str, assessor: str) -> dict[str, Count]:
        """Count in the file itself, where a document of a pool needs one answer and nothing was found beside it."""
        if self.pool is None or self.overlap.share:
            return {}
        beside = set(events.found_topics(self.store))
        counts = judging.pool_counts(self.store, self.pool.name, layer, assessor=assessor)
        return {topic: Count(*count) for topic, count in counts.items() if topic not in beside}

    @cached_property
    def _refiller(self) -> live.Refiller | None:
        # Nothing heavy is loaded before a topic has run out.
        if self.pool is None or not self.batch or not plans.parse_stored(self.pool.plan_in_full).is_live:
            return None
        refiller = live.Refiller(self.store)
        refiller.prepare(self.pool.name)
        return refiller

    def refill(self, topic: str) -> bool:
        """Let a live pool choose more documents from what is judged so far; say whether some came."""
        if self.pool is None or self._refiller is None or topic not in pools.pool_topics(self.store, self.pool.name):
            return False
        with self.store.write():
            return self._refiller.refill(self.pool.name, topic, batch=self.batch).added > 0

    def add(self, topic: str, document: str, *, assessor: str, words: str, now: str) -> None:
        """Record a find inside `store.write()`; what the pool has stays the pool's, and a draft topic has none."""
        pooled = self.purpose == "pool" and any(
            entry.document == document and entry.purpose != "search" for entry in self.find_entries(topic)
        )
        if self.purpose != "try" and not pooled:
            events.add_found(self.store, topic, document, assessor=assessor, words=words, now=now)


def pool_source(
    store: Store,
    pool: PoolFacts,
    *,
    order: Order | None = None,
    clusters: Mapping[str, int] | None = None,
    only: tuple[str, ...] = (),
    batch: int = 0,
) -> Source:
    """Give a pool, and what assessors found beside it by searching; refused topics are left out."""
    overlap = judging.planned_overlap(store)

    def find_topics() -> set[str]:
        pooled = {*pools.pool_topics(store, pool.name), *events.found_topics(store)}
        return pooled - judging.refused_topics(store).keys()

    def find_entries(topic: str) -> list[Entry]:
        pooled = pools.documents_to_judge(store, pool.name, topic)
        known = dict(pooled)
        found = [document for document in events.found_documents(store, topic) if document not in known]
        last = max(known.values(), default=0)
        beside = [Entry(document, last + place, "search") for place, document in enumerate(found, start=1)]
        entries = [*(Entry(document, place) for document, place in pooled), *beside]
        return [_with_overlap(topic, entry, overlap) for entry in entries] if overlap.share else entries

    return Source(
        store,
        "pool",
        find_topics,
        find_entries,
        order or Order(),
        clusters or {},
        only,
        pool=pool,
        overlap=overlap,
        batch=batch,
    )


def queue_source(
    store: Store,
    queue: QueueFacts,
    *,
    order: Order | None = None,
    clusters: Mapping[str, int] | None = None,
    only: tuple[str, ...] = (),
) -> Source:
    """Give the documents of a stored queue."""
    overlap = judging.planned_overlap(store)

    def find_entries(topic: str) -> list[Entry]:
        queued = judging.queue_documents(store, queue.number, topic)
        return [replace(_with_overlap(topic, Entry(*one), overlap), purpose="queue") for one in queued]

    def find_topics() -> list[str]:
        return judging.queue_topics(store, queue.number)

    return Source(store, "queue", find_topics, find_entries, order or Order(), clusters or {}, only, overlap=overlap)


def rejudge_source(
    store: Store, *, layer: str, assessor: str, versions: tuple[int, int], order: Order, clusters: Mapping[str, int]
) -> Source:
    """Give what the assessor has judged, as far as scale or guidelines have changed since."""

    def find_entries(topic: str) -> list[Entry]:
        answers = judging.answers(store, layer, topic, assessor=assessor)
        own = [(name, one) for name, one in answers.items() if rules.state_again(one, versions) != "not his"]
        return [Entry(document, one.own_event, "rejudge") for document, one in own]

    def find_topics() -> list[str]:
        return judging.own_topics(store, layer, assessor=assessor)

    return Source(store, "rejudge", find_topics, find_entries, order, clusters, own=True, versions=versions)


def trial_source(store: Store, topic: str, *, author: str) -> Source:
    """Give a draft topic: a sample of the hits of its words, and what its author judged beside them."""

    def find_entries(topic: str) -> list[Entry]:
        tried = {one.document: one.rank for one in judging.tried_hits(store, topic)}
        answered = judging.answers(store, TRY_LAYER, topic, assessor=author)
        last = max(tried.values(), default=0)
        beside = {name: last + one.own_event for name, one in answered.items() if one.own and name not in tried}
        return [Entry(document, place, "try") for document, place in (tried | beside).items()]

    return Source(store, "try", lambda: [topic], find_entries, own=True)


def _with_overlap(topic: str, entry: Entry, overlap: Overlap) -> Entry:
    needed = overlap.needed(topic, entry.document)
    if needed == 1:
        return entry
    return replace(entry, needed=needed, purpose="overlap" if entry.purpose == "pool" else entry.purpose)


@dataclass(frozen=True, slots=True)
class LeasedEntry:
    """A document the assessor has open, and what stood about it when they got it.

    `until` is when the lease runs out; a document that is only looked at again has no lease. `late` is one that was
    answered too late and taken back: another grade of it is a second opinion as well.
    """

    topic: str
    entry: Entry
    position: int
    of: int
    known: Answers
    until: float | None = None
    late: bool = False

    @property
    def pair(self) -> Pair:
        """The topic and the document."""
        return self.topic, self.entry.document

    @property
    def is_probe(self) -> bool:
        """Whether the assessor sees it again to be compared with themselves."""
        return self.entry.purpose == "probe"


@dataclass
class TopicQueue:
    """The queue of one topic: what was not looked at yet, in order, and what was postponed, longest first.

    `held` is what somebody else has open, with the lease that keeps it away. `open` is all that is not done.
    """

    topic: str
    role: Role
    entries: Mapping[str, Entry]
    places: Mapping[str, int]
    count: Count
    fresh: deque[Entry]
    postponed: deque[Entry]
    held: Mapping[str, Lease]
    open: set[str]

    def has_work(self, deferred: Collection[Pair]) -> bool:
        """Say whether something is there to be judged, but for what was postponed a second time."""
        waiting = chain(self.fresh, self.postponed)
        return any((self.topic, entry.document) not in deferred for entry in waiting)


class Queue:
    """One assessor's way through a source: topic by topic, each document leased to one session.

    `current` is the topic in work, `counts` how far all topics are. `deferred` are documents that were postponed
    again after they had come back: they wait until nothing else is left. `owed` are probes that are due and not given
    yet, `made_due` the documents whose answers made one due; `probed` counts by topic those that were answered.
    """

    def __init__(
        self,
        source: Source,
        *,
        assessor: str,
        layer: str,
        session: str,
        lease_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.source, self.store, self.assessor, self.layer = source, source.store, assessor, layer
        self.session, self.lease_seconds, self.clock = session, lease_seconds, clock
        self.roles = source.roles(assessor)
        self.current: TopicQueue | None = None
        self.counts: dict[str, Count] = {}
        self.deferred: set[Pair] = set()
        self.owed, self.made_due, self.probed = 0, set[Pair](), Counter[str]()
        self._probes = judging.planned_probes(self.store)
        self._changes = judging.changes_of_others(self.store)
        self.finished: set[str] = set()
        self._begin_with = next(iter(judging.own_topics(self.store, layer, assessor=assessor)), "")

    def role(self, topic: str) -> Role:
        """Give what the assessor is to a topic."""
        return self.roles.get(topic, "anyone")

    def check_topic(self, topic: str) -> None:
        """Refuse a topic that is not the assessor's."""
        if topic not in self.roles:
            raise UnknownName("topic of yours", topic, self.roles)

    def answers(self, topic: str, document: str) -> Answers:
        """Give what stands about a document, seen from here."""
        found = judging.answers(self.store, self.layer, topic, assessor=self.assessor, document=document)
        return found.get(document, NOTHING)

    def loaded(self, topic: str) -> TopicQueue | None:
        """Give the queue of the current topic, if it is this one."""
        return self.current if self.current is not None and self.current.topic == topic else None

    # Leases

    def lease(self, item: LeasedEntry) -> LeasedEntry:
        """Lease a document, or renew its lease, inside `store.write()`."""
        until = self.clock() + self.lease_seconds
        judging.put_lease(self.store, Lease(self.layer, *item.pair, self.assessor, self.session, until))
        return replace(item, until=until)

    def release(self, item: LeasedEntry) -> None:
        """Give one document back, inside `store.write()`."""
        judging.release_leases(self.store, self.session, pair=item.pair)

    def is_blocked(self, topic: str, entry: Entry, answers: Answers) -> bool:
        """Say whether another session has a document now, so that nobody else may."""
        leases = judging.live_leases(
            self.store, self.layer, topic=topic, document=entry.document, moment=self.clock()
        )
        return self._blocking(leases, entry, answers) is not None

    def _blocking(self, leases: Collection[Lease], entry: Entry, answers: Answers) -> Lease | None:
        """Give the lease that keeps a document away: one of the assessor's other sessions, else the first to end."""
        others = [one for one in leases if one.session != self.session]
        own = [one for one in others if one.assessor == self.assessor]
        if not own and (not others or rules.may_lease(entry, answers, [one.assessor for one in others])):
            return None
        return min(own or others, key=lambda one: one.expires)

    def is_gone(self, item: LeasedEntry, answers: Answers) -> bool:
        """Say whether others have judged a document meanwhile, or have it open; a probe is always the assessor's."""
        state = self.source.state(item.entry, answers, self.role(item.topic))
        answered = state not in ("open", "postponed") and not item.is_probe
        return answered or self.is_blocked(item.topic, item.entry, answers)

    # The next document

    def load(self, topic: str) -> TopicQueue:
        """Read the queue of a topic as it is now; what others have open is left out."""
        role, state = self.role(topic), self.source.state
        answers = judging.answers(self.store, self.layer, topic, assessor=self.assessor)
        leases: dict[str, list[Lease]] = {}
        for lease in judging.live_leases(self.store, self.layer, topic=topic, moment=self.clock()):
            leases.setdefault(lease.document, []).append(lease)
        entries = self.source.entries(topic)
        states = {entry.document: state(entry, answers.get(entry.document, NOTHING), role) for entry in entries}
        own = [entry for entry in entries if states[entry.document] != "not his"]
        undone = [entry for entry in own if states[entry.document] != "done"]
        held = {
            name: blocking
            for entry in undone
            if (name := entry.document) in leases
            and (blocking := self._blocking(leases[name], entry, answers.get(name, NOTHING))) is not None
        }
        free = [entry for entry in undone if entry.document not in held]
        postponed = [entry for entry in free if states[entry.document] == "postponed"]
        return TopicQueue(
            topic,
            role,
            entries={entry.document: entry for entry in own},
            places={entry.document: place for place, entry in enumerate(own, start=1)},
            count=rules.count_of(states.values()),
            fresh=deque(entry for entry in free if states[entry.document] == "open"),
            postponed=deque(sorted(postponed, key=lambda entry: answers[entry.document].own_event)),
            held=held,
            open={entry.document for entry in undone},
        )

    def next(self, *, owed: int, deferred: Collection[Pair]) -> LeasedEntry | None:
        """Lease a probe that is due, else the next document of the current topic, inside `store.write()`.

        Each is looked at again, since others judge too; what turns out done or leased is dropped from the queue.
        """
        queue = self.current
        if queue is None:
            return None
        probe = self._next_probe(queue) if owed and queue.has_work(deferred) else None
        if probe is not None:
            return probe
        while queue.fresh:
            entry = queue.fresh[0]
            if (queue.topic, entry.document) not in deferred:
                found = self._take(queue, entry, {"open"})
                if found is not None:
                    return found
            queue.fresh.popleft()
            if self.source.state(entry, self.answers(queue.topic, entry.document), queue.role) != "done":
                queue.postponed.append(entry)
        for entry in list(queue.postponed):
            if (queue.topic, entry.document) in deferred:
                continue
            found = self._take(queue, entry, {"open", "postponed"})
            if found is not None:
                return found
            queue.postponed.remove(entry)
        return None

    def _take(self, queue: TopicQueue, entry: Entry, wanted: Collection[State]) -> LeasedEntry | None:
        answers = self.answers(queue.topic, entry.document)
        if self.source.state(entry, answers, queue.role) not in wanted:
            return None
        if self.is_blocked(queue.topic, entry, answers):
            return None
        place = queue.places[entry.document]
        return self.lease(LeasedEntry(queue.topic, entry, place, queue.count.of, answers))

    def _next_probe(self, queue: TopicQueue) -> LeasedEntry | None:
        topic = queue.topic
        judged, before = judging.judged_and_probed(self.store, self.layer, topic, assessor=self.assessor)
        document = rules.choose_probe(self._probes, topic, judged, probed=before)
        if document is None:
            return None
        # It stands where the next document would stand, so that nothing tells it apart.
        place = queue.places[queue.fresh[0].document] if queue.fresh else queue.count.of
        entry, known = Entry(document, 0, "probe"), self.answers(topic, document)
        return self.lease(LeasedEntry(topic, entry, place, queue.count.of, known))

    def makes_probe_due(self, item: LeasedEntry, event: Event) -> bool:
        """Say whether an answer makes a probe due: one that will stand, to a document in its turn."""
        usual = item.entry.purpose in _PROBED_AFTER and event.kind == "judged" and item.pair not in self.made_due
        return usual and rules.falls_due(self._probes, self.assessor, *item.pair)

    def waits_long(self, item: LeasedEntry, event: Event) -> bool:
        """Say whether a document waits until nothing else is left: postponed again, or the last one of its topic."""
        if event.kind != "postponed":
            return False
        queue = self.loaded(item.topic)
        return bool(item.known.own) or queue is None or not queue.has_work({*self.deferred, item.pair})

    def placed(self, topic: str, document: str, answers: Answers) -> LeasedEntry:
        """Give a document with its place in the queue, without a lease; one in no queue is as the source's."""
        queue = self.loaded(topic) or self.load(topic)
        entry = queue.entries.get(document)
        if entry is None:
            found = (one for one in self.source.find_entries(topic) if one.document == document)
            entry = next(found, Entry(document, 0, self.source.purpose))
        return LeasedEntry(topic, entry, queue.places.get(document, queue.count.of), queue.count.of, answers)

    # The next topic

    def move_on(self) -> bool:
        """Find a topic with work, the current one first; say whether there is one."""
        for topics in (self.topics_in_turn(skip=self.finished), self.topics_in_turn()):
            for topic in topics:
                queue = self.load(topic)
                if not queue.has_work(self.deferred) and queue.role != "second" and self.source.refill(topic):
                    queue = self.load(topic)
                self.counts[topic] = queue.count
                has_work = queue.has_work(self.deferred)
                if has_work or self.loaded(topic):
                    # What others have done meanwhile must not make a probe due that would come alone.
                    self.current = queue
                if has_work:
                    return True
                self.finished.add(topic)
        if not self.deferred:
            return False
        self.deferred = set()
        return self.move_on()

    def topics_in_turn(self, *, skip: Collection[str] = ()) -> list[str]:
        """Give the topics in the order of judging: the present one, or that of the last session, then the others."""
        others: dict[str, set[str]] = {}
        for lease in judging.live_leases(self.store, self.layer, moment=self.clock()):
            if lease.assessor != self.assessor:
                others.setdefault(lease.topic, set()).add(lease.assessor)
        busy = {topic: len(names) for topic, names in others.items()}
        ordered = rules.topics_in_turn(list(self.roles), self.roles, busy)
        first = self.current.topic if self.current else self._begin_with
        return [topic for topic in dict.fromkeys([first, *ordered]) if topic in self.roles and topic not in skip]

    # Counts

    def count(self, topic: str) -> Count:
        """Count the documents of a topic as they stand now."""
        role = self.role(topic)
        self.counts[topic] = self.source.count(topic, role, layer=self.layer, assessor=self.assessor)
        return self.counts[topic]

    def count_all(self) -> dict[str, Count]:
        """Count all topics, but for those that nobody can have changed since they were counted."""
        changes = judging.changes_of_others(self.store)
        if changes != self._changes:
            self.counts, self._changes = {}, changes
        missing = self.roles.keys() - self.counts.keys()
        at_once = self.source.count_at_once(layer=self.layer, assessor=self.assessor) if len(missing) > 1 else {}
        for topic in missing:
            if topic in at_once and self.roles[topic] != "second":
                self.counts[topic] = at_once[topic]
            else:
                self.count(topic)
        return self.counts

    def count_with_probes(self, topic: str, *, open_probes: Collection[str] = ()) -> Count:
        """Give how far a topic is, as far as is known here, with the probes that nobody may notice.

        A probe counts as one more document from the beginning, so that the count goes down by one with each answer.
        """
        count, answered, coming = self.counts.get(topic) or self.count(topic), self.probed[topic], 0
        queue = self.loaded(topic) if self._probes.share else None
        if queue is not None:
            due = [
                entry.purpose in _PROBED_AFTER
                and (topic, entry.document) not in self.made_due
                and rules.falls_due(self._probes, self.assessor, topic, entry.document)
                for entry in queue.entries.values()
                if entry.document in queue.open
            ]
            judged, before = judging.judged_and_probed(self.store, self.layer, topic, assessor=self.assessor)
            probed = len(before.union(open_probes))
            coming = rules.probes_to_come(self._probes, due, owed=self.owed, judged=len(judged), probed=probed)
        return replace(count, done=count.done + answered, of=count.of + answered + coming + len(open_probes))

    def held(self) -> dict[str, Held]:
        """Give, for each topic where there are some, the documents that only the leases of others keep away."""
        moment = self.clock()
        leases = judging.live_leases(self.store, self.layer, moment=moment)
        busy = dict.fromkeys(one.topic for one in leases if one.session != self.session)
        found = {topic: self.load(topic).held.values() for topic in busy if topic in self.roles}
        return {
            topic: Held(
                len(held),
                min(lease.expires for lease in held) - moment,
                sum(lease.assessor == self.assessor for lease in held),
            )
            for topic, held in found.items()
            if held
        }
