"""`cranfield pool`: from runs to what is judged, and why."""

import shlex
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format, removed

with deferred:
    from cranfield.workflows.pool import pool

app = typer.Typer(
    name="pool", help="Select the documents to judge, and record why.", no_args_is_help=True, rich_markup_mode=None
)


Name = Annotated[str, Option("--name", help="Name of the pool. [default: the latest]")]
Seconds = Annotated[
    float | None,
    Option("--seconds-per-document", help="Seconds per document, instead of the measured or assumed speed."),
]


@app.command()
def build(
    plan: Annotated[
        str, Argument(help="The plan, for example 'depth 10' or 'depth 5; rrf until 100; sample 5% ranks=11-100'.")
    ],
    collection: Collection = COLLECTION,
    name: Annotated[str, Option(help="Name of the new pool.")] = "pool",
    run: Annotated[
        list[str] | None, Option("--run", help="Pool this run; repeatable. [default: all contributing runs]")
    ] = None,
    priority: Annotated[int | None, Option(min=1, help="Pool only runs up to this priority.")] = None,
    topic: Annotated[
        list[str] | None, Option("--topic", help="Pool this topic; repeatable. [default: all topics]")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed for all random draws.")] = 0,
    order: Annotated[
        Literal["plan", "id", "random"], Option(help="Judging order: as in the plan, by document id, or random.")
    ] = "plan",
    one_per_cluster: Annotated[
        bool,
        Option(
            "--one-per-cluster", help="Pool one document of each near-duplicate cluster; it represents the others."
        ),
    ] = False,
) -> None:
    """Build a pool from the runs according to a plan."""
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
        list[str] | None, Option("--run", help="Add this run; repeatable. [default: all later contributing runs]")
    ] = None,
    topic: Annotated[list[str] | None, Option("--topic", help="Add this topic, which is not in the pool.")] = None,
) -> None:
    """Add later runs to a pool as a new version; no document is judged twice."""
    with console.collection(collection) as store:
        result = pool.Pool(store).extend(name, runs=run or (), topics=topic or ())
    console.show(result)


@app.command("top-up")
def top_up(
    run: Annotated[str, Argument(help="A stored run or a run file.")],
    depth: Annotated[int, Option(min=1, help="Cutoff down to which the run is to be judged.")],
    collection: Collection = COLLECTION,
    name: Annotated[str, Option(help="Name of the queue. [default: top-up-RUN]")] = "",
    topic: Annotated[
        list[str] | None, Option("--topic", help="Only this topic; repeatable. [default: all topics]")
    ] = None,
    seconds_per_document: Seconds = None,
) -> None:
    """Queue the unjudged documents at the top of a new run, so that it can be scored like a contributing run."""
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
    by: Annotated[
        Literal["run", "group", "topic", "depth", "version", "overlap", "group-overlap", "document"],
        Option(
            help="Contributions of runs or groups; size and end of each topic; what each greater depth would add, and"
            " its cost; versions; documents shared by pairs of runs or groups; all documents."
        ),
    ] = "run",
    seconds_per_document: Seconds = None,
    format: Format = "table",
    by_topic: Annotated[bool, removed("--by-topic", "use --by topic")] = False,
    by_group: Annotated[bool, removed("--by-group", "use --by group")] = False,
    by_depth: Annotated[bool, removed("--by-depth", "use --by depth")] = False,
    versions: Annotated[bool, removed("--versions", "use --by version")] = False,
    overlap: Annotated[str, removed("--overlap", "use --by overlap or --by group-overlap")] = "",
) -> None:
    """Show the size of a pool, the contribution of each run, and the cost of judging it."""
    with console.collection(collection) as store:
        result = pool.Pool(store).show(name, by=by, seconds_per_document=seconds_per_document)
        console.show(result, format, whole=True)


@app.command()
def explain(
    topic: Annotated[str, Argument(help="Topic id.")],
    document: Annotated[str, Argument(help="Document id.")],
    collection: Collection = COLLECTION,
    name: Name = "",
    format: Format = "table",
) -> None:
    """Explain why a document is in a pool, or why it is not."""
    with console.collection(collection) as store:
        result = pool.Pool(store).explain(topic, document, name=name)
    console.show(result, format)


@app.command()
def verify(collection: Collection = COLLECTION, name: Name = "") -> None:
    """Rebuild a pool from the stored runs, repeat every choice, and list any differences."""
    with console.collection(collection) as store:
        result = pool.Pool(store).verify(name)
    for line in (*result.notes, *(f"differs: {difference}" for difference in result.differences)):
        console.say(line)
    if result.differences:
        raise typer.Exit(1)
    console.put(f"{result.facts.name} is what its plan says: {result.facts.content_hash}\n")
