"""Commands that list what there is: formats and strategies; measures and tests stand with their stages."""

from typing import Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import Format


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command()(measures)
    app.command()(formats)
    app.command()(strategies)


def formats(format: Format = "table") -> None:
    """List the formats that are read and written."""
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.listing import known_formats

    console.put_table(
        table_of(["of", "format", Column("summary", "what it is"), "read", "written"], known_formats()), format
    )


def strategies(
    name: Annotated[str, typer.Argument(help="A strategy or a stopping rule; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the pooling strategies and stopping rules, or explain one."""
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.listing import described_strategy, known_strategies

    if name:
        console.put(described_strategy(name))
        return
    columns: list[Column | str] = ["strategy", "kind", Column("summary", "what it is"), "options"]
    console.put_table(table_of(columns, known_strategies()), format)
    console.say("formula and source of each: cranfield strategies NAME")


# `cranfield measures`: what there is, with formula, parameters, edge cases and source.


def measures(
    name: Annotated[str, typer.Argument(help="A measure; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the measures, or explain one."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.listing import described_measure, known_measures

    if name:
        console.put(described_measure(name))
        return
    columns = ["measure", "cutoff", "parameters", "also", "trec_eval", "what it is"]
    console.put_table(table_of(columns, known_measures()), format)
