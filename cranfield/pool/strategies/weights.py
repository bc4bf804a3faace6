"""Documents by what judging them can still tell: about rank-biased precision, good runs, and differences."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Annotated

import numpy as np

from cranfield.base.registry import Option
from cranfield.pool.candidates import Candidates, rounded
from cranfield.pool.strategy import HighestScore, Label, Start, State, adaptive
from cranfield.runs.columns import Scores

Persistence = Annotated[float, Option("persistence of the user", at_least=0.001, at_most=0.999)]

_UNJUDGED = 0.5
_DECIMALS = 9
"""Decimals of a weight of `mtc` that count. It is a difference: what is left of nothing must be nothing."""


def _rbp_state(start: Start, p: float, weigh: Callable[[Scores, Scores], Scores]) -> State:
    """Gains of RBP times what each run weighs, by its base and its residual."""
    candidates = start.candidates
    gains = np.where(candidates.found, (1 - p) * np.power(p, candidates.ranks - 1.0), 0.0)
    bases, residuals = np.zeros(len(gains)), np.ones(len(gains))

    def learn(candidate: int, label: Label) -> None:
        residuals[:] -= gains[:, candidate]
        if label:
            bases[:] += gains[:, candidate]

    return HighestScore(
        len(candidates),
        scores=lambda: rounded(weigh(bases, residuals) @ gains),
        learn=learn,
        reason="weight {:.4g}".format,
    )


@adaptive("rbp-b", summary="RBP weights times the residual of the run (method B)")
def rbp_b(start: Start, *, p: Persistence = 0.8) -> State:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s did not retrieve d; the residual e_s = 1 − Σ of c_s over the judged
    documents: runs about which much is unknown count more. Only whether a document is judged matters, not its label.
    Ties by document id, descending.

    Source: Moffat, Webber and Zobel, "Strategic system comparisons via targeted relevance judgments", SIGIR 2007
    (method B).
    """
    return _rbp_state(start, p, lambda bases, residuals: residuals)


@adaptive("rbp-c", summary="RBP weights, favouring runs that are likely to be good (method C)")
def rbp_c(start: Start, *, p: Persistence = 0.8) -> State:
    """Judges the document with the largest Σ over runs s of c_s(d) · e_s · (b_s + e_s / 2)³.

    c_s(d) = (1 − p) · p^(r_s(d) − 1), 0 where s does not have d; the base b_s = Σ of c_s over the relevant, the
    residual e_s = 1 − Σ of c_s over all that is judged. So runs that are likely to score high count more.
    A document without a label lowers the residual only. Ties by document id, descending.

    Source: Moffat, Webber and Zobel, "Strategic system comparisons via targeted relevance judgments", SIGIR 2007
    (method C).
    """
    return _rbp_state(start, p, lambda bases, residuals: residuals * (bases + residuals / 2) ** 3)


@adaptive("hedge", summary="Hedge: on-line learning of run weights")
def hedge(
    start: Start,
    *,
    beta: Annotated[float, Option("how slowly the weights change", at_least=0.0001, at_most=0.9999)] = 0.1,
) -> State:
    """Judges the document with the largest Σ over runs s of w_s · ½ ln(Z / r_s(d)), Z the number of candidates.

    A judgment of d costs run s the loss L_s(d) = ½ · (−1)^x · ln(Z / r_s(d)), x = 1 if d is relevant; then w_s ← w_s
    · β^L_s(d), and the weights are normalised to sum to 1. A relevant document ranked high thus raises the weight.
    For a document that s does not have, ½ ln(Z / i) is averaged over the ranks i = n_s + 1 … Z that are left. Ties by
    document id, descending.

    Source: Aslam, Pavlu and Savell, "A unified model for metasearch, pooling, and system evaluation", CIKM 2003
    (β = 0.1).
    """
    gains, step = hedge_gains(start.candidates), log(beta)
    logarithms = np.zeros(len(gains))  # of the weights: they never vanish

    def learn(candidate: int, label: Label) -> None:
        if label is not None:
            logarithms[:] += step * (-gains[:, candidate] if label else gains[:, candidate])

    def scores() -> Scores:
        weights = np.exp(logarithms - logarithms.max())
        return rounded((weights / weights.sum()) @ gains)

    return HighestScore(len(start.candidates), scores=scores, learn=learn, reason="weight {:.4g}".format)


def hedge_gains(candidates: Candidates) -> Scores:
    """½ ln(Z / r_s(d)), runs by candidates; for what a run does not have, the mean over the ranks left."""
    count = candidates.documents_found
    logarithms = np.log(np.arange(1.0, count + 1))
    sums = np.concatenate([[0.0], np.cumsum(log(max(count, 1)) - logarithms)])
    lengths = np.minimum(candidates.lengths, count)
    absent = np.where(lengths < count, (sums[-1] - sums[lengths]) / np.maximum(count - lengths, 1), 0.0)
    present = log(max(count, 1)) - np.log(np.maximum(candidates.ranks, 1))
    return np.where(candidates.found, np.maximum(present, 0), absent[:, None]) / 2


@adaptive("mtc", summary="minimal test collections: documents that discriminate between runs")
def minimal_test_collection(start: Start) -> State:
    """Judges the document whose grade most affects the differences between runs in average precision.

    R · AP of run s is Σ over i ≤ j of x_i x_j / max(r_s(i), r_s(j)), documents that s does not have adding nothing.
    With p_j = 1 for relevant, 0 for other and ½ for unjudged documents, the label of i changes its expectation by
    g_s(i) = 1 / r_s(i) + Σ over j ≠ i of p_j / max(r_s(i), r_s(j)). The weight of i is Σ over all pairs of runs of
    |g_s(i) − g_t(i)|. The factor 1 / R, the same for all runs, is left out. A document without a label keeps its ½.
    Ties by document id, descending.

    Source: Carterette, Allan and Sitaraman, "Minimal test collections for retrieval evaluation", SIGIR 2006;
    here summed over all pairs for more than two runs.
    """
    candidates, count = start.candidates, len(start.candidates.runs)
    ranks = candidates.listed_ranks.astype(np.float64)
    lists = [slice(*candidates.offsets[run : run + 2]) for run in range(count)]
    changes = np.zeros((count, len(candidates)))  # g_s(i), updated run by run
    for run, rows in enumerate(lists):
        before = _UNJUDGED * np.arange(len(ranks[rows]))
        after = _UNJUDGED * (np.cumsum(1 / ranks[rows][::-1])[::-1] - 1 / ranks[rows])
        changes[run][candidates.listed[rows]] = (1 + before) / ranks[rows] + after
    by_size = np.empty((len(candidates), count))
    factors = 2.0 * np.arange(1, count + 1) - count - 1

    def learn(candidate: int, label: Label) -> None:
        if label is not None:
            for run in np.flatnonzero(candidates.found[:, candidate]).tolist():
                larger = np.maximum(ranks[lists[run]], float(candidates.ranks[run, candidate]))
                changes[run][candidates.listed[lists[run]]] += (float(label) - _UNJUDGED) / larger

    def scores() -> Scores:
        """Σ over pairs of |difference| for each candidate: the k-th smallest of m counts 2k − m − 1 times."""
        np.copyto(by_size, changes.T)
        by_size.sort(axis=1)
        return np.asarray(np.round(by_size @ factors, _DECIMALS), dtype=np.float64)

    return HighestScore(len(candidates), scores=scores, learn=learn, reason="tells runs apart by {:.4g}".format)
