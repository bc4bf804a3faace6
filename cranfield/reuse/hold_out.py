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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.base.spread import HERE, Workers
from cranfield.compare.comparison import pairs
from cranfield.compare.differences import RELATIVE_NOISE, as_scores, blocks, significant
from cranfield.compare.significance.student import student
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values
from cranfield.evaluate.measure import Measure, aggregated_rows, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.reuse.correlation import RankDrop, max_rank_drop, tau_ap, tau_b
from cranfield.reuse.provenance import Level, Numbers, Provenance
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
        topics=place * provenance.topic_count + lists.topics,
        level_counts=np.concatenate(kept),
        pooled_count=None,
        stratified=None,
        _relevant={},
    )


def _without(lists: Lists, provenance: Provenance, group: int, grades: Numbers) -> Lists:
    """The lists with the grades that are left without a group, and what topics and strata then have."""
    gone, level_of_row, stratum = provenance.removed_rows[group], provenance.level_of_row, provenance.stratum_of_row
    pooled, sample, highest = lists.pooled_count, lists.stratified, lists.highest_grade
    if pooled is not None:
        pooled = pooled - np.bincount(provenance.topic_of_row[gone], minlength=provenance.topic_count)
    if sample is not None and stratum is not None:
        total, levels = sample.level_counts.shape
        judged = gone[level_of_row[gone] >= 0]
        cells = stratum[judged].astype(np.int64) * levels + level_of_row[judged]
        sample = replace(
            sample,
            at_rank=np.where(grades == NOT_POOLED, np.int32(-1), sample.at_rank),
            size=sample.size - np.bincount(stratum[gone], minlength=total),
            level_counts=sample.level_counts - np.bincount(cells, minlength=total * levels).reshape(total, levels),
        )
    if not len(lists.levels) or highest <= lists.levels.max():  # a scale may go beyond what was given
        kept = level_of_row >= 0
        kept[gone] = False
        highest = int(lists.levels[level_of_row[kept].max()]) if kept.any() else 0
    return replace(
        lists,
        grades=grades,
        level_counts=lists.level_counts - provenance.removed_counts[group],
        pooled_count=pooled,
        stratified=sample,
        highest_grade=highest,
    )


TOO_SMALL = 0.01
"""Scores below this have no relative drop: a run near zero would lose 100 % of nothing."""


@dataclass(frozen=True, eq=False)
class Uniques:
    """What each group alone contributed: judged and relevant documents."""

    groups: tuple[str, ...]
    judged: Counts
    relevant: Counts


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

    @staticmethod
    def of(level: Level, groups: tuple[str, ...], group_of_run: Numbers, full: Scores, values: Values) -> OwnHoldOut:
        """From all runs' groups and scores with the whole qrels, and the contributing runs' `values` by topic."""
        runs = np.flatnonzero(group_of_run >= 0)
        names = tuple(full.run_names[run] for run in runs.tolist())
        # Scores under other qrels have no hash.
        scores = Scores(full.measures, names, full.topic_ids, values, full.scored[runs])
        measures = tuple(own_measures(full.measures))
        return OwnHoldOut(level, groups, group_of_run[runs], measures, names, full.summary[:, runs], scores)

    @property
    def held_out(self) -> Values:
        """The scores without the own group."""
        return self.scores.summary

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

    def spread(self, measure: Measure) -> Spread:
        """Give how the drops are spread over the runs."""
        return spread_of(self.drop[self.measures.index(measure)], self.group_of_run, self.run_names)

    def relative_spread(self, measure: Measure) -> Spread:
        """Give how the relative drops are spread over the runs that have one."""
        return spread_of(self.relative[self.measures.index(measure)], self.group_of_run, self.run_names)


@dataclass(frozen=True, slots=True)
class Reranking:
    """The ranking of all runs without one group against the full one, which is the truth for tau_ap.

    `drop` is that of the group's own run that falls furthest; `run` is its name.
    """

    group: str
    tau_b: float
    tau_ap: float
    run: str
    drop: RankDrop


@dataclass(frozen=True, eq=False)
class AllHoldOut:
    """All runs, contributing or not, scored without each group in turn; `full` are the scores with the whole qrels.

    They may still be being made elsewhere: they are waited for when they are first needed.
    """

    provenance: Provenance
    measures: tuple[Measure, ...]
    full: Scores
    found: Iterator[tuple[Values, Counts]]

    @cached_property
    def _parts(self) -> tuple[Values, Counts]:
        values, counts = zip(*self.found, strict=True)
        return np.concatenate(values), np.concatenate(counts)

    @property
    def values(self) -> Values:
        """The scores as groups by measures by runs by topics."""
        return self._parts[0]

    def categories(self, measure: Measure) -> Counts:
        """Pairs of runs by the decisions on them with the full qrels and without each group.

        Counts as groups by two by categories: of all pairs, and of those of the group's own runs with others.
        """
        if not self.full.scored.all(axis=0).any():
            raise InputError("no topic is scored for all runs, so that pairs cannot be tested")
        counts: Counts = self._parts[1][:, self.measures.index(measure)]
        return counts

    @cached_property
    def held_out(self) -> Values:
        """The scores put together over topics."""
        rows = [zip(self.measures, by_measure, strict=True) for by_measure in self.values]
        return np.array(
            [[aggregated_rows(row, self.full.scored, one.aggregate) for one, row in of_group] for of_group in rows]
        )

    def own(self) -> OwnHoldOut:
        """The contributing runs without their own group."""
        known = self.provenance
        contributing = np.flatnonzero(known.group_of_run >= 0)
        values = self.values[known.group_of_run[contributing], :, contributing].transpose(1, 0, 2)
        return OwnHoldOut.of(known.level, known.groups, known.group_of_run, self.full, values)

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
                drop = max_rank_drop(before, after, among=np.flatnonzero(own))
                taus = tau_b(before, after), tau_ap(before, after, names=names)
                found.append(Reranking(group, *taus, names[drop.place], drop))
        return found


def uniques_of(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> Uniques:
    """Count what each group alone contributed; of a replayed plan, what would not be judged without it."""
    unique, relevant = provenance.removed_counts.sum(axis=1), alignment.lists.levels >= rel
    return Uniques(provenance.groups, unique.sum(axis=1), unique[:, relevant].sum(axis=1))


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
    chosen, lists = own_measures(measures), alignment.lists
    whole = score(alignment, chosen) if full is None else full
    groups = range(len(provenance.groups))
    cut = blocks(len(groups), width=len(lists.grades) * len(chosen), block=SCORED_AT_ONCE)
    shared = lists, provenance, whole, critical_t(int(whole.scored.all(axis=0).sum()))
    found = workers.map(_scored_without, [groups[part] for part in cut], shared)
    return AllHoldOut(provenance, tuple(chosen), whole, found)


def _scored_without(groups: Sequence[int], shared: tuple[Lists, Provenance, Scores, float]) -> tuple[Values, Counts]:
    """Score all runs without each of some groups, and count pairs of runs by category as `AllHoldOut` has them.

    The grades are changed in place and put back, and the relevant documents, which were found for the full qrels, are
    only filtered: that is much faster than `lists_without` for every group.
    """
    lists, provenance, full, critical = shared
    measures, common, grades = own_measures(full.measures), full.scored.all(axis=0), lists.grades.copy()
    compared = [*full.values] if common.any() and len(full.run_names) > 1 else []
    first, second = pairs(len(full.run_names)) if compared else (np.empty(0, dtype=np.int64),) * 2
    for measure in measures:
        lists.relevant(measure.rel or 1)  # found once for all pieces
    known = {rel: (found, lists.offsets[found.cell] + found.rank - 1) for rel, found in lists._relevant.items()}
    decided = [decisions(one[:, common], critical) for one in compared]
    values, counts = [], []
    for group in groups:
        places = provenance.removed_places[group]
        grades[places] = NOT_POOLED
        reduced = replace(
            _without(lists, provenance, group, grades),
            _relevant={rel: found.where(grades[at] != NOT_POOLED) for rel, (found, at) in known.items()},
        )
        values.append([measure.values(reduced).reshape(full.scored.shape) for measure in measures])
        grades[places] = lists.grades[places]
        own = provenance.group_of_run == group
        mixed = own[first] != own[second]
        for before, after in zip(decided, values[-1], strict=False):
            sorted_in = categories(before, decisions(after[:, common], critical))
            counts.append([np.bincount(some, minlength=len(CATEGORIES)) for some in (sorted_in, sorted_in[mixed])])
    shape = len(groups), len(decided), 2, len(CATEGORIES)
    return np.array(values), np.array(counts, dtype=np.int64).reshape(shape)


# Decisions about pairs of runs under two qrels: do significant differences stay what they are?

Flags = NDArray[np.bool_]

ALPHA = 0.05

_DOUBTFUL = 1e-6
"""A spread this small beside the scores', or a t this near to the critical one, is computed again pair by pair."""


CATEGORIES = ("aa", "ad", "ma", "md", "pa", "pd")
"""Pairs of runs by two qrels: significant with both (a), with one (m) or with neither (p), and whether they agree (a)
on which run is better or not (d). Counts of pairs are in this order."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What the paired t-test says of all pairs of runs: the sign of a − b, and whether it is significant."""

    sign: NDArray[np.int8]
    significant: Flags


def critical_t(topics: int) -> float:
    """From which t on a difference over so many topics is significant: of a library that workers can do without."""
    from scipy import special

    return -float(special.stdtrit(topics - 1, ALPHA / 2)) if topics > 1 else 0.0


def decisions(values: ArrayLike, critical: float) -> Decisions:
    """Decide all pairs of some runs (runs by topics), in the order of `compare.pairing.pairs`.

    The same decisions as `compare`'s t-test gives, from sums of products: doubtful pairs are given to that test.
    """
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
    bound = critical * np.sqrt(np.maximum(squares, 0) / max(topics - 1, 1) / topics)
    beyond = np.abs(difference) >= bound
    largest = float(np.abs(scores).max())
    doubtful = squares <= np.maximum(_DOUBTFUL * (own[first] + own[second]), topics * (_DOUBTFUL * largest) ** 2)
    doubtful |= np.abs(np.abs(difference) - bound) <= _DOUBTFUL * bound
    if doubtful.any():
        nothing_drawn = np.random.default_rng(0)
        tested = student(scores[first[doubtful]], scores[second[doubtful]], rng=nothing_drawn)
        beyond[doubtful] = significant(tested.p, alpha=ALPHA)
    difference[np.abs(difference) <= RELATIVE_NOISE * largest] = 0.0
    return Decisions(np.sign(difference).astype(np.int8), beyond & (difference != 0))


def categories(full: Decisions, reduced: Decisions) -> Counts:
    """The category of each pair, as its place among all categories."""
    called = full.significant.astype(np.int64) + reduced.significant
    return np.array([4, 2, 0])[called] + (full.sign * reduced.sign < 0)
