"""Live pools: what the judgments of a collection say to them, and the next documents, chosen from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


class FollowedPool(live_pool.LivePool):
    """A live pool that follows the record of its choices: it knows when each of its documents came.

    That is (the last event known then, number of the choice), by topic and document. `choices` are those that the
    pool has already.
    """

    def __init__(self, pool: pooling.Pool, choices: Iterable[RecordedChoice], *inputs: Any, **options: Any) -> None:
        super().__init__(*inputs, pool=pool, **options)
        self._came = {topic: dict.fromkeys(pool.documents_of(topic), AT_FIRST) for topic in pool.topics}
        for choice in choices:
            self._came.setdefault(choice.topic, {})[choice.document] = choice.known, choice.number

    def follow(self, choice: RecordedChoice) -> None:
        """Take in a choice: its document was handed out."""
        self._came.setdefault(choice.topic, {})[choice.document] = choice.known, choice.number
        self.hand_out(choice.topic, choice.document)

    def set_labels(self, topic: str, labels: Mapping[str, Label]) -> None:
        """Bring a topic to where the labels that count for it now leave it."""
        self.set_judgments(topic, in_order(topic, self._came[topic], labels))


def in_order(topic: str, came: Mapping[str, tuple[int, int]], labels: Mapping[str, Label]) -> list[live_pool.Judged]:
    """The labels of what is in a pool, in the order in which the pool learnt of them.

    A document that was judged when it came was learnt of then, after everything that was known.
    """
    learnt = []
    for document, (known, number) in came.items():
        label = labels.get(document)
        if label is not None:
            place = (label.event, 0, 0) if label.event > known else (known, 1, number)
            learnt.append((place, label.event, live_pool.Judged(topic, document, label.relevant)))
    return [judged for *_, judged in sorted(learnt, key=lambda one: one[:2])]


def labels_of(answers: Iterable[StandingAnswer], relevant_from: Mapping[int, int]) -> dict[str, Label]:
    """The labels that standing answers mean."""
    labels: dict[str, Label] = {}
    for one in sorted(answers, key=lambda one: (one.adjudicated, one.event)):  # the last grade is the one that counts
        label = labels.get(one.document, Label(None, one.event))
        relevant = label.relevant if one.grade is None else one.grade >= relevant_from[one.scale]
        labels[one.document] = Label(relevant, min(label.event, one.event))
    return labels


# Documents are chosen in batches, and what was chosen is recorded.


@dataclass(frozen=True)
class Refilled:
    """What became of a topic: how many documents came, and the rule that has ended its adaptive step, if one has.

    Nothing came and nothing ended: what is out is to be judged first, or other topics are to be judged first.
    """

    added: int
    ended: str | None


class Refiller:
    """A live pool of a collection in memory, between one batch and the next: how far it has followed the file.

    Several processes may judge: before anything is chosen, what others judged and chose is caught up with. A
    transaction that was taken back is noticed, and the pool is read again.
    """

    live: FollowedPool
    _number: int
    _seen: tuple[int, str]
    _made: list[RecordedChoice]
    """The choices that are not written yet."""
    _labels: dict[str, Mapping[str, Label]]

    def __init__(self, store: Store, pool: str) -> None:
        self._store, self._pool, self._version = store, pool, 0
        self._chosen, self._head = 0, ""

    def refill(self, topic: str, *, batch: int = 10) -> Refilled:
        """Add the next documents to a topic, inside `store.write()`.

        Documents that are leased, because an assessor has them on the screen, are not chosen.
        """
        self.load()
        store, live = self._store, self.live
        self._labels, self._made = {}, []
        for one in live_pools.choices(store, self._number, after=self._chosen):
            live.follow(one)
            self._chosen, self._head = one.number, one.hash
        for end in live_pools.ends(store, self._number).values():
            if end.final:
                live.close(end.topic, end.rule)
        names = {topic}
        if live.spreads:
            touched = live_pools.touched(store, after=self._seen)
            names |= set(live.topics) if touched is None else {where for where, _ in touched}
        for name in names.intersection(live.topics):
            live.set_labels(name, self._labels_of(name))
        self._seen = events.last_event(store)
        if topic not in live.ended:
            live_pools.forget_end(store, self._number, topic)
        fresh = self._choose(topic, batch) if self._comes_to_its_turn(topic) else 0
        self._write()
        # The end, and what samples after it passed over; both once.
        recorded, chosen_for = live_pools.ends(store, self._number), {topic, *(one.topic for one in self._made)}
        for name in sorted(chosen_for.intersection(live.ended).difference(recorded)):
            later = live.at(name).later()
            for stratum, documents in later.items():
                undrawn = [(name, document, *stratum) for document in documents]
                pools.add_content(store, self._number, "pool_undrawn", undrawn)
                if documents:
                    live_pools.count_in_stratum(store, self._number, name, *stratum, len(documents), 0)
            end = RecordedEnd(name, live.ended[name], self._version, self._seen[0], bool(later), now())
            store.put("pool_ends", [(self._number, *end)], existing="OR IGNORE")
        return Refilled(fresh, live.ended.get(topic))

    def load(self) -> None:
        """Read the pool, if it is not here as it is in the file; that takes a while, and needs no transaction."""
        store, name = self._store, self._pool
        version = pools.versions_of_pool(store, name)[-1].version
        is_here = self._version == version  # and what was followed was not rolled back since
        if is_here and (live_pools.hash_of_choice(store, self._number, self._chosen) or "") == self._head:
            return
        pool, number = pools.stored_pool(store, name, contributions=False), pools.pool_number(store, name)
        self.live = FollowedPool(
            pool,
            live_pools.choices(store, number),
            pool.plan,
            inputs.pooled_runs(store, pool=name, version=version),
            clusters=pools.clusters_of_version(store, name, version),
            words=inputs.words(store),
            ended={end.topic: end.rule for end in live_pools.ends(store, number).values() if end.final},
        )
        self._number, self._version, self._seen = number, version, (0, "")
        self._chosen, self._head = live_pools.last_choice(store, number)

    def _labels_of(self, topic: str) -> Mapping[str, Label]:
        """The labels of a topic that count now: nobody can add one before this transaction has ended."""
        if topic not in self._labels:
            answers = live_pools.standing_answers(self._store, topic)
            self._labels[topic] = labels_of(answers, live_pools.thresholds(self._store))
        return self._labels[topic]

    def _comes_to_its_turn(self, topic: str) -> bool:
        """Whether a budget across topics is not better spent on another topic that the same people judge.

        What was judged elsewhere costs nothing: topics whose turn it is first choose that on the way.
        """
        if not self.live.spreads:
            return True
        assigned = judging.assigned(self._store)
        people = {one.assessor for one in assigned if one.topic == topic}
        # Topics that the assessors of this one may judge too: their own, and those assigned to no one.
        theirs = {one.topic for one in assigned} - {one.topic for one in assigned if one.assessor in people}
        rivals = [one for one in self.live.topics if one == topic or one not in theirs]
        while first := self.live.offer(topics=[one for one in rivals if not self.live.at(one).ended]):
            if first.topic == topic:
                break
            if first.document not in self._labels_of(first.topic):
                return False
            self._take(first, ())
        return True

    def _choose(self, topic: str, batch: int) -> int:
        """Choose until there are enough documents to judge, and give how many of the chosen are to be judged.

        What was judged elsewhere is chosen without being judged again, and the next choice is made with its label.
        When the topic has ended, everything that the steps after the adaptive one add comes at once.
        """
        labels = self._labels_of(topic)
        leases = judging.live_leases(self._store, MAIN, topic=topic, moment=moment())
        out = {lease.document for lease in leases}
        elsewhere = sorted(one for one in out if self.live.at(topic).is_free(one))
        fresh = 0
        while fresh < batch or topic in self.live.ended:
            others = [] if topic in self.live.ended else elsewhere
            choice = self.live.offer(under_judgment=[(topic, one) for one in others], topics=[topic])
            if choice is None:
                break
            self._take(choice, others)
            fresh += choice.document not in labels
            if choice.document in labels and not self._comes_to_its_turn(topic):
                break
        return fresh

    def _take(self, choice: live_pool.Choice, elsewhere: Sequence[str]) -> None:
        """Follow one choice, and learn its label where it is known."""
        self._chosen += 1
        made = RecordedChoice(self._chosen, *choice, self._version, self._seen[0], tuple(elsewhere), now())
        self._made.append(made)
        self.live.follow(made)
        if choice.document in (labels := self._labels_of(choice.topic)):
            self.live.set_labels(choice.topic, labels)

    def _write(self) -> None:
        store, number, live, made = self._store, self._number, self.live, self._made
        for topic in dict.fromkeys(one.topic for one in made):
            first = live_pools.last_position(store, number, topic) + 1
            known, entries, ranks, numbers = live.at(topic), [], [], []
            candidates = known.candidates
            for position, one in enumerate([one for one in made if one.topic == topic], start=first):
                numbers.append(candidates.numbers[one.document])
                stratum, chance = known.story(numbers[-1])
                probability = None if chance != chance else chance
                entries.append((topic, one.document, position, one.step, stratum.name, probability, self._version))
                live_pools.count_in_stratum(store, number, topic, *stratum, 1, 1)
                ranks += [(topic, one.document, run, rank) for run, rank in candidates.ranks_of(one.document)]
            pools.add_content(store, number, "pool_entries", entries)
            pools.add_content(store, number, "pool_ranks", ranks)
            left_out = build.duplicates_of(candidates, candidates.documents[numbers])
            pools.add_content(store, number, "pool_duplicates", left_out)
        self._head = live_pools.record_choices(store, number, made)
