"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from cranfield.cli import console

COLLECTION_VARIABLE = "CRANFIELD_COLLECTION"


def _complete_format(incomplete: str) -> list[str]:
    return [name for name in console.table_formats() if name.startswith(incomplete)]


Collection = Annotated[
    Path,
    typer.Option("-C", "--collection", envvar=COLLECTION_VARIABLE, help="The collection file.", show_default=True),
]
COLLECTION = Path("collection.db")

Format = Annotated[
    str,
    typer.Option(
        "-f",
        "--format",
        help="How to print: table, csv, json, jsonl, markdown or latex.",
        autocompletion=_complete_format,
    ),
]
