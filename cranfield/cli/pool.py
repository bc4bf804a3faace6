"""`cranfield pool`: from runs to what is judged, and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format

if TYPE_CHECKING:
    from cranfield.base.tables import Table
    from cranfield.workflows.pool.show import ShownPool

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
_NAMES_SHOWN = 5


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
    from cranfield.workflows.pool.build import PoolRequest, build_pool

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
    if made.plan.is_live:
        console.say("that is the warm-up; the next documents are chosen from what has been judged")
    if made.duplicates:
        stay = (
            "stays out: another stands for it" if len(made.duplicates) == 1 else "stay out: another stands for them"
        )
        console.say(f"{counted(len(made.duplicates), 'near-duplicate')} {stay}")
    console.say(f"content hash {made.content_hash}")


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
    from cranfield.workflows.pool.build import extend_pool

    with console.collection(collection) as store:
        grown = extend_pool(store, name, runs=run or (), topics=topic or ())
    console.say(
        f"{grown.name}, version {grown.pool.version}: {counted(grown.added, 'document')} more to judge,"
        f" from {counted(len(grown.runs), 'more run')} ({_some(grown.runs)}); {len(grown.pool):,} in all"
    )
    for gone in grown.withdrawn:
        console.say(f"{gone} was withdrawn, but stays part of this pool: what it brought is in it")
    if grown.left_out:
        topics = counted(len(grown.left_out), "topic")
        console.say(f"{topics} of the new runs not in the pool ({_some(grown.left_out)}): add with --topic")
    console.say(f"content hash {grown.pool.content_hash}")


def _some(names: Sequence[str]) -> str:
    """Give the first of many names, and how many more there are."""
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


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
    from cranfield.workflows.pool.build import top_up_queue

    with console.collection(collection) as store:
        made = top_up_queue(
            store, run, depth=depth, name=name, topics=topic or (), seconds_per_document=seconds_per_document
        )
    if not made.documents:
        console.say(f"nothing to judge: every document in the first {depth} of {run} is judged; no queue was made")
        return
    where = f"{counted(made.documents, 'document')} in {counted(made.topics, 'topic')}"
    console.say(f"{made.queue}: {where} to judge, {made.speed.cost(made.documents)}")
    if made.pooled:
        console.say(f"{made.pooled:,} of them are in a pool already and wait there too; judging once is enough")
    console.say(f"next: {console.hint(f'judge --queue {shlex.quote(made.queue)}', collection)}")


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
    from cranfield.workflows.pool.show import show_pool

    asked = {"topic": by_topic, "group": by_group, "depth": by_depth, "version": versions, "overlap": bool(overlap)}
    chosen = [word for word, wanted in asked.items() if wanted] or ["run"]
    if len(chosen) > 1:
        raise UsageError(f"one table at a time: {' and '.join(chosen)} were asked for")
    with console.collection(collection) as store:
        shown = show_pool(store, name, seconds_per_document=seconds_per_document)
        console.put_table(_table(shown, chosen[0], overlap or "run", format), format)
        _narrate(shown)


def _table(shown: ShownPool, what: str, of: str, format: str) -> Table:
    from cranfield.workflows.pool.show import pool_table

    table = pool_table(shown, what, of=of)
    if what != "overlap" or format != "table" or len(table.rows) <= _PAIRS_SHOWN:
        return table
    console.say(f"the likest {_PAIRS_SHOWN} of {len(table.rows):,} pairs; all of them with -f csv")
    return replace(table, rows=table.rows[:_PAIRS_SHOWN])


def _narrate(shown: ShownPool) -> None:
    facts, sizes = shown.facts, [one.documents for one in shown.topics]
    console.say(
        f"{facts.name}: {counted(shown.documents, 'document')} for {counted(len(sizes), 'topic')}"
        f" ({min(sizes, default=0):,} to {max(sizes, default=0):,} each); plan: {facts.plan};"
        f" seed {facts.seed}; made {facts.made[:10]} by {facts.made_by}"
    )
    left = shown.documents - shown.judged
    cost = f"{left:,} to judge: {shown.speed.cost(left)}" if left else "nothing is out to be judged"
    console.say(f"{shown.judged:,} judged, {cost}")
    if shown.going_on:
        console.say(f"{counted(shown.going_on, 'topic')} not at an end: more is chosen from what has been judged")
    for rule, count in shown.endings:
        console.say(f"ended: {counted(count, 'topic')}: {rule}")
    if shown.leaning is not None:
        console.put_problems([shown.leaning])
    _narrate_loss(shown)


def _narrate_loss(shown: ShownPool) -> None:
    """Say what an outsider must expect, as far as it can be said without playing the plan again."""
    if not shown.judged:
        return
    if not shown.is_depth_pool:
        console.say(
            "what a run from outside must expect to lose: cranfield reuse, which plays this plan without each group"
        )
        return
    loss = shown.loss
    if loss is not None:
        console.say(
            f"a run from outside must expect to lose {loss.mean:.1%} of its {loss.measure}, at worst"
            f" {loss.largest:.1%} ({loss.worst}): the pool's runs, each without its own group, on"
            f" {counted(loss.topics, 'judged topic')}"
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
    from cranfield.base.tables import table_of
    from cranfield.workflows.pool.show import explain_entry

    with console.collection(collection) as store:
        told = explain_entry(store, topic, document, name=name)
    facts, entry, choice = told.facts, told.entry, told.choice
    chance = "" if entry.probability is None else f" with probability {entry.probability:g}"
    version = f" in version {entry.version}" if entry.version > 1 else ""
    console.say(
        f"{document} is document {entry.position:,} of topic {topic} in {facts.name}:"
        f" step {entry.step} ({told.step}) brought it{version}{chance}, stratum {entry.stratum}"
    )
    if choice is not None:
        moment = choice.chosen[:19].replace("T", " ")
        console.say(
            f"it was choice {choice.number:,}, made {moment} UTC from what was judged up to event {choice.known:,}:"
            f" {choice.reason}"
        )
    rows = [(known.run, known.rank) for known in entry.contributions]
    if not told.copies:
        console.put_table(table_of(["run", "rank"], rows), format)
        return
    console.say("it stands for near-duplicates: the runs that have one of those are listed with it")
    with_copies = [*((*row, "") for row in rows), *told.copies]
    console.put_table(table_of(["run", "rank", "near_duplicate"], with_copies), format)


@app.command()
def verify(collection: Collection = COLLECTION, name: Name = "") -> None:
    """Build a pool again from the stored runs and prove it identical, choice by choice, or say what differs."""
    from cranfield.workflows.pool.verify import not_proved, verify_pool

    with console.collection(collection) as store:
        facts, differences = verify_pool(store, name)
        doubts = not_proved(store, name)
    for doubt in doubts:
        console.say(doubt)
    for difference in differences:
        console.say(f"differs: {difference}")
    if differences:
        raise typer.Exit(1)
    console.put(f"{facts.name} is what its plan says: {facts.content_hash}\n")
