"""The expected loss of a run: what its unjudged documents would probably have added to its score.

Each unjudged document that counts gets a grade with the chances that the model gives it, and the loss is the mean of
score with these labels - score. It can be below 0: in AP, nDCG, recall and bpref a document that turns out relevant
also moves what the score is divided by, and in bpref one that is not relevant hurts.

Sums of weights (P, CG, DCG, RBP) are added up exactly. For the others labels are drawn, spread evenly: each document
has each grade in the right share of the draws. Its draws depend on its topic and its place among the run's unjudged
documents there, so that a run's loss does not depend on the other runs.

The upper end has two parts. Documents may be better than expected, as those of the best group were; and even where
they are not, few labels fall out well or badly by chance. The two do not depend on each other, so their squares add:

    upper = loss + sqrt((loss at the upper chances - loss)² + (1.645 · standard deviation of the labels' worth)²)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.evaluate.measure import Measure, aggregated
from cranfield.reuse.hold_out import NONE_HELD_OUT, lists_without
from cranfield.reuse.intervals import takes_pool_depth
from cranfield.reuse.labels import Documents, Labels, Retrieved, count_labels, octave_of
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.reuse.unjudged_model import (
    Chain,
    Estimate,
    UnjudgedModel,
    expected_chances,
    fit_model,
    is_unlike,
    upper_chances,
)
from cranfield.reuse.verdict import DEFAULTS, Thresholds
from cranfield.runs.columns import Mask

DRAWS, DEEP_DRAWS, DEEP = 64, 16, 20
"""How many times labels are drawn, fewer where k is above `DEEP`: more documents need fewer draws.

As the labels are spread evenly, the mean of 50 topics is then known to about 0.0001.
"""

SCALE_DRAWS = 8

ROWS = 100_000
"""About how many rows of lists are scored at once."""

USUAL_SCALE = 0.1
"""How far the scale of a measure usually lies from 1, before anything is seen."""

NORMAL_95 = 1.645
"""How many standard deviations above its mean a normal number stays with a probability of 95%."""


@dataclass(frozen=True, eq=False)
class Loss:
    """What unjudged documents are probably worth: `by_topic` as runs by topics, `mean` in the run's score.

    `upper` is the run's loss if its unjudged documents differ from what is expected as those of the group at the
    conformal 95% index do, and the luck of single labels is added. A run without unjudged documents loses nothing.
    `unlike` says which runs retrieve what no contributor does, so that popularity teaches nothing about them: their
    upper end is that of the model without popularity or of the plain ratio, whichever lies farther from 0.
    `upper_blind` is that end for all runs, of a measure that looks at the whole list.
    """

    measure: Measure
    by_topic: Values
    mean: Values
    upper: Values
    upper_blind: Values
    unlike: Mask

    @staticmethod
    def none(measure: Measure, shape: tuple[int, int]) -> Loss:
        """No loss of any run."""
        mean, upper, blind = np.zeros((3, shape[0]))
        return Loss(measure, np.zeros(shape), mean, upper, blind, np.zeros(shape[0], dtype=bool))

    def within(self, low: Values, high: Values) -> Loss:
        """Nothing is expected that no grades could do: the losses between these ends, where they hold 0."""
        with np.errstate(invalid="ignore"):
            possible = np.isfinite(low) & np.isfinite(high) & (low <= 0) & (high >= 0)
        ends = np.where(possible, low, -np.inf), np.where(possible, high, np.inf)
        mean, upper, blind = (np.clip(one, *ends) for one in (self.mean, self.upper, self.upper_blind))
        return replace(self, mean=mean, upper=upper, upper_blind=blind)


def expected_loss(
    alignment: Alignment,
    measure: Measure,
    model: UnjudgedModel,
    *,
    depth: Counts,
    rng: np.random.Generator,
    runs: Sequence[int] | None = None,
    draws: int | None = None,
    popularity: Values | None = None,
) -> Loss:
    """The expected loss of all runs, or of some (the others have NaN), down to `depth`, one number per topic.

    `popularity` is parallel to the grades of the lists; None where the contributors' lists are not at hand.
    """
    chosen = np.arange(alignment.scored.shape[0]) if runs is None else np.unique(np.asarray(runs, dtype=np.int64))
    if draws is None:
        draws = DRAWS if depth.max(initial=0) <= DEEP else DEEP_DRAWS
    unjudged = unjudged_of(alignment, measure, chosen, depth, popularity)
    labels, documents = count_labels(alignment, depth), unjudged.documents
    ends = upper_chances(model, labels, documents)
    without = []
    if takes_pool_depth(measure) and model.popular is not None and popularity is not None:
        without = upper_chances(model, labels, replace(documents, popularity=None))
    estimates = [expected_chances(model, labels, documents), *ends, *without]
    gains = _gains(alignment, measure, model, rng, unjudged, draws, estimates)
    by_topic = np.full(alignment.scored.shape, np.nan)
    by_topic[chosen] = gains[0].mean[chosen]
    whole, deviation = np.full((len(gains), len(by_topic)), np.nan), np.full(len(by_topic), np.nan)
    how = measure.aggregate
    values = None if how == "mean" else measure.values(alignment.lists).reshape(alignment.scored.shape)
    for run in chosen.tolist():
        scored = alignment.scored[run]
        gained, spread = [gain.mean[run][scored] for gain in gains], np.sqrt(gains[0].variance[run][scored])
        if values is None:
            whole[:, run] = [aggregated(one, how) for one in gained]
            effects = spread / max(len(spread), 1)
        else:  # each topic is moved by its own deviation, and the effects are added
            now, expected = values[run][scored], values[run][scored] + gained[0]
            whole[:, run] = [aggregated(now + one, how) - aggregated(now, how) for one in gained]
            moved = [aggregated(expected + row, how) for row in np.diag(spread)]
            effects = np.array(moved) - aggregated(expected, how)
        deviation[run] = np.sqrt((effects**2).sum())  # labels of one topic do not depend on those of others

    def farthest(some: Values) -> Values:
        """The end that lies farthest from 0, with the luck of single labels."""
        far = some[np.argmax(np.nan_to_num(np.abs(some)), axis=0), np.arange(some.shape[1])]
        away = np.hypot(far - whole[0], NORMAL_95 * deviation)
        return np.asarray(whole[0] + np.where(far >= 0, away, -away))

    upper = farthest(whole[: 1 + len(ends)])
    blind = farthest(whole[1 + len(ends) :]) if without else upper
    return Loss(measure, by_topic, whole[0], upper, blind, is_unlike(model, documents, len(by_topic)))


class _Gain(NamedTuple):
    """What judging adds to the score of each cell: the mean over the labels, and the variance."""

    mean: Values
    variance: Values


def _gains(
    alignment: Alignment,
    measure: Measure,
    model: UnjudgedModel,
    rng: np.random.Generator,
    unjudged: _Unjudged,
    draws: int,
    estimates: Sequence[Estimate],
) -> list[_Gain]:
    """The gains by each estimate, as runs by topics; 0 for runs that are not chosen."""
    levels = tuple(alignment.lists.levels.tolist())
    if levels != model.levels:
        raise InputError(f"the model of unjudged documents has the grades {model.levels}, the qrels have {levels}")
    numbers = _EvenNumbers(unjudged, len(alignment.topic_ids), rng, draws)
    is_sum = measure.kind.weight is not None and not measure.kind.best and not measure.judged_only
    worth = measure.gains(max((1, *levels))) if is_sum and (measure.rel is None or measure.rel > 0) else None
    gains, base = [], measure.values(unjudged.lists)
    for estimate in estimates:
        mean, variance = np.zeros(len(alignment.lists)), np.zeros(len(alignment.lists))
        if len(unjudged.place):
            if worth is None:
                gain = _drawn(unjudged, measure, estimate.chances, numbers, base)
            else:
                gain = _exact(unjudged, measure, estimate.chances, worth)
            mean[unjudged.cell_of_list], variance[unjudged.cell_of_list] = gain
        scale = estimate.scale[:, None]
        gains.append(
            _Gain(scale * mean.reshape(alignment.scored.shape), scale**2 * variance.reshape(alignment.scored.shape))
        )
    return gains


@dataclass(frozen=True, eq=False)
class _Unjudged:
    """The lists that have unjudged documents which count, each as a topic of its own, and where these are.

    `cell_of_list` is the cell of the alignment; `place`, `list_of`, `ordinal` and `rank` tell for each of the
    `documents` its place among the grades, its list, its number there, from 0, and its rank.
    """

    lists: Lists
    cell_of_list: Counts
    topic_of_list: Counts
    place: Counts
    list_of: Counts
    ordinal: Counts
    rank: Counts
    documents: Documents

    def filled(self, level: NDArray[np.intp]) -> Lists:
        """The lists with each document judged, once for each draw, all lists of a draw after those of the one before.

        `level`, draws by documents, is the place of its grade among the levels.
        """
        lists, draws, levels = self.lists, len(level), len(self.lists.levels)
        draw, rows = np.arange(draws)[:, None], len(lists.grades)
        grades = np.tile(lists.grades, draws)
        grades[self.place + rows * draw] = lists.levels[level]
        cells = ((self.list_of + len(lists) * draw) * levels + level).ravel()
        added = np.bincount(cells, minlength=draws * len(lists) * levels).reshape(-1, levels)
        return replace(
            lists,
            grades=grades,
            offsets=np.append((lists.offsets[:-1] + rows * draw).ravel(), rows * draws),
            topics=np.arange(draws * len(lists)),
            level_counts=np.tile(lists.level_counts, (draws, 1)) + added,
        )


def unjudged_of(
    alignment: Alignment,
    measure: Measure,
    chosen: Counts,
    depth: Counts,
    popularity: Values | None,
    known: Lists | None = None,
) -> _Unjudged:
    """The unjudged documents of some runs. `known` are the same lists with more of their documents judged: what is
    unjudged there too is then left aside.
    """
    lists = alignment.lists
    found = prefix_of(lists, depth)[0].unjudged
    wanted = np.zeros(alignment.scored.shape, dtype=bool)
    wanted[chosen] = alignment.scored[chosen]
    here = found.where(wanted.ravel()[found.cell])
    at = lists.offsets[here.cell] + here.rank - 1
    if known is not None:
        labelled = known.grades[at] >= 0
        here, at = here.where(labelled), at[labelled]
    cells, list_of = np.unique(here.cell, return_inverse=True)
    mine, topic = lists.chosen(cells), lists.topics[cells]
    counts = lists.level_counts[topic]
    if isinstance(measure.cutoff, int):
        mine = mine.cut(measure.cutoff)
        if measure.kind.interval == "normalized_gain":
            counts = np.minimum(counts, measure.cutoff)  # an ideal of k documents has no more of one grade
    own = replace(mine, topics=np.arange(len(cells)), level_counts=counts, pooled_count=None, stratified=None)
    place, topics = own.offsets[list_of] + here.rank - 1, len(alignment.topic_ids)
    popular = None if popularity is None else popularity[at]
    documents = Documents(here.cell // topics, here.cell % topics, octave_of(here.rank), popular)
    return _Unjudged(own, cells, topic, place, list_of, here.ordinal - 1, here.rank, documents)


class _EvenNumbers:
    """Numbers from 0 to 1 for each unjudged document, one per draw, spread evenly over the draws."""

    def __init__(self, unjudged: _Unjudged, topics: int, rng: np.random.Generator, draws: int) -> None:
        # Ordinals come first, so that a run with more documents only adds rows, and changes nobody else's numbers.
        order, shift = rng.spawn(2)
        shape = (int(unjudged.ordinal.max(initial=-1)) + 1, topics)
        self.draws = draws
        self._order = order.permuted(np.broadcast_to(np.arange(draws), (*shape, draws)), axis=-1)
        self._shift = shift.random(shape)
        self._at = (unjudged.ordinal, unjudged.topic_of_list[unjudged.list_of] % max(topics, 1))

    def of_draws(self, first: int, last: int) -> Values:
        """Give the numbers of each document in some draws, as draws by documents."""
        return ((self._order[*self._at, first:last] + self._shift[self._at][:, None]) / self.draws).T


def _exact(unjudged: _Unjudged, measure: Measure, chance: Values, worth: Values) -> _Gain:
    """The gain of each list: every document adds what its grade is worth times the weight of its rank."""
    share = chance - np.column_stack([chance[:, 1:], np.zeros(len(chance))])
    worth, weight = worth[unjudged.lists.levels], np.asarray(measure.weight(unjudged.rank), dtype=np.float64)
    mean, square = share @ worth, share @ worth**2
    variance = weight**2 * np.maximum(square - mean**2, 0.0)
    size = len(unjudged.lists)
    return _Gain(
        np.bincount(unjudged.list_of, weight * mean, minlength=size).astype(np.float64),
        np.bincount(unjudged.list_of, variance, minlength=size).astype(np.float64),
    )


def _drawn(unjudged: _Unjudged, measure: Measure, chance: Values, numbers: _EvenNumbers, base: Values) -> _Gain:
    """The gain of each list over its value as it is, `base`; as many draws at a time as have about `ROWS` rows."""
    total, squares = np.zeros((2, len(base)))
    at_once = ROWS // max(len(unjudged.lists.grades), 1) + 1
    for first in range(0, numbers.draws, at_once):
        number = numbers.of_draws(first, first + at_once)
        level = (number[:, :, None] < chance[:, 1:]).sum(axis=2)
        gain = measure.values(unjudged.filled(level)).reshape(len(level), -1) - base
        total += gain.sum(axis=0)
        squares += (gain**2).sum(axis=0)
    mean = total / numbers.draws
    return _Gain(mean, np.maximum(squares / numbers.draws - mean**2, 0.0))


class ModelCache:
    """What the contributors of one pool teach: counts and models by depth, made once and shared by measures."""

    def __init__(
        self,
        alignment: Alignment,
        provenance: Provenance,
        *,
        reach: Counts | None = None,
        thresholds: Thresholds = DEFAULTS,
    ) -> None:
        """`reach` is the deepest that will be asked for, so that popularity is counted once."""
        self.alignment = alignment
        self.provenance = provenance
        self._thresholds = thresholds
        self._reach = provenance.depth if reach is None else reach
        self._counts: dict[bytes, Labels] = {}
        self._models: dict[bytes, UnjudgedModel] = {}
        self._retrieved: Retrieved | None = None

    def counts(self, depth: Counts) -> Labels:
        """The labels down to `depth`, one number per topic."""
        key = depth.tobytes()
        if key not in self._counts:
            self._counts[key] = count_labels(
                self.alignment,
                depth,
                self.provenance,
                retrieved=None if self.alignment.pair_keys is None else self.retrieved(depth),
            )
        return self._counts[key]

    def popularity(self, depth: Counts) -> Values | None:
        """The popularity of each document among the other groups, down to `depth` or deeper."""
        return None if self.alignment.pair_keys is None else self.retrieved(depth).popularity

    def retrieved(self, depth: Counts) -> Retrieved:
        """What runs retrieve down to `depth` or deeper."""
        if self._retrieved is None or (depth > self._reach).any():
            self._reach = np.maximum(depth, self._reach)
            self._retrieved = Retrieved(self.alignment, self.provenance, self._reach)
        return self._retrieved

    def model(self, depth: Counts) -> UnjudgedModel:
        """Give what all contributors teach about unjudged documents down to `depth`."""
        key = depth.tobytes()
        if key not in self._models:
            self._models[key] = fit_model(self.counts(depth), table=self._thresholds)
        return self._models[key]

    @cached_property
    def without(self) -> Lists:
        """The lists of contributors as they would be judged without their own groups; those of others as they are."""
        group = self.provenance.group_of_run
        held_out = np.where(group >= 0, group, np.int32(NONE_HELD_OUT))
        cells = np.repeat(held_out, len(self.alignment.topic_ids)).astype(np.int32)
        return lists_without(self.alignment.lists, self.provenance, cells)


def scale_model(
    measure: Measure, model: UnjudgedModel, cache: ModelCache, *, depth: Counts, rng: np.random.Generator
) -> UnjudgedModel:
    """The model with the scale of a measure: what contributors lost over what they were expected to lose.

    The ratio is drawn towards 1 the more, the more the groups differ: a few groups say little about a new one.
    """
    alignment, lists = cache.alignment, cache.alignment.lists
    contributing = np.flatnonzero(cache.provenance.group_of_run >= 0)
    without, popularity = replace(alignment, lists=cache.without), cache.popularity(depth)
    deep = np.tile(depth, len(without.lists.level_counts) // max(len(depth), 1))
    # What is lost is what the run's own documents down to the depth would add: others that its group contributed move
    # R and the ideal too, but nobody asks about those.
    unjudged = unjudged_of(without, measure, contributing, deep, popularity, lists)
    at = lists.offsets[unjudged.cell_of_list[unjudged.list_of]] + unjudged.rank - 1
    known = unjudged.filled(np.searchsorted(lists.levels, lists.grades[at])[None])
    lost = np.zeros(len(lists))
    lost[unjudged.cell_of_list] = measure.values(known) - measure.values(unjudged.lists)
    group, kept = cache.provenance.group_of_run[contributing], alignment.scored[contributing]

    def by_group(gained: Values) -> Values:
        of_run = np.where(kept, gained.reshape(alignment.scored.shape)[contributing], 0.0).sum(axis=1)
        return np.bincount(group, of_run).astype(np.float64)

    labels, blind = count_labels(without, deep), replace(unjudged.documents, popularity=None)
    chains = [model.blind] if model.popular is None else [model.blind, model.popular]
    estimates = [
        expected_chances(model, labels, documents, held_out=True)
        for documents in (blind, unjudged.documents)[: len(chains)]
    ]
    gains = _gains(without, measure, model, rng.spawn(1)[0], unjudged, SCALE_DRAWS, estimates)
    true, scaled = by_group(lost), list[Chain]()
    for chain, gain in zip(chains, gains, strict=True):
        expected = by_group(gain.mean)
        found, groups = true.sum() / (expected.sum() or np.nan), max(len(true), 2)
        variance = ((true - found * expected) ** 2).sum() / expected.sum() ** 2 * groups / (groups - 1)
        weight = USUAL_SCALE**2 / (USUAL_SCALE**2 + variance)
        scaled.append(
            replace(chain, scale=float(max(1.0 + weight * (found - 1.0), 0.0))) if expected.sum() else chain
        )
    return replace(model, blind=scaled[0], popular=None if model.popular is None else scaled[1])
