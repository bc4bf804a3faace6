"""How often a hole is relevant, learned inside the pool: by holding out groups, whose holes have known labels.

`kappa` is the relevance rate of such holes over that of the other judged documents in the same first k. Beyond this
one number the chance of a hole depends on the run, the topic and the rank (see `hole_model`): the holes of good runs
are relevant more often than in proportion.

How far a new group may lie above what is expected is taken from the groups: each in turn is predicted from the
others, and the ratio of what was found to what was expected is put at the conformal 95 % index over groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Found, ratio
from cranfield.evaluate.lists import Values as lists_Values
from cranfield.reuse.provenance import Prefix, Provenance, prefix_of

# Logistic regression on counts, drawn towards a prior and tempered by how much groups differ.

_ROUNDS = 40
_LONGEST_STEP = 2.0
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """The weights of the columns, and what is needed to fit again without a group.

    `dispersion` is how many times more the groups differ than chance alone would have it, at least 1.
    """

    columns: lists_Values
    passed: Counts
    tried: Counts
    group: NDArray[np.int32]
    prior: lists_Values
    precision: lists_Values
    dispersion: float
    weights: lists_Values

    def expected_from_others(self) -> dict[int, float]:
        """Give for each group how many of its documents should pass by a fit to the other groups."""
        expected = {}
        for group in np.unique(self.group).tolist():
            mine = self.group == group
            weights = _newton(
                self.columns[~mine],
                self.passed[~mine],
                self.tried[~mine],
                self.prior,
                self.precision,
                1.0 / self.dispersion,
                self.weights,
            )
            expected[group] = float((self.tried[mine] * chances(self.columns[mine] @ weights)).sum())
        return expected


def fitted(
    columns: lists_Values,
    passed: Counts,
    tried: Counts,
    group: NDArray[np.int32],
    *,
    prior: lists_Values,
    spread: lists_Values,
) -> Fit:
    """Fit chances of passing to counts, one row each; `spread` is how far each weight may lie from its `prior`."""
    precision = 1.0 / spread**2
    first = _newton(columns, passed, tried, prior, precision, 1.0, prior)
    dispersion = _dispersion(columns @ first, passed, tried, group)
    weights = _newton(columns, passed, tried, prior, precision, 1.0 / dispersion, first)
    return Fit(columns, passed, tried, group, prior, precision, dispersion, weights)


def chances(values: ArrayLike) -> lists_Values:
    """Give 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -500.0, 500.0))), dtype=np.float64)


def logit(share: ArrayLike) -> lists_Values:
    """Give ln(x / (1 - x)) of shares between 0 and 1."""
    shares = np.asarray(share, dtype=np.float64)
    return np.asarray(np.log(shares / (1.0 - shares)), dtype=np.float64)


def _dispersion(seen: lists_Values, passed: Counts, tried: Counts, group: NDArray[np.int32]) -> float:
    """Give Pearson's chi-square of whole groups over their number less one."""
    if not len(group):
        return 1.0
    chance = chances(seen)
    off = np.bincount(group, passed - tried * chance)
    variance = np.bincount(group, tried * chance * (1.0 - chance))
    counted = variance > 0
    squares = float((off[counted] ** 2 / variance[counted]).sum())
    return max(1.0, squares / max(int(counted.sum()) - 1, 1))


def _newton(
    columns: lists_Values,
    passed: Counts,
    tried: Counts,
    prior: lists_Values,
    precision: lists_Values,
    weight: float,
    start: lists_Values,
) -> lists_Values:
    """Climb to the maximum of weight · log likelihood - Σ precision (w - prior)² / 2, which is concave."""
    weights = start.copy()
    for _ in range(_ROUNDS):
        chance = chances(columns @ weights)
        slope = weight * (columns.T @ (passed - tried * chance)) - precision * (weights - prior)
        bend = weight * (columns.T * (tried * chance * (1.0 - chance))) @ columns + np.diag(precision)
        step = np.clip(np.linalg.solve(bend, slope), -_LONGEST_STEP, _LONGEST_STEP)
        weights = weights + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    return weights


# How many documents of each grade a run has among its first k: judged anyway, or brought by its own group alone.

Mask = NDArray[np.bool_]

MOST_FLAGS = 50_000_000
"""Up to so many pairs of a row and a group are counted with a flag for each; sorting them takes longer."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of documents within k as runs by topics by grade levels, lowest first.

    `judged` are those with a label that would be there without the run's group too; `own` those that only the group
    brought: with the group held out they would be holes, and their labels are known. `shared` are those of the first
    kind that one other group brought: without that group too they would be holes. `group_of_run` is -1 for an
    outsider, which has only the first kind. `own` is told apart by octaves of ranks too: runs by topics by octaves by
    levels.
    """

    levels: tuple[int, ...]
    groups: tuple[str, ...]
    group_of_run: NDArray[np.int32]
    judged: Counts
    own: Counts
    shared: Counts

    def of(self, runs: Counts) -> Tally:
        """Give the tally of some of the runs."""
        by_run = ("group_of_run", "judged", "own", "shared")
        return replace(
            self, **{one.name: getattr(self, one.name)[runs] for one in fields(self) if one.name in by_run}
        )


def tally_of(
    alignment: Alignment,
    depth: Counts,
    provenance: Provenance | None = None,
    *,
    groups_of_row: Counts | None = None,
) -> Tally:
    """Count what all runs have within `depth`, one number per topic. Without provenance all runs are outsiders.

    Topics that do not count for a run are left out. `groups_of_row` is what `groups_of_rows` gives, if it is known.
    """
    prefix = prefix_of(alignment.lists, depth)
    judged = prefix.lists.judged
    found = judged.where(alignment.scored.ravel()[judged.cell])
    groups: tuple[str, ...] = ()
    group_of_run = np.full(len(alignment.run_names), -1, dtype=np.int32)
    own = shared = np.zeros(len(found), dtype=bool)
    if provenance is not None:
        group_of_run, groups = provenance.group_of_run, provenance.groups
        own, shared = _brought(alignment, prefix, found, provenance, groups_of_row)
    return Tally(
        levels=tuple(alignment.lists.levels.tolist()),
        groups=groups,
        group_of_run=group_of_run,
        judged=_counted(alignment, found.where(~own)),
        own=_by_octave(alignment, found.where(own), int(octave_of(depth).max(initial=0)) + 1),
        shared=_counted(alignment, found.where(shared)),
    )


def octave_of(rank: Counts) -> Counts:
    """Give the octave of ranks: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, and so on."""
    return np.ceil(np.log2(np.maximum(rank, 1))).astype(np.int64)


def _brought(
    alignment: Alignment, prefix: Prefix, found: Found, provenance: Provenance, groups_of_row: Counts | None
) -> tuple[Mask, Mask]:
    """Say of documents whether they go with the run's own group, and whether they would with one other group."""
    places = prefix.places_of(found)
    group = np.repeat(provenance.group_of_run, len(alignment.topic_ids))[found.cell]
    here = replace(provenance, qrels_row=provenance.qrels_row[places])
    own = here.removed_at_rank(group) & (group >= 0)  # -1 stands for an outsider, but also for many owners
    if provenance.method != "deletion":
        return own, np.zeros(len(found), dtype=bool)
    pooled = (found.rank <= provenance.depth[alignment.lists.topics[found.cell]]) & (group >= 0)
    counts = groups_of_rows(alignment, provenance) if groups_of_row is None else groups_of_row
    return own, pooled & (counts[here.qrels_row] == 2)


def groups_of_rows(alignment: Alignment, provenance: Provenance) -> Counts:
    """Count the groups that have each row of the qrels in a pooled prefix."""
    prefix = prefix_of(alignment.lists, provenance.depth)
    group_of_cell = np.repeat(provenance.group_of_run, len(alignment.topic_ids))
    group = np.repeat(group_of_cell, prefix.lists.length)
    row = provenance.qrels_row[prefix.places]
    brought = (row >= 0) & (group >= 0)
    size, rows = max(len(provenance.groups), 1), len(provenance.owner)
    pairs = row[brought].astype(np.int64) * size + group[brought]
    if rows * size > MOST_FLAGS:
        return np.bincount(np.unique(pairs) // size, minlength=rows)
    flags = np.zeros(rows * size, dtype=bool)
    flags[pairs] = True
    counts: Counts = flags.reshape(rows, size).sum(axis=1)
    return counts


def _by_octave(alignment: Alignment, found: Found, octaves: int) -> Counts:
    octave = octave_of(found.rank)
    parts = [_counted(alignment, found.where(octave == one)) for one in range(octaves)]
    return np.stack(parts, axis=2)


def _counted(alignment: Alignment, found: Found) -> Counts:
    levels = alignment.lists.levels
    cells = found.cell * len(levels) + np.searchsorted(levels, found.grade)
    shape = (*alignment.shape, len(levels))
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


# The chance that a hole reaches one grade more, given what else the run found.

USUAL = 0.35
"""The kappa that is believed before anything is seen: pools of many depths have between 0.15 and 0.5."""

TO_ALL, TO_RUN = 2.0, 5.0
"""How many documents a run's rate is drawn towards that of all with, and a topic's towards the run's."""

ONE_MORE = 1.0
"""Relevant holes added to what was found and expected of a group, so that two or three holes decide nothing."""

_SPREAD = np.array([1.0, 1.0, 0.5, 0.25])
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class Step:
    """The model of one step: `rate` of all judged documents, the weights, the mean of the octaves of ranks, and the
    runs' lowest and highest rate on the scale of L, counted from that of all.
    """

    rate: float
    intercept: float
    run_slope: float
    topic_slope: float
    rank_slope: float
    octave: float
    lowest: float
    highest: float

    def chance(self, passed: Counts, tried: Counts, octaves: int) -> lists_Values:
        """Give the chance of a hole of each run, topic and octave of ranks; the counts are of judged documents."""
        run, topic = _standing(passed, tried, self.rate)
        inside = np.clip(run, self.lowest, self.highest)
        seen = self.intercept + self.run_slope * inside + min(self.run_slope, 1.0) * (run - inside)
        by_topic = seen[:, np.newaxis] + self.topic_slope * topic
        by_rank = self.rank_slope * (np.arange(octaves) - self.octave)
        return chances(by_topic[:, :, np.newaxis] + by_rank)

    def times(self, factor: float) -> Step:
        """Give the step with the chance of the usual hole so many times what it was."""
        return replace(self, intercept=float(logit(float(chances(self.intercept)) * factor)))


@dataclass(frozen=True, eq=False)
class StepData:
    """What there is to learn a step from: documents at the level below or higher (tried), and at this one (passed).

    By run and topic; holes by octave of their rank too.
    """

    passed: Counts
    tried: Counts
    hole_passed: Counts
    hole_tried: Counts
    group: NDArray[np.int32]

    @classmethod
    def of(cls, tally: Tally, step: int) -> StepData:
        """Take a step of the scale, from 1 up, out of a tally."""
        below = max(step - 1, 0)
        return cls(
            tally.judged[:, :, step:].sum(axis=2),
            tally.judged[:, :, below:].sum(axis=2),
            tally.own[:, :, :, step:].sum(axis=3),
            tally.own[:, :, :, below:].sum(axis=3),
            tally.group_of_run,
        )

    @property
    def rate(self) -> float:
        """The rate of all judged documents, never 0 or 1."""
        return float((self.passed.sum() + 0.5) / (self.tried.sum() + 1.0))

    @property
    def octave(self) -> float:
        """The mean of the octaves of holes."""
        by_octave = self.hole_tried.sum(axis=(0, 1))
        return float((by_octave * np.arange(len(by_octave))).sum() / max(int(by_octave.sum()), 1))

    def fit(self) -> Fit:
        """Fit the weights."""
        run, topic = _standing(self.passed, self.tried, self.rate)
        here = np.nonzero(self.hole_tried)
        columns = [np.ones(len(here[0])), run[here[0]], topic[here[0], here[1]], here[2] - self.octave]
        return fitted(
            np.stack(columns, axis=1),
            self.hole_passed[here],
            self.hole_tried[here],
            self.group[here[0]],
            prior=np.array([float(logit(self.rate)) + np.log(USUAL), 1.0, 1.0, 0.0]),
            spread=_SPREAD,
        )

    def step(self, fit: Fit) -> Step:
        """Give the model with fitted weights."""
        run, _ = _standing(self.passed, self.tried, self.rate)
        seen = run[self.hole_tried.sum(axis=(1, 2)) > 0]
        lowest, highest = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        intercept, run_slope, topic_slope, rank_slope = fit.weights.tolist()
        return Step(self.rate, intercept, run_slope, topic_slope, rank_slope, self.octave, lowest, highest)

    def factors(self, fit: Fit) -> lists_Values:
        """Give for each group what was found over what the others let expect."""
        expected = fit.expected_from_others()
        groups = np.unique(self.group).tolist()
        found = np.array([self.hole_passed[self.group == group].sum() for group in groups])
        hoped = np.array([expected.get(group, 0.0) for group in groups])
        return np.asarray((found + ONE_MORE) / (hoped + ONE_MORE))


def _standing(passed: Counts, tried: Counts, rate: float) -> tuple[lists_Values, lists_Values]:
    """Give where each run stands from all, and each topic from its run, on the scale of L."""
    run = np.clip((passed.sum(axis=1) + TO_ALL * rate) / (tried.sum(axis=1) + TO_ALL), _LEAST, 1 - _LEAST)
    topic = np.clip((passed + TO_RUN * run[:, np.newaxis]) / (tried + TO_RUN), _LEAST, 1 - _LEAST)
    return logit(run) - logit(rate), logit(topic) - logit(run)[:, np.newaxis]


# How drops are spread over runs: mean, median, largest, and what a new group would hardly exceed.

Values = NDArray[np.float64]

COVERED = 0.95
"""The share of new groups that the upper end of a spread is meant for."""


@dataclass(frozen=True, slots=True)
class Upper:
    """A value that a further one of the same kind exceeds with a probability of at most 5 %.

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
    by_group = [kept[group == one].max() for one in np.unique(group)]
    worst = int(np.argmax(kept))
    return Spread(
        runs=len(kept),
        mean=float(kept.mean()),
        median=float(np.median(kept)),
        upper=conformal_upper(by_group),
        largest=float(kept[worst]),
        worst=names[int(known[worst])],
        mean_absolute=float(np.abs(kept).mean()),
    )


@dataclass(frozen=True, slots=True)
class Kappa:
    """What holding out groups taught about holes within k.

    `value` is kappa over all groups, `by_grade` the same for the share of each grade above the lowest, `by_group`
    that of each group that has holes, and `spread` its conformal upper end. `factor` and `plain_factor` say how much
    more relevant holes a new group may have than the model, or `plain` times the run's rate, expects. `growth` is
    what both were multiplied by, because a new run meets one group more in the pool than one that was held out.
    `scale` is what the expected loss by one measure is multiplied by (see `scaling`).
    """

    levels: tuple[int, ...]
    value: float
    by_grade: tuple[float, ...]
    by_group: tuple[tuple[str, float], ...]
    spread: Upper
    steps: tuple[Step, ...]
    factor: Upper
    plain: float
    plain_factor: Upper
    growth: float
    groups: int
    holes: int
    relevant: int
    scale: float = 1.0


def learned(tally: Tally, runs: Counts | None = None) -> Kappa:
    """Learn from the contributing runs of a tally, or from some of its runs (as places)."""
    chosen = np.flatnonzero(tally.group_of_run >= 0)
    chosen = chosen if runs is None else np.intersect1d(chosen, runs)
    kept = tally.of(chosen)
    data = [StepData.of(kept, step) for step in range(1, len(tally.levels))]
    first = data[0] if data else StepData.of(kept, 0)
    fits = [one.fit() for one in data]
    steps = [one.step(fit) for one, fit in zip(data, fits, strict=True)]
    by_group, growth = _by_group(first), _growth(kept)
    plain, plain_factors = _plain(first)
    return Kappa(
        levels=tally.levels,
        value=_ratio_of_rates(kept),
        by_grade=_by_grade(kept),
        by_group=tuple((tally.groups[group], value) for group, value in by_group),
        spread=conformal_upper([value for _, value in by_group]),
        steps=tuple([step.times(growth) for step in steps[:1]] + steps[1:]),
        factor=_at_least_one(conformal_upper(first.factors(fits[0]) if fits else [])),
        plain=plain * growth,
        plain_factor=_at_least_one(conformal_upper(plain_factors)),
        growth=growth,
        groups=len(np.unique(kept.group_of_run)),
        holes=int(kept.own.sum()),
        relevant=int(kept.own[..., 1:].sum()),
    )


def at_least(kappa: Kappa, judged: Counts, octaves: int) -> lists_Values:
    """Give the chance that a hole has each level or a higher one: runs by topics by octaves of ranks by levels.

    `judged` are the run's judged documents by level. The lowest level has the chance 1.
    """
    reached = np.ones((*judged.shape[:2], octaves, judged.shape[2]))
    for place, step in enumerate(kappa.steps, start=1):
        passed, tried = judged[:, :, place:].sum(axis=2), judged[:, :, place - 1 :].sum(axis=2)
        reached[..., place] = reached[..., place - 1] * step.chance(passed, tried, octaves)
    return reached


def upper_ends(kappa: Kappa, judged: Counts, octaves: int) -> list[lists_Values]:
    """Give the chances as a new group at the conformal index would have them: by the model, and by plain kappa."""
    reached = at_least(kappa, judged, octaves)
    if not kappa.steps:
        return []
    rate = ratio(judged[:, :, 1:].sum(axis=(1, 2)), judged.sum(axis=(1, 2)))
    plain = np.broadcast_to(
        (kappa.plain * kappa.plain_factor.value * rate)[:, np.newaxis, np.newaxis], reached.shape[:3]
    )
    return [_with_first(reached, np.minimum(one, 1.0)) for one in (reached[..., 1] * kappa.factor.value, plain)]


def _with_first(reached: lists_Values, first: lists_Values) -> lists_Values:
    """Give the chances with another one for the first step; given that, the grades are spread as before."""
    changed = reached * ratio(first, reached[..., 1])[..., np.newaxis]
    changed[..., 0] = 1.0
    return changed


def _plain(data: StepData) -> tuple[float, lists_Values]:
    """Give kappa in the form kappa times the run's rate, and what each group has over what the others let expect."""
    groups, place = np.unique(data.group, return_inverse=True)
    rate = ratio(data.passed.sum(axis=1), data.tried.sum(axis=1))
    found = np.bincount(place, data.hole_passed.sum(axis=(1, 2)), minlength=len(groups))
    at_one = np.bincount(place, data.hole_tried.sum(axis=(1, 2)) * rate, minlength=len(groups))
    others = (found.sum() - found + USUAL) / (at_one.sum() - at_one + 1.0)
    kappa = (found.sum() + USUAL) / (at_one.sum() + 1.0)
    return float(kappa), np.asarray((found + ONE_MORE) / (others * at_one + ONE_MORE))


def _growth(tally: Tally) -> float:
    """Give how much less often a hole is relevant when one group more feeds the pool.

    Held-out groups see a pool with one group less than a new run does. With one group less again some documents that
    two groups brought would be holes too, each for one of the n - 1 others. The step from n - 2 groups to n - 1,
    which is so known, is taken for that from n - 1 to n, measured by the logarithm of the number of groups.
    """
    groups = len(tally.groups)
    if groups < 3:
        return 1.0
    own, shared = tally.own.sum(axis=(0, 1, 2)), tally.shared.sum(axis=(0, 1))
    fewer = own + shared / (groups - 1)
    step = np.log(groups / (groups - 1)) / np.log((groups - 1) / (groups - 2))
    return float(np.clip((_drawn_rate(own, fewer) / _drawn_rate(fewer, fewer)) ** step, 0.5, 1.0))


def _drawn_rate(counts: lists_Values, all_counts: lists_Values) -> float:
    """Give the relevance rate of some holes, drawn a little towards that of all."""
    whole = (all_counts[1:].sum() + 0.5) / (all_counts.sum() + 1.0)
    return float((counts[1:].sum() + TO_ALL * whole) / (counts.sum() + TO_ALL))


def _by_group(data: StepData) -> list[tuple[int, float]]:
    """Give kappa of each group that has holes, and judged documents that are relevant to compare them with."""
    found = []
    for group in np.unique(data.group).tolist():
        mine = data.group == group
        rate = data.passed[mine].sum() / max(int(data.tried[mine].sum()), 1)
        holes = int(data.hole_tried[mine].sum())
        if holes and rate > 0:
            found.append((group, float(data.hole_passed[mine].sum() / holes / rate)))
    return found


def _by_grade(tally: Tally) -> tuple[float, ...]:
    own, judged = tally.own.sum(axis=(0, 1, 2)), tally.judged.sum(axis=(0, 1))
    shares = ratio(ratio(own, own.sum()), ratio(judged, judged.sum()))
    return tuple(np.where(judged > 0, shares, np.nan)[1:].tolist())


def _ratio_of_rates(tally: Tally) -> float:
    own, judged = tally.own.sum(axis=(0, 1, 2)), tally.judged.sum(axis=(0, 1))
    if not own.sum() or not judged[1:].sum():
        return float("nan")
    return float((own[1:].sum() / own.sum()) / (judged[1:].sum() / judged.sum()))


def _at_least_one(upper: Upper) -> Upper:
    """Give the upper end of what a new group may have: never less than what is expected."""
    value = 1.0 if np.isnan(upper.value) else max(upper.value, 1.0)
    return Upper(value, upper.n, upper.is_maximum)
