"""Move-to-front pooling, for each topic by itself or for all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates, numbers
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import NOBODY, ArmState, Beliefs, Kind, Known, State, Texts, Update
from cranfield.runs.baseline import Option, check_options
from cranfield.runs.run import Places, Scores


@strategies.register("mtf")
@dataclass(frozen=True)
class MoveToFront:
    """Judges down one run as long as it gives relevant documents.

    All runs start with the same priority. One of those with the highest priority is drawn; its next documents are
    judged while they are relevant; a non-relevant one lowers the run's priority by 1, and a run is drawn again.
    A run that is used up leaves. `known` says what happens when a run comes to a document that was judged through
    another run: `skip` passes over it, `consume` applies its label to this run too.

    Source: Cormack, Palmer and Clarke, "Efficient construction of large test collections", SIGIR 1998. Published
    implementations differ in `known`.
    """

    known: Known = "skip"

    summary: ClassVar[str] = "move-to-front: stay with a run while it gives relevant documents"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with equal priorities."""
        return ArmState(candidates, _Priorities(len(candidates.runs)), seed=seed, known=self.known)


@strategies.register("mtf-global")
@dataclass(frozen=True)
class GlobalMoveToFront(MoveToFront):
    """Move-to-front with one queue over all topics: `mtf-global budget 15000 across topics`.

    As `mtf`, but priorities are compared between topics too: the next document comes from the topic that has the run
    of highest priority, after its floor is reached. Ties between topics go to the one with fewest judged.

    Source: the global variant of Cormack, Palmer and Clarke, SIGIR 1998.
    """

    known: Known = "skip"

    summary: ClassVar[str] = "move-to-front with one queue over all topics"
    compares_topics: ClassVar[bool] = True


class _Priorities:
    """The priority of each run; the run that was relevant last stays in front."""

    def __init__(self, arms: int) -> None:
        self._priorities, self._front = np.zeros(arms), NOBODY

    def values(self, pull: int) -> Scores:
        values = self._priorities.copy()
        if self._front != NOBODY:
            values[self._front] = np.inf
        return values

    def reward(self, arms: Places, *, relevant: bool) -> None:
        self._front = int(arms[0]) if relevant else NOBODY
        if not relevant:
            self._priorities[arms] -= 1


# The bandit that pulls the run with the best mean.


class _Means(Beliefs):
    """Values runs by the mean of what is believed of them."""

    def values(self, pull: int) -> Scores:
        return self.mean


@strategies.register("max-mean")
@dataclass(frozen=True)
class MaxMean:
    """Judges the next document of the run s with the highest (1 + R_s) / (2 + R_s + N_s).

    R_s and N_s are the relevant and non-relevant documents seen of the run: the mean of its Beta distribution. Ties
    by seed.

    Source: Losada, Parapar and Barreiro, "Feeling lucky? Multi-armed bandits for ordering judgements in pooling-based
    evaluation", SAC 2016.
    """

    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: the run with the best mean so far"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        return ArmState(candidates, _Means(len(candidates.runs)), seed=seed, update=self.update, known=self.known)


@strategies.register("max-mean-ns")
@dataclass(frozen=True)
class FadingMaxMean:
    """As `max-mean`, with a memory that fades: a run is worth what its last documents were worth.

    At each judgment of a run  jrel ← rate · jrel + x,  jret ← rate · jret + 1;  it is valued (1 + jrel) / (2 + jret).
    rate = 1 is `max-mean`, rate = 0 remembers only the last document.

    Source: Losada, Parapar and Barreiro, "Multi-armed bandits for adjudicating documents in pooling-based evaluation
    of information retrieval systems", IPM 2017. The default rate is ours.
    """

    rate: Annotated[float, Option("how much of the memory stays at each step", at_least=0, at_most=1)] = 0.9
    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: the run with the best mean of late (non-stationary)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        beliefs = _Means(len(candidates.runs), self.rate)
        return ArmState(candidates, beliefs, seed=seed, update=self.update, known=self.known)


# The bandit that never learns.


@strategies.register("random-arm")
@dataclass(frozen=True)
class RandomArm:
    """Judges the next document of a run drawn by seed: what the other bandits are compared with.

    Source: Losada, Parapar and Barreiro, SAC 2016.
    """

    summary: ClassVar[str] = "bandit: a run drawn at random"
    kind: ClassVar[Kind] = "adaptive"

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with nothing to learn."""
        return ArmState(candidates, _Indifferent(len(candidates.runs)), seed=seed)


class _Indifferent:
    """Values all runs the same, so that the seed decides."""

    def __init__(self, arms: int) -> None:
        self._arms = arms

    def values(self, pull: int) -> Scores:
        return np.zeros(self._arms)

    def reward(self, arms: Places, *, relevant: bool) -> None:
        """Learn nothing."""


# The bandit that explores less and less.


@strategies.register("epsilon-greedy")
@dataclass(frozen=True)
class EpsilonGreedy:
    """Judges the next document of a run drawn at random with probability ε_n, else of the run with the best mean.

    ε_n = min(1, c · m / (d² · n)) at the n-th pull with m runs. The mean of a run is R_s / (R_s + N_s), 0 before its
    first document; with c = 0 the best run so far is always pulled. Ties by seed.

    Source: Auer, Cesa-Bianchi and Fischer, Machine Learning 2002; for pooling Losada, Parapar and Barreiro, SAC 2016
    (c = 0.01, d = 0.1 from memory of the literature).
    """

    c: Annotated[float, Option("how long exploring lasts", at_least=0)] = 0.01
    d: Annotated[float, Option("how fast exploring fades", at_least=0.001, at_most=1)] = 0.1
    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: explores at random, less and less"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        arms = len(candidates.runs)
        policy = _Greedy(arms, exploring=self.c * arms / self.d**2, seed=seed, topic=candidates.topic)
        return ArmState(candidates, policy, seed=seed, update=self.update, known=self.known)


class _Greedy(Beliefs):
    """Values all runs the same when exploring, so that the seed decides, and by their means otherwise."""

    def __init__(self, arms: int, *, exploring: float, seed: int, topic: str) -> None:
        super().__init__(arms)
        self._exploring, self._seed, self._topic = exploring, seed, topic

    def values(self, pull: int) -> Scores:
        chance = min(1.0, self._exploring / (pull + 1))
        if numbers(self._seed, self._topic, "epsilon", pull, count=1)[0] < chance:
            return np.zeros(len(self.judged))
        return self.relevant / np.maximum(self.judged, 1)


# The bandit that draws what each run may be worth.


class _Sampled(Beliefs):
    """Values runs by a draw from the Beta distribution of what is believed of them.

    The draw is the quantile of a uniform number, so that it is the same whatever a library's generator does.
    """

    def __init__(self, arms: int, rate: float, *, seed: int, topic: str) -> None:
        super().__init__(arms, rate)
        self._seed, self._topic = seed, topic

    def values(self, pull: int) -> Scores:
        from scipy.special import betaincinv

        points = numbers(self._seed, self._topic, "thompson", pull, count=len(self.judged))
        return np.asarray(betaincinv(1 + self.relevant, 1 + self.judged - self.relevant, points), dtype=np.float64)


@strategies.register("thompson")
@dataclass(frozen=True)
class Thompson:
    """Judges the next document of the run with the largest draw from Beta(1 + R_s, 1 + N_s): Thompson sampling.

    R_s and N_s are the relevant and non-relevant documents seen of run s. Each step draws anew, by seed.

    Source: Losada, Parapar and Barreiro, SAC 2016, who call it BLA (Bayesian learning automaton).
    """

    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: Thompson sampling"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        beliefs = _Sampled(len(candidates.runs), 1.0, seed=seed, topic=candidates.topic)
        return ArmState(candidates, beliefs, seed=seed, update=self.update, known=self.known)


@strategies.register("thompson-ns")
@dataclass(frozen=True)
class FadingThompson:
    """As `thompson`, with a memory that fades: Beta(1 + jrel, 1 + jret − jrel).

    At each judgment of a run  jrel ← rate · jrel + x,  jret ← rate · jret + 1.

    Source: Losada, Parapar and Barreiro, IPM 2017 (BLA-NS). The default rate is ours.
    """

    rate: Annotated[float, Option("how much of the memory stays at each step", at_least=0, at_most=1)] = 0.9
    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: Thompson sampling of late (non-stationary)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        beliefs = _Sampled(len(candidates.runs), self.rate, seed=seed, topic=candidates.topic)
        return ArmState(candidates, beliefs, seed=seed, update=self.update, known=self.known)


# The bandit that pulls the run with the highest upper bound.


@strategies.register("ucb1-tuned")
@dataclass(frozen=True)
class UpperBound:
    """Judges the next document of the run with the highest upper bound of its mean.

        mean_s + sqrt( (ln n / n_s) · min(1/4, V_s) ),   V_s = var_s + sqrt(2 ln n / n_s)

    with n_s judged documents of run s, n of all runs, and var_s = mean_s · (1 − mean_s). A run without a judged
    document comes before all others. Ties by seed.

    Source: Auer, Cesa-Bianchi and Fischer, Machine Learning 2002; for pooling Losada, Parapar and Barreiro, SAC 2016.
    """

    update: Update = "pulled"
    known: Known = "skip"

    summary: ClassVar[str] = "bandit: the highest upper bound (UCB1-Tuned)"
    kind: ClassVar[Kind] = "adaptive"

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with no knowledge of any run."""
        return ArmState(candidates, _Bounds(len(candidates.runs)), seed=seed, update=self.update, known=self.known)


class _Bounds(Beliefs):
    """Values runs by the upper bound of their mean."""

    def values(self, pull: int) -> Scores:
        judged = np.maximum(self.judged, 1)
        mean = self.relevant / judged
        spread = np.log(max(self.judged.sum(), 1)) / judged
        bound = mean + np.sqrt(spread * np.minimum(0.25, mean * (1 - mean) + np.sqrt(2 * spread)))
        return np.where(self.judged > 0, bound, np.inf)
