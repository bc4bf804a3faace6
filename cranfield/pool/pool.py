"""A pool: what is to be judged, in which order, and why each document is there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal

import numpy as np
import pyarrow as pa

from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.base.text import counted
from cranfield.pool.candidates import Candidates, Mask, by_group
from cranfield.pool.plan import Plan, Selection
from cranfield.pool.strategy import RankAmount, Strata
from cranfield.runs.run import Codes, Places, Scores, named

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

    def eligible(self, seen: Candidates, step: Selection) -> Mask:
        """Say which candidates a step can choose: those in its ranks that are not in the pool.

        What an earlier sample could have drawn is not drawn by a later one: the probability of either would be wrong.
        """
        free = ~self.present
        if step.scope.ranks:
            first, last = step.scope.ranks
            free &= (seen.best_rank >= first) & (seen.best_rank <= last)
        if step.strategy.kind == "sampling":
            free[self.barred] = False
            for addition in self.additions:
                free[addition.undrawn] = False
        return free

    def apply(self, candidates: Candidates, step: Selection, number: int, *, level: int | None = None) -> None:
        """Let a fixed or sampling step, the `number`-th of the plan, add its documents.

        `level` is the size the topic may reach, where a budget was shared over all topics.
        """
        seen = view(candidates, step)
        free = self.eligible(seen, step)
        if step.strategy.kind == "sampling":
            self._add_sample(seen, step, number, np.flatnonzero(free), level)
            return
        order = step.strategy.order(seen, seed=self.seed)
        if isinstance(step.strategy.amount, RankAmount):
            size = step.strategy.amount.size(seen, int(step.amount.number))
            if step.scope.by == "topic":
                counts = np.cumsum(np.bincount(seen.best_rank))
                size = int(counts[counts <= step.amount.number].max(initial=0))
            order = order[:size]
            chosen = order[free[order]]
        else:
            order = order[free[order]]
            chosen = order[: self._wanted(step, len(order), level)]
        stratum = Stratum(number, str(step) + self.suffix)
        self.add(Addition(stratum, chosen, np.ones(len(chosen)), np.empty(0, np.int64)))

    def _add_sample(self, seen: Candidates, step: Selection, number: int, free: Places, level: int | None) -> None:
        strategy, count = step.strategy, None
        if number in self.own_rates and isinstance(strategy.amount, Strata):
            rates = strategy.amount.at_rates(self.own_rates[number], otherwise=self.rates[number])
            strategy = strategy.configured({"strata": rates})
        elif step.amount.kind != "all":
            rate = self.rates.get(number)
            count = self._wanted(step, len(free), level) if rate is None else _share_of(len(free), rate)
        sample = strategy.sample(seen, free, count, seed=self.seed)
        if count is not None and len(sample.chosen) > count:
            self.beyond.add(number)
        is_drawn = np.zeros(len(seen), dtype=bool)
        is_drawn[sample.chosen] = True
        for code, name in enumerate(sample.names):
            mine = sample.strata == code
            left = free[(sample.population_strata == code) & ~is_drawn[free]]
            label = " ".join(filter(None, (str(step), name))) + self.suffix
            self.add(Addition(Stratum(number, label), sample.chosen[mine], sample.probabilities[mine], left))
        self.present[self.drawn_before.get(number, [])] = True

    def _wanted(self, step: Selection, available: int, level: int | None) -> int:
        """Give how many of the available documents the amount of a step means."""
        have, amount = self.count, step.amount
        number = {
            "all": available,
            "count": int(amount.number),
            "until": int(amount.number) - have,
            "share": _share_of(available, amount.number / 100),
            "budget": (level if level is not None else have) - have,
        }[amount.kind]
        return max(0, min(number, available))


def view(candidates: Candidates, step: Selection) -> Candidates:
    """Give the candidates as a step sees them: by run, or by group."""
    return by_group(candidates) if step.scope.by == "group" else candidates


def _share_of(population: int, share: float) -> int:
    """Give a share of a population in whole documents, rounded half up, at least one of a population that has any."""
    return min(population, max(math.floor(population * share + 0.5), 1)) if population else 0


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
        steps = np.array([stratum.step for stratum in self.stratum_table], dtype=np.int64)
        probabilities = np.where(np.isnan(self.probabilities), np.nan, self.probabilities)
        contributions = np.diff(self.contribution_offsets), self.contribution_runs, self.contribution_ranks
        parts: list[tuple[list[str], list[np.ndarray]]] = [
            (list(self.topics), [np.diff(self.offsets)]),
            (self.ids, [self.strata, self.versions, steps]),
            ([stratum.name for stratum in self.stratum_table], [probabilities, self.populations, self.drawn]),
            ([source.name for source in self.sources], [*contributions]),
        ]
        digest = sha256(b"cranfield-pool-1\n")
        for words, columns in parts:
            digest.update("\n".join(words).encode() + b"\0")
            for column in columns:
                digest.update(np.ascontiguousarray(column.astype("<f8" if column is probabilities else "<i8")).data)
        digest.update(
            "".join(f"{one.topic}\t{one.document}\t{one.representative}\n" for one in self.duplicates).encode()
        )
        return digest.hexdigest()

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

    def filled(level: int) -> Places:
        return np.asarray(have + np.clip(level - have, 0, available), dtype=np.int64)

    low, high = 0, int((have + available).max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if filled(middle).sum() <= budget else (low, middle - 1)
    sizes = filled(low)
    more = np.flatnonzero((sizes == np.maximum(low, have)) & (sizes < have + available) & (have <= low))
    sizes[more[: budget - int(sizes.sum())]] += 1
    return sizes


def check_budget(have: int, budget: int) -> None:
    """Refuse a budget that is spent before its step begins."""
    if have > budget:
        message = f"a budget of {counted(budget, 'document')} is below what the steps before it choose: {have:,}"
        remedy = "raise the budget, or make the steps before it smaller"
        raise ProblemsFound("this pool cannot be built", [Problem("budget-below-warm-up", message, remedy=remedy)])
