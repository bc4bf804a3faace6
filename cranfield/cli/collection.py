"""Commands about the collection file as a whole."""

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer
from typer import Argument, Option

from cranfield.base.errors import MissingExtra, UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, InCollection
from cranfield.cli.main import Stage

with deferred:
    import sqlite3
    import tempfile

    from cranfield.cli import main
    from cranfield.store import questions
    from cranfield.workflows import check as check_workflow
    from cranfield.workflows import collection as collections
    from cranfield.workflows import recipe as recipes
    from cranfield.workflows import status as status_workflow

stage = Stage()


@stage.command(
    "init", "init recipes --scale graded --guidelines guidelines.md", "init --recipe kitchen -C kitchen.db"
)
def init(
    name: Annotated[str, Argument(help="Name of the collection.")] = "",
    collection: Collection = COLLECTION,
    from_: Annotated[
        str,
        "A folder with the files of a recipe, or with topics, qrels and runs of a campaign; or irds:NAME, a"
        " data set of ir_datasets.",
    ] = "",
    recipe: Annotated[
        str, "A known collection: what its files are called and mean, and how many records they have."
    ] = "",
    copy: Annotated[bool, "Copy the documents of a data set of ir_datasets."] = False,
    scale: Annotated[
        str,
        "binary, graded, a line like '0=no, 1=partly, 2=fully', or a TOML file with [[grade]] tables."
        " [default: binary, or that of the recipe]",
    ] = "",
    relevant_from: Annotated[int | None, "The lowest grade that counts as relevant."] = None,
    guidelines: Annotated[Path | None, "Guidelines for the assessors, a Markdown file."] = None,
    licence: Annotated[str, "Licence of the collection, for example CC-BY-4.0."] = "",
) -> None:
    """Create a collection: one SQLite file."""
    if not (from_ or recipe):
        chosen = collections.parse_scale(scale or "binary", relevant_from=relevant_from)
        called = name or collection.absolute().parent.name
        collections.init_collection(collection, name=called, scale=chosen, guidelines=guidelines, licence=licence)
        following, is_complete = "add documents with cranfield corpus add FILE…", True
    else:
        known = recipes.recipe_for(recipe, from_, copy=copy)
        chosen = collections.parse_scale(scale, relevant_from=relevant_from) if scale else known.scale
        if relevant_from is not None:
            chosen = dataclasses.replace(chosen, relevant_from=relevant_from)
        about = {**known.about, "licence": licence or known.about.get("licence", "")}
        guide = guidelines or known.guidelines
        known = dataclasses.replace(known, name=name or known.name, scale=chosen, about=about, guidelines=guide)
        with console.progress() as progress:
            made = recipes.make_collection(collection, known, progress=progress)
        console.put_problems(made.problems)
        console.say(*made.remarks)
        following, is_complete = "cranfield status", made.is_complete
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"created {collection}; scale: {steps}; relevant from grade {chosen.relevant_from}")
    console.say(f"next: {following}")
    if not is_complete:
        raise typer.Exit(1)


@stage.command("status", "status -C recipes.db", "status --sql")
def status(
    store: InCollection,
    sql: Annotated[bool, "Print the query behind each number, as a script for SQLite."] = False,
    format: Format = "table",
) -> None:
    """Show the state of the collection and the next step."""
    if sql and format != "table":
        raise UsageError(f"--sql prints a script, and does not go with --format {format}")
    standing = status_workflow.status(store)
    if sql:
        console.put(standing.sql())
    else:
        console.show(standing, format)


@stage.command(
    "datasette --open",
    "datasette --port 8010 -C recipes.db",
    "datasette --get '/collection/progress.json?_shape=array'",
)
def datasette(
    port: Annotated[int, Option(min=1, max=65_535, help="Port on this machine.")] = 8001,
    browser: Annotated[bool, Option("--open", help="Open it in a browser.")] = False,
    get: Annotated[str, Option(metavar="PATH", help="Print one page and end, for example /collection.json.")] = "",
    metadata: Annotated[
        Path | None, "Only write the questions and charts to this file, for a Datasette of your own."
    ] = None,
    collection: Collection = COLLECTION,
) -> None:
    """Browse the collection with Datasette, read-only: tables, common questions, charts, SQL of your own."""
    with console.open_collection(collection) as store:  # which refuses a file with the code of a stranger
        path, is_live = store.path, store.writable
    described = json.dumps(questions.datasette_metadata(path.stem), indent=2) + "\n"
    if metadata is not None:
        with console.binary_output(metadata) as stream:
            stream.write(described.encode())
        return
    try:
        from datasette import hookimpl
        from datasette.cli import cli
        from datasette.plugins import pm
    except ImportError:
        raise MissingExtra("cranfield datasette", "web") from None

    class ReadOnly:
        @staticmethod
        @hookimpl  # type: ignore[untyped-decorator]
        def prepare_connection(conn: sqlite3.Connection, database: str) -> None:
            if database == path.stem:
                conn.execute("PRAGMA query_only = ON")
                conn.execute("PRAGMA trusted_schema = OFF")

    # rich would print each mistake in a query as a traceback of hundreds of lines.
    pm.get_plugin("datasette.handle_exception").rich = None
    # A file that nobody can write has no log, and may be in a folder where SQLite cannot make one to read with.
    words = ["serve", *([] if is_live else ["--immutable"]), str(path), "--host", "127.0.0.1", "--port", str(port)]
    words += ["--setting", "sql_time_limit_ms", "10000", "--setting", "allow_download", "off"]
    words += ["--open"] * browser + (["--get", get] if get else [])
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(described)
        file.flush()
        pm.register(ReadOnly)
        try:
            cli.main([*words, "--metadata", file.name], standalone_mode=False)
        finally:
            pm.unregister(ReadOnly)


@stage.command("check", "check --against backup.db")
def check(
    store: InCollection,
    against: Annotated[
        Path | None, "Also compare the history with that in a card, a release bundle or a backup."
    ] = None,
    format: Format = "table",
) -> None:
    """Verify the integrity of the collection file."""
    with console.progress() as progress:
        soundness = check_workflow.check(store, against=against, progress=progress)
    console.show(soundness, format)
    if soundness.wrong:
        raise typer.Exit(1)


@stage.command("backup copy.db", "backup backups --keep 7")
def backup(
    file: Annotated[Path, "File to create, never overwritten; with --keep, a folder."],
    store: InCollection,
    keep: Annotated[
        int | None, Option(min=1, help="Write a dated copy into the folder, and keep only the latest N there.")
    ] = None,
) -> None:
    """Copy a collection, also while it is in use."""
    wrong = check_workflow.first_fault(store)
    if keep is None:
        collections.back_up(store, file)
    else:
        file = collections.back_up_dated(store, file, keep=sys.maxsize if wrong else keep)
    console.say(f"copied {store.path} to {file} ({file.stat().st_size:,} bytes)")
    if wrong:
        kept = "; no earlier copy was deleted" if keep else ""
        console.say(f"warning: what was copied is not sound: {wrong}{kept}; cranfield check lists all that is wrong")


@stage.command("restore backup.db", "restore backup.db -C recipes.db")
def restore(
    backup: Annotated[Path, "A file that cranfield backup has made."],
    unsound: Annotated[bool, "Take a backup in which check finds errors, too."] = False,
    collection: Collection = COLLECTION,
) -> None:
    """Put a backup in the place of the collection; the old file is kept under a dated name."""
    with console.progress() as progress:
        aside = check_workflow.restore(backup, collection, unsound=unsound, progress=progress)
    console.say(f"restored {collection} from {backup}")
    if aside is not None:
        console.say(f"what was there is now {aside}")
        if not aside.name.endswith(("-wal", "-shm", "-journal")):  # more than the log of a file that is lost
            merge = f"cranfield judge merge {shlex.quote(str(aside))} --trust"
            console.say(f"judgments that only it has come back with: {merge}")


@stage.command("demo", "demo kitchen", removed={"--whole": "type a command that it prints to see all of its table"})
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
    # Every stage: a sentence, then how many lines of a command are worth reading here, and the command.
    for sentence, command in zip(*[iter(lines)] * 2, strict=True):
        # Places stand at the beginning of a word, and are put in after it was split: their names may have blanks.
        count, *parts = [word.partition("/") for word in shlex.split(command)]
        words = [str(places[place] / name) if place in places else place for place, _, name in parts]
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if words[:2] == ["judge", "import"] and "--layer" not in words and at_terminal:
            console.say("")
            if typer.confirm("Do you want to judge a few documents yourself? (q ends the judging session)", err=True):
                _run(["judge", "--assessor", "you", "--topic", "T01", "-C", str(database)])
        console.say("")
        console.say(sentence)
        shown = _FirstLines(sys.stdout, int(count[0]))
        with redirect_stdout(cast("TextIO", shown)):
            _run([*words, "-C", str(database)])
    console.say("")
    console.say("Where a table ends with …, its command shows the rest.")
    console.say(f"The report is {folder / 'report.html'}: open it in a browser.")
    console.say(f"The collection is {database}. Try for example: cranfield -C {shlex.quote(str(database))} runs list")


class _FirstLines:
    """A stream of which only the first lines are written, and then that there are more."""

    def __init__(self, stream: TextIO, lines: int) -> None:
        self._stream, self._left = stream, lines

    def write(self, text: str) -> None:
        """Write the lines that are left."""
        for line in text.splitlines(keepends=True):
            if self._left >= 0:
                self._stream.write(line if self._left else "…\n")
            self._left -= line.endswith("\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    console.say(f"$ cranfield {shlex.join(words)}")
    if ended := main.program()(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(ended)
