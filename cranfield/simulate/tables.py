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


_ROW = (
    "plan",
    "strategy",
    "budget",
    "documents",
    "topics",
    "mean",
    "least",
    "most",
    "unknown",
    "relevant",
    "known_relevant",
    "share",
    "empty",
    "hours",
    "measure",
    "tau_b",
    "tau_ap",
    "fall",
    "falling",
    "loss_mean",
    "loss_max",
    "losing",
)
"""The columns of data; from documents to empty those of `Cost`, from measure to falling those of `Effect`."""


def outcome_rows(outcomes: Sequence[Outcome], *, seconds: float) -> list[Row]:
    """One row for each plan and measure; judging takes `seconds` per document."""
    rows = []
    for one in outcomes:
        hours = one.cost.documents * seconds / 3600
        for measure, *effect in one.effects:
            loss = one.loss(measure)
            lost = (None, None, "") if loss is None else (loss.mean, loss.largest, loss.worst)
            row = (one.plan, one.strategy, one.budget, *one.cost, hours, str(measure), *effect, *lost)
            # NaN: not known
            rows.append({name: None if value != value else value for name, value in zip(_ROW, row, strict=True)})
    return rows
