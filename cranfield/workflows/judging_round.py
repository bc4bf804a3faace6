"""The way of one assessor through his topics: which document comes next, and how far he is."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from cranfield.errors import UnknownName
from cranfield.judge.assignment import Role, topics_in_turn
from cranfield.judge.events import Event
from cranfield.judge.probes import choose_probe, falls_due, probes_to_come
from cranfield.judge.queue import Answers, Count, Entry
from cranfield.workflows.desk import Held
from cranfield.workflows.judging_line import Line, Pair, Seat, Ticket, count_topic, leased, load_line, pick
from cranfield.workflows.judging_work import Work
from cranfield.store.answers import changes_of_others, judged_in_turn, latest_topic, probed
from cranfield.store.assignments import planned_probes
from cranfield.store.leases import live_leases

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
