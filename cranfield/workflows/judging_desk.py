"""The assessor's seat over a collection file: what he is given, and how each answer is kept."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from statistics import median
from uuid import uuid4

from cranfield.errors import InputError, UnknownName, quoted
from cranfield.judge.events import Event, Evidence, Kind
from cranfield.judge.queue import Answers, Count, Entry
from cranfield.records import Document, Topic
from cranfield.workflows.desk import Answer, Done, Found, Held, Item, Past, Saved, TopicState
from cranfield.workflows.judging_line import Pair, Seat, Ticket, is_blocked, leased
from cranfield.workflows.judging_past import answer_of, past_answers, searched
from cranfield.workflows.judging_round import Round
from cranfield.workflows.judging_work import Work
from cranfield.workflows.watching import now, start_of_today
from cranfield.store.answers import pace_of
from cranfield.store.documents import document as stored_document
from cranfield.store.documents import ids_near
from cranfield.store.events import append_events, event_with_uuid, latest_answer
from cranfield.store.leases import leases_of_document, release_lease, release_session
from cranfield.store.pace import older_now
from cranfield.store.scales import current_guidelines, current_scale, other_scales
from cranfield.store.topics import topics as stored_topics

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
