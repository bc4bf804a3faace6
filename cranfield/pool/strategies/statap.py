"""The sample of statAP: documents near the tops of many runs are drawn more often."""

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import ClassVar

import numpy as np

from cranfield.pool.candidates import Candidates
from cranfield.pool.draws import document_draws, numbers
from cranfield.pool.rounding import best_first
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import Kind, Sample
from cranfield.runs.run import Places, Scores


@strategies.register("statap")
@dataclass(frozen=True)
class StatApSample:
    """Buckets drawn with replacement by weight, documents drawn from buckets without.

    A rank r of a list of Z documents weighs W(r) = (1 + 1/r + 1/(r+1) + … + 1/Z) / (2Z), an absent document nothing;
    a document weighs the mean over all runs. The N documents that can be chosen are sorted by weight and cut into
    buckets of n, the size of the sample. n times a bucket is drawn with the probability P of its share of all weight;
    from a bucket that was drawn k times k documents are taken, all of it if it has no more than k. So a document of a
    bucket B has the inclusion probability E[min(K, |B|)] / |B| with K ~ Binomial(n, P): that is n P / |B| in a full
    bucket. (The realised k / |B| is no inclusion probability: estimates made with it are biased.) A document that
    weighs nothing stays out. Where no more than n documents can be chosen, all are, with probability 1. A larger
    sample need not contain a smaller one: the buckets are others.

    The probabilities are stored with the pool, for estimates of your own. The measures for sampled qrels (`xinfAP`,
    `infNDCG`, `statAP`, `statP`) know of strata alone, and weigh every document of a stratum with N / n: for this
    sample, whose probabilities differ, they are biased. For those measures draw with `sample` or `stratified`.

    Source: Aslam and Pavlu, "A practical sampling strategy for efficient retrieval evaluation", 2007, from memory of
    the literature; unbiased in simulation.
    """

    summary: ClassVar[str] = "the sample of statAP: top documents more often"
    kind: ClassVar[Kind] = "sampling"

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Draw buckets, then documents."""
        size = len(eligible) if wanted is None else min(wanted, len(eligible))
        weights = _weights(candidates)[eligible]
        ordered = best_first(weights)
        buckets = np.empty(len(eligible), dtype=np.int32)
        buckets[ordered] = np.arange(len(eligible)) // max(size, 1)
        sizes = np.bincount(buckets)
        shares = np.bincount(buckets, weights=weights) / (weights.sum() or 1)
        if len(sizes) <= 1:
            times, probabilities = sizes, np.ones(len(sizes))
        else:
            times = _times(shares, numbers(seed, candidates.topic, "statap", count=size))
            probabilities = np.array(
                [_inclusion(size, share, count) for share, count in zip(shares, sizes, strict=True)]
            )
        draws = document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])
        taken = [_smallest(draws, np.flatnonzero(buckets == bucket), times[bucket]) for bucket in range(len(sizes))]
        rows = np.concatenate([np.empty(0, np.int64), *taken])
        return Sample(
            eligible[rows],
            probabilities[buckets[rows]],
            np.zeros(len(rows), dtype=np.int32),
            ("",),
            np.zeros(len(eligible), dtype=np.int32),
        )


def _weights(candidates: Candidates) -> Scores:
    deepest = int(candidates.lengths.max(initial=0))
    tails = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, deepest + 1))])
    length = candidates.lengths[candidates.run_of_row]
    parts = (1 + tails[length] - tails[candidates.listed_ranks - 1]) / (2 * length)
    return candidates.summed(parts) / max(len(candidates.runs), 1)


def _times(shares: Scores, points: Scores) -> Places:
    """Count how often each bucket is drawn, the last one taking what rounding leaves."""
    bounds = np.cumsum(shares)[:-1]
    return np.bincount(np.searchsorted(bounds, points, side="right"), minlength=len(shares)).astype(np.int64)


def _inclusion(draws: int, share: float, size: int) -> float:
    """Give E[min(K, size)] / size for K ~ Binomial(draws, share)."""
    if size >= draws:
        return draws * share / size
    if not 0 < share < 1:
        return float(min(draws * share, size) / size)
    lost = sum((times - size) * _chance(draws, share, times) for times in range(size + 1, draws + 1))
    return (draws * share - lost) / size


def _chance(draws: int, share: float, times: int) -> float:
    """Give the probability of the binomial distribution, by logarithms: its factors leave the range of doubles."""
    ways = lgamma(draws + 1) - lgamma(times + 1) - lgamma(draws - times + 1)
    return exp(ways + times * log(share) + (draws - times) * log1p(-share))


def _smallest(draws: np.ndarray, rows: Places, count: int) -> Places:
    return rows[np.argsort(draws[rows], kind="stable")[:count]]
