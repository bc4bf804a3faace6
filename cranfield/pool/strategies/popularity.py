"""Documents by how many runs have them: the order NTCIR gives its assessors."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Places


@strategies.register("popularity", "pri")
@dataclass(frozen=True)
class Popularity:
    """By the number of runs that have the document among their first k, then by the sum of those ranks.

    More runs first; of equally many, the smaller sum of ranks. Documents that no run has among its first k come last.
    Ties by document id, descending.

    Source: NTCIR's priority order (Sakai), from memory of the literature. The usual k is the pool depth.
    """

    k: Annotated[int, Option("the depth within which a run counts", at_least=1)] = 30

    summary: ClassVar[str] = "most runs first, then smallest sum of ranks (NTCIR priority)"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        check_options(self)

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sort by both counts."""
        within = candidates.found & (candidates.ranks <= self.k)
        runs = within.sum(axis=0)
        ranks = np.where(within, candidates.ranks, 0).sum(axis=0)
        return np.lexsort((ranks, -runs))
