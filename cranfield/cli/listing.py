"""Commands that list what there is: formats now, measures and strategies with their stages."""

import typer

from cranfield.cli import console
from cranfield.cli.options import Format


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    app.command()(formats)


def formats(format: Format = "table") -> None:
    """List the formats that are read and written."""
    from cranfield.report.table import Column, table_of
    from cranfield.steps.listing import known_formats

    console.put_table(
        table_of(["of", "format", Column("summary", "what it is"), "read", "written"], known_formats()), format
    )
