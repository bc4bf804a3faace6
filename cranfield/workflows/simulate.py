"""What other pools and budgets would have found: plans replayed against the judgments of a collection or of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import Source
from cranfield.base.progress import Progress, silent
from cranfield.base.text import counted
from cranfield.store import runs as stored_runs
from cranfield.store import scales
from cranfield.store.store import Store
from cranfield.workflows.evaluate.inputs import Asked, align_as_asked, measures_asked, read_in_full
from cranfield.workflows.pool.inputs import as_pooled, known_pool, queries, reader, with_ids
from cranfield.workflows.pool.show import ASSUMED_SECONDS, Speed, judging_speed

if TYPE_CHECKING:
    from cranfield.evaluate.expression import Measure
    from cranfield.pool.candidates import PooledRuns
    from cranfield.pool.plan import Plan
    from cranfield.report.figures import Curve
    from cranfield.runs.run import Member, Run
    from cranfield.simulate.forecast import Forecast, TopicsNeeded
    from cranfield.simulate.study import Known, Outcome


# What should be known about a simulation, in sentences.

BEYOND = 0.1
"""From which share of documents that nobody judged a plan is said to go beyond the known pool."""

_PLANS_NAMED = 3


@dataclass(frozen=True, eq=False)
class Field:
    """What is known, whether it is known whose the runs are, and which pooled runs of the groups are not here."""

    known: Known
    has_groups: bool
    speed: Speed
    absent: tuple[str, ...] = ()


def about_known(field: Field) -> Iterator[str]:
    """Say what the simulation stands on."""
    known = field.known
    judged, relevant = int(known.judged.sum()), int(known.relevant.sum())
    feeding, ranked = len(known.pooled), len(known.runs) - len(known.pooled)
    groups = f" of {counted(len(set(known.pooled.teams)), 'group')}" if field.has_groups else ""
    others = f", {counted(ranked, 'more run')} only ranked" if ranked else ""
    topics = counted(len(known.labels), "topic")
    yield (
        f"{counted(judged, 'judged document')} of {topics}, {relevant:,} of them relevant;"
        f" {counted(feeding, 'run')}{groups} feed the plans{others}"
    )
    if field.absent:
        some = f"{field.absent[0]} …" if len(field.absent) > 1 else field.absent[0]
        yield f"{counted(len(field.absent), 'pooled run')} of the groups not here: {some}"
    if len(known.topics) < len(known.labels):
        yield f"{counted(len(known.labels) - len(known.topics), 'judged topic')} of no feeding run: not played"
    unjudged = len(set(known.pooled.topics) - set(known.labels))
    if unjudged:
        yield f"{counted(unjudged, 'topic')} of the runs without judgments: not played"
    if known.reachable < relevant:
        missing = counted(relevant - known.reachable, "known relevant document")
        yield f"{missing} of no feeding run: no plan can find them"
    yield f"hours at {field.speed.pace}"


def about_plans(outcomes: Sequence[Outcome], plans: Sequence[Plan], budgets: Sequence[int]) -> Iterator[str]:
    """Say which plans asked for documents that nobody judged, and which budgets are too small for which."""
    asking = sorted((one for one in outcomes if one.cost.unknown), key=lambda one: -one.cost.unknown)
    for one in asking[:_PLANS_NAMED]:
        many = counted(one.cost.unknown, "document")
        yield f"'{one.plan}' asked for {many} that nobody judged; counted as not relevant"
    if len(asking) > _PLANS_NAMED:
        yield f"so did {counted(len(asking) - _PLANS_NAMED, 'other plan')}, for fewer"
    if any(one.cost.unknown > BEYOND * one.cost.documents for one in asking):
        yield (
            f"mind: where nobody judged more than {BEYOND:.0%} of its documents, a plan goes beyond the old pool: it"
            " would find more than is told, and its ranking, and what outsiders lose, look better than they would be"
        )
    for strategy in [str(plan) for plan in plans if budgets]:
        played = {one.budget for one in outcomes if one.strategy == strategy}
        missing = [f"{budget:,}" for budget in sorted(set(budgets) - played)]
        if missing:
            yield f"'{strategy}' not at {', '.join(missing)}: its first steps take more"


def about_outsiders(field: Field, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Say what is not told about outsiders, and why."""
    from cranfield.simulate.study import FEWEST_GROUPS

    groups = len(set(field.known.pooled.teams))
    if field.has_groups and groups < FEWEST_GROUPS:
        yield f"{counted(groups, 'group')} feed the plans: too few to say what an outsider must expect"
    elif field.has_groups and any(one.outsiders is None for one in outcomes):
        yield f"--outsiders also plays each plan without each group: {groups:,} more times"


DEFAULT_MEASURES = ("nDCG@10", "AP")
STRATEGIES = ("take", "rrf", "mtf", "max-mean-ns")
"""What is played at given budgets where no plan is named."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""The depths that are played where neither plans nor budgets are given."""


@dataclass(frozen=True, kw_only=True)
class Simulating:
    """Which plans are played, at which budgets, and by whom they are fed.

    `groups` says whose the runs are and which of them feed the plans, as a file or as it is; without it a collection
    knows. With `outsiders` every plan is played without each group too. `seconds` a document are measured or assumed
    where they are not given, and `relevant_from` is that of the collection's scale, else 1. With a `difference` it is
    also told how many topics would find it with the chance `power`.
    """

    plans: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    groups: Path | Sequence[Member] | None = None
    outsiders: bool = False
    seed: int = 0
    seconds: float | None = None
    relevant_from: int | None = None
    difference: float | None = None
    power: float = 0.8


@dataclass(frozen=True, eq=False)
class Simulated:
    """What came of the plans, in the order they were given, smaller budgets first.

    `needed` has the topics for a difference, where one was asked for, by the place of the outcome and the measure.
    """

    known: Known
    measures: tuple[Measure, ...]
    outcomes: tuple[Outcome, ...]
    speed: Speed
    notes: tuple[str, ...]
    needed: dict[tuple[int, str], TopicsNeeded | None] | None = None


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What pools of rising depth cost, found, and would find."""

    known: Known
    forecast: Forecast
    speed: Speed
    notes: tuple[str, ...]


def simulate_plans(
    asked: Asked, how: Simulating, *, store: Store | None = None, progress: Progress = silent
) -> Simulated:
    """Play plans against the judgments that are known, and tell what each would have cost, found and done."""
    from cranfield.evaluate.expression import own_measures
    from cranfield.simulate.study import Without, replays, study

    field = _field(asked, how, store)
    known = field.known
    if how.outsiders and not field.has_groups:
        raise UsageError("--outsiders needs to know whose runs these are: tell it with --groups FILE")
    plans = _plans(how, known, store)
    measures = tuple(own_measures(measures_asked(asked.measures, store, relevant_from=known.relevant_from)))
    without: Without = "replay" if how.outsiders else "deletion" if field.has_groups else "nothing"
    total, done = replays(known, plans, without=without), 0

    def told() -> None:
        nonlocal done
        done += 1
        progress("playing plans", done, total)

    found = study(known, plans, measures, budgets=how.budgets, seed=how.seed, without=without, told=told)
    outcomes = tuple(found)
    if not outcomes:
        raise InputError("every budget is below what the first steps of the plans take; raise the budgets")
    notes = (*about_known(field), *about_plans(outcomes, plans, how.budgets), *about_outsiders(field, outcomes))
    return Simulated(known, measures, outcomes, field.speed, notes, _needed(outcomes, how))


def foresee(
    asked: Asked, how: Simulating, *, to_depth: int, pool_depth: int | None = None, store: Store | None = None
) -> Foreseen:
    """Tell what pools down to a depth cost, found, and would probably find below the depth that was judged."""
    from cranfield.simulate.forecast import forecast

    field = _field(asked, how, store)
    depth, notes = _judged_depth(field.known, pool_depth, store)
    found = forecast(field.known, pool_depth=depth, to_depth=to_depth)
    if found.unknown > BEYOND:
        notes.append(
            f"mind: nobody judged {found.unknown:.0%} of what depth {depth} asks for: less is told than there is"
        )
    if found.refusal:
        notes.append(f"nothing is foreseen below depth {depth}: {found.refusal}")
    return Foreseen(field.known, found, field.speed, (*about_known(field), *notes))


def _field(asked: Asked, how: Simulating, store: Store | None) -> Field:
    from cranfield.simulate.study import known_of

    qrels, runs = read_in_full(asked, store)
    members = _members(how)
    pooled = _feeding(runs, members, store)
    absent = tuple(one.run for one in members or () if one.pooled and one.run not in {run.tag for run in runs})
    has_groups = members is not None or store is not None
    known = known_of(
        qrels,
        runs,
        pooled,
        alignment=align_as_asked(asked, qrels, runs, keep_rows=True),
        relevant_from=how.relevant_from or (1 if store is None else scales.current(store)[1].relevant_from),
        texts=None if store is None else reader(store),
        queries=None if store is None else queries(store),
    )
    return Field(known, has_groups, _speed(how, store), absent)


def _members(how: Simulating) -> Sequence[Member] | None:
    from cranfield.runs.run import read_groups

    return read_groups(Source(how.groups)) if isinstance(how.groups, Path) else how.groups


def _feeding(runs: Sequence[Run], members: Sequence[Member] | None, store: Store | None) -> PooledRuns:
    """Give the runs that feed the plans.

    Those that the groups call pooled; else those that were submitted to the collection as contributing; else all.
    """
    from cranfield.pool.candidates import runs_of

    here = {run.tag: run for run in runs}
    if members is not None:
        pooled = {one.run: one.group for one in members if one.pooled and one.run in here}
        if not pooled:
            raise InputError("the groups call none of these runs pooled, so nothing feeds the plans")
        return runs_of([here[name] for name in pooled], groups=pooled)
    if store is None:
        return runs_of(list(runs))
    chosen = [facts for facts in stored_runs.facts(store) if facts.name in here and facts.role == "contributing"]
    if not chosen:
        raise InputError("none of these runs was submitted as contributing, so nothing feeds the plans")
    return with_ids(store, as_pooled(store, chosen))


def _speed(how: Simulating, store: Store | None) -> Speed:
    if store is not None:
        return judging_speed(store, seconds_per_document=how.seconds)
    if how.seconds is not None and not 0 < how.seconds < float("inf"):
        raise UsageError(f"seconds a document are a number above 0, not {how.seconds:g}")
    return Speed(ASSUMED_SECONDS if how.seconds is None else how.seconds)


def _plans(how: Simulating, known: Known, store: Store | None) -> list[Plan]:
    from cranfield.pool.plan import parse
    from cranfield.simulate.study import open_ended

    if any(budget < 1 for budget in how.budgets):
        raise UsageError("a budget is a number of documents, from 1 up")
    words = how.plans or (STRATEGIES if how.budgets else _depths(known, store))
    plans = [open_ended(plan) if how.budgets else plan for plan in map(parse, words)]
    return list({str(plan): plan for plan in plans}.values())


def _depths(known: Known, store: Store | None) -> list[str]:
    """Give plans by depth down to the depth that was judged: beyond it nobody knows what they would find."""
    judged, _ = _pool_depth(known, store)
    deepest = min(judged or known.pooled.depth, known.pooled.depth)
    wanted = sorted({depth for depth in DEPTHS if depth < deepest} | {min(deepest, DEPTHS[-1])})
    return [f"depth {depth}" for depth in wanted]


def _needed(outcomes: Sequence[Outcome], how: Simulating) -> dict[tuple[int, str], TopicsNeeded | None] | None:
    from cranfield.simulate.forecast import needed

    if how.difference is None:
        return None
    return {
        (place, str(effect.measure)): needed(one, effect.measure, difference=how.difference, power=how.power)
        for place, one in enumerate(outcomes)
        for effect in one.effects
    }


def _judged_depth(known: Known, told: int | None, store: Store | None) -> tuple[int, list[str]]:
    """Give the depth down to which the runs were judged, as told or as it is found out, and words about it."""
    if told is not None:
        return told, []
    depth, said = _pool_depth(known, store)
    if depth is None:
        raise InputError(f"how deep the runs were judged is not known: {said}; tell it with --pool-depth")
    return depth, [said]


def _pool_depth(known: Known, store: Store | None) -> tuple[int | None, str]:
    """Give the depth of the known pool: as the collection says, else guessed; None and why where neither is there."""
    from cranfield.reuse.provenance import infer_contributors

    pool = None if store is None else known_pool(store)
    if pool is not None and pool.depth is not None:
        return pool.depth, f"the pool {quoted(pool.name)} is {pool.depth} deep"
    guess = infer_contributors(known.alignment)
    if guess.refusal:
        return None, guess.refusal
    return guess.depth, f"from what is judged the pool looks {guess.depth} deep; --pool-depth tells it"


# The figure of a simulation.


def plot_simulated(simulated: Simulated, path: Path) -> str:
    """Draw what the plans find and what they do to the ranking, against what they cost; give what was drawn."""
    from cranfield.report.figures import replayed, save

    by_strategy: dict[str, list[Outcome]] = {}
    for one in simulated.outcomes:
        by_strategy.setdefault(one.strategy, []).append(one)
    found = {name: _found(simulated, some) for name, some in by_strategy.items()}
    taus = {name: _taus(some) for name, some in by_strategy.items()}
    save(replayed(found, taus, measure=str(simulated.measures[0])), path)
    return "what the plans find, and how alike they rank the runs"


def _found(simulated: Simulated, some: list[Outcome]) -> Curve:
    """Give the share found with 0, 1, 2 … documents, of the largest budget."""
    import numpy as np

    known = simulated.known
    curve = max(some, key=lambda one: one.cost.documents).play.found(known)
    return np.arange(len(curve), dtype=np.float64), curve / max(int(known.relevant.sum()), 1)


def _taus(some: list[Outcome]) -> Curve:
    import numpy as np

    return np.array([one.cost.documents for one in some], dtype=float), np.array(
        [one.effects[0].tau_b for one in some]
    )
