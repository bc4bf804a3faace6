"""`cranfield pool`: from runs to what is judged, and why."""

from typing import Annotated, Literal

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.text import counted

app = typer.Typer(name="pool", help="What is judged, and why.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Option("--name", help="The pool; the latest by default.")]


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
    from cranfield.steps.pool_build import PoolRequest, build_pool

    request = PoolRequest(
        plan=plan,
        name=name,
        runs=tuple(run or ()),
        priority=priority,
        topics=tuple(topic or ()),
        seed=seed,
        order=order,
        one_per_cluster=one_per_cluster,
    )
    with console.collection(collection) as store:
        made = build_pool(store, request)
    topics, runs = counted(len(made.topics), "topic"), counted(len(made.sources), "run")
    console.say(f"{name}: {counted(len(made), 'document')} to judge for {topics}, from {runs}; plan: {made.plan}")
    if made.duplicates:
        console.say(f"{counted(len(made.duplicates), 'near-duplicate')} stay out: another stands for them")
    console.say(f"content hash {made.content_hash}")


@app.command()
def show(
    collection: Collection = COLLECTION,
    name: Name = "",
    by_topic: Annotated[
        bool, typer.Option("--by-topic", help="The size of each topic, not what each run brought.")
    ] = False,
    format: Format = "table",
) -> None:
    """Show how large a pool is and what each run brought."""
    from cranfield.report.table import table_of
    from cranfield.steps.pool_show import show_pool

    with console.collection(collection) as store:
        shown = show_pool(store, name)
    if by_topic:
        console.put_table(table_of(["topic", "documents"], shown.sizes), format)
    else:
        columns = ["run", "group", "documents", "only_this_group"]
        console.put_table(table_of(columns, shown.runs), format)
    sizes = [size for _, size in shown.sizes]
    console.say(
        f"{shown.facts.name}: {counted(shown.entries, 'document')} for {counted(len(sizes), 'topic')}"
        f" ({min(sizes, default=0):,} to {max(sizes, default=0):,} each); plan: {shown.facts.plan};"
        f" seed {shown.facts.seed}; made {shown.facts.made[:10]} by {shown.facts.made_by}"
    )
    if shown.leaning:
        console.say(f"warning: most of what only one group has comes from {shown.leaning}: the pool leans on it")


@app.command()
def explain(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    document: Annotated[str, typer.Argument(help="The document.")],
    collection: Collection = COLLECTION,
    name: Name = "",
    format: Format = "table",
) -> None:
    """Tell why a document is in a pool."""
    from cranfield.report.table import table_of
    from cranfield.steps.pool_show import explain_entry

    with console.collection(collection) as store:
        facts, entry = explain_entry(store, topic, document, name=name)
    chance = "" if entry.probability is None else f" with probability {entry.probability:g}"
    step = facts.plan.split(";")[entry.step - 1].strip()
    console.say(
        f"{document} is document {entry.position:,} of topic {topic} in {facts.name}:"
        f" step {entry.step} ({step}) brought it{chance}, stratum {entry.stratum}"
    )
    rows = [(known.run, known.rank) for known in entry.contributions]
    console.put_table(table_of(["run", "rank"], rows), format)


@app.command()
def verify(collection: Collection = COLLECTION, name: Name = "") -> None:
    """Build a pool again from the stored runs and prove it identical, or say what differs."""
    from cranfield.steps.pool_build import verify_pool

    with console.collection(collection) as store:
        facts, differences = verify_pool(store, name)
    for difference in differences:
        console.say(f"differs: {difference}")
    if differences:
        raise typer.Exit(1)
    console.put(f"{facts.name} is what its plan says: {facts.content_hash}\n")
