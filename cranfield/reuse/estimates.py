"""Estimates of what a run would have scored with its holes judged. They never replace the score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.aggregate import aggregated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Values
from cranfield.reuse.loss import Loss


@dataclass(frozen=True, eq=False)
class Completed:
    """Scores with the expected loss added, as an estimate, from `low` to `high`: one of each per run.

    The interval goes from the score as it stands to the score with the upper end of the loss.
    """

    score: Values
    value: Values
    low: Values
    high: Values


@dataclass(frozen=True, slots=True)
class Shift:
    """What Webber and Park add to the score of every outsider: what contributors lose on average when held out.

    One number for all: it can mend the mean, and never the order among outsiders. `error` is how far off it is for a
    group that it was not made from, in the mean over groups; `plain_error` is that of adding nothing.
    """

    value: float
    error: float
    plain_error: float
    groups: int

    @property
    def helps(self) -> bool:
        """Whether adding it is better than adding nothing."""
        return self.error < self.plain_error

    def __str__(self) -> str:
        if self.groups < 2:
            return f"shift {self.value:+.4f}, not tested: it needs two groups at least"
        told = f"shift {self.value:+.4f}, off by {self.error:.4f} in the mean when left out ({self.plain_error:.4f}"
        if self.helps:
            return f"{told} without it)"
        return f"{told} without it): worse than adding nothing, do not use it"


def completed(score: Values, loss: Loss) -> Completed:
    """Add the expected loss to the scores of runs; no estimate leaves the range of the measure."""
    lowest, highest = loss.measure.bounds
    value, end = (np.clip(score + one, lowest, highest) for one in (loss.mean, loss.upper))
    return Completed(
        score, value, np.minimum(np.minimum(score, end), value), np.maximum(np.maximum(score, end), value)
    )


def webber_park_shift(drops: Values, group_of_run: NDArray[np.int32]) -> Shift:
    """Give the shift from what contributing runs lose when their own group is held out.

    The mean over groups of the mean over the group's runs, so that a group with many runs counts once. The error is
    |drop - shift made from the other groups|, averaged over the runs of a group, and then over groups.

    Source: Webber and Park, Score adjustment for correction of pooling bias, SIGIR 2009.
    """
    if drops.shape != group_of_run.shape or not len(drops) or (group_of_run < 0).any():
        raise UsageError("a shift is made from the drops of contributing runs, each with its group")
    groups, place = np.unique(group_of_run, return_inverse=True)
    size = np.bincount(place)
    means = np.bincount(place, drops) / size
    count = len(groups)
    if count < 2:
        return Shift(float(means.mean()), float("nan"), float(np.abs(drops).mean()), count)
    others = (means.sum() - means) / (count - 1)
    error = np.bincount(place, np.abs(drops - others[place])) / size
    plain = np.bincount(place, np.abs(drops)) / size
    return Shift(float(means.mean()), float(error.mean()), float(plain.mean()), count)


def condensed_sibling(alignment: Alignment, measure: Measure) -> tuple[Measure, Values]:
    """Give the measure on condensed lists, and each run's score by it: the optimistic sibling of the score.

    Unjudged documents are taken out as if they were as relevant as the judged ones, which those of outsiders are
    not: it is shown beside the score, never alone. Source: Sakai, SIGIR 2007.
    """
    sibling = measure.with_setting("judged_only", value=True)
    values = sibling.values(alignment.lists).reshape(alignment.shape)
    runs: Sequence[int] = range(alignment.shape[0])
    return sibling, np.array([aggregated(values[run][alignment.scored[run]], measure.aggregate) for run in runs])
