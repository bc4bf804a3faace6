"""Options and arguments that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.base.errors import UnknownName, UsageError
from cranfield.cli import console

if TYPE_CHECKING:
    from cranfield.base.tables import Table


COLLECTION_VARIABLE = "CRANFIELD_COLLECTION"


def removed(option: str, instead: str, **settings: Any) -> Any:
    """An option that was dropped: hidden, and for one version it says what to type instead."""

    def refuse(value: Any) -> None:
        if value:
            raise UsageError(f"{option} was removed; {instead}")

    return typer.Option(option, hidden=True, callback=refuse, **settings)


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


def with_notes(table: Table, notes: Sequence[str]) -> Table:
    """Give a table with more notes below it."""
    return replace(table, notes=(*table.notes, *notes)) if notes else table


# Who sits at the terminal: asked once, and remembered.

ASSESSOR_VARIABLE = "CRANFIELD_ASSESSOR"

Assessor = Annotated[
    str,
    typer.Option("-a", "--assessor", envvar=ASSESSOR_VARIABLE, help="Who judges; asked once and remembered."),
]


def name_of_assessor(given: str) -> str:
    """Give the name on the line or in the environment, else the remembered one, else ask at a terminal."""
    if given.strip():
        return given.strip()
    file = remembered_in()
    if file.is_file() and (known := file.read_text(encoding="utf-8").strip()):
        return known
    if not sys.stdin.isatty():
        raise UsageError(f"say who judges: -a NAME, or ${ASSESSOR_VARIABLE}")
    name = str(typer.prompt("Your name, as it will stand with your judgments", err=True)).strip()
    if name:
        _remember(file, name)
    return name


def remembered_in() -> Path:
    """Give the file that keeps the name, in the place where the system keeps a user's settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "cranfield" / "assessor"
    settings = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(settings) if settings else Path.home() / ".config") / "cranfield" / "assessor"


def _remember(file: Path, name: str) -> None:
    # A home that cannot be written only means that the question comes again.
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name + "\n", encoding="utf-8")
    except OSError:
        return
