"""`cranfield measures`: what there is, with formula, parameters, edge cases and source."""

from typing import Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import Format


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(measures)


def measures(
    name: Annotated[str, typer.Argument(help="A measure; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the measures, or explain one."""
    from cranfield.report.table import table_of
    from cranfield.workflows.measures import described_measure, known_measures

    if name:
        console.put(described_measure(name))
        return
    columns = ["measure", "cutoff", "parameters", "also", "trec_eval", "what it is"]
    console.put_table(table_of(columns, known_measures()), format)
