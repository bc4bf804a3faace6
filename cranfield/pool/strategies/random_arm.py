"""The bandit that never learns."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.arms import ArmState
from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, State, Texts
from cranfield.runs.run import Places, Scores


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
