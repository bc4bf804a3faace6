"""All runs judged on how far their scores can be trusted: coverage, expected loss and verdict, measure by measure."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike

from cranfield.base.text import counted
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import NOT_POOLED, Counts, Lists, Values, ratio
from cranfield.evaluate.measure import AnyMeasure, Measure, own_measures, summaries
from cranfield.evaluate.measures.gain import powers
from cranfield.reuse.card import Card
from cranfield.reuse.collection import obstacles
from cranfield.reuse.completeness import Completed, Completion, score_lists
from cranfield.reuse.completions import unjudged_within
from cranfield.reuse.expected_loss import Loss, ModelCache, expected_loss, scale_model
from cranfield.reuse.hold_out import uniques_of
from cranfield.reuse.intervals import Intervals, interval, interval_depth, intervals_of_runs, takes_pool_depth
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.unjudged_model import UnjudgedModel, fit_model
from cranfield.reuse.verdict import DEFAULTS, REMEDY, Evidence, Thresholds, Verdict, verdict_of
from cranfield.runs.columns import Mask

TAIL = 0.01
"""The weight that RBP may have left below its depth k."""

SEED = 1
"""Where the drawn labels of unjudged documents begin, so that a verdict comes out the same every time."""

NO_PROVENANCE = f"the contributing runs are not known{REMEDY}"

Learn = Literal["always", "where unjudged"]
"""Where no run has an unjudged document no model need be fitted, unless the model itself is wanted."""

FamilyModels = tuple[tuple[str, UnjudgedModel], ...]


@dataclass(frozen=True, eq=False)
class Coverage:
    """What is judged of each run down to the depth k of a measure, as runs by topics.

    `depth` is k for each topic. `judged` is judged@k, over k or the length of a shorter list; NaN where the run has
    no document. `count` are the unjudged documents within k, `first` the rank of the first unjudged one wherever it
    stands (0 where there is none). `scored` tells the topics that count for a run. `contributed` says in which topics
    the first k were pooled: the run contributed at least down to k or the end of its list.
    """

    measure: Measure
    topic_ids: tuple[str, ...]
    depth: Counts
    judged: Values
    count: Counts
    first: Counts
    scored: Mask
    contributed: Mask

    @cached_property
    def counted(self) -> Mask:
        """The topics of each run that are scored and have a list."""
        return self.scored & ~np.isnan(self.judged)

    @property
    def depth_in_words(self) -> str:
        """k as one number, or from the lowest to the highest."""
        low, high = int(np.min(self.depth)), int(np.max(self.depth))
        return str(low) if low == high else f"{low} to {high}"

    @property
    def judged_name(self) -> str:
        """What `judged` is called: RBP has no k, since its weights have no end."""
        return f"judged@{self.depth_in_words}" if self.measure.kind.tail is None else "judged weight"

    def evidence(self, run: int, *, topic_judged: float) -> Evidence:
        """What is judged of one run: mean judged@k (1 without any document), and topics below the given share."""
        here = self.counted[run]
        shares, contributed = self.judged[run][here], self.contributed[run]
        return Evidence(
            judged=float(shares.mean()) if len(shares) else 1.0,
            topics=len(shares),
            low_topics=int((shares < topic_judged).sum()),
            unjudged=int(self.count[run][here].sum()),
            depth=self.depth_in_words,
            goes_on=self.first_unjudged(run) is not None,
            pooled=bool(contributed.any() and contributed[here].all()),
            missing=int(self.scored[run].sum()) - len(shares),
        )

    def first_unjudged(self, run: int) -> int | None:
        """The highest rank at which the run has an unjudged document in any topic; None where it has none."""
        here = self.counted[run] & (self.first[run] > 0)
        return int(self.first[run][here].min()) if here.any() else None


def measure_depths(measure: Measure, pool_depth: Counts) -> Counts:
    """The depth k of each topic down to which an unjudged document matters to a measure.

    The cutoff; the pool depth for measures of the whole list (AP, R-precision, bpref, nDCG without a cutoff), since
    below it nearly nothing is judged of any run; for RBP the rank below which less than 1% of its weight lies.
    """
    if isinstance(measure.cutoff, int):
        return np.full(len(pool_depth), measure.cutoff, dtype=np.int64)
    if takes_pool_depth(measure):
        return np.asarray(pool_depth, dtype=np.int64)
    return np.full(len(pool_depth), ceil(round(log(TAIL) / log(measure.parameters["p"]), 9)), dtype=np.int64)


def coverage_of(
    alignment: Alignment, measure: Measure, *, pool_depth: Counts, provenance: Provenance | None = None
) -> Coverage:
    """What is judged of all runs. `pool_depth` is one number per topic. Without provenance none contributed."""
    lists, shape = alignment.lists, alignment.scored.shape
    depth = measure_depths(measure, pool_depth)
    reach = np.minimum(lists.length, depth[lists.topics])
    count = reach - lists.judged.within(reach).count
    if measure.kind.tail is None:
        judged = 1.0 - ratio(count, reach)
    else:  # the share of RBP's weight on judged documents: 1 - residual where there is no cutoff
        p = float(measure.parameters["p"])
        cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
        found = lists.judged.within(cutoff)
        whole = 1.0 if cutoff is None else 1.0 - p ** np.minimum(lists.length, cutoff)
        judged = np.minimum(ratio((1.0 - p) * found.total(powers(p, found.rank)), whole), 1.0)
    contributed = np.zeros(shape, dtype=bool)
    if provenance is not None:
        pooled = np.minimum(lists.length, provenance.depth[lists.topics]) >= reach
        contributed = (provenance.group_of_run >= 0)[:, None] & (pooled & (reach > 0)).reshape(shape)
    return Coverage(
        measure=measure,
        topic_ids=alignment.topic_ids,
        depth=depth,
        judged=np.where(lists.length > 0, judged, np.nan).reshape(shape),
        count=count.reshape(shape),
        first=np.where(lists.first_unjudged <= lists.length, lists.first_unjudged, 0).reshape(shape),
        scored=alignment.scored,
        contributed=contributed,
    )


# Whether a model of unjudged documents can be fitted to a pool, and if not, why.


def why_untestable(
    alignment: Alignment, provenance: Provenance | None, table: Thresholds = DEFAULTS, *, relevant_from: int = 1
) -> str:
    """Why holding out groups shows nothing here; an empty text where it does.

    `relevant_from` is the lowest grade that is relevant. The reasons: no provenance; what keeps all hold-outs from
    showing anything; one group that owns most of what is unique and relevant.
    """
    if provenance is None:
        return NO_PROVENANCE
    for problem in obstacles(alignment, provenance, table, rel=relevant_from):
        if problem.severity == "error":
            return problem.message
    unique = uniques_of(alignment, provenance, rel=relevant_from).relevant
    largest, total = int(unique.argmax()), int(unique.sum())
    if total < table.fewest_unjudged or unique[largest] / total <= table.largest_share:
        return ""  # the larger half of two or three documents says nothing
    contributed = f"group {provenance.groups[largest]!r} contributed {unique[largest] / total:.0%}"
    return f"{contributed} of the unique relevant documents (limit {table.largest_share:.0%})"


def why_untaught(model: UnjudgedModel, thresholds: Thresholds) -> str:
    """Why a model was fitted to too little; an empty text where there is enough."""
    fewest = thresholds.fewest_unjudged
    if model.unjudged < fewest:
        left = counted(model.unjudged, "unjudged document")
        return f"hold-outs leave only {left}, and at least {fewest:g} are needed"
    return "all judged documents have the same grade" if len(model.levels) < 2 else ""


class RankIntervals(NamedTuple):
    """The best and the worst rank that each run can have; 1 is the top, and equal runs share the better rank."""

    best: Counts
    worst: Counts


def rank_interval(lower: ArrayLike, upper: ArrayLike) -> RankIntervals:
    """The ranks that intervals of scores leave open.

    best = 1 + runs surely better, worst = 1 + runs possibly better. The intervals may be exact, or plausible ones
    from the score to the score plus its largest likely loss. A run without an interval (NaN) can have any rank, and
    stand before or behind any other.
    """
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, -np.inf), np.where(known, high, np.inf)
    surely = low[None, :] > high[:, None]
    possibly = high[None, :] > low[:, None]
    np.fill_diagonal(possibly, val=False)
    return RankIntervals(1 + surely.sum(axis=1), 1 + possibly.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of all runs by one measure.

    `low` and `high` are the intervals of the runs' scores (NaN where there are none). `model` and `loss` are None
    where no model could be fitted, and `untestable` says why. `completed` are the scores if the pool went deeper, for
    a measure that looks below it. `family_models` are those of families with groups
    enough. `verdicts` are in the order of the runs. `rank` is 1 + the runs that
    are better; `ranks` are the best and worst ranks by exact intervals, `likely_ranks` by [score, score + upper end
    of the expected loss].
    """

    measure: Measure
    run_names: tuple[str, ...]
    score: Values
    low: Values
    high: Values
    tolerance: float
    coverage: Coverage
    model: UnjudgedModel | None
    family_models: FamilyModels
    loss: Loss | None
    completed: Completed | None
    untestable: str
    evidence: tuple[Evidence, ...]
    verdicts: tuple[Verdict, ...]
    rank: Counts
    ranks: RankIntervals
    likely_ranks: RankIntervals

    @cached_property
    def name(self) -> str:
        """The measure as it is written."""
        return str(self.measure)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Where what is known about unjudged documents comes from: the contributing runs, or a card, or neither.

    `pool_depth` is one number per topic of the alignment. `families` names the kind of each run of the alignment
    ("" for unknown); `relevant_from` is the lowest grade that is relevant. `judged` are the share of the pool that is
    judged and the smallest of a topic's pool, as far as they are known beside the qrels; `finished` is the share of
    the topics for which a live plan has chosen everything. `inferred` says that contributors or pool depth were
    inferred, and `depth_known` is false where the pool depth is nothing but the length of the lists.
    """

    pool_depth: Counts
    provenance: Provenance | None = None
    card: Card | None = None
    families: Sequence[str] = ()
    relevant_from: int = 1
    judged: tuple[float, float] = (1.0, 1.0)
    finished: float = 1.0
    inferred: bool = False
    depth_known: bool = True


def assess_measures(
    alignment: Alignment,
    measures: Sequence[AnyMeasure],
    knowledge: Knowledge,
    *,
    thresholds: Thresholds,
    learn: Learn,
) -> tuple[Intervals, tuple[Assessment, ...]]:
    """Assess all runs by each measure that takes a verdict, by their exact intervals; see `assess_runs`."""
    chosen = [measure for measure in own_measures(measures) if measure.takes_verdict]
    depth = partial(interval_depth, pool_depth=knowledge.pool_depth)
    intervals = intervals_of_runs(alignment, chosen, depth=depth)
    cache, completed = None, dict[Measure, Completed]()
    if knowledge.provenance is not None:
        depths = [measure_depths(measure, knowledge.pool_depth) for measure in chosen]
        reach = np.max([np.ones_like(knowledge.pool_depth), *depths], axis=0)
        cache = ModelCache(alignment, knowledge.provenance, reach=reach, thresholds=thresholds)
        completion = Completion(
            alignment,
            knowledge.provenance,
            relevant_from=knowledge.relevant_from,
            retrieved=cache.retrieved,
            error=thresholds.completed_error,
        )
        deep = [*filter(takes_pool_depth, chosen)]
        completed = dict(zip(deep, completion.of(deep, rng=default_rng(SEED)), strict=True))
    assessments = (
        assess_runs(
            *(alignment, measure, knowledge),
            low=low,
            high=high,
            rng=default_rng(SEED),
            thresholds=thresholds,
            cache=cache,
            completed=completed.get(measure),
            learn=learn,
        )
        for measure, low, high in zip(chosen, intervals.lowest, intervals.highest, strict=True)
    )
    return intervals, tuple(assessments)


def assess_runs(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    *,
    low: Values | None = None,
    high: Values | None = None,
    rng: np.random.Generator,
    thresholds: Thresholds = DEFAULTS,
    cache: ModelCache | None = None,
    completed: Completed | None = None,
    learn: Learn = "always",
) -> Assessment:
    """Assess all runs by one measure. `low` and `high` are the intervals of scores; `cache` serves all measures."""
    table, runs = thresholds, alignment.scored.shape[0]
    coverage = coverage_of(alignment, measure, pool_depth=knowledge.pool_depth, provenance=knowledge.provenance)
    model, by_family, untestable = None, FamilyModels(), ""
    models: list[UnjudgedModel | None] = [None] * runs
    loss: Loss | None = Loss.none(measure, alignment.scored.shape)
    if learn == "always" or coverage.count[coverage.counted].any():
        if cache is None and knowledge.provenance is not None:
            cache = ModelCache(alignment, knowledge.provenance, thresholds=table)
        scaling, drawing = rng.spawn(2)
        model, by_family, untestable = _fit(alignment, measure, knowledge, coverage.depth, table, scaling, cache)
        models = [dict(by_family).get(family, model) for family in knowledge.families] or [model] * runs
        popularity = None
        if cache is not None and model is not None:
            popularity = cache.popularity(coverage.depth)
        elif knowledge.card is not None and knowledge.card.fusion is not None:
            popularity = knowledge.card.fusion.popularity(alignment)
        loss = _loss_by_model(alignment, measure, models, coverage.depth, drawing, popularity)
    (score,) = score_lists([measure], alignment, alignment.lists)
    low, high = (np.full(runs, np.nan) if ends is None else ends for ends in (low, high))
    is_finite, tolerance = np.isfinite(low) & np.isfinite(high), tolerance_of(measure, alignment.lists, table)
    if loss is not None:
        loss = loss.within(low - score, high - score)
    pooled_unjudged = _open_by_pooled(alignment, measure, coverage.depth)
    to_rank = coverage.depth_in_words if takes_pool_depth(measure) else ""
    of_pool = _of_pool(knowledge, alignment.lists, to_rank=to_rank, whole=measure.kind.whole_list)
    evidence = []
    for run, of_run in enumerate(models):
        found = replace(
            coverage.evidence(run, topic_judged=table.topic_judged),
            low=float(low[run]) if is_finite[run] else None,
            high=float(high[run]) if is_finite[run] else None,
            score=float(score[run]),
            pooled_unjudged=float(pooled_unjudged[run]),
            loss=None if loss is None else float(loss.mean[run]),
            upper=None if loss is None else float(loss.upper[run]),
            upper_blind=None if loss is None or not to_rank or knowledge.inferred else float(loss.upper_blind[run]),
            upper_is_maximum=of_run is not None and of_run.blind.factor.is_maximum,
            unlike=loss is not None and bool(loss.unlike[run]),
            groups=0 if of_run is None else of_run.groups,
            untestable=untestable,
            tolerance=tolerance,
            completed=None if completed is None else completed.of_run(run),
            uneven=0.0 if completed is None else float(completed.uneven[run]),
            **of_pool,
        )
        evidence.append(found)
    upper = 0.0 if loss is None else np.nan_to_num(np.maximum(loss.upper, 0.0))
    return Assessment(
        measure=measure,
        run_names=alignment.run_names,
        score=score,
        low=low,
        high=high,
        tolerance=tolerance,
        coverage=coverage,
        model=model,
        family_models=by_family,
        loss=loss,
        completed=completed,
        untestable=untestable,
        evidence=tuple(evidence),
        verdicts=tuple(verdict_of(one, table) for one in evidence),
        rank=1 + (score[None, :] > score[:, None]).sum(axis=1),
        ranks=rank_interval(np.fmin(low, score), np.fmax(high, score)),
        likely_ranks=rank_interval(score, score + upper),
    )


def _fit(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    depth: Counts,
    table: Thresholds,
    rng: np.random.Generator,
    cache: ModelCache | None,
) -> tuple[UnjudgedModel | None, FamilyModels, str]:
    """Fit a model to the contributing runs, else take that of the card; without a model, why there is none."""
    provenance, card = knowledge.provenance, knowledge.card
    if provenance is None and card is not None:
        entry = card.entry(measure, depth)
        if entry is None:
            return None, (), "the card does not cover this measure"
        reason = f"according to the card, {entry.untestable}" if entry.model is None else ""
        return entry.model, entry.families, reason
    reason = why_untestable(alignment, provenance, table, relevant_from=knowledge.relevant_from)
    if reason or provenance is None or cache is None:
        return None, (), reason
    taught, model = depth, cache.model(depth)
    is_shallow = why_untaught(model, table) != ""
    if is_shallow:  # hold-outs leave too little within the cutoff: then the whole pool teaches, and no scale is known
        taught = np.maximum(depth, provenance.depth)
        model = cache.model(taught)
    if reason := why_untaught(model, table):
        return None, (), reason
    if not is_shallow:
        model = scale_model(measure, model, cache, depth=depth, rng=rng)
    kinds, groups = np.array(knowledge.families), provenance.group_of_run
    by_family = []
    for family in sorted(set(knowledge.families) - {""}):
        runs = np.flatnonzero((kinds == family) & (groups >= 0))
        if len(np.unique(groups[runs])) >= table.fewest_groups:
            own = fit_model(cache.counts(taught), runs, table)
            if not why_untaught(own, table):
                # The scales are those of the measure: they take more runs to learn than a family has.
                popular = own.popular
                if popular is not None and model.popular is not None:
                    popular = replace(popular, scale=model.popular.scale)
                own = replace(own, blind=replace(own.blind, scale=model.blind.scale), popular=popular)
                by_family.append((family, own))
    return model, tuple(by_family), ""


def _loss_by_model(
    alignment: Alignment,
    measure: Measure,
    models: Sequence[UnjudgedModel | None],
    depth: Counts,
    rng: np.random.Generator,
    popularity: Values | None,
) -> Loss | None:
    """The expected loss of all runs, each by its own model; None without any. All models have the same draws."""
    distinct = {id(one): one for one in models if one is not None}.values()
    if not distinct:
        return None
    loss, drawing = Loss.none(measure, alignment.scored.shape), rng.spawn(1)[0]
    for model in distinct:
        runs, same = [run for run, one in enumerate(models) if one is model], deepcopy(drawing)
        part = expected_loss(alignment, measure, model, depth=depth, rng=same, runs=runs, popularity=popularity)
        for name in ("by_topic", "mean", "upper", "upper_blind", "unlike"):
            getattr(loss, name)[runs] = getattr(part, name)[runs]
    return loss


def _of_pool(knowledge: Knowledge, lists: Lists, *, to_rank: str, whole: bool) -> dict[str, Any]:
    """The evidence that is the same for all runs.

    `to_rank` is the pool depth, if the measure looks below it; `whole` says that the interval does, too.
    """
    pool_judged, topic_pool_judged = map(min, zip(_judged_shares(lists), knowledge.judged, strict=True))
    return {
        "pool_judged": pool_judged,
        "topic_pool_judged": topic_pool_judged,
        "finished": knowledge.finished,
        "depth_known": knowledge.depth_known or not to_rank,
        "inferred": knowledge.inferred,
        "inferred_depth": knowledge.inferred and bool(to_rank),
        "to_rank": to_rank,
        "interval_to": "" if whole else to_rank,
    }


def _judged_shares(lists: Lists) -> tuple[float, float]:
    """The share of the pool that is judged, and the smallest of a topic's pool that lacks more than one document.

    One document is more than 1% of a small pool, but no unfinished judging. A sample leaves the rest of the pool
    unjudged for good: then all counts as judged.
    """
    pool = lists.pooled_count
    if pool is None or not pool.any() or lists.stratified is not None:
        return 1.0, 1.0
    judged = lists.level_counts.sum(axis=1)
    waiting = pool - judged > 1
    return float(judged.sum() / pool.sum()), float((judged[waiting] / pool[waiting]).min(initial=1.0))


def _open_by_pooled(alignment: Alignment, measure: Measure, depth: Counts) -> Values:
    """By how much pooled but unjudged documents could change the score of each run; in a sample they never will."""
    lists, topics, runs = alignment.lists, len(alignment.topic_ids), len(alignment.run_names)
    most = np.zeros(runs)
    if lists.stratified is not None or _judged_shares(lists)[0] == 1:
        return most
    found = unjudged_within(lists, depth)
    here = np.unique(found.cell[found.grade != NOT_POOLED] // topics)
    if len(here):
        cells = (here[:, None] * topics + np.arange(topics)).ravel()
        chosen = lists.chosen(cells)
        waiting = unjudged_within(chosen, depth)
        ends = interval(measure, chosen, waiting.where(waiting.grade != NOT_POOLED))
        rows = (one.reshape(-1, topics) for one in (ends.lower, ends.values, ends.upper))
        low, now, high = summaries([measure] * 3, rows, alignment.scored[here])
        most[here] = np.nan_to_num(np.maximum(high - now, now - low))
    return most


def tolerance_of(measure: Measure, lists: Lists, thresholds: Thresholds) -> float:
    """The tolerance in points of the measure: that of the table for measures from 0 to 1.

    Where a measure has no highest value (DCG) it is that share of what a list full of the highest grade would have.
    """
    if measure.kind.bounds is not None:
        lowest, highest = measure.kind.bounds
        return thresholds.tolerance * (highest - lowest)
    size = measure.cutoff if isinstance(measure.cutoff, int) else int(lists.length.max(initial=1)) or 1
    best = int(lists.levels.max(initial=1))
    full = Lists(
        grades=np.full(size, best, dtype=np.int32),
        offsets=np.array([0, size]),
        topics=np.array([0]),
        levels=np.array([best], dtype=np.int32),
        level_counts=np.array([[size]]),
        highest_grade=best,
    )
    return thresholds.tolerance * abs(float(measure.values(full)[0]))
