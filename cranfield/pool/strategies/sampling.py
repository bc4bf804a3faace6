"""A uniform sample."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, lgamma, log, log1p
from typing import Annotated, ClassVar

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.pool.candidates import Candidates, best_first, document_draws, numbers
from cranfield.pool.plan import spelled_number
from cranfield.pool.strategies import strategies
from cranfield.pool.strategy import FixedOrder, Kind, Sample
from cranfield.runs.baseline import Option
from cranfield.runs.run import Codes, Places, Scores


@strategies.register("sample", "uniform")
@dataclass(frozen=True)
class UniformSample:
    """n of the N documents that can be chosen, each with the same probability n / N, without replacement.

    The documents with the n smallest draws are taken; a draw is a hash of seed, topic and document, so a larger
    sample with the same seed contains the smaller one. A share is rounded to a whole number of documents, at least
    one: otherwise a topic would have a probability of 0 and could not be estimated. What an earlier sample of the
    plan could have drawn is not drawn again.

    Source: the design of infAP (Yilmaz and Aslam, CIKM 2006); all probabilities are exact.
    """

    summary: ClassVar[str] = "a uniform sample, each document with its probability"
    kind: ClassVar[Kind] = "sampling"

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Take the documents with the smallest draws."""
        draws = document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])
        size = len(eligible) if wanted is None else min(wanted, len(eligible))
        chosen = eligible[np.argsort(draws, kind="stable")[:size]]
        return Sample(
            chosen,
            np.full(size, size / max(len(eligible), 1)),
            np.zeros(size, dtype=np.int32),
            ("",),
            np.zeros(len(eligible), dtype=np.int32),
        )


# The candidates in an order drawn by seed.


@strategies.register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """All candidates, shuffled by seed: what every other order is compared with.

    Each document's place comes from a hash of seed, topic and document. It is an order and not a sample: for
    documents with inclusion probabilities use `sample`.
    """

    summary: ClassVar[str] = "an order drawn by seed"
    kind: ClassVar[Kind] = "fixed"

    def order(self, candidates: Candidates, *, seed: int) -> Places:
        """Sort by the documents' draws."""
        return np.argsort(document_draws(seed, "shuffle", candidates.topic, candidates.ids), kind="stable")


# A sample by strata.

_STRATUM = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]+(?:\.[0-9]+)?))?")
_BEST_RANK = "rank"


@strategies.register("stratified")
@dataclass(frozen=True)
class StratifiedSample:
    """From each stratum h n_h of its N_h documents, uniformly and without replacement: probability n_h / N_h.

    `strata=1-20:100,21-100:20` takes all documents whose best rank is up to 20, and 20 per cent of those from 21 to
    100. `order=rrf` cuts the strata from the order of a strategy instead: then 1-20 are its first twenty. One stratum
    may go without a rate; it gets what the others leave of the amount, as in `stratified until 800
    strata=1-20:100,21-1000`. Rates that take more than the amount are refused, and where all strata have rates there
    is no amount. A rate above 0 takes at least one document of a stratum that has any. Documents outside of all
    strata are not chosen.

    Source: the design of xinfAP and infNDCG (Yilmaz, Kanoulas and Aslam, SIGIR 2008); the rates as in NIST's pooling
    scripts. All probabilities are exact.
    """

    strata: Annotated[str, Option("ranks with rates in per cent, as in 1-20:100,21-100:20")] = "1-20:100,21-100:20"
    order: Annotated[str, Option("what is cut into strata: rank (the best one), or a fixed strategy")] = _BEST_RANK

    summary: ClassVar[str] = "a sample from strata of ranks or of a strategy's order"
    kind: ClassVar[Kind] = "sampling"

    def __post_init__(self) -> None:
        self._strata()
        self._fixed()

    def sample(self, candidates: Candidates, eligible: Places, wanted: int | None, *, seed: int) -> Sample:
        """Draw from one stratum after the other."""
        draws = document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])
        places = self._places(candidates, seed)[eligible]
        insides = [np.flatnonzero((places >= first) & (places <= last)) for first, last, _ in self._strata()]
        strata = np.full(len(eligible), -1, dtype=np.int32)
        for number, inside in enumerate(insides):
            strata[inside] = number
        takes = _sizes([len(inside) for inside in insides], [rate for _, _, rate in self._strata()], wanted)
        rows = [
            inside[np.argsort(draws[inside], kind="stable")[:size]]
            for inside, size in zip(insides, takes, strict=True)
        ]
        drawn = np.concatenate(rows).astype(np.int64)
        sizes, counts = np.bincount(strata[strata >= 0], minlength=len(rows)), np.array([len(part) for part in rows])
        names = tuple(f"{first}-{last}" for first, last, _ in self._strata())
        shares = counts / np.maximum(sizes, 1)
        return Sample(eligible[drawn], shares[strata[drawn]], strata[drawn], names, strata)

    def amount_problems(self, *, has_amount: bool) -> Iterator[str]:
        """Say why an amount, or none, does not go with the rates."""
        without = [f"{first}-{last}" for first, last, rate in self._strata() if rate is None]
        if len(without) > 1:
            yield f"one stratum may go without a rate, to get what the others leave; {' and '.join(without)} do"
        elif without and not has_amount:
            yield f"the stratum {without[0]} has no rate and so needs an amount, as in 'stratified until 800'"
        elif has_amount and not without:
            yield "stratified takes an amount only for a stratum without a rate, as in strata=1-20:100,21-1000"

    def at_rates(self, rates: Mapping[str, float], *, otherwise: float) -> StratifiedSample:
        """Give the same strata with rates, from 0 to 1, for those (by name) that have none of their own."""
        words = []
        for first, last, rate in self._strata():
            share = 100 * rates.get(f"{first}-{last}", otherwise) if rate is None else rate
            words.append(f"{first}-{last}:{spelled_number(share)}")
        return replace(self, strata=",".join(words))

    @property
    def deepest(self) -> int | None:
        """The last rank of all strata; None where they are cut from the order of a strategy."""
        return self._strata()[-1][1] if self.order == _BEST_RANK else None

    def _places(self, candidates: Candidates, seed: int) -> Codes:
        """Give each candidate its best rank, or its place in the chosen order."""
        strategy = self._fixed()
        if strategy is None:
            return candidates.best_rank
        places = np.empty(len(candidates), dtype=np.int32)
        places[strategy.order(candidates, seed=seed)] = np.arange(1, len(candidates) + 1, dtype=np.int32)
        return places

    def _fixed(self) -> FixedOrder | None:
        if self.order == _BEST_RANK:
            return None
        strategy = strategies.get(self.order)()
        # A field called `order` makes this very strategy look like a fixed one.
        if strategy.kind != "fixed" or not isinstance(strategy, FixedOrder):
            raise UsageError(
                f"option 'order' takes rank or a fixed strategy; {quoted(self.order)} is {strategy.kind}"
            )
        return strategy

    def _strata(self) -> list[tuple[int, int, float | None]]:
        parsed: list[tuple[int, int, float | None]] = []
        for word in self.strata.split(","):
            match = _STRATUM.fullmatch(word)
            rate = float(match[3]) if match and match[3] is not None else None
            if not match or not 1 <= int(match[1]) <= int(match[2]) or not 0 <= (rate or 0) <= 100:
                raise UsageError(
                    f"option 'strata' takes ranks with rates, as in 1-20:100,21-100:20; not {quoted(word)}"
                )
            if parsed and int(match[1]) <= parsed[-1][1]:
                raise UsageError(f"strata must rise and not overlap; {quoted(word)} does")
            parsed.append((int(match[1]), int(match[2]), rate))
        return parsed


def _sizes(populations: Sequence[int], rates: Sequence[float | None], wanted: int | None) -> list[int]:
    """Give how many of each stratum are drawn: those with rates first, then what they leave of the amount."""
    sizes = [
        0 if rate is None else min(population, max(math.floor(population * rate / 100 + 0.5), 1 if rate > 0 else 0))
        for population, rate in zip(populations, rates, strict=True)
    ]
    left = sum(populations) if wanted is None else wanted - sum(sizes)
    for place, rate in enumerate(rates):
        if rate is None:
            sizes[place] = min(max(left, 0), populations[place])
            left -= sizes[place]
    return sizes


# The sample of statAP: documents near the tops of many runs are drawn more often.


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
