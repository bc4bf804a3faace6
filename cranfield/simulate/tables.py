"""Tables of plans that were replayed: what each costs and finds, what it does to the ranking, what is foreseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.base.tables import Column, Table, Value, table_of
from cranfield.base.text import counted

if TYPE_CHECKING:
    from cranfield.evaluate.measure import Measure
    from cranfield.simulate.forecast import Forecast, TopicsNeeded
    from cranfield.simulate.study import Outcome

    Needed = dict[tuple[int, str], TopicsNeeded | None]
    """By the place of the outcome and the measure."""

_HOUR = 3600
_EFFECT = (
    "tau_b",
    "tau_ap",
    "fall",
    "falling",
    "change",
    "changing",
    "loss_mean",
    "loss_max",
    "losing",
)
_NEEDED = ("deviation", "needed_topics", "needed_documents", "needed_hours")


def costs_table(outcomes: Sequence[Outcome], *, seconds: float) -> Table:
    """Give what each plan costs and finds."""
    rows = [
        (
            one.plan,
            one.cost.documents,
            one.cost.mean,
            one.cost.least,
            one.cost.most,
            one.cost.unknown,
            one.cost.relevant,
            _known(one.cost.share),
            one.cost.empty,
            one.cost.documents * seconds / _HOUR,
        )
        for one in outcomes
    ]
    columns = [
        Column("plan"),
        Column("documents", kind="number"),
        Column("mean", "a topic", digits=1, kind="number"),
        Column("least", kind="number"),
        Column("most", kind="number"),
        Column("unknown", "nobody judged", kind="number"),
        Column("relevant", kind="number"),
        Column("share", "of known", digits=3, kind="number"),
        Column("empty", "topics without", kind="number"),
        Column("hours", digits=1, kind="number"),
    ]
    notes = ["of known: the share of the known relevant documents; a replay finds only what was judged then"]
    return table_of(columns, rows, caption="What each plan would have cost and found", notes=notes)


def ranking_table(outcomes: Sequence[Outcome], measure: Measure) -> Table:
    """Give what each plan does to the ranking of the runs by one measure, and to outsiders where that was played.

    The names of runs belong to the numbers before them, and go with these where a terminal is too narrow.
    """
    with_losses = any(one.outsiders is not None for one in outcomes)
    columns = [
        Column("plan"),
        Column("tau_b", "tau-b", digits=3, kind="number"),
        Column("tau_ap", "tau_ap", digits=3, kind="number"),
        Column("fall", "worst fall", kind="number"),
        Column("falling", "of run", kind="number"),
        Column("change", "largest change", kind="number"),
        Column("changing", "of run", kind="number"),
    ]
    if with_losses:
        columns += [
            Column("loss_mean", "outsiders lose", digits=3, kind="number"),
            Column("loss_max", "largest", digits=3, kind="number"),
            Column("losing", "of run", kind="number"),
        ]
    rows = [(one.plan, *_effect(one, measure), *(_loss(one, measure) if with_losses else ())) for one in outcomes]
    runs = len(outcomes[0].scores.run_names)
    notes = ["outsiders lose: the share of its score that a run loses when its own group is left out"]
    caption = f"{measure}: the ranking of {counted(runs, 'run')} against the one by all known judgments"
    return table_of(columns, rows, caption=caption, notes=notes if with_losses else ())


def needed_table(outcomes: Sequence[Outcome], measure: Measure, needed: Needed, *, seconds: float) -> Table:
    """Give how many topics a difference would need under each plan, and what they would cost."""
    rows = [(one.plan, *_needed(needed[place, str(measure)], seconds)) for place, one in enumerate(outcomes)]
    columns = [
        Column("plan"),
        Column("deviation", kind="number"),
        Column("topics", kind="number"),
        Column("documents", kind="number"),
        Column("hours", digits=1, kind="number"),
    ]
    return table_of(
        columns, rows, caption=f"{measure}: the topics that the difference would need, judged by each plan"
    )


def outcomes_data(outcomes: Sequence[Outcome], needed: Needed | None, *, seconds: float) -> Table:
    """Give one row for each plan and measure with everything that is known of it."""
    rows = []
    for place, one in enumerate(outcomes):
        cost = one.cost
        for effect in one.effects:
            row: dict[str, Value] = {
                "plan": one.plan,
                "strategy": one.strategy,
                "budget": one.budget,
                "documents": cost.documents,
                "topics": len(one.play.topics),
                "mean": cost.mean,
                "least": cost.least,
                "most": cost.most,
                "unknown": cost.unknown,
                "relevant": cost.relevant,
                "known_relevant": cost.known_relevant,
                "share": _known(cost.share),
                "empty": cost.empty,
                "hours": cost.documents * seconds / _HOUR,
                "measure": str(effect.measure),
            }
            row |= zip(_EFFECT, (*_effect(one, effect.measure), *_loss(one, effect.measure)), strict=True)
            if needed is not None:
                row |= zip(_NEEDED, _needed(needed[place, str(effect.measure)], seconds), strict=True)
            rows.append(row)
    return table_of(list(rows[0]), [tuple(row.values()) for row in rows])


def forecast_table(forecast: Forecast, *, seconds: float) -> Table:
    """Give pools of rising depth: documents, relevant ones found or foreseen, and what the last step brought."""
    rows: list[tuple[Value, ...]] = []
    documents, relevant = 0, 0.0
    for one in forecast.at:
        more = one.documents - documents
        ends = (round(one.low), round(one.high)) if one.is_foreseen else (None, None)
        gained = 100 * (one.relevant - relevant) / more if more else None
        hours = one.documents * seconds / _HOUR
        rows.append((one.depth, one.documents, hours, round(one.relevant), *ends, gained, one.is_foreseen))
        documents, relevant = one.documents, one.relevant
    columns = [
        Column("depth", kind="number"),
        Column("documents", kind="number"),
        Column("hours", digits=1, kind="number"),
        Column("relevant", kind="number"),
        Column("low", "from", kind="number"),
        Column("high", "to", kind="number"),
        Column("gained", "in 100 more", digits=1, kind="number"),
        Column("foreseen"),
    ]
    notes = ["in 100 more: relevant ones in 100 documents that this depth adds to the one above"]
    if any(one.is_foreseen for one in forecast.at):
        notes.append(
            "foreseen: by the curve of the depths above, give or take one standard error; it lacks what no run has"
        )
    return table_of(columns, rows, caption="Pools of rising depth", notes=notes)


def _effect(outcome: Outcome, measure: Measure) -> tuple[Value, ...]:
    one = next(effect for effect in outcome.effects if effect.measure == measure)
    fall = None if one.fall is None else one.fall.drop
    return _known(one.tau_b), _known(one.tau_ap), fall, one.falling, _known(one.change), one.changing


def _loss(outcome: Outcome, measure: Measure) -> tuple[Value, ...]:
    spread = outcome.loss(measure)
    return (None, None, "") if spread is None else (_known(spread.mean), _known(spread.largest), spread.worst)


def _needed(found: TopicsNeeded | None, seconds: float) -> tuple[Value, ...]:
    if found is None:
        return (None,) * len(_NEEDED)
    return found.deviation, found.topics, found.documents, found.documents * seconds / _HOUR


def _known(value: float) -> float | None:
    return None if value != value else value
