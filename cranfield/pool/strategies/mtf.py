"""Move-to-front pooling, for each topic by itself or for all at once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cranfield.pool.arms import NOBODY, ArmState, Known
from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, State, Texts
from cranfield.runs.options import check_options
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
