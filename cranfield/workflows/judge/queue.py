"""The judging queue of one assessor: its source, the next document, leases, and the progress of each topic."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from shlex import quote
from typing import Any, Literal

from cranfield.base.errors import UsageError
from cranfield.base.records import MAIN, Pair
from cranfield.base.registry import deferred
from cranfield.base.text import counted, few, moment
from cranfield.judge import queue as rules
from cranfield.judge.queue import Answers, Count, Entry, Overlap, Role
from cranfield.judge.session import Held
from cranfield.store import Store, documents, events, judging, pools
from cranfield.store.judging import Lease, QueueFacts
from cranfield.store.pools import PoolFacts
from cranfield.store.store import grouped, stored

with deferred:
    from cranfield.pool import plan as plans
    from cranfield.reuse import settle
    from cranfield.workflows.pool import live

LEASE_SECONDS = 600.0
"""How long a document is an assessor's before others may have it, unless the lease is renewed."""

BATCH = 10
"""How many documents a live pool chooses at once for a topic."""

TRY_LAYER = "try"
"""Where the judgments of draft topics go: never into the qrels."""

_PROBED_AFTER = ("pool", "overlap", "search", "queue")
"""What a document must have been given for, so that its answer can make a probe due."""


@dataclass(frozen=True)
class Source:
    """What is judged: a pool with what was found beside it, a stored queue, one's own judgments, a draft topic.

    `layer` is where its judgments go, unless something else is said; `assessor` whose own judgments or draft it is;
    `order` how it is ordered, as events record it.
    `versions` are those of scale and guidelines under which all is judged again. A live pool chooses more documents
    whenever a topic has run out.
    """

    store: Store
    purpose: Literal["pool", "queue", "rejudge", "try"]
    layer: str = MAIN
    pool: PoolFacts | None = None
    queue: QueueFacts | None = None
    assessor: str = ""
    versions: tuple[int, int] | None = None
    order: str = "plan"
    only: tuple[str, ...] = ()
    overlap: Overlap = field(default_factory=Overlap)

    def topics(self) -> list[str]:
        """All topics, in the order of the collection; refused drafts are left out of a pool."""
        if self.pool is not None:
            pooled = {
                *pools.pool_topics(self.store, self.pool.name),
                *(one.topic for one in events.finds(self.store)),
            }
            wanted = pooled - judging.refused_topics(self.store).keys()
        elif self.queue is not None:
            wanted = set(judging.queue_topics(self.store, self.queue.number))
        elif self.purpose == "rejudge":
            wanted = set(judging.own_topics(self.store, self.layer, self.assessor))
        else:
            wanted = set(self.only)
        known = [topic for topic in documents.topic_ids(self.store) if topic in wanted]
        known += sorted(wanted - set(known))
        return [topic for topic in known if not self.only or topic in self.only]

    def roles(self, assessor: str) -> dict[str, Role]:
        """The topics an assessor may judge, with their role; of own judgments they are always primary."""
        if self.assessor:
            return dict.fromkeys(self.topics(), "primary")
        return rules.roles_of(self.topics(), judging.assigned(self.store), assessor)

    def entries(self, topic: str) -> list[Entry]:
        """The documents of a topic in their order; what assessors found by searching comes last, as it was found."""
        if self.pool is not None:
            pooled = dict.fromkeys(pools.documents_to_judge(self.store, self.pool.name, topic))
            found = [one.document for one in events.finds(self.store, topic) if one.document not in pooled]
            entries = [*map(Entry, pooled), *(Entry(document, "search") for document in found)]
        elif self.queue is not None:
            queued = judging.queue_documents(self.store, self.queue.number, topic)
            if self.live_queue is not None:
                queued = self.live_queue.in_order(topic, queued)
            entries = [Entry(document, "queue") for document in queued]
        else:
            answers = judging.answers(self.store, self.layer, topic, assessor=self.assessor)
            own = sorted(filter(lambda name: answers[name].own, answers), key=lambda name: answers[name].own_event)
            if self.versions is not None:
                return [Entry(name, "rejudge") for name in own if answers[name].own not in rules.WITHOUT_GRADE]
            tried = [one.document for one in judging.tried_hits(self.store, topic)]
            return [Entry(document, "try") for document in dict.fromkeys([*tried, *own])]
        is_over = self.live_queue is not None and self.live_queue.decided  # then no second judgment is needed either
        for number, entry in enumerate(entries) if self.overlap.share and not is_over else ():
            if (needed := self.overlap.needed(topic, entry.document)) > 1:
                purpose = "overlap" if entry.purpose == "pool" else entry.purpose
                entries[number] = replace(entry, needed=needed, purpose=purpose)
        return entries

    def count(self, topic: str, role: Role, *, assessor: str) -> Count:
        """Count the documents of a topic as they stand for an assessor."""
        answers = judging.answers(self.store, self.layer, topic, assessor=assessor)
        entries = self.entries(topic)
        return rules.count_of(rules.state_of(one, answers[one.document], role, self.versions) for one in entries)

    def missing(self, topic: str) -> int:
        """How many judgments of a topic are missing, second ones included; none that nobody is left to give."""
        answers = judging.answers(self.store, self.layer, topic, assessor="")
        # Those a topic is assigned to may judge it, else everybody who is known.
        people = {name for name, kind in events.assessors(self.store).items() if kind == "person"}
        named = {one.assessor for one in judging.assigned(self.store) if one.topic == topic} or people
        missing = 0
        for entry in self.entries(topic):
            known = answers[entry.document]
            more = 0 if known.decided else max(entry.needed - len(known.graded), 0)
            if more and known.refused:
                more = min(more, len(named - known.graded - known.refused))
            missing += more
        return missing

    @cached_property
    def live_queue(self) -> LiveQueue | None:
        """The queue as it adapts to what is judged; None where it stays as it was made."""
        contests = stored(list, self.queue.contests, f"queue {self.queue.number}") if self.queue else []
        return LiveQueue(self.store, self.queue.number, self.layer, contests) if self.queue and contests else None

    @cached_property
    def is_live(self) -> bool:
        """Whether a pool grows while it is judged; to say so, heavy libraries are loaded.

        It chooses by the judgments of the main layer alone.
        """
        return bool(self.pool and self.layer == MAIN and plans.parse_stored(self.pool.plan_in_full).adaptive)

    @cached_property
    def _refiller(self) -> live.Refiller | None:
        if self.pool is None or not self.is_live:
            return None
        refiller = live.Refiller(self.store, self.pool.name)
        refiller.load()
        return refiller

    def refill(self, topic: str) -> bool:
        """Let a live pool choose more documents from what is judged so far; say whether some came."""
        if self.pool is None or self._refiller is None or topic not in pools.pool_topics(self.store, self.pool.name):
            return False
        with self.store.write():
            return self._refiller.refill(topic, batch=BATCH).added > 0


class LiveQueue:
    """A queue of settle while it is judged: which of its documents are needed to decide, after each judgment.

    It decides one contest after the other. What was answered stays in the queue; what is not needed leaves it, and
    comes back where an answer is undone.
    """

    def __init__(self, store: Store, number: int, layer: str, contests: Sequence[Mapping[str, Any]]) -> None:
        self._store, self._source = store, (number, layer)
        self._contests = [settle.Contest.from_json(one) for one in contests]
        self._seen: tuple[int, str] | None = None
        self._answers: Mapping[Pair, int | None] = {}
        self._needed: dict[str, list[str]] | None = {}

    def _look(self) -> None:
        """Catch up with what was judged, here and elsewhere."""
        last = events.last_event(self._store)
        if last == self._seen:
            return
        self._seen, self._answers = last, judging.queue_answers(self._store, *self._source)
        wanted = (one.needed(self._answers) for one in self._contests)
        pairs = next((one for one in wanted if one is not None), None)
        self._needed = None if pairs is None else grouped(pairs)

    @property
    def needed(self) -> Mapping[str, Sequence[str]]:
        """The documents of each topic that are expected to be needed still, the best first."""
        self._look()
        return self._needed or {}

    @property
    def decided(self) -> str:
        """By what all is decided; empty as long as it is not."""
        self._look()
        return "" if self._needed is not None else "; ".join(one.decision for one in self._contests)

    def in_order(self, topic: str, queued: Sequence[str]) -> list[str]:
        """The documents of a topic that are answered or needed: first what is answered and needed no more.

        Once all is decided only grades count: what could not be judged is needed no more.
        """
        needed, known = dict.fromkeys(self.needed.get(topic, ())), set(queued)
        answered = {pair for pair, grade in self._answers.items() if grade is not None or self._needed is not None}
        done = [one for one in queued if one not in needed and (topic, one) in answered]
        return [*done, *(one for one in needed if one in known)]


def choose_source(store: Store, *, pool: str = "", queue: str = "", rejudged_by: str = "", layer: str = "") -> Source:
    """The source of a pool (the latest by default), a stored queue, or an assessor's judgments of older versions.

    The layer is `main`, or that of the queue.
    """
    if queue:
        facts = judging.queue_named(store, queue)
        source = Source(store, "queue", layer or facts.layer, queue=facts)
    elif rejudged_by:
        source = Source(store, "rejudge", layer or MAIN, assessor=rejudged_by, versions=store.versions())
    else:
        if not pools.pool_facts(store) and (waiting := open_queues(store)):
            several = "; ".join(
                f"cranfield judge --queue {quote(name)} ({missing})" for name, missing in waiting.items()
            )
            raise UsageError(f"no pool here; open queues are judged by name: {several}")
        pooled = pools.facts_of_pool(store, pool)
        source = Source(store, "pool", layer or MAIN, pool=pooled)
        if pooled.judging_order != "plan":
            seed = f":{pooled.seed}" if pooled.judging_order == "random" else ""
            source = replace(source, order=f"plan of {pooled.judging_order}{seed}")
    return replace(source, overlap=judging.planned(store, rules.Overlap))


def parts_of(source: Source, *, but: str = "") -> str:
    """Who judges what is missing, by the assignment of topics; empty where anybody may judge all of it.

    `but` is an assessor whose own part, and what is anybody's, is left out.
    """
    assigned, parts = judging.assigned(source.store), dict[str, dict[str, int]]()
    for topic in source.topics():
        left, whose = source.missing(topic), [one for one in assigned if one.topic == topic]
        alone = [one for one in whose if one.role == "second" or one.assessor == but]
        together = " and ".join(one.assessor for one in whose if one not in alone) or "anybody"
        shares = {together: left}
        for one in alone:
            shares[one.assessor] = min(shares[together], source.count(topic, one.role, assessor=one.assessor).left)
            shares[together] -= shares[one.assessor]
        for who, share in shares.items():
            if share and not (but and who in (but, "anybody")):
                parts.setdefault(who, {})[topic] = share
    if not parts.keys() - {"anybody"}:
        return ""
    counts = {who: counted(sum(part.values()), "judgment") for who, part in parts.items()}
    return ", ".join(f"{who} {counts[who]} ({few(list(part), 3)})" for who, part in parts.items())


def open_queues(store: Store) -> dict[str, str]:
    """Every queue with missing judgments: how many, and who judges them by the assignment of topics.

    Of a live queue it is how many are expected now: each judgment may change that.
    """
    found = {}
    for name in judging.queue_names(store):
        source = choose_source(store, queue=name)
        if left := sum(map(source.missing, source.topics())):
            parts = parts_of(source)
            about = "about " if source.live_queue else ""
            found[name] = f"{about}{counted(left, 'judgment')} missing" + (f": {parts}" if parts else "")
    return found


def split_notes(store: Store, queue: str) -> list[str]:
    """What the organiser should know of a new queue: who judges it, where topics were assigned before."""
    parts = parts_of(choose_source(store, queue=queue))
    split = f"the queue {queue} is split by the assignment of topics: {parts}; assessors see only their own part"
    return [f"{split}; judge assign NAME NAME --topic TOPIC --together lets them share"] if parts else []


@dataclass(frozen=True)
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
    entries: Mapping[str, Entry]
    places: Mapping[str, int]
    count: Count
    fresh: deque[Entry]
    postponed: deque[Entry]
    held: Mapping[str, Lease]
    open: set[str]

    @property
    def waiting(self) -> list[Entry]:
        """What can be judged, in its order."""
        return [*self.fresh, *self.postponed]

    def has_work(self, deferred: Collection[Pair]) -> bool:
        """Whether something is there to be judged, but for what was postponed a second time."""
        return any((self.topic, entry.document) not in deferred for entry in self.waiting)


class Queue:
    """One assessor's way through a source: topic by topic, each document leased to one session.

    `current` is the topic in work, `counts` how far all topics are. `deferred` are documents that were postponed
    again after they had come back: they wait until nothing else is left. `owed` are probes that are due and not given
    yet, `made_due` the documents whose answers made one due; `probed` counts by topic those that were answered.
    """

    lease_seconds = LEASE_SECONDS

    def __init__(self, source: Source, assessor: str, session: str, *, clock: Callable[[], float] = moment) -> None:
        self.source, self.store, self.layer = source, source.store, source.layer
        self.assessor, self.session, self.clock = assessor, session, clock
        self.roles = source.roles(assessor)
        self.current: TopicQueue | None = None
        self.counts: dict[str, Count] = {}
        self.deferred: set[Pair] = set()
        self.finished: set[str] = set()
        self.owed, self.made_due, self.probed = 0, set[Pair](), Counter[str]()
        self.probes = judging.planned(self.store, rules.Probes)
        self._changes = judging.changes_of_others(self.store)
        self._begin_with = next(iter(judging.own_topics(self.store, self.layer, assessor)), "")

    def role(self, topic: str) -> Role:
        """The role of the assessor in a topic."""
        return self.roles.get(topic, "anyone")

    def answers(self, topic: str, document: str) -> Answers:
        """The current answers to a document, for this assessor."""
        return judging.answers(self.store, self.layer, topic, assessor=self.assessor, document=document)[document]

    def loaded(self, topic: str) -> TopicQueue | None:
        """The queue of the current topic, if it is this one."""
        return self.current if self.current is not None and self.current.topic == topic else None

    # Leases

    def leases(self, topic: str = "", document: str = "") -> list[Lease]:
        """The leases of the layer, of a topic or of a document that have not run out."""
        return judging.live_leases(self.store, self.layer, topic=topic, document=document, moment=self.clock())

    def lease(self, item: LeasedEntry) -> LeasedEntry:
        """Lease a document, or renew its lease, inside `store.write()`."""
        until = self.clock() + self.lease_seconds
        renewed = Lease(self.layer, *item.pair, self.assessor, self.session, until)
        self.store.put("leases", [renewed], existing="OR REPLACE")
        return replace(item, until=until)

    def blocking(
        self, topic: str, entry: Entry, answers: Answers, leases: Collection[Lease] | None = None
    ) -> Lease | None:
        """The lease that keeps a document away: one of the assessor's other sessions, else the first to end."""
        leases = self.leases(topic, entry.document) if leases is None else leases
        others = [one for one in leases if one.session != self.session]
        own = [one for one in others if one.assessor == self.assessor]
        if not own and (not others or rules.may_lease(entry, answers, [one.assessor for one in others])):
            return None
        return min(own or others, key=lambda one: one.expires)

    def is_gone(self, item: LeasedEntry, answers: Answers) -> bool:
        """Whether others have judged a document meanwhile, or have it open; a probe is always the assessor's."""
        state = rules.state_of(item.entry, answers, self.role(item.topic), self.source.versions)
        answered = state not in ("open", "postponed") and not item.is_probe
        return answered or self.blocking(item.topic, item.entry, answers) is not None

    # The next document

    def load(self, topic: str) -> TopicQueue:
        """Read the queue of a topic as it is now; what others have open is left out."""
        role, versions = self.role(topic), self.source.versions
        answers = judging.answers(self.store, self.layer, topic, assessor=self.assessor)
        leases = grouped((lease.document, lease) for lease in self.leases(topic))
        entries = self.source.entries(topic)
        states = {one.document: rules.state_of(one, answers[one.document], role, versions) for one in entries}
        own = [entry for entry in entries if states[entry.document] != "not theirs"]
        undone = [entry for entry in own if states[entry.document] != "done"]
        held = {
            name: blocking
            for entry in undone
            if (name := entry.document) in leases
            and (blocking := self.blocking(topic, entry, answers[name], leases[name])) is not None
        }
        free = [entry for entry in undone if entry.document not in held]
        postponed = [entry for entry in free if states[entry.document] == "postponed"]
        return TopicQueue(
            topic,
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
        topic = queue.topic
        if self.source.live_queue is not None:
            self.current = queue = self.load(topic)
            self.counts = {}
        if owed and queue.has_work(deferred):
            judged, before = judging.judged_and_probed(self.store, self.layer, topic, assessor=self.assessor)
            document = rules.choose_probe(self.probes, topic, judged, probed=before)
            if document is not None:
                # It stands where the next document would stand, so that nothing tells it apart.
                place = queue.places[queue.fresh[0].document] if queue.fresh else queue.count.of
                known = self.answers(topic, document)
                return self.lease(LeasedEntry(topic, Entry(document, "probe"), place, queue.count.of, known))
        while queue.fresh:
            item = self.placed(topic, queue.fresh[0].document)
            state = rules.state_of(item.entry, item.known, self.role(topic), self.source.versions)
            if state == "open" and item.pair not in deferred and not self.is_gone(item, item.known):
                return self.lease(item)
            queue.fresh.popleft()
            if state != "done":
                queue.postponed.append(item.entry)
        for entry in list(queue.postponed):
            if (topic, entry.document) in deferred:
                continue
            item = self.placed(topic, entry.document)
            if not self.is_gone(item, item.known):
                return self.lease(item)
            queue.postponed.remove(entry)
        return None

    def makes_probe_due(self, topic: str, entry: Entry) -> bool:
        """Whether a grade for a document makes a probe due: only the first one, and in its turn."""
        usual = entry.purpose in _PROBED_AFTER and (topic, entry.document) not in self.made_due
        return usual and rules.falls_due(self.probes, self.assessor, topic, entry.document)

    def placed(self, topic: str, document: str) -> LeasedEntry:
        """A document with its place and its answers, without a lease; one in no queue is as the source's."""
        queue = self.loaded(topic) or self.load(topic)
        entry = queue.entries.get(document)
        if entry is None:
            same = (one for one in self.source.entries(topic) if one.document == document)
            entry = next(same, Entry(document, self.source.purpose))
        place, known = queue.places.get(document, queue.count.of), self.answers(topic, document)
        return LeasedEntry(topic, entry, place, queue.count.of, known)

    # The next topic

    def move_on(self) -> bool:
        """Find a topic with work, the current one first; say whether there is one."""
        for topics in (self.topics_in_turn(skip=self.finished), self.topics_in_turn()):
            for topic in topics:
                queue = self.load(topic)
                if not queue.has_work(self.deferred) and self.role(topic) != "second" and self.source.refill(topic):
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
        """The topics in the order of judging: the present one, or that of the last session, then the others."""
        others = {(lease.topic, lease.assessor) for lease in self.leases() if lease.assessor != self.assessor}
        busy = Counter(topic for topic, _ in others)
        # Of a live queue, topics first of which most is needed.
        needed = {} if self.source.live_queue is None else self.source.live_queue.needed
        roles = dict(sorted(self.roles.items(), key=lambda one: -len(needed.get(one[0], ()))))
        ordered = rules.topics_in_turn(roles, busy)
        first = self.current.topic if self.current else self._begin_with
        return [topic for topic in dict.fromkeys([first, *ordered]) if topic in self.roles and topic not in skip]

    # Counts

    def count(self, topic: str) -> Count:
        """Count the documents of a topic as they stand now."""
        self.counts[topic] = self.source.count(topic, self.role(topic), assessor=self.assessor)
        return self.counts[topic]

    def count_all(self) -> dict[str, Count]:
        """Count all topics; what nobody has changed since the last count is not counted again."""
        changes, source = judging.changes_of_others(self.store), self.source
        if changes != self._changes:
            self.counts, self._changes = {}, changes
        missing = self.roles.keys() - self.counts.keys()
        if len(missing) > 1 and source.pool is not None and not source.overlap.share:
            # Where each document of a pool needs one answer the file itself counts, in one query.
            at_once = missing - {one.topic for one in events.finds(self.store)}
            for topic, *stand in judging.pool_counts(self.store, source.pool.name, self.layer, self.assessor):
                if topic in at_once and self.roles[topic] != "second":
                    self.counts[topic] = Count(*stand)
        for topic in missing - self.counts.keys():
            self.count(topic)
        return self.counts

    def held(self) -> dict[str, Held]:
        """For each topic where there are some, the documents that only the leases of others keep away."""
        found, busy = dict[str, Held](), {one.topic for one in self.leases() if one.session != self.session}
        for topic in busy & self.roles.keys():
            if held := self.load(topic).held.values():
                seconds = min(lease.expires for lease in held) - self.clock()
                own = sum(lease.assessor == self.assessor for lease in held)
                found[topic] = Held(len(held), seconds, own)
        return found
