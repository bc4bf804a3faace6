"""Runs as arms: pulling one means judging its next document.

What move-to-front and the bandits have in common. A policy values the arms and takes rewards; here it is settled
which document that means, and which arm a judgment belongs to.
"""

from typing import Annotated, Literal, Protocol

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.draws import numbers
from cranfield.pool.rounding import rounded
from cranfield.pool.strategy import Label
from cranfield.runs.options import Option
from cranfield.runs.run import Places, Scores

Update = Annotated[
    Literal["pulled", "all"], Option("who learns from a judgment: the pulled run, or all that have the document")
]
Known = Annotated[
    Literal["skip", "consume"], Option("a document judged through another run: skip it, or consume its label")
]

NOBODY = -1


class Policy(Protocol):
    """Which arm is worth pulling."""

    def values(self, pull: int) -> Scores:
        """Give the value of each arm before a pull, counted from 0; the highest is pulled."""
        ...

    def reward(self, arms: Places, *, relevant: bool) -> None:
        """Take in what came of pulling some arms."""
        ...


class ArmState:
    """One topic with an arm for each run.

    The arm of highest value is pulled, ties by seed: its next document is the first of its list that is not judged. A
    judgment belongs to the arm that would be pulled first of those that have the document. So judgments from
    elsewhere, a warm-up or another assessor, teach too, and the state is a function of the judgments in their order.
    `update="all"` rewards every run that has the document. `known="consume"`: an arm that comes to a document judged
    through another one is rewarded with its label and the next arm chosen anew; `"skip"` passes over it.
    """

    def __init__(
        self, candidates: Candidates, policy: Policy, *, seed: int, update: Update = "pulled", known: Known = "skip"
    ) -> None:
        self._candidates, self._policy, self._seed = candidates, policy, seed
        self._to_all = update == "all"
        self._consumes = known == "consume" and not self._to_all
        self._labels: list[Label] = [None] * len(candidates)
        self._judged = np.zeros(len(candidates), dtype=bool)
        self._pulled_by = np.full(len(candidates), NOBODY, dtype=np.int32)
        self._heads = candidates.offsets[:-1].copy()
        self._pulls = 0
        self._claim: float | None = None
        self._order = self._preference()

    def told(self, candidate: int, label: Label) -> None:
        """Take in one judgment."""
        if self._judged[candidate]:
            return
        has_it = self._candidates.found[:, candidate]
        arm = int(self._order[np.argmax(has_it[self._order])])
        self._judged[candidate], self._labels[candidate], self._pulled_by[candidate] = True, label, arm
        self._reward(np.flatnonzero(has_it) if self._to_all else np.array([arm]), label)
        if self._consumes:
            self._consume()

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        """Give the next document of the first arm that has any left."""
        taken = self._judged | excluded
        for arm in self._order:
            rows = slice(self._heads[arm], self._candidates.offsets[arm + 1])
            free = ~taken[self._candidates.listed[rows]]
            if free.any():
                row = rows.start + int(np.argmax(free))
                rank, run = self._candidates.listed_ranks[row], self._candidates.runs[arm].name
                return int(self._candidates.listed[row]), f"rank {rank} of {run}"
        return None

    @property
    def claim(self) -> float:
        """The value of the best arm that has anything left."""
        if self._claim is None:
            self._claim = self._best_value()
        return self._claim

    def _best_value(self) -> float:
        open_rows = ~self._judged[self._candidates.listed]
        left = np.bincount(self._candidates.run_of_row[open_rows], minlength=len(self._candidates.runs)) > 0
        return float(self._policy.values(self._pulls)[left].max(initial=-np.inf))

    def _reward(self, arms: Places, label: Label) -> None:
        if label is not None:
            self._policy.reward(arms, relevant=label)
        self._pulls += 1
        self._claim = None
        self._order = self._preference()

    def _preference(self) -> Places:
        """Give the arms in the order they would be pulled."""
        values = rounded(self._policy.values(self._pulls))
        turns = numbers(self._seed, self._candidates.topic, "arms", self._pulls, count=len(values))
        return np.lexsort((turns, -values))

    def _consume(self) -> None:
        """Let arms come to documents that are judged already, until one comes to a document that is not."""
        while (arm := self._first_unfinished()) != NOBODY:
            candidate = int(self._candidates.listed[self._heads[arm]])
            if not self._judged[candidate]:
                return
            self._heads[arm] += 1
            if self._pulled_by[candidate] != arm and self._labels[candidate] is not None:
                self._reward(np.array([arm]), self._labels[candidate])

    def _first_unfinished(self) -> int:
        unfinished = self._heads < self._candidates.offsets[1:]
        return int(self._order[np.argmax(unfinished[self._order])]) if unfinished.any() else NOBODY


class Beliefs:
    """What has been seen of each arm: relevant and judged, with a memory that may fade.

        judged ← rate · judged + 1,   relevant ← rate · relevant + x

    for the arms that are rewarded. rate = 1 remembers everything, rate = 0 only the last document.
    """

    def __init__(self, arms: int, rate: float = 1.0) -> None:
        self.relevant, self.judged, self.rate = np.zeros(arms), np.zeros(arms), rate

    @property
    def mean(self) -> Scores:
        """The mean of a Beta(1 + relevant, 1 + judged − relevant) distribution."""
        return (1 + self.relevant) / (2 + self.judged)

    def reward(self, arms: Places, *, relevant: bool) -> None:
        """Take in a label for some arms."""
        self.judged[arms] = self.rate * self.judged[arms] + 1
        self.relevant[arms] = self.rate * self.relevant[arms] + relevant
