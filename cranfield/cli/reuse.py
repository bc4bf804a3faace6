"""`cranfield reuse`: is the pool fair, to the collection's outsiders and to each run?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format, collection_meant
from cranfield.reuse.parts import Part

if TYPE_CHECKING:
    from cranfield.evaluate.expression import Measure
    from cranfield.reuse.collection import CollectionReport
    from cranfield.store.store import Store
    from cranfield.workflows.reuse.field import Trusted

_DATA_FORMATS = ("csv", "json", "jsonl")
Wanted = tuple[Part, ...]
_DEFAULT_MEASURES = ("nDCG@10", "P@10", "AP")

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
ByTopic = Annotated[bool, typer.Option("--by-topic", help="Also the topics with the least judged, run by run.")]
ShowEstimates = Annotated[bool, typer.Option("--estimates", help="Also what the scores might be with holes judged.")]
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
    by_topic: ByTopic = False,
    estimates: ShowEstimates = False,
    describe: Describe = False,
    table: OneTable = None,
    write_card: WriteCard = None,
    plot: Plot = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Say how far scores can be trusted: for the collection's outsiders, and run by run."""
    from cranfield.workflows.reuse.field import keep_thresholds, trusted
    from cranfield.workflows.reuse.reuse import Doubt, asked_field, examine_collection, threshold_values

    values = threshold_values(threshold or ())
    with collection_meant(collection, qrels, runs) as store:
        if keep:
            keep_thresholds(_needed(store), values)
        if thresholds:
            _put_thresholds(store, values, format)
            return
        doubt = Doubt(
            runs=tuple(runs or ()),
            qrels=qrels,
            measures=tuple(measure or _DEFAULT_MEASURES),
            layers=tuple(layer or ()),
            groups=groups,
            depth=pool_depth,
            card=card,
            pool=pool,
        )
        with console.progress() as progress:
            field, measures = asked_field(doubt, store=store, progress=progress)
            found = trusted(field, measures, store=store, thresholds=values, closure=closure, further=further)
            report = examine_collection(field, [trust.measure for trust in found.trusts], thresholds=found.thresholds)
        _say_notes(found, measures)
        wanted: dict[Part, bool] = {"topics": by_topic, "estimates": estimates}
        _put(found, report, format, table, tuple(part for part, asked in wanted.items() if asked))
        if describe:
            _describe(found, store)
    if write_card is not None:
        _write_card(found, write_card)
    if plot is not None:
        _plot(found, report, plot)


def _say_notes(found: Trusted, measures: list[Measure]) -> None:
    from cranfield.workflows.reuse.reuse import about_noise, without_verdict

    for note in (*found.notes, *about_noise(found), *without_verdict(found, measures)):
        console.say(note)


def _needed(store: Store | None) -> Store:
    if store is None:
        raise typer.BadParameter("--keep keeps thresholds in a collection; there is none here")
    return store


def _put(found: Trusted, report: CollectionReport | None, format: str, table: Part | None, more: Wanted) -> None:
    from cranfield.workflows.reuse.tables import one_table, shown_tables

    data = format in _DATA_FORMATS
    if data and more and table is None:
        raise typer.BadParameter(f"{format} holds one table: ask for it with --table {more[0]}")
    if data or table is not None:
        for one in one_table(found, report, table or "runs", data=data):
            console.put_wide_table(one, format)
        return
    if report is not None:
        _say_collection(report)
    for one in shown_tables(found, report, more=more):
        console.put_wide_table(one, format)


def _say_collection(report: CollectionReport) -> None:
    from cranfield.workflows.reuse.reuse import about_collection

    for sentence in about_collection(report):
        console.say(sentence)


def _describe(found: Trusted, store: Store | None) -> None:
    from cranfield.workflows.settle import accounts

    for sentence in accounts(found, store=store):
        console.put(f"{sentence}\n")


def _put_thresholds(store: Store | None, values: dict[str, float], format: str) -> None:
    from cranfield.reuse.tables import thresholds_table
    from cranfield.workflows.reuse.field import thresholds_in_force

    console.put_table(thresholds_table(thresholds_in_force(store, values)), format)


def _write_card(found: Trusted, path: Path) -> None:
    from cranfield.workflows.reuse.reuse import write_reuse_card

    write_reuse_card(found, path)
    console.say(f"wrote the card into {path}; others use it with cranfield evaluate --card {path}")


def _plot(found: Trusted, report: CollectionReport | None, folder: Path) -> None:
    from cranfield.workflows.reuse.tables import draw_all

    for path in draw_all(found, report, folder):
        console.say(f"drew {path}")
