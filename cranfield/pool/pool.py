"""A pool: what is to be judged, in which order, and why each document is there."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Literal, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, Problem, ProblemsFound, quoted
from cranfield.base.text import counted
from cranfield.pool.candidates import Candidates, by_group
from cranfield.pool.plan import Plan, Selection
from cranfield.pool.strategy import RankAmount, Sample, Strata, spelled_number
from cranfield.runs.columns import Codes, Mask, Places, named, running_sum

# One topic's pool while it grows: each step of a plan adds what is not there yet.

NO_PROBABILITY = math.nan
"""The inclusion probability of what was chosen by looking at judgments: it is no sample of anything."""


class Stratum(NamedTuple):
    """What one step (numbered from 1) drew from: its name, and the part of the step where it has several."""

    step: int
    name: str


Entries = NDArray[np.void]
ENTRY = np.dtype(
    [
        ("topic", np.int32),
        ("document", np.int32),
        ("stratum", np.int32),
        ("probability", np.float64),
        ("version", np.int32),
    ]
)
"""A document of a pool, and how it got there: places of topic and stratum, and a code of the document.

While the pool of a topic grows, the document is the number of a candidate.
"""


def entries_of(documents: ArrayLike, stratum: int, probabilities: ArrayLike = 1.0, version: int = 1) -> Entries:
    """Some candidates of a topic as entries of one stratum."""
    entries = np.zeros(np.size(documents), ENTRY)
    entries["document"], entries["stratum"] = documents, stratum
    entries["probability"], entries["version"] = probabilities, version
    return entries


@dataclass(eq=False)
class TopicPool:
    """The pool of one topic while it grows: candidates in judging order, and where each comes from.

    `undrawn` are the candidates that a sample could have drawn and did not. `unlisted` counts those of them, by the
    place of their stratum in `strata`, that are no candidates any more. `beyond` are the steps that took more than
    their amount: the rates of a sample can require more.

    Where a pool is extended, `earlier` is what it has of the topic: nothing of that is drawn again, and samples are
    drawn at their earlier rate, into strata of their own, named with the `suffix`.
    """

    topic: str
    size: int
    seed: int
    version: int = 1
    earlier: TopicPool | None = None
    suffix: str = ""
    present: Mask = field(init=False)
    strata: list[Stratum] = field(default_factory=list)
    entries: Entries = field(default_factory=lambda: np.empty(0, ENTRY))
    undrawn: Entries = field(default_factory=lambda: np.empty(0, ENTRY))
    unlisted: dict[int, int] = field(default_factory=dict)
    beyond: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.present = np.zeros(self.size, dtype=bool)
        self.present[self.chosen] = True

    @property
    def chosen(self) -> Places:
        """The candidates in the pool, in judging order."""
        return self.entries["document"]

    @property
    def count(self) -> int:
        """How many documents are in the pool."""
        return int(np.count_nonzero(self.present))

    @property
    def sizes(self) -> list[tuple[Stratum, int, int]]:
        """The strata with N_h, the documents each has, and n_h, those of them that are in the pool."""
        drawn, undrawn = (
            np.bincount(some["stratum"], minlength=len(self.strata)).tolist() for some in (self.entries, self.undrawn)
        )
        return [
            (stratum, drawn[code] + undrawn[code] + self.unlisted.get(code, 0), drawn[code])
            for code, stratum in enumerate(self.strata)
        ]

    def add(
        self, stratum: Stratum, chosen: Places | list[int], probabilities: ArrayLike, undrawn: ArrayLike = ()
    ) -> None:
        """Append what a step selects, and what it could have drawn and did not."""
        code = self._code(stratum)
        self.present[chosen] = True
        self.entries = np.concatenate([self.entries, entries_of(chosen, code, probabilities, self.version)])
        self.undrawn = np.concatenate([self.undrawn, entries_of(undrawn, code)])

    def keep(self, rows: Places | Mask | slice) -> None:
        """Keep some of the documents, in the order of `rows`."""
        self.present[self.chosen] = False
        self.entries = self.entries[rows]
        self.present[self.chosen] = True

    def make_certain(self, certain: Places, stratum: Stratum) -> None:
        """Take documents that a fixed step has made certain out of their samples, drawn or not.

        Had they been left there, those that were drawn would count 1 / π times and the others once: too much on
        average. The others were drawn with the probability they had, and keep it: one made from what is left would be
        another one for each draw, and none where nothing is left.
        """
        leaving = np.isin(self.chosen, certain) & (self.entries["probability"] < 1)
        self.entries["stratum"][leaving] = self._code(stratum)
        self.entries["probability"][leaving] = 1.0
        self.undrawn = self.undrawn[~np.isin(self.undrawn["document"], certain)]

    def eligible(self, seen: Candidates, step: Selection) -> Mask:
        """Which candidates a step can choose: those in its ranks that are not in the pool.

        What an earlier sample could have drawn is not drawn by a later one: the probability of either would be wrong.
        """
        free = ~self.present
        if step.scope.ranks:
            first, last = step.scope.ranks
            free &= (seen.best_rank >= first) & (seen.best_rank <= last)
        if step.strategy.kind == "sampling":
            free[self.undrawn["document"]] = False
            if self.earlier is not None:
                free[self.earlier.chosen] = free[self.earlier.undrawn["document"]] = False
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
        order: Places = step.strategy(seen, self.seed)
        if isinstance(step.strategy.amount, RankAmount):
            rank = step.strategy.amount.own_depths.get(seen.topic, int(step.amount.number))
            size = int(np.count_nonzero(seen.best_rank <= rank))
            if step.scope.by == "topic":
                counts = np.cumsum(np.bincount(seen.best_rank))
                size = int(counts[counts <= step.amount.number].max(initial=0))
            order = order[:size]
            chosen = order[free[order]]
        else:
            order = order[free[order]]
            chosen = order[: self._wanted(step, len(order), level)]
        self.add(Stratum(number, str(step) + self.suffix), chosen, 1.0)

    def _add_sample(self, seen: Candidates, step: Selection, number: int, free: Places, level: int | None) -> None:
        strategy, count = step.strategy, None
        rate, rates = (None, {}) if self.earlier is None else self.earlier._rates(step, number)
        if step.amount.kind != "all" and rate is not None and isinstance(strategy.amount, Strata):
            shares = {
                name: 100 * rates.get(name, rate) if own is None else own
                for name, own in strategy.amount.rates.items()
            }
            words = ",".join(f"{name}:{spelled_number(share)}" for name, share in shares.items())
            strategy = strategy.configured({"strata": words})
        elif step.amount.kind != "all":
            count = self._wanted(step, len(free), level) if rate is None else _share_of(len(free), rate)
        sample: Sample = strategy(seen, free, count, self.seed)
        if count is not None and len(sample.chosen) > count:
            self.beyond.add(number)
        is_drawn = np.zeros(len(seen), dtype=bool)
        is_drawn[sample.chosen] = True
        for code, name in enumerate(sample.names):
            mine = sample.strata == code
            left = free[(sample.population_strata == code) & ~is_drawn[free]]
            label = " ".join(filter(None, (str(step), name))) + self.suffix
            self.add(Stratum(number, label), sample.chosen[mine], sample.probabilities[mine], left)
        if self.earlier is not None:
            steps = np.array([stratum.step for stratum in self.earlier.strata], dtype=np.int64)
            self.present[self.earlier.chosen[steps[self.earlier.entries["stratum"]] == number]] = True

    def _rates(self, step: Selection, number: int) -> tuple[float | None, dict[str, float]]:
        """The rate at which a sample was drawn, and those of its single strata; None where it drew from nothing.

        The rate of a share is the plan's. That of any other amount is the one at which it has drawn so far.
        """
        # (N_h, n_h) of each stratum, all versions together, by the part of its name after the step
        drawn: dict[str, tuple[int, int]] = {}
        for stratum, size, taken in self.sizes:
            if stratum.step == number:
                name = stratum.name.removeprefix(str(step)).partition(" +")[0].strip()
                size_before, taken_before = drawn.get(name, (0, 0))
                drawn[name] = size_before + size, taken_before + taken
        population = sum(size for size, _ in drawn.values())
        if not population:
            return None, {}
        rates = {name: taken / size for name, (size, taken) in drawn.items() if size}
        if step.amount.kind == "share":
            return step.amount.number / 100, rates
        return sum(taken for _, taken in drawn.values()) / population, rates

    def _code(self, stratum: Stratum) -> int:
        if stratum not in self.strata:
            self.strata.append(stratum)
        return self.strata.index(stratum)

    def _wanted(self, step: Selection, available: int, level: int | None) -> int:
        """How many of the available documents the amount of a step means."""
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
    """The candidates as a step sees them: by run, or by group."""
    return by_group(candidates) if step.scope.by == "group" else candidates


def _share_of(population: int, share: float) -> int:
    """A share of a population in whole documents, rounded half up, at least one of a population that has any."""
    return min(population, max(math.floor(population * share + 0.5), 1)) if population else 0


JudgingOrder = Literal["plan", "id", "random"]


class Duplicate(NamedTuple):
    """A document that stays out because a near-duplicate stands for it."""

    topic: str
    document: str
    representative: str


@dataclass(frozen=True)
class Source:
    """A run that was pooled: its name, its group, the place its group gave it, and the hash of its content."""

    name: str
    group: str
    priority: int
    content_hash: str


@dataclass(frozen=True, eq=False)
class Pool:
    """The pools of some topics as columns.

    The entries stand topic by topic, in judging order; documents are codes in `document_ids`. Entry j has the
    contributions `contribution_offsets[j]` up to `contribution_offsets[j + 1]`: places in `sources`, and ranks.
    `populations` and `drawn` count N_h and n_h (topics by strata). `undrawn` is what samples passed over.
    """

    plan: Plan
    seed: int
    order: JudgingOrder
    sources: tuple[Source, ...]
    topics: tuple[str, ...]
    document_ids: pa.Array
    entries: Entries
    undrawn: Entries
    stratum_table: tuple[Stratum, ...]
    populations: Places
    drawn: Places
    contribution_offsets: Places
    contribution_runs: Codes
    contribution_ranks: Codes
    duplicates: tuple[Duplicate, ...] = ()
    version: int = 1

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def ids(self) -> list[str]:
        """The document id of each entry."""
        return named(self.document_ids, self.entries["document"])

    @cached_property
    def offsets(self) -> Places:
        """Where the entries of each topic begin, and where the last ends."""
        return running_sum(np.bincount(self.entries["topic"], minlength=len(self.topics)))

    @property
    def sizes(self) -> dict[str, int]:
        """How many documents each topic has."""
        return dict(zip(self.topics, np.diff(self.offsets).tolist(), strict=True))

    def documents_of(self, topic: str) -> list[str]:
        """The documents of a topic in judging order."""
        if topic not in self.topics:
            raise InputError(f"the topic {quoted(topic)} is not in the pool")
        place = self.topics.index(topic)
        return self.ids[self.offsets[place] : self.offsets[place + 1]]

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
        chances, strata, versions = (self.entries[part] for part in ("probability", "stratum", "version"))
        probabilities = np.where(np.isnan(chances), np.nan, chances)
        contributions = np.diff(self.contribution_offsets), self.contribution_runs, self.contribution_ranks
        parts: list[tuple[list[str], list[np.ndarray]]] = [
            (list(self.topics), [np.diff(self.offsets)]),
            (self.ids, [strata, versions, steps]),
            ([stratum.name for stratum in self.stratum_table], [probabilities, self.populations, self.drawn]),
            ([source.name for source in self.sources], [*contributions]),
        ]
        digest = sha256(b"cranfield-pool-1\n")
        for words, columns in parts:
            digest.update("\n".join(words).encode() + b"\0")
            for column in columns:
                digest.update(np.ascontiguousarray(column.astype("<f8" if column is probabilities else "<i8")).data)
        digest.update("".join("\t".join(one) + "\n" for one in self.duplicates).encode())
        return digest.hexdigest()


# A number of documents shared over topics.


def levels(have: Places, available: Places, budget: int) -> Places:
    """The size that each topic may reach so that all together have `budget` documents, as evenly as can be.

    Every topic reaches the same level, except those that have more already and those that cannot get so far; what
    these leave goes to the others. What does not divide evenly goes to the first topics.
    """
    check_budget(int(have.sum()), budget)

    def filled(level: int) -> Places:
        return have + np.clip(level - have, 0, available)

    possible = range(int((have + available).max(initial=0)) + 1)
    low = bisect_right(possible, budget, key=lambda level: int(filled(level).sum())) - 1
    sizes = filled(low)
    more = np.flatnonzero((sizes == np.maximum(low, have)) & (sizes < have + available) & (have <= low))
    sizes[more[: budget - int(sizes.sum())]] += 1
    return sizes


def check_budget(have: int, budget: int) -> None:
    """Refuse a budget that is spent before its step begins."""
    if have > budget:
        message = f"a budget of {counted(budget, 'document')} is below the {have:,} that the steps before it select"
        refuse("budget-below-warm-up", message, "raise the budget, or make the steps before it smaller")


def refuse(code: str, message: str, remedy: str) -> NoReturn:
    """Say the one thing that keeps a pool from being built."""
    raise ProblemsFound("this pool cannot be built", [Problem(code, message, remedy=remedy)])
