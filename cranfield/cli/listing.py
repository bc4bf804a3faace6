"""Commands that list what there is: formats and strategies; measures and tests stand with their stages."""

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
    from cranfield.steps.listing import known_formats

    console.put_table(
        table_of(["of", "format", Column("summary", "what it is"), "read", "written"], known_formats()), format
    )


def strategies(format: Format = "table") -> None:
    """List the pooling strategies."""
    from cranfield.report.table import Column, table_of
    from cranfield.steps.listing import known_strategies

    columns: list[Column | str] = ["strategy", "kind", Column("summary", "what it is"), "options"]
    console.put_table(table_of(columns, known_strategies()), format)
