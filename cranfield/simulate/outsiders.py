"""What an outsider must expect of a plan: every feeding run, scored as if its own group had not been there.

Of a plan that is `depth k` and nothing else, what the group alone brought is taken away: that is what would have
happened. Every other plan is played again without the group, since its effort would have gone elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from cranfield.evaluate.scores import Scores
from cranfield.pool.plan import Plan
from cranfield.reuse.contributors import groups_of
from cranfield.reuse.leave_out import OwnHoldOut
from cranfield.reuse.provenance import provenance_of
from cranfield.simulate.known import Known, Rows
from cranfield.simulate.playing import play, play_at

Without = Literal["nothing", "deletion", "replay"]
"""Which plans are held against outsiders: none, those where deletion tells all, or all, by replay where needed."""

FEWEST_GROUPS = 3
"""With fewer groups, leaving one out tells little about an outsider."""

HeldOut = list[list[Rows]]
"""For each play and each group, the judgments that would have been made without the group."""


def has_groups(known: Known) -> bool:
    """Say whether enough groups feed the plans to leave one out."""
    return len({run.team for run in known.pooled.runs}) >= FEWEST_GROUPS


def plain_depth(plan: Plan) -> int | None:
    """Give k of a plan that is `depth k` and nothing else; None for every other."""
    words = str(plan).split()
    return int(words[1]) if len(words) == 2 and words[0] == "depth" else None


def without_each(
    known: Known,
    plan: Plan,
    kept: Sequence[Rows],
    budgets: Sequence[int],
    *,
    seed: int,
    without: Without,
    told: Callable[[], None],
) -> HeldOut | None:
    """Give the judgments of each play of a plan without each group; None where that is not asked for.

    `kept` are the judgments of each play with all groups, in the order of the budgets; one where there are none.
    """
    depth = None if budgets else plain_depth(plan)
    if without == "nothing" or not has_groups(known):
        return None
    if depth is not None:
        provenance = provenance_of(known.alignment, known.qrels, known.runs, known.contributors, depth=depth)
        return [[rows & (provenance.owner != group) for group in range(len(provenance.groups))] for rows in kept]
    if without == "deletion":
        return None
    found: HeldOut = [[] for _ in kept]
    for group in _groups(known):
        left = replace(known.pooled, runs=tuple(run for run in known.pooled.runs if run.team != group))
        plays = play_at(known, plan, budgets, seed=seed, runs=left) if budgets else []
        plays = plays or [play(known, plan, seed=seed, runs=left)]
        for place, one in enumerate(plays):
            found[place].append(one.kept(known))
        told()
    return found


def own_hold_out(known: Known, full: Scores, held: Sequence[Rows]) -> OwnHoldOut:
    """Score every feeding run by what would have been judged without its own group.

    `full` are the scores by the plan's judgments with all groups there.
    """
    groups, group_of_run = groups_of(known.alignment.run_names, known.contributors, "group")
    feeding = np.flatnonzero(group_of_run >= 0)
    values = full.values.copy()
    for number, rows in enumerate(held):
        runs = np.flatnonzero(group_of_run == number)
        values[:, runs] = known.scores(rows, full.measures, known.part(runs)).values  # type: ignore[arg-type]
    names = tuple(full.run_names[run] for run in feeding.tolist())
    return OwnHoldOut(
        level="group",
        groups=groups,
        group_of_run=group_of_run[feeding],
        measures=full.measures,  # type: ignore[arg-type]
        run_names=names,
        full=full.summary[:, feeding],
        scores=Scores(full.measures, names, full.topic_ids, values[:, feeding], full.scored[feeding]),
    )


def _groups(known: Known) -> tuple[str, ...]:
    return groups_of(known.alignment.run_names, known.contributors, "group")[0]
