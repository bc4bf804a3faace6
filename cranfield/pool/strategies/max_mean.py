"""The bandit that pulls the run with the best mean."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from cranfield.pool.arms import ArmState, Beliefs, Known, Update
from cranfield.pool.candidates import Candidates
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, State, Texts
from cranfield.runs.options import Option, check_options
from cranfield.runs.run import Scores


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
