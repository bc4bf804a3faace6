"""Look at a pool: how large it is, who brought what, what it will cost, and why one document is in it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cranfield.errors import InputError, Problem, quoted
from cranfield.workflows.pool_inputs import entrants_of_version, with_ids
from cranfield.workflows.pool_loss import OutsiderLoss, is_depth_pool, outsider_loss
from cranfield.workflows.pool_speed import Speed, judging_speed
from cranfield.store import Store
from cranfield.store.pools import (
    PoolFacts,
    facts_of_pool,
    judged_of_topics,
    passed_over_by,
    pool_facts,
    pool_number,
    pool_topics,
    pooled_runs,
    represented_by,
    stands_for,
    story,
)
from cranfield.store.pools_content import PoolVersion, clusters_of_version, versions_of_pool
from cranfield.store.pools_live import RecordedChoice, choice_of, ends

if TYPE_CHECKING:
    from cranfield.pool.overlap import Overlap
    from cranfield.pool.pool import Entry, Pool

__all__ = ["explain_entry", "pool_facts", "show_pool"]

_DEPTHS = (*range(1, 11), 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000)
"""At which depths it is told what a deeper pool would add; beyond, every thousand."""


@dataclass(frozen=True, slots=True)
class ShownTopic:
    """One topic of a pool: how many documents it has, how many of them are judged, and what has ended it."""

    topic: str
    documents: int
    judged: int
    ended: str


class ShownPool:
    """A pool in numbers. What is asked for is read when it is asked for; the collection must be open."""

    def __init__(self, store: Store, facts: PoolFacts, speed: Speed) -> None:
        self.facts, self.speed, self._store = facts, speed, store

    @cached_property
    def pool(self) -> "Pool":
        """The whole pool, with every run and rank."""
        from cranfield.store.pools_loading import stored_pool

        return stored_pool(self._store, self.facts.name)

    @cached_property
    def topics(self) -> list[ShownTopic]:
        """The topics in order."""
        sizes, judged = self.pool.sizes, judged_of_topics(self._store, self.facts.name)
        over = ends(self._store, pool_number(self._store, self.facts.name))
        return [
            ShownTopic(topic, sizes[topic], judged.get(topic, 0), over[topic].rule if topic in over else "")
            for topic in pool_topics(self._store, self.facts.name)
        ]

    @property
    def documents(self) -> int:
        """How many documents are in it."""
        return len(self.pool)

    @property
    def judged(self) -> int:
        """How many of them are judged."""
        return sum(topic.judged for topic in self.topics)

    @property
    def endings(self) -> list[tuple[str, int]]:
        """Which rules have ended topics, and how many, the commonest first."""
        return Counter(topic.ended for topic in self.topics if topic.ended).most_common()

    @property
    def going_on(self) -> int:
        """How many topics may still get documents: those of a live pool that no rule has ended."""
        return sum(not topic.ended for topic in self.topics) if self.pool.plan.is_live else 0

    @property
    def versions(self) -> list[tuple[PoolVersion, int, int]]:
        """The versions, each with the runs and the documents that came with it."""
        runs = Counter(one.version for one in pooled_runs(self._store, self.facts.name))
        documents = Counter(self.pool.versions.tolist())
        made = versions_of_pool(self._store, self.facts.name)
        return [(one, runs[one.version], documents[one.version]) for one in made]

    @property
    def runs(self) -> list[tuple[str, str, int, int]]:
        """The runs: name, group, documents, and how many of these no other group has; most of those first."""
        from cranfield.pool.overlap import brought_by_runs

        rows = [
            (source.name, source.group, documents, alone)
            for source, (documents, alone) in zip(self.pool.sources, brought_by_runs(self.pool), strict=True)
        ]
        return sorted(rows, key=lambda row: (-row[3], -row[2], row[0]))

    @property
    def groups(self) -> list[tuple[str, int, int, int]]:
        """The groups: name, runs, documents, and how many of these no other group has; most of those first."""
        found = self.overlap("group")
        sent = Counter(source.group for source in self.pool.sources)
        rows = [
            (name, sent[name], int(found.shared[place, place]), int(found.unique[place]))
            for place, name in enumerate(found.names)
        ]
        return sorted(rows, key=lambda row: (-row[3], -row[2], row[0]))

    @property
    def depths(self) -> list[tuple[int, int, int, float]]:
        """What a deeper pool would add: depth, documents more than at the depth before, documents in all, hours."""
        from cranfield.pool.overlap import missing_by_depth

        name, version = self.facts.name, self.pool.version
        runs = with_ids(self._store, entrants_of_version(self._store, name, version))
        clusters = clusters_of_version(self._store, name, version) or None
        missing, rows, last = missing_by_depth(self.pool, runs, clusters=clusters), [], 0
        for depth in _depths(len(missing)):
            total = int(missing[:depth].sum())
            rows.append((depth, total - last, total, self.speed.hours(total)))
            last = total
        return rows

    @property
    def leaning(self) -> Problem | None:
        """A warning where one group supplies most of what only one group has."""
        from cranfield.pool.overlap import dominant_group

        return dominant_group(self.pool)

    @property
    def is_depth_pool(self) -> bool:
        """Whether it has the first documents of each run, or group, and nothing else."""
        return is_depth_pool(self.pool)

    @property
    def loss(self) -> OutsiderLoss | None:
        """What an outsider must expect to lose, once something is judged."""
        return outsider_loss(self._store, self.pool)

    def overlap(self, of: str) -> "Overlap":
        """Give what runs, or groups, have in common."""
        from cranfield.pool.overlap import overlap_of_groups, overlap_of_runs

        return overlap_of_runs(self.pool) if of == "run" else overlap_of_groups(self.pool)

    def pairs(self, of: str) -> list[tuple[str, str, int, float]]:
        """Give every two runs, or groups, with what both brought and their Jaccard similarity, the likest first."""
        found = self.overlap(of)
        rows = [
            (one, other, int(found.shared[place, next_place]), float(found.jaccard[place, next_place]))
            for place, one in enumerate(found.names)
            for next_place, other in enumerate(found.names[place + 1 :], start=place + 1)
        ]
        return sorted(rows, key=lambda row: (-row[3], -row[2], row[0], row[1]))


def show_pool(store: Store, name: str = "", *, seconds_per_document: float | None = None) -> ShownPool:
    """Give the pool of this name, or the latest, in numbers."""
    speed = judging_speed(store, seconds_per_document=seconds_per_document)
    return ShownPool(store, facts_of_pool(store, name), speed)


def _depths(deepest: int) -> list[int]:
    known = [depth for depth in (*_DEPTHS, *range(2000, deepest, 1000)) if depth < deepest]
    return [*known, deepest] if deepest else []


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a document is in a pool: its entry, the step that brought it, and the choice where judgments decided.

    `copies` are (run, rank, document) of the near-duplicates that it stands for.
    """

    facts: PoolFacts
    entry: "Entry"
    step: str
    choice: RecordedChoice | None
    copies: tuple[tuple[str, int, str], ...] = ()


def explain_entry(store: Store, topic: str, document: str, *, name: str = "") -> Explained:
    """Give the story of one document of one topic, or say why it has none."""
    from cranfield.pool.parsing import parse_stored

    facts = facts_of_pool(store, name)
    entry = story(store, facts.name, topic, document)
    if entry is not None:
        plan = parse_stored(facts.plan_in_full)
        choice = choice_of(store, pool_number(store, facts.name), topic, document)
        copies = tuple(_copies(store, facts.name, topic, document, reach=plan.reach))
        return Explained(facts, entry, str(plan.steps[entry.step - 1]), choice, copies)
    if topic not in pool_topics(store, facts.name):
        raise InputError(f"topic {quoted(topic)} is not in the pool {quoted(facts.name)}")
    other = stands_for(store, facts.name, topic, document)
    if other is not None:
        raise InputError(f"{quoted(document)} stays out of topic {quoted(topic)}: {quoted(other)} stands for it")
    strata = passed_over_by(store, facts.name, topic, document)
    if strata:
        said = f"{quoted(document)} is not to be judged for topic {quoted(topic)}: a sample passed over it"
        raise InputError(f"{said} (stratum {strata[0]})")
    raise InputError(
        f"{quoted(document)} is not in the pool {quoted(facts.name)} of topic {quoted(topic)}"
        + _best_rank(store, facts.name, topic, document)
    )


def _copies(
    store: Store, name: str, topic: str, document: str, *, reach: int | None
) -> Iterator[tuple[str, int, str]]:
    """Give which runs have a near-duplicate that a document stands for, and at which rank of the pooled part."""
    from cranfield.pool.candidates import candidates_of

    others = represented_by(store, name, topic, document)
    if not others:
        return
    version = versions_of_pool(store, name)[-1].version
    candidates = candidates_of(with_ids(store, entrants_of_version(store, name, version)).cut(reach), topic)
    for other in [other for other in others if other in candidates.numbers]:
        ranks = candidates.ranks[:, candidates.numbers[other]].tolist()
        yield from ((run.name, rank, other) for run, rank in zip(candidates.runs, ranks, strict=True) if rank)


def _best_rank(store: Store, name: str, topic: str, document: str) -> str:
    """Say where the runs of a pool have a document that is not in it."""
    from cranfield.pool.candidates import candidates_of

    runs = with_ids(store, entrants_of_version(store, name, versions_of_pool(store, name)[-1].version))
    candidates = candidates_of(runs, topic) if topic in runs.codes_by_topic else None
    number = None if candidates is None else candidates.numbers.get(document)
    if candidates is None or number is None:
        return "; no pooled run has it"
    ranks: Sequence[int] = candidates.ranks[:, number].tolist()
    best, run = min((rank, run.name) for rank, run in zip(ranks, candidates.runs, strict=True) if rank)
    return f"; its best rank is {best:,}, in {run}"
