"""All runs judged on how far their scores can be trusted: holes, expected loss and verdict, measure by measure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from cranfield.compare.drawing import repeated
from cranfield.evaluate.aggregate import aggregated_rows
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.reuse.card import Card, Entry
from cranfield.reuse.holes import Holes, depth_is_of_pool, depths_that_matter, holes_of, judged_of_pool
from cranfield.reuse.kappa import Kappa, learned
from cranfield.reuse.lessons import Lessons
from cranfield.reuse.loss import Loss, expected_loss
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.scaling import scaled
from cranfield.reuse.tally import Tally
from cranfield.reuse.testable import NO_PROVENANCE, why_untaught, why_untestable
from cranfield.reuse.thresholds import Thresholds
from cranfield.reuse.verdict import Evidence, Verdict, takes_verdict, verdict_of

Learn = Literal["always", "where there are holes"]


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is known of all runs by one measure.

    `low` and `high` are the intervals of the runs' scores (NaN where there are none). `kappa` and `loss` are None
    where nothing could be learned, and `untestable` says why. `family_kappas` are those of kinds of systems with
    groups enough. `verdicts` are in the order of the runs, None where the measure takes none.
    """

    measure: Measure
    run_names: tuple[str, ...]
    score: Values
    low: Values
    high: Values
    tolerance: float
    holes: Holes
    kappa: Kappa | None
    family_kappas: tuple[tuple[str, Kappa], ...]
    loss: Loss | None
    untestable: str
    evidence: tuple[Evidence, ...]
    verdicts: tuple[Verdict | None, ...]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Where what is known about holes comes from: the contributing runs, or a card, or neither.

    `pool_depth` is one number per topic of the alignment. `families` names the kind of each run of the alignment
    ("" for unknown); `relevant_from` is the lowest grade that is relevant. `ended` is the share of the topics for
    which a live plan has chosen everything. `guessed` says that nobody told who fed the pool, or how deep.
    """

    pool_depth: Counts
    provenance: Provenance | None = None
    card: Card | None = None
    families: Sequence[str] = ()
    relevant_from: int = 1
    ended: float = 1.0
    guessed: bool = False


def assessed(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    *,
    low: Values | None = None,
    high: Values | None = None,
    rng: np.random.Generator,
    thresholds: Thresholds | None = None,
    draws: int | None = None,
    lessons: Lessons | None = None,
    learn: Learn = "always",
) -> Assessment:
    """Assess all runs by one measure. `low` and `high` are the exact intervals of the runs' scores.

    `lessons` are those of the alignment and the provenance, if other measures are asked about too. Where no run has a
    hole there is nothing to expect: nothing need be learned then, unless kappa itself is wanted.
    """
    table = thresholds or Thresholds()
    runs = alignment.shape[0]
    depth = depths_that_matter(measure, knowledge.pool_depth)
    holes = holes_of(alignment, measure, pool_depth=knowledge.pool_depth, provenance=knowledge.provenance)
    scaling, drawing = rng.spawn(2)
    if learn == "always" or holes.any:
        taught = _taught(alignment, measure, knowledge, depth, table, scaling, lessons)
        loss = _loss(alignment, measure, taught, knowledge.families, holes, rng=drawing, draws=draws)
    else:
        taught, loss = _Taught(), Loss(measure, np.zeros(alignment.shape), np.zeros(runs), np.zeros(runs))
    score, nothing = _summaries(alignment, measure), np.full(runs, np.nan)
    if loss is not None and low is not None and high is not None:
        loss = within_interval(loss, score, low, high)
    assessment = Assessment(
        measure=measure,
        run_names=alignment.run_names,
        score=score,
        low=nothing if low is None else low,
        high=nothing if high is None else high,
        tolerance=tolerance_of(measure, alignment.lists, table),
        holes=holes,
        kappa=taught.kappa,
        family_kappas=taught.families,
        loss=loss,
        untestable=taught.untestable,
        evidence=(),
        verdicts=(),
    )
    judged = judged_of_pool(alignment.lists)
    telling = partial(
        replace,
        ended=knowledge.ended,
        guessed=knowledge.guessed,
        guessed_depth=knowledge.guessed and depth_is_of_pool(measure),
    )
    evidence = tuple(telling(_evidence(assessment, run, judged, knowledge.families, table)) for run in range(runs))
    given = takes_verdict(measure)
    verdicts = tuple(verdict_of(one, table) if given else None for one in evidence)
    return replace(assessment, evidence=evidence, verdicts=verdicts)


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


@dataclass(frozen=True, eq=False)
class _Taught:
    kappa: Kappa | None = None
    families: tuple[tuple[str, Kappa], ...] = ()
    untestable: str = ""


def _taught(
    alignment: Alignment,
    measure: Measure,
    knowledge: Knowledge,
    depth: Counts,
    table: Thresholds,
    rng: np.random.Generator,
    lessons: Lessons | None,
) -> _Taught:
    """Learn from the contributors; else take the card's word."""
    if knowledge.provenance is None and knowledge.card is not None:
        return _from_card(knowledge.card.entry(measure))
    reason = why_untestable(alignment, knowledge.provenance, table, relevant_from=knowledge.relevant_from)
    if reason or knowledge.provenance is None:
        return _Taught(untestable=reason or NO_PROVENANCE)
    lessons = lessons or Lessons(alignment, knowledge.provenance)
    kappa = lessons.kappa(depth)
    reason = why_untaught(kappa, table)
    if reason:
        return _Taught(untestable=reason)
    if takes_verdict(measure):
        kappa = scaled(measure, kappa, lessons, depth=depth, rng=rng)
    families = family_kappas(lessons.tally(depth), knowledge.families, table)
    return _Taught(kappa, tuple((family, replace(one, scale=kappa.scale)) for family, one in families))


def _from_card(entry: Entry | None) -> _Taught:
    if entry is None:
        return _Taught(untestable="the card says nothing about this measure")
    if entry.kappa is None:
        return _Taught(untestable=f"the card says: {entry.untestable}")
    return _Taught(entry.kappa, entry.families)


def family_kappas(
    tally: Tally, families: Sequence[str], thresholds: Thresholds | None = None
) -> tuple[tuple[str, Kappa], ...]:
    """Give what the groups of each family teach, where there are enough of them."""
    table = thresholds or Thresholds()
    kinds = np.array(families if len(families) else [""] * len(tally.group_of_run))
    found = []
    for family in sorted(set(kinds.tolist()) - {""}):
        runs = np.flatnonzero((kinds == family) & (tally.group_of_run >= 0))
        if len(np.unique(tally.group_of_run[runs])) >= table.fewest_groups:
            kappa = learned(tally, runs)
            if not why_untaught(kappa, table):
                found.append((family, kappa))
    return tuple(found)


def _loss(
    alignment: Alignment,
    measure: Measure,
    taught: _Taught,
    families: Sequence[str],
    holes: Holes,
    *,
    rng: np.random.Generator,
    draws: int | None,
) -> Loss | None:
    """Give the expected loss of all runs, each by the kappa of its family where there is one."""
    if taught.kappa is None or not takes_verdict(measure):
        return None
    by_family = dict(taught.families)
    kinds = [family if family in by_family else "" for family in families] or [""] * alignment.shape[0]
    by_topic = np.full(alignment.shape, np.nan)
    mean, upper = np.full(alignment.shape[0], np.nan), np.full(alignment.shape[0], np.nan)
    for family, same in zip(sorted(set(kinds)), repeated(rng), strict=False):
        runs = [run for run, kind in enumerate(kinds) if kind == family]
        kappa = by_family.get(family, taught.kappa)
        part = expected_loss(alignment, measure, kappa, depth=holes.depth, rng=same, runs=runs, draws=draws)
        by_topic[runs], mean[runs], upper[runs] = part.by_topic[runs], part.mean[runs], part.upper[runs]
    return Loss(measure, by_topic, mean, upper)


def _evidence(
    assessment: Assessment, run: int, pool_judged: float, families: Sequence[str], table: Thresholds
) -> Evidence:
    holes, loss = assessment.holes, assessment.loss
    by_family = dict(assessment.family_kappas)
    kappa = by_family.get(families[run], assessment.kappa) if len(families) else assessment.kappa
    known = bool(np.isfinite(assessment.low[run]) and np.isfinite(assessment.high[run]))
    return Evidence(
        judged=holes.mean(run),
        topics=holes.topics(run),
        low_topics=holes.low(run, below=table.topic_judged),
        holes=holes.total(run),
        low=float(assessment.low[run]) if known else None,
        high=float(assessment.high[run]) if known else None,
        score=float(assessment.score[run]),
        pooled=holes.pooled(run),
        missing=int(holes.scored[run].sum()) - holes.topics(run),
        pool_judged=pool_judged,
        loss=None if loss is None else float(loss.mean[run]),
        upper=None if loss is None else float(loss.upper[run]),
        upper_is_maximum=kappa is not None and kappa.factor.is_maximum,
        groups=0 if kappa is None else kappa.groups,
        untestable=assessment.untestable,
        tolerance=assessment.tolerance,
    )


def _summaries(alignment: Alignment, measure: Measure) -> Values:
    values = measure.values(alignment.lists).reshape(alignment.shape)
    return aggregated_rows(values, alignment.scored, measure.aggregate)
