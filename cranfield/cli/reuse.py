"""`cranfield reuse`: is the pool fair to non-contributing runs, and how reliable is each score?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from cranfield.base.errors import UsageError
from cranfield.base.records import MEASURES
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.commands import Stage
from cranfield.cli.console import COLLECTION, removed

with deferred:
    from cranfield.reuse import tables
    from cranfield.workflows.reuse import field

stage = Stage()

Measures = Annotated[list[str] | None, console.measure_option(MEASURES)]
ThresholdValues = Annotated[
    list[str] | None,
    Option("--threshold", help="Set a threshold for this call, as NAME=NUMBER; repeatable. See --thresholds."),
]
RUNS_TOLD = 5
"""Up to how many runs that are named have their verdicts before all else; those of more are in the tables."""

Further = Annotated[
    int, Option(min=0, help="With --closure open: assumed number of relevant documents that no run retrieved.")
]
ShowThresholds = Annotated[bool, Option("--thresholds", help="Show the thresholds.")]
KeepThresholds = Annotated[bool, Option("--keep", help="Save the thresholds in this collection.")]
ByTopic = Annotated[bool, removed("--by-topic", "use --table topics")]
Estimates = Annotated[bool, removed("--estimates", "the table of runs has the expected loss and its upper end")]
WriteCard = Annotated[Path | None, Option(help="Write the card of the pool to this file.")]
Plot = Annotated[Path | None, Option(help="Write plots of pool bias to this folder (SVG).")]
OneTable = Annotated[
    Literal["collection", "hold-outs", "groups", "decisions", "pool", "runs", "topics"] | None,
    Option("--table", help="Only this table, in any format [default for csv, json and jsonl: runs]."),
]
Describe = Annotated[bool, Option("--describe", help="Describe every run in sentences.")]


@stage.command(
    "reuse",
    "reuse",
    "reuse dense --describe",
    "reuse dense.run -m P@5 --table topics",
)
def reuse(
    runs: console.Runs = None,
    qrels: console.QrelsWord = None,
    skip_bad: console.SkipBad = False,
    measure: Measures = None,
    groups: console.Groups = None,
    pool_depth: console.PoolDepth = None,
    pool: console.Pool = "",
    layer: console.Layers = None,
    closure: console.Closure = "at-k",
    further: Further = 0,
    threshold: ThresholdValues = None,
    keep: KeepThresholds = False,
    thresholds: ShowThresholds = False,
    describe: Describe = False,
    table: OneTable = None,
    write_card: WriteCard = None,
    plot: Plot = None,
    collection: console.Collection = COLLECTION,
    format: console.Format = "table",
    by_topic: ByTopic = False,
    estimates: Estimates = False,
    card: console.Card = None,
) -> None:
    """Show whether the pool is fair to non-contributing runs, and how reliable the score of each run is."""
    qrels, runs = console.bundle_first(qrels, runs)
    values = _threshold_values(threshold or ())
    described: Any = {"layers": layer, "groups": groups, "pool_depth": pool_depth, "pool": pool}
    with console.opened(collection, qrels=qrels, runs=runs, skip_bad=skip_bad, **described) as files:
        store = files.store
        if keep and store is None:
            raise typer.BadParameter("--keep needs a collection")
        if keep or thresholds:
            in_force = field.thresholds_in_force(store, values, keep=keep)
        if thresholds:
            console.put_table(tables.thresholds_table(in_force), format)
            return
        found = files.reuse(
            *(runs or ()),
            measures=measure or MEASURES,
            closure=closure,
            further=further,
            thresholds=values,
        )
        is_data, is_named = format in console.DATA_FORMATS, 0 < len(runs or ()) <= RUNS_TOLD
        for sentence in found.verdicts() if is_named and not is_data and table is None else ():
            console.put(f"{sentence}\n", prose=True)
        console.say(*found.narration())
        if not is_data and table is None:
            console.say(*found.about_collection())
        for one in [found.table(table or "runs")] if is_data else found.tables(table):
            console.put_table(one, format, wide=True)
        for sentence in found.about_runs() if describe else ():
            console.put(f"{sentence}\n", prose=True)
    if write_card is not None:
        found.write_card(write_card)
        console.say(f"wrote the card to {write_card}; use it with cranfield evaluate --pool {write_card}")
    for path in found.draw(plot) if plot is not None else ():
        console.say(f"plotted {path}")


def _threshold_values(words: Sequence[str]) -> dict[str, float]:
    """Read NAME=NUMBER."""
    values = {}
    for word in words:
        name, sign, number = word.partition("=")
        try:
            values[name.strip().replace("-", "_")] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise UsageError(f"a threshold is NAME=NUMBER, not {word!r}; see cranfield reuse --thresholds")
    return values
