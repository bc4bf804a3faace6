"""Samples: each document with the probability that it had."""

from __future__ import annotations

import math
import re
from math import exp, lgamma, log, log1p
from typing import Annotated

import numpy as np

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import Option
from cranfield.pool.candidates import Candidates, best_first, document_draws, numbers
from cranfield.pool.strategy import Sample, Strata, sampling, strategies
from cranfield.runs.columns import Places, Scores

_STRATUM = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]+(?:\.[0-9]+)?))?")
_BEST_RANK = "rank"


def _draws(candidates: Candidates, eligible: Places, seed: int) -> np.ndarray:
    return document_draws(seed, "sample", candidates.topic, [candidates.ids[number] for number in eligible])


def _one_stratum(chosen: Places, probabilities: Scores, population: int) -> Sample:
    drawn, everybody = np.zeros(len(chosen), dtype=np.int32), np.zeros(population, dtype=np.int32)
    return Sample(chosen, probabilities, drawn, ("",), everybody)


@sampling("sample", "uniform", summary="a uniform sample, each document with its probability")
def uniform_sample(candidates: Candidates, eligible: Places, wanted: int | None, seed: int) -> Sample:
    """n of the N documents that can be chosen, each with the same probability n / N, without replacement.

    The documents with the n smallest keys are sampled; a key is a hash of seed, topic and document, so a larger
    sample with the same seed contains the smaller one. A share is rounded to a whole number of documents, at least
    one: otherwise a topic would have a probability of 0 and could not be estimated. Documents in the population of an
    earlier sample of the plan are not sampled again.

    Source: the design of infAP (Yilmaz and Aslam, CIKM 2006); all probabilities are exact.
    """
    size = len(eligible) if wanted is None else min(wanted, len(eligible))
    chosen = eligible[np.argsort(_draws(candidates, eligible, seed), kind="stable")[:size]]
    return _one_stratum(chosen, np.full(size, size / max(len(eligible), 1)), len(eligible))


def _read_strata(strata: str, order: str) -> Strata:
    parts: list[tuple[int, int, float | None]] = []
    for word in strata.split(","):
        match = _STRATUM.fullmatch(word)
        rate = float(match[3]) if match and match[3] is not None else None
        if not match or not 1 <= int(match[1]) <= int(match[2]) or not 0 <= (rate or 0) <= 100:
            raise UsageError(
                f"option 'strata' must be ranks with rates, as in 1-20:100,21-100:20; not {quoted(word)}"
            )
        if parts and int(match[1]) <= parts[-1][1]:
            raise UsageError(f"strata must rise and not overlap; {quoted(word)} does")
        parts.append((int(match[1]), int(match[2]), rate))
    if order != _BEST_RANK and (kind := strategies.get(order).kind) != "fixed":
        raise UsageError(f"option 'order' must be rank or a fixed strategy; {quoted(order)} is {kind}")
    return Strata(tuple(parts), by_rank=order == _BEST_RANK)


@sampling("stratified", summary="a sample from strata of ranks or of a strategy's order", read_amount=_read_strata)
def stratified_sample(
    candidates: Candidates,
    eligible: Places,
    wanted: int | None,
    seed: int,
    *,
    strata: Annotated[str, Option("ranks with rates in %, as in 1-20:100,21-100:20")] = "1-20:100,21-100:20",
    order: Annotated[
        str, Option("ranking that is divided into strata: rank (the best rank), or a fixed strategy")
    ] = _BEST_RANK,
) -> Sample:
    """From each stratum h, n_h of its N_h documents, drawn uniformly without replacement: probability n_h / N_h.

    `strata=1-20:100,21-100:20` takes all documents whose best rank is up to 20, and 20% of those from 21 to
    100. `order=rrf` cuts the strata from the order of a strategy instead: then 1-20 are its first twenty. One stratum
    may have no rate; it gets what the others leave of the amount, as in `stratified until 800
    strata=1-20:100,21-1000`. Rates that exceed the amount are rejected, and where all strata have rates there
    is no amount. A rate above 0 takes at least one document of a stratum that has any. Documents outside all
    strata are not chosen.

    Source: the design of xinfAP and infNDCG (Yilmaz, Kanoulas and Aslam, SIGIR 2008); the rates as in NIST's pooling
    scripts. All probabilities are exact.
    """
    read = _read_strata(strata, order)
    places = candidates.best_rank
    if not read.by_rank:
        places = np.empty(len(candidates), dtype=np.int32)
        places[strategies.get(order)(candidates, seed)] = np.arange(1, len(candidates) + 1)
    insides = [
        np.flatnonzero((places[eligible] >= first) & (places[eligible] <= last)) for first, last, _ in read.parts
    ]
    codes = np.full(len(eligible), -1, dtype=np.int32)
    for number, inside in enumerate(insides):
        codes[inside] = number
    populations = [len(inside) for inside in insides]
    # Those with rates are drawn first; the one without gets what they leave of the amount.
    sizes = [
        0 if rate is None else min(population, max(math.floor(population * rate / 100 + 0.5), 1 if rate > 0 else 0))
        for population, (_, _, rate) in zip(populations, read.parts, strict=True)
    ]
    left = sum(populations) if wanted is None else wanted - sum(sizes)
    for place, (_, _, rate) in enumerate(read.parts):
        if rate is None:
            sizes[place] = min(max(left, 0), populations[place])
            left -= sizes[place]
    draws = _draws(candidates, eligible, seed)
    drawn = np.concatenate(
        [inside[np.argsort(draws[inside], kind="stable")[:size]] for inside, size in zip(insides, sizes, strict=True)]
    ).astype(np.int64)
    shares = np.array(sizes) / np.maximum(populations, 1)
    return Sample(eligible[drawn], shares[codes[drawn]], codes[drawn], tuple(read.rates), codes)


@sampling("statap", summary="the sample of statAP: top documents more often")
def statap_sample(candidates: Candidates, eligible: Places, wanted: int | None, seed: int) -> Sample:
    """Buckets drawn with replacement by weight, documents drawn from buckets without.

    A rank r of a list of Z documents weighs W(r) = (1 + 1/r + 1/(r+1) + … + 1/Z) / (2Z), an absent document nothing;
    a document weighs the mean over all runs. The N documents that can be chosen are sorted by weight and cut into
    buckets of n, the size of the sample. n times a bucket is drawn with the probability P of its share of all weight;
    from a bucket that was drawn k times, k documents are sampled, all of it if it has no more than k. So a document
    of a bucket B has the inclusion probability E[min(K, |B|)] / |B| with K ~ Binomial(n, P): that is n P / |B| in a
    full bucket. (The realised k / |B| is not an inclusion probability: estimates made with it are biased.) A document
    of weight 0 is never sampled. If no more than n documents can be chosen, all are, with probability 1. A larger
    sample need not contain a smaller one: the buckets differ.

    The probabilities are stored with the pool, for estimates of your own. The measures for sampled qrels (`xinfAP`,
    `infNDCG`, `statAP`, `statP`) use strata only, and weight every document of a stratum by N / n: for this
    sample, whose probabilities differ, they are biased. For those measures sample with `sample` or `stratified`.

    Source: Aslam and Pavlu, "A practical sampling strategy for efficient retrieval evaluation", 2007. Unbiased in
    simulation.
    """
    size = len(eligible) if wanted is None else min(wanted, len(eligible))
    deepest = int(candidates.lengths.max(initial=0))
    tails = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, deepest + 1))])
    length = candidates.lengths[candidates.run_of_row]
    parts = (1 + tails[length] - tails[candidates.listed_ranks - 1]) / (2 * length)
    weights = (candidates.summed(parts) / max(len(candidates.runs), 1))[eligible]
    buckets = np.empty(len(eligible), dtype=np.int32)
    buckets[best_first(weights)] = np.arange(len(eligible)) // max(size, 1)
    sizes = np.bincount(buckets)
    shares = np.bincount(buckets, weights=weights) / (weights.sum() or 1)
    if len(sizes) <= 1:
        times, probabilities = sizes, np.ones(len(sizes))
    else:
        # The last bucket takes what rounding leaves.
        points = numbers(seed, candidates.topic, "statap", count=size)
        hits = np.searchsorted(np.cumsum(shares)[:-1], points, side="right")
        times = np.bincount(hits, minlength=len(shares))
        probabilities = np.array([inclusion(size, share, count) for share, count in zip(shares, sizes, strict=True)])
    draws = _draws(candidates, eligible, seed)
    rows = np.empty(0, np.int64)
    for bucket, count in enumerate(times):
        members = np.flatnonzero(buckets == bucket)
        rows = np.concatenate([rows, members[np.argsort(draws[members], kind="stable")[:count]]])
    return _one_stratum(eligible[rows], probabilities[buckets[rows]], len(eligible))


def inclusion(draws: int, share: float, size: int) -> float:
    """E[min(K, size)] / size for K ~ Binomial(draws, share)."""
    if size >= draws:
        return draws * share / size
    if not 0 < share < 1:
        return float(min(draws * share, size) / size)

    lost = 0.0  # not by `sum`, which adds differently from Python 3.12 on: a stored pool is the same on all versions
    for times in range(size + 1, draws + 1):
        # By logarithms: the factors of the binomial distribution leave the range of doubles.
        ways = lgamma(draws + 1) - lgamma(times + 1) - lgamma(draws - times + 1)
        lost += (times - size) * exp(ways + times * log(share) + (draws - times) * log1p(-share))
    return (draws * share - lost) / size
