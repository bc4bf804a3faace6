"""What each plan would have cost, what it would have found, and what it would have done to the ranking of systems.

The truth that a plan is held against is all that is known: shares are of the known relevant documents, and rankings
are compared with the one by all known judgments.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.evaluate.expression import Measure
from cranfield.evaluate.lists import Counts
from cranfield.evaluate.scores import Scores, score
from cranfield.pool.plan import Plan
from cranfield.reuse.correlation import RankDrop, Values, max_rank_drop, tau_ap, tau_b
from cranfield.reuse.leave_out import OwnHoldOut
from cranfield.reuse.spread import Spread
from cranfield.simulate.known import Known, Rows
from cranfield.simulate.outsiders import Without, has_groups, own_hold_out, without_each
from cranfield.simulate.playing import Play, least_budget, open_ended, play, play_at

Told = Callable[[], None]
"""Called whenever a plan has been played once more."""


def nobody() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan asks for and what it finds.

    `least`, `mean` and `most` are documents for a topic. `unknown` documents nobody judged: they cost, and count as
    not relevant. `known_relevant` is all that could be found, `empty` how many topics have known relevant documents,
    of which the plan finds none.
    """

    documents: int
    least: int
    mean: float
    most: int
    unknown: int
    relevant: int
    known_relevant: int
    empty: int

    @property
    def share(self) -> float:
        """The share of the known relevant documents that is found; NaN where none is known."""
        return self.relevant / self.known_relevant if self.known_relevant else float("nan")


@dataclass(frozen=True, slots=True)
class Effect:
    """The ranking of all runs by a plan's judgments against the one by all known judgments.

    `fall` is that of the run that falls by most ranks, and `falling` its name. `change` is the largest change of a
    score, with its sign: what the plan gives minus what all judgments give; `changing` names its run. Everything is
    NaN, and `fall` None, where fewer than two runs have a score.
    """

    measure: Measure
    tau_b: float
    tau_ap: float
    fall: RankDrop | None
    falling: str
    change: float
    changing: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan and what came of it; `strategy` is the plan before it got its `budget`, None where it has none.

    `outsiders` has every feeding run as if its own group had not been there; None where that was not played.
    """

    strategy: str
    budget: int | None
    play: Play
    cost: Cost
    scores: Scores
    effects: tuple[Effect, ...]
    outsiders: OwnHoldOut | None = None

    @property
    def plan(self) -> str:
        """The plan that was played."""
        return self.play.plan

    def loss(self, measure: Measure) -> Spread | None:
        """Give how much of its score a run loses when its own group is not there; None where it was not played."""
        return None if self.outsiders is None else self.outsiders.relative_spread(measure)


def study(
    known: Known,
    plans: Sequence[Plan],
    measures: Sequence[Measure],
    *,
    budgets: Sequence[int] = (),
    seed: int = 0,
    without: Without = "deletion",
    told: Told = nobody,
) -> Iterator[Outcome]:
    """Play every plan, at every budget that is not below what its first steps take; without budgets as it stands.

    `without` says for which plans groups are held out: with `deletion` for those of which it is enough to take away
    what the group alone brought, with `replay` for all, which plays each plan as often as there are groups.
    """
    full = score(known.alignment, measures)
    wanted = sorted(set(budgets))
    for plan in map(open_ended, plans) if wanted else plans:
        possible = [budget for budget in wanted if budget >= int(least_budget(known, plan).sum())] if wanted else []
        if wanted and not possible:
            continue
        plays = play_at(known, plan, possible, seed=seed) if wanted else [play(known, plan, seed=seed)]
        told()
        kept = [one.kept(known) for one in plays]
        scored = [known.scores(rows, full.measures, None) for rows in kept]  # type: ignore[arg-type]
        held = without_each(known, plan, kept, possible, seed=seed, without=without, told=told)
        for place, one in enumerate(plays):
            yield Outcome(
                strategy=str(plan),
                budget=possible[place] if wanted else None,
                play=one,
                cost=cost_of(known, one),
                scores=scored[place],
                effects=effects_of(full, scored[place]),
                outsiders=None if held is None else own_hold_out(known, scored[place], held[place]),
            )


def cost_of(known: Known, played: Play) -> Cost:
    """Count what a play asks for and what it finds."""
    sizes = played.sizes
    by_topic = _relevant_by_topic(known, known.relevant)
    found = _relevant_by_topic(known, known.relevant & played.kept(known))
    return Cost(
        documents=len(played),
        least=int(sizes.min()),
        mean=len(played) / len(sizes),
        most=int(sizes.max()),
        unknown=played.unknown,
        relevant=int(found.sum()),
        known_relevant=int(by_topic.sum()),
        empty=int(np.count_nonzero((by_topic > 0) & (found == 0))),
    )


def effects_of(full: Scores, reduced: Scores) -> tuple[Effect, ...]:
    """Compare the ranking of the runs, measure by measure; a run without any topic has no score, and no rank."""
    measures = [measure for measure in full.measures if isinstance(measure, Measure)]
    return tuple(
        _effect(measure, full.run_names, full.summary[place], reduced.summary[place])
        for place, measure in enumerate(measures)
    )


def _effect(measure: Measure, names: Sequence[str], before: Values, after: Values) -> Effect:
    ranked = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    old, new = before[ranked], after[ranked]
    called = [names[run] for run in ranked.tolist()]
    nothing = float("nan")
    if len(called) < 2:
        return Effect(measure, nothing, nothing, None, "", nothing, "")
    fall = max_rank_drop(old, new)
    most = int(np.argmax(np.abs(new - old)))
    return Effect(
        measure=measure,
        tau_b=tau_b(old, new),
        tau_ap=tau_ap(old, new, names=called),
        fall=fall,
        falling=called[fall.place] if fall.drop > 0 else "",
        change=float(new[most] - old[most]),
        changing=called[most] if new[most] != old[most] else "",
    )


def replays(known: Known, plans: Sequence[Plan], *, without: Without) -> int:
    """Give how often plans are played in all, for whoever shows progress."""
    groups = len({run.team for run in known.pooled.runs}) if without == "replay" and has_groups(known) else 0
    return len(plans) * (1 + groups)


def _relevant_by_topic(known: Known, rows: Rows) -> Counts:
    return np.bincount(known.qrels.topic_of_row[rows], minlength=len(known.qrels.topic_ids))
