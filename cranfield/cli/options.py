"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from cranfield.cli import console
from cranfield.errors import UnknownName

COLLECTION_VARIABLE = "CRANFIELD_COLLECTION"


def _complete_format(incomplete: str) -> list[str]:
    return [name for name in console.table_formats() if name.startswith(incomplete)]


def _known_format(name: str) -> str:
    """Refuse an unknown format before anything is done."""
    if not console.is_table_format(name):
        raise UnknownName("output format", name, console.table_formats())
    return name


Collection = Annotated[
    Path,
    typer.Option("-C", "--collection", envvar=COLLECTION_VARIABLE, help="The collection file.", show_default=True),
]
COLLECTION = Path("collection.db")
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite the file, where there is one.")]

Format = Annotated[
    str,
    typer.Option(
        "-f",
        "--format",
        help="How to print: table, csv, json, jsonl, latex, markdown.",
        autocompletion=_complete_format,
        callback=_known_format,
    ),
]
