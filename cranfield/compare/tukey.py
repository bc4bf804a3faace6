"""Tukey's honestly significant differences, by randomisation over all runs at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cranfield.compare.differences import as_scores, noise_of
from cranfield.compare.drawing import DRAWS, blocks, check_draws
from cranfield.compare.result import Values, check_share
from cranfield.errors import UsageError

CACHED = 2**18
"""Scores that are permuted at once: 2 MB, about what a processor keeps at hand."""


@dataclass(frozen=True, eq=False)
class Tukey:
    """p for each pair of runs, as a symmetric matrix, and the sorted ranges it comes from.

    p is corrected for all pairs already.
    """

    p: Values
    ranges: Values

    def critical_difference(self, *, alpha: float = 0.05) -> float:
        """Give the difference of means above which a pair is significant; ∞ where so few draws cannot say."""
        check_share("alpha", alpha)
        reaching = int(np.floor(alpha * (1 + len(self.ranges)) + 1e-9)) - 1
        return float(self.ranges[len(self.ranges) - 1 - reaching]) if reaching >= 0 else float("inf")


def tukey(scores: ArrayLike, *, draws: int = DRAWS, rng: np.random.Generator) -> Tukey:
    """Tukey's HSD by randomisation: had the runs swapped names on every topic, how large would the range of means be?

        q* = max − min of the runs' means, after each topic's scores are permuted among the runs
        p(i, j) = (1 + #{q* ≥ |mean(i) − mean(j)|}) / (1 + draws)

    `scores` is runs × topics. Permuting within topics keeps the pairing: Tukey's table, or a permutation over the
    whole matrix, takes the differences between topics for noise and finds almost nothing. A pair is held against the
    largest range of all runs, so the chance of even one false win is below alpha, and p is never 0. It supposes that
    all runs are alike under the null, so one odd run widens the yardstick for everybody. With one topic p = 1.

    Source: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", TOIS 30, 2012.
    """
    check_draws(draws)
    matrix = as_scores(scores)
    if matrix.ndim != 2 or len(matrix) < 2:
        raise UsageError("Tukey's test compares two or more runs, given as the rows of a matrix")
    ranges = np.sort(_ranges(matrix, draws=draws, rng=rng))
    means = matrix.mean(axis=1)
    noise = float(noise_of(matrix).max())
    gaps = np.abs(means[:, None] - means[None, :]) - noise
    reaching = draws - np.searchsorted(ranges, gaps, side="left")
    return Tukey(np.asarray((1 + reaching) / (1 + draws)), ranges)


def _ranges(matrix: Values, *, draws: int, rng: np.random.Generator) -> Values:
    """Give max − min of the means for each draw, in blocks that fit into the processor's cache."""
    by_topic = np.ascontiguousarray(matrix.T)
    ranges = np.empty(draws)
    for part in blocks(draws, width=by_topic.size, block=CACHED):
        copies = np.broadcast_to(by_topic, (part.stop - part.start, *by_topic.shape))
        means = rng.permuted(copies, axis=2).mean(axis=1)
        ranges[part] = np.ptp(means, axis=1)
    return ranges
