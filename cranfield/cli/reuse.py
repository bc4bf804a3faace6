"""`cranfield reuse`: is the pool fair, to the collection's outsiders and to each run?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.evaluated import collection_meant
from cranfield.cli.options import COLLECTION, Collection, Format

if TYPE_CHECKING:
    from cranfield.evaluate.expression import Measure
    from cranfield.report.table import Table
    from cranfield.reuse.collection import CollectionReport
    from cranfield.steps.reuse import Estimated
    from cranfield.steps.trust import Trusted
    from cranfield.store import Store

_DATA_FORMATS = ("csv", "json", "jsonl")
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
    write_card: WriteCard = None,
    plot: Plot = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Say how far scores can be trusted: for the collection's outsiders, and run by run."""
    from cranfield.steps.reuse import examine_collection
    from cranfield.steps.reuse_asking import Doubt, about_titles, asked_field, threshold_values
    from cranfield.steps.trust import keep_thresholds, trusted

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
            report = examine_collection(field, [trust.measure for trust in found.trusts])
        words = () if store is None else about_titles(store, field)
    for note in (*found.notes, *words):
        console.say(note)
    _say_without_verdict(found, measures)
    _put(found, report, format, by_topic=by_topic)
    _put_more(found, format, describe=describe, estimates=estimates)
    if write_card is not None:
        _write_card(found, write_card)
    if plot is not None:
        _plot(found, report, plot)


def _put_more(found: "Trusted", format: str, *, describe: bool, estimates: bool) -> None:
    if describe:
        _describe(found)
    if estimates:
        _put_estimates(found, format)


def _say_without_verdict(found: "Trusted", measures: "list[Measure]") -> None:
    for without in [one for one in measures if found.of(one) is None]:
        console.say(f"{without} takes no verdict: it is no score that unjudged documents could change")


def _needed(store: "Store | None") -> "Store":
    if store is None:
        raise typer.BadParameter("--keep keeps thresholds in a collection; there is none here")
    return store


def _put(found: "Trusted", report: "CollectionReport | None", format: str, *, by_topic: bool) -> None:
    from cranfield.report.reuse_tables import groups_table, hold_out_table, trust_data, trust_table, verdicts_table
    from cranfield.steps.reuse_asking import depth_words, rows_of

    runs = range(found.field.asked)
    if format in _DATA_FORMATS:
        console.put_table(trust_data([row for trust in found.trusts for row in rows_of(trust, runs)]), format)
        return
    if report is not None:
        _say_collection(report)
        tables = [verdicts_table(report), hold_out_table(report, level="group"), groups_table(report)]
        tables += [hold_out_table(report, level=level) for level in ("run", "family")]
        for table in tables:
            if table is not None:
                console.put_wide_table(table, format)
    for trust in found.trusts:
        depth = depth_words(trust)
        console.put_wide_table(trust_table(rows_of(trust, runs), measure=str(trust.measure), depth=depth), format)
    if by_topic:
        console.put_wide_table(_worst_topics(found), format)


def _say_collection(report: "CollectionReport") -> None:
    from cranfield.steps.reuse_asking import about_collection

    for sentence in about_collection(report):
        console.say(sentence)


def _worst_topics(found: "Trusted") -> "Table":
    from cranfield.report.table import Column, table_of

    rows = [
        (found.field.read.aligned.run_names[run], str(trust.measure), topic, share)
        for trust in found.trusts
        for run in range(found.field.asked)
        for topic, share in trust.assessment.holes.worst(run)
    ]
    columns = [Column("run"), Column("measure"), Column("topic"), Column("judged", digits=2, numeric=True)]
    return table_of(columns, rows, caption="Topics with the least judged")


def _describe(found: "Trusted") -> None:
    from cranfield.steps.reuse_asking import accounts

    for sentence in accounts(found):
        console.put(f"{sentence}\n")


def _estimates_table(found: "Trusted", one: "Estimated") -> "Table":
    from cranfield.report.table import Column, table_of

    rows = []
    trust = found.of(one.measure)
    for run in range(found.field.asked):
        completed = one.completed
        told = (None, None, None) if completed is None else (completed.value, completed.low, completed.high)
        values = [None if value is None else float(value[run]) for value in told]
        highest = None if trust is None else trust.assessment.evidence[run].high
        if values[2] is not None and highest is not None:
            values[2] = min(values[2], max(highest, values[0] or 0.0))
        shifted = None
        if one.shift is not None and trust is not None:
            shifted = float(trust.assessment.score[run] + one.shift.value)
        condensed = None if one.condensed is None else float(one.condensed[run])
        rows.append((found.field.read.aligned.run_names[run], *values, shifted, condensed))
    names = (("completed", "with expected loss"), ("low", "from"), ("high", "to"), ("shifted", "Webber–Park"))
    columns = [Column("run"), *(Column(name, heading, numeric=True) for name, heading in names)]
    columns.append(Column("condensed", "condensed list", numeric=True))
    notes = ["estimates, never the score"] + ([str(one.shift)] if one.shift is not None else [])
    return table_of(columns, rows, caption=f"{one.measure}: estimates with the holes judged", notes=notes)


def _put_thresholds(store: "Store | None", values: dict[str, float], format: str) -> None:
    from cranfield.report.reuse_tables import thresholds_table
    from cranfield.steps.trust import thresholds_in_force

    console.put_table(thresholds_table(thresholds_in_force(store, values)), format)


def _put_estimates(found: "Trusted", format: str) -> None:
    from cranfield.steps.reuse import estimates

    for one in estimates(found):
        console.put_wide_table(_estimates_table(found, one), format)


def _write_card(found: "Trusted", path: Path) -> None:
    from cranfield.reuse.card import card_text
    from cranfield.steps.reuse import card_for
    from cranfield.writing import whole_file

    with whole_file(path, replace=True) as unfinished:
        unfinished.write_text(card_text(card_for(found)), encoding="utf-8")
    console.say(f"wrote the card into {path}; others use it with cranfield evaluate --card {path}")


def _plot(found: "Trusted", report: "CollectionReport | None", folder: Path) -> None:
    from cranfield.steps.reuse_plotting import draw_all

    for path in draw_all(found, report, folder):
        console.say(f"drew {path}")
