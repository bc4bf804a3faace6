"""Judging sessions over a collection file: the next document, and how each answer is saved."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from shlex import quote
from statistics import median
from typing import Any
from uuid import uuid4

from cranfield.base.errors import CollectionMoved, InputError, UnknownName, UsageError, check_known, quoted
from cranfield.base.records import Document, GradeScale, Pair, Topic
from cranfield.base.registry import deferred
from cranfield.base.text import counted, moment, now, start_of_today
from cranfield.judge import queue as rules
from cranfield.judge.events import WITH_GRADE, Event, Evidence, Kind
from cranfield.judge.queue import Answers, Count, Entry
from cranfield.judge.session import (
    HISTORY_LIMIT,
    Answer,
    HistoryEntry,
    Item,
    Saved,
    SearchHit,
    SessionProgress,
    TopicState,
)
from cranfield.store import Store, documents, events, judging
from cranfield.store.events import Found
from cranfield.workflows.judge.queue import LeasedEntry, Queue, Source, choose_source, parts_of

with deferred:
    from cranfield.workflows import outside
    from cranfield.workflows.judge import packets

NOWHERE = "it is in no corpus of this collection; judge it only if you can read it elsewhere"
"""The title of a document that was pooled, but whose text nobody has loaded."""

AHEAD = 4
"""How many documents that stay outside are fetched ahead, while the one before them is read."""

COMPARING_SECONDS = 0.2
"""How long a document that is kept here may wait to be compared with its source."""

MORE_OVERLAP = 0.2
"""The overlap that is proposed, beyond what is planned, for an assessor with nothing to do."""

OTHER_NOW = "its source has another text by now; this is the one that was judged"
CHANGED_SINCE = "its text has changed since you judged it"

_LONGEST_NAME = 80
_SEARCH_LIMIT = 50
_RECENT = 100


def checked_name(store: Store, assessor: str) -> str:
    """An assessor's name as it is known here, whatever its capitals; one that no person can have is refused."""
    name = assessor.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{quoted(assessor)} is not a valid assessor name; use one line of 1 to {_LONGEST_NAME} characters"
        )
    known = events.assessors(store)
    if name not in known:
        people = {other.casefold(): other for other, kind in known.items() if kind == "person"}
        name = people.get(name.casefold(), name)
    if known.get(name, "person") != "person":
        raise InputError(f"{quoted(name)} is the name of a source of judgments, not of a person; choose another name")
    return name


class Judging:
    """An assessor or external judge at work in a layer: with the versions of scale and guidelines, and a session."""

    def __init__(self, store: Store, assessor: str, layer: str, session: str) -> None:
        self._store, self.assessor, self._layer, self._session = store, assessor, layer, session
        self._scale_version, self._guidelines_version = store.versions()
        self.scale, self.guidelines, self._other_scales = store.scale(), store.guidelines(), store.other_scales()
        self._topics = {topic.id: topic for topic in documents.topics(store)}
        self._outside = outside.Outside(store) if documents.outside_sources(store) else None
        self._recorded: list[Event] = []

    def rescue(self) -> str:
        """Write the answers of this session into a packet of its own, when the collection is gone; say where."""
        return packets.write_recovery(self._store, self._recorded) if self._recorded else ""

    @contextmanager
    def _recording(self, event: Event, document: Document | None = None) -> Iterator[None]:
        """The transaction in which the caller appends an event. What a file that is gone has got is not lost.

        A document that stays outside is kept as it was judged.
        """
        try:
            with self._store.write():
                if self._outside is not None and document is not None and event.grade is not None:
                    documents.keep(self._store, [document])
                yield
        except CollectionMoved:
            self._recorded.append(event)
            raise
        self._recorded.append(event)

    def _topic(self, name: str) -> Topic:
        return self._topics.get(name) or Topic(name, "")

    def _document(self, name: str) -> tuple[Document, str, bool]:
        """A document, what is to be said of its text, and whether that is missing.

        What was judged is shown as it was then, whatever its source has now.
        """
        held = documents.fetch(self._store, name)
        if held is None:
            found = self._outside.find(name) if self._outside else None
            if isinstance(found, Document):
                return found, "", False
            return Document(name, ""), found.reason if found else NOWHERE, found is not None
        if self._outside is not None and self._outside.is_approved and documents.is_kept(self._store, name):
            now_there = self._outside.find(name, patience=COMPARING_SECONDS)
            if isinstance(now_there, Document) and now_there.content_hash != held.content_hash:
                return held, OTHER_NOW, False
        return held, "", False

    def _refuse_unfit(self, item: Item, grade: int) -> None:
        self.scale.named(grade)
        if item.missing:
            raise InputError(f"document {quoted(item.document.id)} was not shown: it could not be fetched")

    def _event(self, kind: Kind, topic: str, document: str, **content: Any) -> Event:
        """A new event, with all that is the same for the whole session."""
        return Event(
            uuid=str(uuid4()),
            kind=kind,
            topic=topic,
            document=document,
            assessor=self.assessor,
            happened=now(),
            layer=self._layer,
            scale=self._scale_version,
            guidelines=self._guidelines_version,
            session=self._session,
            **content,
        )


class StoredSession(Judging):
    """One assessor's session over one collection; see `judge.session.JudgingSession` for what each word means.

    What the assessor has open is leased to this session. `next_item` gives the same document until it is answered.
    Each answer is one transaction, which leases the next document of the topic too: one commit for each key. What is
    kept in memory changes only after the commit, so that an answer that failed (a full disk) can be given again.
    """

    def __init__(self, source: Source, assessor: str, *, clock: Callable[[], float] = moment) -> None:
        """Begin to judge what a source has; the assessor becomes known to the collection."""
        super().__init__(source.store, assessor, source.layer, uuid4().hex)
        with self._store.write():
            events.add_assessor(self._store, assessor)
            judging.forget_expired(self._store, clock())
        self.source, self._queue = source, Queue(source, assessor, self._session, clock=clock)
        self._open: dict[Pair, LeasedEntry] = {}
        self._answered: list[tuple[Event, LeasedEntry]] = []
        today = start_of_today()
        self._today, seconds = judging.pace_of(self._store, assessor=self.assessor, since=today, limit=_RECENT)
        self._seconds = deque(seconds, maxlen=_RECENT)

    # The way of the documents

    def next_item(self) -> Item | None:
        """The document that is open, else the next one of the topic, else of the next topic, leased."""
        queue = self._queue
        while True:
            for item in list(self._open.values()):
                renewed: LeasedEntry | None = item
                if item.until is not None and item.until <= queue.clock():
                    # A lease that has run out is renewed where nobody else has the document now.
                    with self._store.write():
                        renewed = None if queue.is_gone(item, queue.answers(*item.pair)) else queue.lease(item)
                if renewed is not None:
                    self._open[item.pair] = renewed
                    if self._outside is not None:
                        # Those after it are fetched while it is read.
                        coming = queue.current.waiting[: AHEAD + 1] if queue.current is not None else ()
                        self._outside.want([renewed.entry.document, *(entry.document for entry in coming)])
                    return self._item(renewed)
                del self._open[item.pair]
            following = None
            if queue.current is not None:
                with self._store.write():
                    following = queue.next(owed=queue.owed, deferred=queue.deferred)
            if following is not None:
                self._keep_open(following)
            elif not queue.move_on():
                return None

    def _keep_open(self, item: LeasedEntry) -> None:
        self._open[item.pair] = item
        self._queue.owed -= item.is_probe

    def _item(self, item: LeasedEntry, *, before: Answer | None = None) -> Item:
        topic, (document, remark, missing) = self._topic(item.topic), self._document(item.entry.document)
        if before is None and item.known.own and not item.is_probe and (said := self._latest_answer(item.pair)):
            before = answer_of(said, self._other_scales)
            if said.grade is not None and said.document_hash not in ("", document.content_hash) and not missing:
                remark = CHANGED_SINCE
        left, written = self._count(item.topic).left, (self._store, self._layer, self.assessor, *item.pair)
        note = "" if item.is_probe else events.note_without_answer(*written)
        return Item(topic, document, item.position, item.of, left, before, remark, missing, note=note)

    def _latest_answer(self, pair: Pair) -> Event | None:
        return next(events.latest_answers(self._store, self._layer, assessor=self.assessor, pair=pair), None)

    def _count(self, topic: str) -> Count:
        """The progress of a topic as the assessor sees it, probes included.

        A probe counts as one more document from the beginning, so that it cannot be noticed by the count.
        """
        queue, coming = self._queue, 0
        count, answered = queue.counts.get(topic) or queue.count(topic), queue.probed[topic]
        if not queue.probes.share:
            return count
        open_probes = [one.entry.document for one in self._open.values() if one.is_probe and one.topic == topic]
        if (current := queue.loaded(topic)) is not None:
            left = [entry for entry in current.entries.values() if entry.document in current.open]
            due = [queue.makes_probe_due(topic, entry) for entry in left]
            judged, before = judging.judged_and_probed(self._store, self._layer, topic, assessor=self.assessor)
            probed = len(before.union(open_probes))
            coming = rules.probes_to_come(queue.probes, due, owed=queue.owed, judged=len(judged), probed=probed)
        return replace(count, done=count.done + answered, of=count.of + answered + coming + len(open_probes))

    # Answers

    def note(self, item: Item, text: str) -> None:
        """Record a remark without judging."""
        leased = self._open.get(item.pair) or self._queue.placed(*item.pair)
        event = self._about(item, leased, "noted", note=text)
        with self._recording(event):
            events.append_events(self._store, [event])

    def undo(self) -> Item | None:
        """Take the latest answer of this session back and give its document again, leased.

        A document that was postponed or refused is open to others at once: where one of them has it by now, or has
        judged it, the answer stays, and the next undo goes to the answer before it.
        """
        if not self._answered:
            return None
        (undone, answered), queue = self._answered[-1], self._queue
        item = self._item(answered, before=answer_of(undone, self._other_scales))
        event = self._about(item, answered, "undone", undoes=undone.uuid)
        with self._recording(event):
            events.append_events(self._store, [event])
            known = queue.answers(*answered.pair)
            given_up = undone.grade is None and known.own in ("", "postponed")
            if given_up and queue.is_gone(answered, known):
                self._answered.pop()
                raise InputError(f"another assessor has taken over {quoted(item.document.id)}")
            again = queue.lease(replace(answered, known=known))
        self._answered.pop()
        self._open = {again.pair: again} | {pair: one for pair, one in self._open.items() if pair != again.pair}
        self._today -= undone.kind != "postponed"
        queue.deferred.discard(again.pair)
        queue.probed[again.topic] -= again.is_probe
        if not again.is_probe and (current := queue.loaded(again.topic)):
            current.open.add(again.entry.document)
        queue.count(again.topic)
        return replace(item, left=self._count(again.topic).left)

    def _about(
        self, item: Item, leased: LeasedEntry, kind: Kind, seconds: float | None = None, **content: Any
    ) -> Event:
        return self._event(
            kind,
            *item.pair,
            purpose=leased.entry.purpose,
            seconds=seconds if seconds is not None and isfinite(seconds) and seconds >= 0 else None,
            document_hash="" if item.missing else item.document.content_hash,
            order=self.source.order,
            position=item.position,
            **content,
        )

    def judge(
        self,
        item: Item,
        grade: int | None,
        *,
        seconds: float,
        note: str = "",
        evidence: Sequence[Evidence] = (),
        reason: str = "",
    ) -> Saved:
        """Record an answer and lease what comes next, in one transaction.

        A document that is put off goes to the end of its topic; one that was put off before waits until nothing else
        is left. One that cannot be judged may still be judged by others.
        """
        if grade is not None:
            self._refuse_unfit(item, grade)
        kind: Kind = "judged" if grade is not None else "cannot-judge" if reason else "postponed"
        said = {"grade": grade, "note": note, "evidence": tuple(evidence), "reason": reason}
        queue = self._queue
        leased = self._open.get(item.pair) or queue.placed(*item.pair)
        event = self._about(item, leased, kind, seconds, **said)
        pair, topic = leased.pair, leased.topic
        has_more = any(other != pair for other in self._open)
        makes_due = event.kind == "judged" and queue.makes_probe_due(topic, leased.entry)
        owed, deferred = queue.owed + makes_due, queue.deferred
        if event.kind == "postponed":
            owed += leased.is_probe
            current = queue.loaded(topic)
            # Postponed again, or the last one of its topic: it waits until nothing else is left.
            if leased.known.own or current is None or not current.has_work({*deferred, pair}):
                deferred = deferred | {pair}
        with self._recording(event, item.document):
            before = queue.answers(*pair)
            late = self._is_late(leased, before)
            events.append_events(self._store, [event])
            judging.release_leases(self._store, queue.session, pair=pair)
            following = None if has_more else queue.next(owed=owed, deferred=deferred)
        queue.owed, queue.deferred = owed, deferred
        queue.made_due.update([pair] if makes_due else [])
        self._open.pop(pair, None)
        if following is not None:
            self._keep_open(following)
        self._answered.append((event, replace(leased, late=late)))
        if not leased.is_probe:
            role, after = queue.role(topic), queue.answers(*pair)
            was, is_now = (
                rules.state_of(leased.entry, known, role, self.source.versions) for known in (before, after)
            )
            if topic in queue.counts:
                queue.counts[topic] = queue.counts[topic].after(was, is_now)
            if is_now == "done" and (current := queue.loaded(topic)):
                current.open.discard(leased.entry.document)
        if event.kind != "postponed":
            queue.probed[topic] += leased.is_probe
            self._today += 1
            self._seconds.extend(() if event.seconds is None else (event.seconds,))
        return Saved(item, answer_of(event, self._other_scales), late)

    def _is_late(self, leased: LeasedEntry, before: Answers) -> bool:
        """Whether the lease had run out and the document was judged meanwhile, inside `store.write()`."""
        if leased.late:
            return True
        if leased.until is None or leased.entry.purpose in ("probe", "rejudge"):
            return False
        if any(one.session == self._queue.session for one in self._queue.leases(*leased.pair)):
            return False
        others = before.graded != leased.known.graded and len(before.graded) >= leased.entry.needed
        return others or before.own_event != leased.known.own_event

    # Topics, history, searching

    def topics(self) -> list[TopicState]:
        """The topics of the assessor in the order of judging, as they stand now."""
        queue = self._queue
        counts = {topic: self._count(topic) for topic in queue.count_all()}
        held, states = queue.held(), []
        for name in queue.topics_in_turn(skip=[topic for topic, count in counts.items() if not count.of]):
            count = counts[name]
            states.append(TopicState(self._topic(name), count.done, count.of, count.postponed, held.get(name)))
        return states

    def choose_topic(self, topic: str) -> None:
        """Go on with this topic; what is open of others goes back."""
        queue = self._queue
        check_known("topic assigned to you", [topic], queue.roles)
        with self._store.write():
            for pair in self._open:
                if pair[0] != topic:
                    judging.release_leases(self._store, queue.session, pair=pair)
        self._open = {pair: item for pair, item in self._open.items() if item.topic == topic}
        # What was postponed there comes up again.
        queue.finished.discard(topic)
        queue.deferred = {pair for pair in queue.deferred if pair[0] != topic}
        queue.current = queue.load(topic)
        queue.counts[topic] = queue.current.count

    def history(self, words: str = "") -> list[HistoryEntry]:
        """The answers that stand, whose topic, document, title or note has all the words.

        The latest come first, but before all others a document whose id is one of the words.
        """
        wanted, older = words.casefold().split(), self._store.other_scales()
        found: list[HistoryEntry] = []
        for event in events.latest_answers(self._store, self._layer, assessor=self.assessor):
            if len(found) == HISTORY_LIMIT:
                break
            title = documents.title_of(self._store, event.document) or ""
            text = "\n".join([event.topic, event.document, title, event.note, event.reason]).casefold()
            if all(word in text for word in wanted):
                found.append(HistoryEntry(event.topic, event.document, title, answer_of(event, older)))
        return sorted(found, key=lambda line: line.document.casefold() not in wanted)

    def reopen(self, topic: str, document: str, words: str = "") -> Item:
        """Open a document again that was answered before; or put a found one into the pool, lease it and give it."""
        item, queue, source = self._open.get(pair := (topic, document)), self._queue, self.source
        if item is not None and not item.is_probe and not words:
            return self._item(item)
        entry, answers = Entry(document), queue.answers(topic, document)
        if answers.own and not words:
            self._open.pop(pair, None)
            return self._item(queue.placed(topic, document))
        if documents.unknown(self._store, [document]):
            raise UnknownName("document", document, documents.ids_near(self._store, document))
        with self._store.write():
            if queue.blocking(topic, entry, replace(answers, graded=frozenset())) is not None:
                raise InputError(f"another assessor is judging {quoted(document)} at the moment")
            # What the pool has stays the pool's, and a draft topic keeps no list of what was found.
            pooled = source.pool is not None and any(
                one.document == document and one.purpose != "search" for one in source.entries(topic)
            )
            if source.purpose != "try" and not pooled:
                events.add_found(self._store, Found(topic, document, self.assessor, words, now()))
            until = queue.lease(LeasedEntry(topic, entry, 1, 1, answers)).until
        if queue.loaded(topic):
            queue.current = queue.load(topic)
        self._open[pair] = leased = replace(queue.placed(topic, document), until=until)
        queue.count(topic)
        return self._item(leased)

    def search(self, topic: str, words: str) -> list[SearchHit]:
        """Search the whole collection; each hit says whether it is judged by this assessor, or will be judged."""
        if self._outside is not None and not documents.count(self._store):
            raise InputError(outside.NO_SEARCH)
        older, hits = self._store.other_scales(), list[SearchHit]()
        pooled = {entry.document for entry in self.source.entries(topic)}
        pooled |= {one.document for one in events.finds(self._store, topic)}
        for hit in documents.search(self._store, words, limit=_SEARCH_LIMIT):
            said = self._latest_answer((topic, hit.document))
            shown = SearchHit(hit.document, hit.title, hit.snippet, "pooled" if hit.document in pooled else "new")
            if said is not None and said.grade is not None:
                shown = replace(shown, state="judged", grade=None if said.scale in older else said.grade)
            hits.append(shown)
        return hits

    def progress(self) -> SessionProgress:
        """How far the assessor is; what others did since shows when the topics are looked at again."""
        if self._queue.roles.keys() - self._queue.counts.keys():
            self._queue.count_all()
        counts = {topic: self._count(topic) for topic in self._queue.roles}
        seconds = median(self._seconds) if self._seconds else None
        done, of = sum(count.done for count in counts.values()), sum(count.of for count in counts.values())
        live = self.source.live_queue
        return SessionProgress(done, of, self._today, seconds, "" if live is None else live.decided, counts)

    def older(self) -> int:
        """How many grades here were given under an older version; none while they are given again."""
        if self.source.purpose == "rejudge":
            return 0
        return judging.older_than(self._store, layer=self._layer, assessor=self.assessor)

    def keep(self, item: Item | None) -> str:
        """Renew the lease of the document that is being read, unless another has it by now.

        Says what was changed since the session began; it goes on under what the assessor was given.
        """
        leased = self._open.get(item.pair) if item is not None else None
        if leased is not None and leased.until is not None:
            with self._store.write():
                is_free = self._queue.blocking(leased.topic, leased.entry, leased.known) is None
                renewed = self._queue.lease(leased) if is_free else leased
            self._open[leased.pair] = renewed
        scale, guidelines = self._store.versions()
        changed = {
            "the scale": scale != self._scale_version,
            "the guidelines": guidelines != self._guidelines_version,
        }
        return " and ".join(filter(changed.get, changed))

    def leave(self) -> None:
        """Give back all leases: the session is over."""
        with self._store.write():
            judging.release_leases(self._store, self._queue.session)
        self._open.clear()

    def beyond(self) -> list[str]:
        """What is left to judge beside this session, by whom, and how the assessor could get some of it."""
        source, told = replace(self.source, only=()), list[str]()
        if judging.packet_facts(self._store) is not None:
            return ["send this packet back to the organiser, who merges it"]
        if source.purpose not in ("pool", "queue"):
            return told
        roles, name = source.roles(self.assessor), quote(self.assessor)
        own = sum(source.count(topic, roles[topic], assessor=self.assessor).left for topic in roles)
        if (more := own - self.progress().left) > 0:
            told.append(f"{counted(more, 'document')} left for you in topics that --topic left out")
        if parts := parts_of(source, but=self.assessor):
            theirs = (topic for topic in source.topics() if roles.get(topic, "second") == "second")
            if topic := next(filter(source.missing, theirs), ""):
                whose = (one for one in judging.assigned(self._store) if one.topic == topic)
                sharing = (quote(one.assessor) for one in sorted(whose, key=lambda one: one.role))
                several = " ".join(dict.fromkeys([*sharing, name]))
                parts += "; the organiser can let you share a topic: "
                parts += f"{self._store.command} judge assign {several} --topic {quote(topic)} --together"
            told.append(f"left to others: {parts}")
        for queue in judging.queue_names(self._store) if source.purpose == "pool" else ():
            listed = choose_source(self._store, queue=queue)
            mine = listed.roles(self.assessor).items()
            if left := sum(listed.count(topic, role, assessor=self.assessor).left for topic, role in mine):
                judge = f"{self._store.command} judge --queue {quote(queue)}"
                told.append(f"{counted(left, 'document')} left for you in the queue {queue}: {judge}")
        others = sorted({quote(one) for _, one, _ in judging.graded_by(self._store)} - {name})
        is_new = source.purpose == "pool" and not judging.own_topics(self._store, self._layer, self.assessor)
        if others and is_new and not told:
            overlap = f"--overlap {min(source.overlap.share + MORE_OVERLAP, 1):.0%} --again"
            again = f"{self._store.command} judge assign {' '.join(others)} {name} {overlap}"
            told.append(f"others have judged everything; the organiser can have more of it judged twice: {again}")
        return told


def answer_of(event: Event, older: Mapping[int, GradeScale]) -> Answer:
    """What an event says, as the assessor sees it; the reason of a refusal stands as its note.

    `older` are the versions of the scale that say something else than the present one.
    """
    kind = "judged" if event.kind in WITH_GRADE - {"adjudicated"} else event.kind
    note = event.note or event.reason
    return Answer(kind, event.grade, note, event.evidence, event.uuid, event.happened, older.get(event.scale))
