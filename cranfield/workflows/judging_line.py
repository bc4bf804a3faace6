"""The documents of one topic that lie before one assessor, and how they are leased to him."""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from cranfield.judge.assignment import Role
from cranfield.judge.events import Purpose
from cranfield.judge.queue import NOTHING, Answers, Count, Entry, State, count_of, may_lease
from cranfield.workflows.judging_work import Work
from cranfield.store import Store
from cranfield.store.answers import answers_of_document, answers_of_topic
from cranfield.store.leases import Lease, leases_of_document, live_leases, put_lease

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
