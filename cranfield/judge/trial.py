"""Trying a draft topic: which hits its author judges, and how many relevant documents they let expect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from cranfield.judge.draws import draw

STRATA = ((1, 10, 10), (11, 40, 5), (41, 100, 5), (101, 300, 5))
"""First rank, last rank, how many of them are judged: 25 in all."""

DEEPEST = STRATA[-1][1]


@dataclass(frozen=True, slots=True)
class Tried:
    """A hit that is to be judged: its rank, and the ranks and the size of its stratum."""

    document: str
    rank: int
    stratum: str
    population: int


def sample_of_hits(topic: str, ranked: Sequence[str], *, seed: int = 0) -> list[Tried]:
    """Choose about 25 of the ranked hits: the first ten, and five each of the ranks 11-40, 41-100 and 101-300."""
    return list(_sample(topic, ranked, seed))


def _sample(topic: str, ranked: Sequence[str], seed: int) -> Iterator[Tried]:
    for first, last, wanted in STRATA:
        members = list(enumerate(ranked[first - 1 : last], start=first))
        drawn = sorted(members, key=lambda member: draw(seed, "try", topic, member[1]))[:wanted]
        for rank, document in sorted(drawn):
            yield Tried(document, rank, f"{first}-{last}", len(members))


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many relevant documents a topic is expected to have, among its first hits and those found by searching.

    `judged` and `relevant` count what was looked at; `low` and `high` bound the estimate in about 19 of 20 cases, and
    never fall below what was found. None where nothing was judged, or a stratum has fewer than two judged hits.
    """

    judged: int
    relevant: int
    expected: float | None
    low: float | None
    high: float | None


def estimate(tried: Sequence[Tried], relevant: dict[str, bool]) -> Estimate:
    """Estimate the number of relevant documents from judged hits (`relevant`: document -> is it).

    In each stratum h with N documents, n judged and r of them relevant, N r/n are expected (the share of a simple
    random sample, so hits that were not judged are taken to be like the judged ones); the strata are added up, and so
    are relevant documents found by searching outside the sample, each as itself. The variance is the sum of
    N² (1 - n/N) p (1 - p) / (n - 1) with p = r/n, the bounds are 1.96 standard errors (Cochran, Sampling Techniques,
    chapter 5). A relevant document below rank 300 that no search found is not counted: the estimate is of what the
    topic's own words can reach, a lower bound for the collection.
    """
    sampled = {one.document for one in tried}
    beside = sum(found for document, found in relevant.items() if document not in sampled)
    total, variance = 0.0, 0.0
    for stratum in dict.fromkeys((one.stratum, one.population) for one in tried):
        known = [relevant[one.document] for one in tried if one.stratum == stratum[0] and one.document in relevant]
        if len(known) < min(2, stratum[1]):
            return Estimate(len(relevant), sum(relevant.values()), None, None, None)
        share, size = sum(known) / len(known), stratum[1]
        total += size * share
        variance += size * (size - len(known)) * share * (1 - share) / max(len(known) - 1, 1)
    found = sum(relevant.values())
    if not relevant:
        return Estimate(0, 0, None, None, None)
    reach = 1.96 * sqrt(variance)
    expected = total + beside
    return Estimate(len(relevant), found, expected, max(expected - reach, found), expected + reach)


Size = Literal["too few", "too many", "fine", "unknown"]


def size_of(made: Estimate, *, few: int, many: int) -> Size:
    """Say whether a topic has a good number of relevant documents; searching and judging on may change it."""
    if made.expected is None:
        return "unknown"
    if made.expected < few:
        return "too few"
    return "too many" if made.expected > many else "fine"
