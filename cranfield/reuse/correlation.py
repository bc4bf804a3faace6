"""How alike two rankings of systems are: Kendall's tau, its forms for ties and for the top, overlap, rank drops.

Systems are ranked by falling score. Scores that differ by less than 2⁻⁴⁰ of the largest are the same score: sums of
tenths differ in their last digit, and a ranking that believes it sees no tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.compare.differences import RELATIVE_NOISE
from cranfield.evaluate.align import Alignment, AnyRun
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.lists import NOT_POOLED, Lists
from cranfield.evaluate.measure import aggregated
from cranfield.evaluate.scores import Scores, score
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.provenance import Numbers, qrels_rows

if TYPE_CHECKING:
    from collections.abc import Hashable


Values = NDArray[np.float64]
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


def tau_a(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-a: (concordant − discordant) / (n (n − 1) / 2). A tie in either counts as neither.

    NaN with fewer than two systems. Source: Kendall, A new measure of rank correlation, Biometrika 30, 1938.
    """
    agreement, _, _, pairs = _pairs(first, second)
    return agreement / pairs if pairs else float("nan")


def tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b: (concordant − discordant) / √((n0 − n1)(n0 − n2)), n1 and n2 the pairs tied in each.

    NaN, that is undefined, where one of them ties all systems. Source: Kendall, The treatment of ties in ranking
    problems, Biometrika 33, 1945.
    """
    agreement, apart_in_first, apart_in_second, _ = _pairs(first, second)
    if not apart_in_first or not apart_in_second:
        return float("nan")
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


def rbo(first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9) -> float:
    """Rank-biased overlap, extrapolated: how much two rankings have in common, their tops above all.

        (X_k / k) p^k + (1 − p) / p · Σ (X_d / d) p^d,  d = 1 … k

    X_d is the number of items that both have among their first d. Both lists have k different items. 1 for equal
    lists, 0 for lists without a common item; NaN for empty ones.
    Source: Webber, Moffat and Zobel, A similarity measure for indefinite rankings, TOIS 2010.
    """
    if not 0 < p < 1:
        raise UsageError(f"p must lie between 0 and 1, not {p!r}")
    if len(first) != len(second):
        raise UsageError(f"overlap needs lists of one length, not of {len(first)} and {len(second)} items")
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        raise InputError("an item stands twice in a ranking")
    if not first:
        return float("nan")
    rank = {item: number for number, item in enumerate(second, start=1)}
    met = [max(number, rank[item]) for number, item in enumerate(first, start=1) if item in rank]
    common = np.cumsum(np.bincount(met, minlength=len(first) + 1)[1:])
    depth = np.arange(1, len(first) + 1)
    agreement = common / depth * p**depth
    return float(agreement[-1] + (1 - p) / p * agreement.sum())


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
        raise UsageError("there is no system whose ranks could be compared")
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


def _pairs(first: ArrayLike, second: ArrayLike) -> tuple[int, int, int, int]:
    """Give concordant − discordant pairs, the pairs apart in each ranking, and all pairs."""
    one, other = (levelled(values) for values in _known(first, second))
    left = np.sign(one[:, np.newaxis] - one[np.newaxis, :])
    right = np.sign(other[:, np.newaxis] - other[np.newaxis, :])
    return (
        int((left * right).sum()) // 2,
        int(np.count_nonzero(left)) // 2,
        int(np.count_nonzero(right)) // 2,
        len(one) * (len(one) - 1) // 2,
    )


def _known(first: ArrayLike, second: ArrayLike) -> tuple[Values, Values]:
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise UsageError(f"two rankings score the same systems, but these have {one.shape} and {other.shape}")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise InputError("a system without a score cannot be ranked")
    return one, other


# What disagreement of assessors does to scores and to the ranking of systems.

ValuesAssessors = NDArray[np.float64]

DRAWS = 1000
LEVEL = 0.95


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

    `official` are measures by runs; `low` and `high` bound the share `level` of the drawn scores of each. `taus` are
    measures by draws. `topics_with_choice` counts the topics that more than one assessor judged.
    """

    measures: tuple[Measure, ...]
    run_names: tuple[str, ...]
    official: ValuesAssessors
    low: ValuesAssessors
    high: ValuesAssessors
    taus: ValuesAssessors
    level: float
    topics_with_choice: int

    def tau(self, measure: Measure) -> TauSpread:
        """Give how alike the rankings by a measure are."""
        drawn = self.taus[self.measures.index(measure)]
        known = drawn[~np.isnan(drawn)]
        if not len(known):
            return TauSpread(*[float("nan")] * 4)
        low, high = np.quantile(known, _ends(self.level))
        return TauSpread(float(known.mean()), float(low), float(high), float(known.min()))


def assessor_effect(
    alignment: Alignment,
    qrels: Qrels,
    runs: Sequence[AnyRun],
    assessors: Sequence[ArrayLike],
    measures: Sequence[AnyMeasure],
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
    rng: np.random.Generator,
) -> AssessorEffect:
    """Draw qrels, score all runs with them, and compare with the official scores.

    Each of `assessors` gives one grade per row of the qrels, NaN or below 0 where that assessor did not judge.
    """
    grades = _grades(qrels, assessors)
    chosen = own_measures(measures)
    official = score(alignment, chosen)
    rows, topic_of_row, _ = qrels_rows(alignment, qrels, runs)
    values = np.array(
        [official.values, *(_values(alignment, qrels, rows, topic_of_row, one, chosen) for one in grades)]
    )
    judged = [np.unique(topic_of_row[(one >= 0) & (topic_of_row >= 0)]) for one in grades]
    picks, with_choice = _picks(judged, len(alignment.topic_ids), draws, rng)
    drawn = _summaries(official, values, picks)
    low, high = np.quantile(drawn, _ends(level), axis=0)
    return AssessorEffect(
        measures=tuple(chosen),
        run_names=alignment.run_names,
        official=official.summary,
        low=low,
        high=high,
        taus=_taus(official.summary, drawn),
        level=level,
        topics_with_choice=with_choice,
    )


def _grades(qrels: Qrels, assessors: Sequence[ArrayLike]) -> list[Numbers]:
    """Give the assessors' grades as whole numbers, -1 for none."""
    if qrels.strata is not None:
        raise InputError("assessors cannot be exchanged in a sample: each stratum has one set of drawn judgments")
    if len(assessors) < 2:
        raise UsageError(f"disagreement needs at least two assessors, not {len(assessors)}")
    found = []
    for given in assessors:
        grades = np.asarray(given, dtype=np.float64)
        if grades.shape != qrels.grades.shape:
            raise UsageError(f"an assessor has one grade per row of the qrels, not {grades.shape} for {len(qrels)}")
        found.append(np.where(np.isnan(grades) | (grades < 0), -1, grades).astype(np.int32))
    return found


def _values(
    alignment: Alignment,
    qrels: Qrels,
    rows: Numbers,
    topic_of_row: Numbers,
    grades: Numbers,
    measures: Sequence[Measure],
) -> ValuesAssessors:
    """Score all runs with one assessor's grades, and official ones where there is none."""
    merged = np.where(grades >= 0, grades, qrels.grades)
    lists = _graded(alignment.lists, merged, rows, topic_of_row)
    return np.array([measure.values(lists).reshape(alignment.shape) for measure in measures])


def _graded(lists: Lists, grades: Numbers, rows: Numbers, topic_of_row: Numbers) -> Lists:
    """Give the lists with other grades; the highest grade of all stays what it is, or rises."""
    here = np.flatnonzero((grades >= 0) & (topic_of_row >= 0))
    levels = np.unique(grades[here])
    cells = topic_of_row[here].astype(np.int64) * len(levels) + np.searchsorted(levels, grades[here])
    shape = (len(lists.level_counts), len(levels))
    return replace(
        lists,
        grades=np.append(grades, NOT_POOLED)[rows],
        levels=levels,
        level_counts=np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape),
        highest_grade=max(lists.highest_grade, int(levels.max(initial=0))),
        _relevant={},
    )


def _picks(
    judged: Sequence[Numbers], topics: int, draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    """Give draws by topics: which assessor is chosen, from 1; 0 is the official one, where nobody else judged."""
    picks = np.zeros((draws, topics), dtype=np.int64)
    with_choice = 0
    for topic in range(topics):
        able = np.array([number for number, known in enumerate(judged, start=1) if topic in known], dtype=np.int64)
        if len(able):
            picks[:, topic] = able[rng.integers(len(able), size=draws)]
        with_choice += len(able) > 1
    return picks, with_choice


def _summaries(official: Scores, values: ValuesAssessors, picks: NDArray[np.int64]) -> ValuesAssessors:
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


def _taus(official: ValuesAssessors, drawn: ValuesAssessors) -> ValuesAssessors:
    taus = np.full((len(official), len(drawn)), np.nan)
    for place, scores in enumerate(official):
        known = np.isfinite(scores)
        if known.sum() > 1:
            taus[place] = [tau_b(scores[known], one[place][known]) for one in drawn]
    return taus


def _ends(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2
