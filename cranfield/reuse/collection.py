"""The pool bias of a collection: everything its own runs can tell about how fair it is to non-contributing runs.

The verdict is about systems like the contributors, coming from another group. A bias that all contributors share is
not seen by any hold-out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.errors import Problem, UsageError, quoted
from cranfield.base.spread import HERE, Workers
from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts
from cranfield.evaluate.measure import AnyMeasure, Measure, own_measures
from cranfield.evaluate.scores import score
from cranfield.reuse.hold_out import (
    CATEGORIES,
    AllHoldOut,
    OwnHoldOut,
    Reranking,
    Uniques,
    hold_out_all,
    uniques_of,
)
from cranfield.reuse.provenance import (
    Level,
    Method,
    Provenance,
    places_of_prefixes,
    pooled_shares,
)
from cranfield.reuse.unjudged_model import Spread
from cranfield.reuse.verdict import DEFAULTS, Thresholds

# What going deeper brought, and what was probably missed: new relevant documents by depth, and where that leads.

FEWEST_DEPTHS = 10
"""With fewer depths a decay cannot be told from noise."""

FLAT = 1e-9
"""How far below 0 the slope of a curve must lie to be more than noise of arithmetic."""

STILL_YIELDING = 0.1
"""New relevant documents per new judged one at the last depth, above which a topic is not exhausted."""


@dataclass(frozen=True, eq=False)
class NewByDepth:
    """How many judged and how many relevant documents each depth adds: topics by depths, place 0 is depth 1."""

    topic_ids: tuple[str, ...]
    judged: Counts
    relevant: Counts
    pool_depth: Counts

    def not_exhausted(self) -> list[str]:
        """Give the topics that still yielded more than 0.1 new relevant documents per new judged one at the end."""
        has_pool = self.pool_depth > 0
        last = np.maximum(self.pool_depth, 1)[:, np.newaxis] - 1
        judged = np.take_along_axis(self.judged, last, axis=1)[:, 0]
        relevant = np.take_along_axis(self.relevant, last, axis=1)[:, 0]
        going_on = np.flatnonzero(has_pool & (judged > 0) & (relevant > STILL_YIELDING * judged))
        return [self.topic_ids[topic] for topic in going_on.tolist()]


@dataclass(frozen=True, slots=True)
class Decay:
    """The fitted curve n(p) = C p^s − 1 of new relevant documents at depth p, and its standard error in ln(n + 1)."""

    c: float
    s: float
    error: float
    depths: int

    def new_at(self, depth: ArrayLike, *, errors: float = 0.0) -> NDArray[np.float64]:
        """Give the new relevant documents at some depths, shifted by so many standard errors; never below 0."""
        curve = self.c * exp(errors * self.error) * np.asarray(depth, dtype=np.float64) ** self.s - 1
        return np.maximum(curve, 0.0)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How many relevant documents depths from the pool's own to `to_depth` would probably add.

    `low` and `high` are one standard error of the fit away. Where `refusal` says why nothing can be said, they are
    NaN. `found` is what the pool has found itself.
    """

    from_depth: int
    to_depth: int
    found: int
    expected: float
    low: float
    high: float
    decay: Decay | None
    refusal: str = ""


def new_by_depth(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> NewByDepth:
    """Count what each depth of the pool added, over all contributing runs."""
    _, rank, places = places_of_prefixes(alignment, provenance)
    # The best rank within the pool depth that a contributor gives each row of the qrels.
    best = np.full(len(provenance.owner) + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, provenance.qrels_row[places], rank)  # row -1 is the place after the last
    met = np.flatnonzero(provenance.judged)
    met = met[best[met] <= provenance.depth[provenance.topic_of_row[met]]]
    deepest = max(int(provenance.depth.max(initial=0)), 1)
    cells = provenance.topic_of_row[met].astype(np.int64) * deepest + best[met] - 1
    is_relevant = alignment.lists.levels[provenance.level_of_row[met]] >= rel
    shape = (provenance.topic_count, deepest)
    return NewByDepth(
        alignment.topic_ids,
        np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape),
        np.bincount(cells[is_relevant], minlength=shape[0] * shape[1]).reshape(shape),
        provenance.depth,
    )


def fit_decay(new: ArrayLike) -> Decay:
    """Fit n(p) = C p^s − 1 to the new relevant documents at depths 1, 2 …: ln(n + 1) = ln C + s ln p, least squares.

    Source: Zobel, SIGIR 1998, section 5.
    """
    counts = np.asarray(new, dtype=np.float64)
    if len(counts) < 3:
        raise UsageError(f"a curve with an error needs at least 3 depths, not {len(counts)}")
    x, y = np.log(np.arange(1, len(counts) + 1)), np.log(counts + 1)
    spread = x - x.mean()
    s = float((spread * y).sum() / (spread * spread).sum())
    level = float(y.mean() - s * x.mean())
    residual = y - level - s * x
    return Decay(exp(level), s, float(np.sqrt((residual**2).sum() / (len(counts) - 2))), len(counts))


def extrapolated(new: ArrayLike, *, to_depth: int | None = None) -> Extrapolation:
    """Foresee what deeper pools would find; without `to_depth`, twice the depth. Refusals carry their reason.

    `new` has the relevant documents first met at depths 1, 2 … of the pool. The sum ends where the curve falls to 0.
    """
    counts = np.asarray(new, dtype=np.int64)
    depth, found = len(counts), int(counts.sum())
    goal = 2 * depth if to_depth is None else to_depth
    if goal <= depth:
        raise UsageError(f"the pool has depth {depth}: extrapolate to a greater depth, not to {goal}")
    decay, reason = None, ""
    if depth < FEWEST_DEPTHS:
        reason = f"the pool depth is {depth}, and fitting a decay needs at least {FEWEST_DEPTHS}"
    elif not found:
        reason = "no contributing run has a relevant document within the pool depth"
    else:
        decay = fit_decay(counts)
        if decay.s > -FLAT:
            reason = "no decay: the last depths add as many relevant documents as the first"
    expected = low = high = float("nan")
    if decay is not None and not reason:
        beyond = np.arange(depth + 1, goal + 1)
        expected, low, high = (float(decay.new_at(beyond, errors=errors).sum()) for errors in (0.0, -1.0, 1.0))
    return Extrapolation(depth, goal, found, expected, low, high, decay, reason)


# Testability: what makes hold-outs say nothing, or less than they seem to, found before a verdict is given.

_MISFIT = "check the pool depth and the contributing runs"
_RANKS_TO_SEE = 5
_FALL = 0.15
"""A depth beyond the pool shows where so much less of the last tenth is in the qrels than of the first half."""


def obstacles(alignment: Alignment, provenance: Provenance, table: Thresholds, *, rel: int = 1) -> Iterator[Problem]:
    """What keeps hold-outs from showing anything: few groups, relevant documents alone, a depth that misfits."""
    plural = "contributing families" if provenance.level == "family" else ""
    number = counted(len(provenance.groups), f"contributing {provenance.level}", plural)
    if len(provenance.groups) < table.fewest_groups:
        yield Problem("few-groups", f"only {number}; hold-outs need at least {table.fewest_groups:g}")
    elif len(provenance.groups) < table.enough_groups:
        message = f"only {number}; hold-outs are more informative from {table.enough_groups:g} on"
        yield Problem("few-groups", message, severity="warning")
    lists = alignment.lists
    if not lists.level_counts[:, lists.levels < rel].sum():
        message = "no document is judged not relevant, so pooled documents cannot be distinguished from others"
        yield Problem("positives-only", message, remedy="use qrels with all judged documents, including grade 0")
    shares = pooled_shares(alignment, provenance)
    known = np.flatnonzero(~np.isnan(shares))
    within = "within the pool depth are in the qrels"
    if not len(known):
        yield Problem("no-pooled-documents", "the contributing runs have no documents for these topics")
    elif (overall := float(shares[known].mean())) < table.fitting_share:
        yield Problem(
            "depth-does-not-fit", f"only {overall:.0%} of the contributing runs' documents {within}", remedy=_MISFIT
        )
    else:
        for run in known[shares[known] < table.fitting_share].tolist():
            message = f"only {shares[run]:.0%} of the documents of {quoted(alignment.run_names[run])} {within}"
            yield Problem("run-does-not-fit", message, severity="warning", remedy=_MISFIT)


def check_testability(
    alignment: Alignment, provenance: Provenance, *, rel: int = 1, thresholds: Thresholds = DEFAULTS
) -> list[Problem]:
    """Find everything that speaks against trusting hold-outs at this level; an error makes it untestable."""
    found = [*obstacles(alignment, provenance, thresholds, rel=rel)]
    if beyond := _depth_beyond_the_pool(alignment, provenance):  # runs that do not fit it are no news
        found = [*(problem for problem in found if problem.code != "run-does-not-fit"), beyond]
    return [*found, *_problems_of_documents(provenance, uniques_of(alignment, provenance, rel=rel), thresholds)]


def _problems_of_documents(provenance: Provenance, uniques: Uniques, table: Thresholds) -> Iterator[Problem]:
    orphans = provenance.orphans
    share = orphans / max(int(provenance.judged.sum()), 1)
    message = f"{counted(orphans, 'judged document')} ({share:.1%}) not within the pool depth of any contributing run"
    remedy = "add all contributing runs, and check the pool depth"
    if share > table.most_orphans:
        yield Problem("orphans", f"{message}: hold-outs underestimate losses severely", remedy=remedy)
    elif share > table.told_orphans:
        yield Problem("orphans", f"{message}: hold-outs underestimate losses", severity="warning", remedy=remedy)
    own, groups = int(uniques.judged.sum()), len(uniques.groups)
    if own < table.fewest_unique and groups >= table.fewest_groups:
        # Contributing runs retrieved the same: a hold-out takes nothing away then, whatever another run retrieves.
        alone = f"only {counted(own, 'judged document')} contributed by one group alone"
        needed = f"hold-outs need at least {table.fewest_unique:g}: pool runs of more groups, which retrieve others"
        yield Problem("little-unique", f"{alone}; {needed}")
    total, most = int(uniques.relevant.sum()), int(np.argmax(uniques.relevant))
    if groups > 1 and total and uniques.relevant[most] > table.largest_share * total:
        owned = f"{quoted(uniques.groups[most])} contributed {uniques.relevant[most] / total:.0%}"
        message = f"{owned} of the unique relevant documents"
        yield Problem("one-group-dominates", message, severity="warning")
    here = provenance.topic_of_row >= 0
    open_rows = int((here & (provenance.level_of_row < 0)).sum())
    if open_rows:
        message = f"{counted(open_rows, 'pooled document')} ({open_rows / int(here.sum()):.1%}) not judged"
        yield Problem("not-fully-judged", message, severity="warning", remedy="judge the rest of the pool")


def _depth_beyond_the_pool(alignment: Alignment, provenance: Provenance) -> Problem | None:
    """Say so where contributors are judged down to a rank above the depth that was told, and seldom below it."""
    _, rank, places = places_of_prefixes(alignment, provenance)
    size = np.bincount(rank - 1)
    known = np.bincount(rank[provenance.qrels_row[places] >= 0] - 1, minlength=len(size))
    shares = known / np.maximum(size, 1)
    if len(shares) < _RANKS_TO_SEE:
        return None
    last = max(len(shares) // 10, 3)
    above, below = float(np.nanmean(shares[: len(shares) // 2])), float(np.nanmean(shares[-last:]))
    if not above - below > _FALL:
        return None
    middle = (above + below) / 2
    seen = int(np.flatnonzero(shares >= middle).max()) + 1
    message = (
        f"the pool depth is set to {len(shares)}, but below rank {seen} only {below:.0%} of the contributing runs'"
        f" documents are in the qrels, and above it {above:.0%}"
    )
    remedy = f"check the pool depth; it looks like {seen}"
    return Problem("depth-beyond-the-pool", message, severity="warning", remedy=remedy)


Fairness = Literal["fair", "with care", "unfair", "untestable"]

_FROM_BEST: tuple[Fairness, ...] = ("fair", "with care", "unfair", "untestable")


@dataclass(frozen=True, slots=True)
class HoldOutSummary:
    """What hold-outs at one level show for one measure.

    Means are over left-out groups for which tau is defined; `worst` is the one whose own run falls by most
    ranks. `decisions` are those on all pairs of runs and all left-out groups, `own_decisions` those on pairs of a
    left-out run with another.
    """

    measure: Measure
    drop: Spread
    relative: Spread
    tau_b: float
    lowest_tau_b: float
    tau_ap: float
    lowest_tau_ap: float
    worst: Reranking | None
    decisions: Counts
    own_decisions: Counts


@dataclass(frozen=True, eq=False)
class LevelReport:
    """All hold-outs at one level, by measure; `categories` are as `AllHoldOut` counts them."""

    level: Level
    method: Method
    uniques: Uniques
    own: OwnHoldOut
    rerankings: tuple[tuple[Reranking, ...], ...]
    categories: tuple[Counts, ...]

    def summary(self, measure: Measure) -> HoldOutSummary:
        """Give what they show for one measure."""
        place = self.own.measures.index(measure)
        reranked, decisions = self.rerankings[place], self.categories[place].sum(axis=0)
        tau_b, lowest_tau_b = _mean_and_lowest([one.tau_b for one in reranked])
        tau_ap, lowest_tau_ap = _mean_and_lowest([one.tau_ap for one in reranked])
        return HoldOutSummary(
            measure=measure,
            drop=self.own.spread(measure),
            relative=self.own.relative_spread(measure),
            tau_b=tau_b,
            lowest_tau_b=lowest_tau_b,
            tau_ap=tau_ap,
            lowest_tau_ap=lowest_tau_ap,
            worst=max(reranked, key=lambda one: one.drop.drop, default=None),
            decisions=decisions[0],
            own_decisions=decisions[1],
        )


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """How fair the collection is to non-contributing runs by one measure, and the sentence that says why.

    `drop` is the mean relative drop that decided, NaN where it is untestable. It counts without its sign: where
    such runs score too high, the pool misleads as well.
    """

    measure: Measure
    fairness: Fairness
    reason: str
    drop: float


@dataclass(frozen=True, eq=False)
class CollectionReport:
    """The pool of a collection seen from outside.

    `levels` has the levels at which groups could be held out. `problems` speak against testing: with an error among
    them the verdicts are `untestable`.
    """

    run_names: tuple[str, ...]
    contributing: tuple[str, ...]
    groups: tuple[str, ...]
    judged: int
    relevant: int
    orphans: int
    levels: Mapping[Level, LevelReport]
    new_by_depth: NewByDepth
    not_exhausted: tuple[str, ...]
    extrapolation: Extrapolation
    verdicts: tuple[MeasureVerdict, ...]
    problems: tuple[Problem, ...]

    @property
    def fairness(self) -> Fairness:
        """The worst of the verdicts by measure."""
        return max((verdict.fairness for verdict in self.verdicts), key=_FROM_BEST.index, default="untestable")


def _mean_and_lowest(taus: Sequence[float]) -> tuple[float, float]:
    """Give both over the taus that are defined; NaN where none is."""
    known = [tau for tau in taus if not np.isnan(tau)]
    return (float(np.mean(known)), min(known)) if known else (float("nan"), float("nan"))


def hold_out_levels(
    alignment: Alignment,
    levels: Mapping[Level, Provenance],
    measures: Sequence[AnyMeasure],
    *,
    workers: Workers = HERE,
) -> dict[Level, AllHoldOut]:
    """Begin to hold out everything that can be held out; a level with a single member is left out."""
    chosen = own_measures(measures)
    full = score(alignment, chosen)
    return {
        level: hold_out_all(alignment, provenance, chosen, full=full, workers=workers)
        for level, provenance in levels.items()
        if len(provenance.groups) > 1
    }


def examine(
    alignment: Alignment,
    levels: Mapping[Level, Provenance],
    measures: Sequence[AnyMeasure],
    *,
    rel: int = 1,
    thresholds: Thresholds = DEFAULTS,
    held_out: Mapping[Level, AllHoldOut] | None = None,
) -> CollectionReport:
    """Judge the collection by what happens when runs, groups and families are held out.

    `levels` must have the level `group`, by which the verdict is made. `held_out` were begun before.
    """
    chosen = own_measures(measures)
    common = alignment.scored.all(axis=0).any() and len(alignment.run_names) > 1
    reports: dict[Level, LevelReport] = {}
    for level, held in (hold_out_levels(alignment, levels, chosen) if held_out is None else held_out).items():
        reports[level] = LevelReport(
            level=level,
            method=held.provenance.method,
            uniques=uniques_of(alignment, held.provenance, rel=rel),
            own=held.own(),
            rerankings=tuple(tuple(held.rerankings(measure)) for measure in chosen),
            categories=tuple(
                held.categories(one) if common else np.zeros((1, 2, 6), dtype=np.int64) for one in chosen
            ),
        )
    by_group, lists = levels["group"], alignment.lists
    problems = check_testability(alignment, by_group, rel=rel, thresholds=thresholds)
    new = new_by_depth(alignment, by_group, rel=rel)
    if len(np.unique(new.pool_depth[new.pool_depth > 0])) == 1:
        extrapolation = extrapolated(new.relevant.sum(axis=0))
    else:
        deepest, found, nan = int(new.pool_depth.max(initial=0)), int(new.relevant.sum()), float("nan")
        reason = "topics were pooled to different depths"
        extrapolation = Extrapolation(deepest, 2 * deepest, found, nan, nan, nan, None, reason)
    return CollectionReport(
        run_names=alignment.run_names,
        contributing=tuple(np.array(alignment.run_names, dtype=object)[by_group.group_of_run >= 0].tolist()),
        groups=by_group.groups,
        judged=int(by_group.judged.sum()),
        relevant=int(lists.level_counts[:, lists.levels >= rel].sum()),
        orphans=by_group.orphans,
        levels=reports,
        new_by_depth=new,
        not_exhausted=tuple(new.not_exhausted()),
        extrapolation=extrapolation,
        verdicts=tuple(_verdict(one, reports.get("group"), problems, thresholds) for one in chosen if one.quality),
        problems=tuple(problems),
    )


def _verdict(
    measure: Measure, report: LevelReport | None, found: Sequence[Problem], table: Thresholds
) -> MeasureVerdict:
    errors = [problem.message for problem in found if problem.severity == "error"]
    if errors or report is None:
        return MeasureVerdict(measure, "untestable", "; ".join(errors), float("nan"))
    summary = report.summary(measure)
    drop = summary.relative.mean
    if not summary.relative.runs:
        reason = "all contributing runs score below 0.01, too low for a relative loss"
        return MeasureVerdict(measure, "untestable", reason, float("nan"))
    moves = f"lose {100 * drop:.1f}% of their score" if drop >= 0 else f"gain {-100 * drop:.1f}%"
    loss = f"contributing runs {moves} on average when their own group is held out"
    unfair, fair = (f"(limit {100 * value:g}%)" for value in (table.unfair, table.fair))
    if abs(drop) >= table.unfair:
        return MeasureVerdict(measure, "unfair", f"{loss} {unfair}", drop)
    if abs(drop) >= table.fair:
        return MeasureVerdict(measure, "with care", f"{loss} {fair}", drop)
    if turned := int(summary.decisions[CATEGORIES.index("ad")]):
        flips = counted(turned, "significant difference")
        return MeasureVerdict(measure, "with care", f"{loss}, but {flips} reversed", drop)
    return MeasureVerdict(measure, "fair", f"{loss} {fair}", drop)
