"""The assessor's seat over a collection file: what he is given, and how each answer is kept."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from statistics import median
from uuid import uuid4

from cranfield.base.errors import InputError, UnknownName, quoted
from cranfield.base.progress import now, start_of_today
from cranfield.base.records import Document, GradeScale, Topic
from cranfield.judge.events import WITH_GRADE, Event, Evidence, Kind
from cranfield.judge.queue import Answers, Count, Entry, Role, choose_probe, falls_due, probes_to_come, topics_in_turn
from cranfield.judge.session import Answer, Done, Found, Held, Item, Past, Saved, TopicState
from cranfield.store.documents import document as stored_document
from cranfield.store.documents import ids_near, search
from cranfield.store.documents import topics as stored_topics
from cranfield.store.events import append_events, event_with_uuid, found_documents, latest_answer
from cranfield.store.judging import (
    changes_of_others,
    judged_in_turn,
    latest_topic,
    leases_of_document,
    live_leases,
    older_now,
    own_grades,
    own_past,
    pace_of,
    planned_probes,
    probed,
    release_lease,
    release_session,
)
from cranfield.store.scales import current_guidelines, current_scale, other_scales
from cranfield.workflows.judge.queue import (
    Line,
    Pair,
    Seat,
    Ticket,
    Work,
    count_topic,
    is_blocked,
    leased,
    load_line,
    pick,
)

# What an assessor may look at beside his queue: his own answers, and the whole collection by searching.


def answer_of(event: Event, older: Mapping[int, GradeScale]) -> Answer:
    """Give what an event says, as the assessor sees it; the reason of a refusal stands as its note.

    `older` are the versions of the scale that say something else than the present one.
    """
    kind = "judged" if event.kind in WITH_GRADE else event.kind
    said = kind, event.grade, event.note or event.reason, event.evidence, event.uuid, event.happened
    return Answer(*said, older.get(event.scale))


def past_answers(seat: Seat, words: str, *, limit: int) -> list[Past]:
    """Give the assessor's standing answers, latest first, whose topic, document, title or note has all the words."""
    wanted, older = words.casefold().split(), other_scales(seat.store)[0]
    found: list[Past] = []
    for uuid, title in own_past(seat.store, seat.layer, assessor=seat.assessor):
        if len(found) == limit:
            break
        event = event_with_uuid(seat.store, uuid)
        if event is None:
            continue
        text = "\n".join([event.topic, event.document, title, event.note, event.reason]).casefold()
        if all(word in text for word in wanted):
            found.append(Past(event.topic, event.document, title, answer_of(event, older)))
    return found


def searched(seat: Seat, work: Work, topic: str, words: str, *, limit: int) -> list[Found]:
    """Search the whole collection; of each hit it is told whether he has judged it, or whether it will be judged."""
    grades = own_grades(seat.store, seat.layer, topic, assessor=seat.assessor, other_than=other_scales(seat.store)[0])
    pooled = {entry.document for entry in work.members(topic)} | set(found_documents(seat.store, topic))
    return [
        Found(hit.document, hit.title, hit.snippet, "judged", grades[hit.document])
        if hit.document in grades
        else Found(hit.document, hit.title, hit.snippet, "pooled" if hit.document in pooled else "new")
        for hit in search(seat.store, words, limit=limit)
    ]


# The way of one assessor through his topics: which document comes next, and how far he is.

_PROBED_AFTER = ("pool", "overlap", "search", "queue")
"""What a document must have been shown for, so that its answer can make a probe due."""


class Round:
    """The topics of one sitting, the current one with its queue, and the counts of all.

    `deferred` are documents that were put off again after they had come back: they wait until nothing else is left.
    `owed` are probes that are due and not shown yet, `made_due` the documents whose answers made one due; `probed`
    counts by topic those that were answered in this sitting.
    """

    def __init__(self, seat: Seat, work: Work) -> None:
        self._seat, self._work = seat, work
        self._probes = planned_probes(seat.store)
        self.roles: dict[str, Role] = work.roles(seat.assessor)
        self.line: Line | None = None
        self.counts: dict[str, Count] = {}
        self.deferred: set[Pair] = set()
        self.owed = 0
        self.made_due: set[Pair] = set()
        self.probed: Counter[str] = Counter()
        self._changes = changes_of_others(seat.store)
        self._finished: set[str] = set()
        self._begin_with = latest_topic(seat.store, seat.layer, assessor=seat.assessor)

    def role(self, topic: str) -> Role:
        """Give what the assessor is to a topic."""
        return self.roles.get(topic, "anyone")

    def known(self, topic: str) -> None:
        """Refuse a topic that is not the assessor's."""
        if topic not in self.roles:
            raise UnknownName("topic of yours", topic, self.roles)

    # The next document

    def pick(self, *, owed: int, deferred: Collection[Pair]) -> Ticket | None:
        """Lease a probe that is due, else the next document of the current topic, inside `store.write()`."""
        if self.line is None:
            return None
        probe = self._pick_probe(self.line) if owed and self.line.has_work(deferred) else None
        return probe or pick(self._seat, self._work, self.line, passed_over=deferred)

    def _pick_probe(self, line: Line) -> Ticket | None:
        store, layer, topic = self._seat.store, self._seat.layer, line.topic
        judged = judged_in_turn(store, layer, topic, assessor=self._seat.assessor)
        if len(judged) <= self._probes.after:
            return None
        shown = probed(store, layer, topic, assessor=self._seat.assessor)
        document = choose_probe(self._probes, topic, judged, probed=shown)
        if document is None:
            return None
        place = line.places[line.fresh[0].document] if line.fresh else line.count.of
        known = self._seat.answers(topic, document)
        entry = Entry(document, 0, "probe")
        return leased(self._seat, Ticket(topic, entry, place, line.count.of, "probe", known, None))

    def owes_probe(self, ticket: Ticket, event: Event) -> bool:
        """Say whether an answer makes a probe due: one that will stand, to a document in its turn."""
        usual = ticket.purpose in _PROBED_AFTER and event.kind == "judged" and ticket.pair not in self.made_due
        return usual and falls_due(self._probes, self._seat.assessor, *ticket.pair)

    def waits_long(self, ticket: Ticket, event: Event) -> bool:
        """Say whether a document waits until nothing else is left: put off again, or the last one of its topic."""
        if event.kind != "postponed":
            return False
        line = self.line
        waiting = (*line.fresh, *line.postponed) if line is not None and line.topic == ticket.topic else ()
        more = any((ticket.topic, entry.document) not in {*self.deferred, ticket.pair} for entry in waiting)
        return bool(ticket.known.own) or not more

    # The next topic

    def move_on(self) -> bool:
        """Find a topic with work, the current one first; say whether there is one."""
        for topics in (self.in_turn(skip=self._finished), self.in_turn()):
            for topic in topics:
                if self._opened(topic):
                    return True
                self._finished.add(topic)
        if not self.deferred:
            return False
        self.deferred = set()
        return self.move_on()

    def in_turn(self, *, skip: Collection[str] = ()) -> list[str]:
        """Give the topics in the order he goes through them: where he is, or was last, and then the others."""
        others: dict[str, set[str]] = {}
        for lease in live_leases(self._seat.store, self._seat.layer, moment=self._seat.clock()):
            if lease.assessor != self._seat.assessor:
                others.setdefault(lease.topic, set()).add(lease.assessor)
        busy = {topic: len(names) for topic, names in others.items()}
        ordered = topics_in_turn(list(self.roles), self.roles, busy)
        first = self.line.topic if self.line else self._begin_with
        return [topic for topic in dict.fromkeys([first, *ordered]) if topic in self.roles and topic not in skip]

    def _opened(self, topic: str) -> bool:
        line = self.load(topic)
        if not line.has_work(self.deferred) and line.role != "second" and self._work.grows(topic):
            with self._seat.store.write():
                refilled = self._work.refill(topic)
            line = self.load(topic) if refilled else line
        self.counts[topic] = line.count
        if line.has_work(self.deferred):
            self.line = line
            return True
        return False

    def load(self, topic: str) -> Line:
        """Read the queue of a topic as it is now."""
        return load_line(self._seat, self._work, topic, self.role(topic))

    def go_to(self, topic: str) -> None:
        """Make a topic the current one; what was put off there comes up again."""
        self._finished.discard(topic)
        self.deferred = {pair for pair in self.deferred if pair[0] != topic}
        self.line = self.load(topic)
        self.counts[topic] = self.line.count

    # Places and counts

    def told(self, topic: str, *, probes: Collection[str] = ()) -> Count:
        """Give how far a topic is for him, as far as is known here, with the probes that nobody may notice.

        A probe counts as one more document from the beginning, so that the count goes down by one with each answer.
        `probes` are those he has before him.
        """
        count, shown = self.counts.get(topic) or self.count(topic), self.probed[topic]
        coming = self._coming(self.line, set(probes)) if self.line is not None and self.line.topic == topic else 0
        return replace(count, done=count.done + shown, of=count.of + shown + coming + len(probes))

    def _coming(self, line: Line, in_hand: set[str]) -> int:
        if not self._probes.share:
            return 0
        store, layer, topic, assessor = self._seat.store, self._seat.layer, line.topic, self._seat.assessor
        left = (entry for entry in line.entries.values() if entry.document in line.open)
        due = [
            entry.purpose in _PROBED_AFTER
            and (topic, entry.document) not in self.made_due
            and falls_due(self._probes, assessor, topic, entry.document)
            for entry in left
        ]
        judged = len(judged_in_turn(store, layer, topic, assessor=assessor))
        shown = len(probed(store, layer, topic, assessor=assessor) | in_hand)
        return probes_to_come(self._probes, due, owed=self.owed, judged=judged, probed=shown)

    def held(self) -> dict[str, Held]:
        """Give, for each topic where there are some, the documents that only others' leases keep from him."""
        moment = self._seat.clock()
        leases = live_leases(self._seat.store, self._seat.layer, moment=moment)
        busy = dict.fromkeys(one.topic for one in leases if one.session != self._seat.session)
        lines = [self.load(topic) for topic in busy if topic in self.roles]
        return {line.topic: _held(line, self._seat.assessor, moment) for line in lines if line.held}

    def entry(self, topic: str, document: str) -> Entry:
        """Give a document as it stands in its queue; one that is in none is of the kind the sitting is about."""
        if self.line is not None and self.line.topic == topic and document in self.line.entries:
            return self.line.entries[document]
        found = (entry for entry in self._work.members(topic) if entry.document == document)
        return next(found, Entry(document, 0, self._work.purpose))

    def placed(self, topic: str, document: str, answers: Answers) -> Ticket:
        """Give a document with its place in the queue, without a lease."""
        line = self.line if self.line is not None and self.line.topic == topic else self.load(topic)
        entry = line.entries.get(document) or self.entry(topic, document)
        place = line.places.get(document, line.count.of)
        return Ticket(topic, entry, place, line.count.of, entry.purpose, answers, None)

    def count(self, topic: str) -> Count:
        """Count the documents of a topic as they stand now."""
        self.counts[topic] = count_topic(self._seat, self._work, topic, self.role(topic))
        return self.counts[topic]

    def count_all(self) -> dict[str, Count]:
        """Count all topics, but for those that nobody can have changed since they were counted."""
        changes = changes_of_others(self._seat.store)
        if changes != self._changes:
            self.counts, self._changes = {}, changes
        missing = self.roles.keys() - self.counts.keys()
        at_once = self._work.counted(self._seat.layer, self._seat.assessor) if len(missing) > 1 else {}
        for topic in missing:
            if topic in at_once and self.roles[topic] != "second":
                self.counts[topic] = at_once[topic]
            else:
                self.count(topic)
        return self.counts

    def recount(self, ticket: Ticket, before: Answers) -> None:
        """Bring the count up to date after one answer; a probe changes nothing."""
        if ticket.purpose == "probe":
            return
        role, after = self.role(ticket.topic), self._seat.answers(*ticket.pair)
        was, is_now = (self._work.state(ticket.entry, answers, role) for answers in (before, after))
        if ticket.topic in self.counts:
            self.counts[ticket.topic] = self.counts[ticket.topic].after(was, is_now)
        if self.line is not None and self.line.topic == ticket.topic and is_now == "done":
            self.line.open.discard(ticket.entry.document)

    def put_back(self, ticket: Ticket) -> None:
        """Bring the count up to date after an answer was taken back."""
        if ticket.purpose == "probe":
            self.probed[ticket.topic] -= 1
        elif self.line is not None and self.line.topic == ticket.topic:
            self.line.open.add(ticket.entry.document)
        self.count(ticket.topic)


def _held(line: Line, assessor: str, moment: float) -> Held:
    leases = line.held.values()
    own = sum(lease.assessor == assessor for lease in leases)
    return Held(len(leases), min(lease.expires for lease in leases) - moment, own)


NO_TEXT = "(this document is not in the collection)"
"""The title of a document that was pooled, but whose text nobody has loaded."""

_RECENT = 100


class CollectionDesk:
    """One assessor's seat before one collection; see `desk.Desk` for what each word means.

    What he has before him is leased to this sitting. `next_item` gives the same document until it is answered. Each
    answer is one transaction, which leases the next document of the topic too: one commit for each key. What is kept
    in memory changes only after the commit, so that an answer that failed (a full disk) can be given again.
    """

    def __init__(self, seat: Seat, work: Work, *, like_named: Sequence[str] = ()) -> None:
        self._seat, self._work, self._store = seat, work, seat.store
        self.assessor, self.like_named = seat.assessor, like_named
        self._scale_version, self.scale = current_scale(self._store)
        self._guidelines_version, self.guidelines = current_guidelines(self._store)
        self._other_scales = other_scales(self._store)[0]
        self._topics = {topic.id: topic for topic in stored_topics(self._store)}
        self._round = Round(seat, work)
        self._hand: dict[Pair, Ticket] = {}
        self._reopened: dict[Pair, Ticket] = {}
        self._answered: list[tuple[str, Ticket]] = []
        self._today, seconds = pace_of(self._store, assessor=seat.assessor, since=start_of_today(), limit=_RECENT)
        self._seconds = deque(seconds, maxlen=_RECENT)

    # The way of the documents

    def next_item(self) -> Item | None:
        """Give the document he has before him, else lease the next one of the topic, else of the next topic."""
        held = self._still_held()
        while held is None:
            if self._round.line is not None:
                with self._store.write():
                    held = self._round.pick(owed=self._round.owed, deferred=self._round.deferred)
                self._put_in_hand(held)
            if held is None and not self._round.move_on():
                return None
        return self._item(held)

    def _put_in_hand(self, ticket: Ticket | None) -> None:
        if ticket is not None:
            self._hand[ticket.pair] = ticket
            self._round.owed -= ticket.purpose == "probe"

    def _still_held(self) -> Ticket | None:
        """Give the first document in hand; a lease that has run out is renewed where nobody else has it now."""
        for ticket in list(self._hand.values()):
            if ticket.until is None or ticket.until > self._seat.clock():
                return ticket
            with self._store.write():
                renewed = self._renewed(ticket)
            if renewed is not None:
                self._hand[ticket.pair] = renewed
                return renewed
            del self._hand[ticket.pair]
        return None

    def _renewed(self, ticket: Ticket) -> Ticket | None:
        answers = self._seat.answers(*ticket.pair)
        state = self._work.state(ticket.entry, answers, self._round.role(ticket.topic))
        gone = state not in ("open", "postponed") and ticket.purpose != "probe"
        blocked = is_blocked(self._seat, ticket.topic, ticket.entry, answers)
        return None if gone or blocked else leased(self._seat, ticket)

    def _item(self, ticket: Ticket, *, before: Answer | None = None) -> Item:
        if before is None and ticket.known.own and ticket.purpose != "probe":
            event = latest_answer(self._store, self._seat.layer, *ticket.pair, assessor=self.assessor)
            before = None if event is None else self._answer_of(event)
        found = stored_document(self._store, ticket.entry.document)
        document = found or Document(ticket.entry.document, "", NO_TEXT)
        topic, left = self._topic(ticket.topic), self._told(ticket.topic).left
        return Item(topic, document, ticket.position, ticket.of, before, left)

    def _told(self, topic: str) -> Count:
        """Give how far a topic is, as the assessor is told: a probe is a document like all others."""
        held = [one.entry.document for one in self._hand.values() if one.purpose == "probe" and one.topic == topic]
        return self._round.told(topic, probes=held)

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
        """Record that the document cannot be judged by him, and why; others may still judge it."""
        if not reason.strip():
            raise InputError("say why the document cannot be judged")
        return self._answer(item, replace(self._event(item, "cannot-judge", seconds=seconds), reason=reason.strip()))

    def note(self, item: Item, text: str) -> None:
        """Record a remark without judging."""
        event = replace(self._event(item, "noted"), note=text)
        with self._store.write():
            append_events(self._store, [event], now=now())

    def undo(self) -> Item | None:
        """Take the latest answer of this sitting back and give its document again, leased."""
        if not self._answered:
            return None
        uuid, ticket = self._answered[-1]
        taken_back = event_with_uuid(self._store, uuid)
        item = self._item(ticket, before=None if taken_back is None else self._answer_of(taken_back))
        event = replace(self._event(item, "undone"), undoes=uuid, purpose=ticket.purpose)
        with self._store.write():
            append_events(self._store, [event], now=now())
            again = leased(self._seat, replace(ticket, known=self._seat.answers(*ticket.pair)))
        self._answered.pop()
        self._hand = {again.pair: again, **{pair: held for pair, held in self._hand.items() if pair != again.pair}}
        self._round.deferred.discard(again.pair)
        self._today -= taken_back is not None and taken_back.kind != "postponed"
        self._round.put_back(ticket)
        return replace(item, left=self._told(ticket.topic).left)

    def _event(self, item: Item, kind: Kind, *, seconds: float | None = None) -> Event:
        return Event(
            uuid=str(uuid4()),
            kind=kind,
            topic=item.topic.id,
            document=item.document.id,
            assessor=self.assessor,
            happened=now(),
            layer=self._seat.layer,
            purpose=self._ticket(item).purpose,
            seconds=seconds if seconds is not None and isfinite(seconds) and seconds >= 0 else None,
            scale=self._scale_version,
            guidelines=self._guidelines_version,
            document_hash=item.document.content_hash,
            order=str(self._work.order),
            position=item.position,
            session=self._seat.session,
        )

    def _ticket(self, item: Item) -> Ticket:
        pair = item.topic.id, item.document.id
        held = self._hand.get(pair) or self._reopened.get(pair)
        return held or self._round.placed(*pair, self._seat.answers(*pair))

    def _answer(self, item: Item, event: Event) -> Saved:
        """Record an answer and lease what comes next, in one transaction."""
        ticket, turn = self._ticket(item), self._round
        has_more = any(pair != ticket.pair for pair in self._hand)
        makes_due = turn.owes_probe(ticket, event)
        owed = turn.owed + makes_due + (ticket.purpose == "probe" and event.kind == "postponed")
        deferred = turn.deferred | ({ticket.pair} if turn.waits_long(ticket, event) else set())
        with self._store.write():
            before = self._seat.answers(*ticket.pair)
            late = self._is_late(ticket, before)
            append_events(self._store, [event], now=now())
            release_lease(self._store, self._seat.lease(*ticket.pair))
            following = None if has_more else turn.pick(owed=owed, deferred=deferred)
        turn.owed, turn.deferred = owed, deferred
        turn.made_due.update([ticket.pair] if makes_due else [])
        self._hand.pop(ticket.pair, None)
        self._reopened.pop(ticket.pair, None)
        self._put_in_hand(following)
        self._remember(replace(ticket, late=late), event, before)
        return Saved(item, self._answer_of(event), late)

    def _answer_of(self, event: Event) -> Answer:
        return answer_of(event, self._other_scales)

    def _is_late(self, ticket: Ticket, before: Answers) -> bool:
        """Say whether the lease had run out and the document was judged meanwhile, inside `store.write()`."""
        if ticket.late:
            return True
        if ticket.until is None or ticket.purpose in ("probe", "rejudge"):
            return False
        leases = leases_of_document(self._store, self._seat.layer, *ticket.pair)
        if any(one.session == self._seat.session and one.expires > self._seat.clock() for one in leases):
            return False
        others = before.graded != ticket.known.graded and len(before.graded) >= ticket.entry.needed
        return others or before.own_event != ticket.known.own_event

    def _remember(self, ticket: Ticket, event: Event, before: Answers) -> None:
        self._answered.append((event.uuid, ticket))
        self._round.recount(ticket, before)
        self._round.probed[ticket.topic] += ticket.purpose == "probe" and event.kind != "postponed"
        if event.kind != "postponed":
            self._today += 1
            self._seconds.extend(() if event.seconds is None else (event.seconds,))

    # Topics, history, searching

    def topics(self) -> list[TopicState]:
        """Give the topics he may judge in the order he goes through them, as they stand now."""
        counts = {topic: self._told(topic) for topic in self._round.count_all()}
        named = any(role != "anyone" for role in self._round.roles.values())
        held, found = self._round.held(), []
        for topic in self._round.in_turn(skip=[topic for topic, count in counts.items() if not count.of]):
            count, mine = counts[topic], not named or self._round.role(topic) != "anyone"
            state = TopicState(self._topic(topic), count.done, count.of, count.postponed, mine, held.get(topic))
            found.append(state)
        return found

    def choose_topic(self, topic: str) -> None:
        """Go on with this topic; what he has before him of others goes back."""
        self._round.known(topic)
        others = [ticket for ticket in self._hand.values() if ticket.topic != topic]
        with self._store.write():
            for ticket in others:
                release_lease(self._store, self._seat.lease(*ticket.pair))
        for ticket in others:
            del self._hand[ticket.pair]
        self._round.go_to(topic)

    def history(self, words: str = "", *, limit: int = 200) -> list[Past]:
        """Give his answers that stand, latest first, those that contain the words."""
        return past_answers(self._seat, words, limit=limit)

    def reopen(self, topic: str, document: str) -> Item:
        """Give a document again that was answered before, or that was found by searching."""
        pair, answers = (topic, document), self._seat.answers(topic, document)
        held = self._hand.get(pair)
        if held is not None and held.purpose != "probe":
            return self._item(held)
        if not answers.own:
            return self.take(topic, document, "")
        self._hand.pop(pair, None)
        self._reopened[pair] = self._round.placed(topic, document, answers)
        return self._item(self._reopened[pair])

    def search(self, topic: str, words: str, *, limit: int = 50) -> list[Found]:
        """Search the whole collection for a topic."""
        return searched(self._seat, self._work, topic, words, limit=limit)

    def take(self, topic: str, document: str, words: str) -> Item:
        """Put a found document into the pool, as found by search, lease it and give it."""
        self._round.known(topic)
        if stored_document(self._store, document) is None:
            raise UnknownName("document", document, ids_near(self._store, document))
        entry, answers = Entry(document, 0), self._seat.answers(topic, document)
        with self._store.write():
            if is_blocked(self._seat, topic, entry, replace(answers, graded=frozenset())):
                raise InputError(f"somebody else is judging {quoted(document)} at the moment")
            self._work.add(topic, document, assessor=self.assessor, words=words, now=now())
            held = leased(self._seat, Ticket(topic, entry, 1, 1, self._work.purpose, answers, None))
        if self._round.line is not None and self._round.line.topic == topic:
            self._round.line = self._round.load(topic)
        self._hand[held.pair] = replace(self._round.placed(topic, document, answers), until=held.until)
        self._round.count(topic)
        return self._item(self._hand[held.pair])

    def progress(self) -> Done:
        """Say how far he is; what others did since shows when the topics are looked at again."""
        if self._round.roles.keys() - self._round.counts.keys():
            self._round.count_all()
        counts = [self._told(topic) for topic in self._round.roles]
        seconds = median(self._seconds) if self._seconds else None
        return Done(sum(count.done for count in counts), sum(count.of for count in counts), self._today, seconds)

    def recounted(self, item: Item) -> Item:
        """Give an open document with what is left of its topic now."""
        told = self._told(item.topic.id)
        return replace(item, left=told.left, of=max(told.of, item.position))

    # The sitting

    def older(self) -> int:
        """Give how many of his grades here were given under an older version; none while he gives them again."""
        if self._work.purpose == "rejudge":
            return 0
        return older_now(self._store, layer=self._seat.layer, assessor=self.assessor)

    def outdated(self) -> str:
        """Say what was changed since the sitting began; it goes on under what the assessor was shown."""
        changed = [
            what
            for what, known, now_known in (
                ("scale", self._scale_version, current_scale(self._store)[0]),
                ("guidelines", self._guidelines_version, current_guidelines(self._store)[0]),
            )
            if known != now_known
        ]
        return " and ".join(f"the {what}" for what in changed)

    def keep(self, item: Item) -> None:
        """Renew the lease of the document that is being read, unless another has it by now."""
        held = self._hand.get((item.topic.id, item.document.id))
        if held is None or held.until is None:
            return
        with self._store.write():
            blocked = is_blocked(self._seat, held.topic, held.entry, held.known)
            renewed = None if blocked else leased(self._seat, held)
        if renewed is not None:
            self._hand[held.pair] = renewed

    def leave(self) -> None:
        """Give back all leases: the sitting is over."""
        with self._store.write():
            release_session(self._store, self._seat.session)
        self._hand.clear()

    def waiting(self) -> Held | None:
        """Give the documents of all topics that somebody has at the moment and that may still come to him."""
        held = list(self._round.held().values())
        documents, own = sum(one.documents for one in held), sum(one.own for one in held)
        return Held(documents, min(one.seconds for one in held), own) if held else None
