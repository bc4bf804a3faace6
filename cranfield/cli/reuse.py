"""`cranfield reuse`: is the pool fair to non-contributing runs, and how reliable is each score?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.records import MEASURES
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.main import Stage

with deferred:
    from cranfield.base import writing
    from cranfield.reuse import tables
    from cranfield.workflows.reuse import field

stage = Stage()

Measures = Annotated[list[str] | None, console.measure_option(MEASURES)]
ThresholdValues = Annotated[
    list[str] | None, "Set a threshold for this call, as NAME=NUMBER; repeatable. See --thresholds."
]
RUNS_TOLD = 5
"""Up to how many runs that are named have their verdicts before all else; those of more are in the tables."""

ShowThresholds = Annotated[bool, "Show the thresholds."]
KeepThresholds = Annotated[bool, "Save the thresholds in this collection."]
WriteCard = Annotated[Path | None, "Write the card of the pool to this file."]
OneTable = Annotated[
    Literal["collection", "hold-outs", "groups", "runs"] | None,
    "Only this table, in any format [default for csv, json and jsonl: runs].",
]


@stage.command(
    "reuse",
    "reuse dense",
    "reuse dense.run -m P@5 --table groups",
    removed={
        "--by-topic": "evaluate --by-topic -f csv has the share of judged documents of each topic",
        "--estimates": "the table of runs has the expected loss and its upper end",
        "--card": "use --pool FILE",
        "--closure": "intervals consider unjudged documents down to the cutoff, else the pool depth",
        "--further": "intervals consider the unjudged documents of the rankings",
        "--describe": "reuse RUN begins with the verdicts on RUN; compare has the leads",
        "--plot": "report has the figures, and so has found.plot in Python",
    },
)
def reuse(
    inputs: console.ScoredInPool,
    runs: console.Runs = None,
    measure: Measures = None,
    threshold: ThresholdValues = None,
    keep: KeepThresholds = False,
    thresholds: ShowThresholds = False,
    table: OneTable = None,
    write_card: WriteCard = None,
    format: console.Format = "table",
) -> None:
    """Show whether the pool is fair to non-contributing runs, and how reliable the score of each run is."""
    inputs, runs = console.bundle_first(inputs, runs)
    form = "a threshold, NAME=NUMBER; see cranfield reuse --thresholds"
    values = {}
    for name, number in console.named_values(threshold or (), form).items():
        try:
            values[name.replace("-", "_")] = float(number)
        except ValueError:
            raise UsageError(f"{name}={number} is not {form}") from None
    if write_card is not None:
        writing.refuse_target(write_card)
    with console.opened(inputs, runs) as files:
        store = files.store
        if keep and store is None:
            raise typer.BadParameter("--keep needs a collection")
        if keep or thresholds:
            in_force = field.thresholds_in_force(store, values, keep=keep)
        if thresholds:
            console.put_table(tables.thresholds_table(in_force), format)
            return
        found = files.reuse(*(runs or ()), measures=measure or None, thresholds=values)
        is_data, is_named = format in console.DATA_FORMATS, 0 < len(runs or ()) <= RUNS_TOLD
        for sentence in found.verdicts() if is_named and not is_data and table is None else ():
            console.put(f"{sentence}\n", prose=True)
        console.say(*found.notes)
        if not is_data and table is None:
            console.say(*found.about_collection())
        for one in [found.table(table or "runs")] if is_data else found.tables(table):
            console.put_table(one, format, wide=True)
    if write_card is not None:
        found.write_card(write_card)
        console.say(f"wrote the card to {write_card}; use it with cranfield evaluate --pool {write_card}")
