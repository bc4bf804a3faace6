"""What should be known about a simulation, in sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.workflows.pool_speed import Speed
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.pool.plan import Plan
    from cranfield.simulate.known import Known
    from cranfield.simulate.study import Outcome

BEYOND = 0.1
"""From which share of documents that nobody judged a plan is said to go beyond the known pool."""

_PLANS_NAMED = 3


@dataclass(frozen=True, eq=False)
class Field:
    """What is known, whether it is known whose the runs are, and which pooled runs of the groups are not here."""

    known: "Known"
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


def about_plans(outcomes: "Sequence[Outcome]", plans: "Sequence[Plan]", budgets: Sequence[int]) -> Iterator[str]:
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


def about_outsiders(field: Field, outcomes: "Sequence[Outcome]") -> Iterator[str]:
    """Say what is not told about outsiders, and why."""
    from cranfield.simulate.outsiders import FEWEST_GROUPS

    groups = len(set(field.known.pooled.teams))
    if field.has_groups and groups < FEWEST_GROUPS:
        yield f"{counted(groups, 'group')} feed the plans: too few to say what an outsider must expect"
    elif field.has_groups and any(one.outsiders is None for one in outcomes):
        yield f"--outsiders also plays each plan without each group: {groups:,} more times"
