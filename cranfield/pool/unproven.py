"""A plan whose choices cannot be made again on another machine, as far as it can be checked."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates, Mask
from cranfield.pool.plan import Plan, Selection
from cranfield.pool.strategy import Kind, Label, State, Texts


def is_reproducible(plan: Plan) -> bool:
    """Say whether the plan chooses the same on every machine."""
    return all(getattr(step.strategy, "reproducible", True) for step in plan.steps if isinstance(step, Selection))


def without_model(plan: Plan) -> Plan:
    """Give the plan with strategies that cannot be repeated replaced by one that takes anything.

    What is left to check: that something was to be chosen, of what could be chosen, before a rule ended the step.
    """
    steps = [
        replace(step, strategy=Anything())
        if isinstance(step, Selection) and not getattr(step.strategy, "reproducible", True)
        else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


@dataclass(frozen=True)
class Anything:
    """Any document that is free; it stands in for what a model chose, and has no name of its own."""

    summary: ClassVar[str] = "any document that is free"
    kind: ClassVar[Kind] = "adaptive"

    def begin(self, candidates: Candidates, *, seed: int, texts: Texts | None = None, query: str = "") -> State:
        """Start with everything free."""
        return _Free(len(candidates))


class _Free:
    """What is not judged yet."""

    def __init__(self, candidates: int) -> None:
        self._judged = np.zeros(candidates, dtype=bool)

    def told(self, candidate: int, label: Label) -> None:
        self._judged[candidate] = True

    def choose(self, excluded: Mask) -> tuple[int, str] | None:
        free = np.flatnonzero(~(self._judged | excluded))
        return (int(free[0]), "free") if len(free) else None

    @property
    def claim(self) -> float:
        return 0.0
