"""Decisions about pairs of runs under two qrels: do significant differences stay what they are?

For each pair of runs both qrels give a sign and, by the paired t-test, significance. Two letters tell how they meet:

    AA  both significant, same sign          AD  both significant, opposite signs
    MA  one significant, same sign           MD  one significant, opposite signs
    PA  none significant, same sign          PD  none significant, opposite signs

A pair that is exactly even under one of them has no sign, and disagrees with nothing.

Source: Moffat, Scholer and Thomas, ADCS 2012; Otero, Parapar and Ferro, ECIR 2023.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.compare.differences import RELATIVE_NOISE, as_scores
from cranfield.compare.pairing import Indices, pairs
from cranfield.compare.result import check_share, significant
from cranfield.compare.significance.student import student
from cranfield.errors import InputError, UsageError
from cranfield.evaluate.expression import Measure
from cranfield.reuse.leave_out import AllHoldOut

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

ALPHA = 0.05

_DOUBTFUL = 1e-6
"""A spread this small beside the scores', or a t this near to the critical one, is computed again pair by pair."""


@dataclass(frozen=True, slots=True)
class Categories:
    """How many pairs of runs fall into each category."""

    aa: int = 0
    ad: int = 0
    ma: int = 0
    md: int = 0
    pa: int = 0
    pd: int = 0

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return sum(getattr(self, one.name) for one in fields(self))

    @property
    def agreement(self) -> float:
        """AA / (AA + AD + MA + MD): of the pairs that anybody calls significant, those that all do. NaN for none."""
        called = self.aa + self.ad + self.ma + self.md
        return self.aa / called if called else float("nan")

    @property
    def publication_bias(self) -> float:
        """1 − agreement: how often a difference called significant is not, or is another, under the other qrels."""
        return 1 - self.agreement

    def __add__(self, other: "Categories") -> "Categories":
        return Categories(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


@dataclass(frozen=True, slots=True)
class GroupCategories:
    """The decisions with and without one group: over all pairs, and over those of its own runs with others."""

    group: str
    all_pairs: Categories
    own_pairs: Categories


@dataclass(frozen=True, eq=False)
class Decisions:
    """What the paired t-test says of all pairs of runs: the sign of a − b, and whether it is significant."""

    sign: NDArray[np.int8]
    significant: Flags


def decisions(values: ArrayLike, *, alpha: float = ALPHA) -> Decisions:
    """Decide all pairs of some runs (runs by topics), in the order of `compare.pairing.pairs`.

    The same decisions as `compare`'s t-test gives, from sums of products: doubtful pairs are given to that test.
    """
    from scipy import stats

    check_share("alpha", alpha)
    scores = as_scores(values)
    if scores.ndim != 2:
        raise UsageError("decisions need runs by topics")
    first, second = pairs(len(scores))
    topics = scores.shape[1]
    means = scores.mean(axis=1)
    centred = scores - means[:, np.newaxis]
    products = centred @ centred.T
    own = np.diag(products)
    squares = own[first] + own[second] - 2 * products[first, second]
    difference = means[first] - means[second]
    critical = float(stats.t.isf(alpha / 2, topics - 1)) if topics > 1 else 0.0
    bound = critical * np.sqrt(np.maximum(squares, 0) / max(topics - 1, 1) / topics)
    beyond = np.abs(difference) >= bound
    largest = float(np.abs(scores).max())
    doubtful = squares <= np.maximum(_DOUBTFUL * (own[first] + own[second]), topics * (_DOUBTFUL * largest) ** 2)
    doubtful |= np.abs(np.abs(difference) - bound) <= _DOUBTFUL * bound
    beyond[doubtful] = _tested(scores, first[doubtful], second[doubtful], alpha)
    difference[np.abs(difference) <= RELATIVE_NOISE * largest] = 0.0
    return Decisions(np.sign(difference).astype(np.int8), beyond & (difference != 0))


def _tested(scores: Values, first: Indices, second: Indices, alpha: float) -> Flags:
    if not len(first):
        return np.zeros(0, dtype=bool)
    nothing_drawn = np.random.default_rng(0)
    return significant(student(scores[first], scores[second], rng=nothing_drawn).p, alpha=alpha)


def categories(full: Decisions, reduced: Decisions, *, among: Flags | None = None) -> Categories:
    """Sort pairs into categories; `among` says which pairs count."""
    opposite = full.sign * reduced.sign < 0
    called = full.significant.astype(np.int64) + reduced.significant
    place = np.array([4, 2, 0])[called] + opposite
    return Categories(*np.bincount(place if among is None else place[among], minlength=6).tolist())


def categories_by_group(held_out: AllHoldOut, measure: Measure, *, alpha: float = ALPHA) -> list[GroupCategories]:
    """Compare the decisions of the full qrels with those without each group, on the topics that all runs have."""
    common = held_out.full.scored.all(axis=0)
    if not common.any():
        raise InputError("there is no topic on which all runs are scored, so that pairs could be tested")
    place = held_out.measures.index(measure)
    full = decisions(held_out.full.values[place][:, common], alpha=alpha)
    first, second = pairs(len(held_out.group_of_run))
    found = []
    for number, group in enumerate(held_out.groups):
        reduced = decisions(held_out.values[number, place][:, common], alpha=alpha)
        own = held_out.group_of_run == number
        mixed = own[first] != own[second]
        found.append(GroupCategories(group, categories(full, reduced), categories(full, reduced, among=mixed)))
    return found


def total(found: Iterable[Categories]) -> Categories:
    """Add categories up."""
    return sum(found, start=Categories())
