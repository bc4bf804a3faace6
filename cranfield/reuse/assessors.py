"""What disagreement of assessors does to scores and to the ranking of systems.

Qrels are drawn: for each topic one of the assessors who judged it, at random, and the grades are that one's, with the
official grade where the assessor gave none. Each draw gives scores and a ranking, which is held against the official
one. A topic is scored alike in all draws that choose the same assessor, so each assessor's qrels are scored once.

Source: Voorhees, Variations in relevance judgments and the measurement of retrieval effectiveness, SIGIR 1998.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.errors import InputError, UsageError
from cranfield.evaluate.aggregate import aggregated
from cranfield.evaluate.align import Alignment, AnyRun
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.lists import NOT_POOLED, Lists
from cranfield.evaluate.scores import Scores, score
from cranfield.qrels.qrels import Qrels
from cranfield.reuse.correlation import tau_b
from cranfield.reuse.pooled_rows import Numbers, qrels_rows

Values = NDArray[np.float64]

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
    official: Values
    low: Values
    high: Values
    taus: Values
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
) -> Values:
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


def _taus(official: Values, drawn: Values) -> Values:
    taus = np.full((len(official), len(drawn)), np.nan)
    for place, scores in enumerate(official):
        known = np.isfinite(scores)
        if known.sum() > 1:
            taus[place] = [tau_b(scores[known], one[place][known]) for one in drawn]
    return taus


def _ends(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2
