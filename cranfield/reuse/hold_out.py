"""Leave-out-uniques: what would a contributor have scored had it come after judging?

Each group is held out in turn: what only it brought into the pool is in no qrels then, and so unjudged. All runs are
scored without each group, so that rankings of runs can be compared; what contributing runs lose without their own
group is part of that. Drops are score − score without the group, with their sign: AP, nDCG
and recall can rise when relevant documents go. A topic whose whole relevant set goes stays, with the score 0, and is
counted.

It sees no bias that all contributors share, and nothing of documents that no contributor at hand explains.

Source: Zobel, SIGIR 1998; by group: Voorhees and Harman, Overview of TREC-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng

from cranfield.base.spread import HERE, Workers
from cranfield.compare.comparison import pairs
from cranfield.compare.differences import RELATIVE_NOISE, blocks, significant
from cranfield.compare.significance.student import student
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values
from cranfield.evaluate.measure import Measure, own_measures, summaries
from cranfield.evaluate.scores import Scores, score
from cranfield.reuse.correlation import max_rank_drop, tau_ap, tau_b
from cranfield.reuse.provenance import Numbers, Provenance
from cranfield.reuse.unjudged_model import Spread, spread_of

# Ranked lists as they would have been judged without a group: what only that group brought is in no qrels.

NONE_HELD_OUT = -3
"""Stands for a list from which no group is held out. No owner has this number."""


def lists_without(lists: Lists, provenance: Provenance, group_of_cell: Numbers) -> Lists:
    """The lists, each judged without the group beside it: what only that group contributed is not pooled.

    Each group has topics of its own. `highest_grade` stays that of the full qrels: it is one number for all lists.
    """
    groups, place = np.unique(group_of_cell, return_inverse=True)
    removed = provenance.is_removed(provenance.qrels_row, np.repeat(group_of_cell, lists.length))
    kept = [lists.level_counts - (provenance.removed_counts[one] if one >= 0 else 0) for one in groups.tolist()]
    return replace(
        lists,
        grades=np.where(removed, NOT_POOLED, lists.grades),
        topics=place * len(provenance.depth) + lists.topics,
        level_counts=np.concatenate(kept),
        pooled_count=None,
        stratified=None,
    )


TOO_SMALL = 0.01
"""Scores below this have no relative drop: a run near zero would lose 100 % of nothing."""


class Uniques(NamedTuple):
    """How many judged and relevant documents each group alone contributed."""

    judged: Counts
    relevant: Counts


@dataclass(frozen=True, eq=False)
class OwnHoldOut:
    """The contributing runs, each scored as if its own group had not been in the pool.

    `full` and `held_out` are measures by runs; `group_of_run` numbers the group that each run belongs to.
    """

    measures: tuple[Measure, ...]
    run_names: tuple[str, ...]
    group_of_run: Numbers
    full: Values
    held_out: Values

    @staticmethod
    def of(full: Scores, held_out: Values, group_of_run: Numbers) -> OwnHoldOut:
        """Choose the contributing runs; `held_out` is parallel to the summary of all runs with the whole qrels."""
        runs = np.flatnonzero(group_of_run >= 0)
        names = tuple(full.run_names[run] for run in runs.tolist())
        measures = tuple(own_measures(full.measures))
        return OwnHoldOut(measures, names, group_of_run[runs], full.summary[:, runs], held_out[:, runs])

    @cached_property
    def drop(self) -> Values:
        """What each run loses, below 0 where it gains."""
        return self.full - self.held_out

    @cached_property
    def relative(self) -> Values:
        """What each run loses as a share of its score; NaN where that is below 0.01."""
        shares = np.full(self.full.shape, np.nan)
        np.divide(self.drop, self.full, out=shares, where=self.full >= TOO_SMALL)
        return shares

    def spreads(self, measure: Measure) -> tuple[Spread, Spread]:
        """How the drops are spread over the runs, and the relative drops over the runs that have one."""
        place = self.measures.index(measure)
        drop, relative = (
            spread_of(one[place], self.group_of_run, self.run_names) for one in (self.drop, self.relative)
        )
        return drop, relative


@dataclass(frozen=True, slots=True)
class Reranking:
    """The ranking of all runs without one group against the full one, which is the truth for tau_ap.

    `run` is the group's own run that falls furthest, by `drop` ranks.
    """

    group: str
    tau_b: float
    tau_ap: float
    run: str
    drop: int


@dataclass(frozen=True, slots=True)
class HoldOutSummary:
    """What hold-outs at one level show for one measure.

    Means are over left-out groups for which tau is defined; `rerankings` has one for each group. `reversals` counts
    significant differences between two runs, of all pairs and without each group, that are reversed.
    """

    drop: Spread
    relative: Spread
    tau_b: float
    lowest_tau_b: float
    tau_ap: float
    lowest_tau_ap: float
    rerankings: Sequence[Reranking]
    reversals: int


@dataclass(frozen=True, eq=False)
class AllHoldOut:
    """All runs, contributing or not, scored without each group in turn; `full` are the scores with the whole qrels.

    The scores may still be being made elsewhere: they are waited for when they are first needed.
    """

    provenance: Provenance
    measures: tuple[Measure, ...]
    full: Scores
    scored: Iterator[Values]

    @cached_property
    def values(self) -> Values:
        """The scores as groups by measures by runs by topics."""
        return np.concatenate([*self.scored])

    @cached_property
    def held_out(self) -> Values:
        """The scores put together over topics."""
        return np.array([summaries(self.measures, values, self.full.scored) for values in self.values])

    @cached_property
    def own(self) -> OwnHoldOut:
        """The contributing runs without their own group."""
        groups = self.provenance.group_of_run
        return OwnHoldOut.of(self.full, self.held_out[groups, :, np.arange(len(groups))].T, groups)

    def summary(self, measure: Measure) -> HoldOutSummary:
        """What the hold-outs show for a measure."""
        found = self.rerankings(measure)
        taus = np.array([(one.tau_b, one.tau_ap) for one in found]).reshape(-1, 2).T
        known = (one[~np.isnan(one)] for one in taus)
        by_b, by_ap = ((float(one.mean()), float(one.min())) if len(one) else (np.nan, np.nan) for one in known)
        return HoldOutSummary(*self.own.spreads(measure), *by_b, *by_ap, found, self.reversals(measure))

    def rerankings(self, measure: Measure) -> list[Reranking]:
        """Give for each left-out group how the ranking of all runs by a measure changes."""
        place = self.measures.index(measure)
        full, without = self.full.summary[place], self.held_out[:, place]
        ranked = np.flatnonzero(np.isfinite(full))  # a run without any topic has no score
        names = [self.full.run_names[run] for run in ranked.tolist()]
        found = []
        for number, group in enumerate(self.provenance.groups):
            own = self.provenance.group_of_run[ranked] == number
            before, after = full[ranked], without[number][ranked]
            if own.any():
                worst, drop = max_rank_drop(before, after, among=np.flatnonzero(own))
                taus = tau_b(before, after), tau_ap(before, after, names=names)
                found.append(Reranking(group, *taus, names[worst], drop))
        return found

    def reversals(self, measure: Measure) -> int:
        """How many significant differences between two runs are reversed without a group, and significant again.

        By the paired t-test, on the topics that all runs have; counted for each group.
        """
        place, common = self.measures.index(measure), self.full.scored.all(axis=0)
        if not common.any():
            return 0
        first, second = pairs(len(self.full.run_names))
        whole, count = self.full.values[place][:, common], 0
        before = _signs(whole, first, second)
        for values in self.values[:, place][:, :, common]:
            turned = np.flatnonzero(before * _signs(values, first, second) < 0)
            if len(turned):
                pair = first[turned], second[turned]
                one, other = (student(*(some[runs] for runs in pair), rng=default_rng(0)) for some in (whole, values))
                count += int((significant(one.p) & significant(other.p)).sum())
        return count


def _signs(values: Values, first: Counts, second: Counts) -> Values:
    """The signs of the differences of means between pairs of runs; 0 where there is only noise."""
    means = values.mean(axis=1)
    apart = means[first] - means[second]
    return np.where(np.abs(apart) > RELATIVE_NOISE * np.abs(values).max(), np.sign(apart), 0.0)


def uniques_of(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> Uniques:
    """Count what each group alone contributed; of a replayed plan, what would not be judged without it."""
    unique, relevant = provenance.removed_counts.sum(axis=1), alignment.lists.levels >= rel
    return Uniques(unique.sum(axis=1), unique[:, relevant].sum(axis=1))


SCORED_AT_ONCE = 2**28
"""The rows of one piece of hold-outs, over groups and measures: about a second."""


def hold_out_all(
    alignment: Alignment,
    provenance: Provenance,
    measures: Sequence[Measure],
    *,
    full: Scores | None = None,
    workers: Workers = HERE,
) -> AllHoldOut:
    """Begin to score all runs without each group in turn. `full` saves scoring once more."""
    lists, whole = alignment.lists, score(alignment, measures) if full is None else full
    groups = range(len(provenance.groups))
    cut = blocks(len(groups), width=len(lists.grades) * len(measures), block=SCORED_AT_ONCE)
    shared = lists, provenance, measures, alignment.scored.shape
    scored = workers.map(_scored_without, [groups[part] for part in cut], shared)
    return AllHoldOut(provenance, tuple(measures), whole, scored)


def _scored_without(
    groups: Sequence[int], shared: tuple[Lists, Provenance, Sequence[Measure], tuple[int, int]]
) -> Values:
    """Score all runs without each of some groups: groups by measures by runs by topics.

    The grades are changed in place and put back, and the relevant documents, which were found for the full qrels, are
    only filtered: that is much faster than `lists_without` for every group. What the qrels are a sample of is left
    aside: estimates from samples take no verdict, and nobody holds groups out for them.
    """
    lists, provenance, measures, shape = shared
    grades, level_of_row = lists.grades.copy(), provenance.level_of_row
    for measure in measures:
        lists.relevant(measure.rel or 1)  # found once for all groups of a worker
    known = {rel: (found, lists.offsets[found.cell] + found.rank - 1) for rel, found in lists.known_relevant.items()}
    values = []
    for group in groups:
        places = provenance.removed_places[group]
        grades[places] = NOT_POOLED
        highest = lists.highest_grade
        if not len(lists.levels) or highest <= lists.levels.max():  # a scale may go beyond what was given
            kept = level_of_row >= 0
            kept[provenance.removed_rows[group]] = False
            highest = int(lists.levels[level_of_row[kept].max()]) if kept.any() else 0
        reduced = replace(
            lists,
            grades=grades,
            level_counts=lists.level_counts - provenance.removed_counts[group],
            pooled_count=None,
            stratified=None,
            highest_grade=highest,
        )
        for rel, (found, at) in known.items():
            reduced.known_relevant[rel] = found.where(grades[at] != NOT_POOLED)
        values.append([measure.values(reduced).reshape(shape) for measure in measures])
        grades[places] = lists.grades[places]
    return np.array(values)
