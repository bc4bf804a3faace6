"""The organiser's view: how far each topic and each assessor is, how fast it goes, and what is left."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cranfield.judge.events import MAIN, WITH_GRADE
from cranfield.judge.queue import NOTHING, Answers, Entry, Order
from cranfield.workflows.judging_line import Seat, count_topic
from cranfield.workflows.judging_work import PoolWork, QueueWork, Work
from cranfield.workflows.watching import moment
from cranfield.store import Store
from cranfield.store.answers import answers_of_topic
from cranfield.store.assignments import assigned, planned_overlap
from cranfield.store.leases import Lease, live_leases
from cranfield.store.pace import (
    Refusal,
    counts_by_assessor,
    last_seen,
    older_now,
    postponed_by_topic,
    refusals,
    seconds_by_assessor,
)
from cranfield.store.packets import PACKET, packet_facts
from cranfield.store.pools import facts_of_pool
from cranfield.store.queues import queue_named

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """One topic: its documents, how many have a grade, and how many answers are missing, second ones included."""

    topic: str
    primary: str
    documents: int
    judged: int
    missing: int
    postponed: int
    cannot: int
    leased: int


@dataclass(frozen=True, slots=True)
class AssessorProgress:
    """One assessor: what he answered, his median seconds, and what is left of the topics he was given.

    `hours` are those at his own speed; None where it is not known yet, or nothing was given to him.
    """

    assessor: str
    judged: int
    cannot: int
    postponed: int
    seconds: float | None
    left: int | None
    hours: float | None
    last: str


@dataclass(frozen=True, slots=True)
class JudgingProgress:
    """How a pool or a queue is judged in one layer; `older` grades in it were given under an older version.

    That is an older scale, or older guidelines.
    """

    name: str
    layer: str
    topics: tuple[TopicProgress, ...]
    assessors: tuple[AssessorProgress, ...]
    refusals: tuple[Refusal, ...]
    leases: tuple[Lease, ...]
    seconds: float | None
    older: int = 0

    @property
    def hours(self) -> float | None:
        """The hours of attention that are left, at the median speed of all."""
        return None if self.seconds is None else self.missing * self.seconds / _HOUR

    @property
    def missing(self) -> int:
        """How many answers are missing."""
        return sum(topic.missing for topic in self.topics)

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return sum(topic.documents for topic in self.topics)

    @property
    def judged(self) -> int:
        """How many documents have a grade."""
        return sum(topic.judged for topic in self.topics)


def judging_progress(store: Store, *, pool: str = "", queue: str = "", layer: str = "") -> JudgingProgress:
    """Read how far judging is, as of one moment."""
    with store.snapshot():
        work, name, layer = _work(store, pool, queue, layer)
        leases = live_leases(store, layer, moment=moment())
        seconds = seconds_by_assessor(store, layer)
        together = [value for values in seconds.values() for value in values]
        given = {one.topic: one.assessor for one in assigned(store) if one.role == "primary"}
        return JudgingProgress(
            name,
            layer,
            tuple(_topics(store, work, layer, leases, given)),
            tuple(_assessors(store, work, layer, seconds)),
            tuple(refusals(store, layer)),
            tuple(leases),
            median(together) if together else None,
            older_now(store, layer=layer),
        )


def _work(store: Store, pool: str, queue: str, layer: str) -> tuple[Work, str, str]:
    """Give what is judged: a queue, a pool, and in a packet, where neither is named, its own queue."""
    if not (queue or pool) and packet_facts(store) is not None:
        queue = PACKET
    if queue:
        facts = queue_named(store, queue)
        return QueueWork(store, facts, Order(), planned_overlap(store)), facts.name, layer or facts.layer
    pooled = facts_of_pool(store, pool)
    return PoolWork(store, pooled, Order(), planned_overlap(store)), pooled.name, layer or MAIN


def _topics(
    store: Store, work: Work, layer: str, leases: Sequence[Lease], primaries: dict[str, str]
) -> list[TopicProgress]:
    out = Counter(lease.topic for lease in leases)
    put_off = postponed_by_topic(store, layer)
    made = []
    for topic in work.topics():
        answers = answers_of_topic(store, layer, topic, assessor="")
        pairs = [(entry, answers.get(entry.document, NOTHING)) for entry in work.members(topic)]
        made.append(
            TopicProgress(
                topic,
                primaries.get(topic, ""),
                documents=len(pairs),
                judged=sum(bool(known.graded) or known.decided for _, known in pairs),
                missing=sum(_missing(entry, known) for entry, known in pairs),
                postponed=put_off.get(topic, 0),
                cannot=sum(known.refused for _, known in pairs),
                leased=out[topic],
            )
        )
    return made


def _missing(entry: Entry, known: Answers) -> int:
    return 0 if known.decided else max(entry.needed - len(known.graded), 0)


def _assessors(store: Store, work: Work, layer: str, seconds: dict[str, list[float]]) -> list[AssessorProgress]:
    given = assigned(store)
    counts: dict[str, Counter[str]] = {one.assessor: Counter() for one in given}
    for name, kind, count in counts_by_assessor(store, layer):
        counts.setdefault(name, Counter())["judged" if kind in WITH_GRADE else kind] += count
    seen, named, made = last_seen(store), {one.assessor for one in given}, []
    for name in sorted(counts):
        usual = median(seconds[name]) if seconds.get(name) else None
        left = _left(store, work, layer, name) if name in named else None
        hours = None if usual is None or left is None else left * usual / _HOUR
        told = counts[name]["judged"], counts[name]["cannot-judge"], counts[name]["postponed"]
        made.append(AssessorProgress(name, *told, usual, left, hours, seen.get(name, "")))
    return made


def _left(store: Store, work: Work, layer: str, assessor: str) -> int:
    seat = Seat(store, assessor, layer, "", 0.0, moment)
    roles = {topic: role for topic, role in work.roles(assessor).items() if role != "anyone"}
    counts = [count_topic(seat, work, topic, role) for topic, role in roles.items()]
    return sum(count.of - count.done for count in counts)
