"""How often an unjudged document is relevant, learned inside the pool by holding out groups, whose labels are known.

The unjudged relevance ratio is the relevance rate of documents that only the held-out group contributed over that of
the other judged documents in the same top k. Beyond this one number the chance of an unjudged document depends on the
run, the topic and the rank (those of good runs are relevant more often than in proportion), and most of all on its
popularity: how many other groups retrieve it, and how high. A run unlike all contributors retrieves what nobody else
does, and popularity would call all of it worthless: for such a run there is the model without it.

How far a new group may lie above what is expected is taken from the groups: each in turn is predicted from the
others, and the ratio of what was found to what was expected is put at the conformal 95% index over groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.qrels.qrels import Grades
from cranfield.reuse.labels import NOBODY, Documents, Labels, logit
from cranfield.reuse.verdict import DEFAULTS, Thresholds
from cranfield.runs.columns import Mask

USUAL = 0.35
"""The ratio that is believed before anything is seen: pools of many depths have between 0.15 and 0.5."""

TO_ALL, TO_RUN = 2.0, 5.0
"""How many documents a run's rate is drawn towards that of all with, and a topic's towards the run's."""

ONE_MORE = 1.0
"""Relevant documents added to what was found and expected of a group, so that two or three decide nothing."""

COVERED = 0.95
"""The share of new groups that the upper end of a spread is meant for."""

_SPREAD = (1.0, 1.0, 0.5, 0.25, 1.0)
_LEAST = 1e-3
_MOST_STEPS, _LONGEST_STEP, _CLOSE = 40, 2.0, 1e-4
_SHORT_STEP = 1e-2
"""Without one group the weights need not be at their very maximum: they only say how far groups differ."""

# How drops are spread over runs: mean, median, largest, and what a new group would hardly exceed.


@dataclass(frozen=True, slots=True)
class Upper:
    """A value that a further one of the same kind exceeds with a probability of at most 5%.

    It is the ⌈0.95 (n + 1)⌉-th smallest of `n` exchangeable values. With n < 19 there is none so high: `value` is
    then the largest, and `is_maximum` says that no such promise is made.
    """

    value: float
    n: int
    is_maximum: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Drops of `runs` runs; the largest is that of the run `worst`. All NaN where there is no run.

    `upper` counts one drop per group, its largest: runs of one group are not independent of each other.
    """

    runs: int
    mean: float
    median: float
    upper: Upper
    largest: float
    worst: str
    mean_absolute: float


def conformal_upper(values: ArrayLike) -> Upper:
    """Give the upper value by the conformal index ⌈0.95 (n + 1)⌉, or the maximum where that exceeds n.

    Source: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005.
    """
    rising = np.sort(np.asarray(values, dtype=np.float64))
    if not len(rising):
        return Upper(float("nan"), 0, is_maximum=True)
    index = ceil(round(COVERED * (len(rising) + 1), 9))  # 0.95 * 20 is 19, and must not become 20
    return Upper(float(rising[min(index, len(rising)) - 1]), len(rising), is_maximum=index > len(rising))


def spread_of(drops: Values, groups: Grades, names: Sequence[str]) -> Spread:
    """Give the spread of the drops of runs that belong to groups; a NaN is no drop."""
    known = np.flatnonzero(~np.isnan(drops))
    nothing = float("nan")
    if not len(known):
        return Spread(0, nothing, nothing, conformal_upper([]), nothing, "", nothing)
    kept, group = drops[known], groups[known]
    worst = int(np.argmax(kept))
    return Spread(
        runs=len(kept),
        mean=float(kept.mean()),
        median=float(np.median(kept)),
        upper=conformal_upper([kept[group == one].max() for one in np.unique(group)]),
        largest=float(kept[worst]),
        worst=names[int(known[worst])],
        mean_absolute=float(np.abs(kept).mean()),
    )


# Logistic regression on counts, drawn towards a prior and tempered by how much groups differ.


@dataclass(frozen=True, eq=False)
class Fit:
    """Chances of passing fitted to counts, one row each: `passed` of `tried` documents of a group.

    Each weight of the columns may lie from its `prior` by about 1 / √precision. `dispersion` is how many times more
    the groups differ than chance alone would have it, at least 1. `bend` is how fast the slope falls at the maximum.
    """

    columns: Values
    passed: Counts
    tried: Counts
    group: Grades
    prior: Values
    precision: Values
    dispersion: float
    weights: Values
    bend: Values

    def expected_from_others(self, group: int) -> float:
        """Give how many documents of a group should pass by a fit to the other groups."""
        mine = self.group == group
        columns, passed, tried = self.columns[mine], self.passed[mine], self.tried[mine]
        # At the maximum the slope without the group is minus its own: the first step needs no other rows.
        slope, bend = _slope_and_bend(columns, passed, tried, self.weights)
        step = np.linalg.solve(self.bend - bend / self.dispersion, -slope / self.dispersion)
        weights = self.weights + step
        if float(np.abs(step).max()) > _SHORT_STEP:
            rest = (self.columns[~mine], self.passed[~mine], self.tried[~mine])
            weights, _ = _climb(*rest, self.prior, self.precision, 1.0 / self.dispersion, weights, _SHORT_STEP)
        return float((tried * chances(columns @ weights)).sum())


def fit_chances(
    columns: Values, passed: Counts, tried: Counts, group: Grades, *, prior: Values, spread: Values
) -> Fit:
    """Fit chances of passing to counts; `spread` is how far each weight may lie from its `prior`.

    The dispersion is Pearson's chi-square of whole groups over their number less one.
    """
    precision = 1.0 / spread**2
    first, _ = _climb(columns, passed, tried, prior, precision, 1.0, prior)
    dispersion = 1.0
    if len(group):
        chance = chances(columns @ first)
        off = np.bincount(group, passed - tried * chance)
        variance = np.bincount(group, tried * chance * (1.0 - chance))
        varies = variance > 0
        squares = float((off[varies] ** 2 / variance[varies]).sum())
        dispersion = max(1.0, squares / max(int(varies.sum()) - 1, 1))
    weights, bend = _climb(columns, passed, tried, prior, precision, 1.0 / dispersion, first)
    return Fit(columns, passed, tried, group, prior, precision, dispersion, weights, bend)


def _climb(
    columns: Values,
    passed: Counts,
    tried: Counts,
    prior: Values,
    precision: Values,
    weight: float,
    start: Values,
    short: float = _CLOSE,
) -> tuple[Values, Values]:
    """Climb by Newton's method to the maximum of weight · log likelihood - Σ precision (w - prior)² / 2.

    Also gives how fast the slope falls there. A `short` step is the last: what it leaves is about its square.
    """
    weights = start.copy()
    for _ in range(_MOST_STEPS):
        slope, bend = _slope_and_bend(columns, passed, tried, weights)
        bend = weight * bend + np.diag(precision)
        step = np.linalg.solve(bend, weight * slope - precision * (weights - prior))
        step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        weights = weights + step
        if float(np.abs(step).max()) < short:
            break
    return weights, bend


def _slope_and_bend(columns: Values, passed: Counts, tried: Counts, weights: Values) -> tuple[Values, Values]:
    """The slope of the log likelihood, and how fast it falls."""
    chance = chances(columns @ weights)
    return columns.T @ (passed - tried * chance), (columns.T * (tried * chance * (1.0 - chance))) @ columns


def chances(values: ArrayLike) -> Values:
    """Give 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0))))


# The chance that an unjudged document reaches one grade more, given what else the run found.


@dataclass(frozen=True, slots=True)
class Step:
    """The model of one step: `rate` of all judged documents, the weights, the mean of the octaves of ranks, and the
    runs' lowest and highest rate as logits, counted from that of all.

    `terms` are the slope and the mean of what else is known, popularity or the run's coverage; none in old cards.
    """

    rate: float
    intercept: float
    run_slope: float
    topic_slope: float
    rank_slope: float
    octave: float
    lowest: float
    highest: float
    terms: tuple[tuple[float, float], ...] = ()

    def chance(self, passed: Counts, tried: Counts, documents: Documents, values: Values) -> Values:
        """The chance of each document; counts are of judged documents, `values` what the term is about."""
        run, topic = _standing(passed, tried, self.rate)
        inside = np.clip(run, self.lowest, self.highest)
        seen = self.intercept + self.run_slope * inside + min(self.run_slope, 1.0) * (run - inside)
        total = seen[documents.run] + self.topic_slope * topic[documents.run, documents.topic]
        total += self.rank_slope * (documents.octave - self.octave)
        for slope, mean in self.terms:
            total += slope * (values - mean)
        return chances(total)


def _standing(passed: Counts, tried: Counts, rate: float) -> tuple[Values, Values]:
    """Where each run stands from all, and each topic from its run, as logits."""
    run = np.clip((passed.sum(axis=1) + TO_ALL * rate) / (tried.sum(axis=1) + TO_ALL), _LEAST, 1 - _LEAST)
    topic = np.clip((passed + TO_RUN * run[:, None]) / (tried + TO_RUN), _LEAST, 1 - _LEAST)
    return logit(run) - logit(rate), logit(topic) - logit(run)[:, None]


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps from the lowest grade to the highest, as those who were held out teach them.

    `shift` is by how much the value of the term changes for a new run, which meets one group more; `factor` how many
    times more relevant documents than expected a new group may have. `scale` is what the expected loss by one measure
    is multiplied by.
    """

    steps: tuple[Step, ...]
    shift: tuple[float, ...]
    factor: Upper
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class UnjudgedModel:
    """What holding out groups taught about unjudged documents within k.

    `ratio` is the unjudged relevance ratio over all groups, `by_grade` the same for the share of each grade above
    the lowest, `by_group` that of each group with documents of its own, and `spread` its conformal upper end.
    `popular` has the chances by popularity, None where that is not known, and `blind` those without it, by the run's
    coverage instead. `plain` times the run's rate is the chance by the ratio alone, and `plain_factor` what it may
    be more. `growth` is what the chance of the usual document is multiplied by, because a new run meets one group
    more in the pool than one that was held out. A run whose unjudged documents are on average less popular than
    `unlike` is unlike the contributors, few of whom rank them high. `unjudged` and `relevant` count what it
    was learned from.
    """

    levels: tuple[int, ...]
    ratio: float
    by_grade: tuple[float, ...]
    by_group: tuple[tuple[str, float], ...]
    spread: Upper
    blind: Chain
    popular: Chain | None
    unlike: float
    plain: float
    plain_factor: Upper
    growth: float
    groups: int
    unjudged: int
    relevant: int


def fit_model(labels: Labels, runs: Counts | None = None, table: Thresholds = DEFAULTS) -> UnjudgedModel:
    """Learn from the contributing runs, or from some of the runs (as places)."""
    chosen = np.flatnonzero(labels.group_of_run >= 0)
    kept = labels.chosen(chosen if runs is None else np.intersect1d(chosen, runs))
    relevant, every = _own_by_run(kept)
    by_group: list[tuple[int, float]] = []  # those that have documents of their own, and relevant judged ones
    for group in np.unique(kept.group_of_run[kept.group_of_run >= 0]).tolist():
        mine = kept.group_of_run == group
        of_group = kept.judged[mine]
        rate = of_group[:, :, 1:].sum() / max(int(of_group.sum()), 1)
        if every[mine].sum() and rate > 0:
            by_group.append((group, float(relevant[mine].sum() / every[mine].sum() / rate)))
    growth, (plain, plain_factors) = _growth(kept), _plain(kept)
    size = len(labels.levels)
    own, judged = np.bincount(kept.own_level, minlength=size), kept.judged.sum(axis=(0, 1))
    comparable = own.sum() and judged[1:].sum()
    by_grade = ratio(ratio(own, own.sum()), ratio(judged, judged.sum()))
    popularity, popular, unlike = kept.own.popularity, None, 0.0
    if popularity is not None:
        shift = float(np.log(len(labels.groups) / max(len(labels.groups) - 1, 1)))
        popular = _fit_chain(kept, popularity, shift)
        tried = np.bincount(kept.own.run)
        means = np.bincount(kept.own.run, popularity)[tried > 0] / tried[tried > 0]
        unlike = float(np.quantile(means, table.unlike) + shift) if len(means) else 0.0
        # Where all runs are alike, the least popular documents may still be those that everybody retrieves.
        few = table.unlike_groups * len(labels.groups)
        unlike = min(unlike, float(np.log(few * labels.of_one_group + NOBODY)))
    return UnjudgedModel(
        levels=labels.levels,
        ratio=float((own[1:].sum() / own.sum()) / (judged[1:].sum() / judged.sum())) if comparable else float("nan"),
        by_grade=tuple(np.where(judged > 0, by_grade, np.nan)[1:].tolist()),
        by_group=tuple((labels.groups[group], value) for group, value in by_group),
        spread=conformal_upper([value for _, value in by_group]),
        blind=_fit_chain(kept, kept.coverage[kept.own.run], _coverage_shift(kept)),
        popular=popular,
        unlike=unlike,
        plain=plain * growth,
        plain_factor=_at_least_one(plain_factors),
        growth=growth,
        groups=len(np.unique(kept.group_of_run[kept.group_of_run >= 0])),
        unjudged=int(own.sum()),
        relevant=int(own[1:].sum()),
    )


def _fit_chain(labels: Labels, values: Values, shift: float) -> Chain:
    """Fit a step to each grade above the lowest: of the documents at the grade below or higher, which reach it?"""
    own, steps, factors = labels.own, list[Step](), np.zeros(0)
    octave, mean = (float(one.mean()) if len(one) else 0.0 for one in (own.octave, values))
    for step in range(1, len(labels.levels)):
        passed, tried = (labels.judged[:, :, level:].sum(axis=2) for level in (step, step - 1))
        rate = float((passed.sum() + 0.5) / (tried.sum() + 1.0))
        run, topic = _standing(passed, tried, rate)
        here = labels.own_level >= step - 1
        reached, group = labels.own_level[here] >= step, labels.group_of_run[own.run[here]]
        known = [run[own.run[here]], topic[own.run[here], own.topic[here]], own.octave[here] - octave]
        columns = np.column_stack([np.ones(len(reached)), *known, values[here] - mean])
        fit = fit_chances(
            columns,
            reached.astype(np.int64),
            np.ones(len(reached), dtype=np.int64),
            group,
            prior=np.array([float(logit(rate)) + np.log(USUAL), 1.0, 1.0, 0.0, 0.0]),
            spread=np.array(_SPREAD),
        )
        seen = run[own.run[here]]
        ends = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        intercept, run_slope, topic_slope, rank_slope, slope = fit.weights.tolist()
        steps.append(Step(rate, intercept, run_slope, topic_slope, rank_slope, octave, *ends, ((slope, mean),)))
        if step == 1:
            groups = np.unique(labels.group_of_run[labels.group_of_run >= 0])
            relevant = np.array([reached[group == one].sum() for one in groups.tolist()])
            expected = np.array([fit.expected_from_others(one) for one in groups.tolist()])
            factors = (relevant + ONE_MORE) / (expected + ONE_MORE)
    return Chain(tuple(steps), (shift,), _at_least_one(factors))


def _at_least_one(values: ArrayLike) -> Upper:
    """The upper end of what a new group may have: never less than what is expected."""
    upper = conformal_upper(values)
    return replace(upper, value=1.0 if np.isnan(upper.value) else max(upper.value, 1.0))


def _own_by_run(labels: Labels) -> tuple[Counts, Counts]:
    """How many documents each run has that only its group contributed, relevant ones and all."""
    runs = len(labels.group_of_run)
    relevant, every = labels.own.run[labels.own_level >= 1], labels.own.run
    return np.bincount(relevant, minlength=runs), np.bincount(every, minlength=runs)


def _plain(labels: Labels) -> tuple[float, Values]:
    """The ratio as a factor of the run's rate, and what each group has over what the others let expect."""
    contributing = np.flatnonzero(labels.group_of_run >= 0)
    groups, place = np.unique(labels.group_of_run[contributing], return_inverse=True)
    relevant, every = (one[contributing] for one in _own_by_run(labels))
    judged = labels.judged[contributing]
    rate = ratio(judged[:, :, 1:].sum(axis=(1, 2)), judged.sum(axis=(1, 2)))
    found = np.bincount(place, relevant, minlength=len(groups))
    at_one = np.bincount(place, every * rate, minlength=len(groups))
    others = (found.sum() - found + USUAL) / (at_one.sum() - at_one + 1.0)
    whole = (found.sum() + USUAL) / (at_one.sum() + 1.0)
    return float(whole), np.asarray((found + ONE_MORE) / (others * at_one + ONE_MORE))


# A new run meets one group more in the pool than one that was held out. With one group less again some documents that
# two groups contributed would be unjudged too, each for one of the n - 1 others. The step from n - 2 groups to n - 1,
# which is so known, is taken for that from n - 1 to n, measured by the logarithm of the number of groups.


def _growth(labels: Labels) -> float:
    """How much less often an unjudged document is relevant when one group more contributes to the pool."""
    groups = len(labels.groups)
    if groups < 3:
        return 1.0
    own = np.bincount(labels.own_level, minlength=len(labels.levels))
    fewer = own + labels.shared / (groups - 1)
    # Both rates are drawn a little towards that of all.
    whole = (fewer[1:].sum() + 0.5) / (fewer.sum() + 1.0)
    now, before = (float((one[1:].sum() + TO_ALL * whole) / (one.sum() + TO_ALL)) for one in (own, fewer))
    return float(np.clip((now / before) ** _next_step(groups), 0.5, 1.0))


def _coverage_shift(labels: Labels) -> float:
    """How much larger the share of judged documents is, as a logit, when one group more contributes to the pool."""
    groups, size = len(labels.groups), int(labels.size[labels.group_of_run >= 0].sum())
    own = len(labels.own_level)
    if groups < 3 or not own or own >= size:
        return 0.0
    before = own + labels.shared.sum() / (groups - 1)
    after = own * (own / before) ** _next_step(groups)
    return float(logit(1 - after / size) - logit(1 - own / size))


def _next_step(groups: int) -> float:
    return float(np.log(groups / (groups - 1)) / np.log((groups - 1) / (groups - 2)))


class Estimate(NamedTuple):
    """The chance that each document has each level or a higher one: documents by levels, 1 for the lowest; and what
    the loss of each run is multiplied by.
    """

    chances: Values
    scale: Values


def is_unlike(model: UnjudgedModel, documents: Documents, runs: int) -> Mask:
    """Which runs retrieve what hardly anybody else does: popularity has taught nothing about such documents."""
    if documents.popularity is None or model.popular is None:
        return np.zeros(runs, dtype=bool)
    count = np.bincount(documents.run, minlength=runs)
    total = np.bincount(documents.run, documents.popularity, minlength=runs)
    return total < model.unlike * count


def expected_chances(
    model: UnjudgedModel, labels: Labels, documents: Documents, *, held_out: bool = False
) -> Estimate:
    """What is expected of documents, by their popularity where it is known; `labels` are those of their runs.

    `held_out` says that the runs are contributors without their own groups.
    """
    chain, values = model.blind, labels.coverage[documents.run]
    if model.popular is not None and documents.popularity is not None:
        chain, values = model.popular, documents.popularity
    reached, steps = np.ones((len(documents.run), len(labels.levels))), list(chain.steps)
    if steps and not held_out:
        usual = float(chances(steps[0].intercept))  # the chance of the usual document, which grows
        steps[0] = replace(steps[0], intercept=float(logit(usual * model.growth)))
        values = values - sum(chain.shift)
    for place, step in enumerate(steps, start=1):
        passed, tried = (labels.judged[:, :, level:].sum(axis=2) for level in (place, place - 1))
        reached[:, place] = reached[:, place - 1] * step.chance(passed, tried, documents, values)
    return Estimate(reached, np.full(len(labels.size), chain.scale))


def upper_chances(model: UnjudgedModel, labels: Labels, documents: Documents) -> list[Estimate]:
    """What a new group at the conformal index would have, by each way to estimate it.

    By popularity. Where that is not known, for a run unlike the contributors, and where there are too few groups for
    the index, without it and by the plain ratio too. Given the first step, the grades are spread as before.
    """
    if not model.blind.steps:
        return []
    runs, without = len(labels.size), replace(documents, popularity=None)
    blind, needed = expected_chances(model, labels, without), np.ones(runs, dtype=bool)
    rate = ratio(labels.judged[:, :, 1:].sum(axis=(1, 2)), labels.judged.sum(axis=(1, 2)))
    plain = model.plain * model.plain_factor.value * rate[documents.run]
    ends = [_raised(blind, blind.chances[:, 1] * model.blind.factor.value), _raised(blind, plain)]
    if model.popular is not None and documents.popularity is not None:
        factor, expected = model.popular.factor, expected_chances(model, labels, documents)
        first = _raised(expected, expected.chances[:, 1] * factor.value)
        needed = is_unlike(model, documents, runs) | factor.is_maximum
        of_document = needed[documents.run, None]
        ends = [
            Estimate(np.where(of_document, end.chances, first.chances), np.where(needed, end.scale, first.scale))
            for end in ends
            if needed.any()
        ]
        ends.append(first)
    return ends


def _raised(estimate: Estimate, first: Values) -> Estimate:
    """The estimate with another chance to be relevant at all."""
    changed = estimate.chances * ratio(np.minimum(first, 1.0), estimate.chances[:, 1])[:, None]
    changed[:, 0] = 1.0
    return Estimate(changed, estimate.scale)
