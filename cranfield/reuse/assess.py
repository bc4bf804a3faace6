"""All runs judged on how far their scores can be trusted: holes, expected loss and verdict, measure by measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from cranfield.reuse.card import Card, Entry
from cranfield.reuse.expected_loss import Lessons, Loss, expected_loss, scaled
from cranfield.reuse.intervals import takes_pool_depth
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.reuse.unjudged_model import Kappa, Tally, learned
from cranfield.reuse.verdict import Evidence, Thresholds, Verdict, takes_verdict, verdict_of

# Where a run stands on documents that nobody judged, down to the depth that matters to a measure.

TAIL = 0.01
"""The weight that RBP may have left below the depth that matters to it."""


@dataclass(frozen=True, eq=False)
class Holes:
    """What is judged of each run down to the depth that matters to a measure, as runs by topics.

    `depth` is that depth, k, for each topic. `judged` is judged@k, over k or the length of a shorter list; NaN where
    the run has no document. `count` are the holes within k, `length` that of the lists, `first` the rank of the first
    unjudged document wherever it stands (one past the end where there is none), `short` the lists that end before k.
    `scored` tells the topics that count for a run. `contributed` says in which topics the first k were pooled: the
    run fed the pool at least down to k or the end of its list.
    """

    measure: Measure
    topic_ids: tuple[str, ...]
    depth: Counts
    judged: Values
    count: Counts
    length: Counts
    first: Counts
    short: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    contributed: NDArray[np.bool_]

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """The topics of each run that have a list to speak of."""
        return self.scored & ~np.isnan(self.judged)

    @property
    def any(self) -> bool:
        """Whether a run has a hole within k."""
        return bool(self.count[self.counted].any())

    def mean(self, run: int) -> float:
        """Give the mean of judged@k; 1 for a run without any document, which has no hole."""
        shares = self.judged[run][self.counted[run]]
        return float(shares.mean()) if len(shares) else 1.0

    def low(self, run: int, *, below: float) -> int:
        """Count the topics of which a smaller share is judged."""
        return int((self.judged[run][self.counted[run]] < below).sum())

    def topics(self, run: int) -> int:
        """Count the topics with a list."""
        return int(self.counted[run].sum())

    def total(self, run: int) -> int:
        """Count the holes within k."""
        return int(self.count[run][self.counted[run]].sum())

    def shorter(self, run: int) -> int:
        """Count the lists that end before k."""
        return int((self.short[run] & self.counted[run]).sum())

    def worst(self, run: int, most: int = 5) -> list[tuple[str, float]]:
        """Give the topics with the smallest judged@k below 1, worst first, in the order of topics where equal."""
        shares = np.where(self.counted[run], self.judged[run], np.inf)
        order = np.argsort(shares, kind="stable")[:most]
        return [(self.topic_ids[place], float(shares[place])) for place in order.tolist() if shares[place] < 1]

    def first_hole(self, run: int) -> int | None:
        """Give the highest rank at which the run has an unjudged document in any topic; None where it has none."""
        here = self.counted[run] & (self.first[run] <= self.length[run])
        return int(self.first[run][here].min()) if here.any() else None

    def pooled(self, run: int) -> bool:
        """Say whether the run's first k were pooled on all topics, and so are judged."""
        fed = self.contributed[run]
        return bool(fed.any() and fed[self.counted[run]].all()) and self.total(run) == 0


def depths_that_matter(measure: Measure, pool_depth: Counts) -> Counts:
    """Give for each topic the depth k down to which a hole matters to a measure.

    The cutoff; the pool depth for measures of the whole list (AP, R-precision, bpref, nDCG without a cutoff), since
    below it nearly nothing is judged of anybody; for RBP the rank below which less than 1 % of its weight lies.
    """
    if isinstance(measure.cutoff, int):
        return np.full(len(pool_depth), measure.cutoff, dtype=np.int64)
    if takes_pool_depth(measure):
        return np.asarray(pool_depth, dtype=np.int64)
    return np.full(len(pool_depth), ceil(round(log(TAIL) / log(_persistence(measure)), 9)), dtype=np.int64)


def holes_of(
    alignment: Alignment, measure: Measure, *, pool_depth: Counts, provenance: Provenance | None = None
) -> Holes:
    """Find the holes of all runs. `pool_depth` is one number per topic; without provenance nobody contributed."""
    lists, shape = alignment.lists, alignment.shape
    depth = depths_that_matter(measure, pool_depth)
    reach = np.minimum(lists.length, depth[lists.topics])
    count = reach - _judged_until(lists, depth, reach)
    judged = _weighed(lists, measure) if measure.name == "RBP" else 1.0 - ratio(count, reach)
    judged = np.where(lists.length > 0, judged, np.nan)
    contributed = np.zeros(shape, dtype=bool)
    if provenance is not None:
        fed = np.minimum(lists.length, provenance.depth[lists.topics]).reshape(shape) >= reach.reshape(shape)
        contributed = (provenance.group_of_run >= 0)[:, np.newaxis] & fed & (reach.reshape(shape) > 0)
    return Holes(
        measure=measure,
        topic_ids=alignment.topic_ids,
        depth=depth,
        judged=judged.reshape(shape),
        count=count.reshape(shape),
        length=lists.length.reshape(shape),
        first=lists.first_unjudged.reshape(shape),
        short=(lists.length < depth[lists.topics]).reshape(shape),
        scored=alignment.scored,
        contributed=contributed,
    )


def _judged_until(lists: Lists, depth: Counts, reach: Counts) -> Counts:
    """Give how many of the first documents of each list are judged; deep below them nothing is looked at."""
    if 2 * int(reach.sum()) < len(lists.grades):
        return prefix_of(lists, depth).lists.judged_so_far.within(None)
    return lists.judged_so_far.until(reach)


def judged_of_pool(lists: Lists) -> float:
    """Give the share of the pool that was judged: rows of the qrels with a negative grade are pooled and waiting."""
    if lists.pooled_count is None or not lists.pooled_count.sum():
        return 1.0
    return float(lists.level_counts.sum() / lists.pooled_count.sum())


def misfits(alignment: Alignment, provenance: Provenance) -> list[tuple[str, float]]:
    """Give the contributors with pooled documents that the qrels lack, and the share that they have, worst first.

    A pool depth that does not fit the qrels, or a run that did not feed the pool, shows here.
    """
    shares = fitting_shares(alignment, provenance)
    found = [(alignment.run_names[run], float(shares[run])) for run in np.flatnonzero(shares < 1).tolist()]
    return sorted(found, key=lambda one: (one[1], one[0]))


def fitting_shares(alignment: Alignment, provenance: Provenance) -> Values:
    """Give for each run the share of its pooled prefix that is in the qrels; NaN for outsiders."""
    lists = alignment.lists
    prefix = prefix_of(lists, provenance.depth).lists
    taken, known = prefix.length, prefix.pooled.count
    by_run = ratio(known.reshape(alignment.shape).sum(axis=1), taken.reshape(alignment.shape).sum(axis=1))
    return np.where(provenance.group_of_run >= 0, by_run, np.nan)


def _weighed(lists: Lists, measure: Measure) -> Values:
    """Give the share of RBP's weight that stands on judged documents: 1 - residual where there is no cutoff."""
    persistence = _persistence(measure)
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    judged = lists.judged.within(cutoff)
    known = (1.0 - persistence) * judged.total(powers(persistence, judged.rank))
    whole = 1.0 if cutoff is None else 1.0 - persistence ** np.minimum(lists.length, cutoff)
    return np.minimum(ratio(known, whole), 1.0)


def _persistence(measure: Measure) -> float:
    default = measure.kind.parameters["p"].default
    return float(dict(measure.settings).get("p", default))  # type: ignore[arg-type]


def common_depth_of(pool_depth: Sequence[int] | Counts) -> str:
    """Give the pool depth in words: one number, or from the lowest to the highest."""
    low, high = int(np.min(pool_depth)), int(np.max(pool_depth))
    return str(low) if low == high else f"{low} to {high}"


# Whether anything can be learned about holes in a pool, and if not, why.

NO_PROVENANCE = "it is not known which runs fed the pool, and there is no card"


def why_untestable(
    alignment: Alignment,
    provenance: Provenance | None,
    thresholds: Thresholds | None = None,
    *,
    relevant_from: int = 1,
) -> str:
    """Say why holding out groups teaches nothing here; an empty text where it does.

    `relevant_from` is the lowest grade that is relevant. The reasons: no provenance; qrels that have only positive
    rows, so that nobody knows what was looked at in vain; contributors that the qrels do not know down to the pool
    depth; too few groups; one group that owns most of what is unique and relevant.
    """
    table = thresholds or Thresholds()
    if provenance is None:
        return NO_PROVENANCE
    lists = alignment.lists
    if not lists.level_counts[:, lists.levels < relevant_from].sum():
        return "the qrels have no document that was judged not relevant"
    groups = len(provenance.groups)
    if groups < table.fewest_groups:
        return f"only {counted(groups, 'group')} fed the pool, and {table.fewest_groups:g} are needed"
    return _misfit(alignment, provenance, table) or _dominated(alignment, provenance, table, relevant_from)


def why_untaught(kappa: Kappa, thresholds: Thresholds | None = None) -> str:
    """Say why a kappa was learned from too little; an empty text where there is enough."""
    fewest = (thresholds or Thresholds()).fewest_holes
    if kappa.holes < fewest:
        return f"holding out groups made only {counted(kappa.holes, 'hole')}, and {fewest:g} are needed"
    if len(kappa.levels) < 2:
        return "all judged documents have one grade"
    return ""


def warnings_of(alignment: Alignment, provenance: Provenance, *, below: float = 0.99) -> list[str]:
    """Give one sentence for each contributor whose pooled documents are not nearly all in the qrels."""
    shares = fitting_shares(alignment, provenance)
    return [
        f"run {name!r} is said to have fed the pool, but of what it pooled only {100 * share:.0f} % is in the qrels"
        for name, share in zip(alignment.run_names, shares.tolist(), strict=True)
        if share < below
    ]


def _misfit(alignment: Alignment, provenance: Provenance, table: Thresholds) -> str:
    shares = fitting_shares(alignment, provenance)
    mean = float(shares[provenance.group_of_run >= 0].mean())
    if mean >= table.fitting_share:
        return ""
    return f"the pool depth does not fit: only {100 * mean:.0f} % of what the contributors pooled is in the qrels"


def _dominated(alignment: Alignment, provenance: Provenance, table: Thresholds, relevant_from: int) -> str:
    relevant = alignment.lists.levels >= relevant_from
    counts = provenance.removed_counts if provenance.method == "replay" else provenance.unique_counts
    unique = counts[:, :, relevant].sum(axis=(1, 2))
    largest, total = int(unique.argmax()), int(unique.sum())
    if total < table.fewest_holes or unique[largest] / total <= table.largest_share:
        return ""  # the larger half of two or three documents says nothing
    share = 100 * unique[largest] / total
    return f"group {provenance.groups[largest]!r} owns {share:.0f} % of the unique relevant documents"


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
        guessed_depth=knowledge.guessed and takes_pool_depth(measure),
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
