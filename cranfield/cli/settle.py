"""`cranfield settle`: the few documents to judge to decide between two runs."""

from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cranfield.base.text import counted
from cranfield.cli import completion, console
from cranfield.cli.main import Stage

stage = Stage()


@stage.command(
    "settle bm25 dense",
    "settle bm25 dense -m P@5 --until likely --queue bm25-dense",
    removed={
        "--to-safe": "use pool top-up RUN",
        "--card": "use --pool FILE",
        "--closure": "intervals consider unjudged documents down to the cutoff, else the pool depth",
    },
)
def settle(
    inputs: console.Pooled,
    runs: Annotated[
        list[str],
        Argument(
            help="Two run files, after a release bundle or with --qrels; or two stored runs.",
            autocompletion=completion.runs,
        ),
    ],
    measure: Annotated[list[str] | None, console.measure_option(("nDCG@10",))] = None,
    until: Annotated[
        Literal["certain", "likely"],
        "Judge until no grade can change which run is ahead, or until that has a probability of 95%.",
    ] = "certain",
    everything: Annotated[
        bool, Option("--all", help="The whole queue, not only what is expected to suffice.")
    ] = False,
    queue: Annotated[str, "Save the documents as a queue for cranfield judge --queue."] = "",
    into: Annotated[str, "The layer for the judgments of the queue."] = "main",
    format: console.Format = "table",
) -> None:
    """List the documents to judge to decide between two runs."""
    inputs, named = console.bundle_first(inputs, runs)
    if named is None or len(named) != 2:
        told = f"settle decides between two runs, not {len(named or ())}"
        raise typer.BadParameter(f"{told}; pool top-up RUN queues what makes the score of one run reliable")
    run, other = named
    with console.opened(inputs, named) as files:
        if queue and files.store is None:
            raise typer.BadParameter("--queue needs a collection")
        found = files.settle(
            run, other, measures=measure or None, until=until, everything=everything, queue=queue, into=into
        )
    console.show(found, format)
    if found.kept is not None:
        queued = (
            f"queued all {counted(found.kept, 'document')} that could matter, handed out until the pair is decided"
        )
        console.say(f"{queued}; judge with cranfield judge --queue {queue}")
