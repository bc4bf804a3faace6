"""Commands that list what there is: formats and strategies; measures and tests stand with their stages."""

from typing import Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import Format


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command()(formats)
    app.command()(strategies)


def formats(format: Format = "table") -> None:
    """List the formats that are read and written."""
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.listing import known_formats

    console.put_table(
        table_of(["of", "format", Column("summary", "what it is"), "read", "written"], known_formats()), format
    )


def strategies(
    name: Annotated[str, typer.Argument(help="A strategy or a stopping rule; without one, all are listed.")] = "",
    format: Format = "table",
) -> None:
    """List the pooling strategies and stopping rules, or explain one."""
    from cranfield.report.table import Column, table_of
    from cranfield.workflows.listing import described_strategy, known_strategies

    if name:
        console.put(described_strategy(name))
        return
    columns: list[Column | str] = ["strategy", "kind", Column("summary", "what it is"), "options"]
    console.put_table(table_of(columns, known_strategies()), format)
    console.say("formula and source of each: cranfield strategies NAME")
