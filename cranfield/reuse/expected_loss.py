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
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.reuse.unjudged_model import (
    LabelCounts,
    UnjudgedModel,
    count_groups_of_rows,
    count_labels,
    fit_model,
    level_chances,
    octave_of,
    upper_chances,
)

DRAWS, DEEP_DRAWS, DEEP = 64, 16, 20
"""How many times labels are drawn, fewer where k is above `DEEP`: more documents need fewer draws.

As the labels are spread evenly, the mean of 50 topics is then known to about 0.0001.
"""

SCALE_DRAWS = 8
LOWEST_SCALE, HIGHEST_SCALE = 0.5, 2.0
"""What the scale is kept between: beyond it the model itself is wrong, and no factor mends that."""

TOO_SMALL = 0.0005
"""A mean loss that says nothing, in points: the scale is drawn towards 1 with so much."""

NORMAL_95 = 1.645
"""How many standard deviations above its mean a normal number stays with a probability of 95%."""


@dataclass(frozen=True, eq=False)
class Loss:
    """What unjudged documents are probably worth: `by_topic` as runs by topics, `mean` in the run's score.

    `upper` is the run's loss if its unjudged documents differ from what is expected as those of the group at the
    conformal 95% index do, by the model or by the plain ratio, whichever lies farther from 0, and the luck of single
    labels is added. A run without unjudged documents loses nothing.
    """

    measure: Measure
    by_topic: Values
    mean: Values
    upper: Values


def expected_loss(
    alignment: Alignment,
    measure: Measure,
    model: UnjudgedModel,
    *,
    depth: Counts,
    rng: np.random.Generator,
    runs: Sequence[int] | None = None,
    draws: int | None = None,
) -> Loss:
    """Give the expected loss of all runs, or of some (the others have NaN), down to `depth`, one number per topic."""
    chosen = np.arange(alignment.shape[0]) if runs is None else np.unique(np.asarray(runs, dtype=np.int64))
    if draws is None:
        draws = DRAWS if depth.max(initial=0) <= DEEP else DEEP_DRAWS
    gains = _gains(alignment, measure, model, depth, rng, chosen, draws, with_upper=True)
    by_topic = np.full(alignment.shape, np.nan)
    by_topic[chosen] = gains[0].mean[chosen]
    whole, deviation = np.full((len(gains), len(by_topic)), np.nan), np.full(len(by_topic), np.nan)
    how = measure.aggregate
    values = None if how == "mean" else measure.values(alignment.lists).reshape(alignment.shape)
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
    farthest = np.argmax(np.nan_to_num(np.abs(whole)), axis=0)
    far = whole[farthest, np.arange(whole.shape[1])]
    away = np.hypot(far - whole[0], NORMAL_95 * deviation)
    return Loss(measure, by_topic, whole[0], whole[0] + np.where(far >= 0, away, -away))


class _Gain(NamedTuple):
    """What judging adds to the score of each cell: the mean over the labels, and the variance."""

    mean: Values
    variance: Values


def _gains(
    alignment: Alignment,
    measure: Measure,
    model: UnjudgedModel,
    depth: Counts,
    rng: np.random.Generator,
    chosen: Counts,
    draws: int,
    *,
    with_upper: bool,
    known: Lists | None = None,
) -> list[_Gain]:
    """Give the expected gains, and those at the upper ends, as runs by topics; 0 for runs that are not chosen.

    `depth` has one number for each topic of the lists, which may be several copies of those of the alignment. `known`
    are the same lists with more of their documents judged: what is unjudged there too is then left aside.
    """
    levels = tuple(alignment.lists.levels.tolist())
    if levels != model.levels:
        raise InputError(f"the model of unjudged documents has the grades {model.levels}, the qrels have {levels}")
    judged = count_labels(alignment, depth).judged
    unjudged = _unjudged_of(alignment, measure, chosen, depth, known)
    numbers = _EvenNumbers(unjudged, len(alignment.topic_ids), rng, draws)
    octaves = int(octave_of(depth).max(initial=0)) + 1
    versions = [level_chances(model, judged, octaves)]
    versions += upper_chances(model, judged, octaves) if with_upper else []
    is_sum = measure.kind.weight is not None and not measure.kind.best and not measure.judged_only
    is_sum = is_sum and measure.gains(max((1, *levels))) is not None
    gains = []
    for version in versions:
        mean, variance = np.zeros(len(alignment.lists)), np.zeros(len(alignment.lists))
        if len(unjudged.place):
            chance = version.reshape(-1, *version.shape[2:])[unjudged.cell_of_list]
            exact = _exact(unjudged, measure, chance) if is_sum else _drawn(unjudged, measure, chance, numbers)
            mean[unjudged.cell_of_list], variance[unjudged.cell_of_list] = exact
        gains.append(
            _Gain(model.scale * mean.reshape(alignment.shape), model.scale**2 * variance.reshape(alignment.shape))
        )
    return gains


@dataclass(frozen=True, eq=False)
class _Unjudged:
    """The lists that have unjudged documents which count, each as a topic of its own, and where these are.

    `cell_of_list` is the cell of the alignment; `place`, `list_of`, `ordinal` and `octave` tell for each document its
    place among the grades, its list, its number there, from 0, and the octave of its rank.
    """

    lists: Lists
    cell_of_list: Counts
    topic_of_list: Counts
    place: Counts
    list_of: Counts
    ordinal: Counts
    octave: Counts

    def only(self, kept: NDArray[np.bool_]) -> _Unjudged:
        """Give the same lists with some of the documents; the others stay unjudged."""
        names = ("place", "list_of", "ordinal", "octave")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def filled(self, level: NDArray[np.intp]) -> Lists:
        """Give the lists with each document judged, `level` being the place of its grade among the levels."""
        levels = self.lists.levels
        grades = self.lists.grades.copy()
        grades[self.place] = levels[level]
        size = len(self.lists) * len(levels)
        added = np.bincount(self.list_of * len(levels) + level, minlength=size).reshape(-1, len(levels))
        return replace(self.lists, grades=grades, level_counts=self.lists.level_counts + added, _relevant={})


def _unjudged_of(
    alignment: Alignment, measure: Measure, chosen: Counts, depth: Counts, known: Lists | None
) -> _Unjudged:
    lists = alignment.lists
    found = prefix_of(lists, depth)[0].unjudged
    wanted = np.zeros(alignment.shape, dtype=bool)
    wanted[chosen] = alignment.scored[chosen]
    here = found.where(wanted.ravel()[found.cell])
    if known is not None:
        here = here.where(known.grades[lists.offsets[here.cell] + here.rank - 1] >= 0)
    cells, list_of = np.unique(here.cell, return_inverse=True)
    mine, topic = lists.chosen(cells), lists.topics[cells]
    counts = lists.level_counts[topic]
    if isinstance(measure.cutoff, int):
        mine = mine.cut(measure.cutoff)
        if measure.kind.interval == "normalized_gain":
            counts = np.minimum(counts, measure.cutoff)  # an ideal of k documents has no more of one grade
    own = replace(
        mine,
        topics=np.arange(len(cells)),
        level_counts=counts,
        pooled_count=None,
        stratified=None,
        _relevant={},
    )
    place = own.offsets[list_of] + here.rank - 1
    return _Unjudged(own, cells, topic, place, list_of, here.ordinal - 1, octave_of(here.rank))


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

    def of_draw(self, draw: int) -> Values:
        """Give the number of each document in a draw."""
        return np.asarray((self._order[*self._at, draw] + self._shift[self._at]) / self.draws)


def _exact(unjudged: _Unjudged, measure: Measure, chance: Values) -> _Gain:
    """Give the gain of each list: documents of one octave have the same chances, so levels go in turn.

    For the variance they count as equally heavy too.
    """
    share = chance - np.concatenate([chance[..., 1:], np.zeros((*chance.shape[:-1], 1))], axis=-1)
    base = measure.values(unjudged.lists)
    mean, variance = np.zeros(len(base)), np.zeros(len(base))
    for octave in np.unique(unjudged.octave).tolist():
        some = unjudged.only(unjudged.octave == octave)
        levels = [np.full(len(some.place), level) for level in range(chance.shape[2])]
        gains = np.stack([measure.values(some.filled(level)) - base for level in levels], axis=1)
        here, squares = ((share[:, octave] * one).sum(axis=1) for one in (gains, gains**2))
        count = np.bincount(some.list_of, minlength=len(base))
        mean += here
        variance += np.maximum(squares - here**2, 0.0) / np.maximum(count, 1)
    return _Gain(mean, variance)


def _drawn(unjudged: _Unjudged, measure: Measure, chance: Values, numbers: _EvenNumbers) -> _Gain:
    total, squares = np.zeros(len(chance)), np.zeros(len(chance))
    base = measure.values(unjudged.lists)
    mine = chance[unjudged.list_of, unjudged.octave, 1:]
    for draw in range(numbers.draws):
        level = (numbers.of_draw(draw)[:, np.newaxis] < mine).sum(axis=1)
        gain = measure.values(unjudged.filled(level)) - base
        total += gain
        squares += gain**2
    mean = total / numbers.draws
    return _Gain(mean, np.maximum(squares / numbers.draws - mean**2, 0.0))


class ModelCache:
    """What the contributors of one pool teach: counts and models by depth, made once and shared by measures."""

    def __init__(self, alignment: Alignment, provenance: Provenance) -> None:
        self.alignment = alignment
        self.provenance = provenance
        self._counts: dict[bytes, LabelCounts] = {}
        self._models: dict[bytes, UnjudgedModel] = {}

    def counts(self, depth: Counts) -> LabelCounts:
        """Give the counts down to `depth`, one number per topic."""
        key = depth.tobytes()
        if key not in self._counts:
            groups = self._groups_of_row
            self._counts[key] = count_labels(self.alignment, depth, self.provenance, groups_of_row=groups)
        return self._counts[key]

    def model(self, depth: Counts) -> UnjudgedModel:
        """Give what all contributors teach about unjudged documents down to `depth`."""
        key = depth.tobytes()
        if key not in self._models:
            self._models[key] = fit_model(self.counts(depth))
        return self._models[key]

    @cached_property
    def without(self) -> Lists:
        """The lists of contributors as they would be judged without their own groups; those of others as they are."""
        group = self.provenance.group_of_run
        held_out = np.where(group >= 0, group, np.int32(NONE_HELD_OUT))
        cells = np.repeat(held_out, len(self.alignment.topic_ids)).astype(np.int32)
        return lists_without(self.alignment.lists, self.provenance, cells)

    @cached_property
    def _groups_of_row(self) -> Counts | None:
        is_deletion = self.provenance.method == "deletion"
        return count_groups_of_rows(self.alignment, self.provenance) if is_deletion else None


def scale_model(
    measure: Measure, model: UnjudgedModel, cache: ModelCache, *, depth: Counts, rng: np.random.Generator
) -> UnjudgedModel:
    """Give the model with the scale of a measure: what contributors lost over what they were expected to lose.

    The ratio of the mean losses is drawn a little towards 1.
    """
    alignment = cache.alignment
    contributing = np.flatnonzero(cache.provenance.group_of_run >= 0)
    without = replace(alignment, lists=cache.without)
    copies = len(without.lists.level_counts) // max(len(depth), 1)
    first = tuple(step.times(1 / model.growth) for step in model.steps[:1])
    as_held_out = replace(model, steps=first + model.steps[1:], scale=1.0)
    deep, known = np.tile(depth, copies), alignment.lists
    (gain,) = _gains(
        *(without, measure, as_held_out, deep, rng, contributing, SCALE_DRAWS), with_upper=False, known=known
    )
    lost = (measure.values(known) - measure.values(without.lists)).reshape(alignment.shape)
    kept = alignment.scored[contributing]
    true, expected = (
        float(np.where(kept, one[contributing], 0.0).sum() / max(int(kept.sum()), 1)) for one in (lost, gain.mean)
    )
    little = TOO_SMALL if expected >= 0 else -TOO_SMALL
    return replace(model, scale=float(np.clip((true + little) / (expected + little), LOWEST_SCALE, HIGHEST_SCALE)))
