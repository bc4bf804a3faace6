"""Who judges what next: assignment of topics, overlap, consistency probes, topic development."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Literal

from cranfield.base.errors import UsageError
from cranfield.base.text import counted
from cranfield.judge.events import Purpose

# Random draws: a hash of seed, purpose, topic and document, reproducible on every machine.


def draw(seed: int, purpose: str, topic: str, document: str) -> float:
    r"""The random number of a document, from 0 up to 1, for one purpose.

    The first eight bytes, big-endian, of SHA-256 over `cranfield-draw-1\n`, the seed in decimal digits, `\n`, the
    purpose, `\n`, the topic, `\n`, the document, divided by 2^64, as in sampled pools. A document keeps its number
    whatever other documents there are, so a growing pool keeps its draws.
    """
    words = f"cranfield-draw-1\n{seed}\n{purpose}\n{topic}\n{document}"
    return int.from_bytes(sha256(words.encode()).digest()[:8], "big") / 2**64


# Who judges which topic, and which documents are judged by several assessors.

Role = Literal["primary", "share", "second", "anyone"]
"""What an assessor is to a topic.

primary: judges all its documents, and where assessors differ the primary's grade takes precedence. share: helps with
all of them. second: judges those planned for more than one, and those that another could not judge. anyone: nobody is
assigned to the topic, so everybody may judge it.
"""

_RANKS: Mapping[Role, int] = {"primary": 0, "share": 1, "second": 2, "anyone": 3}


@dataclass(frozen=True)
class Overlap:
    """The planned overlap: the share of documents judged by several assessors, and by how many each."""

    share: float = 0.0
    by: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"overlap must be between 0% and 100%, not {self.share:.0%}")
        if self.by < 2:
            raise UsageError(f"an overlap needs at least two assessors per document, not {self.by}")

    def needed(self, topic: str, document: str) -> int:
        """How many assessors are to judge a document.

        It depends on seed, topic and document alone: a pool that grows keeps what was planned before.
        """
        return self.by if self.share and draw(self.seed, "overlap", topic, document) < self.share else 1


@dataclass(frozen=True, order=True)
class Assigned:
    """One topic assigned to one assessor."""

    topic: str
    assessor: str
    role: Role


def equal_shares(
    sizes: Mapping[str, int], assessors: Sequence[str], *, seconds: int = 0, kept: Mapping[str, str] | None = None
) -> list[Assigned]:
    """Give every topic to one of the assessors, so that all have about as many documents.

    The largest topic first, always to whoever has least (Graham's rule); ties go by the order of names and topics.
    Each topic gets `seconds` second assessors as well: those who follow in the circle of names, a step further each
    time round, so that everybody is compared with everybody. `kept` is who stays primary of a topic: where that is
    none of the assessors, one of them shares what is left of it.
    """
    check_names(assessors, seconds=seconds)
    stays = kept or {}
    load = dict.fromkeys(assessors, 0)
    topics_of = dict.fromkeys(assessors, 0)
    made = []
    for topic in sorted(sizes, key=lambda name: (stays.get(name) not in load, -sizes[name])):
        primary = stays.get(topic, "")
        chosen = primary if primary in load else min(load, key=lambda name: (load[name], topics_of[name]))
        made.append(Assigned(topic, primary or chosen, "primary"))
        place = assessors.index(chosen)
        circle = [*assessors[place + 1 :], *assessors[:place]]
        start = topics_of[chosen] * seconds % len(circle) if circle else 0
        others = [*circle[start:], *circle[:start]]
        if primary and primary not in load:
            others = [*others, chosen]
            made += [Assigned(topic, others.pop(), "share")] if sizes[topic] else []
        made += [Assigned(topic, name, "second") for name in others[:seconds]]
        load[chosen] += sizes[topic]
        topics_of[chosen] += 1
    return sorted(made)


def together(
    topics: Sequence[str], assessors: Sequence[str], *, kept: Mapping[str, str] | None = None
) -> list[Assigned]:
    """Give the topics to all of the assessors: the first is primary, unless another is `kept`; the rest share."""
    check_names(assessors)
    primaries = dict.fromkeys(topics, assessors[0]) | dict(kept or {})
    made = [Assigned(topic, name, "primary") for topic, name in primaries.items()]
    shares = ((topic, name) for topic, primary in primaries.items() for name in assessors if name != primary)
    return sorted([*made, *(Assigned(*share, "share") for share in shares)])


def check_names(assessors: Sequence[str], *, seconds: int = 0) -> None:
    """Refuse no names, a name given twice, and more second assessors than there are others."""
    twice = sorted({name for name in assessors if assessors.count(name) > 1})
    if not assessors:
        raise UsageError("no assessors named")
    if twice:
        raise UsageError(f"assessor named twice: {', '.join(twice)}")
    if seconds >= len(assessors):
        raise UsageError(
            f"each document in the overlap needs {seconds + 1} assessors; {len(assessors)} named: name all of them"
        )


def topics_in_turn(roles: Mapping[str, Role], busy: Mapping[str, int]) -> list[str]:
    """Put the topics an assessor may judge in the order they are judged in.

    Primary topics first, then shared ones, then those of a second assessor, then those of everybody; of these, those
    that fewest others are judging now (`busy`), so that one topic stays with one assessor where it can.
    """
    return sorted(roles, key=lambda topic: (_RANKS[roles[topic]], roles[topic] == "anyone" and busy.get(topic, 0)))


def roles_of(topics: Sequence[str], assigned: Sequence[Assigned], assessor: str) -> dict[str, Role]:
    """Topic -> role for the topics an assessor may judge; where nobody was named, everybody may."""
    own = {one.topic: one.role for one in assigned if one.assessor == assessor}
    taken = {one.topic for one in assigned}
    return {topic: own.get(topic, "anyone") for topic in topics if topic in own or topic not in taken}


State = Literal["not theirs", "done", "postponed", "open"]
"""The state of a document for one assessor, leases aside."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in the queue of a topic; `needed` says how many are to judge it."""

    document: str
    purpose: Purpose = "pool"
    needed: int = 1


@dataclass(frozen=True, slots=True)
class Answers:
    """The current answers to one document in one layer, from the point of view of one assessor.

    `own` is the kind of their own answer (empty: none) and `own_event` its number; `graded` are the others who gave a
    grade, `refused` those who cannot judge it; `decided`: it is adjudicated.
    """

    own: str = ""
    own_event: int = 0
    own_versions: tuple[int, int] = (0, 0)
    graded: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    decided: bool = False


NOTHING = Answers()


WITHOUT_GRADE = ("", "postponed", "cannot-judge")
"""The kinds of own answers that have no grade."""


def state_of(entry: Entry, answers: Answers, role: Role, versions: tuple[int, int] | None = None) -> State:
    """The state of a document for an assessor.

    A second assessor judges the overlap, and what another could not judge. A document is done when they have
    answered, when as many others as needed have, or when it is adjudicated. With `versions`, those of scale and
    guidelines, their own judgments of older ones are to be repeated.
    """
    if versions is not None and answers.own in WITHOUT_GRADE:
        return "not theirs"
    if versions is not None:
        return "done" if answers.own_versions == versions else "open"
    if answers.own and answers.own != "postponed":
        return "done"
    if role == "second" and entry.needed < 2 and not answers.refused:
        return "not theirs"
    if answers.decided or len(answers.graded) >= entry.needed:
        return "done"
    return "postponed" if answers.own else "open"


@dataclass(frozen=True)
class Count:
    """How many documents of a topic are for an assessor, how many are done, and how many postponed."""

    done: int = 0
    of: int = 0
    postponed: int = 0

    @property
    def left(self) -> int:
        """How many are not done."""
        return self.of - self.done

    def after(self, before: State, now: State) -> Count:
        """The count after one document went from one state to another."""
        done = self.done + (now == "done") - (before == "done")
        of = self.of - (now == "not theirs") + (before == "not theirs")
        return Count(done, of, self.postponed + (now == "postponed") - (before == "postponed"))


def count_of(states: Iterable[State]) -> Count:
    """Count documents by their state."""
    listed = list(states)
    return Count(listed.count("done"), len(listed) - listed.count("not theirs"), listed.count("postponed"))


def may_lease(entry: Entry, answers: Answers, holders: Iterable[str]) -> bool:
    """Whether one more assessor may open the document, while the `holders` have it.

    Together with those who have given a grade they must be fewer than are needed. What one judges again is one's own
    answer, whatever others said.
    """
    return entry.purpose == "rejudge" or len(answers.graded | set(holders)) < max(entry.needed, 1)


# Consistency probes: now and then an assessor is shown one of their earlier documents again, unannounced.


@dataclass(frozen=True)
class Probes:
    """The planned probes: after which share of the answers, and at least how many documents later (`after`)."""

    share: float = 0.0
    after: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 0.5:
            raise UsageError(f"the share of probes must be between 0% and 50%, not {self.share:.0%}")
        if self.after < 1:
            raise UsageError(f"a probe comes after at least 1 other document, not after {self.after}")


def falls_due(probes: Probes, assessor: str, topic: str, document: str) -> bool:
    """Whether the answer to a document makes a probe due, by a random draw."""
    return bool(probes.share) and draw(probes.seed, f"probe of {assessor}", topic, document) < probes.share


def probes_to_come(probes: Probes, due: Iterable[bool], *, owed: int, judged: int, probed: int) -> int:
    """How many probes an assessor will still see in a topic, so that the documents left do not give them away.

    `due` says for each document left, in order, whether its answer makes a probe due; `owed` are due already;
    `judged` and `probed` count the documents judged in the topic, and those shown again.
    """
    coming = 0
    for makes_due in (False, *due):
        owed += makes_due
        can_come = max(judged - probes.after, 0) - probed - coming
        shown = max(min(owed, can_come), 0)
        owed, coming, judged = owed - shown, coming + shown, judged + 1
    return coming


def choose_probe(probes: Probes, topic: str, judged: Sequence[str], *, probed: Collection[str] = ()) -> str | None:
    """Choose the probe among the documents that the assessor judged in a topic, earliest first; None: there is none.

    The last `after` of them are too fresh in memory, and no document is a probe twice; of the others one is drawn.
    """
    known = [document for document in judged[: -probes.after] if document not in probed]
    return min(known, key=lambda document: draw(probes.seed, "probe", topic, document), default=None)


# How long judging takes.


@dataclass(frozen=True)
class Speed:
    """Seconds of attention a document, and from how many judgments; 0 means that it is assumed."""

    seconds: float
    measured_on: int = 0

    def hours(self, documents: int) -> float:
        """The hours that some documents take."""
        return documents * self.seconds / 3600

    @property
    def pace(self) -> str:
        """The speed in words, and where it comes from."""
        basis = f"median of {counted(self.measured_on, 'judgment')}" if self.measured_on else "assumed, not measured"
        number = "1 second" if self.seconds == 1 else f"{self.seconds:g} seconds"
        return f"{number if self.seconds >= 1 else 'less than a second'} per document ({basis})"

    def cost(self, documents: int) -> str:
        """What some documents cost, as one who plans says it: about 12 minutes, about 3.5 hours, at which speed."""
        hours = self.hours(documents)
        time = f"about {hours:,.1f} hours" if hours >= 1 else f"about {counted(round(60 * hours), 'minute')}"
        return f"{'less than a minute' if hours * 60 < 1 else time} at {self.pace}"


# Topic development: which hits of a draft topic its author judges, and the estimated number of relevant documents.

STRATA = ((1, 10, 10), (11, 40, 5), (41, 100, 5), (101, 300, 5))
"""First rank, last rank, how many of them are judged: 25 in all."""

DEEPEST = STRATA[-1][1]

FEW, MANY = 3, 100
"""With fewer relevant documents a topic says little about a system; of more, no pool finds most."""


@dataclass(frozen=True)
class SampledHit:
    """A sampled hit of a draft topic: its rank, and the ranks and size of its stratum."""

    document: str
    rank: int
    stratum: str
    population: int


def sample_of_hits(topic: str, ranked: Sequence[str], *, seed: int = 0) -> list[SampledHit]:
    """Choose about 25 of the ranked hits: the first ten, and five each of the ranks 11-40, 41-100 and 101-300."""
    tried = []
    for first, last, wanted in STRATA:
        members = list(enumerate(ranked[first - 1 : last], start=first))
        drawn = sorted(members, key=lambda member: draw(seed, "try", topic, member[1]))[:wanted]
        tried += [SampledHit(document, rank, f"{first}-{last}", len(members)) for rank, document in sorted(drawn)]
    return tried


@dataclass(frozen=True)
class Estimate:
    """The estimated number of relevant documents of a topic, among its first hits and those found by search.

    `judged` and `relevant` are counts; `low` and `high` are a 95% confidence interval, never below the relevant
    documents found. None where nothing was judged, or a stratum has fewer than two judged hits.
    """

    judged: int
    relevant: int
    expected: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def size(self) -> Literal["too few", "too many", "fine", "unknown"]:
        """Whether the topic has a suitable number of relevant documents."""
        if self.expected is None:
            return "unknown"
        return "too few" if self.expected < FEW else "too many" if self.expected > MANY else "fine"


def estimate(tried: Sequence[SampledHit], relevant: dict[str, bool]) -> Estimate:
    """Estimate the number of relevant documents from judged hits (`relevant`: document -> is it).

    In each stratum h with N documents, n judged and r of them relevant, N r/n are expected (the share of a simple
    random sample, so hits that were not judged are taken to be like the judged ones); the strata are added up, and so
    are relevant documents found by searching outside the sample, each as itself. The variance is the sum of
    N² (1 - n/N) p (1 - p) / (n - 1) with p = r/n, the bounds are 1.96 standard errors (Cochran, Sampling Techniques,
    chapter 5). A relevant document below rank 300 that no search found is not counted: the estimate is of what the
    topic's own words can reach, a lower bound for the collection.
    """
    sampled, found = {one.document for one in tried}, sum(relevant.values())
    beside = sum(is_relevant for document, is_relevant in relevant.items() if document not in sampled)
    total, variance = 0.0, 0.0
    for stratum in dict.fromkeys((one.stratum, one.population) for one in tried):
        known = [relevant[one.document] for one in tried if one.stratum == stratum[0] and one.document in relevant]
        if len(known) < min(2, stratum[1]):
            return Estimate(len(relevant), found)
        share, size = sum(known) / len(known), stratum[1]
        total += size * share
        variance += size * (size - len(known)) * share * (1 - share) / max(len(known) - 1, 1)
    reach = 1.96 * sqrt(variance)
    expected = total + beside
    return Estimate(len(relevant), found, expected, max(expected - reach, found), expected + reach)
