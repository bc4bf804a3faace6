"""What a pooling strategy is: a decorated function whose keyword-only parameters are its options.

    @fixed      an order of all candidates, known before anything is judged; @scored: by the highest score
    @sampling   documents drawn by chance, each with the probability it had
    @adaptive   the next document, given the judgments so far; its state is mostly a `Bandit` or a `HighestScore`

Whatever is drawn or tied is settled by `cranfield.pool.candidates`, so that plan, seed and inputs fix the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial, wraps
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

import numpy as np

from cranfield.base.registry import Option, Registry, configured
from cranfield.pool.candidates import Candidates, best_first, numbers, rounded
from cranfield.runs.columns import Codes, Mask, Places, Scores

Kind = Literal["fixed", "sampling", "adaptive"]
Label = bool | None
"""What a judgment says: relevant, not relevant, or (None) that the document was seen and got no label."""

Texts = Callable[[Sequence[str]], Sequence[str]]
"""Gives the texts of documents by id, for the strategies that read them."""


@dataclass(frozen=True)
class Words:
    """What the strategies that read need: the texts of documents, and the words of each topic."""

    texts: Texts | None = None
    queries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A function under a name, with its options set. Two parts are equal if their names and options are."""

    name: str
    summary: str = field(compare=False)
    function: Callable[..., Any] = field(compare=False, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", {**self.defaults, **self.options})

    @property
    def help(self) -> str:
        """The docstring: what it is, formula, source."""
        return inspect.getdoc(self.function) or self.summary

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of every option, in the order of the signature."""
        parameters = inspect.signature(self.function).parameters.values()
        return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}

    def __call__(self, *inputs: Any) -> Any:
        """What the function gives with these options."""
        return self.function(*inputs, **self.options)

    def configured(self, words: Mapping[str, str]) -> Self:
        """The part with some options set from words; a `UsageError` where that cannot be."""
        return replace(self, options={**self.options, **configured(self.function, words).keywords})


@dataclass(frozen=True)
class Strategy(Part):
    """A pooling strategy with its options set.

    `read_amount` is called with the options where an amount is not simply a number of documents. One that is not
    `reproducible` does not choose the same to the last bit on every machine: then the record of what it chose is
    checked, and not whether it would choose so again. Of one that `reads_text` it is checked that every topic can be
    read before a pool is made. `claim` says how much the topic of a state wants to be next, where that means the same
    in every topic.
    """

    kind: Kind = field(default="fixed", compare=False)
    read_amount: Callable[..., RankAmount | Strata] | None = field(default=None, compare=False, repr=False)
    reproducible: bool = field(default=True, compare=False)
    reads_text: bool = field(default=False, compare=False)
    claim: Callable[[Any], float] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.amount  # raises for options that cannot be meant

    @cached_property
    def amount(self) -> RankAmount | Strata | None:
        """What its amount means, where that is not a number of documents."""
        return None if self.read_amount is None else self.read_amount(**self.options)


strategies: Registry[Strategy] = Registry(
    "pooling strategy", package="cranfield.pool.strategies", group="cranfield.strategies"
)


AnyPart = TypeVar("AnyPart", bound=Part)


def register(
    parts: Registry[AnyPart], make: Callable[..., AnyPart], name: str, *aliases: str, **facts: Any
) -> Callable[[Callable[..., Any]], AnyPart]:
    """Register what `make` makes of the decorated function and some facts about it."""

    def decorate(function: Callable[..., Any]) -> AnyPart:
        return parts.register(name, *aliases)(make(name, function=function, **facts))

    return decorate


fixed = partial(register, strategies, partial(Strategy, kind="fixed"))
"""Registers a function that gives all candidate numbers, the first to judge in front, from (candidates, seed)."""

sampling = partial(register, strategies, partial(Strategy, kind="sampling"))
"""Registers a function that gives a `Sample` from (candidates, eligible, wanted, seed).

`wanted` is None where the options say how many of the `eligible` candidate numbers are drawn.
"""

adaptive = partial(register, strategies, partial(Strategy, kind="adaptive"))
"""Registers a function that gives the `State` before the first judgment from a `Start`."""


def _by_score(name: str, *, function: Callable[..., Scores], **facts: Any) -> Strategy:
    @wraps(function)
    def order(candidates: Candidates, seed: int, **options: Any) -> Places:
        return best_first(function(candidates, **options))

    return Strategy(name, function=order, **facts)


scored = partial(register, strategies, _by_score)
"""Registers a function that gives each of the candidates a score: the highest is judged first."""


# Amounts that are not a number of documents.


@dataclass(frozen=True)
class RankAmount:
    """An amount that is a rank: everything with a best rank up to it, or to the topic's own depth."""

    own_depths: Mapping[str, int]


@dataclass(frozen=True)
class Strata:
    """Strata with rates of their own, as (first, last, rate in per cent): an amount fills up the one without a rate.

    `by_rank` says whether they are cut from best ranks, and not from the order of a strategy.
    """

    parts: tuple[tuple[int, int, float | None], ...]
    by_rank: bool

    @property
    def rates(self) -> dict[str, float | None]:
        """The rate of each stratum, by what it is called: 1-20."""
        return {f"{first}-{last}": rate for first, last, rate in self.parts}


def spelled_number(number: float) -> str:
    """The shortest decimal that reads back as the same number, without an exponent: plans have none."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, eq=False)
class Sample:
    """What was drawn: candidate numbers in judging order, with stratum and inclusion probability.

    `strata` are codes into `names`. `population_strata` gives for every document that could have been drawn its
    stratum, in the order of the `eligible` numbers that were given.
    """

    chosen: Places
    probabilities: Scores
    strata: Codes
    names: tuple[str, ...]
    population_strata: Codes


# What an adaptive strategy starts from, and its state.


@dataclass(frozen=True)
class Start:
    """One topic before anything is judged; `texts` and `query` are for the strategies that read."""

    candidates: Candidates
    seed: int
    texts: Texts | None = None
    query: str = ""


class State(Protocol):
    """Where an adaptive strategy stands with one topic: a function of the judgments it has learnt, in their order."""

    def learn(self, candidate: int, label: Label) -> None:
        """Take in one judgment, the only one of its candidate."""
        ...

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """The next candidate that is neither judged nor excluded, and why; None where there is none left.

        This changes nothing: the same state gives the same answer.
        """
        ...


class HighestScore:
    """A state in which the candidate with the highest score is next, ties by document id, descending."""

    def __init__(
        self,
        candidates: int,
        *,
        scores: Callable[[], Scores],
        learn: Callable[[int, Label], None],
        reason: Callable[[float], str],
    ) -> None:
        self._judged = np.zeros(candidates, dtype=bool)
        self._scores, self._update, self._reason = scores, learn, reason
        self._now: Scores | None = None

    def learn(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        self._judged[candidate] = True
        self._update(candidate, label)
        self._now = None

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """The free candidate with the highest score."""
        free = ~(self._judged | excluded)
        if not free.any():
            return None
        if self._now is None:
            self._now = self._scores()
        best = int(np.argmax(np.where(free, self._now, -np.inf)))
        return best, self._reason(float(self._now[best]))


Update = Annotated[
    Literal["pulled", "all"], Option("who learns from a judgment: the pulled run, or all that have the document")
]
Known = Annotated[
    Literal["skip", "consume"], Option("a document judged through another run: skip it, or consume its label")
]
Rate = Annotated[float, Option("how much of the memory stays at each step", at_least=0, at_most=1)]

NOBODY = -1


class Bandit:
    """A state in which runs are arms, and pulling one means judging its next document.

    The arm of highest `value` is pulled, ties by seed: its next document is the first of its list that is not judged.
    A judgment belongs to the arm that would be pulled first of those that have the document. So judgments from
    elsewhere, a warm-up or another assessor, teach too, and the state is a function of the judgments in their order.
    `update="all"` rewards every run that has the document. `known="consume"`: an arm that comes to a document judged
    through another one is rewarded with its label and the next arm chosen anew; `"skip"` passes over it.

    What was seen of each arm may fade: judged ← rate · judged + 1,  relevant ← rate · relevant + x  for the arms that
    are rewarded. `front` is the arm that was rewarded last, if that was for a relevant document.
    """

    def __init__(
        self,
        start: Start,
        value: Callable[[Bandit], Scores],
        *,
        rate: float = 1.0,
        update: str = "pulled",
        known: str = "skip",
    ) -> None:
        self._candidates, self._seed, self._value, self._rate = start.candidates, start.seed, value, rate
        self.relevant, self.judged = np.zeros((2, len(start.candidates.runs)))
        self.front, self.pulls = NOBODY, 0
        self._to_all = update == "all"
        self._consumes = known == "consume" and not self._to_all
        self._labels: list[Label] = [None] * len(start.candidates)
        self._judged = np.zeros(len(start.candidates), dtype=bool)
        self._pulled_by = np.full(len(start.candidates), NOBODY, dtype=np.int32)
        self._heads = start.candidates.offsets[:-1].copy()
        self._claim: float | None = None
        self._order = self._preference()

    def numbers(self, purpose: str, count: int) -> Scores:
        """Draw numbers from 0 up to 1 for the present pull."""
        return numbers(self._seed, self._candidates.topic, purpose, self.pulls, count=count)

    def learn(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        has_it = self._candidates.found[:, candidate]
        arm = int(self._order[np.argmax(has_it[self._order])])
        self._judged[candidate], self._labels[candidate], self._pulled_by[candidate] = True, label, arm
        self._reward(np.flatnonzero(has_it) if self._to_all else np.array([arm]), label)
        # Arms come to documents that are judged already, until one comes to a document that is not.
        while self._consumes and (unfinished := self._heads < self._candidates.offsets[1:]).any():
            arm = int(self._order[np.argmax(unfinished[self._order])])
            other = int(self._candidates.listed[self._heads[arm]])
            if not self._judged[other]:
                return
            self._heads[arm] += 1
            if self._pulled_by[other] != arm and self._labels[other] is not None:
                self._reward(np.array([arm]), self._labels[other])

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """The next document of the first arm that has any left."""
        taken = self._judged | excluded
        for arm in self._order:
            rows = slice(self._heads[arm], self._candidates.offsets[arm + 1])
            free = ~taken[self._candidates.listed[rows]]
            if free.any():
                row = rows.start + int(np.argmax(free))
                rank, run = self._candidates.listed_ranks[row], self._candidates.runs[arm].name
                return int(self._candidates.listed[row]), f"rank {rank} of {run}"
        return None

    def claim(self) -> float:
        """The value of the best arm that has anything left."""
        if self._claim is None:
            open_rows = ~self._judged[self._candidates.listed]
            left = np.bincount(self._candidates.run_of_row[open_rows], minlength=len(self.judged)) > 0
            self._claim = float(self._value(self)[left].max(initial=-np.inf))
        return self._claim

    def _reward(self, arms: Places, label: Label) -> None:
        if label is not None:
            self.judged[arms] = self._rate * self.judged[arms] + 1
            self.relevant[arms] = self._rate * self.relevant[arms] + label
            self.front = int(arms[0]) if label else NOBODY
        self.pulls += 1
        self._claim = None
        self._order = self._preference()

    def _preference(self) -> Places:
        """The arms in the order they would be pulled."""
        values = rounded(self._value(self))
        return np.lexsort((self.numbers("arms", len(values)), -values))
