"""How alike two rankings of systems are: Kendall's tau with ties, AP correlation, rank drops.

Systems are ranked by falling score. Scores that differ by less than 2⁻⁴⁰ of the largest are the same score: sums of
tenths differ in their last digit, and a ranking that believes it sees no tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.compare.differences import RELATIVE_NOISE
from cranfield.evaluate.align import Alignment, AnyRun
from cranfield.evaluate.lists import NOT_POOLED, Values
from cranfield.evaluate.measure import AnyMeasure, Measure, aggregated, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.provenance import Numbers, qrels_rows

Ranks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankDrop:
    """The system that falls furthest, and its ranks: 1 + the number of systems strictly better, among `systems`."""

    place: int
    before: int
    after: int
    systems: int

    @property
    def drop(self) -> int:
        """By how many ranks it falls; below 0 where even the worst off rises."""
        return self.after - self.before


def tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b: (concordant − discordant) / √((n0 − n1)(n0 − n2)), n1 and n2 the pairs tied in each.

    NaN, that is undefined, where one of them ties all systems. Source: Kendall, The treatment of ties in ranking
    problems, Biometrika 33, 1945.
    """
    one, other = (levelled(values) for values in _known(first, second))
    left, right = (np.sign(each[:, np.newaxis] - each[np.newaxis, :]) for each in (one, other))
    apart_in_first, apart_in_second = (int(np.count_nonzero(each)) // 2 for each in (left, right))
    if not apart_in_first or not apart_in_second:
        return float("nan")
    agreement = int((left * right).sum()) // 2
    return float(agreement / np.sqrt(float(apart_in_first) * float(apart_in_second)))


def tau_ap(truth: ArrayLike, estimate: ArrayLike, *, names: Sequence[str]) -> float:
    """AP correlation: tau in which swaps near the top count more. Not symmetric.

        2 / (n − 1) · Σ C(i) / (i − 1) − 1,  i = 2 … n

    C(i) counts the systems above rank i of the estimate that the truth also has above the system there. Ties, in
    both, are broken by name, in byte order. NaN where one of them ties all systems.
    Source: Yilmaz, Aslam and Robertson, SIGIR 2008.
    """
    true, estimated = (levelled(values) for values in _known(truth, estimate))
    if len(names) != len(true):
        raise UsageError(f"one name per system is needed, not {len(names)} for {len(true)} systems")
    if len(np.unique(true)) < 2 or len(np.unique(estimated)) < 2:
        return float("nan")
    by_name = np.argsort(np.array([name.encode() for name in names], dtype=object), kind="stable")
    place = np.empty(len(true), dtype=np.int64)
    place[by_name] = np.arange(len(true))
    true_rank = np.argsort(np.lexsort((place, -true)))[np.lexsort((place, -estimated))]
    above = np.tril(true_rank[np.newaxis, :] < true_rank[:, np.newaxis], k=-1).sum(axis=1)[1:]
    return float(2 * np.mean(above / np.arange(1, len(true))) - 1)


def ranks(scores: ArrayLike) -> Ranks:
    """Give the rank of each system: 1 + the number of systems with a strictly higher score."""
    values = levelled(np.asarray(scores, dtype=np.float64))
    ordered = np.sort(values)
    return 1 + len(values) - np.searchsorted(ordered, values, side="right")


def max_rank_drop(before: ArrayLike, after: ArrayLike, *, among: ArrayLike | None = None) -> RankDrop:
    """Find the system that falls by most ranks; `among` are the places of those looked at. The first of equals."""
    old, new = _known(before, after)
    looked_at = np.arange(len(old)) if among is None else np.asarray(among, dtype=np.int64)
    if not len(looked_at):
        raise UsageError("no systems to rank")
    rank_before, rank_after = ranks(old)[looked_at], ranks(new)[looked_at]
    worst = int(np.argmax(rank_after - rank_before))
    return RankDrop(int(looked_at[worst]), int(rank_before[worst]), int(rank_after[worst]), len(old))


def levelled(scores: Values) -> Values:
    """Give the scores with those that differ by noise alone made equal."""
    if not len(scores):
        return scores
    order = np.argsort(scores, kind="stable")
    rising = scores[order]
    apart = np.diff(rising) > np.abs(rising).max() * RELATIVE_NOISE
    first_of_level = np.concatenate([[0], np.flatnonzero(apart) + 1])
    level = np.concatenate([[0], np.cumsum(apart)])
    even = np.empty_like(scores)
    even[order] = rising[first_of_level][level]
    return even


def _known(first: ArrayLike, second: ArrayLike) -> tuple[Values, Values]:
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise UsageError(f"two rankings score the same systems, but these have {one.shape} and {other.shape}")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError("a run without a score cannot be ranked")
    return one, other


# What disagreement of assessors does to scores and to the ranking of systems.

DRAWS = 1000
_ENDS = ((1 - 0.95) / 2, (1 + 0.95) / 2)
"""The share of drawn scores below the lower end of an interval, and below the upper."""


@dataclass(frozen=True, slots=True)
class TauSpread:
    """Kendall's tau-b between drawn rankings and the official one: mean, interval, lowest. NaN where undefined."""

    mean: float
    low: float
    high: float
    lowest: float


@dataclass(frozen=True, eq=False)
class AssessorEffect:
    """Scores and rankings over qrels drawn from the assessors.

    `official` are measures by runs; `low` and `high` bound 95% of the drawn scores of each. `taus` are
    measures by draws. `topics_with_choice` counts the topics that more than one assessor judged.
    """

    measures: tuple[Measure, ...]
    run_names: tuple[str, ...]
    official: Values
    low: Values
    high: Values
    taus: Values
    topics_with_choice: int

    def tau(self, measure: Measure) -> TauSpread:
        """Give how alike the rankings by a measure are."""
        drawn = self.taus[self.measures.index(measure)]
        known = drawn[~np.isnan(drawn)]
        if not len(known):
            return TauSpread(*[float("nan")] * 4)
        low, high = np.quantile(known, _ENDS)
        return TauSpread(float(known.mean()), float(low), float(high), float(known.min()))


def assessor_effect(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    assessors: Sequence[ArrayLike],
    measures: Sequence[AnyMeasure],
    *,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> AssessorEffect:
    """Draw qrels, score all runs with them, and compare with the official scores.

    Each of `assessors` gives one grade per row of the qrels, NaN or below 0 where that assessor did not judge.
    """
    if qrels.strata is not None:
        raise InputError("assessors cannot be exchanged in a sample: each stratum has one set of sampled judgments")
    if len(assessors) < 2:
        raise UsageError(f"disagreement needs at least two assessors, not {len(assessors)}")
    chosen = own_measures(measures)
    official = score(alignment, chosen)
    rows, topic_of_row, _ = qrels_rows(alignment, qrels, runs)
    values, judged = [official.values], []
    for given in assessors:
        grades = np.asarray(given, dtype=np.float64)
        if grades.shape != qrels.grades.shape:
            raise UsageError(f"an assessor has one grade per row of the qrels, not {grades.shape} for {len(qrels)}")
        own = np.where(np.isnan(grades) | (grades < 0), -1, grades).astype(np.int32)
        values.append(_values_by(alignment, np.where(own >= 0, own, qrels.grades), rows, topic_of_row, chosen))
        judged.append(np.unique(topic_of_row[(own >= 0) & (topic_of_row >= 0)]))
    # Draws by topics: which assessor is chosen, from 1; 0 is the official one, where nobody else judged.
    picks, with_choice = np.zeros((draws, len(alignment.topic_ids)), dtype=np.int64), 0
    for topic in range(picks.shape[1]):
        able = np.array([number for number, known in enumerate(judged, start=1) if topic in known], dtype=np.int64)
        if len(able):
            picks[:, topic] = able[rng.integers(len(able), size=draws)]
        with_choice += len(able) > 1
    drawn = _summaries(official, np.array(values), picks)
    low, high = np.quantile(drawn, _ENDS, axis=0)
    taus = np.full((len(official.summary), len(drawn)), np.nan)
    for place, scores in enumerate(official.summary):
        known = np.isfinite(scores)
        if known.sum() > 1:
            taus[place] = [tau_b(scores[known], one[place][known]) for one in drawn]
    return AssessorEffect(
        measures=tuple(chosen),
        run_names=alignment.run_names,
        official=official.summary,
        low=low,
        high=high,
        taus=taus,
        topics_with_choice=with_choice,
    )


def _values_by(
    alignment: Alignment, grades: Numbers, rows: Numbers, topic_of_row: Numbers, measures: Sequence[Measure]
) -> Values:
    """Score all runs with other grades; the highest grade of all stays what it is, or rises."""
    lists = alignment.lists
    here = np.flatnonzero((grades >= 0) & (topic_of_row >= 0))
    levels = np.unique(grades[here])
    cells = topic_of_row[here].astype(np.int64) * len(levels) + np.searchsorted(levels, grades[here])
    shape = (len(lists.level_counts), len(levels))
    graded = replace(
        lists,
        grades=np.append(grades, NOT_POOLED)[rows],
        levels=levels,
        level_counts=np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape),
        highest_grade=max(lists.highest_grade, int(levels.max(initial=0))),
        _relevant={},
    )
    return np.array([measure.values(graded).reshape(alignment.shape) for measure in measures])


def _summaries(official: Scores, values: Values, picks: NDArray[np.int64]) -> Values:
    """Give draws by measures by runs: the drawn scores put together over topics."""
    topics = np.arange(picks.shape[1])
    plain = bool(official.scored.all())
    found = np.empty((len(picks), *official.summary.shape))
    for number, pick in enumerate(picks):
        drawn = values[pick, :, :, topics].transpose(1, 2, 0)
        for place, measure in enumerate(official.measures):
            if plain and measure.aggregate == "mean":
                found[number, place] = drawn[place].mean(axis=1)
            else:
                rows = zip(drawn[place], official.scored, strict=True)
                found[number, place] = [aggregated(row[kept], measure.aggregate) for row, kept in rows]
    return found
