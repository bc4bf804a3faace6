"""Who sits at the terminal: asked once, and remembered."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cranfield.errors import UsageError

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
