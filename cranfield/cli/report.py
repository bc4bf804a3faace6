"""`cranfield report`: one page about a collection, and everything on it as files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection

with deferred:
    from cranfield.workflows.report import material
    from cranfield.workflows.report import report as workflow

Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The file to write: .html, or .md; report.html beside the collection."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", help="A measure; may be repeated. nDCG@10, AP and P@10 otherwise."),
]
QrelsWord = Annotated[
    str | None, typer.Option("--qrels", help="A file of qrels, a release, or now (the judgments of the collection).")
]
Layers = Annotated[list[str] | None, typer.Option("--layer", help="A layer of judgments; may be repeated.")]
Public = Annotated[
    bool, typer.Option("--public", help="Leave out the names of assessors and the titles of documents.")
]
Tables = Annotated[Path | None, typer.Option(help="Also write each table into this folder.")]
TableFormat = Annotated[
    Literal["csv", "json", "jsonl", "latex", "markdown"],
    typer.Option("-f", "--format", help="How tables are written."),
]
Figures = Annotated[Path | None, typer.Option(help="Also write each figure into this folder.")]
FigureKind = Annotated[Literal["svg", "png", "pdf"], typer.Option(help="How figures are written.")]
CardFile = Annotated[Path | None, typer.Option("--card", help="Also write the collection card, as JSON.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(report)


def report(
    output: Output = None,
    measure: Measures = None,
    qrels: QrelsWord = None,
    layer: Layers = None,
    public: Public = False,
    tables: Tables = None,
    format: TableFormat = "csv",
    figures: Figures = None,
    figure_format: FigureKind = "svg",
    card: CardFile = None,
    collection: Collection = COLLECTION,
) -> None:
    """Write one page about the collection that needs no network: open it in a browser, print it, publish it."""
    target = output or collection.with_name("report.html")
    for file in (target, card):  # refused before anything is done that could not be written in the end
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {file.parent} to write {file.name} in")
    measures, layers = tuple(measure or material.MEASURES), tuple(layer or ["main"])
    request = material.ReportRequest(measures=measures, qrels=qrels, layers=layers, public=public)
    with console.collection(collection) as store, console.progress() as progress:
        made = workflow.report_on(store, request, with_card=card is not None, progress=progress)
    made.write_page(target)
    console.say(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")
    for sentence in made.material.missing:
        console.say(f"not in it: {sentence}")
    if card is not None:
        made.write_card(card)
        console.say(f"wrote the card {card}")
    if tables is not None:
        console.say(f"wrote {counted(made.write_tables(tables, format=format), 'table')} into {tables}")
    if figures is not None:
        console.say(f"wrote {counted(made.write_figures(figures, kind=figure_format), 'figure')} into {figures}")
