"""A pool: what is to be judged, in which order, and why each document is there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal

import numpy as np
import pyarrow as pa

from cranfield.base.arrow import named
from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.base.text import counted
from cranfield.pool.candidates import Candidates, Mask, by_group
from cranfield.pool.plan import Amount, Plan, Selection
from cranfield.pool.strategy import FillsUp, FixedOrder, RankAmount, Sampling
from cranfield.runs.run import Codes, Places, Scores

# One topic's pool while it grows: each step of a plan adds what is not there yet.

NO_PROBABILITY = math.nan
"""The inclusion probability of what was chosen by looking at judgments: it is no sample of anything."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """What one step (numbered from 1) drew from: its name, and the part of the step where it has several."""

    step: int
    name: str


@dataclass(frozen=True, eq=False)
class Addition:
    """What a step adds to a topic: candidate numbers in judging order, the stratum and the probability of each.

    `undrawn` are the documents of the stratum that could have been chosen and were not. Only a sample has any.
    """

    stratum: Stratum
    chosen: Places
    probabilities: Scores
    undrawn: Places

    @property
    def population(self) -> int:
        """N_h: how many documents the stratum has."""
        return len(self.chosen) + len(self.undrawn)


@dataclass(eq=False)
class TopicPool:
    """The pool of one topic: what is in it, and every addition in order.

    `barred` are candidates that may not be drawn by chance (they had their chance before). `rates` are the shares at
    which earlier samples were drawn, by step, and `drawn_before` what they drew: an extension draws at the same rate.
    `own_rates` are those of single strata, for samples that have several. `beyond` are the steps that took more than
    their amount: the rates of a sample can ask for more.
    """

    topic: str
    size: int
    seed: int
    present: Mask = field(init=False)
    additions: list[Addition] = field(default_factory=list)
    barred: Places = field(default_factory=lambda: np.empty(0, np.int64))
    rates: dict[int, float] = field(default_factory=dict)
    drawn_before: dict[int, Places] = field(default_factory=dict)
    own_rates: dict[int, dict[str, float]] = field(default_factory=dict)
    beyond: set[int] = field(default_factory=set)
    suffix: str = ""

    def __post_init__(self) -> None:
        self.present = np.zeros(self.size, dtype=bool)

    @property
    def count(self) -> int:
        """How many documents are in the pool."""
        return int(np.count_nonzero(self.present))

    @property
    def chosen(self) -> Places:
        """All documents in the order they came."""
        return np.concatenate([np.empty(0, np.int64), *(addition.chosen for addition in self.additions)])

    def add(self, addition: Addition) -> None:
        """Take in what a step adds."""
        self.present[addition.chosen] = True
        self.additions.append(addition)

    def cap(self, number: int) -> None:
        """Keep the first documents only."""
        left = number
        for place, addition in enumerate(self.additions):
            kept, left = min(left, len(addition.chosen)), max(left - len(addition.chosen), 0)
            self.present[addition.chosen[kept:]] = False
            self.additions[place] = Addition(
                addition.stratum, addition.chosen[:kept], addition.probabilities[:kept], addition.undrawn
            )


def view(candidates: Candidates, step: Selection) -> Candidates:
    """Give the candidates as the step sees them: by run, or by group."""
    return by_group(candidates) if step.scope.by == "group" else candidates


def eligible(pool: TopicPool, seen: Candidates, step: Selection) -> Mask:
    """Say which candidates the step can choose: those in its ranks that are not in the pool.

    What an earlier sample could have drawn is not drawn by a later one: the probability of either would be wrong.
    """
    free = ~pool.present
    if step.scope.ranks:
        first, last = step.scope.ranks
        free &= (seen.best_rank >= first) & (seen.best_rank <= last)
    if step.strategy.kind == "sampling":
        free[pool.barred] = False
        for addition in pool.additions:
            free[addition.undrawn] = False
    return free


def apply(pool: TopicPool, candidates: Candidates, step: Selection, number: int, *, level: int | None = None) -> None:
    """Let a fixed or sampling step, the `number`-th of the plan, add its documents to the topic.

    `level` is the size the topic may reach, where a budget was shared over all topics.
    """
    seen = view(candidates, step)
    free = eligible(pool, seen, step)
    if isinstance(step.strategy, Sampling):
        _add_sample(pool, seen, step, number, free, level)
    elif isinstance(step.strategy, FixedOrder):
        _add_fixed(pool, seen, step, number, free, level)


def wanted(amount: Amount, *, have: int, available: int, level: int | None) -> int:
    """Give how many documents an amount means for a topic that has some and can choose from some more."""
    number = {
        "all": available,
        "count": int(amount.number),
        "until": int(amount.number) - have,
        "share": share_of(available, amount.number / 100),
        "budget": (level if level is not None else have) - have,
    }[amount.kind]
    return max(0, min(number, available))


def share_of(population: int, share: float) -> int:
    """Give a share of a population in whole documents, rounded half up, at least one of a population that has any."""
    return min(population, max(math.floor(population * share + 0.5), 1)) if population else 0


def _add_fixed(
    pool: TopicPool, seen: Candidates, step: Selection, number: int, free: Mask, level: int | None
) -> None:
    assert isinstance(step.strategy, FixedOrder)
    order = step.strategy.order(seen, seed=pool.seed)
    if isinstance(step.strategy, RankAmount):
        order = order[: _size(step, seen, int(step.amount.number))]
        chosen = order[free[order]]
    else:
        order = order[free[order]]
        chosen = order[: wanted(step.amount, have=pool.count, available=len(order), level=level)]
    pool.add(Addition(Stratum(number, str(step) + pool.suffix), chosen, np.ones(len(chosen)), np.empty(0, np.int64)))


def _size(step: Selection, seen: Candidates, amount: int) -> int:
    assert isinstance(step.strategy, RankAmount)
    if step.scope.by != "topic":
        return step.strategy.size(seen, amount)
    counts = np.cumsum(np.bincount(seen.best_rank))
    return int(counts[counts <= amount][-1]) if (counts <= amount).any() else 0


def _add_sample(
    pool: TopicPool, seen: Candidates, step: Selection, number: int, free: Mask, level: int | None
) -> None:
    assert isinstance(step.strategy, Sampling)
    numbers = np.flatnonzero(free)
    strategy, count = step.strategy, _sample_size(pool, step, number, len(numbers), level)
    if number in pool.own_rates and isinstance(strategy, FillsUp):
        strategy, count = strategy.at_rates(pool.own_rates[number], otherwise=pool.rates[number]), None
    sample = strategy.sample(seen, numbers, count, seed=pool.seed)
    if count is not None and len(sample.chosen) > count:
        pool.beyond.add(number)
    is_drawn = np.zeros(seen.documents.shape[0], dtype=bool)
    is_drawn[sample.chosen] = True
    for code, name in enumerate(sample.names):
        mine = sample.strata == code
        left = numbers[(sample.population_strata == code) & ~is_drawn[numbers]]
        label = " ".join(word for word in (str(step), name) if word) + pool.suffix
        pool.add(Addition(Stratum(number, label), sample.chosen[mine], sample.probabilities[mine], left))
    pool.present[pool.drawn_before.get(number, [])] = True


def _sample_size(pool: TopicPool, step: Selection, number: int, available: int, level: int | None) -> int | None:
    """Give how many documents a sample has; None where its own rates say it."""
    if step.amount.kind == "all":
        return None
    if number in pool.rates:
        return share_of(available, pool.rates[number])
    return wanted(step.amount, have=pool.count, available=available, level=level)


JudgingOrder = Literal["plan", "id", "random"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """A run that has a document within the pooled part, and the rank at which it has it."""

    run: str
    rank: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of one topic, and its story.

    `position` counts from 1 in judging order. `step` is the step of the plan, from 1, that brought it; `version` the
    version of the pool it came with. `probability` is None where it was chosen by looking at judgments.
    """

    topic: str
    document: str
    position: int
    step: int
    stratum: str
    probability: float | None
    contributions: tuple[Contribution, ...]
    version: int = 1


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that stays out because a near-duplicate stands for it."""

    topic: str
    document: str
    representative: str


@dataclass(frozen=True, slots=True)
class Source:
    """A run that was pooled: its name, its group, and the hash of its content."""

    name: str
    group: str
    content_hash: str


@dataclass(frozen=True, eq=False)
class Pool:
    """The pools of some topics as columns.

    Topic i has the entries `offsets[i]` up to `offsets[i + 1]`, in judging order. Entry j is the document with the
    code `documents[j]` in `document_ids`; it has the contributions `contribution_offsets[j]` up to
    `contribution_offsets[j + 1]`: places in `sources`, and ranks. `populations` and `drawn` count N_h and n_h (topics
    by strata). `undrawn` are the (topic, document code, stratum) of what a sample passed over.
    """

    plan: Plan
    seed: int
    order: JudgingOrder
    sources: tuple[Source, ...]
    topics: tuple[str, ...]
    offsets: Places
    document_ids: pa.Array
    documents: Codes
    strata: Codes
    probabilities: Scores
    versions: Codes
    stratum_table: tuple[Stratum, ...]
    populations: Places
    drawn: Places
    contribution_offsets: Places
    contribution_runs: Codes
    contribution_ranks: Codes
    undrawn: tuple[Codes, Codes, Codes]
    duplicates: tuple[Duplicate, ...] = ()
    version: int = 1

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def ids(self) -> list[str]:
        """The document id of each entry."""
        return named(self.document_ids, self.documents)

    @cached_property
    def topic_of_entry(self) -> Codes:
        """The place of each entry's topic."""
        return np.repeat(np.arange(len(self.topics), dtype=np.int32), np.diff(self.offsets))

    @property
    def sizes(self) -> dict[str, int]:
        """How many documents each topic has."""
        return dict(zip(self.topics, np.diff(self.offsets).tolist(), strict=True))

    def documents_of(self, topic: str) -> list[str]:
        """Give the documents of a topic in judging order."""
        place = self._place(topic)
        return self.ids[self.offsets[place] : self.offsets[place + 1]]

    def entry(self, topic: str, document: str) -> Entry:
        """Give the story of one document, or say that it is not in the pool of the topic."""
        place = self._place(topic)
        start, end = int(self.offsets[place]), int(self.offsets[place + 1])
        if document not in self.ids[start:end]:
            raise InputError(f"the document {quoted(document)} is not in the pool of topic {quoted(topic)}")
        return self._entry(self.ids.index(document, start, end))

    def __iter__(self) -> Iterator[Entry]:
        """Give all entries, topic by topic, in judging order."""
        return (self._entry(row) for row in range(len(self)))

    @cached_property
    def content_hash(self) -> str:
        r"""SHA-256 of what the pool says: which documents, in which order, and why. Plan and seed are no part.

        Over these bytes: the line `cranfield-pool-1\n`; the topic ids; the number of entries of each topic; the
        document ids of all entries; the stratum and the version of each entry; the step of each stratum; the names
        of the strata; the probability of each entry (NaN where there is none); N_h, then n_h, topic by topic; the
        names of the runs; the number of contributions of each entry; their runs; their ranks; for each
        near-duplicate its topic, tab, document, tab, representative, `\n`. Ids and names are joined by `\n` and
        followed by NUL. Probabilities are little-endian doubles, all other numbers little-endian 64-bit integers;
        runs and strata count from 0.
        """
        digest = sha256(b"cranfield-pool-1\n")
        texts = ["\n".join(words) for words in self._texts()]
        columns = self._columns()
        for text, values in zip(texts, columns, strict=False):
            digest.update(text.encode() + b"\0")
            for column in values:
                digest.update(np.ascontiguousarray(column).data)
        digest.update(
            "".join(f"{one.topic}\t{one.document}\t{one.representative}\n" for one in self.duplicates).encode()
        )
        return digest.hexdigest()

    def _texts(self) -> list[list[str]]:
        return [
            list(self.topics),
            self.ids,
            [stratum.name for stratum in self.stratum_table],
            [source.name for source in self.sources],
        ]

    def _columns(self) -> list[list[np.ndarray]]:
        probabilities = np.where(np.isnan(self.probabilities), np.nan, self.probabilities)
        integers: dict[int, list[np.ndarray]] = {
            0: [np.diff(self.offsets)],
            1: [
                self.strata,
                self.versions,
                np.array([stratum.step for stratum in self.stratum_table], dtype=np.int64),
            ],
            3: [np.diff(self.contribution_offsets), self.contribution_runs, self.contribution_ranks],
        }
        columns = {place: [column.astype("<i8") for column in some] for place, some in integers.items()}
        columns[2] = [probabilities.astype("<f8"), self.populations.astype("<i8"), self.drawn.astype("<i8")]
        return [columns[place] for place in range(4)]

    def _place(self, topic: str) -> int:
        if topic not in self.topics:
            raise InputError(f"the topic {quoted(topic)} is not in the pool")
        return self.topics.index(topic)

    def _entry(self, row: int) -> Entry:
        topic = int(self.topic_of_entry[row])
        stratum = self.stratum_table[self.strata[row]]
        probability = float(self.probabilities[row])
        start, end = self.contribution_offsets[row : row + 2]
        names = [self.sources[run].name for run in self.contribution_runs[start:end]]
        return Entry(
            topic=self.topics[topic],
            document=self.ids[row],
            position=row - int(self.offsets[topic]) + 1,
            step=stratum.step,
            stratum=stratum.name,
            probability=None if np.isnan(probability) else probability,
            contributions=tuple(map(Contribution, names, self.contribution_ranks[start:end].tolist())),
            version=int(self.versions[row]),
        )


# A number of documents shared over topics.


def levels(have: Places, available: Places, budget: int) -> Places:
    """Give the size that each topic may reach so that all together have `budget` documents, as evenly as can be.

    Every topic reaches the same level, except those that have more already and those that cannot get so far; what
    these leave goes to the others. What does not divide evenly goes to the first topics.
    """
    check_budget(int(have.sum()), budget)
    low, high = 0, int((have + available).max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _filled(have, available, middle).sum() <= budget else (low, middle - 1)
    filled = _filled(have, available, low)
    more = np.flatnonzero((filled == np.maximum(low, have)) & (filled < have + available) & (have <= low))
    filled[more[: budget - int(filled.sum())]] += 1
    return filled


def check_budget(have: int, budget: int) -> None:
    """Refuse a budget that is spent before its step begins."""
    if have > budget:
        message = f"a budget of {counted(budget, 'document')} is below what the steps before it choose: {have:,}"
        remedy = "raise the budget, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])


def check_until(step: str, sizes: Collection[int], until: int) -> None:
    """Refuse an adaptive step that every topic has gone beyond before it begins."""
    if sizes and min(sizes) >= until:
        message = f"'{step}' would choose nothing: the steps before it bring at least {min(sizes):,} to every topic"
        remedy = "raise the number, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])


def _filled(have: Places, available: Places, level: int) -> Places:
    return np.asarray(have + np.clip(level - have, 0, available), dtype=np.int64)
