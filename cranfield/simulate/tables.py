"""Replayed plans as tables: cost and yield, and effect on the ranking of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cranfield.base.text import Column, Number, Result, Table, Value, counted, table_of
from cranfield.simulate.study import Known, Outcome

Row = dict[str, Value]

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
]
LOSSES = [
    Number("loss_mean", "expected loss", digits=3),
    Number("loss_max", "largest", digits=3),
    Number("losing", "run"),
]


@dataclass(frozen=True, eq=False)
class Simulation(Result):
    """The outcome of each plan as they were given, smaller budgets first; a row for each measure of each."""

    known: Known
    outcomes: Sequence[Outcome]
    rows: list[Row]
    notes: Sequence[str]
    wide = True

    def table(self) -> Table:
        """One row for each plan and measure, with all columns."""
        return table_of(list(self.rows[0]), [tuple(row.values()) for row in self.rows])

    def tables(self) -> Iterator[Table]:
        """Costs, then for each measure the ranking."""
        measures = [str(effect.measure) for effect in self.outcomes[0].effects]
        share = "of known: share of the known relevant documents; a replay finds only documents that were judged"
        yield _selected(COSTS, self.rows[:: len(measures)], "Cost and yield of each plan", [share])
        runs = counted(len(self.known.runs), "run")
        for place, measure in enumerate(measures):
            rows = self.rows[place :: len(measures)]
            caption = f"{measure}: ranking of {runs}, compared with all known judgments"
            if any(one.held_out is not None for one in self.outcomes):
                loss = "expected loss (by depth): share of its score that a run loses when its own group is left out"
                yield _selected([*RANKING, *LOSSES], rows, caption, [loss])
            else:
                yield _selected(RANKING, rows, caption)


def _selected(columns: Sequence[Column], rows: Sequence[Row], caption: str, notes: Sequence[str] = ()) -> Table:
    return table_of(columns, [[row[column.name] for column in columns] for row in rows], caption=caption, notes=notes)


def outcome_rows(outcomes: Sequence[Outcome], *, seconds: float) -> list[Row]:
    """One row for each plan and measure; judging takes `seconds` per document."""
    rows = []
    for one in outcomes:
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
                "share": cost.share,
                "empty": cost.empty,
                "hours": cost.documents * seconds / 3600,
                "measure": str(effect.measure),
                "tau_b": effect.tau_b,
                "tau_ap": effect.tau_ap,
                "fall": effect.fall,
                "falling": effect.falling,
                "loss_mean": mean,
                "loss_max": largest,
                "losing": losing,
            }
            rows.append({name: None if value != value else value for name, value in row.items()})  # NaN: not known
    return rows
