"""What a pool is made of, as it lies in a collection: runs, near-duplicates, texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.judge.events import MAIN, Event, fold
from cranfield.store import documents as stored_documents
from cranfield.store import live_pools, pools
from cranfield.store import runs as stored_runs
from cranfield.store.events import events
from cranfield.store.live_pools import StandingAnswer
from cranfield.store.store import Store

with deferred:
    from cranfield.pool import candidates, live, replay, strategy
    from cranfield.pool import plan as plans
    from cranfield.pool import pool as pooling
    from cranfield.qrels import qrels as qrels_module
    from cranfield.reuse import hold_out, provenance
    from cranfield.runs import encoding
    from cranfield.workflows import corpus

_THREADS = 2


def runs_named(store: Store, names: Sequence[str]) -> list[stored_runs.RunFacts]:
    """Give the facts of some runs, or say which of the words name none."""
    known = {facts.name: facts for facts in stored_runs.facts(store)}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if len(unknown) == 1:
        raise UnknownName("run", unknown[0], known)
    if unknown:
        raise UsageError("\n".join(str(UnknownName("run", name, known)) for name in unknown))
    return [known[name] for name in dict.fromkeys(names)]


def contributing_runs(store: Store) -> list[stored_runs.RunFacts]:
    """Give the runs that may be pooled."""
    return [facts for facts in stored_runs.facts(store) if facts.role == "contributing"]


def as_pooled(store: Store, chosen: Sequence[stored_runs.RunFacts]) -> list[candidates.PoolRun]:
    """Give stored runs as runs of a pool."""
    rankings = _decoded([stored_runs.fetch(store, one.name).run for one in chosen])
    return [
        candidates.PoolRun(one.name, ranking, one.group_name, one.family, one.priority, one.content_hash)
        for one, ranking in zip(chosen, rankings, strict=True)
    ]


def runs_of_version(store: Store, name: str, version: int | None = None) -> list[candidates.PoolRun]:
    """Give the runs a version of a pool, or the latest, was made from, as they were then, withdrawn since or not."""
    latest = pools.versions_of_pool(store, name)[-1].version if version is None else version
    pooled = [one for one in pools.pooled_runs(store, name) if one.version <= latest]
    fetched = []
    for one in pooled:
        found = pools.run_with_content(store, one.content_hash)
        if found is None:
            raise CollectionError(f"run {quoted(one.run)} is not there with the content it was pooled with")
        fetched.append(found)
    return [
        candidates.PoolRun(one.run, ranking, one.group_name, priority=one.priority, content_hash=one.content_hash)
        for one, ranking in zip(pooled, _decoded(fetched), strict=True)
    ]


def with_ids(store: Store, runs: Sequence[candidates.PoolRun]) -> candidates.PooledRuns:
    """Give runs together with the ids that their codes stand for."""
    return candidates.pooled_runs(
        runs,
        topic_ids=stored_runs.id_table(store, "topic").ids,
        document_ids=stored_runs.id_table(store, "document").ids,
    )


def _decoded(fetched: Sequence[Callable[[], encoding.CodedRun]]) -> list[encoding.CodedRun]:
    """Decode many rankings; unpacking leaves the interpreter free, so that two threads are quicker than one."""
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(lambda decoded: decoded(), fetched))


def clusters_now(store: Store) -> dict[str, int]:
    """Give the near-duplicates that are known, or say how to find them, or that there are none."""
    corpus.refuse_stale(store)
    clusters = pools.clusters_by_document(store)
    if not clusters and stored_documents.latest_scan(store) is None:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    if not clusters:
        raise InputError("the search for duplicates found none: there is no cluster to take one document of")
    return clusters


def reader(store: Store) -> Callable[[Sequence[str]], Sequence[str]]:
    """Give a function that reads the texts of documents, for strategies that look at words."""

    def read(documents: Sequence[str]) -> list[str]:
        found = stored_documents.texts(store, documents)
        missing = [document for document in documents if document not in found]
        if missing:
            raise InputError(f"the plan reads documents, and {quoted(missing[0])} is not in the collection")
        return [found[document] for document in documents]

    return read


def queries(store: Store) -> dict[str, str]:
    """Give the words of each topic."""
    return {topic.id: f"{topic.title} {topic.description}" for topic in stored_documents.topics(store)}


# What judgments say to a live pool: one label a document, in the order in which the pool learnt of it.

AT_FIRST = (0, 0)
"""When a document came that no choice brought: before anything was judged."""


@dataclass(frozen=True, slots=True)
class Label:
    """What counts about a document, and the earliest event that still stands about it."""

    relevant: bool | None
    event: int


@dataclass
class HandedOut:
    """The documents of a pool by topic, and when each came: (the last event known then, number of the choice)."""

    topics: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, pool: pooling.Pool, choices: Iterable[live_pools.RecordedChoice]) -> HandedOut:
        """Give what a pool has, and what was chosen for it by looking at judgments."""
        handed_out = cls({topic: dict.fromkeys(pool.documents_of(topic), AT_FIRST) for topic in pool.topics})
        for one in choices:
            handed_out.add(one.topic, one.document, (one.known, one.number))
        return handed_out

    def add(self, topic: str, document: str, when: tuple[int, int] = AT_FIRST) -> None:
        """Take in one document."""
        self.topics.setdefault(topic, {})[document] = when

    def judgments(self, topic: str, labels: Mapping[str, Label]) -> list[live.Judged]:
        """Give the labels of what is in the pool, in the order in which the pool learnt of them.

        A document that was judged when it came was learnt of then, after everything that was known.
        """
        learnt = []
        for document, (known, number) in self.topics.get(topic, {}).items():
            label = labels.get(document)
            if label is not None:
                place = (label.event, 0, 0) if label.event > known else (known, 1, number)
                learnt.append((place, label.event, live.Judged(topic, document, label.relevant)))
        return [judged for *_, judged in sorted(learnt, key=lambda one: one[:2])]


class LabelsNow:
    """The labels that count now; between one look and the next only what has happened since is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, tuple[int, str]] = {}
        self._labels: dict[str, dict[str, Label]] = {}

    def of(self, topic: str) -> Mapping[str, Label]:
        """Give the labels of a topic."""
        last = live_pools.last_event(self._store)
        if self._seen.get(topic) != last:
            touched = live_pools.documents_touched(self._store, topic, after=self._seen.get(topic, (0, "")))
            answers = labels_of(
                live_pools.standing_answers(self._store, topic, touched), live_pools.thresholds(self._store)
            )
            before = {} if touched is None else self._labels[topic]
            gone = set() if touched is None else touched
            self._labels[topic] = {name: label for name, label in before.items() if name not in gone} | answers
            self._seen[topic] = last
        return self._labels[topic]


def labels_of(answers: Iterable[StandingAnswer], relevant_from: Mapping[int, int]) -> dict[str, Label]:
    """Give the labels that standing answers mean."""
    by_document: dict[str, list[StandingAnswer]] = {}
    for answer in answers:
        by_document.setdefault(answer.document, []).append(answer)
    labels = {}
    for document, some in by_document.items():
        graded = [
            (one.adjudicated, one.event, one.grade >= relevant_from[one.scale])
            for one in some
            if one.grade is not None
        ]
        labels[document] = Label(max(graded)[2] if graded else None, min(one.event for one in some))
    return labels


def events_by_topic(store: Store) -> dict[str, list[Event]]:
    """Give what happened in the main layer, topic by topic; an undo belongs to the topic of what it undoes."""
    everything = list(events(store, layers=[MAIN]))
    by_uuid = {event.uuid: event for event in everything}
    by_topic: dict[str, list[Event]] = {}
    for event in everything:
        by_topic.setdefault(by_uuid.get(event.undoes, event).topic, []).append(event)
    return by_topic


class LabelHistory:
    """Judgments as they stood at any moment, gone through from the first on."""

    def __init__(self, happened: Iterable[Event], relevant_from: Mapping[int, int]) -> None:
        self._relevant_from = relevant_from
        self._events = sorted(happened, key=lambda event: event.sequence)
        self._by_uuid = {event.uuid: event for event in self._events}
        self._seen = 0
        self._of_pair: dict[tuple[str, str], list[Event]] = {}
        self._answers: dict[str, dict[str, list[StandingAnswer]]] = {}

    def advance(self, sequence: int) -> set[str]:
        """Go on to an event, and give the topics that were touched since."""
        touched: set[tuple[str, str]] = set()
        while self._seen < len(self._events) and self._events[self._seen].sequence <= sequence:
            event = self._events[self._seen]
            about = self._by_uuid.get(event.undoes, event)
            pair = (about.topic, about.document)
            self._of_pair.setdefault(pair, []).append(event)
            touched.add(pair)
            self._seen += 1
        for topic, document in touched:
            self._answers.setdefault(topic, {})[document] = [
                StandingAnswer(document, key.adjudicated, event.grade, event.scale, event.sequence)
                for key, event in fold(self._of_pair[topic, document]).items()
                if key.layer == MAIN and (event.grade is not None or event.kind == "cannot-judge")
            ]
        return {topic for topic, _ in touched}

    def labels(self, topic: str) -> dict[str, Label]:
        """Give the labels of a topic that counted then."""
        by_document = self._answers.get(topic, {})
        return labels_of((answer for some in by_document.values() for answer in some), self._relevant_from)


# What a collection knows about the contributing runs of its pool, as verdicts need it.


@dataclass(frozen=True, eq=False)
class KnownPool:
    """A stored pool: its plan, and the contributing runs that are still here.

    `depth` is set where the pool is the first so many documents of each run and nothing else: then holding a group
    out is deleting what it alone brought. Any other plan is played again without the group. `finished` is the share
    of the topics for which a live plan has chosen everything.
    """

    name: str
    plan: plans.Plan
    seed: int
    contributors: tuple[provenance.Contributor, ...]
    depth: int | None
    entries: tuple[tuple[str, str, str], ...]
    finished: float = 1.0
    notes: tuple[str, ...] = ()


def known_pool(store: Store, name: str = "") -> KnownPool | None:
    """Give the pool of this name, or the latest; None where there is none."""
    if not name and not pools.pool_facts(store):
        return None
    facts = pools.facts_of_pool(store, name)
    here = {one.name: one for one in stored_runs.facts(store)}
    pooled = pools.pooled_runs(store, facts.name)
    gone = [one.run for one in pooled if one.run not in here]
    parsed = plans.parse_stored(facts.plan_in_full)
    depth = None if facts.one_per_cluster else depth_of(parsed)
    finished = 1.0
    if parsed.is_live and (topics := pools.pool_topics(store, facts.name)):
        finished = len(live_pools.ends(store, pools.pool_number(store, facts.name))) / len(topics)
    return KnownPool(
        name=facts.name,
        plan=parsed,
        seed=facts.seed,
        contributors=tuple(
            provenance.Contributor(one.run, one.group_name, here[one.run].family) for one in pooled if one.run in here
        ),
        depth=depth,
        entries=() if depth is not None else tuple(pools.entries_by_run(store, facts.name)),
        finished=finished,
        notes=(f"withdrawn since the pool was made, and not held out: {', '.join(gone)}",) if gone else (),
    )


def depth_of(parsed: plans.Plan) -> int | None:
    """Give the depth of a plan that is `depth N` and nothing else; None for every other."""
    step, *others = parsed.steps
    plain = plans.Selection(strategy.strategies.get("depth"), getattr(step, "amount", plans.Amount()))
    return int(plain.amount.number) if step == plain and not others else None


def replayed_without_groups(
    store: Store,
    pool: KnownPool,
    levels: Mapping[provenance.Level, provenance.Provenance],
    qrels: qrels_module.Qrels,
) -> dict[provenance.Level, provenance.Provenance]:
    """Play the plan again without each group and each family; labels are looked up in the qrels.

    Single runs are not held out so: their siblings stay, and it would take a replay for each of them.
    """
    relevant_from = store.scale().relevant_from
    labels: dict[str, dict[str, bool]] = {}
    for topic, document, grade in qrels:
        if grade >= 0:
            labels.setdefault(topic, {})[document] = grade >= relevant_from
    found: dict[provenance.Level, provenance.Provenance] = {}
    for level in [level for level in levels if level != "run"]:
        members: dict[str, set[str]] = {}
        for one in pool.contributors:
            members.setdefault(one.family if level == "family" else one.group, set()).add(one.run)
        chosen = {group: _chosen_without(store, pool, names, labels) for group, names in members.items()}
        found[level] = hold_out.replayed(levels[level], qrels, chosen)
    return found


def _chosen_without(store: Store, pool: KnownPool, names: set[str], labels: replay.Labels) -> list[tuple[str, str]]:
    left = [run for run in runs_of_version(store, pool.name) if run.name not in names]
    if not left:
        return []
    runs = with_ids(store, left)
    held = replay.replay(
        pool.plan.within(runs.depth),
        runs,
        labels,
        topics=[topic for topic in pools.pool_topics(store, pool.name) if topic in runs.codes_by_topic],
        seed=pool.seed,
        texts=reader(store),
        queries=queries(store),
    )
    return [(one.topic, one.document) for one in held.judged]
