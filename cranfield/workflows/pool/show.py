"""Look at a pool: how large it is, who brought what, what it will cost, and why one document is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, Problem, UsageError, quoted
from cranfield.base.text import counted
from cranfield.judge.events import MAIN
from cranfield.store.events import has_grades
from cranfield.store.live_pools import RecordedChoice, choice_of, ends, seconds_of_judging
from cranfield.store.pools import (
    PoolFacts,
    PoolVersion,
    clusters_of_version,
    facts_of_pool,
    judged_of_topics,
    passed_over_by,
    pool_number,
    pool_topics,
    pooled_runs,
    represented_by,
    stands_for,
    story,
    versions_of_pool,
)
from cranfield.store.scales import current_scale
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import StoredRuns
from cranfield.workflows.pool.inputs import entrants_of_version, with_ids
from cranfield.workflows.qrels.current import qrels_now

if TYPE_CHECKING:
    from cranfield.base.tables import Table
    from cranfield.pool.overlap import Overlap
    from cranfield.pool.pool import Entry, Pool


# What a run from outside must expect to lose for not having been in a pool.

MEASURE = "AP"
FEWEST_GROUPS = 3
"""With fewer groups, leaving one out tells little about an outsider."""


@dataclass(frozen=True, slots=True)
class OutsiderLoss:
    """What contributing runs lose when their own group is left out: shares of their score, below 0 for a gain."""

    measure: str
    mean: float
    largest: float
    worst: str
    topics: int


def is_depth_pool(pool: Pool) -> bool:
    """Say whether holding a group out of the pool is taking away what it alone brought."""
    return all(getattr(step, "name", "") == "depth" for step in pool.plan.steps)


def outsider_loss(store: Store, pool: Pool) -> OutsiderLoss | None:
    """Score each run of a depth pool as if its group had not been in it; None before anything is judged.

    What only its group brought then counts as unjudged (leave-out-uniques). None too for every other plan: without
    the group it would have chosen other documents, and has to be played again (`cranfield reuse` does).
    """
    from cranfield.evaluate.align import align
    from cranfield.evaluate.expression import parse_measure
    from cranfield.reuse.hold_out import hold_out_own
    from cranfield.reuse.provenance import Contributor, prefixes_of

    stored = StoredRuns(store)
    here = [source for source in pool.sources if source.name in stored]
    if (
        not is_depth_pool(pool)
        or not has_grades(store, MAIN)
        or len({source.group for source in here}) < FEWEST_GROUPS
    ):
        return None
    qrels, runs = qrels_now(store), [stored.fetched(source.name)() for source in here]
    if not set(qrels.topics).intersection(pool.topics):
        return None
    aligned = align(qrels, runs)
    contributors = [Contributor(source.name, source.group) for source in here]
    entries = ((one.topic, one.document, brought.run) for one in pool for brought in one.contributions)
    group = prefixes_of(aligned, qrels, runs, contributors, entries=entries).by("group")
    measure = parse_measure(MEASURE, threshold=current_scale(store)[1].relevant_from)
    spread = hold_out_own(aligned, group, [measure]).relative_spread(measure)
    if not spread.runs:
        return None
    return OutsiderLoss(str(measure), spread.mean, spread.largest, spread.worst, len(aligned.topic_ids))


# How long judging takes: measured where something was judged, else assumed, and which of the two.

ASSUMED_SECONDS = 30.0
"""Two documents a minute, where nothing has been measured: an assumption, and said to be one."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of attention a document, and from how many judgments; 0 means that it is assumed."""

    seconds: float
    measured_on: int = 0

    def hours(self, documents: int) -> float:
        """Give the hours that some documents take."""
        return documents * self.seconds / 3600

    @property
    def pace(self) -> str:
        """The speed in words, and where it comes from."""
        basis = (
            f"the median of {counted(self.measured_on, 'judgment')}" if self.measured_on else "assumed, not measured"
        )
        number = "1 second" if self.seconds == 1 else f"{self.seconds:g} seconds"
        seconds = number if self.seconds >= 1 else "less than a second"
        return f"{seconds} a document ({basis})"

    def cost(self, documents: int) -> str:
        """Say what some documents cost."""
        return f"{time_in_words(self.hours(documents))} at {self.pace}"


def time_in_words(hours: float) -> str:
    """Give a time as one who plans says it: less than a minute, about 12 minutes, about 3.5 hours."""
    if hours * 60 < 1:
        return "less than a minute"
    return f"about {hours:,.1f} hours" if hours >= 1 else f"about {counted(round(60 * hours), 'minute')}"


def judging_speed(store: Store, *, seconds_per_document: float | None = None) -> Speed:
    """Give the speed of judging: the one that is given, else the measured median, else the assumption."""
    if seconds_per_document is not None:
        if not 0 < seconds_per_document < float("inf"):
            raise UsageError(f"seconds a document are a number above 0, not {seconds_per_document:g}")
        return Speed(seconds_per_document)
    measured = seconds_of_judging(store)
    return Speed(round(median(measured), 1), len(measured)) if measured else Speed(ASSUMED_SECONDS)


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
    def pool(self) -> Pool:
        """The whole pool, with every run and rank."""
        from cranfield.store.pools import stored_pool

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
        from cranfield.pool.overlap import contributions_of_runs

        rows = [
            (source.name, source.group, documents, alone)
            for source, (documents, alone) in zip(self.pool.sources, contributions_of_runs(self.pool), strict=True)
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

    def overlap(self, of: str) -> Overlap:
        """Give what runs, or groups, have in common."""
        from cranfield.pool.overlap import overlap_of

        return overlap_of(self.pool, "run" if of == "run" else "group")

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
    entry: Entry
    step: str
    choice: RecordedChoice | None
    copies: tuple[tuple[str, int, str], ...] = ()


def explain_entry(store: Store, topic: str, document: str, *, name: str = "") -> Explained:
    """Give the story of one document of one topic, or say why it has none."""
    from cranfield.pool.plan import parse_stored

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


# A pool as tables: its documents, runs, groups, topics, versions, and what a deeper one would add.

KINDS = ("document", "run", "group", "topic", "depth", "version", "overlap")
"""The tables there are."""


def pool_table(shown: ShownPool, what: str, *, of: str = "run") -> Table:
    """Give one table about a pool; an overlap is of every two runs, or groups."""
    from cranfield.base.tables import Column, table_of

    if what == "document":
        return _documents(shown)
    if what == "topic":
        rows = [(one.topic, one.documents, one.judged, one.ended) for one in shown.topics]
        return table_of(["topic", "documents", "judged", "ended"], rows)
    if what == "group":
        return table_of(["group", "runs", "documents", "only_this_group"], shown.groups)
    if what == "depth":
        return table_of(["depth", "more", "more_in_all", Column("hours", digits=1, kind="number")], shown.depths)
    if what == "version":
        columns = ["version", "made", "made_by", "runs", "documents", "content_hash"]
        made = [
            (one.version, one.made, one.made_by, runs, new, one.content_hash) for one, runs, new in shown.versions
        ]
        return table_of(columns, made)
    if what == "overlap":
        return table_of([of, f"other_{of}", "shared", "jaccard"], shown.pairs(of))
    return table_of(["run", "group", "documents", "only_this_group"], shown.runs)


def _documents(shown: ShownPool) -> Table:
    """Give every document in the order of judging; of the runs that have it the one that ranks it highest."""
    from cranfield.base.tables import Column, table_of

    pool = shown.pool
    strata = [stratum.name for stratum in pool.stratum_table]
    topics = pool.topic_of_entry.tolist()
    starts = pool.offsets.tolist()
    rows = [
        (pool.topics[topic], document, row - starts[topic] + 1, strata[stratum], chance, version, *known)
        for row, (topic, document, stratum, chance, version, known) in enumerate(
            zip(
                topics,
                pool.ids,
                pool.strata.tolist(),
                [None if chance != chance else chance for chance in pool.probabilities.tolist()],
                pool.versions.tolist(),
                _best(pool),
                strict=True,
            )
        )
    ]
    names = ("topic", "document", "position", "stratum", "probability", "version", "runs", "best_rank", "best_run")
    numeric = {"position", "probability", "version", "runs", "best_rank"}
    return table_of([Column(name, kind="number" if name in numeric else "text") for name in names], rows)


def _best(pool: Pool) -> list[tuple[int, int | None, str | None]]:
    """Give for each document how many runs have it, and the best rank with the first run that has it there."""
    import numpy as np

    counts = np.diff(pool.contribution_offsets)
    many = max(len(pool.sources), 1)
    keys = pool.contribution_ranks.astype(np.int64) * many + pool.contribution_runs
    filled = np.flatnonzero(counts)
    best = np.zeros(len(counts), dtype=np.int64)
    if len(filled):
        best[filled] = np.minimum.reduceat(keys, pool.contribution_offsets[filled])
    return [
        (count, key // many, pool.sources[key % many].name) if count else (0, None, None)
        for count, key in zip(counts.tolist(), best.tolist(), strict=True)
    ]
