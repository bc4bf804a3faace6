"""Scores of several systems on the same topics, and which of them meet.

Names are labels for the caller; here everything goes by row. Aligning the topics is done before: column j is the
same topic for everybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.compare.differences import as_scores
from cranfield.compare.result import Counts, Values
from cranfield.errors import InputError, UsageError, quoted

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Seeds:
    """What several seeds of one system looked like before they became one entry.

    `count` is the number of seeds of each entry. `variance` (entries × topics) is that of the seeds' scores on each
    topic and `deviation` the standard deviation of the seeds' means, both with count − 1; 0 where there is one seed.
    """

    count: Counts
    variance: Values
    deviation: Values


@dataclass(frozen=True, eq=False)
class PairedScores:
    """One row of scores per entry, one column per topic; an entry is a run, or the mean of several seeds."""

    labels: tuple[str, ...]
    values: Values
    seeds: Seeds

    @property
    def means(self) -> Values:
        """The mean over topics of each entry."""
        return np.asarray(self.values.mean(axis=1))


def paired_scores(labels: Sequence[str], values: ArrayLike, *, systems: Sequence[str] | None = None) -> PairedScores:
    """Give scores that can be compared, one row per label.

    With `systems`, one name per row, rows of the same system are its seeds: they become one entry that carries the
    name of the system, stands where its first row stood, and has the mean over seeds on each topic. Testing the seeds
    as if they were more topics would count each topic several times. Labels are told apart, NaN is an error.
    """
    matrix = as_scores(values)
    names = list(labels if systems is None else systems)
    if matrix.ndim != 2 or len(matrix) != len(labels) or len(names) != len(labels):
        raise UsageError(f"one row of scores per label is needed, not {matrix.shape} for {len(labels)} labels")
    entries = list(dict.fromkeys(names))
    if systems is None and len(entries) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two rows are called {quoted(twice)}; seeds of one system are merged by naming the systems")
    rows = [np.flatnonzero([name == entry for name in names]) for entry in entries]
    merged = np.stack([matrix[chosen].mean(axis=0) for chosen in rows])
    return PairedScores(tuple(entries), merged, _seeds([matrix[chosen] for chosen in rows]))


def _seeds(groups: Sequence[Values]) -> Seeds:
    return Seeds(
        count=np.array([len(group) for group in groups], dtype=np.int64),
        variance=np.stack([_variance(group) for group in groups]),
        deviation=np.array([np.sqrt(_variance(group.mean(axis=1))) for group in groups]),
    )


def _variance(seeds: Values) -> Values:
    return np.asarray(seeds.var(axis=0, ddof=1) if len(seeds) > 1 else np.zeros(seeds.shape[1:]))


def pairs(entries: int, *, baselines: Sequence[int] | None = None) -> tuple[Indices, Indices]:
    """Give the rows that meet, as (row, other row), each pair once.

    Without baselines all pairs, the earlier row first. With baselines each row against each baseline, the baseline as
    the other one; two baselines meet once, the earlier as the baseline, since a pair that is tested twice would be
    counted twice by a correction.
    """
    if entries < 2:
        raise UsageError(f"a comparison needs at least two systems, not {entries}")
    first, second = np.triu_indices(entries, k=1)
    if baselines is None:
        return first, second
    _check_baselines(entries, baselines)
    found = [(row, base) for base in baselines for row in range(entries) if _meet(row, base, baselines)]
    return np.array([row for row, _ in found], dtype=np.intp), np.array([base for _, base in found], dtype=np.intp)


def _meet(row: int, base: int, baselines: Sequence[int]) -> bool:
    """Say whether `row` is tested against `base`: always, but two baselines only in one direction."""
    return row != base and (row not in baselines or baselines.index(base) < baselines.index(row))


def _check_baselines(entries: int, baselines: Sequence[int]) -> None:
    if not baselines:
        raise UsageError("no baseline is named; for all pairs leave the baselines out")
    for base in baselines:
        if not 0 <= base < entries:
            raise UsageError(f"baseline {base} is not among the {entries} systems, which count from 0")
    if len(set(baselines)) < len(baselines):
        raise UsageError("a baseline is named twice")
