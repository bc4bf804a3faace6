"""What other pools and budgets would have found: plans replayed against the judgments of a collection or of files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.errors import InputError, UsageError, quoted
from cranfield.source import Source
from cranfield.workflows.evaluate_asked import Asked
from cranfield.workflows.evaluate_reading import align_as_asked, read_in_full
from cranfield.workflows.measures_asked import measures_asked
from cranfield.workflows.pool_inputs import entrants, queries, reader, with_ids
from cranfield.workflows.pool_known import known_pool
from cranfield.workflows.pool_speed import ASSUMED_SECONDS, Speed, judging_speed
from cranfield.workflows.simulate_words import BEYOND, Field, about_known, about_outsiders, about_plans
from cranfield.workflows.watching import Progress, silent
from cranfield.store import Store
from cranfield.store.runs import run_facts
from cranfield.store.scales import current_scale

if TYPE_CHECKING:
    from cranfield.evaluate.expression import Measure
    from cranfield.pool.entrants import PooledRuns
    from cranfield.pool.plan import Plan
    from cranfield.runs.groups import Member
    from cranfield.runs.run import Run
    from cranfield.simulate.forecast import Forecast, TopicsNeeded
    from cranfield.simulate.known import Known
    from cranfield.simulate.study import Outcome

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
    groups: "Path | Sequence[Member] | None" = None
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

    known: "Known"
    measures: "tuple[Measure, ...]"
    outcomes: "tuple[Outcome, ...]"
    speed: Speed
    notes: tuple[str, ...]
    needed: "dict[tuple[int, str], TopicsNeeded | None] | None" = None


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What pools of rising depth cost, found, and would find."""

    known: "Known"
    forecast: "Forecast"
    speed: Speed
    notes: tuple[str, ...]


def simulate_plans(
    asked: Asked, how: Simulating, *, store: Store | None = None, progress: Progress = silent
) -> Simulated:
    """Play plans against the judgments that are known, and tell what each would have cost, found and done."""
    from cranfield.evaluate.expression import own_measures
    from cranfield.simulate.outsiders import Without
    from cranfield.simulate.study import replays, study

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
    from cranfield.simulate.known import known_of

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
        relevant_from=how.relevant_from or (1 if store is None else current_scale(store)[1].relevant_from),
        texts=None if store is None else reader(store),
        queries=None if store is None else queries(store),
    )
    return Field(known, has_groups, _speed(how, store), absent)


def _members(how: Simulating) -> "Sequence[Member] | None":
    from cranfield.runs.groups import read_groups

    return read_groups(Source(how.groups)) if isinstance(how.groups, Path) else how.groups


def _feeding(runs: "Sequence[Run]", members: "Sequence[Member] | None", store: Store | None) -> "PooledRuns":
    """Give the runs that feed the plans.

    Those that the groups call pooled; else those that were submitted to the collection as contributing; else all.
    """
    from cranfield.pool.entrants import runs_of

    here = {run.tag: run for run in runs}
    if members is not None:
        pooled = {one.run: one.group for one in members if one.pooled and one.run in here}
        if not pooled:
            raise InputError("the groups call none of these runs pooled, so nothing feeds the plans")
        return runs_of([here[name] for name in pooled], groups=pooled)
    if store is None:
        return runs_of(list(runs))
    chosen = [facts for facts in run_facts(store) if facts.name in here and facts.role == "contributing"]
    if not chosen:
        raise InputError("none of these runs was submitted as contributing, so nothing feeds the plans")
    return with_ids(store, entrants(store, chosen))


def _speed(how: Simulating, store: Store | None) -> Speed:
    if store is not None:
        return judging_speed(store, seconds_per_document=how.seconds)
    if how.seconds is not None and not 0 < how.seconds < float("inf"):
        raise UsageError(f"seconds a document are a number above 0, not {how.seconds:g}")
    return Speed(ASSUMED_SECONDS if how.seconds is None else how.seconds)


def _plans(how: Simulating, known: "Known", store: Store | None) -> "list[Plan]":
    from cranfield.pool.parsing import parse
    from cranfield.simulate.playing import open_ended

    if any(budget < 1 for budget in how.budgets):
        raise UsageError("a budget is a number of documents, from 1 up")
    words = how.plans or (STRATEGIES if how.budgets else _depths(known, store))
    plans = [open_ended(plan) if how.budgets else plan for plan in map(parse, words)]
    return list({str(plan): plan for plan in plans}.values())


def _depths(known: "Known", store: Store | None) -> list[str]:
    """Give plans by depth down to the depth that was judged: beyond it nobody knows what they would find."""
    judged, _ = _pool_depth(known, store)
    deepest = min(judged or known.pooled.depth, known.pooled.depth)
    wanted = sorted({depth for depth in DEPTHS if depth < deepest} | {min(deepest, DEPTHS[-1])})
    return [f"depth {depth}" for depth in wanted]


def _needed(outcomes: "Sequence[Outcome]", how: Simulating) -> "dict[tuple[int, str], TopicsNeeded | None] | None":
    from cranfield.simulate.forecast import needed

    if how.difference is None:
        return None
    return {
        (place, str(effect.measure)): needed(one, effect.measure, difference=how.difference, power=how.power)
        for place, one in enumerate(outcomes)
        for effect in one.effects
    }


def _judged_depth(known: "Known", told: int | None, store: Store | None) -> tuple[int, list[str]]:
    """Give the depth down to which the runs were judged, as told or as it is found out, and words about it."""
    if told is not None:
        return told, []
    depth, said = _pool_depth(known, store)
    if depth is None:
        raise InputError(f"how deep the runs were judged is not known: {said}; tell it with --pool-depth")
    return depth, [said]


def _pool_depth(known: "Known", store: Store | None) -> tuple[int | None, str]:
    """Give the depth of the known pool: as the collection says, else guessed; None and why where neither is there."""
    from cranfield.reuse.guessing import guess_contributors

    pool = None if store is None else known_pool(store)
    if pool is not None and pool.depth is not None:
        return pool.depth, f"the pool {quoted(pool.name)} is {pool.depth} deep"
    guess = guess_contributors(known.alignment)
    if guess.refusal:
        return None, guess.refusal
    return guess.depth, f"from what is judged the pool looks {guess.depth} deep; --pool-depth tells it"
