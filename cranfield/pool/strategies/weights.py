"""Documents by the discount of their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates, best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Label, State, Texts, WeighedState
from cranfield.runs.baseline import Option, check_options
from cranfield.runs.run import Places, Scores


@strategies.register("dcg")
@dataclass(frozen=True)
class DiscountedGain:
    """By Σ over runs s that have d:  1 / log2(r_s(d) + 1), the weight that DCG gives the document's ranks.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Lipani et al., "Fixed-cost pooling strategies based on IR evaluation measures", ECIR 2017.
    """

    summary: ClassVar[str] = "weights of DCG, summed over runs"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the discounts."""
        parts = 1 / np.log2(candidates.listed_ranks + 1.0)
        return best_first(candidates.summed(parts))


# Documents by how many runs have them: the order NTCIR gives its assessors.


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


# Documents by the weight of rank-biased precision: method A.


@strategies.register("rbp-a")
@dataclass(frozen=True)
class RankBiasedA:
    """By Σ over runs s that have d:  (1 − p) · p^(r_s(d) − 1), what RBP can gain from the document.

    A run without the document adds nothing. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, "Strategic system comparisons via targeted relevance judgments", SIGIR 2007
    (method A, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP, summed over runs (method A)"
    kind: ClassVar[Kind] = "fixed"

    def __post_init__(self) -> None:
        check_options(self)

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sum the weights."""
        parts = (1 - self.p) * np.power(self.p, candidates.listed_ranks - 1.0)
        return best_first(candidates.summed(parts))


# Documents by what RBP still can gain from them: method B.


@strategies.register("rbp-b")
@dataclass(frozen=True)
class RankBiasedB:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s does not have d; the residual e_s = 1 − Σ of c_s over what is judged:
    runs about which much is unknown count more. Only what is judged matters, not the label. Ties by document id,
    descending.

    Source: Moffat, Webber and Zobel, SIGIR 2007 (method B, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP times what is still unknown of the run (method B)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with all residuals at 1."""
        gains = np.where(candidates.found, (1 - self.p) * np.power(self.p, candidates.ranks - 1.0), 0.0)
        return WeighedState(gains, _Residuals(len(candidates.runs)))


class _Residuals:
    """How much of each run's RBP is still unknown."""

    def __init__(self, runs: int) -> None:
        self._residuals = np.ones(runs)

    def values(self) -> Scores:
        return self._residuals

    def learn(self, gains: Scores, label: Label) -> None:
        self._residuals = self._residuals - gains


# Documents by what RBP still can gain from them in good runs: method C.


@strategies.register("rbp-c")
@dataclass(frozen=True)
class RankBiasedC:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s · (b_s + e_s / 2)³.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s does not have d; the base b_s = Σ of c_s over the relevant, the
    residual e_s = 1 − Σ of c_s over all that is judged. So runs that are likely to end with a high score count
    more. A document that got no label lowers the residual only. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, SIGIR 2007 (method C, p = 0.8), from memory of the literature.
    """

    p: Annotated[float, Option("persistence of the reader", at_least=0.001, at_most=0.999)] = 0.8

    summary: ClassVar[str] = "weights of RBP, for runs that are likely to be good (method C)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with all bases at 0 and all residuals at 1."""
        gains = np.where(candidates.found, (1 - self.p) * np.power(self.p, candidates.ranks - 1.0), 0.0)
        return WeighedState(gains, _Prospects(len(candidates.runs)))


class _Prospects:
    """Base and residual of each run's RBP."""

    def __init__(self, runs: int) -> None:
        self._bases, self._residuals = np.zeros(runs), np.ones(runs)

    def values(self) -> Scores:
        return self._residuals * (self._bases + self._residuals / 2) ** 3

    def learn(self, gains: Scores, label: Label) -> None:
        self._residuals = self._residuals - gains
        if label:
            self._bases = self._bases + gains


# Hedge: runs gain weight by ranking relevant documents high and others low.


@strategies.register("hedge")
@dataclass(frozen=True)
class Hedge:
    """Judges the document with the largest Σ over runs s of w_s · ½ ln(Z / r_s(d)), Z the number of candidates.

    A judgment of d costs run s the loss L_s(d) = ½ · (−1)^x · ln(Z / r_s(d)), x = 1 if d is relevant; then
    w_s ← w_s · β^L_s(d), and the weights are brought to the sum 1. A relevant document ranked high so raises the
    weight. For a document that s does not have, ½ ln(Z / i) is averaged over the ranks i = n_s + 1 … Z that are left.
    Ties by document id, descending.

    Source: Aslam, Pavlu and Savell, "A unified model for metasearch, pooling, and system evaluation", CIKM 2003
    (β = 0.1).
    """

    beta: Annotated[float, Option("how slowly weights move", at_least=0.0001, at_most=0.9999)] = 0.1

    summary: ClassVar[str] = "Hedge: on-line learning of run weights"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with equal weights."""
        return WeighedState(_gains(candidates), _Hedging(len(candidates.runs), self.beta))


class _Hedging:
    """Weights as logarithms, which never vanish."""

    def __init__(self, runs: int, beta: float) -> None:
        self._logarithms, self._step = np.zeros(runs), log(beta)

    def values(self) -> Scores:
        weights: Scores = np.exp(self._logarithms - self._logarithms.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def learn(self, gains: Scores, label: Label) -> None:
        if label is not None:
            self._logarithms += self._step * (-gains if label else gains)


def _gains(candidates: Candidates) -> Scores:
    count = candidates.documents_found
    logarithms = np.log(np.arange(1.0, count + 1))
    sums = np.concatenate([[0.0], np.cumsum(log(max(count, 1)) - logarithms)])
    lengths = np.minimum(candidates.lengths, count)
    absent = np.where(lengths < count, (sums[-1] - sums[lengths]) / np.maximum(count - lengths, 1), 0.0)
    present = log(max(count, 1)) - np.log(np.maximum(candidates.ranks, 1))
    return np.asarray(np.where(candidates.found, np.maximum(present, 0), absent[:, None]) / 2, dtype=np.float64)
