"""What goes in and out of judging: `cranfield judge import`, `packet`, `merge`, `with`, `agreement` and others."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.base.tables import DATA_FORMATS
from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Assessor, Collection, Format, name_of_assessor

with deferred:
    from assessor_ui import adjudication as adjudication_interface
    from assessor_ui import app as interface
    from cranfield.workflows import collection as collections
    from cranfield.workflows.judge import judge as stage

if TYPE_CHECKING:
    from cranfield.workflows.judge.judge import Judge

Layer = Annotated[str, typer.Option(help="The layer the judgments belong to.")]
Layers = Annotated[
    list[str] | None, typer.Option("--layer", help="A layer, main by default; may be repeated: earlier ones win.")
]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")]


@contextmanager
def opened(path: Path, *, quiet: bool = False) -> "Iterator[Judge]":
    """Open a collection to judge in; while an interface is on the screen nothing may be written beside it."""
    with collections.open_collection(path) if quiet else console.collection(path) as store:
        yield stage.Judge(store, hint=console.hint, path=path)


def add_commands(group: typer.Typer) -> None:
    """Add the commands of this file to `cranfield judge`."""
    group.command("import")(import_)
    group.command()(packet)
    group.command()(merge)
    group.command("with")(with_)
    group.command()(agreement)
    group.command()(adjudicate)
    group.command()(propagate)


def import_(
    file: Annotated[Path, typer.Argument(help="Qrels, or a table: topic, document, grade[, assessor, time, note].")],
    collection: Collection = COLLECTION,
    assessor: Annotated[str, typer.Option(help="Whose judgments they are, where the file does not say.")] = "",
    layer: Layer = "main",
    from_: Annotated[
        str | None, typer.Option("--from", help="The format, where it is not recognised: see cranfield formats.")
    ] = None,
) -> None:
    """Import judgments that were made elsewhere; doing it twice changes nothing."""
    with opened(collection) as judging:
        result = judging.import_(file, assessor=assessor, layer=layer, format=from_)
    console.show(result)


def packet(
    assessor: Annotated[str, typer.Argument(help="For whom the packet is.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to make.")],
    collection: Collection = COLLECTION,
    topic: Topics = None,
    pool: Annotated[str, typer.Option(help="The pool; the latest by default.")] = "",
    queue: Annotated[str, typer.Option(help="A queue in place of a pool.")] = "",
    order: Annotated[
        Literal["plan", "id", "random", "cluster"], typer.Option(help="The order of the documents in a topic.")
    ] = "plan",
    seed: Annotated[int, typer.Option(min=0, help="Seed of a random order.")] = 0,
    days: Annotated[
        float, typer.Option(min=0, max=365, help="How long nobody else is given these documents; 0 reserves nothing.")
    ] = 14,
) -> None:
    """Make a judging packet: one file with only what one assessor needs, to be judged anywhere."""
    with opened(collection) as judging:
        result = judging.packet(
            assessor, output, pool=pool, queue=queue, topics=tuple(topic or ()), order=order, seed=seed, days=days
        )
    console.show(result)


def merge(
    file: Annotated[Path, typer.Argument(help="A packet that was judged, or a copy of this collection.")],
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Take the judgments of a packet back in; doing it twice changes nothing."""
    with opened(collection) as judging:
        result = judging.merge(file)
    console.show(result, format)


def with_(
    command: Annotated[str, typer.Argument(help="A program that reads JSON lines and writes JSON lines.")],
    judge: Annotated[str, typer.Option("--as", help="Which judge it is: NAME@VERSION.")],
    collection: Collection = COLLECTION,
    topic: Topics = None,
    pool: Annotated[str, typer.Option(help="Only this pool; else all pools and everything judged.")] = "",
    only: Annotated[
        Literal["all", "judged", "unjudged"], typer.Option(help="All, or only what people have judged, or have not.")
    ] = "all",
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many documents, drawn by the seed.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that draw.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Documents for one process.")] = 20,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Processes at once.")] = 1,
    per_minute: Annotated[float, typer.Option(min=0, help="Documents in a minute, in all; 0 sets no limit.")] = 0,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds of silence after which a process is ended.")] = 120,
    format: Format = "table",
) -> None:
    """Let an external judge label documents, in a layer of its own; run it again to go on where it stopped."""
    with opened(collection) as judging, console.progress() as progress:
        result = judging.with_(
            command,
            judge,
            progress=progress,
            pool=pool,
            topics=tuple(topic or ()),
            only=only,
            limit=limit,
            seed=seed,
            batch=batch,
            parallel=parallel,
            per_minute=per_minute,
            timeout=timeout,
        )
    console.put_problems(result.problems)
    console.show(result, format if result.agreement else "table")
    if not result.is_complete:
        raise typer.Exit(1)


def agreement(
    collection: Collection = COLLECTION,
    by: Annotated[
        str | None,
        typer.Option(
            help="One table: overall, pair, topic, time, probes, confusion; without it the most important ones."
        ),
    ] = None,
    layer: Layers = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals.")] = 1,
    draws: Annotated[int, typer.Option(min=100, max=100_000, help="Draws for the intervals.")] = 1000,
    blocks: Annotated[int, typer.Option(min=1, max=100, help="Stretches of time.")] = 5,
    format: Format = "table",
) -> None:
    """Say how far assessors agree, with each other and with themselves, and what that does to the ranking of runs."""
    if format in DATA_FORMATS:
        by = by or "overall"
    with opened(collection) as judging:
        result = judging.agreement(by=by, layers=tuple(layer or ["main"]), seed=seed, draws=draws, blocks=blocks)
        console.show(result, format)


def adjudicate(
    assessor: Assessor = "",
    collection: Collection = COLLECTION,
    topic: Topics = None,
    layer: Layer = "main",
    across: Annotated[
        bool, typer.Option("--across", help="Only where one says relevant and another does not.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the open cases, without names; decide nothing.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines in place of the screen.")] = False,
    format: Format = "table",
) -> None:
    """Decide where assessors disagree; nobody is named."""
    topics = tuple(topic or ())
    if listed:
        with opened(collection) as judging:
            result = judging.cases(layer=layer, across=across, topics=topics)
        console.show(result, format)
        return
    name, status = name_of_assessor(assessor), 0
    with opened(collection, quiet=not plain) as judging:
        session = judging.adjudicate(name, layer=layer, across=across, topics=topics)
        console.say(f"{counted(len(session), 'case')} open")
        if len(session):
            if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise UsageError("the screen needs a terminal; through a pipe, decide with --plain")
            deciding = adjudication_interface.Adjudication(session)
            if plain:
                status = adjudication_interface.run_plain(deciding, lines=sys.stdin, out=sys.stdout)
            else:
                status = interface.run(deciding)
        left = len(session)
    if left:
        console.say(f"{counted(left, 'case')} left")
    if status:
        raise typer.Exit(status)


def propagate(
    collection: Collection = COLLECTION,
    layer: Layer = "main",
    exact: Annotated[bool, typer.Option("--exact", help="Only to exact duplicates.")] = False,
    format: Format = "table",
) -> None:
    """Pass grades on to the near-duplicates of judged documents, marked as propagated."""
    with opened(collection) as judging:
        result = judging.propagate(layer=layer, exact=exact)
    console.show(result, format)
