"""`cranfield report`: one page about a collection, to read or to publish."""

from pathlib import Path
from typing import Annotated

from typer import Option

from cranfield.base.records import MEASURES
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Layers, QrelsWord
from cranfield.cli.main import Stage

with deferred:
    from cranfield.base import writing
    from cranfield.workflows.report import report as workflow

stage = Stage()


@stage.command(
    "report",
    "report -o page.html --public",
    "report -o report.md -m nDCG@5 --card card.json",
    removed={
        **dict.fromkeys(("--tables", "--format", "-f"), "a table is printed by its command, as evaluate -f csv"),
        **dict.fromkeys(
            ("--figures", "--figure-format"), "use evaluate --plot FILE; in Python the result of reuse has .plot"
        ),
    },
)
def report(
    output: Annotated[
        Path | None,
        Option("-o", "--output", help="Output file: .html or .md. [default: report.html beside the collection]"),
    ] = None,
    measure: Annotated[list[str] | None, console.measure_option(MEASURES)] = None,
    qrels: QrelsWord = None,
    layer: Layers = None,
    public: Annotated[bool, "Omit the names of assessors."] = False,
    card: Annotated[Path | None, "Also write the collection card (JSON)."] = None,
    collection: Collection = COLLECTION,
) -> None:
    """Write a self-contained page about the collection, to open in a browser, print or publish."""
    target = output or collection.with_name("report.html")
    for file in (target, card):  # refused before anything is computed
        if file is not None:
            writing.refuse_target(file)
    measures, layers = tuple(measure or ()), tuple(layer or ["main"])
    request = workflow.ReportRequest(measures=measures, qrels=qrels, layers=layers, public=public)
    with console.open_collection(collection) as store, console.progress() as progress:
        made = workflow.report_on(store, request, with_card=card is not None, progress=progress)
    made.write(target, card)
    console.say(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")
    console.say(*made.material.notes)
    for sentence in made.material.missing:
        console.say(f"not included: {sentence}")
    if card is not None:
        console.say(f"wrote collection card {card}")
