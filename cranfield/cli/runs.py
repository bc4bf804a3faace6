"""`cranfield runs`: rankings enter."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.console import COLLECTION, Collection, Format, InAnyCollection, InCollection, Replace, Shown
from cranfield.cli.corpus import From
from cranfield.cli.main import Stage

with deferred:
    from cranfield.base import text as texts
    from cranfield.workflows.runs import runs as workflow

stage = Stage("runs", "Ranked runs of systems.")


Files = Annotated[
    list[str],
    Argument(help="Run files (also compressed, URLs, Parquet sets), folders, or a runs.toml that describes several."),
]
Order = Annotated[
    Literal["score", "rank", "file"] | None,
    "The order of the run: by score (the default, as trec_eval), by rank, or as in the file.",
]
Names = Annotated[Literal["tag", "file"] | None, "Name runs by their tag (the default) or by their file."]
MaxDepth = Annotated[int, Option(min=1, help="Documents per topic; more are an error.")]
Name = Annotated[str, Argument(help="The run's name: see cranfield runs list.", autocompletion=completion.runs)]


@stage.command(
    "runs check bm25.run dense.run",
    "runs check bm25.run --repair repaired",
    removed={"--min-depth": "runs show has the number of rows of a run"},
)
def check(
    files: Files,
    store: InAnyCollection,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    repair: Annotated[
        Path | None,
        "Write corrected copies to this folder, where all errors can be fixed automatically, and files"
        " without errors as they are.",
    ] = None,
    format: Format = "table",
) -> None:
    """List all problems of run files, with line numbers; nothing is stored."""
    with console.progress() as progress:
        result = workflow.Runs(store, progress=progress).check(
            files, format=from_, order=order, names=names, max_depth=max_depth, repair=repair
        )
    if format == "table":
        console.put_problems(result.problems)
        console.put("".join(f"{texts.visible_line(line)}\n" for line in result.summaries), prose=True)
    else:
        console.put_table(result.table(), format)
    console.say(*result.remarks)
    if result.has_errors:
        raise typer.Exit(1)


@stage.command("runs watch runs --once", "runs watch runs --once --every 1")
def watch(
    folder: Annotated[Path, "The folder in which run files arrive, and folders in it."],
    store: InAnyCollection,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    every: Annotated[
        float, Option(min=0.1, help="Look every so many seconds; a file that has not changed since is complete.")
    ] = 5,
    once: Annotated[bool, "Check what is there and end: for cron and git hooks. Errors make the status 1."] = False,
) -> None:
    """Check runs as they arrive in a folder, and write a report beside each."""
    count = bad = 0
    with suppress(KeyboardInterrupt):
        if not once:
            console.say(f"watching {folder}; Ctrl-C ends it")
        runs = workflow.Runs(store).watch(
            folder, once=once, seconds=every, order=order, names=names, max_depth=max_depth
        )
        for _, result in runs:
            count, bad = count + 1, bad + result.has_errors
            console.say(texts.visible_line(result.summaries[0]))
    console.say(f"{texts.counted(count, 'file')} checked, {bad:,} with errors")
    if bad and once:
        raise typer.Exit(1)


@stage.command(
    "runs submit bm25.run --group larder --family lexical",
    "runs submit dense.run --new",
    "runs submit runs --repair",
    removed={"--min-depth": "runs show has the number of rows of a run"},
)
def submit(
    files: Files,
    store: InCollection,
    group: Annotated[str | None, "The group (team) that submits the runs."] = None,
    family: Annotated[str | None, "The kind of system: lexical, dense, manual …"] = None,
    contributing: Annotated[
        bool | None, Option("--contributing/--new", help="May the runs contribute to the pool?")
    ] = None,
    priority: Annotated[int | None, Option(min=1, max=1000, help="1 is pooled first.")] = None,
    description: Annotated[str | None, "A sentence about the system."] = None,
    name: Annotated[str | None, "The name of a single run, instead of its tag."] = None,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    run_list: Annotated[
        Path | None,
        Option("--list", help="A table with run, team and priority of each run: CSV or tab-separated, or XML."),
    ] = None,
    repair: Annotated[bool, "Store runs without the errors that can be fixed automatically."] = False,
) -> Shown:
    """Store runs, all or none; submitting the same content again does nothing."""
    role = None if contributing is None else "contributing" if contributing else "new"
    with console.progress() as progress:
        result = workflow.Runs(store, progress=progress).submit(
            files,
            name=name,
            role=role,
            group=group,
            family=family,
            priority=priority,
            description=description,
            run_list=run_list,
            repair=repair,
            format=from_,
            order=order,
            names=names,
            max_depth=max_depth,
        )
    console.put_problems(result.problems, by_kind=True)  # they are kept with the runs
    if len(result.problems) > len({problem.code for problem in result.problems}):
        console.say("all warnings of a run: cranfield runs show RUN")
    return result


@stage.command("runs list", "runs list --withdrawn --format csv")
def list_(store: InCollection, withdrawn: Annotated[bool, "Show withdrawn runs too."] = False) -> Shown:
    """List the runs of the collection."""
    return workflow.Runs(store).list(withdrawn=withdrawn)


@stage.command("runs show bm25", "runs show bm25 --format json")
def show(name: Name, store: InCollection, format: Format = "table") -> None:
    """Show one run and the warnings from its submission."""
    result = workflow.Runs(store).show(name)
    console.show(result, format)
    console.put_problems(result.problems)


@stage.command("runs export bm25", "runs export bm25 -o bm25.txt")
def export(
    name: Name,
    store: InCollection,
    output: Annotated[
        Path | None, Option("-o", "--output", help="The file to write; the default is standard output.")
    ] = None,
    to: Annotated[str, "The run format to write."] = "trec",
    replace: Replace = False,
) -> None:
    """Export a run as an equivalent file."""
    with console.binary_output(output, replace=replace) as stream:
        notes = workflow.Runs(store).export(name, stream, format=to)
    console.say(*notes)


@stage.command("runs pack runs -o runs.parquet", "runs pack bm25.run dense.run -o runs.parquet --columns pyterrier")
def pack(
    files: Annotated[list[str], "Run files, or folders of run files."],
    output: Annotated[Path, Option("-o", "--output", help="The Parquet file to write.")],
    names: Names = None,
    columns: Annotated[
        Literal["cranfield", "pyterrier"],
        "Names of the columns: run, topic, document … or name, qid, docno … as in PyTerrier.",
    ] = "cranfield",
    replace: Replace = False,
) -> None:
    """Write run files as one set: a Parquet file that stands for all of them wherever runs are named."""
    with console.progress() as progress, console.binary_output(output, replace=replace) as stream:
        packed = workflow.Runs(None, progress=progress).pack(files, stream, names=names, columns=columns)
    console.say(f"wrote {output}: {packed}")


@stage.command(
    "runs withdraw dense --because 'made with an old index'",
    "runs withdraw dense --because 'submitted twice' -C recipes.db",
    options_metavar="--because TEXT [OPTIONS]",
)
def withdraw(
    name: Name, because: Annotated[str, Option(help="The reason; it is stored with the run.")], store: InCollection
) -> None:
    """Withdraw a run; its history is kept."""
    workflow.Runs(store).withdraw(name, because=because)
    console.say(f"withdrew {name}; cranfield runs list --withdrawn still shows it")


@stage.command(
    "runs make", "runs make fts5 --depth 100", "runs make fts5 --field title --field description --tag fts5-long"
)
def make(
    system: Annotated[str, Argument(help="The system; omit it to list all systems.")] = "",
    collection: Collection = COLLECTION,
    option: Annotated[
        list[str] | None, Option("-s", "--set", help="An option of the system, NAME=VALUE; may be repeated.")
    ] = None,
    field: Annotated[list[str] | None, "Topic fields to search with: title, description, narrative."] = None,
    depth: Annotated[int, Option(min=1, help="Documents per topic.")] = 1000,
    tag: Annotated[str, "The tag of the run. [default: the name of the system]"] = "",
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
    options = console.named_values(option or (), "an option of a system; write NAME=VALUE")
    target = output or Path(f"{tag or system}.run")
    with console.open_collection(collection) as store, console.progress() as progress:
        runs = workflow.Runs(store, progress=progress)
        made = runs.make(system, tag=tag, fields=tuple(field or ["title"]), depth=depth, options=options)  # type: ignore[arg-type]
        with console.binary_output(target, replace=replace) as stream:
            lines = made.write(stream)
    console.say(*made.notes(target, lines))
