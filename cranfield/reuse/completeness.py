"""What a score would be if the pool went deeper: new relevant documents change R and the ideal, and so the score.

A verdict asks whether a run can be ranked among the others with these qrels. This is another question: what would the
number be with all judged that contributors retrieve down to a stated rank? Every such document gets a label in each
draw, by a logistic model of its topic, its best rank, its popularity, and how good the runs are that retrieve it; R
and what the run finds come from the same draw. The same estimate from half of the pool depth to the whole of it,
where the labels are known, tells how far it is off, and widens the interval by that; the farther it looks, the more.

Freezing what the run finds and letting only R grow, -AP ΔR / (R + ΔR), is a floor for a run that retrieves none of
the new relevant documents, and overstates the drift of full lists many times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import UsageError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Values
from cranfield.evaluate.measure import Measure, aggregated_rows
from cranfield.reuse.collection import FEWEST_DEPTHS, FLAT, fit_decay, new_by_depth
from cranfield.reuse.labels import RANK_CONSTANT, logit
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.reuse.unjudged_model import TO_ALL, TO_RUN, chances, fit_chances
from cranfield.runs.columns import KeyTable

DEPTH = 100
"""The rank down to which a score is completed; twice the pool depth where that is more."""

FORM = 0.25
"""By how much of itself a drift may be off for each doubling of the depth."""

DRAWS, TRIAL_DRAWS = 16, 8
NORMAL_80 = 1.2816
"""How many standard deviations from its mean a normal number stays on either side with a probability of 80%."""


@dataclass(frozen=True, eq=False)
class Completed:
    """The scores of all runs with everything judged that contributors retrieve down to `depth`, with 80% intervals.

    Where that cannot be told, `unknown` says why, and the numbers are NaN. `drift` is by how much each score is
    expected to change, and `usual` by how much that of the usual contributing run.
    """

    depth: int
    value: Values
    low: Values
    high: Values
    drift: Values
    usual: float
    unknown: str = ""

    def of_run(self, run: int) -> tuple[int, float, float, float] | None:
        """The depth, the completed score of a run and its ends; None where unknown."""
        known = (self.depth, float(self.value[run]), float(self.low[run]), float(self.high[run]))
        return known if np.isfinite(known).all() else None

    def uneven(self, run: int) -> float:
        """By how much more a score is expected to change than that of the usual contributing run; 0 where unknown."""
        return float(np.nan_to_num(self.drift[run] - self.usual))


class Completion:
    """The documents that contributors retrieve down to a rank, and what their labels probably are."""

    def __init__(self, alignment: Alignment, provenance: Provenance, *, relevant_from: int = 1) -> None:
        self.alignment, self.provenance, self._relevant_from = alignment, provenance, relevant_from
        self.pool_depth = int(provenance.depth.min()) if len(provenance.depth) else 0
        self.depth = max(DEPTH, 2 * int(provenance.depth.max(initial=0)))

    @cached_property
    def unknown(self) -> str:
        """Why nothing can be told; an empty text where something can."""
        if self.alignment.pair_keys is None:
            return "the documents of the runs are not at hand"
        if self.provenance.method != "deletion":
            return "the plan depends on who takes part"
        if self.pool_depth < FEWEST_DEPTHS:
            return (
                f"a pool of depth {self.pool_depth} is too shallow to extrapolate; at least {FEWEST_DEPTHS} is needed"
            )
        if self.alignment.lists.length.max(initial=0) <= self.pool_depth:
            return "no list goes deeper than the pool"
        new = new_by_depth(self.alignment, self.provenance, rel=self._relevant_from).relevant.sum(axis=0)
        decay = fit_decay(new[: self.pool_depth])
        return "" if decay.s < -FLAT else "going deeper did not find fewer relevant documents"

    @cached_property
    def _trial(self) -> _Labelled:
        return _Labelled(self, self.provenance.depth // 2, self.provenance.depth)

    @cached_property
    def _now(self) -> _Labelled:
        everything = np.full_like(self.provenance.depth, np.iinfo(np.int64).max)
        return _Labelled(self, everything, np.full_like(self.provenance.depth, self.depth))

    def of(self, measure: Measure, score: Values, *, rng: np.random.Generator) -> Completed:
        """The scores of all runs, completed."""
        nothing = np.full(len(score), np.nan)
        if self.unknown:
            return Completed(self.depth, nothing, nothing, nothing, nothing, float("nan"), self.unknown)
        trial, now = self._trial, self._now
        contributing = self.provenance.group_of_run >= 0
        truth = trial.score(measure, trial.judged)
        error = (truth - trial.drawn(measure, TRIAL_DRAWS, rng).mean(axis=0))[contributing]
        drawn = now.drawn(measure, DRAWS, rng)
        # The score is of all qrels, the draws are of what contributors retrieve: their difference is what counts.
        drift = drawn.mean(axis=0) - now.score(measure, now.judged)
        more = now.expected / max(trial.expected, 1.0)
        form = FORM * np.log2(self.depth / self.pool_depth) * drift
        spread = np.sqrt(drawn.var(axis=0, ddof=1) + more * (error**2).mean() + form**2)
        low, high = (score + drift + sign * NORMAL_80 * spread for sign in (-1, 1))
        return Completed(self.depth, score + drift, low, high, drift, float(np.median(drift[contributing])))


class _Labelled:
    """The pairs of topic and document that contributors retrieve down to `reach`. Labels of those at ranks down to
    `pooled` are known; both are one number per topic. The others have chances.
    """

    def __init__(self, completion: Completion, pooled: Counts, reach: Counts) -> None:
        alignment, provenance = completion.alignment, completion.provenance
        lists, topics = alignment.lists, len(alignment.topic_ids)
        self.alignment, self.lists, keys = alignment, lists, alignment.pair_keys
        if keys is None:
            raise UsageError("completeness needs an alignment that knows its documents")
        group = provenance.group_of_run
        cell = np.repeat(np.arange(len(lists)), lists.length)
        run, rank = cell // topics, np.arange(len(cell)) - lists.offsets[cell] + 1
        near = prefix_of(lists, reach)[1]
        known, first = np.unique(keys[near[group[run[near]] >= 0]], return_index=True)
        self.topic = cell[near[group[run[near]] >= 0][first]] % topics
        self.pair = KeyTable.of(known).places(keys)
        here = np.flatnonzero((self.pair >= 0) & (group[run] >= 0))
        pair, at_run, at_rank = self.pair[here], run[here], rank[here]
        best = np.full(len(known), np.iinfo(np.int64).max)
        np.minimum.at(best, pair, at_rank)
        grade = np.full(len(known), -1, dtype=np.int32)
        grade[pair] = lists.grades[here]
        self.judged = np.maximum(grade, np.int32(-1))
        self.grade = np.where(best <= pooled[self.topic], self.judged, np.int32(-1))
        self.open = self.grade < 0
        # How good each run is, by the labels of its pooled documents.
        shown = self.grade[pair] >= 0
        relevant = np.bincount(at_run, shown & (self.grade[pair] > 0), minlength=len(group))
        tried = np.bincount(at_run, shown, minlength=len(group))
        rate = relevant.sum() / max(tried.sum(), 1)
        quality = (relevant + TO_ALL * rate) / (tried + TO_ALL)
        weight = 1.0 / (RANK_CONSTANT + at_rank) / np.bincount(group[group >= 0])[group[at_run]]
        fusion = np.asarray(np.bincount(pair, weight, minlength=len(known)), dtype=np.float64)
        weighted = np.asarray(np.bincount(pair, weight * quality[at_run], minlength=len(known)), dtype=np.float64)
        retrieving = np.zeros((len(known), len(provenance.groups)), dtype=bool)
        retrieving[pair, group[at_run]] = True
        groups = retrieving.sum(axis=1)
        self.columns = self._columns(best, groups, fusion, weighted)

    def _columns(self, best: Counts, groups: Counts, fusion: Values, weighted: Values) -> Values:
        """What the chance of a document depends on, as columns with mean 0 over the judged ones; the first is 1."""
        judged, topics = ~self.open, len(self.alignment.topic_ids)
        tried = np.bincount(self.topic[judged], minlength=topics)
        passed = np.bincount(self.topic[self.grade > 0], minlength=topics)
        self.rate = float((passed.sum() + 0.5) / (tried.sum() + 1.0))
        standing = logit((passed + TO_RUN * self.rate) / (tried + TO_RUN)) - logit(self.rate)
        known = [standing[self.topic], np.log(best), np.log1p(groups), np.log(fusion), np.log(weighted / fusion)]
        centred = [one - one[judged].mean() for one in known]
        return np.column_stack([np.ones(len(best)), *centred])

    @cached_property
    def _fitted(self) -> tuple[Values, Values, float]:
        """The weights, their covariance, and how much topics differ beyond that, as a variance."""
        judged, columns = ~self.open, self.columns[~self.open]
        relevant, topic = (self.grade[judged] > 0).astype(np.int64), self.topic[judged].astype(np.int32)
        prior = np.array([float(logit(self.rate)), 1.0, 0.0, 0.0, 0.0, 0.0])
        fit = fit_chances(columns, relevant, np.ones_like(relevant), topic, prior=prior, spread=np.ones(len(prior)))
        chance = chances(columns @ fit.weights)
        weight = chance * (1.0 - chance)
        covariance = np.linalg.inv((columns.T * (weight / fit.dispersion)) @ columns + np.diag(fit.precision))
        off, variance = np.bincount(topic, relevant - chance), np.maximum(np.bincount(topic, weight), 1e-9)
        return (
            fit.weights,
            np.asarray(covariance, dtype=np.float64),
            max(float(((off / variance) ** 2 - 1.0 / variance).mean()), 0.0),
        )

    @property
    def expected(self) -> float:
        """How many of the unjudged documents are expected to be relevant."""
        return float(chances(self.columns[self.open] @ self._fitted[0]).sum())

    def drawn(self, measure: Measure, draws: int, rng: np.random.Generator) -> Values:
        """The scores with all labels, draws by runs: weights, topics and labels are drawn anew each time."""
        weights, covariance, variance = self._fitted
        columns, topic = self.columns[self.open], self.topic[self.open]
        grades, counts = np.unique(self.grade[self.grade > 0], return_counts=True)
        scores = []
        for _ in range(draws):
            total = columns @ rng.multivariate_normal(weights, covariance)
            total += np.sqrt(variance) * rng.normal(size=len(self.alignment.topic_ids))[topic]
            relevant = rng.random(len(total)) < chances(total)
            labels = np.zeros(len(total), dtype=np.int32)
            labels[relevant] = rng.choice(grades, size=int(relevant.sum()), p=counts / counts.sum())
            grade = self.grade.copy()
            grade[self.open] = labels
            scores.append(self.score(measure, grade))
        return np.array(scores)

    def score(self, measure: Measure, grade: NDArray[np.int32]) -> Values:
        """The scores of all runs with these grades of the pairs, -1 where unjudged."""
        lists, levels = self.lists, self.lists.levels
        judged = grade >= 0
        cells = self.topic[judged] * len(levels) + np.searchsorted(levels, grade[judged])
        counts = np.bincount(cells, minlength=lists.level_counts.size).reshape(lists.level_counts.shape)
        grades = np.append(grade, np.int32(-1))[self.pair]
        values = measure.values(replace(lists, grades=grades, level_counts=counts, stratified=None, _relevant={}))
        return aggregated_rows(values.reshape(self.alignment.shape), self.alignment.scored, measure.aggregate)
