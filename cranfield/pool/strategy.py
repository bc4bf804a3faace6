"""What a pooling strategy is, in three kinds.

    fixed      an order of all candidates, known before anything is judged
    sampling   documents drawn by chance, each with the probability it had
    adaptive   the next document, given the judgments so far

Each is a frozen dataclass; its fields are its options, declared as in `cranfield.runs.baseline`. Whatever is drawn or
tied is settled by `cranfield.pool.candidates`, so that plan, seed and inputs fix the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import Candidates, Mask, numbers, rounded
from cranfield.runs.baseline import Option
from cranfield.runs.run import Codes, Places, Scores

Kind = Literal["fixed", "sampling", "adaptive"]
Label = bool | None
"""What a judgment says: relevant, not relevant, or (None) that the document was seen and got no label."""

Texts = Callable[[Sequence[str]], Sequence[str]]
"""Gives the texts of documents by id, for the strategies that read them."""


class Strategy(Protocol):
    """What all three kinds have in common: a sentence for lists, and the kind."""

    summary: ClassVar[str]
    kind: ClassVar[Kind]


@runtime_checkable
class FixedOrder(Strategy, Protocol):
    """A strategy whose order is known before judging."""

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Give all candidate numbers, the one to judge first at the front."""
        ...


@runtime_checkable
class RankAmount(Protocol):
    """A fixed order whose amount is a rank and not a number of documents."""

    def size(self, candidates: Candidates, rank: int) -> int:
        """Give how many documents of its order the amount `rank` means."""
        ...

    def reach(self, rank: int) -> int | None:
        """Give the deepest rank it looks at; None where that depends on the documents."""
        ...


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


@runtime_checkable
class Sampling(Strategy, Protocol):
    """A strategy that draws by chance."""

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Draw `wanted` of the eligible candidate numbers; None where the options say how many."""
        ...


@runtime_checkable
class FillsUp(Protocol):
    """A sampling strategy that has rates of its own, so that an amount says only how far the rest is filled up."""

    def amount_problems(self, *, has_amount: bool) -> Iterator[str]:
        """Say why an amount, or none, does not go with the rates."""
        ...

    def at_rates(self, rates: Mapping[str, float], *, otherwise: float) -> Sampling:
        """Give the same strategy with rates, from 0 to 1, for strata (by name) that have none of their own."""
        ...


class State(Protocol):
    """Where an adaptive strategy stands with one topic: a function of the judgments told to it, in their order."""

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        ...

    def choose(self, excluded: NDArray[np.bool_]) -> tuple[int, str] | None:
        """Give the next candidate that is neither judged nor excluded, and why; None where there is none left.

        Asking changes nothing: the same state gives the same answer.
        """
        ...

    @property
    def claim(self) -> float:
        """How much this topic wants to be next, compared with other topics of the same strategy."""
        ...


@runtime_checkable
class Adaptive(Strategy, Protocol):
    """A strategy that learns from judgments.

    One whose choices are not the same to the last bit on every machine says `reproducible: ClassVar[bool] = False`:
    then the record of what it chose is checked, and not whether it would choose so again. One that reads documents
    says `reads_text: ClassVar[bool] = True`: then it is looked whether every topic can be read before a pool is made.
    """

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Give the state before the first judgment."""
        ...


# Runs as arms: pulling one means judging its next document.

Update = Annotated[
    Literal["pulled", "all"], Option("who learns from a judgment: the pulled run, or all that have the document")
]
Known = Annotated[
    Literal["skip", "consume"], Option("a document judged through another run: skip it, or consume its label")
]

NOBODY = -1


class Policy(Protocol):
    """Which arm is worth pulling."""

    def values(self, pull: int) -> Scores:
        """Give the value of each arm before a pull, counted from 0; the highest is pulled."""
        ...

    def reward(self, arms: Places, *, relevant: bool) -> None:
        """Take in what came of pulling some arms."""
        ...


class ArmState:
    """One topic with an arm for each run.

    The arm of highest value is pulled, ties by seed: its next document is the first of its list that is not judged. A
    judgment belongs to the arm that would be pulled first of those that have the document. So judgments from
    elsewhere, a warm-up or another assessor, teach too, and the state is a function of the judgments in their order.
    `update="all"` rewards every run that has the document. `known="consume"`: an arm that comes to a document judged
    through another one is rewarded with its label and the next arm chosen anew; `"skip"` passes over it.
    """

    def __init__(
        self, candidates: Candidates, policy: Policy, *, seed: int, update: Update = "pulled", known: Known = "skip"
    ) -> None:
        self._candidates, self._policy, self._seed = candidates, policy, seed
        self._to_all = update == "all"
        self._consumes = known == "consume" and not self._to_all
        self._labels: list[Label] = [None] * len(candidates)
        self._judged = np.zeros(len(candidates), dtype=bool)
        self._pulled_by = np.full(len(candidates), NOBODY, dtype=np.int32)
        self._heads = candidates.offsets[:-1].copy()
        self._pulls = 0
        self._claim: float | None = None
        self._order = self._preference()

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        if self._judged[candidate]:
            return
        has_it = self._candidates.found[:, candidate]
        arm = int(self._order[np.argmax(has_it[self._order])])
        self._judged[candidate], self._labels[candidate], self._pulled_by[candidate] = True, label, arm
        self._reward(np.flatnonzero(has_it) if self._to_all else np.array([arm]), label)
        if self._consumes:
            self._consume()

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the next document of the first arm that has any left."""
        taken = self._judged | excluded
        for arm in self._order:
            rows = slice(self._heads[arm], self._candidates.offsets[arm + 1])
            free = ~taken[self._candidates.listed[rows]]
            if free.any():
                row = rows.start + int(np.argmax(free))
                rank, run = self._candidates.listed_ranks[row], self._candidates.runs[arm].name
                return int(self._candidates.listed[row]), f"rank {rank} of {run}"
        return None

    @property
    def claim(self) -> float:
        """The value of the best arm that has anything left."""
        if self._claim is None:
            self._claim = self._best_value()
        return self._claim

    def _best_value(self) -> float:
        open_rows = ~self._judged[self._candidates.listed]
        left = np.bincount(self._candidates.run_of_row[open_rows], minlength=len(self._candidates.runs)) > 0
        return float(self._policy.values(self._pulls)[left].max(initial=-np.inf))

    def _reward(self, arms: Places, label: Label) -> None:
        if label is not None:
            self._policy.reward(arms, relevant=label)
        self._pulls += 1
        self._claim = None
        self._order = self._preference()

    def _preference(self) -> Places:
        """Give the arms in the order they would be pulled."""
        values = rounded(self._policy.values(self._pulls))
        turns = numbers(self._seed, self._candidates.topic, "arms", self._pulls, count=len(values))
        return np.lexsort((turns, -values))

    def _consume(self) -> None:
        """Let arms come to documents that are judged already, until one comes to a document that is not."""
        while (arm := self._first_unfinished()) != NOBODY:
            candidate = int(self._candidates.listed[self._heads[arm]])
            if not self._judged[candidate]:
                return
            self._heads[arm] += 1
            if self._pulled_by[candidate] != arm and self._labels[candidate] is not None:
                self._reward(np.array([arm]), self._labels[candidate])

    def _first_unfinished(self) -> int:
        unfinished = self._heads < self._candidates.offsets[1:]
        return int(self._order[np.argmax(unfinished[self._order])]) if unfinished.any() else NOBODY


class Beliefs:
    """What has been seen of each arm: relevant and judged, with a memory that may fade.

        judged ← rate · judged + 1,   relevant ← rate · relevant + x

    for the arms that are rewarded. rate = 1 remembers everything, rate = 0 only the last document.
    """

    def __init__(self, arms: int, rate: float = 1.0) -> None:
        self.relevant, self.judged, self.rate = np.zeros(arms), np.zeros(arms), rate

    @property
    def mean(self) -> Scores:
        """The mean of a Beta(1 + relevant, 1 + judged − relevant) distribution."""
        return (1 + self.relevant) / (2 + self.judged)

    def reward(self, arms: Places, *, relevant: bool) -> None:
        """Take in a label for some arms."""
        self.judged[arms] = self.rate * self.judged[arms] + 1
        self.relevant[arms] = self.rate * self.relevant[arms] + relevant


# Runs with weights: the next document is the one that the weighed runs want most.


class Weights(Protocol):
    """The weights of the runs."""

    def values(self) -> Scores:
        """Give the weight of each run."""
        ...

    def learn(self, gains: Scores, label: Label) -> None:
        """Take in a judgment of a document, by what each run gave it."""
        ...


class WeighedState:
    """One topic: the candidate with the largest Σ over runs s of weight(s) · gains(s, d) is next.

    Sums are rounded; ties by document id, descending.
    """

    def __init__(self, gains: Scores, weights: Weights) -> None:
        self._gains, self._weights = gains, weights
        self._judged = np.zeros(gains.shape[1], dtype=bool)
        self._sums = self._summed()

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        if not self._judged[candidate]:
            self._judged[candidate] = True
            self._weights.learn(self._gains[:, candidate], label)
            self._sums = self._summed()

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the free candidate with the largest sum."""
        free = np.where(self._judged | excluded, -np.inf, self._sums)
        if not (free > -np.inf).any():
            return None
        best = int(np.argmax(free))
        return best, f"weight {self._sums[best]:.4g}"

    @property
    def claim(self) -> float:
        """The largest sum."""
        return float(np.where(self._judged, -np.inf, self._sums).max(initial=-np.inf))

    def _summed(self) -> Scores:
        return rounded(self._weights.values() @ self._gains)
