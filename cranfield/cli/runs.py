"""`cranfield runs`: rankings enter."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.base.text import counted, visible_line
from cranfield.cli import completion, console
from cranfield.cli.console import COLLECTION, Collection, Format, Replace
from cranfield.cli.corpus import From
from cranfield.cli.main import Stage

with deferred:
    from cranfield.workflows.runs import runs as workflow

stage = Stage("runs", "Ranked runs of systems.")

WARNINGS_SHOWN = 10


Files = Annotated[list[Path], Argument(help="Run files (also compressed), or a runs.toml that describes several.")]
Order = Annotated[
    Literal["score", "rank", "file"] | None,
    Option(help="The order of the run: by score (the default, as trec_eval), by rank, or as in the file."),
]
Names = Annotated[
    Literal["tag", "file"] | None, Option(help="Name runs by their tag (the default) or by their file.")
]
MaxDepth = Annotated[int, Option(min=1, help="Documents per topic; more are an error.")]
Name = Annotated[str, Argument(help="The run's name: see cranfield runs list.", autocompletion=completion.runs)]


@stage.command(
    "check",
    "runs check bm25.run dense.run",
    "runs check bm25.run --repair repaired",
    removed={
        "--min-depth": "runs show has the number of rows of a run",
    },
)
def check(
    files: Files,
    collection: Collection = COLLECTION,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    repair: Annotated[
        Path | None,
        Option(
            help="Write corrected copies to this folder, where all errors can be fixed automatically, and files"
            " without errors as they are."
        ),
    ] = None,
    format: Format = "table",
) -> None:
    """List all problems of run files, with line numbers; nothing is stored."""
    with console.collection_if_any(collection) as store, console.progress() as progress:
        result = workflow.Runs(store, progress=progress).check(
            files, format=from_, order=order, names=names, max_depth=max_depth, repair=repair
        )
    if format == "table":
        console.put_problems(result.problems)
        console.put("".join(f"{visible_line(line)}\n" for line in result.summaries), prose=True)
    else:
        console.put_table(result.table(), format)
    console.say(*result.remarks)
    if result.has_errors:
        raise typer.Exit(1)


@stage.command(
    "submit",
    "runs submit bm25.run --group larder --family lexical",
    "runs submit dense.run --new",
    "runs submit runs.toml",
    removed={
        "--min-depth": "runs show has the number of rows of a run",
    },
)
def submit(
    files: Files,
    collection: Collection = COLLECTION,
    group: Annotated[str | None, Option(help="The group (team) that submits the runs.")] = None,
    family: Annotated[str | None, Option(help="The kind of system: lexical, dense, manual …")] = None,
    contributing: Annotated[
        bool | None, Option("--contributing/--new", help="May the runs contribute to the pool?")
    ] = None,
    priority: Annotated[int | None, Option(min=1, max=1000, help="1 is pooled first.")] = None,
    description: Annotated[str | None, Option(help="A sentence about the system.")] = None,
    name: Annotated[str | None, Option(help="The name of a single run, instead of its tag.")] = None,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    format: Format = "table",
) -> None:
    """Store runs, all or none; submitting the same content again does nothing."""
    role = None if contributing is None else "contributing" if contributing else "new"
    about: dict[str, Any] = {"group": group, "family": family, "priority": priority, "description": description}
    reading: dict[str, Any] = {"format": from_, "order": order, "names": names, "max_depth": max_depth}
    hint = partial(console.hint, collection=collection)
    with console.collection(collection) as store, console.progress() as progress:
        result = workflow.Runs(store, hint=hint, progress=progress).submit(
            files, name=name, role=role, **reading, **about
        )
    warnings = result.problems  # they are kept with the runs: told one by one while they are few, else by kind
    if len(warnings) <= WARNINGS_SHOWN:
        console.put_problems(warnings)
    else:
        for code in dict.fromkeys(warning.code for warning in warnings):
            alike = [warning for warning in warnings if warning.code == code]
            count = counted(len({warning.file for warning in alike}), "file")
            console.say(f"warning: {count}, for example {alike[0]} [{code}]")
        console.say("all warnings of a run: cranfield runs show RUN")
    console.show(result, format)


@stage.command(
    "list",
    "runs list",
    "runs list --withdrawn --format csv",
)
def list_(
    collection: Collection = COLLECTION,
    withdrawn: Annotated[bool, Option("--withdrawn", help="Show withdrawn runs too.")] = False,
    format: Format = "table",
) -> None:
    """List the runs of the collection."""
    with console.collection(collection) as store:
        result = workflow.Runs(store).list(withdrawn=withdrawn)
    console.show(result, format, whole=True)


@stage.command(
    "show",
    "runs show bm25",
    "runs show bm25 --format json",
)
def show(name: Name, collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Show one run and the warnings from its submission."""
    with console.collection(collection) as store:
        result = workflow.Runs(store).show(name)
    console.show(result, format)
    console.put_problems(result.problems)


@stage.command(
    "export",
    "runs export bm25",
    "runs export bm25 -o bm25.txt",
)
def export(
    name: Name,
    collection: Collection = COLLECTION,
    output: Annotated[
        Path | None, Option("-o", "--output", help="The file to write; the default is standard output.")
    ] = None,
    to: Annotated[str, Option("--to", help="The run format to write.")] = "trec",
    replace: Replace = False,
) -> None:
    """Export a run as an equivalent file."""
    with console.collection(collection) as store, console.binary_output(output, replace=replace) as stream:
        notes = workflow.Runs(store).export(name, stream, format=to)
    console.say(*notes)


@stage.command(
    "withdraw",
    "runs withdraw dense --because 'made with an old index'",
    "runs withdraw dense --because 'submitted twice' -C recipes.db",
    options_metavar="--because TEXT [OPTIONS]",
)
def withdraw(
    name: Name,
    because: Annotated[str, Option(help="The reason; it is stored with the run.")],
    collection: Collection = COLLECTION,
) -> None:
    """Withdraw a run; its history is kept."""
    with console.collection(collection) as store:
        workflow.Runs(store).withdraw(name, because=because)
    console.say(f"withdrew {name}; cranfield runs list --withdrawn still shows it")


@stage.command(
    "make",
    "runs make",
    "runs make fts5 --depth 100",
    "runs make fts5 --field title --field description --tag fts5-long",
)
def make(
    system: Annotated[str, Argument(help="The system; omit it to list all systems.")] = "",
    collection: Collection = COLLECTION,
    option: Annotated[
        list[str] | None, Option("-s", "--set", help="An option of the system, NAME=VALUE; may be repeated.")
    ] = None,
    field: Annotated[
        list[str] | None, Option("--field", help="Topic fields to search with: title, description, narrative.")
    ] = None,
    depth: Annotated[int, Option(min=1, help="Documents per topic.")] = 1000,
    tag: Annotated[str, Option(help="The tag of the run. [default: the name of the system]")] = "",
    output: Annotated[
        Path | None, Option("-o", "--output", help="The file to write; - is standard output. [default: TAG.run]")
    ] = None,
    replace: Replace = False,
    format: Format = "table",
) -> None:
    """Search with a baseline system and write a run file."""
    if not system:
        console.put_table(workflow.list_systems(), format)
        return
    options = {}
    for word in option or []:
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{quoted(word)} is not an option of a system; write NAME=VALUE")
        options[key] = value
    target = output or Path(f"{tag or system}.run")
    with console.collection(collection) as store, console.progress() as progress:
        runs = workflow.Runs(store, progress=progress)
        made = runs.make(system, tag=tag, fields=tuple(field or ["title"]), depth=depth, options=options)  # type: ignore[arg-type]
        with console.binary_output(target, replace=replace) as stream:
            lines = made.write(stream)
    console.say(*made.notes(target, lines, partial(console.hint, collection=collection)))
