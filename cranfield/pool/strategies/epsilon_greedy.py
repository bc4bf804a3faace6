"""The bandit that explores less and less."""

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
