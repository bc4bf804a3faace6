"""How alike two rankings of systems are: Kendall's tau with ties, AP correlation, rank drops.

Systems are ranked by falling score. Scores that differ by less than 2⁻⁴⁰ of the largest are the same score: sums of
tenths differ in their last digit, and a ranking that believes it sees no tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError
from cranfield.compare.differences import RELATIVE_NOISE
from cranfield.evaluate.align import Alignment, AnyRun, levels_of
from cranfield.evaluate.lists import NOT_POOLED, Values
from cranfield.evaluate.measure import AnyMeasure, Measure, own_measures, summaries
from cranfield.evaluate.scores import score
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.provenance import Numbers, qrels_rows

Ranks = NDArray[np.int64]


def tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-b: (concordant − discordant) / √((n0 − n1)(n0 − n2)), n1 and n2 the pairs tied in each.

    NaN, that is undefined, where one of them ties all systems. Source: Kendall, The treatment of ties in ranking
    problems, Biometrika 33, 1945.
    """
    levels = (levelled(values) for values in (first, second))
    left, right = (np.sign(each[:, None] - each[None, :]) for each in levels)
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
    true, estimated = levelled(truth), levelled(estimate)
    if len(np.unique(true)) < 2 or len(np.unique(estimated)) < 2:
        return float("nan")
    by_name = np.argsort(np.array([name.encode() for name in names], dtype=object), kind="stable")
    place = np.empty(len(true), dtype=np.int64)
    place[by_name] = np.arange(len(true))
    true_rank = np.argsort(np.lexsort((place, -true)))[np.lexsort((place, -estimated))]
    above = np.tril(true_rank[None, :] < true_rank[:, None], k=-1).sum(axis=1)[1:]
    return float(2 * np.mean(above / np.arange(1, len(true))) - 1)


def ranks(scores: ArrayLike) -> Ranks:
    """Give the rank of each system: 1 + the number of systems with a strictly higher score."""
    values = levelled(scores)
    return 1 + len(values) - np.searchsorted(np.sort(values), values, side="right")


def max_rank_drop(before: ArrayLike, after: ArrayLike, *, among: ArrayLike | None = None) -> tuple[int, int]:
    """The place of the system that falls by most ranks, the first of equals, and by how many: below 0 if all rise.

    `among` are the places of those looked at.
    """
    falls = ranks(after) - ranks(before)
    looked_at = np.arange(len(falls)) if among is None else np.asarray(among)
    worst = int(looked_at[np.argmax(falls[looked_at])])
    return worst, int(falls[worst])


def levelled(scores: ArrayLike) -> Values:
    """Give the scores with those that differ by noise alone made equal."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return values
    order = np.argsort(values, kind="stable")
    rising = values[order]
    apart = np.diff(rising) > np.abs(rising).max() * RELATIVE_NOISE
    first_of_level = np.concatenate([[0], np.flatnonzero(apart) + 1])
    level = np.concatenate([[0], np.cumsum(apart)])
    even = np.empty_like(values)
    even[order] = rising[first_of_level][level]
    return even


# What disagreement of assessors does to scores and to the ranking of systems.

DRAWS = 1000
_ENDS = ((1 - 0.95) / 2, (1 + 0.95) / 2)
"""The share of drawn scores below the lower end of an interval, and below the upper."""


@dataclass(frozen=True, eq=False)
class AssessorEffect:
    """Scores and rankings over qrels drawn from the assessors.

    `official` are measures by runs; `low` and `high` bound 95% of the drawn scores of each. `taus` are
    measures by draws. `topics_with_choice` counts the topics that more than one assessor judged.
    """

    measures: tuple[Measure, ...]
    official: Values
    low: Values
    high: Values
    taus: Values
    topics_with_choice: int

    def tau(self, measure: Measure) -> list[float]:
        """How alike the rankings by a measure are to the official one: mean tau-b, interval, lowest; NaN for none."""
        drawn = self.taus[self.measures.index(measure)]
        known = drawn[~np.isnan(drawn)]
        numbers = (known.mean(), *np.quantile(known, _ENDS), known.min()) if len(known) else (np.nan,) * 4
        return [float(one) for one in numbers]


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
    chosen = own_measures(measures)
    official = score(alignment, chosen)
    rows, topic_of_row, _ = qrels_rows(alignment, qrels, runs)
    values, judged = [official.values], []
    for given in assessors:
        grades = np.asarray(given, dtype=np.float64)
        own = np.where(np.isnan(grades) | (grades < 0), -1, grades).astype(np.int32)
        replaced = replace(qrels, grades=np.where(own >= 0, own, qrels.grades))
        values.append(_values_by(alignment, replaced, rows, topic_of_row, chosen))
        judged.append(np.unique(topic_of_row[(own >= 0) & (topic_of_row >= 0)]))
    # Draws by topics: which assessor is chosen, from 1; 0 is the official one, where nobody else judged.
    picks, with_choice = np.zeros((draws, len(alignment.topic_ids)), dtype=np.int64), 0
    for topic in range(picks.shape[1]):
        able = np.array([number for number, known in enumerate(judged, start=1) if topic in known], dtype=np.int64)
        if len(able):
            picks[:, topic] = able[rng.integers(len(able), size=draws)]
        with_choice += len(able) > 1
    every, topics = np.array(values), np.arange(picks.shape[1])
    drawn = np.array(
        [summaries(chosen, every[pick, :, :, topics].transpose(1, 2, 0), official.scored) for pick in picks]
    )
    low, high = np.quantile(drawn, _ENDS, axis=0)
    taus = np.full((len(official.summary), len(drawn)), np.nan)
    for place, scores in enumerate(official.summary):
        known = np.isfinite(scores)
        if known.sum() > 1:
            taus[place] = [tau_b(scores[known], one[place][known]) for one in drawn]
    return AssessorEffect(
        measures=tuple(chosen),
        official=official.summary,
        low=low,
        high=high,
        taus=taus,
        topics_with_choice=with_choice,
    )


def _values_by(
    alignment: Alignment, qrels: Qrels, rows: Numbers, topic_of_row: Numbers, measures: Sequence[Measure]
) -> Values:
    """Score all runs with other grades; the highest grade of all stays what it is, or rises."""
    lists, is_here = alignment.lists, topic_of_row >= 0
    here = replace(qrels, grades=np.where(is_here, qrels.grades, -1).astype(np.int32))
    levels, counts = levels_of(here, topic_of_row, len(lists.level_counts))
    graded = replace(
        lists,
        grades=np.append(qrels.grades, NOT_POOLED)[rows],
        levels=levels,
        level_counts=counts,
        highest_grade=max(lists.highest_grade, int(levels.max(initial=0))),
    )
    return np.array([measure.values(graded).reshape(alignment.scored.shape) for measure in measures])
