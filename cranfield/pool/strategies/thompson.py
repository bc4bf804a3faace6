"""The bandit that draws what each run may be worth."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from cranfield.pool.arms import ArmState, Beliefs, Known, Update
from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import numbers
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, State, Texts
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Scores


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
