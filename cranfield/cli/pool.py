"""`cranfield pool`: from runs to what is judged, and why."""

from functools import partial
from typing import Annotated, Literal, cast

import typer
from typer import Argument, Option

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import chart as charts
from cranfield.cli import completion, console
from cranfield.cli.console import Format, InCollection, Shown
from cranfield.cli.main import Stage

with deferred:
    from cranfield.base import text as texts
    from cranfield.workflows.pool import pool

stage = Stage("pool", "Select the documents to judge, and record why.")


Name = Annotated[
    str, Option("--name", help="Name of the pool. [default: the latest]", autocompletion=completion.pools)
]
_HOURS = "hours are at the measured speed, else at 30 seconds per document"


@stage.command(
    "pool build depth 10",
    "pool build 'depth 5; rrf until 60; sample 10% ranks=6-50'",
    "pool build depth 5 --run bm25 --name small",
)
def build(
    plan: Annotated[
        list[str],
        Argument(
            help="The plan, for example depth 10; one of several steps in quotes, as in the examples.",
            autocompletion=completion.plans,
        ),
    ],
    store: InCollection,
    name: Annotated[str, "Name of the new pool."] = "pool",
    run: Annotated[
        list[str] | None, console.run_option("Pool this run; repeatable. [default: all contributing runs]")
    ] = None,
    priority: Annotated[int | None, Option(min=1, help="Pool only runs up to this priority.")] = None,
    topic: Annotated[
        list[str] | None, console.topic_option("Pool this topic; repeatable. [default: all topics]")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed for all random draws.")] = 0,
    order: Annotated[
        Literal["plan", "id", "random"], "Judging order: as in the plan, by document id, or random."
    ] = "plan",
    one_per_cluster: Annotated[
        bool, "Pool one document of each near-duplicate cluster; it represents the others."
    ] = False,
) -> "texts.Result":
    """Build a pool from the runs according to a plan."""
    return pool.Pool(store).build(
        " ".join(plan),
        name=name,
        runs=run or (),
        priority=priority,
        topics=topic or (),
        seed=seed,
        order=order,
        one_per_cluster=one_per_cluster,
    )


@stage.command("pool extend", "pool extend --run dense")
def extend(
    store: InCollection,
    name: Name = "",
    run: Annotated[
        list[str] | None, console.run_option("Add this run; repeatable. [default: all later contributing runs]")
    ] = None,
    topic: Annotated[list[str] | None, console.topic_option("Add this topic, which is not in the pool.")] = None,
) -> "texts.Result":
    """Add later runs to a pool as a new version; no document is judged twice."""
    return pool.Pool(store).extend(name, runs=run or (), topics=topic or ())


@stage.command(
    "pool top-up dense --depth 10",
    "pool top-up dense.run --depth 5 --topic T01",
    removed={"--seconds-per-document": _HOURS},
)
def top_up(
    run: Annotated[str, Argument(help="A stored run or a run file.", autocompletion=completion.runs)],
    depth: Annotated[int, Option(min=1, help="Cutoff down to which the run is to be judged.")],
    store: InCollection,
    name: Annotated[str, "Name of the queue. [default: top-up-RUN]"] = "",
    topic: Annotated[
        list[str] | None, console.topic_option("Only this topic; repeatable. [default: all topics]")
    ] = None,
) -> "texts.Result":
    """Queue the unjudged documents at the top of a new run, so that it can be scored like a contributing run."""
    return pool.Pool(store).top_up(run, depth=depth, name=name, topics=topic or ())


@stage.command(
    "pool show",
    "pool show --by depth --chart",
    "pool show --by topic --format csv",
    removed={
        "--by-topic": "use --by topic",
        "--by-group": "use --by group",
        "--by-depth": "use --by depth",
        "--versions": "use --by version",
        "--overlap": "--by group counts what no other group contributed",
        "--seconds-per-document": _HOURS,
    },
)
def show(
    store: InCollection,
    name: Name = "",
    by: Annotated[
        Literal["run", "group", "topic", "depth", "version", "document"],
        "Contributions of runs or groups; size and end of each topic; what each greater depth would add, and"
        " its cost; versions; all documents.",
    ] = "run",
    chart: Annotated[bool, "Draw runs, groups, topics or depths as bars."] = False,
    format: Format = "table",
) -> None:
    """Show the size of a pool, the contribution of each run, and the cost of judging it."""
    result = pool.Pool(store).show(name, by=by)
    console.show(result, format, draw=partial(_draw, by, result.table()) if chart else None)


_CHARTS = {
    "run": ("documents of each run", 3, 2, "{full} only this group, {shade} also other groups"),
    "group": ("documents of each group", 3, 2, "{full} only this group, {shade} also other groups"),
    "topic": ("documents of each topic", 2, 1, "{full} judged, {shade} not judged"),
    "depth": ("documents that a pool of this depth would add", 2, None, ""),
}
"""Of a table: what its chart is of, the columns up to which bars are full and shaded, and what that means."""


def _draw(by: str, table: "texts.Table") -> None:
    """Draw a table of a pool as bars."""
    if by not in _CHARTS:
        raise UsageError(f"--chart draws --by {', '.join(_CHARTS)}; not {by}")
    title, full, shaded, legend = _CHARTS[by]
    bars = []
    for row in table.rows:
        value, most = row[full], None if shaded is None else row[shaded]
        text = f"{value:,}" if most is None else f"{value:,} of {most:,}"
        bars.append(charts.Bar(str(row[0]), cast("int", value), cast("int | None", most), text))
    charts.put(title, bars, legend=legend)


@stage.command("pool explain T01 K146", "pool explain T01 K146 --format json")
def explain(
    topic: Annotated[str, Argument(help="Topic id.", autocompletion=completion.topics)],
    document: Annotated[str, "Document id."],
    store: InCollection,
    name: Name = "",
) -> Shown:
    """Explain why a document is in a pool, or why it is not."""
    return pool.Pool(store).explain(topic, document, name=name)


@stage.command("pool verify", "pool verify --name first")
def verify(store: InCollection, name: Name = "") -> None:
    """Rebuild a pool from the stored runs, repeat every choice, and list any differences."""
    result = pool.Pool(store).verify(name)
    for line in (*result.notes, *(f"differs: {difference}" for difference in result.differences)):
        console.say(line)
    if result.differences:
        raise typer.Exit(1)
    console.put(f"{result.facts.name} is what its plan says: {result.facts.content_hash}\n", prose=True)
