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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.compare.drawing import check_draws
from cranfield.errors import InputError
from cranfield.evaluate.aggregate import aggregated
from cranfield.evaluate.align import Alignment
from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Lists, Values
from cranfield.reuse.kappa import Kappa, at_least, upper_ends
from cranfield.reuse.prefix import prefix_of
from cranfield.reuse.tally import octave_of, tally_of

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

    def only(self, kept: NDArray[np.bool_]) -> "_Blanks":
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
