"""Significance in a table: letters that group what does not differ, and the baselines that a run beats."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.compare.comparison import PairResult
from cranfield.compare.result import Flags, significant
from cranfield.errors import UnknownName, UsageError

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(different: ArrayLike, *, order: ArrayLike | None = None) -> tuple[tuple[str, ...], ...]:
    """Give the compact letter display: two runs share a letter if, and only if, they do not differ significantly.

    `different` is a symmetric matrix of yes and no; `order` lists the runs from best to worst, so that the best gets
    `a`; without it they stand in this order already. After z comes a2, so that joined letters can still be told
    apart. The groups are grown greedily and those that say nothing new are dropped: few, not provably the fewest.

    Source: Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons", 2004, for the idea.
    """
    matrix = _checked(different)
    ranked = np.arange(len(matrix)) if order is None else np.asarray(order, dtype=np.intp)
    if sorted(ranked.tolist()) != list(range(len(matrix))):
        raise UsageError("the order must name every run once")
    found = _groups(~matrix[np.ix_(ranked, ranked)])
    given: list[list[str]] = [[] for _ in range(len(matrix))]
    for number, group in enumerate(sorted(group.tolist() for group in found)):
        for place in group:
            given[ranked[place]].append(letter(number))
    return tuple(tuple(each) for each in given)


def letter(number: int) -> str:
    """Give the letter with a number from 0: a to z, then a2 to z2, a3 and so on."""
    round_, place = divmod(number, len(ALPHABET))
    return f"{ALPHABET[place]}{round_ + 1 if round_ else ''}"


def letters_of(
    results: Sequence[PairResult], labels: Sequence[str], *, alpha: float = 0.05
) -> dict[str, tuple[str, ...]]:
    """Give the letters of each label, best mean first getting `a`, from the corrected p-values of all pairs."""
    place = {label: row for row, label in enumerate(labels)}
    different = np.zeros((len(place), len(place)), dtype=bool)
    tested = np.eye(len(place), dtype=bool)
    means = np.zeros(len(place))
    for result in results:
        row, other = _place(place, result.a), _place(place, result.b)
        means[row], means[other] = result.mean_a, result.mean_b
        tested[row, other] = tested[other, row] = True
        different[row, other] = different[other, row] = bool(significant(result.adjusted_p, alpha=alpha))
    if not tested.all():
        raise UsageError("letters need all pairs; against baselines ask which of them a run beats")
    given = letters(different, order=np.argsort(-means, kind="stable"))
    return dict(zip(labels, given, strict=True))


def beaten(results: Sequence[PairResult], *, alpha: float = 0.05) -> dict[str, tuple[str, ...]]:
    """Give for each system the others that it beats significantly, by corrected p, in the order of the results."""
    wins: dict[str, list[str]] = {label: [] for result in results for label in (result.a, result.b)}
    for result in results:
        if result.difference and significant(result.adjusted_p, alpha=alpha):
            better, worse = (result.a, result.b) if result.difference > 0 else (result.b, result.a)
            wins[better].append(worse)
    return {label: tuple(others) for label, others in wins.items()}


def _checked(different: ArrayLike) -> Flags:
    matrix = np.asarray(different, dtype=bool)
    if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise UsageError("differences between runs are a symmetric matrix in which no run differs from itself")
    return matrix


def _place(places: dict[str, int], label: str) -> int:
    if label not in places:
        raise UnknownName("system", label, places)
    return places[label]


def _groups(same: Flags) -> list[NDArray[np.intp]]:
    """Cover every pair that is the same with groups in which all are the same; a run without such a pair is alone."""
    covered = np.eye(len(same), dtype=bool)
    found: list[NDArray[np.intp]] = []
    for first in range(len(same)):
        while (rest := np.flatnonzero(same[first] & ~covered[first])).size:
            group = _grown(same, first, int(rest[0]))
            covered[np.ix_(group, group)] = True
            found.append(group)
        if same[first].sum() == 1:
            found.append(np.array([first], dtype=np.intp))
    return _without_idle(found, len(same))


def _grown(same: Flags, first: int, second: int) -> NDArray[np.intp]:
    """Give a group of two runs and all that fit, taken in from the first one downwards and then from above."""
    members = [first, second]
    open_to = same[first] & same[second]
    open_to[members] = False
    for candidate in [*range(first, len(same)), *range(first)]:
        if open_to[candidate]:
            members.append(candidate)
            open_to &= same[candidate]
            open_to[candidate] = False
    return np.sort(np.array(members, dtype=np.intp))


def _without_idle(groups: list[NDArray[np.intp]], runs: int) -> list[NDArray[np.intp]]:
    """Drop the groups whose pairs are all covered by others."""
    times = np.zeros((runs, runs), dtype=np.int64)
    for group in groups:
        times[np.ix_(group, group)] += 1
    kept = []
    for group in groups:
        if (times[np.ix_(group, group)] > 1).all():
            times[np.ix_(group, group)] -= 1
        else:
            kept.append(group)
    return kept
