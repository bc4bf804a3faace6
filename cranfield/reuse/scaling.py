"""Expected losses brought into line with what held-out groups really lost, measure by measure.

The chances of holes agree with the labels of held-out documents in number. What these are worth to a measure may
still be off: documents below the depth that matters, which a sibling run brought, are no holes there and yet turn out
relevant, and good documents may stand higher than others. So the loss that is expected of all contributors, each
without its own group, is compared with what they lost, and every expected loss multiplied by the ratio. Only holes
whose labels are known count on both sides: where the pool is less deep than k, contributors have others too.
"""

from dataclasses import replace

import numpy as np

from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts, Values
from cranfield.reuse.kappa import Kappa
from cranfield.reuse.lessons import Lessons
from cranfield.reuse.loss import expected_gain

DRAWS = 8

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
        draws=DRAWS,
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
