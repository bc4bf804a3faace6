"""`cranfield settle`: the few documents whose judging decides between two runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cranfield.cli import console
from cranfield.cli.evaluated import collection_meant
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.cli.reuse import CardFile, ClosureWord, Groups, Layers, Measures, PoolDepth, PoolName, QrelsWord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cranfield.report.table import Table
    from cranfield.reuse.bounds import Closure
    from cranfield.reuse.queued import QueuedDocument
    from cranfield.steps.reuse_asking import Doubt
    from cranfield.steps.settling import Settled
    from cranfield.store import Store

RunWord = Annotated[str, typer.Argument(help="A run file, or the name of a stored run.")]
OtherWord = Annotated[str | None, typer.Argument(help="The run to decide against; not with --to-safe.")]
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
    from cranfield.steps.reuse_asking import Doubt

    if to_safe == (other is not None):
        raise typer.BadParameter("give two runs, or one run and --to-safe")
    doubt = Doubt(
        runs=(run,) if other is None else (run, other),
        qrels=qrels,
        measures=tuple(measure or ("nDCG@10",)),
        layers=tuple(layer or ()),
        groups=groups,
        depth=pool_depth,
        card=card,
        pool=pool,
    )
    with collection_meant(collection, qrels, doubt.runs) as store:
        if queue and store is None:
            raise typer.BadParameter("--queue keeps a queue in a collection; there is none here")
        documents = _narrowed(doubt, store, everything) if to_safe else _decided(doubt, store, closure, everything)
        console.put_table(_table(documents), format)
        if queue and store is not None:
            _keep(store, queue, documents, collection, run=run, other=other, into=into)


def _decided(doubt: "Doubt", store: "Store | None", closure: "Closure", everything: bool) -> "list[QueuedDocument]":
    from cranfield.steps.settling import first_of, settle_runs

    found = settle_runs(doubt, store=store, closure=closure)
    for one in found:
        for sentence in _told(one):
            console.say(sentence)
    return _merged([one.settlement.queue if everything else first_of(one) for one in found])


def _narrowed(doubt: "Doubt", store: "Store | None", everything: bool) -> "list[QueuedDocument]":
    from cranfield.steps.settling import safe_run
    from cranfield.text import counted

    queues = []
    for narrowing, speed in safe_run(doubt, store=store):
        console.say(f"{narrowing.measure} of {narrowing.run}: labels can move it by {narrowing.width:.4f}")
        if narrowing.width <= narrowing.tolerance:
            console.say("that is safe already: there is nothing to judge")
        elif narrowing.if_not_relevant is None:
            console.say("judging alone cannot make it safe: what it lacks lies beyond its lists")
        else:
            likely, sure = narrowing.if_not_relevant, narrowing.for_certain
            many = counted(likely, "document")
            certain = "" if sure is None or sure == likely else f"; {sure:,} whatever they are"
            console.say(f"judging {many} brings that to {narrowing.tolerance:g} if none is relevant{certain}")
            console.say(f"that takes {speed.cost(likely)}")
        count = narrowing.for_certain if everything else narrowing.if_not_relevant
        queues.append(narrowing.queue[:count] if count is not None else narrowing.queue)
    return _merged(queues)


def _told(one: "Settled") -> "list[str]":
    from cranfield.text import counted

    claim, found = one.claim, one.settlement
    if not claim.winner:
        low, high = claim.ends
        return [
            f"{one.measure}: the two runs are equal, and labels could make the difference {low:+.4f} to {high:+.4f}"
        ]
    low, high = claim.ends
    lead = f"{claim.winner} leads {claim.loser} by {claim.lead:.4f} ({low:+.4f} to {high:+.4f})"
    said = [f"{one.measure}: {lead}: {claim.level.upper()}, {claim.reason}"]
    if found.is_decided:
        return said
    likely = found.if_not_relevant
    if likely is None:
        said.append("no number of judgments is known to decide it for certain; the heaviest documents come first")
        return said
    certain = "" if found.for_certain is None else f"; {found.for_certain:,} decide it whatever they are"
    said.append(f"judging {counted(likely, 'document')} decides it if none of them is relevant{certain}")
    said.append(f"that takes {one.speed.cost(likely)}")
    return said


def _merged(queues: "Sequence[Sequence[QueuedDocument]]") -> "list[QueuedDocument]":
    """Give the documents of several measures once each, the heaviest first."""
    best: dict[tuple[str, str], QueuedDocument] = {}
    for queue in queues:
        for one in queue:
            known = best.get((one.topic, one.document))
            if known is None or abs(one.weight) > abs(known.weight):
                best[one.topic, one.document] = one
    return sorted(best.values(), key=lambda one: (-abs(one.weight), one.topic, one.document))


def _table(documents: "Sequence[QueuedDocument]") -> "Table":
    from cranfield.report.table import Column, table_of

    rows = [(one.topic, one.document, one.weight, one.run, one.rank, one.other_rank) for one in documents]
    columns = [Column("topic"), Column("document"), Column("weight", numeric=True), Column("run", "good for")]
    columns += [Column("rank", "at rank", numeric=True), Column("other_rank", "other's rank", numeric=True)]
    return table_of(columns, rows, caption="What to judge, the heaviest first" if rows else "Nothing to judge")


def _keep(
    store: "Store",
    name: str,
    documents: "list[QueuedDocument]",
    collection: Path,
    *,
    run: str,
    other: str | None,
    into: str,
) -> None:
    from cranfield.steps.settling import keep_queue

    why = f"settles {run} against {other}" if other else f"makes {run} safe"
    kept = keep_queue(store, name, documents, purpose="settle", why=why, layer=into)
    console.say(f"queued {kept:,}; judge them with {console.hint(f'judge --queue {name}', collection)}")
