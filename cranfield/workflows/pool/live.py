"""Fill up a live pool: the next documents of a topic, chosen from what has been judged so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.progress import moment, now
from cranfield.judge.events import MAIN
from cranfield.store.judging import assigned, live_leases
from cranfield.store.live_pools import (
    RecordedChoice,
    RecordedEnd,
    choices,
    count_in_stratum,
    ends,
    follows,
    forget_end,
    last_choice,
    last_event,
    last_position,
    record_choices,
    record_end,
    topics_touched,
)
from cranfield.store.pools import add_content, clusters_of_version, pool_number, versions_of_pool
from cranfield.store.store import Store
from cranfield.workflows.pool.inputs import (
    HandedOut,
    Label,
    LabelsNow,
    entrants_of_version,
    queries,
    reader,
    with_ids,
)

if TYPE_CHECKING:
    from cranfield.pool.live import Choice, LivePool


@dataclass(frozen=True, slots=True)
class Refilled:
    """What became of a topic: how many documents came, and the rule that has ended its adaptive step, if one has.

    Nothing came and nothing ended: what is out is to be judged first, or other topics are to be judged first.
    """

    added: int
    ended: str | None


def refill(
    store: Store, pool_name: str, topic: str, *, batch: int = 10, under_judgment: Collection[str] = ()
) -> Refilled:
    """Add the next documents to a topic of a live pool, inside `store.write()`.

    Documents that somebody has before him (leases, and `under_judgment`) are not chosen. Whoever asks more than once
    keeps a `Refiller`: it has the runs in memory and asks for what is new alone.
    """
    return Refiller(store).refill(pool_name, topic, batch=batch, under_judgment=under_judgment)


@dataclass
class _Kept:
    """A live pool in memory, and how far it has followed the file."""

    live: LivePool
    number: int
    version: int
    handed_out: HandedOut
    chosen: int = 0
    head: str = ""
    seen: tuple[int, str] = (0, "")

    def take(self, choice: RecordedChoice) -> None:
        """Follow a choice that was recorded."""
        self.handed_out.add(choice.topic, choice.document, (choice.known, choice.number))
        self.live.hand_out(choice.topic, [choice.document])
        self.chosen = choice.number


class Refiller:
    """The live pools of a collection, kept in memory between one batch and the next.

    Several processes may judge: before anything is chosen, what others judged and chose is caught up with. A
    transaction that was taken back is noticed, and the pool is read again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._labels = LabelsNow(store)
        self._kept: dict[str, _Kept] = {}

    def refill(
        self, pool_name: str, topic: str, *, batch: int = 10, under_judgment: Collection[str] = ()
    ) -> Refilled:
        """Add the next documents to a topic, inside `store.write()`; see `refill`."""
        if batch < 1:
            raise UsageError(f"a batch has at least one document, not {batch}")
        kept = self._caught_up(pool_name, topic)
        if topic not in kept.live.ended:
            forget_end(self._store, kept.number, topic)
        made, fresh = list[RecordedChoice](), 0
        if self._comes_to_its_turn(kept, topic, made):
            fresh = self._choose(kept, topic, batch, under_judgment, made)
        self._write(kept, made)
        for name in sorted({topic, *(one.topic for one in made)}.intersection(kept.live.ended)):
            self._write_end(kept, name, kept.live.ended[name])
        return Refilled(fresh, kept.live.ended.get(topic))

    def prepare(self, pool_name: str) -> None:
        """Read the runs of a pool before the first batch is asked for, outside of any transaction."""
        self._ready(pool_name)

    def _caught_up(self, pool_name: str, topic: str) -> _Kept:
        kept = self._ready(pool_name)
        if topic not in kept.live.topics:
            raise InputError(f"topic {quoted(topic)} is not in the pool {quoted(pool_name)}")
        for one in choices(self._store, kept.number, after=kept.chosen):
            kept.take(one)
            kept.head = one.hash
        for end in ends(self._store, kept.number).values():
            if end.final:
                kept.live.close(end.topic, end.rule)
        touched = topics_touched(self._store, after=kept.seen) if kept.live.spreads else ()
        for name in {topic, *touched}.intersection(kept.live.topics):
            kept.live.set_judgments(name, kept.handed_out.told(name, self._labels.of(name)))
        kept.seen = last_event(self._store)
        return kept

    def _ready(self, pool_name: str) -> _Kept:
        version = versions_of_pool(self._store, pool_name)[-1].version
        kept = self._kept.get(pool_name)
        if kept is None or kept.version != version or not follows(self._store, kept.number, kept.chosen, kept.head):
            kept = self._kept[pool_name] = _loaded(self._store, pool_name, version)
        return kept

    def _comes_to_its_turn(self, kept: _Kept, topic: str, made: list[RecordedChoice]) -> bool:
        """Say whether a budget across topics is not better spent on another topic that the same people judge.

        What was judged elsewhere costs nothing: topics whose turn it is first choose that on the way.
        """
        if not kept.live.spreads:
            return True
        rivals = _rivals(self._store, kept.live.topics, topic)
        while (first := _first(kept.live, rivals)) is not None and first.topic != topic:
            labels = self._labels.of(first.topic)
            if first.document not in labels:
                return False
            self._take(kept, first, [], labels, made)
        return True

    def _choose(
        self, kept: _Kept, topic: str, batch: int, under_judgment: Collection[str], made: list[RecordedChoice]
    ) -> int:
        """Choose until there are enough documents to judge, and give how many of the chosen are to be judged.

        What was judged elsewhere is chosen without being judged again, and the next choice is made with its label.
        When the topic has ended, everything that the steps after the adaptive one add comes at once.
        """
        labels = self._labels.of(topic)
        elsewhere = self._elsewhere(kept.live, topic, under_judgment)
        fresh = 0
        while fresh < batch or topic in kept.live.ended:
            others = [] if topic in kept.live.ended else elsewhere
            offered = kept.live.offer(1, under_judgment=[(topic, one) for one in others], topics=[topic]).choices
            if not offered:
                break
            self._take(kept, offered[0], others, labels, made)
            fresh += offered[0].document not in labels
            if offered[0].document in labels and not self._comes_to_its_turn(kept, topic, made):
                break
        return fresh

    def _take(
        self,
        kept: _Kept,
        choice: Choice,
        elsewhere: Sequence[str],
        labels: Mapping[str, Label],
        made: list[RecordedChoice],
    ) -> None:
        """Follow one choice, and learn its label where it is known."""
        made_from = (kept.version, kept.seen[0], tuple(elsewhere), now())
        made.append(
            RecordedChoice(kept.chosen + 1, choice.topic, choice.document, choice.step, choice.reason, *made_from)
        )
        kept.take(made[-1])
        if choice.document in labels:
            kept.live.set_judgments(choice.topic, kept.handed_out.told(choice.topic, labels))

    def _elsewhere(self, live: LivePool, topic: str, under_judgment: Collection[str]) -> list[str]:
        """Give what somebody has before him, of what could be chosen."""
        leased = {lease.document for lease in live_leases(self._store, MAIN, topic=topic, moment=moment())}
        return sorted(one for one in {*leased, *under_judgment} if live.is_free(topic, one))

    def _write(self, kept: _Kept, made: Sequence[RecordedChoice]) -> None:
        for topic in dict.fromkeys(one.topic for one in made):
            self._write_entries(kept, topic, [one for one in made if one.topic == topic])
        kept.head = record_choices(self._store, kept.number, made)

    def _write_entries(self, kept: _Kept, topic: str, made: Sequence[RecordedChoice]) -> None:
        store, number, live = self._store, kept.number, kept.live
        documents = [one.document for one in made]
        first = last_position(store, number, topic) + 1
        entries = []
        for position, one in enumerate(made, start=first):
            stratum, chance = live.story(topic, one.document)
            probability = None if chance != chance else chance
            entries.append((topic, one.document, position, one.step, stratum.name, probability, kept.version))
            count_in_stratum(store, number, topic, (stratum.step, stratum.name), more=1, drawn=1)
        add_content(store, number, "pool_entries", entries)
        add_content(store, number, "pool_ranks", _ranks(live, topic, documents))
        marked = [(one.topic, one.document, one.representative) for one in live.stands_for(topic, documents)]
        add_content(store, number, "pool_duplicates", marked)

    def _write_end(self, kept: _Kept, topic: str, rule: str) -> None:
        """Record the end, and what samples after it passed over; both once."""
        store, number = self._store, kept.number
        if topic in ends(store, number):
            return
        later = kept.live.later(topic)
        ids = kept.live.candidates(topic).ids
        for addition in later:
            stratum = addition.stratum.step, addition.stratum.name
            passed_over = [(topic, ids[one], *stratum) for one in addition.undrawn]
            add_content(store, number, "pool_undrawn", passed_over)
            if passed_over:
                count_in_stratum(store, number, topic, stratum, more=len(passed_over), drawn=0)
        record_end(store, number, RecordedEnd(topic, rule, kept.version, kept.seen[0], bool(later), now()))


def _loaded(store: Store, name: str, version: int) -> _Kept:
    """Give a live pool as it is in the file, before it is told any judgment."""
    from cranfield.pool.live import LivePool
    from cranfield.store.pools import stored_entries

    pool, number = stored_entries(store, name), pool_number(store, name)
    live = LivePool(
        pool.plan,
        with_ids(store, entrants_of_version(store, name, version)),
        pool=pool,
        clusters=clusters_of_version(store, name, version) or None,
        texts=reader(store),
        queries=queries(store),
        ended={end.topic: end.rule for end in ends(store, number).values() if end.final},
    )
    handed_out = HandedOut()
    for topic in pool.topics:
        for document in pool.documents_of(topic):
            handed_out.add(topic, document)
    for one in choices(store, number):
        handed_out.add(one.topic, one.document, (one.known, one.number))
    chosen, head = last_choice(store, number)
    return _Kept(live, number, version, handed_out, chosen, head)


def _first(live: LivePool, topics: Sequence[str]) -> Choice | None:
    """Give the next document of the topic whose turn it is, of those that have one to offer."""
    for topic in live.turn(topics):
        offered = live.offer(1, topics=[topic]).choices
        if offered:
            return offered[0]
    return None


def _rivals(store: Store, topics: Sequence[str], topic: str) -> list[str]:
    """Give the topics that the people who judge this one may judge too: their own, and those of nobody."""
    people: dict[str, set[str]] = {}
    for one in assigned(store):
        people.setdefault(one.topic, set()).add(one.assessor)
    mine = people.get(topic, set())
    return [one for one in topics if one == topic or not people.get(one) or people[one] & mine]


def _ranks(live: LivePool, topic: str, documents: Sequence[str]) -> list[tuple[str, str, str, int]]:
    """Give every run that has some documents, and at which rank."""
    candidates = live.candidates(topic)
    return [
        (topic, document, run.name, int(rank))
        for document in documents
        for run, rank in zip(live.runs.runs, candidates.ranks[:, candidates.numbers[document]], strict=True)
        if rank
    ]
