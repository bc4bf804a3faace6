"""The pool bias of a collection: everything its own runs can tell about how fair it is to non-contributing runs.

The verdict is about systems like the contributors, coming from another group. A bias that all contributors share is
not seen by any hold-out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.errors import Problem, quoted
from cranfield.base.spread import HERE, Workers
from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Values, crossed
from cranfield.evaluate.measure import Measure
from cranfield.evaluate.scores import score
from cranfield.reuse.hold_out import AllHoldOut, HoldOutSummary, Uniques, hold_out_all, uniques_of
from cranfield.reuse.provenance import Level, Levels, Provenance, infer_pool, places_of_prefixes, pooled_shares
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

    @cached_property
    def not_exhausted(self) -> list[str]:
        """The topics that still yielded more than 0.1 new relevant documents per new judged one at the end."""
        has_pool = self.pool_depth > 0
        last = np.maximum(self.pool_depth, 1)[:, None] - 1
        judged = np.take_along_axis(self.judged, last, axis=1)[:, 0]
        relevant = np.take_along_axis(self.relevant, last, axis=1)[:, 0]
        going_on = np.flatnonzero(has_pool & (judged > 0) & (relevant > STILL_YIELDING * judged))
        return [self.topic_ids[topic] for topic in going_on.tolist()]


@dataclass(frozen=True, slots=True)
class Decay:
    """The curve n(p) = C p^s − 1 of new relevant documents at depth p, fitted to so many `depths`, the whole pool.

    `error` is its standard error in ln(n + 1).
    """

    c: float
    s: float
    error: float
    depths: int

    def new_at(self, depth: ArrayLike, *, errors: float = 0.0) -> Values:
        """Give the new relevant documents at some depths, shifted by so many standard errors; never below 0."""
        curve = self.c * exp(errors * self.error) * np.asarray(depth, dtype=np.float64) ** self.s - 1
        return np.maximum(curve, 0.0)

    def beyond(self, *, errors: float = 0.0) -> float:
        """Give how many relevant documents a pool of twice the depth would probably add."""
        return float(self.new_at(np.arange(self.depths + 1, 2 * self.depths + 1), errors=errors).sum())


def new_by_depth(alignment: Alignment, provenance: Provenance, *, rel: int = 1) -> NewByDepth:
    """Count what each depth of the pool added, over all contributing runs."""
    _, rank, places = places_of_prefixes(alignment, provenance)
    # The best rank within the pool depth that a contributor gives each row of the qrels.
    best = np.full(len(provenance.owner) + 1, np.iinfo(np.int64).max)
    np.minimum.at(best, provenance.qrels_row[places], rank)  # row -1 is the place after the last
    met = np.flatnonzero(provenance.judged)
    met = met[best[met] <= provenance.depth[provenance.topic_of_row[met]]]
    deepest = max(int(provenance.depth.max(initial=0)), 1)
    relevant = met[alignment.lists.levels[provenance.level_of_row[met]] >= rel]
    judged, found = (
        crossed(provenance.topic_of_row[rows], best[rows] - 1, (len(provenance.depth), deepest))
        for rows in (met, relevant)
    )
    return NewByDepth(alignment.topic_ids, judged, found, provenance.depth)


def fit_decay(new: ArrayLike) -> Decay:
    """Fit n(p) = C p^s − 1 to the new relevant documents at depths 1, 2 …: ln(n + 1) = ln C + s ln p, least squares.

    Source: Zobel, SIGIR 1998, section 5.
    """
    counts = np.asarray(new, dtype=np.float64)
    x, y = np.log(np.arange(1, len(counts) + 1)), np.log(counts + 1)
    spread = x - x.mean()
    s = float((spread * y).sum() / (spread * spread).sum())
    level = float(y.mean() - s * x.mean())
    residual = y - level - s * x
    return Decay(exp(level), s, float(np.sqrt((residual**2).sum() / (len(counts) - 2))), len(counts))


def decay_of(new: Counts) -> Decay | str:
    """The decay of the relevant documents first met at depths 1, 2 … of the pool; else why none can be fitted."""
    if len(new) < FEWEST_DEPTHS:
        return f"the pool depth is {len(new)}, and fitting a decay needs at least {FEWEST_DEPTHS}"
    decay = fit_decay(new)
    return "no decay: the last depths add as many relevant documents as the first" if decay.s > -FLAT else decay


# Testability: what makes hold-outs say nothing, or less than they seem to, found before a verdict is given.

_MISFIT = "check the pool depth and the contributing runs"
_SHALLOWER = 0.95
"""A depth is doubted where the judgments show a pool of less than this share of it."""


def obstacles(alignment: Alignment, provenance: Provenance, table: Thresholds, *, rel: int) -> Iterator[Problem]:
    """What keeps hold-outs from showing anything: few groups, relevant documents alone, a depth that misfits."""
    number = counted(len(provenance.groups), "contributing group")
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
    if len(known) and (overall := float(shares[known].mean())) < table.fitting_share:
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
    # The judgments may show that the pool was less deep than it is set to be.
    depth = int(provenance.depth.max(initial=0))
    inferred = infer_pool(alignment, contributing=provenance.group_of_run >= 0).depth
    if 0 < inferred < _SHALLOWER * depth:  # runs that do not fit it are no news
        found = [problem for problem in found if problem.code != "run-does-not-fit"]
        message = f"the pool depth is set to {depth}, but the judgments show a pool of depth {inferred}"
        found.append(Problem("depth-beyond-the-pool", message, severity="warning", remedy=_MISFIT))
    orphans = provenance.orphans
    share = orphans / max(int(provenance.judged.sum()), 1)
    message = f"{counted(orphans, 'judged document')} ({share:.1%}) not within the pool depth of any contributing run"
    remedy = "add all contributing runs, and check the pool depth"
    if share > thresholds.most_orphans:
        found.append(Problem("orphans", f"{message}: hold-outs underestimate losses severely", remedy=remedy))
    elif share > thresholds.told_orphans:
        message += ": hold-outs underestimate losses"
        found.append(Problem("orphans", message, severity="warning", remedy=remedy))
    return found


Fairness = Literal["fair", "with care", "unfair", "untestable"]

_FROM_BEST: tuple[Fairness, ...] = ("fair", "with care", "unfair", "untestable")


@dataclass(frozen=True, eq=False)
class LevelReport:
    """All hold-outs at one level, and what they show by each measure."""

    held_out: AllHoldOut
    uniques: Uniques
    summaries: Mapping[Measure, HoldOutSummary]


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

    `provenance` is that by group, `levels` has the levels at which groups could be held out. `decay` is that of new
    relevant documents, or says why there is none. `problems` speak against testing: with an error among them the
    verdicts are `untestable`.
    """

    provenance: Provenance
    judged: int
    relevant: int
    levels: Mapping[Level, LevelReport]
    new_by_depth: NewByDepth
    decay: Decay | str
    verdicts: tuple[MeasureVerdict, ...]
    problems: tuple[Problem, ...]

    @property
    def fairness(self) -> Fairness:
        """The worst of the verdicts by measure."""
        return max((verdict.fairness for verdict in self.verdicts), key=_FROM_BEST.index, default="untestable")


def hold_out_levels(
    alignment: Alignment, levels: Levels, measures: Sequence[Measure], *, workers: Workers = HERE
) -> dict[Level, AllHoldOut]:
    """Begin to hold out everything that can be held out; a level with a single member is left out."""
    full = score(alignment, measures)
    return {
        level: hold_out_all(alignment, provenance, measures, full=full, workers=workers)
        for level, provenance in levels.items()
        if len(provenance.groups) > 1
    }


def examine(
    alignment: Alignment,
    by_group: Provenance,
    held_out: Mapping[Level, AllHoldOut],
    measures: Sequence[Measure],
    *,
    rel: int = 1,
    thresholds: Thresholds = DEFAULTS,
    untestable: Mapping[Measure, str] | None = None,
) -> CollectionReport:
    """Judge the collection by what happens when runs, groups and families are held out.

    The verdict is made by group. `untestable` says by which measures no loss of a run can be estimated, and why: how
    fair the pool is to new runs is not known then either.
    """
    reports = {
        level: LevelReport(
            held, uniques_of(alignment, held.provenance, rel=rel), {one: held.summary(one) for one in measures}
        )
        for level, held in held_out.items()
    }
    lists = alignment.lists
    problems = check_testability(alignment, by_group, rel=rel, thresholds=thresholds)
    new = new_by_depth(alignment, by_group, rel=rel)
    is_even = len(np.unique(new.pool_depth[new.pool_depth > 0])) == 1
    errors, group = (
        "; ".join(problem.message for problem in problems if problem.severity == "error"),
        reports.get("group"),
    )
    summaries = {} if group is None else group.summaries
    return CollectionReport(
        provenance=by_group,
        judged=int(by_group.judged.sum()),
        relevant=int(lists.level_counts[:, lists.levels >= rel].sum()),
        levels=reports,
        new_by_depth=new,
        decay=decay_of(new.relevant.sum(axis=0)) if is_even else "topics were pooled to different depths",
        verdicts=tuple(
            _verdict(one, summaries.get(one), errors or (untestable or {}).get(one, ""), thresholds)
            for one in measures
            if one.quality
        ),
        problems=tuple(problems),
    )


def _verdict(measure: Measure, summary: HoldOutSummary | None, untestable: str, table: Thresholds) -> MeasureVerdict:
    if not untestable and summary is not None and not summary.relative.runs:
        untestable = "all contributing runs score below 0.01, too low for a relative loss"
    if untestable or summary is None:
        return MeasureVerdict(measure, "untestable", untestable, float("nan"))
    drop = summary.relative.mean
    moves = f"lose {100 * drop:.1f}% of their score" if drop >= 0 else f"gain {-100 * drop:.1f}%"
    loss = f"contributing runs {moves} on average when their own group is held out"
    fairness: Fairness = "unfair" if abs(drop) >= table.unfair else "with care" if abs(drop) >= table.fair else "fair"
    if fairness == "fair" and summary.reversals:
        flips = counted(summary.reversals, "significant difference")
        return MeasureVerdict(measure, "with care", f"{loss}, but {flips} reversed", drop)
    limit = table.unfair if fairness == "unfair" else table.fair
    return MeasureVerdict(measure, fairness, f"{loss} (limit {100 * limit:g}%)", drop)
