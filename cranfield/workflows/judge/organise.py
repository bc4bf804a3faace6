"""Seat an assessor before a collection file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from cranfield.base.errors import InputError, UnknownName, UsageError, quoted
from cranfield.base.progress import moment, now
from cranfield.base.records import Topic
from cranfield.judge.events import MAIN, WITH_GRADE
from cranfield.judge.queue import (
    DEEPEST,
    NOTHING,
    Answers,
    Assigned,
    Entry,
    Estimate,
    Overlap,
    Probes,
    Size,
    check_names,
    equal_shares,
    estimate,
    sample_of_hits,
    size_of,
    together,
)
from cranfield.store.documents import ranked, topic_ids, topics
from cranfield.store.events import add_assessor
from cranfield.store.judging import (
    PACKET,
    Draft,
    DraftState,
    Lease,
    Refusal,
    answers_of_topic,
    assigned,
    counts_by_assessor,
    draft_of,
    last_seen,
    live_leases,
    older_now,
    own_relevance,
    packet_facts,
    plan_overlap,
    plan_probes,
    planned_overlap,
    postponed_by_topic,
    put_assignments,
    put_draft,
    put_tried,
    queue_named,
    refusals,
    refused_topics,
    seconds_by_assessor,
    tried_hits,
)
from cranfield.store.pools import (
    documents_to_judge,
    facts_of_pool,
    pool_facts,
    pool_topics,
)
from cranfield.store.store import Store
from cranfield.workflows.judge.queue import TRY_LAYER, Source, pool_source, queue_source, trial_source
from cranfield.workflows.judge.session import StoredSession, checked_name, session_over


def assessor_of_packet(store: Store) -> str:
    """Give the name a packet was made for; empty where the file is no packet."""
    facts = packet_facts(store)
    return "" if facts is None else facts.assessor


# Topic development: its author judges a sample of the hits of a draft, and accepts or refuses it.

FEW, MANY = 3, 100
"""Below the one a topic says little about a system, above the other no pool finds most of it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a draft stands: who tries it, what is expected of it, and whether that is a good number."""

    draft: Draft
    estimate: Estimate
    size: Size
    sampled: int


def begin_trial(store: Store, topic: str, *, author: str, seed: int = 0) -> StoredSession:
    """Seat the author before a sample of the hits of his draft topic; it is drawn once and kept."""
    name = checked_name(store, author)
    found = _topic(store, topic)
    known = draft_of(store, topic)
    if known is not None and known.author != name:
        raise InputError(f"topic {quoted(topic)} is tried by {quoted(known.author)}, its author, and by nobody else")
    if known is None:
        hits = [document for document, _ in ranked(store, found.title, limit=DEEPEST)]
        if not hits:
            raise InputError(f"the words of topic {quoted(topic)} ({quoted(found.title)}) find no document")
        with store.write():
            put_draft(store, Draft(topic, name), now=now())
            put_tried(store, topic, sample_of_hits(topic, hits, seed=seed))
    return session_over(trial_source(store, topic, author=name), assessor=name, layer=TRY_LAYER)


def _topic(store: Store, topic: str) -> Topic:
    known = {one.id: one for one in topics(store)}
    if topic not in known:
        raise UnknownName("topic", topic, known)
    return known[topic]


def trial_of(store: Store, topic: str, *, few: int = FEW, many: int = MANY) -> Trial:
    """Give how a draft stands."""
    _topic(store, topic)
    draft = draft_of(store, topic)
    if draft is None:
        raise InputError(f"topic {quoted(topic)} was never tried; begin with: cranfield judge try {topic}")
    relevance = own_relevance(store, TRY_LAYER, topic, assessor=draft.author)
    tried = tried_hits(store, topic)
    made = estimate(tried, relevance)
    return Trial(draft, made, size_of(made, few=few, many=many), len(tried))


def accept_topic(store: Store, topic: str, *, reason: str = "") -> Trial:
    """Accept a draft; its author becomes the primary assessor of the topic."""
    return _decided(store, topic, "accepted", reason)


def refuse_topic(store: Store, topic: str, *, reason: str) -> Trial:
    """Refuse a draft: it is neither assigned nor judged any more."""
    if not reason.strip():
        raise InputError("say why the topic is refused")
    return _decided(store, topic, "refused", reason)


def _decided(store: Store, topic: str, state: DraftState, reason: str) -> Trial:
    trial = trial_of(store, topic)
    draft = replace(trial.draft, state=state, reason=reason.strip(), expected=trial.estimate.expected)
    others = [one for one in assigned(store) if one.topic == topic and one.assessor != draft.author]
    kept = [replace(one, role="share") if one.role == "primary" else one for one in others]
    with store.write():
        put_draft(store, draft, now=now())
        if draft.state == "accepted":
            put_assignments(store, [Assigned(topic, draft.author, "primary"), *kept], topics=[topic], now=now())
    return replace(trial, draft=draft)


# Share topics out among assessors, and plan what is judged twice and what is shown again.


def assign_topics(
    store: Store,
    assessors: Sequence[str],
    *,
    topics: Sequence[str] = (),
    pool: str = "",
    again: bool = False,
    shared: bool = False,
    overlap: Overlap | None = None,
    probes: Probes | None = None,
) -> list[Assigned]:
    """Give topics to assessors in equal shares, or all to all of them where they are `shared`.

    Without `topics`, those that nobody has yet, or `again` all. A topic's earlier assignment is replaced; judgments
    stay. What is planned for overlap and probes stays as it was where nothing else is said.
    """
    names = [checked_name(store, name) for name in assessors]
    sizes = _sizes(store, pool)
    chosen = _chosen(store, sizes, topics, again=again)
    twice = planned_overlap(store) if overlap is None else overlap
    seconds = twice.by - 1 if twice.share and not shared else 0
    check_names(names, seconds=seconds if overlap is not None else 0)
    if shared:
        made = together(chosen, names)
    else:
        made = equal_shares({topic: sizes[topic] for topic in chosen}, names, seconds=min(seconds, len(names) - 1))
    with store.write():
        for name in names:
            add_assessor(store, name, now=now())
        put_assignments(store, made, topics=chosen, now=now())
        plan(store, overlap=overlap, probes=probes)
    return made


def plan(store: Store, *, overlap: Overlap | None, probes: Probes | None) -> None:
    """Plan overlap and probes, inside `store.write()`; what is None stays as it was."""
    if overlap is not None:
        plan_overlap(store, overlap)
    if probes is not None:
        plan_probes(store, probes)


def _sizes(store: Store, pool: str) -> dict[str, int]:
    """Give how many documents each topic has in a pool; before there is one, all topics are taken for equal."""
    known = pool_facts(store)
    if not known and not pool:
        topics = dict.fromkeys(topic_ids(store), 1)
    else:
        name = pool or known[-1].name
        if name not in [facts.name for facts in known]:
            raise UnknownName("pool", name, [facts.name for facts in known])
        topics = {topic: len(documents_to_judge(store, name, topic)) for topic in pool_topics(store, name)}
    refused = refused_topics(store)
    return {topic: size for topic, size in topics.items() if topic not in refused}


def _chosen(store: Store, sizes: dict[str, int], topics: Sequence[str], *, again: bool) -> list[str]:
    if again and topics:
        raise UsageError("say which topics, or that all are to be given out again, not both")
    unknown = [topic for topic in topics if topic not in sizes]
    if unknown:
        raise UnknownName("pooled topic", unknown[0], sizes)
    if topics:
        return list(dict.fromkeys(topics))
    taken = set() if again else {one.topic for one in assigned(store)}
    chosen = [topic for topic in sizes if topic not in taken]
    if not chosen:
        raise InputError("every topic has its assessor; name topics with --topic, or give all out again with --again")
    return chosen


# The organiser's view: how far each topic and each assessor is, how fast it goes, and what is left.

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


def _work(store: Store, pool: str, queue: str, layer: str) -> tuple[Source, str, str]:
    """Give what is judged: a queue, a pool, and in a packet, where neither is named, its own queue."""
    if not (queue or pool) and packet_facts(store) is not None:
        queue = PACKET
    if queue:
        facts = queue_named(store, queue)
        return queue_source(store, facts), facts.name, layer or facts.layer
    pooled = facts_of_pool(store, pool)
    return pool_source(store, pooled), pooled.name, layer or MAIN


def _topics(
    store: Store, work: Source, layer: str, leases: Sequence[Lease], primaries: dict[str, str]
) -> list[TopicProgress]:
    out = Counter(lease.topic for lease in leases)
    put_off = postponed_by_topic(store, layer)
    made = []
    for topic in work.topics():
        answers = answers_of_topic(store, layer, topic, assessor="")
        pairs = [(entry, answers.get(entry.document, NOTHING)) for entry in work.find_entries(topic)]
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


def _assessors(store: Store, work: Source, layer: str, seconds: dict[str, list[float]]) -> list[AssessorProgress]:
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


def _left(store: Store, work: Source, layer: str, assessor: str) -> int:
    roles = {topic: role for topic, role in work.roles(assessor).items() if role != "anyone"}
    counts = [work.count(topic, role, layer=layer, assessor=assessor) for topic, role in roles.items()]
    return sum(count.of - count.done for count in counts)
