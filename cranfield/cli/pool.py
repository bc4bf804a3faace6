"""`cranfield pool`: from runs to what is judged, and why."""

import shlex
from typing import Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format

with deferred:
    from cranfield.workflows.pool import pool

app = typer.Typer(name="pool", help="What is judged, and why.", no_args_is_help=True, rich_markup_mode=None)


def add_to(program: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    program.add_typer(app)


Name = Annotated[str, typer.Option("--name", help="The pool; the latest by default.")]
Seconds = Annotated[
    float | None,
    typer.Option("--seconds-per-document", help="Reckon with this speed instead of the measured or assumed one."),
]
_PAIRS_SHOWN = 20


@app.command()
def build(
    plan: Annotated[
        str, typer.Argument(help="For example 'depth 10', or 'depth 5; rrf until 100; sample 5% ranks=11-100'.")
    ],
    collection: Collection = COLLECTION,
    name: Annotated[str, typer.Option(help="What the pool is called.")] = "pool",
    run: Annotated[
        list[str] | None, typer.Option("--run", help="Pool this run; all contributing ones by default.")
    ] = None,
    priority: Annotated[int | None, typer.Option(min=1, help="Only runs of this priority or before.")] = None,
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Pool this topic; all by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    order: Annotated[
        Literal["plan", "id", "random"], typer.Option(help="The order of judging: of the plan, by id, or drawn.")
    ] = "plan",
    one_per_cluster: Annotated[
        bool, typer.Option("--one-per-cluster", help="Of near-duplicates only one enters and stands for the others.")
    ] = False,
) -> None:
    """Build a pool from the runs, by a plan."""
    with console.collection(collection) as store:
        result = pool.Pool(store).build(
            plan,
            name=name,
            runs=run or (),
            priority=priority,
            topics=topic or (),
            seed=seed,
            order=order,
            one_per_cluster=one_per_cluster,
        )
    console.show(result)


@app.command()
def extend(
    collection: Collection = COLLECTION,
    name: Name = "",
    run: Annotated[
        list[str] | None,
        typer.Option("--run", help="Add this run; all contributing ones that came later by default."),
    ] = None,
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Add this topic, which the pool lacks.")] = None,
) -> None:
    """Add later runs to a pool: only what is new, as a new version; nothing is judged twice."""
    with console.collection(collection) as store:
        result = pool.Pool(store).extend(name, runs=run or (), topics=topic or ())
    console.show(result)


@app.command("top-up")
def top_up(
    run: Annotated[str, typer.Argument(help="A stored run, else a run file.")],
    depth: Annotated[int, typer.Option(min=1, help="How deep the run is to be judged.")],
    collection: Collection = COLLECTION,
    name: Annotated[str, typer.Option(help="What the queue is called; top-up-RUN by default.")] = "",
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; all by default.")] = None,
    seconds_per_document: Seconds = None,
) -> None:
    """Queue what is unjudged in a new run's first documents: the honest way to let an outsider in."""
    with console.collection(collection) as store:
        result = pool.Pool(store).top_up(
            run, depth=depth, name=name, topics=topic or (), seconds_per_document=seconds_per_document
        )
    console.show(result)
    if result.facts["documents"]:
        queue = shlex.quote(str(result.facts["queue"]))
        console.say(f"next: {console.hint(f'judge --queue {queue}', collection)}")


@app.command()
def show(
    collection: Collection = COLLECTION,
    name: Name = "",
    by_topic: Annotated[
        bool, typer.Option("--by-topic", help="Each topic: its size, what is judged, its end.")
    ] = False,
    by_group: Annotated[
        bool, typer.Option("--by-group", help="What each group brought, and what it alone did.")
    ] = False,
    by_depth: Annotated[
        bool, typer.Option("--by-depth", help="What each further depth would add, and cost.")
    ] = False,
    versions: Annotated[
        bool, typer.Option("--versions", help="The versions of the pool, with their hashes.")
    ] = False,
    overlap: Annotated[
        Literal["run", "group"] | None, typer.Option(help="What every two runs, or groups, have in common.")
    ] = None,
    seconds_per_document: Seconds = None,
    format: Format = "table",
) -> None:
    """Show how large a pool is, what each run brought, and what judging it will cost."""
    views = {"topic": by_topic, "group": by_group, "depth": by_depth, "version": versions, "overlap": bool(overlap)}
    chosen = [view for view, wanted in views.items() if wanted] or ["run"]
    if len(chosen) > 1:
        raise UsageError(f"one table at a time: {' and '.join(chosen)} were asked for")
    view, most = chosen[0], None
    if overlap:
        view, most = "overlap" if overlap == "run" else "group-overlap", _PAIRS_SHOWN if format == "table" else None
    with console.collection(collection) as store:
        console.show(
            pool.Pool(store).show(name, by=view, seconds_per_document=seconds_per_document, most=most), format
        )


@app.command()
def explain(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    document: Annotated[str, typer.Argument(help="The document.")],
    collection: Collection = COLLECTION,
    name: Name = "",
    format: Format = "table",
) -> None:
    """Tell why a document is in a pool."""
    with console.collection(collection) as store:
        result = pool.Pool(store).explain(topic, document, name=name)
    console.show(result, format)


@app.command()
def verify(collection: Collection = COLLECTION, name: Name = "") -> None:
    """Build a pool again from the stored runs and prove it identical, choice by choice, or say what differs."""
    with console.collection(collection) as store:
        result = pool.Pool(store).verify(name)
    for line in (*result.notes, *(f"differs: {difference}" for difference in result.differences)):
        console.say(line)
    if result.differences:
        raise typer.Exit(1)
    console.put(f"{result.facts.name} is what its plan says: {result.facts.content_hash}\n")
