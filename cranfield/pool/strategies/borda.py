"""Borda's count."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind
from cranfield.runs.run import Places


@strategies.register("borda")
@dataclass(frozen=True)
class Borda:
    """By Σ over runs s of the points c − r_s(d) + 1, where c is the number of documents that the runs have.

    The points that a run of length n does not give out are shared evenly among the candidates it does not have:
    (c − n + 1) / 2 each. A run without the topic so gives everybody the same. Ties by document id, descending.

    Source: Aslam and Montague, "Models for metasearch", SIGIR 2001, from memory of the literature.
    """

    summary: ClassVar[str] = "Borda count"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the points."""
        count = candidates.documents_found
        for_absent = (count - candidates.lengths + 1) / 2
        given = np.where(candidates.found, count - candidates.ranks + 1.0, for_absent[:, None])
        return best_first(given.sum(axis=0))
