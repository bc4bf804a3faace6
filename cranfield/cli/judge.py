"""`cranfield judge`: from the pool to judgments. Bare, it opens the assessor interface."""

import sys
from pathlib import Path
from threading import Timer
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cranfield.base.errors import UsageError, quoted
from cranfield.base.registry import deferred
from cranfield.cli import completion, console
from cranfield.cli.console import COLLECTION, Assessor, Collection, Format, InCollection, Shown, name_of_assessor
from cranfield.cli.main import Stage

with deferred:
    from assessor_ui import app as interface
    from assessor_ui import plain as plain_interface
    from assessor_ui import session as interface_session
    from cranfield.base import text as texts
    from cranfield.workflows import collection as collections
    from cranfield.workflows import outside
    from cranfield.workflows.judge import judge as workflow

stage = Stage("judge", "Judge pooled documents, alone or as a team.")


Layer = Annotated[str, "Layer of the judgments."]
Pool = Annotated[str, Option(help="The pool. [default: the latest]", autocompletion=completion.pools)]
Queue = Annotated[str, Option(help="A queue instead of a pool.", autocompletion=completion.queues)]
Topics = Annotated[list[str] | None, console.topic_option("Only this topic; repeatable.")]
Plain = Annotated[
    bool, "Judge line by line, without the full-screen interface: for pipes, scripts and screen readers."
]
# What is said of options that were dropped; it goes with the next version.
_ORDER = {
    "--order": "the order is that of the pool: see pool build --order",
    "--seed": "the order is that of the pool: see pool build --seed",
}
_BREAKS = "the interface has no break reminders"
_SIZES = "the limits are 3 and 100 expected relevant documents"


@stage.command(
    "judge",
    "judge --assessor Ann --topic T01",
    "judge --queue settle --plain",
    removed={
        **_ORDER,
        "--break-after": _BREAKS,
        "--no-breaks": _BREAKS,
        "--lease": "an unanswered document is leased for 10 minutes",
    },
)
def judge(
    context: typer.Context,
    collection: Collection = COLLECTION,
    assessor: Assessor = "",
    topic: Topics = None,
    pool: Pool = "",
    queue: Annotated[
        str,
        Option(help="Judge a queue, such as a top-up or the documents of settle.", autocompletion=completion.queues),
    ] = "",
    layer: Annotated[str, "Layer of the judgments. [default: main]"] = "",
    rejudge: Annotated[bool, "Judge again what you judged under an older scale or older guidelines."] = False,
    plain: Plain = False,
    theme: Annotated[Literal["auto", "dark", "light"], "Colour theme of the interface."] = "auto",
    language: Annotated[str, "Language of the documents, for stemming highlighted words."] = "english",
) -> None:
    """Judge. Without a subcommand the assessor interface opens; an answer is shown as saved only once it is."""
    if context.invoked_subcommand is not None:
        return
    refuse_without_terminal(plain=plain)
    # While an interface is on the screen nothing may be written beside it.
    with (console if plain else collections).open_collection(collection) as store:
        judging = workflow.Judge(store)
        stored = judging.session(
            name_of_assessor(assessor or judging.packet_assessor),
            pool=pool,
            queue=queue,
            layer=layer,
            topics=topic or (),
            rejudge=rejudge,
        )
        for note in outside.nowhere(store):
            console.say(note)
        session = interface_session.Session(stored, language=language)
        # What the end of a topic needs takes a while to load: that is done while the first document is read.
        loading = Timer(1.0, lambda: stored.source.is_live)
        loading.daemon = True
        loading.start()
        status = run_interface(session, plain=plain, theme=theme)
        loading.cancel()
        for note in judging.closing_notes(stored):
            console.say(note)
    if status:
        raise typer.Exit(status)


def refuse_without_terminal(*, plain: bool) -> None:
    """Say at once that the interface cannot be shown here."""
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the assessor interface needs a terminal; without one, use --plain")


def run_interface(session: "interface_session.Session", *, plain: bool, theme: str = "auto") -> int:
    """Let somebody judge or adjudicate, on the screen or line by line; give the exit status."""
    if plain:
        return plain_interface.Lines(session, sys.stdin, sys.stdout).run()
    app = interface.AssessorApp(session, theme=theme)
    if app.run() is None:
        session.leave()
    if session.ended.text:
        console.say(f"warning: {session.ended.text}")
    return app.return_code or int(bool(session.ended.text))


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"{quoted(text)} is not a share; write 20% or 0.2") from None


@stage.command(
    "judge assign Ann Ben",
    "judge assign Ann Ben --overlap 20% --probes 5%",
    "judge assign",
    removed={
        "--probe-after": "a probe comes at least 10 documents later",
        "--seed": "overlap and probes are drawn with a fixed seed",
    },
)
def assign(
    store: InCollection,
    assessors: Annotated[
        list[str] | None, Argument(help="Names of assessors; without names, the assignments are listed.")
    ] = None,
    topic: Annotated[
        list[str] | None, console.topic_option("Assign this topic; repeatable. [default: all unassigned topics]")
    ] = None,
    pool: Annotated[str, "The pool whose topics are assigned. [default: the latest]"] = "",
    together: Annotated[bool, "All assessors share all these topics; the first one is primary."] = False,
    again: Annotated[bool, "Reassign all topics."] = False,
    take_over: Annotated[bool, "Make the named assessors primary also where another assessor judged."] = False,
    overlap: Annotated[str | None, "Share of documents judged by several assessors, such as 20%."] = None,
    by: Annotated[int, Option(min=2, help="Assessors per document in the overlap.")] = 2,
    probes: Annotated[
        str | None, "Share of answers followed by a consistency probe: an earlier document shown again."
    ] = None,
    adjudicator: Annotated[list[str] | None, "Who may adjudicate; repeatable. [default: everybody]"] = None,
    format: Format = "table",
) -> None:
    """Assign topics to assessors in equal shares; plan overlap and consistency probes."""
    result = workflow.Judge(store).assign(
        assessors or (),
        topics=topic or (),
        pool=pool,
        together=together,
        again=again,
        take_over=take_over,
        overlap=_share(overlap),
        by=by,
        probes=_share(probes),
        adjudicators=adjudicator or (),
    )
    console.show(result, format if result.made else "table")


@stage.command("judge progress", "judge progress --by assessor")
def progress(
    store: InCollection,
    by: Annotated[
        Literal["topic", "assessor", "cannot"],
        "By topic, by assessor, or the documents that cannot be judged, with reasons.",
    ] = "topic",
    pool: Pool = "",
    queue: Queue = "",
    layer: Annotated[str, "The layer. [default: main]"] = "",
) -> Shown:
    """Show the progress of judging, by topic or assessor."""
    return workflow.Judge(store).progress(by=by, pool=pool, queue=queue, layer=layer)


@stage.command("judge guidelines guidelines.md", "judge guidelines guidelines.md -C recipes.db")
def guidelines(file: Annotated[Path, "A Markdown file."], store: InCollection) -> "texts.Result":
    """Replace the guidelines; judgments made under the old ones are kept and can be made again."""
    return workflow.Judge(store).guidelines(file)


@stage.command("judge scale graded", "judge scale '0=no, 1=partly, 2=mostly, 3=fully' --relevant-from 2")
def scale(
    scale: Annotated[str, "As for init: binary, graded, '0=no, 1=yes', or a TOML file."],
    store: InCollection,
    relevant_from: Annotated[int | None, "The lowest grade that counts as relevant."] = None,
) -> "texts.Result":
    """Replace the scale; judgments made on the old one are kept and can be made again."""
    return workflow.Judge(store).scale(scale, relevant_from=relevant_from)


@stage.command(
    "judge try T15",
    "judge try T15 --accept",
    removed={"--few": _SIZES, "--many": _SIZES, "--seed": "the sample of a topic is selected once and kept"},
)
def try_(
    topic: Annotated[str, Argument(help="A topic of the collection.", autocompletion=completion.topics)],
    store: InCollection,
    assessor: Assessor = "",
    accept: Annotated[bool, "Accept the topic: you become its primary assessor."] = False,
    refuse: Annotated[str | None, "Refuse the topic, for this reason."] = None,
    show: Annotated[bool, "Only show the estimate."] = False,
    plain: Plain = False,
) -> Shown:
    """Try a draft topic: judge about 25 hits, estimate the number of relevant documents, accept or refuse it."""
    decided = accept or refuse is not None
    if sum([accept, refuse is not None, show]) > 1:
        raise UsageError("use only one of --accept, --refuse and --show")
    refuse_without_terminal(plain=plain or decided or show)
    judging = workflow.Judge(store)
    if not (decided or show):
        stored = judging.begin_trial(topic, name_of_assessor(assessor))
        run_interface(interface_session.Session(stored), plain=plain)
    return judging.try_(topic, accept=accept, refuse=refuse)


@stage.command("judge import judgments.csv", "judge import qrels.txt --assessor Ann --layer second")
def import_(
    file: Annotated[
        Path,
        Argument(
            parser=console.path_or_url, help="Qrels, or a table: topic, document, grade[, assessor, time, note]."
        ),
    ],
    store: InCollection,
    assessor: Annotated[str, "The assessor, if the file does not name one."] = "",
    layer: Layer = "main",
    from_: Annotated[str | None, "The format, if it is not recognised: see cranfield formats."] = None,
) -> "texts.Result":
    """Import judgments made elsewhere; importing the same file twice changes nothing."""
    return workflow.Judge(store).import_(file, assessor=assessor, layer=layer, format=from_)


@stage.command(
    "judge packet Ben -o for-ben.db", "judge packet Ben -o for-ben.db --topic T01 --days 30", removed=_ORDER
)
def packet(
    assessor: Annotated[str, "The assessor of the packet."],
    output: Annotated[Path, Option("-o", "--output", help="The packet to write.")],
    store: InCollection,
    topic: Topics = None,
    pool: Pool = "",
    queue: Queue = "",
    days: Annotated[
        float, Option(min=0, max=365, help="Days for which the documents are reserved for the assessor; 0: none.")
    ] = 14,
) -> "texts.Result":
    """Write a judging packet: a small collection for one assessor, to be judged elsewhere."""
    topics = topic or ()
    return workflow.Judge(store).packet(assessor, output, pool=pool, queue=queue, topics=topics, days=days)


@stage.command("judge merge ben.db", "judge merge recovered.db --trust")
def merge(
    file: Annotated[Path, "A judged packet, or with --trust a recovery file or a copy."],
    store: InCollection,
    trust: Annotated[bool, "Merge the file as it is, also if it was not issued here to its assessor."] = False,
) -> Shown:
    """Merge the judgments of a packet; merging it twice changes nothing."""
    return workflow.Judge(store).merge(file, trust=trust)


@stage.command(
    "judge with ./judge.py --as words@1",
    "judge with ./judge.py --as words@1 --only judged --limit 50",
    removed={
        "--per-minute": "let the program wait between its requests",
        "--seed": "the same documents are sampled each time",
    },
)
def with_(
    command: Annotated[str, "A program that reads JSON lines and writes JSON lines."],
    judge: Annotated[str, Option("--as", help="Name of the judge: NAME@VERSION.")],
    store: InCollection,
    topic: Topics = None,
    pool: Annotated[str, "Only this pool. [default: all pools and all judged documents]"] = "",
    only: Annotated[
        Literal["all", "judged", "unjudged"], "All documents, or only those judged, or not judged, by people."
    ] = "all",
    limit: Annotated[int | None, Option(min=1, help="Number of documents, sampled at random.")] = None,
    batch: Annotated[int, Option(min=1, help="Documents per process.")] = 20,
    parallel: Annotated[int, Option(min=1, max=64, help="Parallel processes.")] = 1,
    timeout: Annotated[
        float, Option(min=0.1, help="Seconds without an answer after which a process is killed.")
    ] = 120,
    format: Format = "table",
) -> None:
    """Let an external judge label documents, in its own layer; run it again to resume."""
    with console.progress() as progress:
        result = workflow.Judge(store).with_(
            command,
            judge,
            progress=progress,
            pool=pool,
            topics=topic or (),
            only=only,
            limit=limit,
            batch=batch,
            parallel=parallel,
            timeout=timeout,
        )
    console.put_problems(result.problems)
    console.show(result, format if result.agreement else "table")
    if result.labelled + result.unable < result.asked:
        raise typer.Exit(1)


@stage.command(
    "judge agreement",
    "judge agreement --by pair",
    removed={
        "--seed": "the confidence intervals have a fixed seed",
        "--blocks": "agreement is no longer computed over time",
        "--draws": "the confidence intervals rest on 1,000 bootstrap samples",
    },
)
def agreement(
    store: InCollection,
    by: Annotated[str | None, "One table: overall, pair, topic, probes, confusion. [default: the main ones]"] = None,
    layer: Annotated[list[str] | None, "A layer; repeatable, earlier layers take precedence. [default: main]"] = None,
    format: Format = "table",
) -> None:
    """Measure inter- and intra-assessor agreement, and its effect on the ranking of runs."""
    if format in console.DATA_FORMATS:
        by = by or "overall"
    console.show(workflow.Judge(store).agreement(by=by, layers=layer or ["main"]), format)


@stage.command("judge adjudicate", "judge adjudicate --list")
def adjudicate(
    assessor: Assessor = "",
    collection: Collection = COLLECTION,
    topic: Topics = None,
    layer: Layer = "main",
    across: Annotated[bool, "Only disagreements between relevant and not relevant."] = False,
    listed: Annotated[bool, Option("--list", help="Only list the open cases, without names.")] = False,
    plain: Plain = False,
    format: Format = "table",
) -> None:
    """Adjudicate disagreements; assessors are not named."""
    topics = topic or ()
    if listed:
        with console.open_collection(collection) as store:
            console.show(workflow.Judge(store).cases(layer=layer, across=across, topics=topics), format)
        return
    name, status = name_of_assessor(assessor), 0
    with (console if plain else collections).open_collection(collection) as store:
        session = workflow.Judge(store).adjudicate(name, layer=layer, across=across, topics=topics)
        if len(session):
            refuse_without_terminal(plain=plain)
            status = run_interface(interface_session.Session(session), plain=plain)
        console.say(f"{texts.counted(len(session), 'case')} open")
    if status:
        raise typer.Exit(status)


@stage.command(
    "judge propagate",
    "judge propagate --layer second",
    removed={"--exact": "grades pass to all near-duplicates; corpus duplicates --threshold 1 finds exact ones only"},
)
def propagate(store: InCollection, layer: Layer = "main") -> Shown:
    """Propagate grades to the near-duplicates of judged documents."""
    return workflow.Judge(store).propagate(layer=layer)
