"""`cranfield settle`: the few documents whose judging decides between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format, collection_meant
from cranfield.cli.reuse import CardFile, ClosureWord, Groups, Layers, Measures, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    from cranfield.reuse.intervals import Closure
    from cranfield.reuse.pairs import QueuedDocument
    from cranfield.store.store import Store
    from cranfield.workflows.reuse.reuse import Doubt

RunWord = Annotated[str, typer.Argument(help="A run file, or the name of a stored run.")]
OtherWord = Annotated[str | None, typer.Argument(help="The run to decide against; without one, --to-safe is meant.")]
QueueName = Annotated[str, typer.Option("--queue", help="Keep the documents as a queue for cranfield judge --queue.")]
Layer = Annotated[str, typer.Option("--into", help="The layer that the judgments of the queue go into.")]
ToSafe = Annotated[bool, typer.Option("--to-safe", help="What to judge until the run's own score is safe.")]
All = Annotated[bool, typer.Option("--all", help="The whole queue, not only what probably suffices.")]


def add_to(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(settle)


def settle(
    run: RunWord,
    other: OtherWord = None,
    qrels: QrelsWord = None,
    measure: Measures = None,
    groups: Groups = None,
    pool_depth: PoolDepth = None,
    card: CardFile = None,
    pool: PoolName = "",
    layer: Layers = None,
    closure: ClosureWord = "at-k",
    to_safe: ToSafe = False,
    everything: All = False,
    queue: QueueName = "",
    into: Layer = "main",
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Find the documents to judge to decide between two runs, or to make one run's score safe."""
    from cranfield.workflows.reuse.reuse import Doubt
    from cranfield.workflows.settle import queue_table

    if to_safe and other is not None:
        raise typer.BadParameter("--to-safe is about one run; give two runs without it to decide between them")
    runs = (run,) if other is None else (run, other)
    doubt = Doubt(
        runs=runs,
        qrels=qrels,
        measures=tuple(measure or ("nDCG@10",)),
        layers=tuple(layer or ()),
        groups=groups,
        depth=pool_depth,
        card=card,
        pool=pool,
    )
    with collection_meant(collection, qrels, runs) as store:
        if queue and store is None:
            raise typer.BadParameter("--queue keeps a queue in a collection; there is none here")
        documents = (
            _narrowed(doubt, store, everything) if other is None else _decided(doubt, store, closure, everything)
        )
        console.put_table(queue_table(documents), format)
        if queue and store is not None:
            _keep(store, queue, documents, collection, run=run, other=other, into=into)


def _decided(doubt: Doubt, store: Store | None, closure: Closure, everything: bool) -> list[QueuedDocument]:
    from cranfield.workflows.settle import decided, settle_runs

    said, documents = decided(settle_runs(doubt, store=store, closure=closure), everything=everything)
    for sentence in said:
        console.say(sentence)
    return documents


def _narrowed(doubt: Doubt, store: Store | None, everything: bool) -> list[QueuedDocument]:
    from cranfield.workflows.settle import narrowed, safe_run

    said, documents = narrowed(safe_run(doubt, store=store), everything=everything)
    for sentence in said:
        console.say(sentence)
    return documents


def _keep(
    store: Store,
    name: str,
    documents: list[QueuedDocument],
    collection: Path,
    *,
    run: str,
    other: str | None,
    into: str,
) -> None:
    from cranfield.workflows.settle import keep_queue, purpose_of

    kept = keep_queue(store, name, documents, purpose="settle", why=purpose_of(run, other), layer=into)
    console.say(f"queued {kept:,}; judge them with {console.hint(f'judge --queue {name}', collection)}")
