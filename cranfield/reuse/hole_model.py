"""The chance that a hole reaches one grade more, given what else the run found.

For each step of the scale, from one grade to the next, with L(x) = ln(x / (1 - x)):

    L(chance of a hole) = a + b (L(rate of the run) - L(rate of all)) + c (L(rate in the topic) - L(rate of the run))
                            + d (log2 of its rank - the mean of that)

Rates are of judged documents; a run's rate is drawn a little towards all, and a topic's towards the run's. The
weights are found by penalised maximum likelihood: b and c are drawn towards 1 (odds in proportion), d towards 0, a
towards a kappa of 0.35, and the likelihood is tempered by how much more groups differ than chance would have it.
Beyond the rates that the contributors have b is at most 1. Ranks are taken by octaves: 1, 2, 3-4, 5-8 and so on.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.evaluate.lists import Counts, Values
from cranfield.reuse.logistic import Fit, chances, fitted, logit
from cranfield.reuse.tally import Tally

USUAL = 0.35
"""The kappa that is believed before anything is seen: pools of many depths have between 0.15 and 0.5."""

TO_ALL, TO_RUN = 2.0, 5.0
"""How many documents a run's rate is drawn towards that of all with, and a topic's towards the run's."""

ONE_MORE = 1.0
"""Relevant holes added to what was found and expected of a group, so that two or three holes decide nothing."""

_SPREAD = np.array([1.0, 1.0, 0.5, 0.25])
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class Step:
    """The model of one step: `rate` of all judged documents, the weights, the mean of the octaves of ranks, and the
    runs' lowest and highest rate on the scale of L, counted from that of all.
    """

    rate: float
    intercept: float
    run_slope: float
    topic_slope: float
    rank_slope: float
    octave: float
    lowest: float
    highest: float

    def chance(self, passed: Counts, tried: Counts, octaves: int) -> Values:
        """Give the chance of a hole of each run, topic and octave of ranks; the counts are of judged documents."""
        run, topic = _standing(passed, tried, self.rate)
        inside = np.clip(run, self.lowest, self.highest)
        seen = self.intercept + self.run_slope * inside + min(self.run_slope, 1.0) * (run - inside)
        by_topic = seen[:, np.newaxis] + self.topic_slope * topic
        by_rank = self.rank_slope * (np.arange(octaves) - self.octave)
        return chances(by_topic[:, :, np.newaxis] + by_rank)

    def times(self, factor: float) -> "Step":
        """Give the step with the chance of the usual hole so many times what it was."""
        return replace(self, intercept=float(logit(float(chances(self.intercept)) * factor)))


@dataclass(frozen=True, eq=False)
class StepData:
    """What there is to learn a step from: documents at the level below or higher (tried), and at this one (passed).

    By run and topic; holes by octave of their rank too.
    """

    passed: Counts
    tried: Counts
    hole_passed: Counts
    hole_tried: Counts
    group: NDArray[np.int32]

    @classmethod
    def of(cls, tally: Tally, step: int) -> "StepData":
        """Take a step of the scale, from 1 up, out of a tally."""
        below = max(step - 1, 0)
        return cls(
            tally.judged[:, :, step:].sum(axis=2),
            tally.judged[:, :, below:].sum(axis=2),
            tally.own[:, :, :, step:].sum(axis=3),
            tally.own[:, :, :, below:].sum(axis=3),
            tally.group_of_run,
        )

    @property
    def rate(self) -> float:
        """The rate of all judged documents, never 0 or 1."""
        return float((self.passed.sum() + 0.5) / (self.tried.sum() + 1.0))

    @property
    def octave(self) -> float:
        """The mean of the octaves of holes."""
        by_octave = self.hole_tried.sum(axis=(0, 1))
        return float((by_octave * np.arange(len(by_octave))).sum() / max(int(by_octave.sum()), 1))

    def fit(self) -> Fit:
        """Fit the weights."""
        run, topic = _standing(self.passed, self.tried, self.rate)
        here = np.nonzero(self.hole_tried)
        columns = [np.ones(len(here[0])), run[here[0]], topic[here[0], here[1]], here[2] - self.octave]
        return fitted(
            np.stack(columns, axis=1),
            self.hole_passed[here],
            self.hole_tried[here],
            self.group[here[0]],
            prior=np.array([float(logit(self.rate)) + np.log(USUAL), 1.0, 1.0, 0.0]),
            spread=_SPREAD,
        )

    def step(self, fit: Fit) -> Step:
        """Give the model with fitted weights."""
        run, _ = _standing(self.passed, self.tried, self.rate)
        seen = run[self.hole_tried.sum(axis=(1, 2)) > 0]
        lowest, highest = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        intercept, run_slope, topic_slope, rank_slope = fit.weights.tolist()
        return Step(self.rate, intercept, run_slope, topic_slope, rank_slope, self.octave, lowest, highest)

    def factors(self, fit: Fit) -> Values:
        """Give for each group what was found over what the others let expect."""
        expected = fit.expected_from_others()
        groups = np.unique(self.group).tolist()
        found = np.array([self.hole_passed[self.group == group].sum() for group in groups])
        hoped = np.array([expected.get(group, 0.0) for group in groups])
        return np.asarray((found + ONE_MORE) / (hoped + ONE_MORE))


def _standing(passed: Counts, tried: Counts, rate: float) -> tuple[Values, Values]:
    """Give where each run stands from all, and each topic from its run, on the scale of L."""
    run = np.clip((passed.sum(axis=1) + TO_ALL * rate) / (tried.sum(axis=1) + TO_ALL), _LEAST, 1 - _LEAST)
    topic = np.clip((passed + TO_RUN * run[:, np.newaxis]) / (tried + TO_RUN), _LEAST, 1 - _LEAST)
    return logit(run) - logit(rate), logit(topic) - logit(run)[:, np.newaxis]
