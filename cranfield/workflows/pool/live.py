"""Live pools: what the judgments of a collection say to them, and the next documents, chosen from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.records import MAIN
from cranfield.base.text import moment, now
from cranfield.pool import build
from cranfield.pool import live as live_pool
from cranfield.pool import pool as pooling
from cranfield.store import Store, events, judging, live_pools, pools
from cranfield.store.live_pools import RecordedChoice, RecordedEnd, StandingAnswer
from cranfield.workflows.pool import inputs

# What judgments say to a live pool: one label a document, in the order in which the pool learnt of it.

AT_FIRST = (0, 0)
"""When documents came that were in the pool before anything was judged."""


@dataclass(frozen=True)
class Label:
    """What counts about a document, and the earliest event that still stands about it."""

    relevant: bool | None
    event: int


@dataclass
class HandedOut:
    """The documents of a pool by topic, and when each came: (the last event known then, number of the choice)."""

    topics: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, pool: pooling.Pool, choices: Iterable[RecordedChoice]) -> HandedOut:
        """What a pool has, and what was chosen for it by looking at judgments."""
        handed_out = cls({topic: dict.fromkeys(pool.documents_of(topic), AT_FIRST) for topic in pool.topics})
        for choice in choices:
            handed_out.add(choice)
        return handed_out

    def add(self, choice: RecordedChoice) -> None:
        """Take in one document."""
        self.topics.setdefault(choice.topic, {})[choice.document] = choice.known, choice.number

    def judgments(self, topic: str, labels: Mapping[str, Label]) -> list[live_pool.Judged]:
        """The labels of what is in the pool, in the order in which the pool learnt of them.

        A document that was judged when it came was learnt of then, after everything that was known.
        """
        learnt = []
        for document, (known, number) in self.topics.get(topic, {}).items():
            label = labels.get(document)
            if label is not None:
                place = (label.event, 0, 0) if label.event > known else (known, 1, number)
                learnt.append((place, label.event, live_pool.Judged(topic, document, label.relevant)))
        return [judged for *_, judged in sorted(learnt, key=lambda one: one[:2])]


def labels_of(answers: Iterable[StandingAnswer], relevant_from: Mapping[int, int]) -> dict[str, Label]:
    """The labels that standing answers mean."""
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


# Documents are chosen in batches, and what was chosen is recorded.


@dataclass(frozen=True)
class Refilled:
    """What became of a topic: how many documents came, and the rule that has ended its adaptive step, if one has.

    Nothing came and nothing ended: what is out is to be judged first, or other topics are to be judged first.
    """

    added: int
    ended: str | None


@dataclass
class LoadedPool:
    """A live pool in memory, how far it has followed the file, and the choices that are not written yet."""

    live: live_pool.LivePool
    number: int
    version: int
    handed_out: HandedOut
    chosen: int = 0
    head: str = ""
    seen: tuple[int, str] = (0, "")
    made: list[RecordedChoice] = field(default_factory=list)

    def take(self, choice: RecordedChoice) -> None:
        """Follow a choice that was recorded."""
        self.handed_out.add(choice)
        self.live.hand_out(choice.topic, choice.document)
        self.chosen = choice.number


class Refiller:
    """The live pools of a collection, loaded in memory between one batch and the next.

    Several processes may judge: before anything is chosen, what others judged and chose is caught up with. A
    transaction that was taken back is noticed, and the pool is read again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pools: dict[str, LoadedPool] = {}
        self._labels: dict[str, tuple[tuple[int, str], dict[str, Label]]] = {}

    def refill(self, pool_name: str, topic: str, *, batch: int = 10) -> Refilled:
        """Add the next documents to a topic, inside `store.write()`.

        Documents that are leased, because an assessor has them on the screen, are not chosen.
        """
        if batch < 1:
            raise UsageError(f"a batch has at least one document, not {batch}")
        loaded = self.load(pool_name)
        if topic not in loaded.live.topics:
            raise InputError(f"topic {quoted(topic)} is not in the pool {quoted(pool_name)}")
        for one in live_pools.choices(self._store, loaded.number, after=loaded.chosen):
            loaded.take(one)
            loaded.head = one.hash
        for end in live_pools.ends(self._store, loaded.number).values():
            if end.final:
                loaded.live.close(end.topic, end.rule)
        names = {topic}
        if loaded.live.spreads:
            touched = live_pools.touched(self._store, after=loaded.seen)
            names |= set(loaded.live.topics) if touched is None else {where for where, _ in touched}
        for name in names.intersection(loaded.live.topics):
            loaded.live.set_judgments(name, loaded.handed_out.judgments(name, self._labels_of(name)))
        loaded.seen = events.last_event(self._store)
        if topic not in loaded.live.ended:
            live_pools.forget_end(self._store, loaded.number, topic)
        loaded.made, fresh = [], 0
        if self._comes_to_its_turn(loaded, topic):
            fresh = self._choose(loaded, topic, batch)
        self._write(loaded)
        for name in sorted({topic, *(one.topic for one in loaded.made)}.intersection(loaded.live.ended)):
            self._write_end(loaded, name, loaded.live.ended[name])
        return Refilled(fresh, loaded.live.ended.get(topic))

    def load(self, pool_name: str) -> LoadedPool:
        """A live pool in memory; reading its runs takes a while, and needs no transaction."""
        store, version = self._store, pools.versions_of_pool(self._store, pool_name)[-1].version
        loaded = self._pools.get(pool_name)
        if loaded and loaded.version == version:
            head = live_pools.hash_of_choice(store, loaded.number, loaded.chosen) or ""
            if head == loaded.head:
                return loaded
        pool, number = pools.stored_pool(store, pool_name, contributions=False), pools.pool_number(store, pool_name)
        live = live_pool.LivePool(
            pool.plan,
            inputs.pooled_runs(store, pool=pool_name, version=version),
            pool=pool,
            clusters=pools.clusters_of_version(store, pool_name, version) or None,
            texts=partial(inputs.read_texts, store),
            queries=inputs.queries(store),
            ended={end.topic: end.rule for end in live_pools.ends(store, number).values() if end.final},
        )
        handed_out = HandedOut.of(pool, live_pools.choices(store, number))
        self._pools[pool_name] = LoadedPool(live, number, version, handed_out, *live_pools.last_choice(store, number))
        return self._pools[pool_name]

    def _labels_of(self, topic: str) -> Mapping[str, Label]:
        """The labels of a topic that count now; between two looks only what has happened since is read."""
        last = events.last_event(self._store)
        seen, labels = self._labels.get(topic, ((0, ""), {}))
        if seen != last:
            touched = live_pools.touched(self._store, after=seen)
            gone = None if touched is None else {document for where, document in touched if where == topic}
            answers = live_pools.standing_answers(self._store, topic, gone)
            kept = {} if gone is None else {name: one for name, one in labels.items() if name not in gone}
            labels = kept | labels_of(answers, live_pools.thresholds(self._store))
            self._labels[topic] = last, labels
        return labels

    def _comes_to_its_turn(self, loaded: LoadedPool, topic: str) -> bool:
        """Whether a budget across topics is not better spent on another topic that the same people judge.

        What was judged elsewhere costs nothing: topics whose turn it is first choose that on the way.
        """
        if not loaded.live.spreads:
            return True
        people: dict[str, set[str]] = {}
        for one in judging.assigned(self._store):
            people.setdefault(one.topic, set()).add(one.assessor)
        mine = people.get(topic, set())
        # Topics that the assessors of this one may judge too: their own, and those assigned to no one.
        rivals = [one for one in loaded.live.topics if one == topic or not people.get(one) or people[one] & mine]
        while offered := loaded.live.offer(1, topics=[one for one in rivals if not loaded.live.at(one).ended]):
            first, labels = offered[0], self._labels_of(offered[0].topic)
            if first.topic == topic:
                break
            if first.document not in labels:
                return False
            self._take(loaded, first, [], labels)
        return True

    def _choose(self, loaded: LoadedPool, topic: str, batch: int) -> int:
        """Choose until there are enough documents to judge, and give how many of the chosen are to be judged.

        What was judged elsewhere is chosen without being judged again, and the next choice is made with its label.
        When the topic has ended, everything that the steps after the adaptive one add comes at once.
        """
        labels = self._labels_of(topic)
        leases = judging.live_leases(self._store, MAIN, topic=topic, moment=moment())
        out = {lease.document for lease in leases}
        elsewhere = sorted(one for one in out if loaded.live.at(topic).is_free(one))
        fresh = 0
        while fresh < batch or topic in loaded.live.ended:
            others = [] if topic in loaded.live.ended else elsewhere
            offered = loaded.live.offer(1, under_judgment=[(topic, one) for one in others], topics=[topic])
            if not offered:
                break
            self._take(loaded, offered[0], others, labels)
            fresh += offered[0].document not in labels
            if offered[0].document in labels and not self._comes_to_its_turn(loaded, topic):
                break
        return fresh

    def _take(
        self, loaded: LoadedPool, choice: live_pool.Choice, elsewhere: Sequence[str], labels: Mapping[str, Label]
    ) -> None:
        """Follow one choice, and learn its label where it is known."""
        made_from = (loaded.version, loaded.seen[0], tuple(elsewhere), now())
        made = RecordedChoice(
            loaded.chosen + 1, choice.topic, choice.document, choice.step, choice.reason, *made_from
        )
        loaded.made.append(made)
        loaded.take(made)
        if choice.document in labels:
            loaded.live.set_judgments(choice.topic, loaded.handed_out.judgments(choice.topic, labels))

    def _write(self, loaded: LoadedPool) -> None:
        store, number, live, made = self._store, loaded.number, loaded.live, loaded.made
        for topic in dict.fromkeys(one.topic for one in made):
            first = live_pools.last_position(store, number, topic) + 1
            known, entries, ranks, numbers = live.at(topic), [], [], []
            candidates = known.candidates
            for position, one in enumerate([one for one in made if one.topic == topic], start=first):
                numbers.append(candidates.numbers[one.document])
                stratum, chance = known.story(numbers[-1])
                probability = None if chance != chance else chance
                entries.append((topic, one.document, position, one.step, stratum.name, probability, loaded.version))
                live_pools.count_in_stratum(store, number, topic, stratum.step, stratum.name, 1, 1)
                ranks += [(topic, one.document, run, rank) for run, rank in candidates.ranks_of(one.document)]
            pools.add_content(store, number, "pool_entries", entries)
            pools.add_content(store, number, "pool_ranks", ranks)
            left_out = build.duplicates_of(candidates, candidates.documents[numbers])
            pools.add_content(store, number, "pool_duplicates", [astuple(one) for one in left_out])
        loaded.head = live_pools.record_choices(store, number, made)

    def _write_end(self, loaded: LoadedPool, topic: str, rule: str) -> None:
        """Record the end, and what samples after it passed over; both once."""
        store, number = self._store, loaded.number
        if topic in live_pools.ends(store, number):
            return
        later = loaded.live.at(topic).later()
        for stratum, documents in later.items():
            key = stratum.step, stratum.name
            pools.add_content(store, number, "pool_undrawn", [(topic, document, *key) for document in documents])
            if documents:
                live_pools.count_in_stratum(store, number, topic, *key, len(documents), 0)
        end = RecordedEnd(topic, rule, loaded.version, loaded.seen[0], bool(later), now())
        store.put("pool_ends", [(number, *astuple(end))], existing="OR IGNORE")
