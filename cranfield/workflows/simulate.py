"""What other pools and budgets would have found: plans replayed against the judgments of a collection or of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cranfield.base.errors import InputError
from cranfield.base.files import Source
from cranfield.base.text import counted, shortened
from cranfield.evaluate import measure as measuring
from cranfield.evaluate.reading import Request, align_runs, read_in_full
from cranfield.pool import candidates
from cranfield.pool import plan as plans
from cranfield.reuse import provenance
from cranfield.runs import reading as run_reading
from cranfield.runs import run as run_module
from cranfield.simulate import study, tables
from cranfield.store import Store, pools
from cranfield.store import runs as stored_runs
from cranfield.workflows.inputs import Inputs
from cranfield.workflows.pool import inputs
from cranfield.workflows.pool.show import judging_speed

# What should be known about a simulation, in sentences.

BEYOND = 0.1
"""The share of unjudged documents from which on a plan exceeds the known pool."""


def _notes(
    known: study.Known,
    outcomes: Sequence[study.Outcome],
    played: Sequence[plans.Plan],
    budgets: Sequence[int],
    *,
    members: Sequence[run_reading.Member] | None,
    has_groups: bool,
    pace: str,
) -> Iterator[str]:
    """What the simulation stands on, which plans exceed the known pool, and which budgets are too small."""
    judged, relevant = int(known.judged.sum()), int(known.relevant.sum())
    contributing, groups = len(known.pooled.runs), len(known.pooled.teams)
    ranked = len(known.runs) - contributing
    of_groups = f" of {counted(groups, 'group')}" if has_groups else ""
    others = f", {counted(ranked, 'more run')} ranked only" if ranked else ""
    topics = counted(len(known.labels), "topic")
    yield (
        f"{counted(judged, 'judged document')} for {topics}, {relevant:,} of them relevant;"
        f" {counted(contributing, 'contributing run')}{of_groups}{others}"
    )
    if len(known.topics) < len(known.labels):
        missed = counted(len(known.labels) - len(known.topics), "judged topic")
        yield f"{missed} retrieved by no contributing run: not simulated"
    if known.reachable < relevant:
        missing = counted(relevant - known.reachable, "known relevant document")
        yield f"{missing} retrieved by no contributing run: no plan can find them"
    yield f"hours: at {pace}"
    here = {run.tag for run in known.runs}
    if absent := [one.run for one in members or () if one.pooled and one.run not in here]:
        yield f"pooled runs of the groups missing from these runs: {shortened(', '.join(absent), 80)}"
    if any(one.cost.unknown > BEYOND * one.cost.documents for one in outcomes):
        yield (
            f"warning: a plan with more than {BEYOND:.0%} unjudged documents exceeds the known pool: it would"
            " find more than is reported, and its ranking and losses look better than they are"
        )
    elif any(one.cost.unknown for one in outcomes):
        yield "unjudged documents that a plan selects count as not relevant"
    for plan in played:
        tried = {one.budget for one in outcomes if one.strategy == str(plan)}
        if too_small := [f"{budget:,}" for budget in sorted(set(budgets) - tried)]:
            yield f"'{plan}' is not simulated at {', '.join(too_small)}: its first steps need more documents"
    if has_groups and groups < study.FEWEST_GROUPS:
        yield f"{counted(groups, 'contributing group')}: too few to estimate the loss of a non-contributing run"


STRATEGIES = ("take", "rrf", "mtf", "max-mean-ns")
"""What is played at given budgets where no plan is named."""

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""The depths that are played where neither plans nor budgets are given."""


def simulate_plans(
    given: Inputs,
    request: Request,
    words: Sequence[str],
    *,
    budgets: Sequence[int],
    relevant_from: int | None,
    seed: int,
) -> tables.Simulation:
    """Replay plans against the known judgments: what each would have cost and found, and its effect on the ranking.

    Who contributed is what users say of the pool; where they say nothing a collection knows it.
    `relevant_from` is that of the collection's scale, else 1.
    """
    store, groups = given.store, given.pool_options.groups
    members = run_reading.read_groups(Source(groups)) if isinstance(groups, Path) else groups
    has_groups, (qrels, runs) = members is not None or store is not None, read_in_full(request)
    known = study.Known(
        qrels,
        runs,
        _contributing(runs, members, store),
        align_runs(replace(request, collection=None), qrels, runs, keep_rows=True),
        relevant_from or (1 if store is None else store.scale().relevant_from),
        None if store is None else inputs.words(store),
    )
    if not known.judged.any():
        raise InputError("a replay needs judgments, but these qrels have none")
    if not known.topics:
        raise InputError("no contributing run retrieved documents for a judged topic")
    if not words and not budgets:
        # The yield of a plan is unknown beyond the depth that was judged.
        pooled = [] if store is None else pools.pool_facts(store)
        depth = (pooled[-1].depth if pooled else None) or provenance.infer_pool(known.alignment).depth
        deepest = min(depth or known.pooled.depth, known.pooled.depth)
        words = [f"depth {depth}" for depth in sorted({*DEPTHS, deepest}) if depth <= min(deepest, DEPTHS[-1])]
    parsed = [study.open_ended(plan) if budgets else plan for plan in map(plans.parse, words or STRATEGIES)]
    played = list({str(plan): plan for plan in parsed}.values())
    threshold, gains = known.relevant_from, request.scale.own_gains
    own = measuring.own_measures(measuring.parse_measures(request.measures, threshold=threshold, gains=gains))
    outcomes = list(
        study.study(
            known,
            played,
            own,
            budgets=budgets,
            seed=seed,
            hold_out=has_groups,
            workers=request.workers,
            progress=partial(request.progress, "replaying plans"),
        )
    )
    if not outcomes:
        raise InputError("every budget is below what the first steps of the plans need; raise the budgets")
    speed = judging_speed(store)
    about = _notes(known, outcomes, played, budgets, members=members, has_groups=has_groups, pace=speed.pace)
    return tables.Simulation(
        known, outcomes, tables.outcome_rows(outcomes, seconds=speed.seconds), [*request.notes, *about]
    )


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
