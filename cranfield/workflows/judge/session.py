"""Judging sessions over a collection file: what an assessor is given, and how each answer is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from statistics import median
from uuid import uuid4

from cranfield.base.errors import InputError, UnknownName, UsageError, quoted
from cranfield.base.records import Document, GradeScale, Topic
from cranfield.base.text import moment, now, start_of_today
from cranfield.judge import events as rules
from cranfield.judge.events import MAIN, Event, Evidence, Kind
from cranfield.judge.queue import Answers, Count, Entry, order_named
from cranfield.judge.session import (
    Answer,
    Held,
    HistoryEntry,
    Item,
    Saved,
    SearchHit,
    SessionProgress,
    TopicState,
)
from cranfield.store import documents, events, judging, pools
from cranfield.store.store import Store
from cranfield.workflows.judge.queue import (
    LeasedEntry,
    Pair,
    Queue,
    Source,
    pool_source,
    queue_source,
    rejudge_source,
)

LEASE_SECONDS = 600.0
"""How long a document is an assessor's before others may have it, unless the lease is renewed."""

BATCH = 10
"""How many documents a live pool chooses at once for a topic."""

NO_TEXT = "(this document is not in the collection)"
"""The title of a document that was pooled, but whose text nobody has loaded."""

_LONGEST_NAME = 80
_RECENT = 100


def checked_name(store: Store, assessor: str) -> str:
    """Give an assessor's name without blanks around it; one that no person can have is refused."""
    name = assessor.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{quoted(assessor)} is no name for an assessor; give one line of 1 to {_LONGEST_NAME} letters"
        )
    if events.assessors(store).get(name, "person") != "person":
        raise InputError(f"{quoted(name)} is not a person here, but where judgments came from; take another name")
    return name


def open_session(
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
    clock: Callable[[], float] = moment,
) -> StoredSession:
    """Begin to judge a pool (the latest by default), a queue, or one's own judgments under older versions.

    In a packet it is the packet's own queue. The layer is `main`, or that of the queue. `topics` are the only ones
    that are judged, where some are given.
    """
    if queue and (pool or rejudge):
        raise UsageError("a queue is judged by itself: leave the pool, or judging again, away")
    name, packet = assessor.strip(), judging.packet_facts(store)
    if packet is not None:
        # What could not be merged is refused: another name, or another layer.
        if name != packet.assessor:
            raise UsageError(
                f"this packet is for {quoted(packet.assessor)}, not for {quoted(name)}: judge it with"
                f" -a {packet.assessor!r}, or ask for a packet of your own"
            )
        if layer and layer != packet.layer:
            raise UsageError(f"this packet is for the layer {quoted(packet.layer)}: leave --layer away")
        queue = queue if queue or pool or rejudge else judging.PACKET
    chosen = order_named(order, seed=seed)
    clusters = pools.clusters_by_document(store) if chosen.name == "cluster" else {}
    if queue:
        facts = judging.queue_named(store, queue)
        layer = layer or facts.layer
        source = queue_source(store, facts, order=chosen, clusters=clusters)
    elif rejudge:
        versions = store.versions()
        source = rejudge_source(
            store, layer=layer or MAIN, assessor=name, versions=versions, order=chosen, clusters=clusters
        )
    else:
        pooled = pools.facts_of_pool(store, pool)
        before = f"random:{pooled.seed}" if pooled.judging_order == "random" else pooled.judging_order
        chosen = replace(chosen, pooled="" if before == "plan" else before)
        # Only the main layer teaches a live pool what to choose next.
        grows = batch if (layer or MAIN) == MAIN else 0
        source = pool_source(store, pooled, order=chosen, clusters=clusters, batch=grows)
    mine = source.roles(name) if topics else {}
    for topic in topics:
        if topic not in mine:
            raise UnknownName("topic of yours", topic, mine)
    source = replace(source, only=tuple(topics))
    return session_over(source, assessor=assessor, layer=layer or MAIN, lease_seconds=lease_seconds, clock=clock)


def session_over(
    source: Source,
    *,
    assessor: str,
    layer: str,
    lease_seconds: float = LEASE_SECONDS,
    clock: Callable[[], float] = moment,
) -> StoredSession:
    """Begin to judge what a source has; the assessor becomes known to the collection."""
    store = source.store
    name, known = checked_name(store, assessor), events.assessors(store)
    # Somebody new whose name differs in nothing but capitals may be one of those who are known.
    alike = [other for other, kind in known.items() if kind == "person" and other.casefold() == name.casefold()]
    with store.write():
        events.add_assessor(store, name, now=now())
        judging.forget_expired(store, moment=clock())
    queue = Queue(source, assessor=name, layer=layer, session=uuid4().hex, lease_seconds=lease_seconds, clock=clock)
    return StoredSession(queue, like_named=[] if name in known else alike)


class StoredSession:
    """One assessor's session over one collection; see `judge.session.JudgingSession` for what each word means.

    What the assessor has open is leased to this session. `next_item` gives the same document until it is answered.
    Each answer is one transaction, which leases the next document of the topic too: one commit for each key. What is
    kept in memory changes only after the commit, so that an answer that failed (a full disk) can be given again.
    """

    def __init__(self, queue: Queue, *, like_named: Sequence[str] = ()) -> None:
        self._queue, self._store, self._layer = queue, queue.store, queue.layer
        self.assessor, self.like_named = queue.assessor, like_named
        self._scale_version, self._guidelines_version = self._store.versions()
        self.scale, self.guidelines = self._store.scale(), self._store.guidelines()
        self._other_scales = self._store.other_scales()
        self._topics = {topic.id: topic for topic in documents.topics(self._store)}
        self._open: dict[Pair, LeasedEntry] = {}
        self._reopened: dict[Pair, LeasedEntry] = {}
        self._answered: list[tuple[str, LeasedEntry]] = []
        today = start_of_today()
        self._today, seconds = judging.pace_of(self._store, assessor=self.assessor, since=today, limit=_RECENT)
        self._seconds = deque(seconds, maxlen=_RECENT)

    # The way of the documents

    def next_item(self) -> Item | None:
        """Give the document that is open, else lease the next one of the topic, else of the next topic."""
        item, queue = self._still_open(), self._queue
        while item is None:
            if queue.current is not None:
                with self._store.write():
                    item = queue.next(owed=queue.owed, deferred=queue.deferred)
                self._keep_open(item)
            if item is None and not queue.move_on():
                return None
        return self._item(item)

    def _keep_open(self, item: LeasedEntry | None) -> None:
        if item is not None:
            self._open[item.pair] = item
            self._queue.owed -= item.is_probe

    def _still_open(self) -> LeasedEntry | None:
        """Give the first open document; a lease that has run out is renewed where nobody else has it now."""
        for item in list(self._open.values()):
            if item.until is None or item.until > self._queue.clock():
                return item
            with self._store.write():
                gone = self._queue.is_gone(item, self._queue.answers(*item.pair))
                renewed = None if gone else self._queue.lease(item)
            if renewed is not None:
                self._open[item.pair] = renewed
                return renewed
            del self._open[item.pair]
        return None

    def _item(self, item: LeasedEntry, *, before: Answer | None = None) -> Item:
        name = item.entry.document
        if before is None and item.known.own and not item.is_probe:
            event = events.latest_answer(self._store, self._layer, *item.pair, assessor=self.assessor)
            before = None if event is None else answer_of(event, self._other_scales)
        document = documents.fetch(self._store, name) or Document(name, "", NO_TEXT)
        return Item(self._topic(item.topic), document, item.position, item.of, before, self._count(item.topic).left)

    def _count(self, topic: str) -> Count:
        """Give how far a topic is, as the assessor is told: a probe is a document like all others."""
        probes = [one.entry.document for one in self._open.values() if one.is_probe and one.topic == topic]
        return self._queue.count_with_probes(topic, open_probes=probes)

    def _topic(self, topic: str) -> Topic:
        return self._topics.get(topic) or Topic(topic, "")

    # Answers

    def judge(
        self, item: Item, grade: int, *, seconds: float, note: str = "", evidence: Sequence[Evidence] = ()
    ) -> Saved:
        """Record a grade of the scale."""
        self.scale.named(grade)
        event = self._event(item, "judged", seconds=seconds)
        return self._answer(item, replace(event, grade=grade, note=note, evidence=tuple(evidence)))

    def postpone(self, item: Item, *, seconds: float) -> Saved:
        """Put a document off to the end of its topic; one that was put off before, until nothing else is left."""
        return self._answer(item, self._event(item, "postponed", seconds=seconds))

    def cannot(self, item: Item, reason: str, *, seconds: float) -> Saved:
        """Record that the document cannot be judged by this assessor, and why; others may still judge it."""
        if not reason.strip():
            raise InputError("say why the document cannot be judged")
        return self._answer(item, replace(self._event(item, "cannot-judge", seconds=seconds), reason=reason.strip()))

    def note(self, item: Item, text: str) -> None:
        """Record a remark without judging."""
        event = replace(self._event(item, "noted"), note=text)
        with self._store.write():
            events.append_events(self._store, [event], now=now())

    def undo(self) -> Item | None:
        """Take the latest answer of this session back and give its document again, leased.

        A document that was postponed or refused is open to others at once: where one of them has it by now, or has
        judged it, the answer stays, and the next undo goes to the answer before it.
        """
        if not self._answered:
            return None
        (uuid, ticket), queue = self._answered[-1], self._queue
        undone = events.event_with_uuid(self._store, uuid)
        before = None if undone is None else answer_of(undone, self._other_scales)
        item = self._item(ticket, before=before)
        event = replace(self._event(item, "undone"), undoes=uuid, purpose=ticket.entry.purpose)
        with self._store.write():
            events.append_events(self._store, [event], now=now())
            known = queue.answers(*ticket.pair)
            given_up = undone is not None and undone.grade is None and known.own in ("", "postponed")
            if given_up and queue.is_gone(ticket, known):
                self._answered.pop()
                raise InputError(f"somebody else has taken {quoted(item.document.id)} over meanwhile")
            again = queue.lease(replace(ticket, known=known))
        self._answered.pop()
        self._open = {again.pair: again, **{pair: one for pair, one in self._open.items() if pair != again.pair}}
        self._today -= undone is not None and undone.kind != "postponed"
        queue.deferred.discard(ticket.pair)
        queue.probed[ticket.topic] -= ticket.is_probe
        if not ticket.is_probe and (current := queue.loaded(ticket.topic)):
            current.open.add(ticket.entry.document)
        queue.count(ticket.topic)
        return replace(item, left=self._count(ticket.topic).left)

    def _event(self, item: Item, kind: Kind, *, seconds: float | None = None) -> Event:
        return Event(
            uuid=str(uuid4()),
            kind=kind,
            topic=item.topic.id,
            document=item.document.id,
            assessor=self.assessor,
            happened=now(),
            layer=self._layer,
            purpose=self._leased(item).entry.purpose,
            seconds=seconds if seconds is not None and isfinite(seconds) and seconds >= 0 else None,
            scale=self._scale_version,
            guidelines=self._guidelines_version,
            document_hash=item.document.content_hash,
            order=str(self._queue.source.order),
            position=item.position,
            session=self._queue.session,
        )

    def _leased(self, item: Item) -> LeasedEntry:
        pair = item.topic.id, item.document.id
        known = self._open.get(pair) or self._reopened.get(pair)
        return known or self._queue.placed(*pair, self._queue.answers(*pair))

    def _answer(self, item: Item, event: Event) -> Saved:
        """Record an answer and lease what comes next, in one transaction."""
        ticket, queue = self._leased(item), self._queue
        has_more = any(pair != ticket.pair for pair in self._open)
        makes_due = queue.makes_probe_due(ticket, event)
        owed = queue.owed + makes_due + (ticket.is_probe and event.kind == "postponed")
        deferred = queue.deferred | ({ticket.pair} if queue.waits_long(ticket, event) else set())
        with self._store.write():
            before = queue.answers(*ticket.pair)
            late = self._is_late(ticket, before)
            events.append_events(self._store, [event], now=now())
            queue.release(ticket)
            following = None if has_more else queue.next(owed=owed, deferred=deferred)
        queue.owed, queue.deferred = owed, deferred
        queue.made_due.update([ticket.pair] if makes_due else [])
        self._open.pop(ticket.pair, None)
        self._reopened.pop(ticket.pair, None)
        self._keep_open(following)
        self._answered.append((event.uuid, replace(ticket, late=late)))
        if not ticket.is_probe:
            role, after = queue.role(ticket.topic), queue.answers(*ticket.pair)
            was, is_now = (queue.source.state(ticket.entry, known, role) for known in (before, after))
            if ticket.topic in queue.counts:
                queue.counts[ticket.topic] = queue.counts[ticket.topic].after(was, is_now)
            if is_now == "done" and (current := queue.loaded(ticket.topic)):
                current.open.discard(ticket.entry.document)
        if event.kind != "postponed":
            queue.probed[ticket.topic] += ticket.is_probe
            self._today += 1
            self._seconds.extend(() if event.seconds is None else (event.seconds,))
        return Saved(item, answer_of(event, self._other_scales), late)

    def _is_late(self, ticket: LeasedEntry, before: Answers) -> bool:
        """Say whether the lease had run out and the document was judged meanwhile, inside `store.write()`."""
        if ticket.late:
            return True
        if ticket.until is None or ticket.entry.purpose in ("probe", "rejudge"):
            return False
        topic, document = ticket.pair
        leases = judging.live_leases(
            self._store, self._layer, topic=topic, document=document, moment=self._queue.clock()
        )
        if any(one.session == self._queue.session for one in leases):
            return False
        others = before.graded != ticket.known.graded and len(before.graded) >= ticket.entry.needed
        return others or before.own_event != ticket.known.own_event

    # Topics, history, searching

    def topics(self) -> list[TopicState]:
        """Give the topics of the assessor in the order of judging, as they stand now."""
        queue = self._queue
        counts = {topic: self._count(topic) for topic in queue.count_all()}
        named = any(role != "anyone" for role in queue.roles.values())
        held, states = queue.held(), []
        for topic in queue.topics_in_turn(skip=[topic for topic, count in counts.items() if not count.of]):
            count, mine = counts[topic], not named or queue.role(topic) != "anyone"
            state = TopicState(self._topic(topic), count.done, count.of, count.postponed, mine, held.get(topic))
            states.append(state)
        return states

    def choose_topic(self, topic: str) -> None:
        """Go on with this topic; what is open of others goes back."""
        queue = self._queue
        queue.check_topic(topic)
        with self._store.write():
            for item in self._open.values():
                if item.topic != topic:
                    queue.release(item)
        self._open = {pair: item for pair, item in self._open.items() if item.topic == topic}
        # What was postponed there comes up again.
        queue.finished.discard(topic)
        queue.deferred = {pair for pair in queue.deferred if pair[0] != topic}
        queue.current = queue.load(topic)
        queue.counts[topic] = queue.current.count

    def history(self, words: str = "", *, limit: int = 200) -> list[HistoryEntry]:
        """Give the answers that stand, latest first, whose topic, document, title or note has all the words."""
        wanted, older = words.casefold().split(), self._store.other_scales()
        found: list[HistoryEntry] = []
        for uuid, title in judging.own_past(self._store, self._layer, assessor=self.assessor):
            if len(found) == limit:
                break
            event = events.event_with_uuid(self._store, uuid)
            if event is None:
                continue
            text = "\n".join([event.topic, event.document, title, event.note, event.reason]).casefold()
            if all(word in text for word in wanted):
                found.append(HistoryEntry(event.topic, event.document, title, answer_of(event, older)))
        return found

    def reopen(self, topic: str, document: str) -> Item:
        """Give a document again that was answered before, or that was found by searching."""
        pair, answers = (topic, document), self._queue.answers(topic, document)
        item = self._open.get(pair)
        if item is not None and not item.is_probe:
            return self._item(item)
        if not answers.own:
            return self.take(topic, document, "")
        self._open.pop(pair, None)
        self._reopened[pair] = self._queue.placed(topic, document, answers)
        return self._item(self._reopened[pair])

    def search(self, topic: str, words: str, *, limit: int = 50) -> list[SearchHit]:
        """Search the whole collection; each hit says whether it is judged by this assessor, or will be judged."""
        older = self._store.other_scales()
        grades = judging.own_grades(self._store, self._layer, topic, assessor=self.assessor, other_than=older)
        pooled = {entry.document for entry in self._queue.source.find_entries(topic)}
        pooled |= set(events.found_documents(self._store, topic))
        return [
            SearchHit(hit.document, hit.title, hit.snippet, "judged", grades[hit.document])
            if hit.document in grades
            else SearchHit(hit.document, hit.title, hit.snippet, "pooled" if hit.document in pooled else "new")
            for hit in documents.search(self._store, words, limit=limit)
        ]

    def take(self, topic: str, document: str, words: str) -> Item:
        """Put a found document into the pool, as found by search, lease it and give it."""
        queue = self._queue
        queue.check_topic(topic)
        if documents.fetch(self._store, document) is None:
            raise UnknownName("document", document, documents.ids_near(self._store, document))
        entry, answers = Entry(document, 0), queue.answers(topic, document)
        with self._store.write():
            if queue.is_blocked(topic, entry, replace(answers, graded=frozenset())):
                raise InputError(f"somebody else is judging {quoted(document)} at the moment")
            queue.source.add(topic, document, assessor=self.assessor, words=words, now=now())
            until = queue.lease(LeasedEntry(topic, entry, 1, 1, answers)).until
        if queue.loaded(topic):
            queue.current = queue.load(topic)
        item = replace(queue.placed(topic, document, answers), until=until)
        self._open[item.pair] = item
        queue.count(topic)
        return self._item(item)

    def progress(self) -> SessionProgress:
        """Say how far the assessor is; what others did since shows when the topics are looked at again."""
        if self._queue.roles.keys() - self._queue.counts.keys():
            self._queue.count_all()
        counts = [self._count(topic) for topic in self._queue.roles]
        seconds = median(self._seconds) if self._seconds else None
        done, of = sum(count.done for count in counts), sum(count.of for count in counts)
        return SessionProgress(done, of, self._today, seconds)

    def recounted(self, item: Item) -> Item:
        """Give an open document with what is left of its topic now."""
        count = self._count(item.topic.id)
        return replace(item, left=count.left, of=max(count.of, item.position))

    def older(self) -> int:
        """Give how many grades here were given under an older version; none while they are given again."""
        if self._queue.source.purpose == "rejudge":
            return 0
        return judging.older_now(self._store, layer=self._layer, assessor=self.assessor)

    def outdated(self) -> str:
        """Say what was changed since the session began; it goes on under what the assessor was given."""
        scale, guidelines = self._store.versions()
        changed = ["the scale"] if scale != self._scale_version else []
        changed += ["the guidelines"] if guidelines != self._guidelines_version else []
        return " and ".join(changed)

    def keep(self, item: Item) -> None:
        """Renew the lease of the document that is being read, unless another has it by now."""
        ticket = self._open.get((item.topic.id, item.document.id))
        if ticket is None or ticket.until is None:
            return
        with self._store.write():
            blocked = self._queue.is_blocked(ticket.topic, ticket.entry, ticket.known)
            renewed = None if blocked else self._queue.lease(ticket)
        if renewed is not None:
            self._open[ticket.pair] = renewed

    def leave(self) -> None:
        """Give back all leases: the session is over."""
        with self._store.write():
            judging.release_leases(self._store, self._queue.session)
        self._open.clear()

    def waiting(self) -> Held | None:
        """Give the documents of all topics that somebody has open and that may still come to the assessor."""
        held = list(self._queue.held().values())
        count, own = sum(one.documents for one in held), sum(one.own for one in held)
        return Held(count, min(one.seconds for one in held), own) if held else None


def answer_of(event: Event, older: Mapping[int, GradeScale]) -> Answer:
    """Give what an event says, as the assessor sees it; the reason of a refusal stands as its note.

    `older` are the versions of the scale that say something else than the present one.
    """
    kind = "judged" if event.kind in rules.WITH_GRADE else event.kind
    note = event.note or event.reason
    return Answer(kind, event.grade, note, event.evidence, event.uuid, event.happened, older.get(event.scale))
