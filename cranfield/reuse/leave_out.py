"""Leave-out-uniques: what would a contributor have scored had it come after judging?

Each group is held out in turn: what only it brought into the pool is in no qrels then, and so unjudged. In
`hold_out_own` every contributing run is scored without its own group; in `hold_out_all` all runs are, without each
group, so that rankings of runs can be compared. Drops are score − score without the group, with their sign: AP, nDCG
and recall can rise when relevant documents go. A topic whose whole relevant set goes stays, with the score 0, and is
counted.

It sees no bias that all contributors share, and nothing of documents that no contributor at hand explains.

Source: Zobel, SIGIR 1998; by group: Voorhees and Harman, Overview of TREC-8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import UsageError
from cranfield.evaluate.aggregate import aggregated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.reuse.contributors import Level
from cranfield.reuse.correlation import RankDrop, max_rank_drop, ranks, tau_ap, tau_b
from cranfield.reuse.held_out import NONE_HELD_OUT, relevant_without, values_without, values_without_each
from cranfield.reuse.pooled_rows import Counts, Numbers
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.spread import Spread, spread_of

Values = NDArray[np.float64]

TOO_SMALL = 0.01
"""Scores below this have no relative drop: a run near zero would lose 100 % of nothing."""


@dataclass(frozen=True, eq=False)
class Uniques:
    """What each group alone brought: judged and relevant documents, and topics emptied of all that is relevant."""

    groups: tuple[str, ...]
    judged: Counts
    relevant: Counts
    emptied: Counts


@dataclass(frozen=True, eq=False)
class OwnHoldOut:
    """The contributing runs, each scored as if its own group had not been in the pool.

    `full` and `held_out` are measures by runs; `group_of_run` says to which of the `groups` each run belongs. The
    values by topic are in `scores`, each run's under other qrels.
    """

    level: Level
    groups: tuple[str, ...]
    group_of_run: Numbers
    measures: tuple[Measure, ...]
    run_names: tuple[str, ...]
    full: Values
    scores: Scores

    @property
    def held_out(self) -> Values:
        """The scores without the own group."""
        return self.scores.summary

    @cached_property
    def drop(self) -> Values:
        """What each run loses, below 0 where it gains."""
        return np.asarray(self.full - self.held_out)

    @cached_property
    def relative(self) -> Values:
        """What each run loses as a share of its score; NaN where that is below 0.01."""
        shares = np.full(self.full.shape, np.nan)
        np.divide(self.drop, self.full, out=shares, where=self.full >= TOO_SMALL)
        return shares

    def spread(self, measure: Measure) -> Spread:
        """Give how the drops are spread over the runs."""
        return spread_of(self.drop[self.measures.index(measure)], self.group_of_run, self.run_names)

    def relative_spread(self, measure: Measure) -> Spread:
        """Give how the relative drops are spread over the runs that have one."""
        return spread_of(self.relative[self.measures.index(measure)], self.group_of_run, self.run_names)


@dataclass(frozen=True, slots=True)
class Reranking:
    """The ranking of all runs without one group against the full one, which is the truth for tau_ap.

    `drop` is that of the group's own run that falls furthest; `run` is its name, `drops` how many of its runs fall.
    """

    group: str
    tau_b: float
    tau_ap: float
    run: str
    drop: RankDrop
    drops: int


@dataclass(frozen=True, eq=False)
class AllHoldOut:
    """All runs, outsiders too, scored without each group in turn.

    `values` are groups by measures by runs by topics, `held_out` the same put together over topics, and `full` the
    scores with the whole qrels. `group_of_run` is -1 for outsiders.
    """

    level: Level
    groups: tuple[str, ...]
    group_of_run: Numbers
    measures: tuple[Measure, ...]
    full: Scores
    values: Values
    held_out: Values

    def own(self) -> OwnHoldOut:
        """Give the contributing runs without their own group."""
        contributing = np.flatnonzero(self.group_of_run >= 0)
        groups = self.group_of_run[contributing]
        return _own(self.level, self.groups, groups, self.full, contributing, self.values[groups, :, contributing])

    def rerankings(self, measure: Measure) -> list[Reranking]:
        """Give for each left-out group how the ranking of all runs by a measure changes."""
        place = self.measures.index(measure)
        full, without = self.full.summary[place], self.held_out[:, place]
        ranked = np.flatnonzero(np.isfinite(full))  # a run without any topic has no score
        names = [self.full.run_names[run] for run in ranked.tolist()]
        return [
            _reranking(name, names, full[ranked], without[number][ranked], self.group_of_run[ranked] == number)
            for number, name in enumerate(self.groups)
            if (self.group_of_run[ranked] == number).any()
        ]


def uniques_of(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> Uniques:
    """Count what each group alone brought; of a plan that is played again, what would not be judged without it."""
    lists = alignment.lists
    counts = provenance.removed_counts if provenance.method == "replay" else provenance.unique_counts
    unique = counts.sum(axis=1)
    emptied = (relevant_without(lists, provenance, rel=rel) == 0) & (_relevant_by_topic(alignment, rel) > 0)
    return Uniques(
        provenance.groups, unique.sum(axis=1), unique[:, lists.levels >= rel].sum(axis=1), emptied.sum(axis=1)
    )


def hold_out_own(
    alignment: Alignment, provenance: Provenance, measures: Sequence[Measure], *, full: Scores | None = None
) -> OwnHoldOut:
    """Score every contributing run without its own group, in one evaluation. `full` saves scoring once more."""
    chosen = own_measures(measures)
    whole = _whole(alignment, chosen, full)
    held_out = np.where(provenance.group_of_run >= 0, provenance.group_of_run, np.int32(NONE_HELD_OUT))
    group_of_cell = np.repeat(held_out, len(alignment.topic_ids)).astype(np.int32)
    values = values_without(alignment.lists, provenance, group_of_cell, chosen).reshape(-1, *alignment.shape)
    contributing = np.flatnonzero(provenance.group_of_run >= 0)
    by_run = values[:, contributing].transpose(1, 0, 2)
    groups = provenance.group_of_run[contributing]
    return _own(provenance.level, provenance.groups, groups, whole, contributing, by_run)


def hold_out_all(
    alignment: Alignment, provenance: Provenance, measures: Sequence[Measure], *, full: Scores | None = None
) -> AllHoldOut:
    """Score all runs without each group in turn. `full` saves scoring once more."""
    chosen = own_measures(measures)
    whole = _whole(alignment, chosen, full)
    each = values_without_each(alignment.lists, provenance, chosen)
    values = np.array([values.reshape(-1, *alignment.shape) for values in each])
    return AllHoldOut(
        level=provenance.level,
        groups=provenance.groups,
        group_of_run=provenance.group_of_run,
        measures=tuple(chosen),
        full=whole,
        values=values,
        held_out=_summaries(whole, values),
    )


def _whole(alignment: Alignment, measures: Sequence[Measure], full: Scores | None) -> Scores:
    if full is None:
        return score(alignment, measures)
    if full.measures != tuple(measures) or full.run_names != alignment.run_names:
        raise UsageError("the full scores are not of these runs and measures")
    return full


def _own(
    level: Level, groups: tuple[str, ...], group_of_run: Numbers, full: Scores, runs: Counts, by_run: Values
) -> OwnHoldOut:
    """Put together what is known of the contributing runs; `by_run` is runs by measures by topics."""
    scores = _scores(full, by_run.transpose(1, 0, 2), runs)
    return OwnHoldOut(
        level=level,
        groups=groups,
        group_of_run=group_of_run,
        measures=tuple(own_measures(full.measures)),
        run_names=scores.run_names,
        full=full.summary[:, runs],
        scores=scores,
    )


def _scores(full: Scores, values: Values, runs: Counts) -> Scores:
    """Give scores of some of the runs under other qrels, which have no hash."""
    names = tuple(full.run_names[run] for run in runs.tolist())
    return Scores(full.measures, names, full.topic_ids, values, full.scored[runs], reference=full.reference)


def _summaries(full: Scores, values: Values) -> Values:
    """Give groups by measures by runs: the values put together over topics, plain means all at once."""
    found = np.empty(values.shape[:3])
    for place, measure in enumerate(full.measures):
        if measure.aggregate == "mean" and full.scored.all():
            found[:, place] = np.add.accumulate(values[:, place], axis=2)[:, :, -1] / values.shape[3]
        else:
            some = [
                [aggregated(row[kept], measure.aggregate) for row, kept in zip(one, full.scored, strict=True)]
                for one in values[:, place]
            ]
            found[:, place] = some
    return found


def _reranking(group: str, names: Sequence[str], full: Values, without: Values, own: NDArray[np.bool_]) -> Reranking:
    drop = max_rank_drop(full, without, among=np.flatnonzero(own))
    falls = int((ranks(without) > ranks(full))[own].sum())
    tau = tau_ap(full, without, names=names)
    return Reranking(group, tau_b(full, without), tau, names[drop.place], drop, falls)


def _relevant_by_topic(alignment: Alignment, rel: int) -> Counts:
    counts: Counts = alignment.lists.level_counts[:, alignment.lists.levels >= rel].sum(axis=1)
    return counts
