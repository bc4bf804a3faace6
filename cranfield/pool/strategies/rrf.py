"""Reciprocal rank fusion."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Places


@strategies.register("rrf")
@dataclass(frozen=True)
class ReciprocalRankFusion:
    """By Σ over runs s that have d:  1 / (k + r_s(d)).

    A run without the document adds nothing. Ties by document id, descending.

    Source: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet …", SIGIR 2009 (k = 60).
    """

    k: Annotated[float, Option("how little the first ranks stand out", at_least=0)] = 60

    summary: ClassVar[str] = "reciprocal rank fusion"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        check_options(self)

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the reciprocals."""
        parts = 1 / (self.k + candidates.listed_ranks)
        return best_first(candidates.summed(parts))
