"""The expected loss of a run: what its holes would probably have added to its score.

Each hole within the depth that matters gets a grade with the chances that `kappa` gives it, and the loss is the mean
of score with these labels - score. It can be below 0: in AP, nDCG, recall and bpref a document that turns out
relevant also moves what the score is divided by, and in bpref one that is not relevant hurts.

Additive measures (P, CG, DCG, RBP) are summed exactly. For the others labels are drawn, spread evenly: each hole has
each grade in the right share of the draws. A hole's draws depend on its topic and its place among the run's holes
there, so that a run's loss does not depend on the other runs.

The upper end has two parts. Holes may be better than expected, as those of the best group were; and even where they
are not, few labels fall out well or badly by chance. The two do not depend on each other, so their squares add:

    upper = loss + sqrt((loss at the upper chances - loss)² + (1.645 · standard deviation of the labels' worth)²)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError, UsageError
from cranfield.compare.differences import check_draws
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.evaluate.measure import aggregated
from cranfield.reuse.hold_out import NONE_HELD_OUT, lists_without
from cranfield.reuse.provenance import Provenance, prefix_of
from cranfield.reuse.unjudged_model import (
    Kappa,
    Tally,
    at_least,
    groups_of_rows,
    learned,
    octave_of,
    tally_of,
    upper_ends,
)

DRAWS, DEEP_DRAWS, DEEP = 64, 16, 20
"""How many times labels are drawn, fewer where k is above `DEEP`: more holes need fewer draws.

As the labels are spread evenly, the mean of 50 topics is then known to about 0.0001.
"""

NORMAL_95 = 1.645
"""How many standard deviations above its mean a normal number stays with a probability of 95 %."""

ADDITIVE = ("P", "CG", "DCG", "RBP")
"""Measures whose score is a sum over ranks of what each grade is worth there."""


@dataclass(frozen=True, eq=False)
class Loss:
    """What holes are probably worth. `by_topic` is the expected loss as runs by topics, `mean` that of the run.

    `upper` is the run's loss if its holes differ from what is expected as those of the group at the conformal 95 %
    index do, by the model or by plain kappa, whichever lies farther from 0, and the luck of single labels is added.
    A run without holes loses nothing.
    """

    measure: Measure
    by_topic: Values
    mean: Values
    upper: Values


def expected_loss(
    alignment: Alignment,
    measure: Measure,
    kappa: Kappa,
    *,
    depth: Counts,
    rng: np.random.Generator,
    runs: Sequence[int] | None = None,
    draws: int | None = None,
) -> Loss:
    """Give the expected loss of all runs, or of some (the others have NaN), down to `depth`, one number per topic."""
    chosen = np.arange(alignment.shape[0]) if runs is None else np.unique(np.asarray(runs, dtype=np.int64))
    gained = _gains(alignment, measure, kappa, depth, rng, chosen, draws, with_upper=True)
    whole = [_summed(alignment, measure, one.mean, chosen) for one in gained]
    by_topic = np.full(alignment.shape, np.nan)
    by_topic[chosen] = gained[0].mean[chosen]
    far, luck = _farthest(whole), NORMAL_95 * _deviation(alignment, measure, gained[0], chosen)
    away = np.hypot(far - whole[0], luck)
    return Loss(measure, by_topic, whole[0], whole[0] + np.where(far >= 0, away, -away))


def expected_gain(
    alignment: Alignment,
    measure: Measure,
    kappa: Kappa,
    *,
    depth: Counts,
    rng: np.random.Generator,
    runs: Counts,
    draws: int | None = None,
    known: Lists | None = None,
) -> Values:
    """Give the expected loss alone, without its upper end: runs by topics, 0 for runs that are not asked for.

    `depth` has one number for each topic of the lists, which may be several copies of those of the alignment. `known`
    are the same lists with more of their documents judged: holes that are holes there too are then left aside.
    """
    return _gains(alignment, measure, kappa, depth, rng, runs, draws, with_upper=False, known=known)[0].mean


@dataclass(frozen=True, eq=False)
class _Gain:
    """What judging its holes adds to the score of each cell: the mean over their labels, and the variance."""

    mean: Values
    variance: Values


def _gains(
    alignment: Alignment,
    measure: Measure,
    kappa: Kappa,
    depth: Counts,
    rng: np.random.Generator,
    chosen: Counts,
    draws: int | None,
    *,
    with_upper: bool,
    known: Lists | None = None,
) -> list[_Gain]:
    """Give the expected gains, and those at the upper ends."""
    many = (DRAWS if depth.max(initial=0) <= DEEP else DEEP_DRAWS) if draws is None else draws
    check_draws(many)
    if tuple(alignment.lists.levels.tolist()) != kappa.levels:
        taught, seen = kappa.levels, tuple(alignment.lists.levels.tolist())
        raise InputError(f"what is known of holes is about the grades {taught}, but the qrels have {seen}")
    judged = tally_of(alignment, depth).judged
    blanks = _blanks_of(alignment, measure, chosen, depth, known)
    steady = _Uniform(blanks, len(alignment.topic_ids), rng, many)
    octaves = int(octave_of(depth).max(initial=0)) + 1
    versions = [at_least(kappa, judged, octaves), *(upper_ends(kappa, judged, octaves) if with_upper else [])]
    found = [_gained(blanks, measure, version, steady, alignment.shape) for version in versions]
    return [_Gain(kappa.scale * one.mean, kappa.scale**2 * one.variance) for one in found]


def _farthest(losses: Sequence[Values]) -> Values:
    """Give of several losses of each run the one farthest from 0."""
    table = np.array(losses)
    place = np.argmax(np.nan_to_num(np.abs(table)), axis=0)
    return np.asarray(table[place, np.arange(table.shape[1])])


def _summed(alignment: Alignment, measure: Measure, gained: Values, chosen: Counts) -> Values:
    """Put the losses of topics together as the measure puts its scores together."""
    total = np.full(alignment.shape[0], np.nan)
    plain = measure.aggregate == "mean"
    base = np.zeros(alignment.shape) if plain else measure.values(alignment.lists).reshape(alignment.shape)
    for run in chosen.tolist():
        scored = alignment.scored[run]
        before, after = base[run][scored], (base + gained)[run][scored] if not plain else gained[run][scored]
        total[run] = aggregated(after, measure.aggregate) - (0.0 if plain else aggregated(before, measure.aggregate))
    return total


def _deviation(alignment: Alignment, measure: Measure, gained: _Gain, chosen: Counts) -> Values:
    """Give the standard deviation of the loss of each run, with the labels of one topic independent of the others'.

    Where topics are not put together by their mean, each is moved by its own deviation, and the effects are added.
    """
    deviation = np.sqrt(gained.variance)
    total = np.full(alignment.shape[0], np.nan)
    base = None if measure.aggregate == "mean" else measure.values(alignment.lists).reshape(alignment.shape)
    for run in chosen.tolist():
        scored = alignment.scored[run]
        mine = deviation[run][scored]
        if base is None:
            effects = mine / max(len(mine), 1)
        else:
            expected = (base + gained.mean)[run][scored]
            moved = [aggregated(expected + row, measure.aggregate) for row in np.diag(mine)]
            effects = np.array(moved) - aggregated(expected, measure.aggregate)
        total[run] = np.sqrt((effects**2).sum())
    return total


@dataclass(frozen=True, eq=False)
class _Blanks:
    """The lists that have holes which matter, each as a topic of its own, and where the holes are.

    `cell_of_list` is the cell of the alignment; `place`, `list_of`, `ordinal` and `octave` tell for each hole its
    place among the grades, its list, its number there, from 0, and the octave of its rank.
    """

    lists: Lists
    cell_of_list: Counts
    topic_of_list: Counts
    place: Counts
    list_of: Counts
    ordinal: Counts
    octave: Counts

    def only(self, kept: NDArray[np.bool_]) -> _Blanks:
        """Give the same lists with some of the holes; the others stay unjudged."""
        return replace(
            self,
            place=self.place[kept],
            list_of=self.list_of[kept],
            ordinal=self.ordinal[kept],
            octave=self.octave[kept],
        )

    def filled(self, level: NDArray[np.intp]) -> Lists:
        """Give the lists with each hole judged, `level` being the place of its grade among the levels."""
        levels = self.lists.levels
        grades = self.lists.grades.copy()
        grades[self.place] = levels[level]
        size = len(self.lists) * len(levels)
        added = np.bincount(self.list_of * len(levels) + level, minlength=size).reshape(-1, len(levels))
        return replace(self.lists, grades=grades, level_counts=self.lists.level_counts + added, _relevant={})


def _blanks_of(
    alignment: Alignment, measure: Measure, chosen: Counts, depth: Counts, known: Lists | None = None
) -> _Blanks:
    lists = alignment.lists
    holes = prefix_of(lists, depth).lists.unjudged
    wanted = np.zeros(alignment.shape, dtype=bool)
    wanted[chosen] = alignment.scored[chosen]
    here = holes.where(wanted.ravel()[holes.cell])
    if known is not None:
        here = here.where(known.grades[lists.offsets[here.cell] + here.rank - 1] >= 0)
    cells, list_of = np.unique(here.cell, return_inverse=True)
    mine = lists.chosen(cells)
    if isinstance(measure.cutoff, int):
        mine = mine.cut(measure.cutoff)
    topic = lists.topics[cells]
    own = replace(
        mine,
        topics=np.arange(len(cells)),
        level_counts=_enough(lists.level_counts[topic], measure),
        pooled_count=None,
        stratified=None,
        _relevant={},
    )
    return _Blanks(
        own, cells, topic, own.offsets[list_of] + here.rank - 1, list_of, here.ordinal - 1, octave_of(here.rank)
    )


def _enough(counts: Counts, measure: Measure) -> Counts:
    """Give the counts that a measure looks at: the ideal of nDCG@k has no more than k documents of a grade."""
    if measure.name != "nDCG" or not isinstance(measure.cutoff, int):
        return counts
    return np.minimum(counts, measure.cutoff)


class _Uniform:
    """Numbers from 0 to 1 for each hole, one per draw, spread evenly over the draws."""

    def __init__(self, blanks: _Blanks, topics: int, rng: np.random.Generator, draws: int) -> None:
        # Ordinals come first, so that a run with more holes only adds rows, and changes nobody else's numbers.
        order, shift = rng.spawn(2)
        shape = (int(blanks.ordinal.max(initial=-1)) + 1, topics)
        self.draws = draws
        self._order = order.permuted(np.broadcast_to(np.arange(draws), (*shape, draws)), axis=-1)
        self._shift = shift.random(shape)
        self._at = (blanks.ordinal, blanks.topic_of_list[blanks.list_of] % max(topics, 1))

    def numbers(self, draw: int) -> Values:
        """Give the number of each hole in a draw."""
        return np.asarray((self._order[*self._at, draw] + self._shift[self._at]) / self.draws)


def _gained(blanks: _Blanks, measure: Measure, reached: Values, steady: _Uniform, shape: tuple[int, int]) -> _Gain:
    """Give the expected gain of each cell when its holes are judged, 0 where it has none."""
    mean, variance = np.zeros(shape[0] * shape[1]), np.zeros(shape[0] * shape[1])
    if len(blanks.place):
        chance = reached.reshape(-1, *reached.shape[2:])[blanks.cell_of_list]
        found = _exact(blanks, measure, chance) if _is_additive(measure) else _drawn(blanks, measure, chance, steady)
        mean[blanks.cell_of_list], variance[blanks.cell_of_list] = found.mean, found.variance
    return _Gain(mean.reshape(shape), variance.reshape(shape))


def _is_additive(measure: Measure) -> bool:
    """Say whether the score is a sum over ranks; RBP by the topic's own highest grade is not."""
    settings = dict(measure.settings)
    return measure.name in ADDITIVE and settings.get("gain") != "topic" and not settings.get("judged_only")


def _exact(blanks: _Blanks, measure: Measure, chance: Values) -> _Gain:
    """Give the gain of each list: holes of one octave have the same chances, so levels go in turn.

    For the variance they count as equally heavy too.
    """
    share = chance - np.concatenate([chance[..., 1:], np.zeros((*chance.shape[:-1], 1))], axis=-1)
    base = measure.values(blanks.lists)
    mean, variance = np.zeros(len(base)), np.zeros(len(base))
    for octave in np.unique(blanks.octave).tolist():
        some = blanks.only(blanks.octave == octave)
        levels = [np.full(len(some.place), level) for level in range(chance.shape[2])]
        gains = np.stack([measure.values(some.filled(level)) - base for level in levels], axis=1)
        here, squares = ((share[:, octave] * one).sum(axis=1) for one in (gains, gains**2))
        holes = np.bincount(some.list_of, minlength=len(base))
        mean += here
        variance += np.maximum(squares - here**2, 0.0) / np.maximum(holes, 1)
    return _Gain(mean, variance)


def _drawn(blanks: _Blanks, measure: Measure, chance: Values, steady: _Uniform) -> _Gain:
    total, squares = np.zeros(len(chance)), np.zeros(len(chance))
    base = measure.values(blanks.lists)
    mine = chance[blanks.list_of, blanks.octave, 1:]
    for draw in range(steady.draws):
        level = (steady.numbers(draw)[:, np.newaxis] < mine).sum(axis=1)
        gain = measure.values(blanks.filled(level)) - base
        total += gain
        squares += gain**2
    mean = total / steady.draws
    return _Gain(mean, np.maximum(squares / steady.draws - mean**2, 0.0))


# What the contributors of one field teach about holes, found once and asked for measure by measure.


class Lessons:
    """Tallies and kappas by the depth that matters, and the lists of all runs without their own groups.

    Measures share them: those with one cutoff the tally, and all of them the rest.
    """

    def __init__(self, alignment: Alignment, provenance: Provenance) -> None:
        self.alignment = alignment
        self.provenance = provenance
        self._tallies: dict[bytes, Tally] = {}
        self._kappas: dict[bytes, Kappa] = {}

    def tally(self, depth: Counts) -> Tally:
        """Give the tally down to `depth`, one number per topic."""
        key = depth.tobytes()
        if key not in self._tallies:
            self._tallies[key] = tally_of(self.alignment, depth, self.provenance, groups_of_row=self._groups_of_row)
        return self._tallies[key]

    def kappa(self, depth: Counts) -> Kappa:
        """Give what all contributors teach about holes down to `depth`."""
        key = depth.tobytes()
        if key not in self._kappas:
            self._kappas[key] = learned(self.tally(depth))
        return self._kappas[key]

    @cached_property
    def without(self) -> Lists:
        """The lists of contributors as they would be judged without their own groups; those of others as they are."""
        group = self.provenance.group_of_run
        held_out = np.where(group >= 0, group, np.int32(NONE_HELD_OUT))
        cells = np.repeat(held_out, len(self.alignment.topic_ids)).astype(np.int32)
        return lists_without(self.alignment.lists, self.provenance, cells)

    @cached_property
    def _groups_of_row(self) -> Counts | None:
        return groups_of_rows(self.alignment, self.provenance) if self.provenance.method == "deletion" else None


# Expected losses brought into line with what held-out groups really lost, measure by measure.

DRAWS_SCALING = 8

LOWEST, HIGHEST = 0.5, 2.0
"""What the ratio is kept between: beyond it the model itself is wrong, and no factor mends that."""

TOO_SMALL = 0.0005
"""A mean loss that says nothing, in points: the ratio is drawn towards 1 with so much."""


def scaled(
    measure: Measure,
    kappa: Kappa,
    lessons: Lessons,
    *,
    depth: Counts,
    rng: np.random.Generator,
) -> Kappa:
    """Give kappa with the scale of a measure: what contributors lost over what they were expected to lose."""
    alignment = lessons.alignment
    contributing = np.flatnonzero(lessons.provenance.group_of_run >= 0)
    without = replace(alignment, lists=lessons.without)
    copies = len(without.lists.level_counts) // max(len(depth), 1)
    as_held_out = replace(kappa, steps=tuple([step.times(1 / kappa.growth) for step in kappa.steps[:1]]))
    as_held_out = replace(as_held_out, steps=as_held_out.steps + kappa.steps[1:], scale=1.0)
    expected = expected_gain(
        without,
        measure,
        as_held_out,
        depth=np.tile(depth, copies),
        rng=rng,
        runs=contributing,
        draws=DRAWS_SCALING,
        known=alignment.lists,
    )
    lost = (measure.values(alignment.lists) - measure.values(without.lists)).reshape(alignment.shape)
    return replace(kappa, scale=_ratio(lost, expected, alignment.scored, contributing))


def _ratio(lost: Values, expected: Values, scored: np.ndarray, runs: Counts) -> float:
    """Give the ratio of mean losses over runs, drawn a little towards 1."""
    kept = scored[runs]
    true, hoped = (float(np.where(kept, one[runs], 0.0).sum() / max(int(kept.sum()), 1)) for one in (lost, expected))
    little = TOO_SMALL if hoped >= 0 else -TOO_SMALL
    return float(np.clip((true + little) / (hoped + little), LOWEST, HIGHEST))


# Estimates of what a run would have scored with its holes judged. They never replace the score.


@dataclass(frozen=True, eq=False)
class Completed:
    """Scores with the expected loss added, as an estimate, from `low` to `high`: one of each per run.

    The interval goes from the score as it stands to the score with the upper end of the loss.
    """

    score: Values
    value: Values
    low: Values
    high: Values


@dataclass(frozen=True, slots=True)
class Shift:
    """What Webber and Park add to the score of every outsider: what contributors lose on average when held out.

    One number for all: it can mend the mean, and never the order among outsiders. `error` is how far off it is for a
    group that it was not made from, in the mean over groups; `plain_error` is that of adding nothing.
    """

    value: float
    error: float
    plain_error: float
    groups: int

    @property
    def helps(self) -> bool:
        """Whether adding it is better than adding nothing."""
        return self.error < self.plain_error

    def __str__(self) -> str:
        if self.groups < 2:
            return f"shift {self.value:+.4f}, not tested: it needs two groups at least"
        told = f"shift {self.value:+.4f}, off by {self.error:.4f} in the mean when left out ({self.plain_error:.4f}"
        if self.helps:
            return f"{told} without it)"
        return f"{told} without it): worse than adding nothing, do not use it"


def completed(score: Values, loss: Loss) -> Completed:
    """Add the expected loss to the scores of runs; no estimate leaves the range of the measure."""
    lowest, highest = loss.measure.bounds
    value, end = (np.clip(score + one, lowest, highest) for one in (loss.mean, loss.upper))
    return Completed(
        score, value, np.minimum(np.minimum(score, end), value), np.maximum(np.maximum(score, end), value)
    )


def webber_park_shift(drops: Values, group_of_run: NDArray[np.int32]) -> Shift:
    """Give the shift from what contributing runs lose when their own group is held out.

    The mean over groups of the mean over the group's runs, so that a group with many runs counts once. The error is
    |drop - shift made from the other groups|, averaged over the runs of a group, and then over groups.

    Source: Webber and Park, Score adjustment for correction of pooling bias, SIGIR 2009.
    """
    if drops.shape != group_of_run.shape or not len(drops) or (group_of_run < 0).any():
        raise UsageError("a shift is made from the drops of contributing runs, each with its group")
    groups, place = np.unique(group_of_run, return_inverse=True)
    size = np.bincount(place)
    means = np.bincount(place, drops) / size
    count = len(groups)
    if count < 2:
        return Shift(float(means.mean()), float("nan"), float(np.abs(drops).mean()), count)
    others = (means.sum() - means) / (count - 1)
    error = np.bincount(place, np.abs(drops - others[place])) / size
    plain = np.bincount(place, np.abs(drops)) / size
    return Shift(float(means.mean()), float(error.mean()), float(plain.mean()), count)


def condensed_sibling(alignment: Alignment, measure: Measure) -> tuple[Measure, Values]:
    """Give the measure on condensed lists, and each run's score by it: the optimistic sibling of the score.

    Unjudged documents are taken out as if they were as relevant as the judged ones, which those of outsiders are
    not: it is shown beside the score, never alone. Source: Sakai, SIGIR 2007.
    """
    sibling = measure.with_setting("judged_only", value=True)
    values = sibling.values(alignment.lists).reshape(alignment.shape)
    runs: Sequence[int] = range(alignment.shape[0])
    return sibling, np.array([aggregated(values[run][alignment.scored[run]], measure.aggregate) for run in runs])
