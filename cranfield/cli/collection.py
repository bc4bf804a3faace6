"""Commands about the collection file as a whole."""

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format
from cranfield.cli.main import Stage

with deferred:
    from cranfield.cli import main
    from cranfield.workflows import check as check_workflow
    from cranfield.workflows import collection as collections
    from cranfield.workflows import status as status_workflow

stage = Stage()


@stage.command(
    "init",
    "init",
    "init recipes --scale graded --guidelines guidelines.md",
    "init recipes --scale '0=no, 1=partly, 2=fully' -C recipes.db",
)
def init(
    name: Annotated[str, Argument(help="Name of the collection.")] = "",
    collection: Collection = COLLECTION,
    scale: Annotated[
        str,
        Option(help="binary, graded, a line like '0=no, 1=partly, 2=fully', or a TOML file with [[grade]] tables."),
    ] = "binary",
    relevant_from: Annotated[int | None, Option(help="The lowest grade that counts as relevant.")] = None,
    guidelines: Annotated[Path | None, Option(help="Guidelines for the assessors, a Markdown file.")] = None,
    licence: Annotated[str, Option(help="Licence of the collection, for example CC-BY-4.0.")] = "",
) -> None:
    """Create a collection: one SQLite file."""
    chosen = collections.parse_scale(scale, relevant_from=relevant_from)
    called = name or collection.absolute().parent.name
    collections.init_collection(collection, name=called, scale=chosen, guidelines=guidelines, licence=licence)
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"created {collection}; scale: {steps}; relevant from grade {chosen.relevant_from}")
    console.say(f"next: add documents with {console.hint('corpus add FILE…', collection)}")


@stage.command(
    "status",
    "status",
    "status -C recipes.db",
)
def status(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Show the state of the collection and the next step."""
    with console.collection(collection) as store:
        standing = status_workflow.status(store, hint=partial(console.hint, collection=collection))
    console.show(standing, format)


@stage.command(
    "check",
    "check",
    "check --against backup.db",
)
def check(
    against: Annotated[
        Path | None, Option(help="Also compare the history with that in a card, a release bundle or a backup.")
    ] = None,
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Verify the integrity of the collection file."""
    with console.collection(collection) as store, console.progress() as progress:
        soundness = check_workflow.check(store, against=against, progress=progress)
    table = soundness.table()
    # In the terminal, problems are listed below the table.
    console.put_table(table.select([0, 1, 2]) if format == "table" else table, format)
    console.say(*soundness.remarks)
    if soundness.wrong:
        raise typer.Exit(1)


@stage.command(
    "backup",
    "backup copy.db",
    "backup backups --keep 7",
)
def backup(
    file: Annotated[Path, Argument(help="File to create, never overwritten; with --keep, a folder.")],
    keep: Annotated[
        int | None, Option(min=1, help="Write a dated copy into the folder, and keep only the latest N there.")
    ] = None,
    collection: Collection = COLLECTION,
) -> None:
    """Copy a collection, also while it is in use."""
    with console.collection(collection) as store:
        if keep is None:
            collections.back_up(store, file)
        else:
            file = collections.back_up_dated(store, file, keep=keep)
    console.say(f"copied {collection} to {file} ({file.stat().st_size:,} bytes)")


@stage.command(
    "restore",
    "restore backup.db",
    "restore backup.db -C recipes.db",
)
def restore(
    backup: Annotated[Path, Argument(help="A file that cranfield backup has made.")],
    collection: Collection = COLLECTION,
) -> None:
    """Put a backup in the place of the collection; the old file is kept under a dated name."""
    with console.progress() as progress:
        aside = check_workflow.restore(backup, collection, progress=progress)
    console.say(f"restored {collection} from {backup}")
    if aside is not None:
        console.say(f"what was there is now {aside}")


@stage.command(
    "demo",
    "demo",
    "demo kitchen",
)
def demo(folder: Annotated[Path, Argument(help="Folder for the demonstration.")] = Path("cranfield-demo")) -> None:
    """Run every stage on the shipped collection. A folder in use is left as it is: the next gets a number."""
    wanted, number = folder, 1
    while folder.is_dir() and any(folder.iterdir()) and folder.name.strip("."):
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    if folder != wanted:
        console.say(f"{wanted} is in use and stays as it is. This demonstration goes to {folder}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder; choose another for the demonstration")
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "collection.db"
    kitchen = collections.shipped_collection("kitchen")
    places, lines = {"KITCHEN": kitchen, "FOLDER": folder}, (kitchen / "demo.txt").read_text("utf-8").splitlines()
    for sentence, command in zip(*[iter(lines)] * 2, strict=True):  # every stage: a sentence, then the command
        # Places stand at the beginning of a word, and are put in after it was split: their names may have blanks.
        parts = [word.partition("/") for word in shlex.split(command)]
        words = [str(places[place] / name) if place in places else place for place, _, name in parts]
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if words[:2] == ["judge", "import"] and "--layer" not in words and at_terminal:
            console.say("")
            if typer.confirm("Do you want to judge a few documents yourself? (q ends the judging session)", err=True):
                _run(["judge", "--assessor", "you", "--topic", "T01", "-C", str(database)])
        console.say("")
        console.say(sentence)
        _run([*words, "-C", str(database)])
    console.say("")
    console.say(f"The report is {folder / 'report.html'}: open it in a browser.")
    console.say(f"The collection is {database}. Try for example: {console.hint('runs list', database)}")


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    console.say(f"$ cranfield {shlex.join(words)}")
    if ended := main.program()(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(ended)
