"""How often a hole is relevant, learned inside the pool: by holding out groups, whose holes have known labels.

`kappa` is the relevance rate of such holes over that of the other judged documents in the same first k. Beyond this
one number the chance of a hole depends on the run, the topic and the rank (see `hole_model`): the holes of good runs
are relevant more often than in proportion.

How far a new group may lie above what is expected is taken from the groups: each in turn is predicted from the
others, and the ratio of what was found to what was expected is put at the conformal 95 % index over groups.
"""

from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.lists import Counts, Values, ratio
from cranfield.reuse.hole_model import ONE_MORE, TO_ALL, USUAL, Step, StepData
from cranfield.reuse.spread import Upper, conformal_upper
from cranfield.reuse.tally import Tally


@dataclass(frozen=True, slots=True)
class Kappa:
    """What holding out groups taught about holes within k.

    `value` is kappa over all groups, `by_grade` the same for the share of each grade above the lowest, `by_group`
    that of each group that has holes, and `spread` its conformal upper end. `factor` and `plain_factor` say how much
    more relevant holes a new group may have than the model, or `plain` times the run's rate, expects. `growth` is
    what both were multiplied by, because a new run meets one group more in the pool than one that was held out.
    `scale` is what the expected loss by one measure is multiplied by (see `scaling`).
    """

    levels: tuple[int, ...]
    value: float
    by_grade: tuple[float, ...]
    by_group: tuple[tuple[str, float], ...]
    spread: Upper
    steps: tuple[Step, ...]
    factor: Upper
    plain: float
    plain_factor: Upper
    growth: float
    groups: int
    holes: int
    relevant: int
    scale: float = 1.0


def learned(tally: Tally, runs: Counts | None = None) -> Kappa:
    """Learn from the contributing runs of a tally, or from some of its runs (as places)."""
    chosen = np.flatnonzero(tally.group_of_run >= 0)
    chosen = chosen if runs is None else np.intersect1d(chosen, runs)
    kept = tally.of(chosen)
    data = [StepData.of(kept, step) for step in range(1, len(tally.levels))]
    first = data[0] if data else StepData.of(kept, 0)
    fits = [one.fit() for one in data]
    steps = [one.step(fit) for one, fit in zip(data, fits, strict=True)]
    by_group, growth = _by_group(first), _growth(kept)
    plain, plain_factors = _plain(first)
    return Kappa(
        levels=tally.levels,
        value=_ratio_of_rates(kept),
        by_grade=_by_grade(kept),
        by_group=tuple((tally.groups[group], value) for group, value in by_group),
        spread=conformal_upper([value for _, value in by_group]),
        steps=tuple([step.times(growth) for step in steps[:1]] + steps[1:]),
        factor=_at_least_one(conformal_upper(first.factors(fits[0]) if fits else [])),
        plain=plain * growth,
        plain_factor=_at_least_one(conformal_upper(plain_factors)),
        growth=growth,
        groups=len(np.unique(kept.group_of_run)),
        holes=int(kept.own.sum()),
        relevant=int(kept.own[..., 1:].sum()),
    )


def at_least(kappa: Kappa, judged: Counts, octaves: int) -> Values:
    """Give the chance that a hole has each level or a higher one: runs by topics by octaves of ranks by levels.

    `judged` are the run's judged documents by level. The lowest level has the chance 1.
    """
    reached = np.ones((*judged.shape[:2], octaves, judged.shape[2]))
    for place, step in enumerate(kappa.steps, start=1):
        passed, tried = judged[:, :, place:].sum(axis=2), judged[:, :, place - 1 :].sum(axis=2)
        reached[..., place] = reached[..., place - 1] * step.chance(passed, tried, octaves)
    return reached


def upper_ends(kappa: Kappa, judged: Counts, octaves: int) -> list[Values]:
    """Give the chances as a new group at the conformal index would have them: by the model, and by plain kappa."""
    reached = at_least(kappa, judged, octaves)
    if not kappa.steps:
        return []
    rate = ratio(judged[:, :, 1:].sum(axis=(1, 2)), judged.sum(axis=(1, 2)))
    plain = np.broadcast_to(
        (kappa.plain * kappa.plain_factor.value * rate)[:, np.newaxis, np.newaxis], reached.shape[:3]
    )
    return [_with_first(reached, np.minimum(one, 1.0)) for one in (reached[..., 1] * kappa.factor.value, plain)]


def _with_first(reached: Values, first: Values) -> Values:
    """Give the chances with another one for the first step; given that, the grades are spread as before."""
    changed = reached * ratio(first, reached[..., 1])[..., np.newaxis]
    changed[..., 0] = 1.0
    return changed


def _plain(data: StepData) -> tuple[float, Values]:
    """Give kappa in the form kappa times the run's rate, and what each group has over what the others let expect."""
    groups, place = np.unique(data.group, return_inverse=True)
    rate = ratio(data.passed.sum(axis=1), data.tried.sum(axis=1))
    found = np.bincount(place, data.hole_passed.sum(axis=(1, 2)), minlength=len(groups))
    at_one = np.bincount(place, data.hole_tried.sum(axis=(1, 2)) * rate, minlength=len(groups))
    others = (found.sum() - found + USUAL) / (at_one.sum() - at_one + 1.0)
    kappa = (found.sum() + USUAL) / (at_one.sum() + 1.0)
    return float(kappa), np.asarray((found + ONE_MORE) / (others * at_one + ONE_MORE))


def _growth(tally: Tally) -> float:
    """Give how much less often a hole is relevant when one group more feeds the pool.

    Held-out groups see a pool with one group less than a new run does. With one group less again some documents that
    two groups brought would be holes too, each for one of the n - 1 others. The step from n - 2 groups to n - 1,
    which is so known, is taken for that from n - 1 to n, measured by the logarithm of the number of groups.
    """
    groups = len(tally.groups)
    if groups < 3:
        return 1.0
    own, shared = tally.own.sum(axis=(0, 1, 2)), tally.shared.sum(axis=(0, 1))
    fewer = own + shared / (groups - 1)
    step = np.log(groups / (groups - 1)) / np.log((groups - 1) / (groups - 2))
    return float(np.clip((_drawn_rate(own, fewer) / _drawn_rate(fewer, fewer)) ** step, 0.5, 1.0))


def _drawn_rate(counts: Values, all_counts: Values) -> float:
    """Give the relevance rate of some holes, drawn a little towards that of all."""
    whole = (all_counts[1:].sum() + 0.5) / (all_counts.sum() + 1.0)
    return float((counts[1:].sum() + TO_ALL * whole) / (counts.sum() + TO_ALL))


def _by_group(data: StepData) -> list[tuple[int, float]]:
    """Give kappa of each group that has holes, and judged documents that are relevant to compare them with."""
    found = []
    for group in np.unique(data.group).tolist():
        mine = data.group == group
        rate = data.passed[mine].sum() / max(int(data.tried[mine].sum()), 1)
        holes = int(data.hole_tried[mine].sum())
        if holes and rate > 0:
            found.append((group, float(data.hole_passed[mine].sum() / holes / rate)))
    return found


def _by_grade(tally: Tally) -> tuple[float, ...]:
    own, judged = tally.own.sum(axis=(0, 1, 2)), tally.judged.sum(axis=(0, 1))
    shares = ratio(ratio(own, own.sum()), ratio(judged, judged.sum()))
    return tuple(np.where(judged > 0, shares, np.nan)[1:].tolist())


def _ratio_of_rates(tally: Tally) -> float:
    own, judged = tally.own.sum(axis=(0, 1, 2)), tally.judged.sum(axis=(0, 1))
    if not own.sum() or not judged[1:].sum():
        return float("nan")
    return float((own[1:].sum() / own.sum()) / (judged[1:].sum() / judged.sum()))


def _at_least_one(upper: Upper) -> Upper:
    """Give the upper end of what a new group may have: never less than what is expected."""
    value = 1.0 if np.isnan(upper.value) else max(upper.value, 1.0)
    return Upper(value, upper.n, upper.is_maximum)
