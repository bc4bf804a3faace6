"""All runs judged on how far their scores can be trusted: coverage, expected loss and verdict, measure by measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cranfield.base.text import counted
from cranfield.compare.differences import repeated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Lists, Values, ratio
from cranfield.evaluate.measure import aggregated_rows
from cranfield.evaluate.measures.user_models import powers
from cranfield.reuse.card import Card
from cranfield.reuse.expected_loss import Loss, ModelCache, expected_loss, scale_model
from cranfield.reuse.intervals import takes_pool_depth
from cranfield.reuse.provenance import Provenance, pooled_shares, prefix_of
from cranfield.reuse.unjudged_model import LabelCounts, UnjudgedModel, fit_model
from cranfield.reuse.verdict import Evidence, Thresholds, Verdict, verdict_of

TAIL = 0.01
"""The weight that RBP may have left below the depth that matters to it."""

NO_PROVENANCE = "it is not known which runs fed the pool, and there is no card"

Learn = Literal["always", "where unjudged"]
FamilyModels = tuple[tuple[str, UnjudgedModel], ...]


@dataclass(frozen=True, eq=False)
class Coverage:
    """What is judged of each run down to the depth that matters to a measure, as runs by topics.

    `depth` is that depth, k, for each topic. `judged` is judged@k, over k or the length of a shorter list; NaN where
    the run has no document. `count` are the unjudged documents within k, `length` that of the lists, `first` the rank
    of the first unjudged one wherever it stands (one past the end where there is none). `scored` tells the topics
    that count for a run. `contributed` says in which topics the first k were pooled: the run fed the pool at least
    down to k or the end of its list.
    """

    measure: Measure
    topic_ids: tuple[str, ...]
    depth: Counts
    judged: Values
    count: Counts
    length: Counts
    first: Counts
    scored: NDArray[np.bool_]
    contributed: NDArray[np.bool_]

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """The topics of each run that have a list to speak of."""
        return self.scored & ~np.isnan(self.judged)

    @property
    def any(self) -> bool:
        """Whether a run has an unjudged document within k."""
        return bool(self.count[self.counted].any())

    def mean(self, run: int) -> float:
        """Give the mean of judged@k; 1 for a run without any document."""
        shares = self.judged[run][self.counted[run]]
        return float(shares.mean()) if len(shares) else 1.0

    def low(self, run: int, *, below: float) -> int:
        """Count the topics of which a smaller share is judged."""
        return int((self.judged[run][self.counted[run]] < below).sum())

    def topics(self, run: int) -> int:
        """Count the topics with a list."""
        return int(self.counted[run].sum())

    def total(self, run: int) -> int:
        """Count the unjudged documents within k."""
        return int(self.count[run][self.counted[run]].sum())

    def worst(self, run: int, most: int = 5) -> list[tuple[str, float]]:
        """Give the topics with the smallest judged@k below 1, worst first, in the order of topics where equal."""
        shares = np.where(self.counted[run], self.judged[run], np.inf)
        order = np.argsort(shares, kind="stable")[:most]
        return [(self.topic_ids[place], float(shares[place])) for place in order.tolist() if shares[place] < 1]

    def first_unjudged(self, run: int) -> int | None:
        """Give the highest rank at which the run has an unjudged document in any topic; None where it has none."""
        here = self.counted[run] & (self.first[run] <= self.length[run])
        return int(self.first[run][here].min()) if here.any() else None

    def pooled(self, run: int) -> bool:
        """Say whether the run's first k were pooled on all topics, and so are judged."""
        fed = self.contributed[run]
        return bool(fed.any() and fed[self.counted[run]].all()) and self.total(run) == 0


def measure_depths(measure: Measure, pool_depth: Counts) -> Counts:
    """Give for each topic the depth k down to which an unjudged document matters to a measure.

    The cutoff; the pool depth for measures of the whole list (AP, R-precision, bpref, nDCG without a cutoff), since
    below it nearly nothing is judged of anybody; for RBP the rank below which less than 1 % of its weight lies.
    """
    if isinstance(measure.cutoff, int):
        return np.full(len(pool_depth), measure.cutoff, dtype=np.int64)
    if takes_pool_depth(measure):
        return np.asarray(pool_depth, dtype=np.int64)
    return np.full(len(pool_depth), ceil(round(log(TAIL) / log(measure.parameters["p"]), 9)), dtype=np.int64)


def coverage_of(
    alignment: Alignment, measure: Measure, *, pool_depth: Counts, provenance: Provenance | None = None
) -> Coverage:
    """Find what is judged of all runs. `pool_depth` is one number per topic. Without provenance none contributed."""
    lists, shape = alignment.lists, alignment.shape
    depth = measure_depths(measure, pool_depth)
    reach = np.minimum(lists.length, depth[lists.topics])
    if 2 * int(reach.sum()) < len(lists.grades):  # deep below the first documents nothing is looked at
        count = reach - prefix_of(lists, depth).lists.judged_so_far.within(None)
    else:
        count = reach - lists.judged_so_far.until(reach)
    judged = 1.0 - ratio(count, reach) if measure.kind.tail is None else _judged_weight(lists, measure)
    contributed = np.zeros(shape, dtype=bool)
    if provenance is not None:
        fed = np.minimum(lists.length, provenance.depth[lists.topics]).reshape(shape) >= reach.reshape(shape)
        contributed = (provenance.group_of_run >= 0)[:, np.newaxis] & fed & (reach.reshape(shape) > 0)
    return Coverage(
        measure=measure,
        topic_ids=alignment.topic_ids,
        depth=depth,
        judged=np.where(lists.length > 0, judged, np.nan).reshape(shape),
        count=count.reshape(shape),
        length=lists.length.reshape(shape),
        first=lists.first_unjudged.reshape(shape),
        scored=alignment.scored,
        contributed=contributed,
    )


def _judged_weight(lists: Lists, measure: Measure) -> Values:
    """Give the share of RBP's weight that stands on judged documents: 1 - residual where there is no cutoff."""
    p = float(measure.parameters["p"])
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    judged = lists.judged.within(cutoff)
    known = (1.0 - p) * judged.total(powers(p, judged.rank))
    whole = 1.0 if cutoff is None else 1.0 - p ** np.minimum(lists.length, cutoff)
    return np.minimum(ratio(known, whole), 1.0)


def depth_in_words(pool_depth: Sequence[int] | Counts) -> str:
    """Give the pool depth in words: one number, or from the lowest to the highest."""
    low, high = int(np.min(pool_depth)), int(np.max(pool_depth))
    return str(low) if low == high else f"{low} to {high}"


# Whether anything can be learned about unjudged documents in a pool, and if not, why.


def why_untestable(
    alignment: Alignment,
    provenance: Provenance | None,
    thresholds: Thresholds | None = None,
    *,
    relevant_from: int = 1,
) -> str:
    """Say why holding out groups teaches nothing here; an empty text where it does.

    `relevant_from` is the lowest grade that is relevant. The reasons: no provenance; qrels that have only positive
    rows, so that nobody knows what was looked at in vain; too few groups; contributors that the qrels do not know
    down to the pool depth; one group that owns most of what is unique and relevant.
    """
    table, lists = thresholds or Thresholds(), alignment.lists
    if provenance is None:
        return NO_PROVENANCE
    if not lists.level_counts[:, lists.levels < relevant_from].sum():
        return "the qrels have no document that was judged not relevant"
    groups = len(provenance.groups)
    if groups < table.fewest_groups:
        return f"only {counted(groups, 'group')} fed the pool, and {table.fewest_groups:g} are needed"
    fitting = float(np.nan_to_num(pooled_shares(alignment, provenance))[provenance.group_of_run >= 0].mean())
    if fitting < table.fitting_share:
        share = f"{100 * fitting:.0f} %"
        return f"the pool depth does not fit: only {share} of what the contributors pooled is in the qrels"
    unique = provenance.removed_counts[:, :, lists.levels >= relevant_from].sum(axis=(1, 2))
    largest, total = int(unique.argmax()), int(unique.sum())
    if total < table.fewest_holes or unique[largest] / total <= table.largest_share:
        return ""  # the larger half of two or three documents says nothing
    share = f"{100 * unique[largest] / total:.0f} %"
    return f"group {provenance.groups[largest]!r} owns {share} of the unique relevant documents"


def why_untaught(model: UnjudgedModel, thresholds: Thresholds | None = None) -> str:
    """Say why a model was learned from too little; an empty text where there is enough."""
    fewest = (thresholds or Thresholds()).fewest_holes
    if model.unjudged < fewest:
        return f"holding out groups made only {counted(model.unjudged, 'hole')}, and {fewest:g} are needed"
    return "all judged documents have one grade" if len(model.levels) < 2 else ""


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of all runs by one measure.

    `low` and `high` are the intervals of the runs' scores (NaN where there are none). `model` and `loss` are None
    where nothing could be learned, and `untestable` says why. `family_models` are those of kinds of systems with
    groups enough. `verdicts` are in the order of the runs, None where the measure takes none.
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
    untestable: str
    evidence: tuple[Evidence, ...]
    verdicts: tuple[Verdict | None, ...]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Where what is known about unjudged documents comes from: the contributing runs, or a card, or neither.

    `pool_depth` is one number per topic of the alignment. `families` names the kind of each run of the alignment
    ("" for unknown); `relevant_from` is the lowest grade that is relevant. `ended` is the share of the topics for
    which a live plan has chosen everything. `inferred` says that nobody told who fed the pool, or how deep.
    """

    pool_depth: Counts
    provenance: Provenance | None = None
    card: Card | None = None
    families: Sequence[str] = ()
    relevant_from: int = 1
    ended: float = 1.0
    inferred: bool = False


def assess_runs(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    *,
    low: Values | None = None,
    high: Values | None = None,
    rng: np.random.Generator,
    thresholds: Thresholds | None = None,
    draws: int | None = None,
    cache: ModelCache | None = None,
    learn: Learn = "always",
) -> Assessment:
    """Assess all runs by one measure. `low` and `high` are the exact intervals of the runs' scores.

    `cache` is that of the alignment and the provenance, if other measures are asked about too. Where no run has an
    unjudged document there is nothing to expect: nothing need be learned then, unless the model itself is wanted.
    """
    table, runs = thresholds or Thresholds(), alignment.shape[0]
    coverage = coverage_of(alignment, measure, pool_depth=knowledge.pool_depth, provenance=knowledge.provenance)
    scaling, drawing = rng.spawn(2)
    model: UnjudgedModel | None = None
    families: FamilyModels = ()
    untestable = ""
    loss: Loss | None = Loss(measure, np.zeros(alignment.shape), np.zeros(runs), np.zeros(runs))
    if learn == "always" or coverage.any:
        model, families, untestable = _learn(alignment, measure, knowledge, coverage.depth, table, scaling, cache)
        loss = None
        if model is not None and measure.takes_verdict:
            models = _models_of_runs(model, families, knowledge.families, runs)
            loss = _loss_by_model(alignment, measure, models, coverage.depth, drawing, draws)
    values = measure.values(alignment.lists).reshape(alignment.shape)
    score = aggregated_rows(values, alignment.scored, measure.aggregate)
    if loss is not None and low is not None and high is not None:
        loss = within_interval(loss, score, low, high)
    nothing = np.full(runs, np.nan)
    assessment = Assessment(
        measure=measure,
        run_names=alignment.run_names,
        score=score,
        low=nothing if low is None else low,
        high=nothing if high is None else high,
        tolerance=tolerance_of(measure, alignment.lists, table),
        coverage=coverage,
        model=model,
        family_models=families,
        loss=loss,
        untestable=untestable,
        evidence=(),
        verdicts=(),
    )
    of_runs = [model] * runs if model is None else _models_of_runs(model, families, knowledge.families, runs)
    judged = judged_of_pool(alignment.lists)
    evidence = tuple(
        _evidence(assessment, run, of_runs[run], judged, knowledge, table.topic_judged) for run in range(runs)
    )
    verdicts = tuple(verdict_of(one, table) if measure.takes_verdict else None for one in evidence)
    return replace(assessment, evidence=evidence, verdicts=verdicts)


def _learn(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    depth: Counts,
    table: Thresholds,
    rng: np.random.Generator,
    cache: ModelCache | None,
) -> tuple[UnjudgedModel | None, FamilyModels, str]:
    """Learn from the contributors, else take the card's word; without a model, why there is none."""
    if knowledge.provenance is None and knowledge.card is not None:
        entry = knowledge.card.entry(measure)
        if entry is None:
            return None, (), "the card says nothing about this measure"
        if entry.model is None:
            return None, (), f"the card says: {entry.untestable}"
        return entry.model, entry.families, ""
    reason = why_untestable(alignment, knowledge.provenance, table, relevant_from=knowledge.relevant_from)
    if reason or knowledge.provenance is None:
        return None, (), reason or NO_PROVENANCE
    cache = cache or ModelCache(alignment, knowledge.provenance)
    model = cache.model(depth)
    reason = why_untaught(model, table)
    if reason:
        return None, (), reason
    if measure.takes_verdict:
        model = scale_model(measure, model, cache, depth=depth, rng=rng)
    families = _family_models(cache.counts(depth), knowledge.families, table)
    return model, tuple((family, replace(one, scale=model.scale)) for family, one in families), ""


def _family_models(counts: LabelCounts, families: Sequence[str], table: Thresholds) -> FamilyModels:
    """Give what the groups of each family teach, where there are enough of them."""
    kinds = np.array(families if len(families) else [""] * len(counts.group_of_run))
    found = []
    for family in sorted(set(kinds.tolist()) - {""}):
        runs = np.flatnonzero((kinds == family) & (counts.group_of_run >= 0))
        if len(np.unique(counts.group_of_run[runs])) >= table.fewest_groups:
            model = fit_model(counts, runs)
            if not why_untaught(model, table):
                found.append((family, model))
    return tuple(found)


def _models_of_runs(
    model: UnjudgedModel, by_family: FamilyModels, families: Sequence[str], runs: int
) -> list[UnjudgedModel]:
    """Give each run the model of its family, where there is one."""
    known = dict(by_family)
    return [known.get(family, model) for family in families] or [model] * runs


def _loss_by_model(
    alignment: Alignment,
    measure: Measure,
    models: Sequence[UnjudgedModel],
    depth: Counts,
    rng: np.random.Generator,
    draws: int | None,
) -> Loss:
    """Give the expected loss of all runs, each by its own model; all models have the same draws."""
    by_topic = np.full(alignment.shape, np.nan)
    mean, upper = np.full(alignment.shape[0], np.nan), np.full(alignment.shape[0], np.nan)
    for model, same in zip({id(one): one for one in models}.values(), repeated(rng), strict=False):
        runs = [run for run, one in enumerate(models) if one is model]
        part = expected_loss(alignment, measure, model, depth=depth, rng=same, runs=runs, draws=draws)
        by_topic[runs], mean[runs], upper[runs] = part.by_topic[runs], part.mean[runs], part.upper[runs]
    return Loss(measure, by_topic, mean, upper)


def within_interval(loss: Loss, score: Values, low: Values, high: Values) -> Loss:
    """Give the expected loss where it leaves the score possible: nothing is expected that no labels could do."""
    with np.errstate(invalid="ignore"):
        known = np.isfinite(low) & np.isfinite(high) & (low <= score) & (score <= high)
    lowest, highest = np.where(known, low - score, -np.inf), np.where(known, high - score, np.inf)
    mean, upper = (np.clip(values, lowest, highest) for values in (loss.mean, loss.upper))
    return Loss(loss.measure, loss.by_topic, mean, upper)


def tolerance_of(measure: Measure, lists: Lists, thresholds: Thresholds) -> float:
    """Give the tolerance in points of the measure: that of the table for measures from 0 to 1.

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


def judged_of_pool(lists: Lists) -> float:
    """Give the share of the pool that was judged: rows of the qrels with a negative grade are pooled and waiting."""
    if lists.pooled_count is None or not lists.pooled_count.sum():
        return 1.0
    return float(lists.level_counts.sum() / lists.pooled_count.sum())


def _evidence(
    assessment: Assessment,
    run: int,
    model: UnjudgedModel | None,
    pool_judged: float,
    knowledge: Knowledge,
    topic_judged: float,
) -> Evidence:
    coverage, loss = assessment.coverage, assessment.loss
    known = bool(np.isfinite(assessment.low[run]) and np.isfinite(assessment.high[run]))
    return Evidence(
        judged=coverage.mean(run),
        topics=coverage.topics(run),
        low_topics=coverage.low(run, below=topic_judged),
        unjudged=coverage.total(run),
        low=float(assessment.low[run]) if known else None,
        high=float(assessment.high[run]) if known else None,
        score=float(assessment.score[run]),
        pooled=coverage.pooled(run),
        missing=int(coverage.scored[run].sum()) - coverage.topics(run),
        pool_judged=pool_judged,
        ended=knowledge.ended,
        loss=None if loss is None else float(loss.mean[run]),
        upper=None if loss is None else float(loss.upper[run]),
        upper_is_maximum=model is not None and model.factor.is_maximum,
        groups=0 if model is None else model.groups,
        untestable=assessment.untestable,
        tolerance=assessment.tolerance,
        inferred=knowledge.inferred,
        inferred_depth=knowledge.inferred and takes_pool_depth(assessment.measure),
    )
