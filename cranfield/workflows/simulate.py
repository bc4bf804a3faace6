"""What other pools and budgets would have found: plans replayed against the judgments of a collection or of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from cranfield.base.errors import InputError, UsageError, quoted
from cranfield.base.files import Progress, Source, silent
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.evaluate import measure as measuring
from cranfield.pool import candidates
from cranfield.pool import plan as plans
from cranfield.reuse import provenance
from cranfield.runs import reading as run_reading
from cranfield.runs import run as run_module
from cranfield.simulate import study, tables
from cranfield.store import Store
from cranfield.store import runs as stored_runs
from cranfield.workflows.pool import inputs
from cranfield.workflows.pool.show import Speed, judging_speed
from cranfield.workflows.reading import Request, align_runs, parse_measures, read_in_full
from cranfield.workflows.reuse import field as fields

with deferred:
    from cranfield.report import figures
    from cranfield.simulate import forecast as forecasts

# What should be known about a simulation, in sentences.

BEYOND = 0.1
"""The share of unjudged documents from which on a plan exceeds the known pool."""

_PLANS_NAMED = 3
Groups = Path | Sequence[run_reading.Member] | None


@dataclass(frozen=True, eq=False)
class Field:
    """What is known, whether it is known whose the runs are, and which pooled runs of the groups are not here."""

    known: study.Known
    has_groups: bool
    speed: Speed
    absent: tuple[str, ...] = ()


def about_known(field: Field) -> Iterator[str]:
    """Say what the simulation stands on."""
    known = field.known
    judged, relevant = int(known.judged.sum()), int(known.relevant.sum())
    contributing, ranked = len(known.pooled.runs), len(known.runs) - len(known.pooled.runs)
    groups = f" of {counted(len(known.pooled.teams), 'group')}" if field.has_groups else ""
    others = f", {counted(ranked, 'more run')} ranked only" if ranked else ""
    topics = counted(len(known.labels), "topic")
    yield (
        f"{counted(judged, 'judged document')} for {topics}, {relevant:,} of them relevant;"
        f" {counted(contributing, 'contributing run')}{groups}{others}"
    )
    if field.absent:
        some = f"{field.absent[0]} …" if len(field.absent) > 1 else field.absent[0]
        yield f"{counted(len(field.absent), 'pooled run')} of the groups missing from these runs: {some}"
    if len(known.topics) < len(known.labels):
        missed = counted(len(known.labels) - len(known.topics), "judged topic")
        yield f"{missed} retrieved by no contributing run: not simulated"
    unjudged = len(set(known.pooled.topics) - set(known.labels))
    if unjudged:
        yield f"{counted(unjudged, 'topic')} without judgments: not simulated"
    if known.reachable < relevant:
        missing = counted(relevant - known.reachable, "known relevant document")
        yield f"{missing} retrieved by no contributing run: no plan can find them"
    yield f"hours: at {field.speed.pace}"


def about_plans(
    field: Field, outcomes: Sequence[study.Outcome], played: Sequence[plans.Plan], budgets: Sequence[int]
) -> Iterator[str]:
    """Which plans select unjudged documents, which budgets are too small, and what is not reported."""
    beyond = sorted((one for one in outcomes if one.cost.unknown), key=lambda one: -one.cost.unknown)
    for one in beyond[:_PLANS_NAMED]:
        many = counted(one.cost.unknown, "unjudged document")
        yield f"'{one.plan}' selects {many}, counted as not relevant"
    if len(beyond) > _PLANS_NAMED:
        yield f"{counted(len(beyond) - _PLANS_NAMED, 'other plan')} with fewer unjudged documents"
    if any(one.cost.unknown > BEYOND * one.cost.documents for one in beyond):
        yield (
            f"warning: a plan with more than {BEYOND:.0%} unjudged documents exceeds the known pool: it would"
            " find more than is reported, and its ranking and losses look better than they are"
        )
    for strategy in [str(plan) for plan in played if budgets]:
        tried = {one.budget for one in outcomes if one.strategy == strategy}
        missing = [f"{budget:,}" for budget in sorted(set(budgets) - tried)]
        if missing:
            yield f"'{strategy}' is not simulated at {', '.join(missing)}: its first steps need more documents"
    groups = len(field.known.pooled.teams)
    if field.has_groups and groups < study.FEWEST_GROUPS:
        yield f"{counted(groups, 'contributing group')}: too few to estimate the loss of a non-contributing run"
    elif field.has_groups and any(one.held_out is None for one in outcomes):
        yield f"--outsiders also replays each plan without each group: {groups:,} more replays per plan"


STRATEGIES = ("take", "rrf", "mtf", "max-mean-ns")
"""What is played at given budgets where no plan is named."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""The depths that are played where neither plans nor budgets are given."""


def simulate_plans(
    request: Request,
    words: Sequence[str],
    *,
    budgets: Sequence[int] = (),
    groups: Groups = None,
    outsiders: bool = False,
    difference: float | None = None,
    relevant_from: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    store: Store | None = None,
    progress: Progress = silent,
) -> tables.Simulation:
    """Replay plans against the known judgments: what each would have cost and found, and its effect on the ranking.

    `groups` name the group of each run and the contributing runs, in a file or as they are; without them a collection
    knows both. With `outsiders` every plan is also replayed without each group. `seconds` per document are measured
    or assumed where they are not given, and `relevant_from` is that of the collection's scale, else 1. With a
    `difference`, each row has the number of topics needed to detect it.
    """
    field = _field(request, groups, relevant_from, seconds, store)
    known = field.known
    if outsiders and not field.has_groups:
        raise UsageError("--outsiders needs the groups of the runs: name them with --groups FILE")
    if any(budget < 1 for budget in budgets):
        raise UsageError("a budget is a number of documents, from 1 up")
    if not words and not budgets:
        # The yield of a plan is unknown beyond the depth that was judged.
        deepest = min(_pool_depth(known, store)[0] or known.pooled.depth, known.pooled.depth)
        words = [f"depth {depth}" for depth in sorted({*DEPTHS, deepest}) if depth <= min(deepest, DEPTHS[-1])]
    parsed = [study.open_ended(plan) if budgets else plan for plan in map(plans.parse, words or STRATEGIES)]
    played = list({str(plan): plan for plan in parsed}.values())
    own = measuring.own_measures(parse_measures(request.measures, store, relevant_from=known.relevant_from))
    without: study.Without = "replay" if outsiders else "deletion" if field.has_groups else "nothing"
    report = partial(progress, "replaying plans")
    outcomes = tuple(
        study.study(known, played, tuple(own), budgets=budgets, seed=seed, without=without, progress=report)
    )
    if not outcomes:
        raise InputError("every budget is below what the first steps of the plans need; raise the budgets")
    rows = tables.outcome_rows(outcomes, seconds=field.speed.seconds, difference=difference)
    notes = (*request.notes, *about_known(field), *about_plans(field, outcomes, played, budgets))
    return tables.Simulation(known, outcomes, rows, notes)


def plot(result: tables.Simulation, path: Path) -> None:
    """Plot the yield of the plans and their effect on the ranking against their cost."""
    by_strategy: dict[str, list[study.Outcome]] = {}
    for one in result.outcomes:
        by_strategy.setdefault(one.strategy, []).append(one)
    found, taus = {}, {}
    for name, some in by_strategy.items():
        # The share found with 0, 1, 2 … documents, of the largest budget.
        curve = max(some, key=lambda one: one.cost.documents).play.found(result.known)
        share = curve / max(int(result.known.relevant.sum()), 1)
        found[name] = np.arange(len(curve), dtype=np.float64), share
        documents = np.array([one.cost.documents for one in some], dtype=float)
        taus[name] = documents, np.array([one.effects[0].tau_b for one in some])
    measure = str(result.outcomes[0].effects[0].measure)
    figures.save(figures.replayed(found, taus, measure=measure), path)


def forecast_pools(
    request: Request,
    *,
    to_depth: int,
    pool_depth: int | None = None,
    groups: Groups = None,
    relevant_from: int | None = None,
    seconds: float | None = None,
    store: Store | None = None,
) -> forecasts.Forecast:
    """Cost and yield of pools down to a depth: counted down to the known pool's depth, and extrapolated below it."""
    field = _field(request, groups, relevant_from, seconds, store)
    depth, notes = pool_depth, [*request.notes, *about_known(field)]
    if depth is None:
        depth, reason = _pool_depth(field.known, store)
        if depth is None:
            raise InputError(f"the pool depth is not known: {reason}; set it with --pool-depth")
        notes.append(reason)
    result = forecasts.forecast(field.known, pool_depth=depth, to_depth=to_depth)
    if result.unjudged > BEYOND:
        notes.append(
            f"warning: {result.unjudged:.0%} of the documents to depth {depth} are unjudged; relevant documents are"
            " undercounted"
        )
    if result.refusal:
        notes.append(f"no forecast beyond depth {depth}: {result.refusal}")
    return replace(result, seconds=field.speed.seconds, notes=tuple(notes))


def _field(
    request: Request, groups: Groups, relevant_from: int | None, seconds: float | None, store: Store | None
) -> Field:
    qrels, runs = read_in_full(request, store)
    members = run_reading.read_groups(Source(groups)) if isinstance(groups, Path) else groups
    here = {run.tag for run in runs}
    known = study.known_of(
        qrels,
        runs,
        _contributing(runs, members, store),
        alignment=align_runs(request, qrels, runs, keep_rows=True),
        relevant_from=relevant_from or (1 if store is None else store.scale().relevant_from),
        texts=None if store is None else partial(inputs.read_texts, store),
        queries=None if store is None else inputs.queries(store),
    )
    absent = tuple(one.run for one in members or () if one.pooled and one.run not in here)
    return Field(known, members is not None or store is not None, judging_speed(store, seconds), absent)


def _contributing(
    runs: Sequence[run_module.Run], members: Sequence[run_reading.Member] | None, store: Store | None
) -> candidates.PooledRuns:
    """The contributing runs of the plans.

    Those that the groups call pooled; else those that were submitted to the collection as contributing; else all.
    """
    here = {run.tag: run for run in runs}
    if members is not None:
        pooled = {one.run: one.group for one in members if one.pooled and one.run in here}
        if not pooled:
            raise InputError("no contributing run: the groups mark none of these runs as pooled")
        return candidates.runs_of([here[name] for name in pooled], groups=pooled)
    if store is None:
        return candidates.runs_of(list(runs))
    chosen = [facts for facts in stored_runs.facts(store) if facts.name in here and facts.role == "contributing"]
    if not chosen:
        raise InputError("no contributing run: none of these runs was submitted as contributing")
    return inputs.pooled_runs(store, chosen)


def _pool_depth(known: study.Known, store: Store | None) -> tuple[int | None, str]:
    """The depth of the known pool: as the collection says, else guessed; None and why where neither is there."""
    pool = None
    if store is not None:
        pool = fields.known_pool(store, {one.name: one for one in stored_runs.facts(store)})
    if pool is not None and pool.depth is not None:
        return pool.depth, f"pool depth {pool.depth}, that of the pool {quoted(pool.name)}"
    guess = provenance.infer_pool(known.alignment)
    if guess.refusal:
        return None, guess.refusal
    return guess.depth, f"pool depth {guess.depth}, inferred from the judgments; --pool-depth sets it"
