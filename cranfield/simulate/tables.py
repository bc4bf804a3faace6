"""Tables of plans that were replayed: what each costs and finds, what it does to the ranking, what is foreseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.base.tables import Column, Number, Table, Value, table_of
from cranfield.simulate.study import Outcome

if TYPE_CHECKING:
    from cranfield.simulate.forecast import Forecast, TopicsNeeded

    Needed = dict[tuple[int, str], TopicsNeeded | None]
    """By the place of the outcome and the measure."""

Row = dict[str, Value]

_HOUR = 3600

COSTS = [
    Column("plan"),
    Number("documents"),
    Number("mean", "per topic", digits=1),
    Number("least"),
    Number("most"),
    Number("unknown", "unjudged"),
    Number("relevant"),
    Number("share", "of known", digits=3),
    Number("empty", "topics missed"),
    Number("hours", digits=1),
]
# The names of runs belong to the numbers before them, and go with these where a terminal is too narrow.
RANKING = [
    Column("plan"),
    Number("tau_b", "tau-b", digits=3),
    Number("tau_ap", "tau_ap", digits=3),
    Number("fall", "max drop"),
    Number("falling", "run"),
    Number("change", "largest change"),
    Number("changing", "run"),
]
LOSSES = [
    Number("loss_mean", "expected loss", digits=3),
    Number("loss_max", "largest", digits=3),
    Number("losing", "run"),
]
NEEDED = [
    Column("plan"),
    Number("deviation"),
    Number("needed_topics", "topics"),
    Number("needed_documents", "documents"),
    Number("needed_hours", "hours", digits=1),
]


def outcome_rows(outcomes: Sequence[Outcome], needed: Needed | None, *, seconds: float) -> list[Row]:
    """One row for each plan and measure with everything that is known of it."""
    rows = []
    for place, one in enumerate(outcomes):
        cost = one.cost
        for effect in one.effects:
            loss, nothing = one.loss(effect.measure), float("nan")
            mean, largest, losing = (nothing, nothing, "") if loss is None else (loss.mean, loss.largest, loss.worst)
            row: Row = {
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
                "tau_b": _known(effect.tau_b),
                "tau_ap": _known(effect.tau_ap),
                "fall": None if effect.fall is None else effect.fall.drop,
                "falling": effect.falling,
                "change": _known(effect.change),
                "changing": effect.changing,
                "loss_mean": _known(mean),
                "loss_max": _known(largest),
                "losing": losing,
            }
            if needed is not None:
                need = needed[place, str(effect.measure)]
                numbers: tuple[Value, ...] = (None,) * 4
                if need is not None:
                    numbers = need.deviation, need.topics, need.documents, need.documents * seconds / _HOUR
                row |= zip((column.name for column in NEEDED[1:]), numbers, strict=True)
            rows.append(row)
    return rows


def outcome_table(
    columns: Sequence[Column], rows: Sequence[Row], *, caption: str, notes: Sequence[str] = ()
) -> Table:
    """Some columns of some rows, under their headings."""
    return table_of(columns, [[row[column.name] for column in columns] for row in rows], caption=caption, notes=notes)


def forecast_table(forecast: Forecast, *, seconds: float) -> Table:
    """Pools of rising depth: documents, relevant ones found or foreseen, and what the last step brought."""
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
        Number("depth"),
        Number("documents"),
        Number("hours", digits=1),
        Number("relevant"),
        Number("low", "from"),
        Number("high", "to"),
        Number("gained", "per 100 more", digits=1),
        Column("foreseen", "forecast"),
    ]
    notes = ["per 100 more: relevant documents among 100 that this depth adds to the previous one"]
    if any(one.is_foreseen for one in forecast.at):
        notes.append(
            "forecast: extrapolated from smaller depths, with one standard error, without documents that no run has"
        )
    return table_of(columns, rows, caption="Pools of increasing depth", notes=notes)


def _known(value: float) -> float | None:
    return None if value != value else value
