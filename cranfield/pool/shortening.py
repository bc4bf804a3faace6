"""A plan for fewer runs than it was made for: those that are left may all be shorter than a step goes."""

from dataclasses import replace

from cranfield.pool.plan import Amount, Plan, PlanStep, Scope, Selection
from cranfield.pool.strategy import RankAmount


def within_lists(plan: Plan, depth: int) -> Plan:
    """Give the plan with no step going beyond lists of this length; a step that begins below them is left out."""
    kept = [step for step in plan.steps if not _begins_below(step, depth)]
    return replace(plan, steps=tuple(_step_within(step, depth) for step in kept or plan.steps[:1]))


def _begins_below(step: PlanStep, depth: int) -> bool:
    return isinstance(step, Selection) and step.scope.ranks is not None and step.scope.ranks[0] > depth


def _step_within(step: PlanStep, depth: int) -> PlanStep:
    if not isinstance(step, Selection):
        return step
    scope: Scope = step.scope
    if scope.ranks is not None and scope.ranks[0] <= depth < scope.ranks[1]:
        return replace(step, scope=replace(scope, ranks=(scope.ranks[0], depth)))
    if isinstance(step.strategy, RankAmount) and scope.by == "run" and step.amount.number > depth:
        return replace(step, amount=Amount("count", depth))
    return step
