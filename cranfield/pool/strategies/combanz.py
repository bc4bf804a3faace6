"""The mean of normalised scores."""

from dataclasses import dataclass
from typing import ClassVar

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("combanz")
@dataclass(frozen=True)
class CombAnz:
    """By Σ over runs s of y_s(d), divided by |{s : d in s}|.

    y_s(d) = (score − min) / (max − min) over the list of run s, 1 where all its scores are equal.
    Only runs that have d count. Ties by document id, descending.

    Source: Fox and Shaw, "Combination of multiple searches", TREC-2, 1994; the scores normalised as in Lee, SIGIR
    1997.
    """

    summary: ClassVar[str] = "mean of normalised scores over the runs that have it"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Combine the normalised scores."""
        return best_first(candidates.normalised.sum(axis=0) / candidates.found.sum(axis=0))
