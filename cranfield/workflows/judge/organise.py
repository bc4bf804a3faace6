"""What the organiser does: try draft topics, assign topics, follow the progress, adjudicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from statistics import median
from typing import Any, NamedTuple
from uuid import uuid4

from cranfield.base.errors import InputError, UsageError, check_known, quoted
from cranfield.base.records import MAIN, Pair
from cranfield.base.text import Column, Number, Result, Table, counted, facts_table, few, moment, table_of
from cranfield.judge import queue as rules
from cranfield.judge.events import Event, Evidence
from cranfield.judge.queue import Assigned, Overlap, Probes
from cranfield.judge.session import Answer, Item, Saved
from cranfield.store import Store, documents, events, files, judging, pools
from cranfield.workflows.collection import rejudging
from cranfield.workflows.judge.queue import choose_source, open_queues
from cranfield.workflows.judge.session import Judging, answer_of, checked_name

_HOUR = 3600.0


# Topic development: its author judges a sample of the hits of a draft, and accepts or refuses it.


@dataclass(frozen=True)
class Trial(Result):
    """The state of a draft topic: its author, the estimated number of relevant documents, and the verdict on it."""

    draft: judging.Draft
    estimate: rules.Estimate
    sampled: int

    def table(self) -> Table:
        made, draft = self.estimate, self.draft
        expected, low, high = (
            None if value is None else round(value) for value in (made.expected, made.low, made.high)
        )
        return facts_table(
            {
                "topic": draft.topic,
                "author": draft.author,
                "state": draft.state,
                "judged": made.judged,
                "relevant": made.relevant,
                "expected relevant": expected,
                "at least": low,
                "at most": high,
                "verdict": made.size,
            }
        )

    @property
    def remarks(self) -> Sequence[str]:  # type: ignore[override]
        """What was decided, or what to do next."""
        draft = self.draft
        if draft.state == "accepted":
            return [f"{draft.topic} accepted; {draft.author} is its primary assessor"]
        if draft.state == "refused":
            return [f"{draft.topic} refused ({draft.reason}); it will be neither assigned nor judged"]
        if self.estimate.size == "unknown":
            more = counted(self.sampled, "sampled hit")
            return [f"too few judgments for an estimate; judge more of the {more}"]
        return [f"decide with: cranfield judge try {draft.topic} --accept (or --refuse REASON)"]


# Sharing topics out among assessors, and planning what is judged twice and what is seen again.


@dataclass(frozen=True)
class Assignments(Result):
    """Who judges which topics, and what is planned for all of them; `kept` is who stays primary of a topic now.

    `troubles` is what is risky where several people judge in one file.
    """

    made: Sequence[Assigned]
    overlap: Overlap
    probes: Probes
    adjudicators: Sequence[str] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    troubles: Sequence[str] = ()
    only_rows = True

    def table(self) -> Table:
        """One row per topic and assessor."""
        return table_of(["topic", "assessor", "role"], [(one.topic, one.assessor, one.role) for one in self.made])

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """What is planned."""
        overlap, probes, told = self.overlap, self.probes, []
        if overlap.share:
            planned = f"{100 * overlap.share:.3g}% of the documents, judged by {overlap.by} assessors each"
            told.append(f"overlap: {planned}; seed {overlap.seed}")
        if probes.share:
            told.append(
                f"probes: after {100 * probes.share:.3g}% of the answers, an earlier document is shown again"
                f" at least {probes.after} documents later; seed {probes.seed}"
            )
        if self.adjudicators:
            told.append(f"adjudicators: {', '.join(self.adjudicators)}; nobody else may adjudicate")
        for name in sorted({*self.kept.values()}):
            topics = few([topic for topic, primary in self.kept.items() if primary == name], 5)
            others = "--together: the named assessors share; --take-over: they become primary"
            told.append(f"{name} judged {topics} and stays primary ({others})")
        told += [f"note: {trouble}" for trouble in self.troubles]
        return told if self.made else [*told, "no topics assigned: everybody may judge everything"]


def assign(
    store: Store,
    assessors: Sequence[str] = (),
    *,
    topics: Sequence[str] = (),
    pool: str = "",
    together: bool = False,
    again: bool = False,
    take_over: bool = False,
    overlap: float | None = None,
    by: int = 2,
    probes: float | None = None,
    adjudicators: Sequence[str] = (),
) -> Assignments:
    """Give topics to assessors in equal shares, or all to all of them (`together`); then what is assigned.

    Without `topics`, those that nobody has yet, or `again` all. A topic's earlier assignment is replaced; judgments
    stay, and who made them stays primary unless others are to `take_over`. What is planned for overlap and probes,
    and who may adjudicate, stays as it was where nothing else is said.
    """
    plan = None if overlap is None else Overlap(overlap, by)
    probing = None if probes is None else Probes(probes)
    names, chosen, made = [checked_name(store, name) for name in assessors], list[str](), list[Assigned]()
    kept: dict[str, str] = {}
    if names:
        if again and topics:
            raise UsageError("use either --topic or --again, not both")
        # How many documents each topic has in the pool; before there is one, all topics are taken for equal.
        sizes, unread = dict.fromkeys(documents.topic_ids(store), 1), dict[str, set[str]]()
        if pool or pools.pool_facts(store):
            pool = pools.facts_of_pool(store, pool).name
            pooled = pools.pool_topics(store, pool)
            unread = {topic: {*pools.documents_to_judge(store, pool, topic)} for topic in pooled}
            sizes = {topic: len(some) for topic, some in unread.items()}
        refused = judging.refused_topics(store)
        sizes = {topic: size for topic, size in sizes.items() if topic not in refused}
        check_known("pooled topic", topics, sizes)
        before = judging.assigned(store)
        taken = set() if again else {one.topic for one in before}
        chosen = list(dict.fromkeys(topics)) or [topic for topic in sizes if topic not in taken]
        if not chosen:
            raise InputError(
                "every topic is assigned; name topics with --topic, or reassign all with --again (who judged a topic"
                " stays its primary assessor)"
            )
        if not take_over:
            kept = _kept_primaries(store, chosen, names, before, unread, first=names[0] if together else "")
            sizes |= {topic: len(unread.get(topic, ())) for topic in kept}
        if together:
            made = rules.together(chosen, names, kept=kept)
        else:
            twice = plan or judging.planned(store, rules.Overlap)
            seconds = twice.by - 1 if twice.share else 0
            # An overlap that was planned before is met as far as there are assessors.
            made = rules.equal_shares(
                {topic: sizes[topic] for topic in chosen},
                names,
                seconds=seconds if plan is not None else min(seconds, len(names) - 1),
                kept=kept,
            )
    if names or plan is not None or probing is not None or adjudicators:
        with store.write():
            if adjudicators:
                store.set(ADJUDICATORS, [checked_name(store, name) for name in adjudicators])
            for name in names:
                events.add_assessor(store, name)
            if chosen:
                judging.put_assignments(store, made, topics=chosen)
            judging.put_setting(store, plan, probing)
    now_assigned = judging.assigned(store)
    alone = names[0] if together or len(names) == 1 else ""
    return Assignments(
        now_assigned,
        judging.planned(store, rules.Overlap),
        judging.planned(store, rules.Probes),
        list(map(str, store.setting(ADJUDICATORS, ()))),
        {one.topic: kept[one.topic] for one in now_assigned if kept.get(one.topic, alone) != alone},
        files.known_troubles(store.path) if names and len({one.assessor for one in now_assigned}) > 1 else (),
    )


def _kept_primaries(
    store: Store,
    topics: Sequence[str],
    names: Sequence[str],
    before: Sequence[Assigned],
    unread: Mapping[str, set[str]],
    *,
    first: str,
) -> dict[str, str]:
    """Who stays primary of topics that are assigned anew; what is judged is taken out of `unread`.

    The primary so far, if they judged; else, of a finished topic anybody who did, of another one of the `names`: the
    `first` if they did, then whoever judged most.
    """
    graded: dict[str, Counter[str]] = {}
    for topic, assessor, document in judging.graded_by(store):
        graded.setdefault(topic, Counter())[assessor] += 1
        unread.get(topic, set()).discard(document)
    kept, primaries = {}, {one.topic: one.assessor for one in before if one.role == "primary"}
    for topic in topics:
        old, judged = primaries.get(topic), graded.get(topic, Counter())
        staying = [name for name in judged if not unread.get(topic) or name == old or name in names]
        if staying:
            kept[topic] = min(staying, key=lambda name: (name != old, name != first, -judged[name], name))
    return kept


# The organiser's view: how far each topic and each assessor is, how fast it goes, and what is left.


class TopicProgress(NamedTuple):
    """One topic: its documents, how many have a grade, and how many answers are missing, second ones included."""

    topic: str
    primary: str
    documents: int
    judged: int
    missing: int
    postponed: int
    cannot: int
    leased: int


class AssessorProgress(NamedTuple):
    """One assessor: their answers, their median seconds, and what is left of the topics they were given.

    `hours` are those at their own speed; None where it is not known yet, or nothing was given to them.
    """

    assessor: str
    judged: int
    cannot: int
    postponed: int
    seconds: float | None
    left: int | None
    hours: float | None
    last: str


_PROGRESS_COLUMNS: dict[str, tuple[Column | str, ...]] = {
    "topic": ("topic", "primary", "documents", "judged", "missing", "postponed", "cannot", "leased"),
    "assessor": (
        *("assessor", "judged", "cannot", "postponed"),
        *(Number(name, digits=1) for name in ("seconds", "left", "hours_left")),
        Column("last", "last (UTC)", "moment"),
    ),
    "cannot": ("topic", "document", "assessor", "reason", Column("happened", "happened (UTC)", "moment")),
}


@dataclass(frozen=True)
class JudgingProgress(Result):
    """How a pool or a queue is judged in one layer; `older` grades in it were given under older versions.

    `queues` are all that are open, with what is missing in each.
    """

    name: str
    layer: str
    topics: Sequence[TopicProgress]
    assessors: Sequence[AssessorProgress]
    refusals: Sequence[judging.Refusal]
    speed: rules.Speed | None
    older: int = 0
    by: str = "topic"
    decided: str = ""
    queues: Mapping[str, str] = field(default_factory=dict)

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

    def table(self) -> Table:
        """The rows by topic or assessor, or what could not be judged."""
        rows: dict[str, Sequence[tuple[Any, ...]]] = {
            "topic": self.topics,
            "assessor": self.assessors,
            "cannot": self.refusals,
        }
        return table_of(_PROGRESS_COLUMNS[self.by], rows[self.by])

    @property
    def remarks(self) -> Sequence[str]:  # type: ignore[override]
        """How far it is in all, what is missing, and where to look."""
        share = f" ({self.judged / self.documents:.0%})" if self.documents else ""
        layer = "" if self.layer == "main" else f", layer {self.layer}"
        remarks = [f"{self.name}{layer}: {self.judged:,} of {counted(self.documents, 'document')} judged{share}"]
        if self.missing:
            left = "" if self.speed is None else f"; {self.speed.cost(self.missing)}"
            remarks.append(f"{counted(self.missing, 'judgment')} missing, including second judgments{left}")
        else:
            done = "no judgment missing, including second judgments" if self.documents else "nothing to judge"
            remarks.append(f"decided: {self.decided}" if self.decided else done)
        if leased := sum(topic.leased for topic in self.topics):
            remarks.append(f"{counted(leased, 'document')} leased")
        if self.refusals:
            remarks.append(f"{counted(len(self.refusals), 'answer')} “cannot judge”: see --by cannot")
        for name, missing in self.queues.items():
            remarks.append(f"open queue {name}: {missing}; judge it with: cranfield judge --queue {quote(name)}")
        return [*remarks, *rejudging(self.older)]


def judging_progress(
    store: Store, *, by: str = "topic", pool: str = "", queue: str = "", layer: str = ""
) -> JudgingProgress:
    """Read how far a pool, or a queue, is judged; in a packet, where neither is named, its own queue."""
    with store.snapshot():
        if not (queue or pool) and judging.packet_facts(store) is not None:
            queue = judging.PACKET
        source = choose_source(store, pool=pool, queue=queue, layer=layer)
        layer, assigned = source.layer, judging.assigned(store)
        last_seen, leases = judging.last_seen(store), judging.live_leases(store, layer, moment=moment())
        primaries = {one.topic: one.assessor for one in assigned if one.role == "primary"}
        named, leased = {one.assessor for one in assigned}, Counter(lease.topic for lease in leases)
        given = dict.fromkeys(named, (0, 0, 0)) | judging.answers_by_assessor(store, layer)
        postponed = judging.postponed_by_topic(store, layer)
        topics, assessors = list[TopicProgress](), list[AssessorProgress]()
        for topic in source.topics():
            answers = judging.answers(store, layer, topic, assessor="")
            known = [answers[entry.document] for entry in source.entries(topic)]
            topics.append(
                TopicProgress(
                    topic,
                    primaries.get(topic, ""),
                    documents=len(known),
                    judged=sum(bool(one.graded) or one.decided for one in known),
                    missing=source.missing(topic),
                    postponed=postponed.get(topic, 0),
                    cannot=sum(bool(one.refused) for one in known),
                    leased=leased[topic],
                )
            )
        seconds = judging.seconds_by_assessor(store, layer)
        for name in sorted(given):
            usual, left = median(seconds[name]) if seconds.get(name) else None, None
            if name in named:
                roles = {topic: role for topic, role in source.roles(name).items() if role != "anyone"}
                left = sum(source.count(topic, role, assessor=name).left for topic, role in roles.items())
            hours = None if usual is None or left is None else left * usual / _HOUR
            assessors.append(AssessorProgress(name, *given[name], usual, left, hours, last_seen.get(name, "")))
        every = [value for values in seconds.values() for value in values]
        return JudgingProgress(
            source.pool.name if source.pool else queue,
            layer,
            topics,
            assessors,
            judging.refusals(store, layer),
            rules.Speed(round(median(every), 1), len(every)) if every else None,
            judging.older_than(store, layer=layer),
            by,
            source.live_queue.decided if source.live_queue else "",
            open_queues(store),
        )


# Adjudication: deciding between assessors.

ADJUDICATORS = "adjudicators"
"""The setting with the names of those who may adjudicate; without it everybody may."""


def open_cases(store: Store, *, layer: str = MAIN, across: bool = False, only: Sequence[str] = ()) -> list[Pair]:
    """The (topic, document) of disagreements nobody has decided; `across`: only between relevant and not relevant."""
    return [pair for pair in events.disputed_pairs(store, layer, across=across) if not only or pair[0] in only]


def opinions_on(store: Store, layer: str, pair: Pair) -> list[Event]:
    """The opinions on a document in an order that reveals neither assessor nor time: by grade, note and UUID."""
    standing = events.standing(store, layers=[layer], pair=pair)
    said = [one for one in standing if one.grade is not None and one.kind != "adjudicated" and not one.stands_in]
    return sorted(said, key=lambda event: (event.grade or 0, event.note, event.uuid))


class StoredAdjudication(Judging):
    """One adjudicator's session over one collection.

    The cases are those of the start, each looked at again before it is given: one that has been decided meanwhile, or
    is no longer disputed, is passed over. `across` limits them to disputes between relevant and not relevant.
    """

    def __init__(
        self, store: Store, adjudicator: str, *, layer: str = MAIN, across: bool = False, only: Sequence[str] = ()
    ) -> None:
        name = checked_name(store, adjudicator)
        entitled = list(map(str, store.setting(ADJUDICATORS, ())))
        if entitled and name not in entitled:
            raise UsageError(f"{quoted(name)} may not adjudicate here; adjudicators: {', '.join(sorted(entitled))}")
        super().__init__(store, name, layer, str(uuid4()))
        self._across, self._open = across, open_cases(store, layer=layer, across=across, only=only)
        self._of, self._decisions = len(self._open), list[Event]()

    def __len__(self) -> int:
        """How many cases are open."""
        return len(self._open)

    def next_item(self) -> Item | None:
        """The next disagreement that is neither decided nor put off; None: all done."""
        while self._open:
            if events.disputed_pairs(self._store, self._layer, across=self._across, pair=self._open[0]):
                return self._case(self._open[0])
            self._open.pop(0)
        return None

    def judge(
        self,
        item: Item,
        grade: int | None,
        *,
        seconds: float = 0.0,
        note: str = "",
        evidence: Sequence[Evidence] = (),
        reason: str = "",
    ) -> Saved:
        """Record the decision, without the time that it took, unless another has decided meanwhile.

        A case that is put off comes after the others.
        """
        if grade is None:
            self._open.sort(key=lambda pair: pair == item.pair)
            return Saved(item, Answer("postponed", None))
        self._refuse_unfit(item, grade)
        said: dict[str, Any] = {"grade": grade, "note": note, "evidence": tuple(evidence)}
        text = item.document.content_hash
        event = self._event("adjudicated", *item.pair, purpose="overlap", document_hash=text, **said)
        with self._recording(event, item.document):
            standing = events.standing(self._store, layers=[self._layer], pair=item.pair)
            theirs = next((one for one in standing if one.kind == "adjudicated"), None)
            if theirs is None:
                events.append_events(self._store, [event])
        self._open = [other for other in self._open if other != item.pair]
        if theirs is not None:
            self._recorded.remove(event)
            return Saved(item, answer_of(theirs, self._other_scales), late=True)
        self._decisions.append(event)
        return Saved(item, answer_of(event, self._other_scales))

    def undo(self) -> Item | None:
        """Take the latest decision of this session back and give its case again; None where nothing is left."""
        if not self._decisions:
            return None
        decision = self._decisions[-1]
        event = self._event("undone", *decision.pair, purpose="overlap", undoes=decision.uuid)
        with self._recording(event):
            events.append_events(self._store, [event])
        self._decisions.pop()
        self._open.insert(0, decision.pair)
        return self._case(decision.pair, before=answer_of(decision, self._other_scales))

    def _case(self, pair: Pair, *, before: Answer | None = None) -> Item:
        opinions = opinions_on(self._store, self._layer, pair)
        told = tuple(replace(answer_of(one, self._other_scales), event="", happened="") for one in opinions)
        left, (document, remark, missing) = len(self._open), self._document(pair[1])
        place = self._of - left + 1, self._of, left
        return Item(self._topic(pair[0]), document, *place, before, remark, missing, told)
