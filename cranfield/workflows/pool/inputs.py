"""What a pool is made of, as it lies in a collection: runs, near-duplicates, texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cranfield.base.errors import CollectionError, InputError, UnknownName, UsageError, quoted
from cranfield.judge.events import MAIN, Event, fold
from cranfield.store.documents import latest_scan, topics
from cranfield.store.events import events
from cranfield.store.live_pools import (
    StandingAnswer,
    documents_touched,
    ends,
    last_event,
    standing_answers,
    texts_of,
    thresholds,
)
from cranfield.store.pools import (
    clusters_by_document,
    facts_of_pool,
    pool_facts,
    pool_number,
    pool_topics,
    pooled_runs,
    run_with_content,
    versions_of_pool,
)
from cranfield.store.runs import RunFacts, fetched_ranking, id_table, run_facts
from cranfield.store.store import Store
from cranfield.workflows.corpus import refuse_stale

if TYPE_CHECKING:
    from cranfield.pool.candidates import PooledRuns, PoolRun
    from cranfield.pool.live import Judged
    from cranfield.pool.plan import Plan
    from cranfield.pool.replay import Labels
    from cranfield.qrels.qrels import Qrels
    from cranfield.reuse.provenance import Contributor, Level, Provenance
    from cranfield.runs.encoding import CodedRun


_READERS = 2


def runs_named(store: Store, names: Sequence[str]) -> list[RunFacts]:
    """Give the facts of some runs, or say which of the words name none."""
    known = {facts.name: facts for facts in run_facts(store)}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if len(unknown) == 1:
        raise UnknownName("run", unknown[0], known)
    if unknown:
        raise UsageError("\n".join(str(UnknownName("run", name, known)) for name in unknown))
    return [known[name] for name in dict.fromkeys(names)]


def contributing_runs(store: Store) -> list[RunFacts]:
    """Give the runs that may feed a pool."""
    return [facts for facts in run_facts(store) if facts.role == "contributing"]


def entrants(store: Store, chosen: Sequence[RunFacts]) -> list[PoolRun]:
    """Give runs as they enter a pool."""
    from cranfield.pool.candidates import PoolRun

    rankings = _decoded([fetched_ranking(store, one.name).run for one in chosen])
    return [
        PoolRun(one.name, ranking, one.group_name, one.family, one.priority, one.content_hash)
        for one, ranking in zip(chosen, rankings, strict=True)
    ]


def entrants_of_version(store: Store, name: str, version: int) -> list[PoolRun]:
    """Give the runs a version of a pool was made from, as they were then, withdrawn since or not."""
    from cranfield.pool.candidates import PoolRun

    pooled = [one for one in pooled_runs(store, name) if one.version <= version]
    rankings = _decoded([_fetched(store, one.run, one.content_hash) for one in pooled])
    return [
        PoolRun(one.run, ranking, one.group_name, priority=one.priority, content_hash=one.content_hash)
        for one, ranking in zip(pooled, rankings, strict=True)
    ]


def with_ids(store: Store, runs: Sequence[PoolRun]) -> PooledRuns:
    """Give runs together with the ids that their codes stand for."""
    from cranfield.pool.candidates import pooled_runs as together

    return together(runs, topic_ids=id_table(store, "topic").ids, document_ids=id_table(store, "document").ids)


def _fetched(store: Store, run: str, content_hash: str) -> Callable[[], CodedRun]:
    found = run_with_content(store, content_hash)
    if found is None:
        raise CollectionError(f"run {quoted(run)} is not there with the content it was pooled with")
    return found


def _decoded(fetched: Sequence[Callable[[], CodedRun]]) -> list[CodedRun]:
    """Decode many rankings; unpacking leaves the interpreter free, so that two threads are quicker than one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_READERS) as threads:
        return list(threads.map(lambda decoded: decoded(), fetched))


def clusters_now(store: Store) -> dict[str, int]:
    """Give the near-duplicates that are known, or say how to find them, or that there are none."""
    refuse_stale(store)
    clusters = clusters_by_document(store)
    if not clusters and latest_scan(store) is None:
        raise InputError("no near-duplicates are known: find them first with cranfield corpus duplicates")
    if not clusters:
        raise InputError("the search for duplicates found none: there is no cluster to take one document of")
    return clusters


def reader(store: Store) -> Callable[[Sequence[str]], Sequence[str]]:
    """Give a function that reads the texts of documents, for strategies that look at words."""

    def read(documents: Sequence[str]) -> list[str]:
        found = texts_of(store, documents)
        missing = [document for document in documents if document not in found]
        if missing:
            raise InputError(f"the plan reads documents, and {quoted(missing[0])} is not in the collection")
        return [found[document] for document in documents]

    return read


def queries(store: Store) -> dict[str, str]:
    """Give the words of each topic."""
    return {topic.id: f"{topic.title} {topic.description}" for topic in topics(store)}


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

    def add(self, topic: str, document: str, when: tuple[int, int] = AT_FIRST) -> None:
        """Take in one document."""
        self.topics.setdefault(topic, {})[document] = when

    def told(self, topic: str, labels: Mapping[str, Label]) -> list[Judged]:
        """Give the labels of what is in the pool, in the order in which the pool learnt of them.

        A document that was judged when it came was learnt of then, after everything that was known.
        """
        from cranfield.pool.live import Judged

        learnt = []
        for document, (known, number) in self.topics.get(topic, {}).items():
            label = labels.get(document)
            if label is not None:
                place = (label.event, 0, 0) if label.event > known else (known, 1, number)
                learnt.append((place, label.event, Judged(topic, document, label.relevant)))
        return [judged for *_, judged in sorted(learnt, key=lambda one: one[:2])]


class LabelsNow:
    """The labels that count now; between one look and the next only what has happened since is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[str, tuple[int, str]] = {}
        self._labels: dict[str, dict[str, Label]] = {}

    def of(self, topic: str) -> Mapping[str, Label]:
        """Give the labels of a topic."""
        last = last_event(self._store)
        if self._seen.get(topic) != last:
            touched = documents_touched(self._store, topic, after=self._seen.get(topic, (0, "")))
            answers = labels_of(standing_answers(self._store, topic, touched), thresholds(self._store))
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
    return {document: _label(some, relevant_from) for document, some in by_document.items()}


def _label(answers: list[StandingAnswer], relevant_from: Mapping[int, int]) -> Label:
    first = answers[0].event if len(answers) == 1 else min(one.event for one in answers)
    graded = [
        (one.adjudicated, one.event, one.grade >= relevant_from[one.scale])
        for one in answers
        if one.grade is not None
    ]
    return Label(max(graded)[2] if graded else None, first)


def events_by_topic(store: Store) -> dict[str, list[Event]]:
    """Give what happened in the main layer, topic by topic; an undo belongs to the topic of what it undoes."""
    everything = list(events(store, layers=[MAIN]))
    by_uuid = {event.uuid: event for event in everything}
    by_topic: dict[str, list[Event]] = {}
    for event in everything:
        by_topic.setdefault(by_uuid.get(event.undoes, event).topic, []).append(event)
    return by_topic


class Chronicle:
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
            self._answers.setdefault(topic, {})[document] = _standing(self._of_pair[topic, document], document)
        return {topic for topic, _ in touched}

    def labels(self, topic: str) -> dict[str, Label]:
        """Give the labels of a topic that counted then."""
        by_document = self._answers.get(topic, {})
        return labels_of((answer for some in by_document.values() for answer in some), self._relevant_from)


def _standing(of_pair: list[Event], document: str) -> list[StandingAnswer]:
    return [
        StandingAnswer(document, key.adjudicated, event.grade, event.scale, event.sequence)
        for key, event in fold(of_pair).items()
        if key.layer == MAIN and (event.grade is not None or event.kind == "cannot-judge")
    ]


# What a collection knows about who fed its pool, as verdicts need it.


@dataclass(frozen=True, eq=False)
class KnownPool:
    """A stored pool: its plan, and the runs that fed it and are still here.

    `depth` is set where the pool is the first so many documents of each run and nothing else: then holding a group
    out is deleting what it alone brought. Any other plan is played again without the group. `finished` is the share
    of the topics for which a live plan has chosen everything.
    """

    name: str
    plan: Plan
    seed: int
    contributors: tuple[Contributor, ...]
    depth: int | None
    entries: tuple[tuple[str, str, str], ...]
    finished: float = 1.0
    notes: tuple[str, ...] = ()


def known_pool(store: Store, name: str = "") -> KnownPool | None:
    """Give the pool of this name, or the latest; None where there is none."""
    from cranfield.pool.plan import parse_stored
    from cranfield.reuse.provenance import Contributor

    if not name and not pool_facts(store):
        return None
    facts = facts_of_pool(store, name)
    here = {one.name: one for one in run_facts(store)}
    fed = pooled_runs(store, facts.name)
    gone = [one.run for one in fed if one.run not in here]
    contributors = tuple(Contributor(one.run, one.group_name, here[one.run].family) for one in fed if one.run in here)
    plan = parse_stored(facts.plan_in_full)
    depth = None if facts.one_per_cluster else depth_of(plan)
    return KnownPool(
        name=facts.name,
        plan=plan,
        seed=facts.seed,
        contributors=contributors,
        depth=depth,
        entries=() if depth is not None else tuple(_entries(store, facts.name)),
        finished=_finished(store, facts.name) if plan.is_live else 1.0,
        notes=(f"withdrawn since the pool was made, and not held out: {', '.join(gone)}",) if gone else (),
    )


def _finished(store: Store, name: str) -> float:
    ended, topics = ends(store, pool_number(store, name)), pool_topics(store, name)
    return len(ended) / len(topics) if topics else 1.0


def depth_of(plan: Plan) -> int | None:
    """Give the depth of a plan that is `depth N` and nothing else; None for every other."""
    from cranfield.pool.plan import Scope, Selection
    from cranfield.pool.strategy import strategies

    (step, *others) = plan.steps
    plain = isinstance(step, Selection) and step.strategy == strategies.get("depth") and step.scope == Scope()
    return int(step.amount.number) if plain and isinstance(step, Selection) and not others else None


def _entries(store: Store, name: str) -> Iterable[tuple[str, str, str]]:
    return store.rows(
        """SELECT topic, document, run FROM pool_ranks JOIN pools ON number = pool
           WHERE name = ? ORDER BY topic, document, run""",
        name,
    )


def replayed_without_groups(
    store: Store, pool: KnownPool, levels: Mapping[Level, Provenance], qrels: Qrels
) -> dict[Level, Provenance]:
    """Play the plan again without each group and each family; labels are looked up in the qrels.

    Single runs are not held out so: their siblings stay, and it would take a replay for each of them.
    """
    from cranfield.reuse.hold_out import replayed

    labels = _labels(qrels, store)
    member = {level: _members(pool, level) for level in levels if level != "run"}
    return {
        level: replayed(
            levels[level],
            qrels,
            {group: list(_chosen_without(store, pool, names, labels)) for group, names in groups.items()},
        )
        for level, groups in member.items()
    }


def _members(pool: KnownPool, level: Level) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in pool.contributors:
        found.setdefault(one.family if level == "family" else one.group, set()).add(one.run)
    return found


def _chosen_without(store: Store, pool: KnownPool, names: set[str], labels: Labels) -> Iterable[tuple[str, str]]:
    from cranfield.pool.replay import replay

    version = versions_of_pool(store, pool.name)[-1].version
    left = [run for run in entrants_of_version(store, pool.name, version) if run.name not in names]
    if not left:
        return []
    runs = with_ids(store, left)
    topics = [topic for topic in pool_topics(store, pool.name) if topic in runs.codes_by_topic]
    held = replay(
        pool.plan.within(runs.depth),
        runs,
        labels,
        topics=topics,
        seed=pool.seed,
        texts=reader(store),
        queries=queries(store),
    )
    return [(one.topic, one.document) for one in held.judged]


def _labels(qrels: Qrels, store: Store) -> dict[str, dict[str, bool]]:
    from cranfield.store.scales import current_scale

    relevant_from = current_scale(store)[1].relevant_from
    found: dict[str, dict[str, bool]] = {}
    for topic, document, grade in qrels:
        if grade >= 0:
            found.setdefault(topic, {})[document] = grade >= relevant_from
    return found
