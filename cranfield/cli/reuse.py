"""`cranfield reuse`: is the pool fair, to the collection's outsiders and to each run?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.tables import DATA_FORMATS
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, removed
from cranfield.workflows.reuse.reuse import Part

with deferred:
    from cranfield.reuse import tables
    from cranfield.workflows.reuse import field

Runs = Annotated[
    list[str] | None, typer.Argument(help="Run files, or names of stored runs; all stored runs where none is named.")
]
QrelsWord = Annotated[
    str | None, typer.Option("--qrels", help="A file of qrels, a release, or now (the judgments of the collection).")
]
Measures = Annotated[list[str] | None, typer.Option("-m", "--measure", help="A measure; may be repeated.")]
Groups = Annotated[
    Path | None, typer.Option(help="Who fed the pool: run tag, group, and pooled or new, divided by tabs.")
]
PoolDepth = Annotated[int | None, typer.Option(min=1, help="Down to which rank the pool went.")]
CardFile = Annotated[Path | None, typer.Option("--card", help="What a published collection says of its pool.")]
PoolName = Annotated[str, typer.Option("--pool", help="One of several pools; the latest otherwise.")]
ThresholdValues = Annotated[
    list[str] | None,
    typer.Option("--threshold", help="NAME=NUMBER for this call; may be repeated. See --thresholds."),
]
Layers = Annotated[list[str] | None, typer.Option("--layer", help="A layer of judgments; may be repeated.")]
ClosureWord = Annotated[
    Literal["at-k", "list", "open"],
    typer.Option(
        help="Which holes may be relevant: within the depth that matters, in the whole list, or also unseen."
    ),
]
Further = Annotated[int, typer.Option(min=0, help="With open: how many relevant documents nobody retrieved.")]
ShowThresholds = Annotated[bool, typer.Option("--thresholds", help="Show the thresholds in force.")]
KeepThresholds = Annotated[bool, typer.Option("--keep", help="Keep the given thresholds for this collection.")]
ByTopic = Annotated[bool, removed("--by-topic", "use --table topics")]
Estimates = Annotated[
    bool, removed("--estimates", "the expected loss and its upper end stand beside each score in the table of runs")
]
WriteCard = Annotated[Path | None, typer.Option(help="Write the card of the collection's pool into this file.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the pictures of pool bias into this folder (SVG).")]
OneTable = Annotated[
    Part | None,
    typer.Option(
        "--table", help="Only this table, in any format. Without it csv, json and jsonl give that of the runs."
    ),
]
Describe = Annotated[bool, typer.Option("--describe", help="Every run in sentences.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(reuse)


def reuse(
    runs: Runs = None,
    qrels: QrelsWord = None,
    measure: Measures = None,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    layer: Layers = None,
    closure: ClosureWord = "at-k",
    further: Further = 0,
    threshold: ThresholdValues = None,
    keep: KeepThresholds = False,
    thresholds: ShowThresholds = False,
    describe: Describe = False,
    table: OneTable = None,
    write_card: WriteCard = None,
    plot: Plot = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
    by_topic: ByTopic = False,
    estimates: Estimates = False,
) -> None:
    """Say how far scores can be trusted: for the collection's outsiders, and run by run."""
    values = _threshold_values(threshold or ())
    with console.opened(
        collection,
        qrels=qrels,
        runs=runs,
        layers=layer,
        groups=groups,
        pool_depth=pool_depth,
        card=card,
        pool=pool,
    ) as files:
        store = files.inputs.store
        if keep and store is None:
            raise typer.BadParameter("--keep keeps thresholds in a collection; there is none here")
        if keep or thresholds:
            in_force = field.thresholds_in_force(store, values, keep=keep)
        if thresholds:
            console.put_table(tables.thresholds_table(in_force), format)
            return
        found = files.reuse(
            *(runs or ()),
            measures=measure or ("nDCG@10", "P@10", "AP"),
            closure=closure,
            further=further,
            thresholds=values,
        )
        for note in found.narration():
            console.say(note)
        is_data = format in DATA_FORMATS
        if not is_data and table is None:
            for sentence in found.about_collection():
                console.say(sentence)
        for one in [found.table(table or "runs")] if is_data else found.tables(table):
            console.put_table(one, format, wide=True)
        for sentence in found.about_runs() if describe else ():
            console.put(f"{sentence}\n")
    if write_card is not None:
        found.write_card(write_card)
        console.say(f"wrote the card into {write_card}; others use it with cranfield evaluate --card {write_card}")
    for path in found.draw(plot) if plot is not None else ():
        console.say(f"drew {path}")


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
            raise UsageError(f"a threshold is set as NAME=NUMBER, not {word!r}; see cranfield reuse --thresholds")
    return values
