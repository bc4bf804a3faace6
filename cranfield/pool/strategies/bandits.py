"""Runs as the arms of a bandit: move-to-front, and the strategies of Losada, Parapar and Barreiro."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from cranfield.base.registry import Option, deferred
from cranfield.pool.strategy import NOBODY, Bandit, Known, Rate, Start, State, Update, adaptive
from cranfield.runs.columns import Scores

with deferred:
    from scipy import special


def _in_front(arms: Bandit) -> Scores:
    """The priorities, lower by 1 for each non-relevant document; the run that was relevant last is in front."""
    values = arms.relevant - arms.judged
    if arms.front != NOBODY:
        values[arms.front] = np.inf
    return values


@adaptive("mtf", summary="move-to-front: stay with a run while its documents are relevant")
def move_to_front(start: Start, *, known: Known = "skip") -> State:
    """Judges down one run as long as its documents are relevant.

    All runs start with the same priority. One of those with the highest priority is drawn; its next documents are
    judged while they are relevant; a non-relevant one lowers the run's priority by 1, and a run is drawn again.
    An exhausted run is dropped. `known` says what happens when a run reaches a document that was judged through
    another run: `skip` passes over it, `consume` applies its label to this run too.

    Source: Cormack, Palmer and Clarke, "Efficient construction of large test collections", SIGIR 1998. Published
    implementations differ in `known`.
    """
    return Bandit(start, _in_front, known=known)


@adaptive("mtf-global", summary="move-to-front with one queue over all topics", claim=Bandit.claim)
def global_move_to_front(start: Start, *, known: Known = "skip") -> State:
    """Move-to-front with one queue over all topics: `mtf-global budget 15000 across topics`.

    As `mtf`, but priorities are compared between topics too: the next document comes from the topic that has the run
    of highest priority, after its floor is reached. Ties between topics go to the one with fewest judged.

    Source: the global variant of Cormack, Palmer and Clarke, SIGIR 1998.
    """
    return Bandit(start, _in_front, known=known)


def _beta_mean(arms: Bandit) -> Scores:
    return (1 + arms.relevant) / (2 + arms.judged)


@adaptive("max-mean", summary="bandit: the run with the best mean so far")
def max_mean(start: Start, *, update: Update = "pulled", known: Known = "skip") -> State:
    """Judges the next document of the run s with the highest (1 + R_s) / (2 + R_s + N_s).

    R_s and N_s are the relevant and non-relevant documents seen of the run: the mean of its Beta distribution. Ties
    by seed.

    Source: Losada, Parapar and Barreiro, "Feeling lucky? Multi-armed bandits for ordering judgements in pooling-based
    evaluation", SAC 2016.
    """
    return Bandit(start, _beta_mean, update=update, known=known)


@adaptive("max-mean-ns", summary="bandit: the run with the best recent mean (non-stationary)")
def fading_max_mean(start: Start, *, rate: Rate = 0.9, update: Update = "pulled", known: Known = "skip") -> State:
    """As `max-mean`, with a fading memory: recent documents of a run count more than early ones.

    At each judgment of a run  jrel ← rate · jrel + x,  jret ← rate · jret + 1;  its value is (1 + jrel) / (2 + jret).
    rate = 1 is `max-mean`, rate = 0 remembers only the last document.

    Source: Losada, Parapar and Barreiro, "Multi-armed bandits for adjudicating documents in pooling-based evaluation
    of information retrieval systems", IPM 2017. The default rate is ours.
    """
    return Bandit(start, _beta_mean, rate=rate, update=update, known=known)


@adaptive("random-arm", summary="bandit: a run drawn at random")
def random_arm(start: Start) -> State:
    """Judges the next document of a run drawn by seed: the baseline for the other bandits.

    Source: Losada, Parapar and Barreiro, SAC 2016.
    """
    return Bandit(start, lambda arms: np.zeros(len(arms.judged)))


@adaptive("epsilon-greedy", summary="bandit: explores at random, less and less often")
def epsilon_greedy(
    start: Start,
    *,
    c: Annotated[float, Option("how long exploration lasts", at_least=0)] = 0.01,
    d: Annotated[float, Option("how fast exploration decays", at_least=0.001, at_most=1)] = 0.1,
    update: Update = "pulled",
    known: Known = "skip",
) -> State:
    """Judges the next document of a run drawn at random with probability ε_n, else of the run with the best mean.

    ε_n = min(1, c · m / (d² · n)) at the n-th pull with m runs. The mean of a run is R_s / (R_s + N_s), 0 before its
    first document; with c = 0 the best run so far is always pulled. Ties by seed.

    Source: Auer, Cesa-Bianchi and Fischer, Machine Learning 2002; for pooling Losada, Parapar and Barreiro, SAC 2016.
    """

    def value(arms: Bandit) -> Scores:
        chance = min(1.0, c * len(arms.judged) / d**2 / (arms.pulls + 1))
        if arms.numbers("epsilon", 1)[0] < chance:
            return np.zeros(len(arms.judged))  # all the same, so that the seed decides
        return arms.relevant / np.maximum(arms.judged, 1)

    return Bandit(start, value, update=update, known=known)


def _beta_draw(arms: Bandit) -> Scores:
    """Draw from each Beta distribution: the quantile of a uniform number, whatever a library's generator does."""
    points = arms.numbers("thompson", len(arms.judged))
    drawn: Scores = special.betaincinv(1 + arms.relevant, 1 + arms.judged - arms.relevant, points)
    return drawn


@adaptive("thompson", summary="bandit: Thompson sampling")
def thompson(start: Start, *, update: Update = "pulled", known: Known = "skip") -> State:
    """Judges the next document of the run with the largest draw from Beta(1 + R_s, 1 + N_s): Thompson sampling.

    R_s and N_s are the relevant and non-relevant documents seen of run s. Every step samples again, by seed.

    Source: Losada, Parapar and Barreiro, SAC 2016, who call it BLA (Bayesian learning automaton).
    """
    return Bandit(start, _beta_draw, update=update, known=known)


@adaptive("thompson-ns", summary="bandit: Thompson sampling of recent judgments (non-stationary)")
def fading_thompson(start: Start, *, rate: Rate = 0.9, update: Update = "pulled", known: Known = "skip") -> State:
    """As `thompson`, with a fading memory: Beta(1 + jrel, 1 + jret − jrel).

    At each judgment of a run  jrel ← rate · jrel + x,  jret ← rate · jret + 1.

    Source: Losada, Parapar and Barreiro, IPM 2017 (BLA-NS). The default rate is ours.
    """
    return Bandit(start, _beta_draw, rate=rate, update=update, known=known)


@adaptive("ucb1-tuned", summary="bandit: the highest upper bound (UCB1-Tuned)")
def upper_bound(start: Start, *, update: Update = "pulled", known: Known = "skip") -> State:
    """Judges the next document of the run with the highest upper bound of its mean.

        mean_s + sqrt( (ln n / n_s) · min(1/4, V_s) ),   V_s = var_s + sqrt(2 ln n / n_s)

    with n_s judged documents of run s, n of all runs, and var_s = mean_s · (1 − mean_s). A run without a judged
    document comes before all others. Ties by seed.

    Source: Auer, Cesa-Bianchi and Fischer, Machine Learning 2002; for pooling Losada, Parapar and Barreiro, SAC 2016.
    """

    def value(arms: Bandit) -> Scores:
        judged = np.maximum(arms.judged, 1)
        mean = arms.relevant / judged
        spread = np.log(max(arms.judged.sum(), 1)) / judged
        bound = mean + np.sqrt(spread * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * spread)))
        return np.where(arms.judged > 0, bound, np.inf)

    return Bandit(start, value, update=update, known=known)
