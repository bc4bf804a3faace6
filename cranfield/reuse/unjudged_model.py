"""How often an unjudged document is relevant, learned inside the pool by holding out groups, whose labels are known.

The unjudged relevance ratio is the relevance rate of documents that only the held-out group brought over that of the
other judged documents in the same first k. Beyond this one number the chance of an unjudged document depends on the
run, the topic and the rank: those of good runs are relevant more often than in proportion.

How far a new group may lie above what is expected is taken from the groups: each in turn is predicted from the
others, and the ratio of what was found to what was expected is put at the conformal 95% index over groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Found, Values, ratio
from cranfield.reuse.provenance import Provenance, prefix_of

USUAL = 0.35
"""The ratio that is believed before anything is seen: pools of many depths have between 0.15 and 0.5."""

TO_ALL, TO_RUN = 2.0, 5.0
"""How many documents a run's rate is drawn towards that of all with, and a topic's towards the run's."""

ONE_MORE = 1.0
"""Relevant documents added to what was found and expected of a group, so that two or three decide nothing."""

COVERED = 0.95
"""The share of new groups that the upper end of a spread is meant for."""

MOST_FLAGS = 50_000_000
"""Up to so many pairs of a row and a group are counted with a flag for each; sorting them takes longer."""

_SPREAD = np.array([1.0, 1.0, 0.5, 0.25])
_LEAST = 1e-3
_MOST_STEPS, _LONGEST_STEP, _CLOSE = 40, 2.0, 1e-9

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

    def __str__(self) -> str:
        return f"max of {self.n}" if self.is_maximum else f"{COVERED:.0%} of {self.n}"


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


def conformal_upper(values: ArrayLike, *, share: float = COVERED) -> Upper:
    """Give the upper value by the conformal index ⌈share (n + 1)⌉, or the maximum where that exceeds n.

    Source: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005.
    """
    rising = np.sort(np.asarray(values, dtype=np.float64))
    if not len(rising):
        return Upper(float("nan"), 0, is_maximum=True)
    index = ceil(round(share * (len(rising) + 1), 9))  # 0.95 * 20 is 19, and must not become 20
    return Upper(float(rising[min(index, len(rising)) - 1]), len(rising), is_maximum=index > len(rising))


def spread_of(drops: Values, groups: NDArray[np.int32], names: Sequence[str]) -> Spread:
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


# How many documents of each grade a run has among its first k: judged anyway, or brought by its own group alone.


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Counts of documents within k as runs by topics by grade levels, lowest first.

    `judged` are those with a label that would be there without the run's group too; `own` those that only the group
    brought: with the group held out they would be unjudged, and their labels are known. `shared` are those of the
    first kind that one other group brought: without that group too they would be unjudged. `group_of_run` is -1 for a
    run that did not contribute, which has only the first kind. `own` is told apart by octaves of ranks too: runs by
    topics by octaves by levels.
    """

    levels: tuple[int, ...]
    groups: tuple[str, ...]
    group_of_run: NDArray[np.int32]
    judged: Counts
    own: Counts
    shared: Counts


def count_labels(
    alignment: Alignment,
    depth: Counts,
    provenance: Provenance | None = None,
    *,
    groups_of_row: Counts | None = None,
) -> LabelCounts:
    """Count what all runs have within `depth`, one number per topic. Without provenance no run contributed.

    Topics that do not count for a run are left out. `groups_of_row` is what `count_groups_of_rows` gives, if known.
    """
    lists, places = prefix_of(alignment.lists, depth)
    judged = lists.judged
    found = judged.where(alignment.scored.ravel()[judged.cell])
    levels = alignment.lists.levels
    groups: tuple[str, ...] = ()
    group_of_run = np.full(len(alignment.run_names), -1, dtype=np.int32)
    own = shared = np.zeros(len(found), dtype=bool)
    if provenance is not None:
        group_of_run, groups = provenance.group_of_run, provenance.groups
        group = np.repeat(group_of_run, len(alignment.topic_ids))[found.cell]
        rows = provenance.qrels_row[places[lists.offsets[found.cell] + found.rank - 1]]
        own = provenance.is_removed(rows, group) & (group >= 0)  # -1 stands for no group, but also for many owners
        if provenance.method == "deletion":
            counts = count_groups_of_rows(alignment, provenance) if groups_of_row is None else groups_of_row
            pooled = found.rank <= provenance.depth[alignment.lists.topics[found.cell]]
            shared = pooled & (group >= 0) & (counts[rows] == 2)

    def count(some: Found) -> Counts:
        cells = some.cell * len(levels) + np.searchsorted(levels, some.grade)
        shape = (*alignment.shape, len(levels))
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    octave, octaves = octave_of(found.rank), int(octave_of(depth).max(initial=0)) + 1
    by_octave = [count(found.where(own & (octave == one))) for one in range(octaves)]
    return LabelCounts(
        levels=tuple(levels.tolist()),
        groups=groups,
        group_of_run=group_of_run,
        judged=count(found.where(~own)),
        own=np.stack(by_octave, axis=2),
        shared=count(found.where(shared)),
    )


def octave_of(rank: Counts) -> Counts:
    """Give the octave of ranks: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    return np.ceil(np.log2(np.maximum(rank, 1))).astype(np.int64)


def count_groups_of_rows(alignment: Alignment, provenance: Provenance) -> Counts:
    """Count the groups that have each row of the qrels in a pooled prefix."""
    lists, places = prefix_of(alignment.lists, provenance.depth)
    group = np.repeat(np.repeat(provenance.group_of_run, len(alignment.topic_ids)), lists.length)
    row = provenance.qrels_row[places]
    brought = (row >= 0) & (group >= 0)
    size, rows = max(len(provenance.groups), 1), len(provenance.owner)
    pairs = row[brought].astype(np.int64) * size + group[brought]
    if rows * size > MOST_FLAGS:
        return np.bincount(np.unique(pairs) // size, minlength=rows)
    flags = np.zeros(rows * size, dtype=bool)
    flags[pairs] = True
    counts: Counts = flags.reshape(rows, size).sum(axis=1)
    return counts


# Logistic regression on counts, drawn towards a prior and tempered by how much groups differ.


@dataclass(frozen=True, eq=False)
class Fit:
    """Chances of passing fitted to counts, one row each: `passed` of `tried` documents of a group.

    Each weight of the columns may lie from its `prior` by about 1 / √precision. `dispersion` is how many times more
    the groups differ than chance alone would have it, at least 1.
    """

    columns: Values
    passed: Counts
    tried: Counts
    group: NDArray[np.int32]
    prior: Values
    precision: Values
    dispersion: float
    weights: Values

    def expected_from_others(self, group: int) -> float:
        """Give how many documents of a group should pass by a fit to the other groups."""
        mine = self.group == group
        rest = (self.columns[~mine], self.passed[~mine], self.tried[~mine])
        weights = _climb(*rest, self.prior, self.precision, 1.0 / self.dispersion, self.weights)
        return float((self.tried[mine] * chances(self.columns[mine] @ weights)).sum())


def fit_chances(
    columns: Values, passed: Counts, tried: Counts, group: NDArray[np.int32], *, prior: Values, spread: Values
) -> Fit:
    """Fit chances of passing to counts; `spread` is how far each weight may lie from its `prior`.

    The dispersion is Pearson's chi-square of whole groups over their number less one.
    """
    precision = 1.0 / spread**2
    first = _climb(columns, passed, tried, prior, precision, 1.0, prior)
    dispersion = 1.0
    if len(group):
        chance = chances(columns @ first)
        off = np.bincount(group, passed - tried * chance)
        variance = np.bincount(group, tried * chance * (1.0 - chance))
        varies = variance > 0
        squares = float((off[varies] ** 2 / variance[varies]).sum())
        dispersion = max(1.0, squares / max(int(varies.sum()) - 1, 1))
    weights = _climb(columns, passed, tried, prior, precision, 1.0 / dispersion, first)
    return Fit(columns, passed, tried, group, prior, precision, dispersion, weights)


def _climb(
    columns: Values, passed: Counts, tried: Counts, prior: Values, precision: Values, weight: float, start: Values
) -> Values:
    """Climb by Newton's method to the maximum of weight · log likelihood - Σ precision (w - prior)² / 2."""
    weights = start.copy()
    for _ in range(_MOST_STEPS):
        chance = chances(columns @ weights)
        slope = weight * (columns.T @ (passed - tried * chance)) - precision * (weights - prior)
        bend = weight * (columns.T * (tried * chance * (1.0 - chance))) @ columns + np.diag(precision)
        step = np.clip(np.linalg.solve(bend, slope), -_LONGEST_STEP, _LONGEST_STEP)
        weights = weights + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return weights


def chances(values: ArrayLike) -> Values:
    """Give 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0))), dtype=np.float64)


def logit(share: ArrayLike) -> Values:
    """Give ln(x / (1 - x)) of shares between 0 and 1."""
    shares = np.asarray(share, dtype=np.float64)
    return np.asarray(np.log(shares / (1.0 - shares)), dtype=np.float64)


# The chance that an unjudged document reaches one grade more, given what else the run found.


@dataclass(frozen=True, slots=True)
class Step:
    """The model of one step: `rate` of all judged documents, the weights, the mean of the octaves of ranks, and the
    runs' lowest and highest rate as logits, counted from that of all.
    """

    rate: float
    intercept: float
    run_slope: float
    topic_slope: float
    rank_slope: float
    octave: float
    lowest: float
    highest: float

    def chance(self, passed: Counts, tried: Counts, octaves: int) -> Values:
        """Give the chance for each run, topic and octave of ranks; the counts are of judged documents."""
        run, topic = _standing(passed, tried, self.rate)
        inside = np.clip(run, self.lowest, self.highest)
        seen = self.intercept + self.run_slope * inside + min(self.run_slope, 1.0) * (run - inside)
        by_topic = seen[:, np.newaxis] + self.topic_slope * topic
        by_rank = self.rank_slope * (np.arange(octaves) - self.octave)
        return chances(by_topic[:, :, np.newaxis] + by_rank)

    def times(self, factor: float) -> Step:
        """Give the step with the chance of the usual document so many times what it was."""
        return replace(self, intercept=float(logit(float(chances(self.intercept)) * factor)))


def _standing(passed: Counts, tried: Counts, rate: float) -> tuple[Values, Values]:
    """Give where each run stands from all, and each topic from its run, as logits."""
    run = np.clip((passed.sum(axis=1) + TO_ALL * rate) / (tried.sum(axis=1) + TO_ALL), _LEAST, 1 - _LEAST)
    topic = np.clip((passed + TO_RUN * run[:, np.newaxis]) / (tried + TO_RUN), _LEAST, 1 - _LEAST)
    return logit(run) - logit(rate), logit(topic) - logit(run)[:, np.newaxis]


class _StepData:
    """What there is to learn a step from: documents at the level below or higher (tried), and at this one (passed).

    By run and topic; those that only the own group brought by octave of their rank too.
    """

    def __init__(self, counts: LabelCounts, step: int) -> None:
        below = max(step - 1, 0)
        self.passed, self.tried = (counts.judged[:, :, level:].sum(axis=2) for level in (step, below))
        self.own_passed, self.own_tried = (counts.own[:, :, :, level:].sum(axis=3) for level in (step, below))
        self.group = counts.group_of_run
        self.rate = float((self.passed.sum() + 0.5) / (self.tried.sum() + 1.0))
        by_octave = self.own_tried.sum(axis=(0, 1))
        self.octave = float((by_octave * np.arange(len(by_octave))).sum() / max(int(by_octave.sum()), 1))

    def fit(self) -> tuple[Fit, Step]:
        """Fit the weights, and give the model with them."""
        run, topic = _standing(self.passed, self.tried, self.rate)
        here = np.nonzero(self.own_tried)
        columns = [np.ones(len(here[0])), run[here[0]], topic[here[0], here[1]], here[2] - self.octave]
        fit = fit_chances(
            np.stack(columns, axis=1),
            self.own_passed[here],
            self.own_tried[here],
            self.group[here[0]],
            prior=np.array([float(logit(self.rate)) + np.log(USUAL), 1.0, 1.0, 0.0]),
            spread=_SPREAD,
        )
        seen = run[self.own_tried.sum(axis=(1, 2)) > 0]
        ends = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        intercept, run_slope, topic_slope, rank_slope = fit.weights.tolist()
        return fit, Step(self.rate, intercept, run_slope, topic_slope, rank_slope, self.octave, *ends)

    def factors(self, fit: Fit) -> Values:
        """Give for each group what was found over what the others let expect."""
        groups = np.unique(self.group).tolist()
        found = np.array([self.own_passed[self.group == group].sum() for group in groups])
        known = set(np.unique(fit.group).tolist())
        expected = np.array([fit.expected_from_others(group) if group in known else 0.0 for group in groups])
        return np.asarray((found + ONE_MORE) / (expected + ONE_MORE))

    def plain(self) -> tuple[float, Values]:
        """Give the ratio as a factor of the run's rate, and what each group has over what the others let expect."""
        groups, place = np.unique(self.group, return_inverse=True)
        rate = ratio(self.passed.sum(axis=1), self.tried.sum(axis=1))
        found = np.bincount(place, self.own_passed.sum(axis=(1, 2)), minlength=len(groups))
        at_one = np.bincount(place, self.own_tried.sum(axis=(1, 2)) * rate, minlength=len(groups))
        others = (found.sum() - found + USUAL) / (at_one.sum() - at_one + 1.0)
        whole = (found.sum() + USUAL) / (at_one.sum() + 1.0)
        return float(whole), np.asarray((found + ONE_MORE) / (others * at_one + ONE_MORE))

    def by_group(self) -> list[tuple[int, float]]:
        """Give the ratio of each group that has documents of its own, and relevant judged ones to compare with."""
        found = []
        for group in np.unique(self.group).tolist():
            mine = self.group == group
            rate = self.passed[mine].sum() / max(int(self.tried[mine].sum()), 1)
            own = int(self.own_tried[mine].sum())
            if own and rate > 0:
                found.append((group, float(self.own_passed[mine].sum() / own / rate)))
        return found


@dataclass(frozen=True, slots=True)
class UnjudgedModel:
    """What holding out groups taught about unjudged documents within k.

    `ratio` is the unjudged relevance ratio over all groups, `by_grade` the same for the share of each grade above the
    lowest, `by_group` that of each group with documents of its own, and `spread` its conformal upper end. `factor`
    and `plain_factor` say how much more relevant documents a new group may have than the model, or `plain` times the
    run's rate, expects. `growth` is what both were multiplied by, because a new run meets one group more in the pool
    than one that was held out. `unjudged` and `relevant` count what it was learned from. `scale` is what the expected
    loss by one measure is multiplied by.
    """

    levels: tuple[int, ...]
    ratio: float
    by_grade: tuple[float, ...]
    by_group: tuple[tuple[str, float], ...]
    spread: Upper
    steps: tuple[Step, ...]
    factor: Upper
    plain: float
    plain_factor: Upper
    growth: float
    groups: int
    unjudged: int
    relevant: int
    scale: float = 1.0


def fit_model(counts: LabelCounts, runs: Counts | None = None) -> UnjudgedModel:
    """Learn from the contributing runs, or from some of the runs (as places)."""
    chosen = np.flatnonzero(counts.group_of_run >= 0)
    chosen = chosen if runs is None else np.intersect1d(chosen, runs)
    by_run = ("group_of_run", "judged", "own", "shared")
    kept = replace(counts, **{name: getattr(counts, name)[chosen] for name in by_run})
    data = [_StepData(kept, step) for step in range(1, len(counts.levels))]
    first = data[0] if data else _StepData(kept, 0)
    fits = [one.fit() for one in data]
    by_group, growth = first.by_group(), _growth(kept)
    plain, plain_factors = first.plain()
    own, judged = kept.own.sum(axis=(0, 1, 2)), kept.judged.sum(axis=(0, 1))
    comparable = own.sum() and judged[1:].sum()
    by_grade = ratio(ratio(own, own.sum()), ratio(judged, judged.sum()))

    def at_least_one(values: ArrayLike) -> Upper:
        """Give the upper end of what a new group may have: never less than what is expected."""
        upper = conformal_upper(values)
        return replace(upper, value=1.0 if np.isnan(upper.value) else max(upper.value, 1.0))

    return UnjudgedModel(
        levels=counts.levels,
        ratio=float((own[1:].sum() / own.sum()) / (judged[1:].sum() / judged.sum())) if comparable else float("nan"),
        by_grade=tuple(np.where(judged > 0, by_grade, np.nan)[1:].tolist()),
        by_group=tuple((counts.groups[group], value) for group, value in by_group),
        spread=conformal_upper([value for _, value in by_group]),
        steps=tuple([step.times(growth) for _, step in fits[:1]] + [step for _, step in fits[1:]]),
        factor=at_least_one(first.factors(fits[0][0]) if fits else []),
        plain=plain * growth,
        plain_factor=at_least_one(plain_factors),
        growth=growth,
        groups=len(np.unique(kept.group_of_run)),
        unjudged=int(own.sum()),
        relevant=int(own[1:].sum()),
    )


def _growth(counts: LabelCounts) -> float:
    """Give how much less often an unjudged document is relevant when one group more feeds the pool.

    Held-out groups see a pool with one group less than a new run does. With one group less again some documents that
    two groups brought would be unjudged too, each for one of the n - 1 others. The step from n - 2 groups to n - 1,
    which is so known, is taken for that from n - 1 to n, measured by the logarithm of the number of groups.
    """
    groups = len(counts.groups)
    if groups < 3:
        return 1.0
    own, shared = counts.own.sum(axis=(0, 1, 2)), counts.shared.sum(axis=(0, 1))
    fewer = own + shared / (groups - 1)
    # Both rates are drawn a little towards that of all.
    whole = (fewer[1:].sum() + 0.5) / (fewer.sum() + 1.0)
    now, before = (float((one[1:].sum() + TO_ALL * whole) / (one.sum() + TO_ALL)) for one in (own, fewer))
    step = np.log(groups / (groups - 1)) / np.log((groups - 1) / (groups - 2))
    return float(np.clip((now / before) ** step, 0.5, 1.0))


def level_chances(model: UnjudgedModel, judged: Counts, octaves: int) -> Values:
    """Give the chance that a document has each level or a higher one: runs by topics by octaves of ranks by levels.

    `judged` are the run's judged documents by level. The lowest level has the chance 1.
    """
    reached = np.ones((*judged.shape[:2], octaves, judged.shape[2]))
    for place, step in enumerate(model.steps, start=1):
        passed, tried = judged[:, :, place:].sum(axis=2), judged[:, :, place - 1 :].sum(axis=2)
        reached[..., place] = reached[..., place - 1] * step.chance(passed, tried, octaves)
    return reached


def upper_chances(model: UnjudgedModel, judged: Counts, octaves: int) -> list[Values]:
    """Give the chances as a new group at the conformal index would have them: by the model, and by the plain ratio.

    Given the first step, the grades are spread as before.
    """
    if not model.steps:
        return []
    reached = level_chances(model, judged, octaves)
    rate = ratio(judged[:, :, 1:].sum(axis=(1, 2)), judged.sum(axis=(1, 2)))
    plain = (model.plain * model.plain_factor.value * rate)[:, np.newaxis, np.newaxis]
    ends = []
    for first in (reached[..., 1] * model.factor.value, np.broadcast_to(plain, reached.shape[:3])):
        changed = reached * ratio(np.minimum(first, 1.0), reached[..., 1])[..., np.newaxis]
        changed[..., 0] = 1.0
        ends.append(changed)
    return ends
