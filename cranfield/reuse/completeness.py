"""What a score would be if the pool went deeper: new relevant documents change R and the ideal, and so the score.

A verdict asks whether a run can be ranked among the others with these qrels. This is another question: what would the
number be with all judged that contributors retrieve down to a stated rank? Every such document gets a label in each
draw, by a logistic model of its topic, its best rank, its popularity, and how good the runs are that retrieve it; R
and what the run finds come from the same draw. The same estimate from half of the pool depth to the whole of it,
where the labels are known, tells how far it is off, and widens the interval by that; the farther it looks, the more.
Where it is off by more than is allowed for, or expects more relevant documents than there is room for, the score in a
deeper pool is unknown.

Freezing what the run finds and letting only R grow, -AP ΔR / (R + ΔR), is a floor for a run that retrieves none of
the new relevant documents, and overstates the drift of full lists many times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Lists, Values, crossed
from cranfield.evaluate.measure import Measure, summaries
from cranfield.qrels.qrels import Grades
from cranfield.reuse.collection import FEWEST_DEPTHS, FLAT, fit_decay, new_by_depth
from cranfield.reuse.labels import Retrieved, logit
from cranfield.reuse.provenance import Provenance
from cranfield.reuse.unjudged_model import TO_ALL, TO_RUN, chances, fit_chances
from cranfield.reuse.verdict import DEFAULTS
from cranfield.runs.columns import documents_of_pairs

DEPTH = 100
"""The rank down to which a score is completed, where lists go so far; twice the pool depth where that is more."""

TWINS, TRIAL_TWINS = 4, 2
"""How many times labels are drawn, each time twice."""

NORMAL_80 = 1.2816
"""How many standard deviations from its mean a normal number stays on either side with a probability of 80%."""


@dataclass(frozen=True, eq=False)
class Completed:
    """The scores of all runs with everything judged that contributors retrieve down to `depth`, with 80% intervals.

    Where that cannot be told, `unknown` says why, and the numbers are NaN. `uneven` is by how much more each score is
    expected to change than that of the usual contributing run; 0 where unknown.
    """

    depth: int
    value: Values
    low: Values
    high: Values
    uneven: Values
    unknown: str = ""

    def of_run(self, run: int) -> tuple[int, float, float, float] | None:
        """The depth, the completed score of a run and its ends; None where unknown."""
        known = (self.depth, float(self.value[run]), float(self.low[run]), float(self.high[run]))
        return known if np.isfinite(known).all() else None


@dataclass(frozen=True, eq=False)
class Completion:
    """The documents that contributors retrieve down to a rank, and what their labels probably are.

    `error` is how far it may be off for each doubling of the depth, as a share of itself.
    """

    alignment: Alignment
    provenance: Provenance
    relevant_from: int = 1
    retrieved: Callable[[Counts], Retrieved] | None = None
    error: float = DEFAULTS.completed_error

    @cached_property
    def pool_depth(self) -> int:
        """The lowest depth of a topic's pool."""
        return int(self.provenance.depth.min()) if len(self.provenance.depth) else 0

    @cached_property
    def depth(self) -> int:
        """The rank down to which scores are completed."""
        lengths = self.alignment.lists.length.reshape(self.alignment.scored.shape)
        longest = int(lengths[self.provenance.group_of_run >= 0].max(initial=0))
        return min(max(DEPTH, 2 * int(self.provenance.depth.max(initial=0))), max(longest, self.pool_depth))

    @cached_property
    def unknown(self) -> str:
        """Why nothing can be told; an empty text where something can."""
        if self.alignment.pair_keys is None:
            return "the documents of the runs are not at hand"
        if self.alignment.lists.stratified is not None:
            return "the qrels are a sample of the pool"
        if self.provenance.method != "deletion":
            return "the plan depends on who takes part"
        if self.pool_depth < FEWEST_DEPTHS:
            return (
                f"a pool of depth {self.pool_depth} is too shallow to extrapolate; at least {FEWEST_DEPTHS} is needed"
            )
        if self.depth <= self.pool_depth:
            return "no contributing run goes deeper than the pool"
        new = new_by_depth(self.alignment, self.provenance, rel=self.relevant_from).relevant.sum(axis=0)
        if fit_decay(new[: self.pool_depth]).s >= -FLAT:
            return "going deeper did not find fewer relevant documents"
        found = int((self._trial.judged[self._trial.open] > 0).sum())
        if abs(self._trial.expected - found) > self.error * found:
            there = f"{self._trial.expected:,.0f} relevant documents in the lower, which has {found:,}"
            return f"the estimate fails where it can be checked: from the upper half of the pool it expects {there}"
        relevant, room = self._now.expected + int((self._now.grade > 0).sum()), self._pairs.room(self._now.grade)
        return "" if relevant <= room else "more relevant documents are expected than the runs retrieve"

    @cached_property
    def _pairs(self) -> _Pairs:
        retrieve = self.retrieved or partial(Retrieved, self.alignment, self.provenance)
        return _Pairs(self.alignment, retrieve(np.full_like(self.provenance.depth, self.depth)), self.depth)

    @cached_property
    def _trial(self) -> _Labelled:
        """From half of the pool depth to the whole: the labels are known."""
        return _Labelled(self._pairs, self.provenance.depth // 2, self.provenance.depth)

    @cached_property
    def _now(self) -> _Labelled:
        deep = np.full_like(self.provenance.depth, self.depth)
        return _Labelled(self._pairs, self.provenance.depth, deep, deep)

    def of(self, measures: Sequence[Measure], *, rng: np.random.Generator) -> list[Completed]:
        """The scores of all runs, completed, by each measure; all measures have the same labels."""
        alignment = self.alignment
        nothing = np.full(len(alignment.run_names), np.nan)
        if self.unknown or not measures:
            unknown = Completed(self.depth, nothing, nothing, nothing, np.zeros(len(nothing)), self.unknown)
            return [unknown] * len(measures)
        trial, now = self._trial, self._now
        contributing = self.provenance.group_of_run >= 0
        missed = self._pairs.scores(measures, trial.judged) - trial.drawn(measures, TRIAL_TWINS, rng).mean(axis=0)
        error = (missed[:, contributing] ** 2).mean(axis=1, keepdims=True)
        drawn = now.drawn(measures, TWINS, rng)
        # The score is of all qrels, the draws are of what contributors retrieve: their difference is what counts.
        drifts = drawn.mean(axis=0) - self._pairs.scores(measures, now.judged)
        more = now.expected / max(trial.expected, 1.0)
        form = self.error * np.log2(self.depth / self.pool_depth) * drifts
        spread = NORMAL_80 * np.sqrt(drawn.var(axis=0) + more * error + form**2)
        value = score_lists(measures, alignment, alignment.lists) + drifts
        return [
            Completed(self.depth, of_measure, low, high, np.nan_to_num(drift - np.median(drift[contributing])))
            for of_measure, low, high, drift in zip(value, value - spread, value + spread, drifts, strict=True)
        ]


def score_lists(measures: Sequence[Measure], alignment: Alignment, lists: Lists) -> Values:
    """The scores of all runs with these lists instead of the alignment's, as measures by runs."""
    values = [measure.values(lists).reshape(alignment.scored.shape) for measure in measures]
    return summaries(measures, values, alignment.scored)


class _Pairs:
    """The pairs of topic and document that contributors retrieve down to a depth, and who retrieves them.

    `of_row` is the pair at each rank of the lists, -1 for none. Of each pair there are its `topic`, its `grade` (-1
    where unjudged), the `best` rank that a contributor gives it, and how popular it is.
    """

    def __init__(self, alignment: Alignment, retrieved: Retrieved, depth: int) -> None:
        lists, near = alignment.lists, np.flatnonzero(retrieved.rank <= depth)
        best = np.full(len(retrieved.keys), depth + 1)
        np.minimum.at(best, retrieved.pair[near], retrieved.rank[near])
        kept = np.flatnonzero(best <= depth)
        number = np.full(len(best) + 1, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        self.alignment, self.of_row, self.best = alignment, number[retrieved.of_row], best[kept]
        self._fusion, self._groups = retrieved.fusion[kept], retrieved.groups[kept]
        self._keys = retrieved.keys[kept]
        here, rows = number[retrieved.pair] >= 0, retrieved.rows[near]
        self._run, self._weight = retrieved.run[here], retrieved.weight[here]
        self._pair = self.of_row[retrieved.rows[here]]
        self.topic, self.grade = np.zeros(len(kept), dtype=np.int64), np.full(len(kept), -1, dtype=np.int32)
        self.topic[self.of_row[rows]] = np.repeat(lists.topics, np.diff(np.searchsorted(rows, lists.offsets)))
        self.grade[self.of_row[rows]] = np.maximum(lists.grades[rows], np.int32(-1))

    def columns(self, grade: Grades) -> tuple[Values, float]:
        """What the chance of each pair depends on, if these grades are known, and the share of relevant ones.

        The first column is 1, the others have mean 0 over the judged ones.
        """
        runs, topics = (len(names) for names in (self.alignment.run_names, self.alignment.topic_ids))
        # How good each run is, by the labels of its pooled documents.
        shown = grade[self._pair]
        relevant = np.bincount(self._run[shown > 0], minlength=runs)
        tried = np.bincount(self._run[shown >= 0], minlength=runs)
        quality = (relevant + TO_ALL * relevant.sum() / max(tried.sum(), 1)) / (tried + TO_ALL)
        weighted = np.bincount(self._pair, self._weight * quality[self._run], minlength=len(grade))
        tried, passed = (np.bincount(self.topic[grade >= lowest], minlength=topics) for lowest in (0, 1))
        rate = float((passed.sum() + 0.5) / (tried.sum() + 1.0))
        standing = logit((passed + TO_RUN * rate) / (tried + TO_RUN)) - logit(rate)
        popular = np.log1p(self._groups), np.log(self._fusion), np.log(weighted / self._fusion)
        known = [standing[self.topic], np.log(self.best), *popular]
        centred = [one - one[grade >= 0].mean() for one in known]
        return np.column_stack([np.ones(len(grade)), *centred]), rate

    def room(self, grade: Grades) -> int:
        """How many pairs can be relevant, if no document is so for more topics than any is by these grades."""
        keys = documents_of_pairs(self.alignment.topic_ids, self.topic, self._keys)
        documents, document = np.unique(keys, return_inverse=True)
        return len(documents) * int(np.bincount(document[grade > 0]).max(initial=1))

    def at_rank(self, grade: Grades) -> Grades:
        """The grade at each rank of the lists, from those of the pairs."""
        return np.append(grade, np.int32(-1))[self.of_row]

    def scores(self, measures: Sequence[Measure], grade: Grades, at_rank: Grades | None = None) -> Values:
        """The scores of all runs with these grades of the pairs, -1 where unjudged, as measures by runs."""
        lists, judged = self.alignment.lists, grade >= 0
        level = np.searchsorted(lists.levels, grade[judged])
        counts = crossed(self.topic[judged], level, lists.level_counts.shape)
        at_rank = self.at_rank(grade) if at_rank is None else at_rank
        labelled = replace(lists, grades=at_rank, level_counts=counts, stratified=None)
        return score_lists(measures, self.alignment, labelled)


class _Labelled:
    """Pairs down to the rank `reach`. Labels of those at ranks down to `pooled` teach, and those down to `known`, if
    it is deeper, are known: what was judged below the pool was chosen, and is no sample. The others have chances.
    """

    def __init__(self, pairs: _Pairs, pooled: Counts, reach: Counts, known: Counts | None = None) -> None:
        self.pairs = pairs
        depths = reach, pooled, pooled if known is None else known
        self.judged, self._taught, self.grade = (
            np.where(pairs.best <= depth[pairs.topic], pairs.grade, np.int32(-1)) for depth in depths
        )
        self.open = (self.grade < 0) & (pairs.best <= reach[pairs.topic])
        self._columns, self._rate = pairs.columns(self._taught)

    @cached_property
    def _fitted(self) -> tuple[Values, Values, float]:
        """The weights, their covariance, and how much topics differ beyond that, as a variance."""
        taught = self._taught >= 0
        columns, topic = self._columns[taught], self.pairs.topic[taught].astype(np.int32)
        relevant = (self._taught[taught] > 0).astype(np.int64)
        prior = np.array([float(logit(self._rate)), 1.0, 0.0, 0.0, 0.0, 0.0])
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

    @cached_property
    def expected(self) -> float:
        """How many of the unjudged documents are expected to be relevant."""
        return float(chances(self._columns[self.open] @ self._fitted[0]).sum())

    def drawn(self, measures: Sequence[Measure], twins: int, rng: np.random.Generator) -> Values:
        """The scores with all labels, draws by measures by runs; weights, topics and labels are drawn each time.

        Every draw has a twin that deviates from what is expected in the opposite direction: so few draws are enough.
        """
        weights, covariance, variance = self._fitted
        pairs, columns, topic = self.pairs, self._columns[self.open], self.pairs.topic[self.open]
        grades, counts = np.unique(self.grade[self.grade > 0], return_counts=True)
        scores, grade, at_rank = [], self.grade.copy(), pairs.at_rank(self.grade)
        changing = np.flatnonzero(np.append(self.open, False)[pairs.of_row])
        pair_there, expected = pairs.of_row[changing], columns @ weights
        for _ in range(twins):
            off = columns @ rng.multivariate_normal(np.zeros(len(weights)), covariance)
            off += np.sqrt(variance) * rng.normal(size=len(pairs.alignment.topic_ids))[topic]
            number = rng.random(len(topic))
            for relevant in (number < chances(expected + off), 1.0 - number < chances(expected - off)):
                labels = np.zeros(len(topic), dtype=np.int32)
                labels[relevant] = rng.choice(grades, size=int(relevant.sum()), p=counts / counts.sum())
                grade[self.open] = labels
                at_rank[changing] = grade[pair_there]
                scores.append(pairs.scores(measures, grade, at_rank))
        return np.array(scores)
