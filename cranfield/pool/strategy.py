"""What a pooling strategy is, in three kinds.

    fixed      an order of all candidates, known before anything is judged
    sampling   documents drawn by chance, each with the probability it had
    adaptive   the next document, given the judgments so far

Each is a frozen dataclass; its fields are its options, declared as in `cranfield.runs.options`. Whatever is drawn or
tied is settled by `cranfield.pool.draws`, so that plan, seed and inputs fix the result.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cranfield.pool.candidates import Candidates
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
