"""Minimal test collections: the document that says most about which run is better."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.rounding import rounded
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.runs.run import Scores

UNJUDGED = 0.5


@strategies.register("mtc")
@dataclass(frozen=True)
class MinimalTestCollection:
    """Judges the document whose label moves the differences between runs in average precision most.

    R · AP of run s is Σ over i ≤ j of x_i x_j / max(r_s(i), r_s(j)), documents that s does not have adding nothing.
    With p_j = 1 for relevant, 0 for other and ½ for unjudged documents, the label of i changes its expectation by
    g_s(i) = 1 / r_s(i) + Σ over j ≠ i of p_j / max(r_s(i), r_s(j)). The weight of i is Σ over all pairs of runs of
    |g_s(i) − g_t(i)|. The factor 1 / R, the same for all runs, is left out. A document that got no label keeps its ½.
    Ties by document id, descending.

    Source: Carterette, Allan and Sitaraman, "Minimal test collections for retrieval evaluation", SIGIR 2006, from
    memory of the literature; summed over pairs for more than two runs.
    """

    summary: ClassVar[str] = "minimal test collections: what tells runs apart"
    kind: ClassVar[Kind] = "adaptive"

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with all documents as likely relevant as not."""
        return _Telling(candidates)


class _Telling:
    """How much each unjudged document tells."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._judged = np.zeros(len(candidates), dtype=bool)
        self._chances = np.full(len(candidates), UNJUDGED)
        self._weights: Scores | None = None

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        self._judged[candidate] = True
        if label is not None:
            self._chances[candidate] = float(label)
            self._weights = None

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the free candidate that tells most."""
        free = np.where(self._judged | excluded, -np.inf, self._telling())
        if not (free > -np.inf).any():
            return None
        best = int(np.argmax(free))
        return best, f"tells runs apart by {free[best]:.4g}"

    @property
    def claim(self) -> float:
        """What the most telling candidate tells."""
        return float(np.where(self._judged, -np.inf, self._telling()).max(initial=-np.inf))

    def _telling(self) -> Scores:
        if self._weights is None:
            self._weights = rounded(_spread(self._changes()))
        return self._weights

    def _changes(self) -> Scores:
        """Give g_s(i), candidates by runs."""
        changes = np.zeros((len(self._candidates), len(self._candidates.runs)))
        for run, (start, end) in enumerate(zip(self._candidates.offsets, self._candidates.offsets[1:], strict=False)):
            rows = self._candidates.listed[start:end]
            ranks = self._candidates.listed_ranks[start:end].astype(np.float64)
            chances = self._chances[rows]
            before = np.cumsum(chances) - chances
            after = np.cumsum((chances / ranks)[::-1])[::-1] - chances / ranks
            changes[rows, run] = (1 + before) / ranks + after
        return changes


def _spread(values: Scores) -> Scores:
    """Give Σ over pairs of |difference| in each row: sorted, the k-th smallest of m counts 2k − m − 1 times."""
    count = values.shape[1]
    return np.asarray(np.sort(values, axis=1) @ (2.0 * np.arange(1, count + 1) - count - 1), dtype=np.float64)
