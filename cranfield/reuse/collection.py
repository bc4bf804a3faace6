"""The pool bias of a collection: everything its own runs can tell about how fair it is to outsiders.

The verdict is about systems like the contributors, coming from another group. A bias that all contributors share is
not seen by any hold-out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cranfield.errors import Problem
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import AnyMeasure, Measure, own_measures
from cranfield.evaluate.scores import Scores, score
from cranfield.reuse.categories import ALPHA, Categories, GroupCategories, categories_by_group, total
from cranfield.reuse.contributors import Level
from cranfield.reuse.depth import Extrapolation, NewByDepth, extrapolated_pool, new_by_depth
from cranfield.reuse.doubts import doubts
from cranfield.reuse.leave_out import OwnHoldOut, Reranking, Uniques, hold_out_all, uniques_of
from cranfield.reuse.provenance import Method, Prefixes, Provenance
from cranfield.reuse.spread import Spread
from cranfield.reuse.thresholds import Thresholds

Fairness = Literal["fair", "with care", "unfair", "untestable"]

_FROM_BEST: tuple[Fairness, ...] = ("fair", "with care", "unfair", "untestable")


@dataclass(frozen=True, slots=True)
class HoldOutSummary:
    """What hold-outs at one level show for one measure.

    Means are over left-out groups for which tau is defined; `worst` is the one whose own run falls by most ranks,
    `falls` how many runs fall in the ranking when their own group is held out. `decisions` are those on all pairs of
    runs and all left-out groups, `own_decisions` those on pairs of a left-out run with another.
    """

    measure: Measure
    drop: Spread
    relative: Spread
    tau_b: float
    lowest_tau_b: float
    tau_ap: float
    lowest_tau_ap: float
    worst: Reranking | None
    falls: int
    decisions: Categories
    own_decisions: Categories


@dataclass(frozen=True, eq=False)
class LevelReport:
    """All hold-outs at one level; rerankings and categories have one entry per measure and left-out group."""

    level: Level
    method: Method
    uniques: Uniques
    own: OwnHoldOut
    rerankings: tuple[tuple[Reranking, ...], ...]
    categories: tuple[tuple[GroupCategories, ...], ...]

    def summary(self, measure: Measure) -> HoldOutSummary:
        """Give what they show for one measure."""
        place = self.own.measures.index(measure)
        reranked, categories = self.rerankings[place], self.categories[place]
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
            falls=sum(one.drops for one in reranked),
            decisions=total(one.all_pairs for one in categories),
            own_decisions=total(one.own_pairs for one in categories),
        )


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """How fair the collection is to outsiders by one measure, and the sentence that says why.

    `drop` is the mean relative drop that decided, NaN where it is untestable. It counts without its sign: where
    outsiders score too high, the pool misleads as well.
    """

    measure: Measure
    fairness: Fairness
    reason: str
    drop: float


@dataclass(frozen=True, eq=False)
class CollectionReport:
    """The pool of a collection seen from outside.

    `levels` has the levels at which groups could be held out. `problems` are the doubts: with an error among them the
    verdicts are `untestable`.
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
    def relevance_rate(self) -> float:
        """Relevant / judged. A high rate says that the pool ended before relevance ran out; NaN without judgments."""
        return self.relevant / self.judged if self.judged else float("nan")

    @property
    def orphan_share(self) -> float:
        """The share of the judged documents that no contributor at hand explains."""
        return self.orphans / self.judged if self.judged else float("nan")

    @property
    def fairness(self) -> Fairness:
        """The worst of the verdicts by measure."""
        return max((verdict.fairness for verdict in self.verdicts), key=_FROM_BEST.index, default="untestable")


def _mean_and_lowest(taus: Sequence[float]) -> tuple[float, float]:
    """Give both over the taus that are defined; NaN where none is."""
    known = [tau for tau in taus if not np.isnan(tau)]
    return (float(np.mean(known)), min(known)) if known else (float("nan"), float("nan"))


def levels_of(prefixes: Prefixes) -> dict[Level, Provenance]:
    """Give the levels at which something can be held out: by family only where every contributor has one."""
    contributing = [one for one in prefixes.contributors if one.contributing]
    levels: list[Level] = ["run", "group"]
    if all(one.family for one in contributing):
        levels.append("family")
    return {level: prefixes.by(level) for level in levels}


def examine(
    alignment: Alignment,
    levels: Mapping[Level, Provenance],
    measures: Sequence[AnyMeasure],
    *,
    rel: int = 1,
    alpha: float = ALPHA,
    thresholds: Thresholds | None = None,
) -> CollectionReport:
    """Hold out everything that can be held out, and judge the collection by it.

    `levels` must have the level `group`, by which the verdict is made; a level with a single member is left out.
    """
    table = thresholds or Thresholds()
    chosen = own_measures(measures)
    full = score(alignment, chosen)
    by_group = levels["group"]
    found = doubts(alignment, by_group, uniques_of(alignment, by_group, rel=rel), rel=rel, thresholds=table)
    reports = {
        level: _level_report(alignment, provenance, chosen, full, rel, alpha)
        for level, provenance in levels.items()
        if len(provenance.groups) > 1
    }
    new = new_by_depth(alignment, by_group, rel=rel)
    lists = alignment.lists
    return CollectionReport(
        run_names=alignment.run_names,
        contributing=tuple(np.array(alignment.run_names, dtype=object)[by_group.group_of_run >= 0].tolist()),
        groups=by_group.groups,
        judged=by_group.judged_count,
        relevant=int(lists.level_counts[:, lists.levels >= rel].sum()),
        orphans=by_group.orphans,
        levels=reports,
        new_by_depth=new,
        not_exhausted=tuple(new.not_exhausted()),
        extrapolation=extrapolated_pool(new),
        verdicts=tuple(_verdict(one, reports.get("group"), found, table) for one in chosen if one.quality),
        problems=tuple(found),
    )


def _level_report(
    alignment: Alignment, provenance: Provenance, measures: Sequence[Measure], full: Scores, rel: int, alpha: float
) -> LevelReport:
    held_out = hold_out_all(alignment, provenance, measures, full=full)
    common = alignment.scored.all(axis=0).any() and len(alignment.run_names) > 1
    return LevelReport(
        level=provenance.level,
        method=provenance.method,
        uniques=uniques_of(alignment, provenance, rel=rel),
        own=held_out.own(),
        rerankings=tuple(tuple(held_out.rerankings(measure)) for measure in measures),
        categories=tuple(
            tuple(categories_by_group(held_out, measure, alpha=alpha)) if common else () for measure in measures
        ),
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
        reason = "all contributors score below 0.01, and have no relative drop"
        return MeasureVerdict(measure, "untestable", reason, float("nan"))
    moves = f"lose {100 * drop:.1f} % of their score" if drop >= 0 else f"score {-100 * drop:.1f} % higher"
    told = f"contributors {moves} on average when their own group is held out"
    if abs(drop) >= table.unfair:
        return MeasureVerdict(measure, "unfair", f"{told}, {_share(table.unfair)} or more", drop)
    if abs(drop) >= table.fair:
        return MeasureVerdict(measure, "with care", f"{told}, {_share(table.fair)} or more", drop)
    if summary.decisions.ad:
        flips = f"{summary.decisions.ad} significant differences turn round"
        return MeasureVerdict(measure, "with care", f"{told}, but {flips}", drop)
    return MeasureVerdict(measure, "fair", f"{told}, less than {_share(table.fair)}", drop)


def _share(value: float) -> str:
    return f"{100 * value:g} %"
