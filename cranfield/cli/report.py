"""`cranfield report`: one page about a collection, and everything on it as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection

if TYPE_CHECKING:
    from cranfield.workflows.report.report import Reported

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
    from cranfield.workflows.report.material import MEASURES, Wanted
    from cranfield.workflows.report.report import collection_report, report_and_card, write_card, write_page

    wanted = Wanted(measures=tuple(measure or MEASURES), qrels=qrels, layers=tuple(layer or ["main"]), public=public)
    target = output or collection.with_name("report.html")
    _refuse_absent_folders(target, card)
    written = None
    with console.collection(collection) as store, console.progress() as progress:
        if card is None:
            made = collection_report(store, wanted, progress=progress)
        else:
            made, written = report_and_card(store, wanted, progress=progress)
    write_page(made.page, target)
    console.say(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")
    for sentence in made.material.missing:
        console.say(f"not in it: {sentence}")
    if card is not None and written is not None:
        write_card(written, card)
        console.say(f"wrote the card {card}")
    _write_parts(made, tables, format, figures, figure_format)


def _refuse_absent_folders(*files: Path | None) -> None:
    """Refuse to begin what could not be written in the end."""
    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {file.parent} to write {file.name} in")


def _write_parts(made: "Reported", tables: Path | None, format: str, figures: Path | None, kind: str) -> None:
    from cranfield.workflows.report.report import write_figures, write_tables

    if tables is not None:
        console.say(f"wrote {counted(len(write_tables(made.page, tables, format=format)), 'table')} into {tables}")
    if figures is not None:
        drawn = write_figures(made.pictures, figures, kind=kind)
        console.say(f"wrote {counted(len(drawn), 'figure')} into {figures}")
