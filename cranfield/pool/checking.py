"""What a plan may not say, though it can be read."""

from collections.abc import Iterator, Sequence

from cranfield.errors import quoted
from cranfield.pool.plan import Cap, PlanStep, Selection
from cranfield.pool.stopping import stopping_rules
from cranfield.pool.strategy import FillsUp, Kind, RankAmount


def problems_of_step(step: Selection) -> Iterator[str]:
    """Say what is wrong with one step, taken by itself."""
    yield from _amount_problems(step)
    yield from _scope_problems(step)
    yield from _limit_problems(step)


def problems_of_plan(steps: Sequence[PlanStep]) -> Iterator[tuple[int, str]]:
    """Give (number of the step, what is wrong with it) for steps that are fine by themselves."""
    for place, step in enumerate(steps):
        before = [earlier for earlier in steps[:place] if isinstance(earlier, Selection)]
        if isinstance(step, Cap):
            yield from ((place, message) for message in _cap_problems(before))
        elif step.strategy.kind == "adaptive":
            yield from ((place, message) for message in _adaptive_problems(step, before))
        else:
            yield from ((place, message) for message in _order_problems(step, before))


def _adaptive_problems(step: Selection, before: Sequence[Selection]) -> Iterator[str]:
    if _has("adaptive", before):
        yield "a plan has one adaptive step; this is the second"
    if any(rule for rule in step.scope.stop if type(rule).__name__ == "Target") and not _has("sampling", before):
        yield "stop=target needs a sample before it, as in 'sample 100; mtf stop=target'"


def _order_problems(step: Selection, before: Sequence[Selection]) -> Iterator[str]:
    if step.strategy.kind == "fixed" and _has("sampling", before):
        yield f"{step.name} after a sample would falsify its probabilities: put it before the sample"
    if any(_spreads(earlier) for earlier in before):
        yield f"{step.name} cannot follow a budget across topics: put it before"
    elif step.amount.kind == "budget" and _has("adaptive", before):
        yield "a budget for all topics cannot follow an adaptive step: topics end one by one"


def _amount_problems(step: Selection) -> Iterator[str]:
    kind = step.amount.kind
    if isinstance(step.strategy, RankAmount):
        if kind != "count":
            yield f"{step.name} takes a rank, as in '{step.name} 10'"
    elif isinstance(step.strategy, FillsUp):
        yield from step.strategy.amount_problems(has_amount=kind != "all")
    elif step.strategy.kind == "sampling" and kind == "all":
        yield f"{step.name} needs an amount: a number, until a number, a share or a budget"
    elif step.strategy.kind == "adaptive" and kind == "share":
        yield f"{step.name} takes a number, until a number or a budget, not a share"


def _scope_problems(step: Selection) -> Iterator[str]:
    if step.scope.by == "topic" and not isinstance(step.strategy, RankAmount):
        yield "by=topic belongs to depth: 'depth 200 by=topic' goes as deep as 200 documents a topic allow"
    if step.scope.by == "topic" and str(getattr(step.strategy, "topics", "")):
        yield "topics= sets depths, and with by=topic the amount is a number of documents: use one of them"
    if step.scope.ranks and isinstance(step.strategy, RankAmount):
        yield f"{step.name} takes no ranks=: its amount is the rank"
    if step.scope.across_topics and step.strategy.kind != "adaptive":
        yield f"{step.name} cannot compare topics; without 'across topics' a budget is shared evenly"
    elif step.scope.across_topics and step.amount.kind != "budget":
        yield "'across topics' needs a budget, as in 'budget 15000 across topics'"


def _limit_problems(step: Selection) -> Iterator[str]:
    floor, cap = step.scope.floor, step.scope.cap
    if (floor is not None or cap is not None) and not step.scope.across_topics:
        yield "floor= and cap= need 'across topics'; the step 'cap N' cuts every topic"
    if floor is not None and cap is not None and floor > cap:
        yield f"the floor of {floor} is above the cap of {cap}"
    names = [name for rule in step.scope.stop for name, part in stopping_rules.items() if part is type(rule)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"the stopping rule {quoted(name)} is given twice"
    if step.scope.stop and step.strategy.kind != "adaptive":
        yield f"{step.name} is not adaptive: only what learns from judgments can stop by rule"


def _cap_problems(before: Sequence[Selection]) -> Iterator[str]:
    if not before:
        yield "cap has nothing before it to cut"
    if _has("sampling", before):
        yield "cap after a sample would falsify its probabilities: put it before the sample"
    if _has("adaptive", before):
        yield "cap cannot take back what was judged: give the adaptive step an amount instead"


def _has(kind: Kind, steps: Sequence[Selection]) -> bool:
    return any(step.strategy.kind == kind for step in steps)


def _spreads(step: Selection) -> bool:
    return step.scope.across_topics
