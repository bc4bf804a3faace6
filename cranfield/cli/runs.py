"""`cranfield runs`: rankings enter."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError, quoted
from cranfield.base.text import counted, shortened
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format, Replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.base.tables import Value
    from cranfield.workflows.runs.submit import Request

app = typer.Typer(name="runs", help="Ranked runs of systems.", no_args_is_help=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Files = Annotated[list[Path], typer.Argument(help="Run files, compressed or not; runs.toml describes many at once.")]
From = Annotated[
    str | None, typer.Option("--from", help="The format, where it is not recognised: see cranfield formats.")
]
Order = Annotated[
    Literal["score", "rank", "file"] | None,
    typer.Option(help="Which order the run means: score (as trec_eval, the default), rank column, or file."),
]
Names = Annotated[
    Literal["tag", "file"] | None, typer.Option(help="Name runs by the tag inside (the default), or by the file.")
]
MaxDepth = Annotated[int, typer.Option(min=1, help="More documents than this in a topic are an error.")]
MinDepth = Annotated[int, typer.Option(min=0, help="Fewer documents than this in a topic are a warning.")]
Name = Annotated[str, typer.Argument(help="The run's name: see cranfield runs list.")]


@app.command()
def check(
    files: Files,
    collection: Collection = COLLECTION,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    min_depth: MinDepth = 1,
    repair: Annotated[
        Path | None,
        typer.Option(help="A folder to write corrected copies to, for the problems that have one right answer."),
    ] = None,
    format: Format = "table",
) -> None:
    """List every problem of run files, with line numbers; nothing is stored."""
    from cranfield.workflows.runs.submit import check_runs

    requests = _requests(files, format=from_, order=order, names=names)
    with console.collection_if_any(collection) as store, console.progress() as progress:
        outcomes = check_runs(
            store, requests, max_depth=max_depth, min_depth=min_depth, repair_into=repair, progress=progress
        )
    console.put_findings(outcomes, format)
    for outcome in outcomes:
        for sentence in outcome.repairs:
            console.say(f"repaired {outcome.file}: {sentence}")
        for sentence in outcome.not_repaired:
            console.say(f"not repaired {outcome.file}: {sentence}")
        if outcome.repaired_file:
            console.say(f"wrote {outcome.repaired_file}")
    if any(outcome.errors_left for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def submit(
    files: Files,
    collection: Collection = COLLECTION,
    group: Annotated[str | None, typer.Option(help="The team that sends the runs.")] = None,
    family: Annotated[str | None, typer.Option(help="What kind of system: lexical, dense, manual …")] = None,
    contributing: Annotated[
        bool | None, typer.Option("--contributing/--new", help="May the runs feed the pool, or do they stay outside?")
    ] = None,
    priority: Annotated[int | None, typer.Option(min=1, max=1000, help="1 is pooled first.")] = None,
    description: Annotated[str | None, typer.Option(help="A sentence about the system.")] = None,
    name: Annotated[str | None, typer.Option(help="The name of a single run, in place of its tag.")] = None,
    from_: From = None,
    order: Order = None,
    names: Names = None,
    max_depth: MaxDepth = 1000,
    min_depth: MinDepth = 1,
    format: Format = "table",
) -> None:
    """Store runs, all or none; submitting the same content again does nothing."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.runs.submit import not_pooled, submit_runs

    role = None if contributing is None else "contributing" if contributing else "new"
    about = {"group": group, "family": family, "role": role, "priority": priority, "description": description}
    requests = _requests(files, name=name, format=from_, order=order, names=names, **about)
    if name is not None and len(requests) > 1:
        raise UsageError(f"--name names one run, and there are {len(requests)}")
    with console.collection(collection) as store, console.progress() as progress:
        outcomes = submit_runs(store, requests, max_depth=max_depth, min_depth=min_depth, progress=progress)
        outside = not_pooled(store, outcomes)
    console.put_warnings([warning for outcome in outcomes for warning in outcome.warnings])
    rows = [(one.name, one.group, one.role, one.topics, one.rows, len(one.warnings), one.what) for one in outcomes]
    columns = ["run", "group", "role", "topics", "rows", "warnings", "result"]
    console.put_table(table_of(columns, rows), format)
    for outcome in outcomes:
        for difference in outcome.differences:
            console.say(
                f"note: {outcome.name} is there already; {difference} (withdraw it and submit it again to change)"
            )
    pairs = zip(requests, outcomes, strict=True)
    if alone := [one.name for request, one in pairs if one.what == "submitted" and not request.group]:
        console.say(f"note: without --group the name of a run is taken as its group: {', '.join(alone)}")
    if outside:
        extend = console.hint("pool extend", collection)
        console.say(
            f"note: a pool was built before, without {shortened(', '.join(outside), 80)}: extend it ({extend});"
            " or withdraw what is to be scored as a run from outside, and submit it as --new"
        )
    stored = sum(outcome.what == "submitted" for outcome in outcomes)
    unchanged = len(outcomes) - stored
    console.say(f"{counted(stored, 'run')} submitted" + (f", {unchanged:,} there already" if unchanged else ""))


def _requests(files: Sequence[Path], **given: object) -> list[Request]:
    """Give one request per run file; a TOML file stands for the runs it describes. What is given overrides both."""
    from dataclasses import replace

    from cranfield.workflows.runs.show import read_requests
    from cranfield.workflows.runs.submit import Request

    said = {name: value for name, value in given.items() if value is not None}
    requests: list[Request] = []
    for file in files:
        found = read_requests(file) if file.suffix == ".toml" else [Request(path=file)]
        requests += [replace(request, **said) for request in found]  # type: ignore[arg-type]
    return requests


@app.command("list")
def list_(
    collection: Collection = COLLECTION,
    withdrawn: Annotated[bool, typer.Option("--withdrawn", help="Show withdrawn runs too.")] = False,
    format: Format = "table",
) -> None:
    """List the runs of the collection."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.runs.show import list_runs

    with console.collection(collection) as store:
        facts = list_runs(store, withdrawn=withdrawn)
    columns = ["run", "group", "family", "role", "priority", "topics", "rows"]
    rows: list[tuple[Value, ...]] = [
        (run.name, run.group_name, run.family, run.role, run.priority, run.topics, run.rows) for run in facts
    ]
    if format != "table":
        columns.append("submitted")
        rows = [(*row, run.submitted) for row, run in zip(rows, facts, strict=True)]
    if withdrawn:
        columns += ["withdrawn", "because"]
        gone = [((run.withdrawn or "")[: 10 if format == "table" else None], run.withdrawn_because) for run in facts]
        rows = [(*row, *more) for row, more in zip(rows, gone, strict=True)]
    console.put_table(table_of(columns, rows), format)


@app.command()
def show(name: Name, collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Show what is known of one run, and what intake found in it."""
    from cranfield.base.tables import facts_table
    from cranfield.workflows.runs.show import show_run

    with console.collection(collection) as store:
        facts, warnings = show_run(store, name)
    console.put_table(facts_table(facts), format)
    if "withdrawn" in facts:
        console.say(f"note: {name} was withdrawn on {str(facts['withdrawn'])[:10]}; submit it again to use it")
    console.put_problems(warnings)


@app.command()
def export(
    name: Name,
    collection: Collection = COLLECTION,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; else standard output.")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="The run format to write.")] = "trec",
    replace: Replace = False,
) -> None:
    """Write a run back as an equivalent file."""
    from cranfield.workflows.runs.show import export_run

    with console.collection(collection) as store, console.binary_output(output, replace=replace) as stream:
        facts = export_run(store, name, stream, format=to)
    if facts.withdrawn:
        console.say(f"note: {name} was withdrawn on {facts.withdrawn[:10]} ({facts.withdrawn_because})")


@app.command(options_metavar="--because TEXT [OPTIONS]")
def withdraw(
    name: Name,
    because: Annotated[str, typer.Option(help="Why; it is kept with the run.")],
    collection: Collection = COLLECTION,
) -> None:
    """Take a run out; its history stays."""
    from cranfield.workflows.runs.show import withdraw as withdraw_runs

    with console.collection(collection) as store:
        withdraw_runs(store, [name], because=because)
    console.say(f"withdrew {name}; cranfield runs list --withdrawn still shows it")


@app.command()
def make(
    system: Annotated[str, typer.Argument(help="The system; without one, they are listed.")] = "",
    collection: Collection = COLLECTION,
    option: Annotated[
        list[str] | None, typer.Option("-s", "--set", help="NAME=VALUE of the system, as often as needed.")
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option("--field", help="Topic fields to search with: title, description, narrative.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents per topic.")] = 1000,
    tag: Annotated[str, typer.Option(help="The tag of the run; the system's name by default.")] = "",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write, TAG.run by default; - is standard output."),
    ] = None,
    replace: Replace = False,
    format: Format = "table",
) -> None:
    """Search with a baseline system and write a run file."""
    from cranfield.workflows.runs.show import check_tag, doubt_of, made_run, write_rankings

    if not system:
        _list_systems(format)
        return
    chosen_tag = tag or system
    target = output or Path(f"{chosen_tag}.run")
    fields = tuple(field or ["title"])
    with console.collection(collection) as store, console.progress() as progress:
        check_tag(chosen_tag)
        rankings = made_run(store, system, options=_options(option), fields=fields, depth=depth, progress=progress)  # type: ignore[arg-type]
        with console.binary_output(target, replace=replace) as stream:
            lines = write_rankings(rankings, stream, tag=chosen_tag)
        doubt = doubt_of(store, system, _options(option))
    if doubt:
        console.say(f"warning: {doubt}")
    if not lines:
        console.say(f"{target} is empty: no topic has a word that a document has")
    elif str(target) != "-":
        again = console.hint(f"runs submit {shlex.quote(str(target))}", collection)
        console.say(f"wrote {target} ({counted(lines, 'line')}); submit it with: {again}")


def _options(words: list[str] | None) -> dict[str, str]:
    options = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{quoted(word)} is not an option of a system; write NAME=VALUE")
        options[name] = value
    return options


def _list_systems(format: str) -> None:
    from cranfield.base.tables import Column, table_of
    from cranfield.workflows.runs.show import described_systems

    console.put_table(
        table_of(["system", "family", Column("summary", "what it is"), "options"], described_systems()), format
    )
