"""Minimal test collections: the document that says most about which run is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts
from cranfield.runs.run import Codes, Scores

UNJUDGED = 0.5
_DECIMALS = 9
"""Decimals of a weight that count. A weight is a difference: what is left of nothing must be nothing."""


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
    """How much each unjudged document tells: g_s(i), runs by candidates, kept up to date run by run."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._judged = np.zeros(len(candidates), dtype=bool)
        self._changes = np.zeros((len(candidates.runs), len(candidates)))
        self._sorted = np.empty((len(candidates), len(candidates.runs)))
        for run in range(len(candidates.runs)):
            rows, ranks = self._list_of(run)
            before = UNJUDGED * np.arange(len(rows))
            after = UNJUDGED * (np.cumsum(1 / ranks[::-1])[::-1] - 1 / ranks)
            self._changes[run][rows] = (1 + before) / ranks + after
        self._weights: Scores | None = None

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment. What the judged document itself tells is no longer needed."""
        if self._judged[candidate]:
            return
        self._judged[candidate] = True
        if label is None:
            return
        for run in np.flatnonzero(self._candidates.found[:, candidate]).tolist():
            rows, ranks = self._list_of(run)
            rank = float(self._candidates.ranks[run, candidate])
            self._changes[run][rows] += (float(label) - UNJUDGED) / np.maximum(ranks, rank)
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
            self._weights = np.round(self._spread(), _DECIMALS)
        return self._weights

    def _spread(self) -> Scores:
        """Give Σ over pairs of |difference| for each candidate: the k-th smallest of m counts 2k − m − 1 times."""
        np.copyto(self._sorted, self._changes.T)
        self._sorted.sort(axis=1)
        count = len(self._changes)
        return np.asarray(self._sorted @ (2.0 * np.arange(1, count + 1) - count - 1), dtype=np.float64)

    def _list_of(self, run: int) -> tuple[Codes, Scores]:
        rows = slice(self._candidates.offsets[run], self._candidates.offsets[run + 1])
        return self._candidates.listed[rows], self._candidates.listed_ranks[rows].astype(np.float64)
