"""What goes in and out of judging: `cranfield judge import`, `packet`, `merge`, `with`, `agreement` and others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cranfield.base.errors import UnknownName, UsageError
from cranfield.base.text import counted
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Assessor, Collection, Format, name_of_assessor
from cranfield.workflows.judge.tables import KINDS, long_estimates, long_table, overall_table, shown_table

if TYPE_CHECKING:
    from cranfield.workflows.judge.external import MachineJudged
    from cranfield.workflows.judge.session import StoredAdjudication

_DATA_FORMATS = ("csv", "json", "jsonl")

Layer = Annotated[str, typer.Option(help="The layer the judgments belong to.")]
Layers = Annotated[
    list[str] | None, typer.Option("--layer", help="A layer, main by default; may be repeated: earlier ones win.")
]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")]


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
    from cranfield.workflows.judge.imports import import_judgments

    with console.collection(collection) as store:
        done = import_judgments(store, file, layer=layer, assessor=assessor, format=from_)
    parts = [f"{counted(done.new, 'judgment')} imported"]
    parts += [f"{done.same:,} there already"] if done.same else []
    parts += [f"{counted(done.unjudged, 'row')} left out (pooled but not judged)"] if done.unjudged else []
    console.say(f"{file}: {', '.join(parts)}; assessors: {', '.join(done.assessors) or 'none'}")
    if done.junk:
        console.say(
            f"warning: {counted(done.junk, 'row')} with a grade of -2 or below (junk) left out: write the lowest"
            " grade of the scale where they are judged not relevant"
        )
    if done.replaced:
        console.say(f"warning: {counted(done.replaced, 'grade')} of the same assessor stood otherwise and gave way")


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
    from cranfield.workflows.judge.packets import PacketRequest, make_packet

    asked = PacketRequest(
        assessor=assessor, pool=pool, queue=queue, topics=tuple(topic or ()), order=order, seed=seed, days=days
    )
    with console.collection(collection) as store:
        made = make_packet(store, output, asked)
    console.say(f"wrote {output}: {counted(made.documents, 'document')} of {counted(made.topics, 'topic')}")
    console.say(f"judge it with: {console.hint('judge', output)}")
    console.say(f"take it back with: {console.hint(f'judge merge {output}', collection)}")


def merge(
    file: Annotated[Path, typer.Argument(help="A packet that was judged, or a copy of this collection.")],
    collection: Collection = COLLECTION,
    format: Format = "table",
) -> None:
    """Take the judgments of a packet back in; doing it twice changes nothing."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.judge.packets import merge_packet

    with console.collection(collection) as store:
        done = merge_packet(store, file)
    rows = [(one.what, one.topic, one.document, one.message) for one in done.conflicts]
    if rows or format != "table":
        console.put_table(table_of(["conflict", "topic", "document", "what"], rows), format)
    already = f", {done.same:,} there already" if done.same else ""
    by = f" by {', '.join(done.assessors)}" if done.assessors else ""
    console.say(f"{file}: {counted(done.new, 'event')} taken in{by}{already}")
    if done.conflicts:
        console.say(f"{counted(len(done.conflicts), 'conflict')}; nothing was lost by them")


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
    from cranfield.workflows.judge.external import JudgeRequest, judge_with

    asked = JudgeRequest(
        command=command,
        judge=judge,
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
    with console.collection(collection) as store, console.progress() as progress:
        done = judge_with(store, asked, progress=progress)
    _tell_labels(done, format)


def _tell_labels(done: MachineJudged, format: str) -> None:
    from cranfield.workflows.judge.external import ENOUGH

    console.put_problems(done.problems)
    parts = [f"{done.labelled:,} of {counted(done.asked, 'document')} labelled"]
    parts += [f"{done.unable:,} could not be told"] if done.unable else []
    parts += [f"{done.before:,} were labelled before"] if done.before else []
    console.say(f"{done.layer}: {', '.join(parts)}")
    if done.agreement is None:
        console.say(
            "people have judged none of these documents: nothing is known of this judge's agreement with them"
        )
    else:
        estimates = done.agreement.estimates
        if format in _DATA_FORMATS:
            table = long_estimates("people", done.layer, estimates)
        else:
            table = overall_table(estimates, f"{done.layer} and people, on what both judged")
        console.put_table(table, format)
        items = int(done.agreement.table.sum())
        if items < ENOUGH:
            console.say(f"warning: {items:,} documents were judged by both; {ENOUGH} or more would say something")
    if done.labelled + done.unable < done.asked:
        raise typer.Exit(1)


def agreement(
    collection: Collection = COLLECTION,
    by: Annotated[
        str | None, typer.Option(help=f"One table: {', '.join(KINDS)}; without it the most important ones.")
    ] = None,
    layer: Layers = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals.")] = 1,
    draws: Annotated[int, typer.Option(min=100, max=100_000, help="Draws for the intervals.")] = 1000,
    blocks: Annotated[int, typer.Option(min=1, max=100, help="Stretches of time.")] = 5,
    format: Format = "table",
) -> None:
    """Say how far assessors agree, with each other and with themselves, and what that does to the ranking of runs."""
    from cranfield.workflows.judge.agreement import agreement_report, effect_on_rankings, effect_table

    if by is not None and by not in KINDS:
        raise UnknownName("table", by, KINDS)
    with console.collection(collection) as store:
        layers = tuple(layer or ["main"])
        report = agreement_report(store, layers=layers, seed=seed, draws=draws, blocks=blocks)
        if by is None and format not in _DATA_FORMATS:
            effect = effect_on_rankings(store, layers=layers, seed=seed)
    if report.older:
        console.say(
            f"warning: {report.older:,} of {counted(report.opinions, 'opinion')} were given on an older scale:"
            " relevant or not goes by the scale of each; the grades are compared as numbers"
        )
    if format in _DATA_FORMATS:
        console.put_table(long_table(report, by or "overall"), format)
        return
    usual = ["overall", "pair", "confusion", *(["probes"] if report.probes else [])]
    for kind in [by] if by else usual:
        console.put_wide_table(shown_table(report, kind), format)
    if by is None:
        if effect is not None:
            console.put_wide_table(effect_table(effect), format)
        console.say("bars like .667 or .8 come from content analysis; judgments of relevance rarely reach them")


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
    from cranfield.workflows.collection import open_collection
    from cranfield.workflows.judge.session import StoredAdjudication

    only = tuple(topic or ())
    if listed:
        _put_cases(collection, layer, across, only, format)
        return
    name = name_of_assessor(assessor)
    # While the screen is on nothing may be written beside it, not even that we wait.
    with console.collection(collection) if plain else open_collection(collection) as store:
        bench = StoredAdjudication(store, name, layer=layer, across=across, only=only)
        console.say(f"{counted(len(bench), 'case')} open")
        ended = _decide(bench, plain) if len(bench) else 0
        left = len(bench)
    if left:
        console.say(f"{counted(left, 'case')} left")
    if ended:
        raise typer.Exit(ended)


def _put_cases(collection: Path, layer: str, across: bool, only: tuple[str, ...], format: str) -> None:
    from cranfield.base.tables import table_of
    from cranfield.workflows.judge.session import open_cases

    with console.collection(collection) as store:
        cases = open_cases(store, layer=layer, across=across, only=only)
    rows = [(one.topic, one.document, tuple(event.grade or 0 for event in one.opinions)) for one in cases]
    console.put_table(table_of(["topic", "document", "grades"], rows), format)
    console.say(f"{counted(len(rows), 'case')} open")


def _decide(bench: StoredAdjudication, plain: bool) -> int:
    if plain:
        from assessor_ui.adjudication import run_plain

        return run_plain(bench, lines=sys.stdin, out=sys.stdout)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the screen needs a terminal; through a pipe, decide with --plain")
    from assessor_ui.app import run_adjudication

    return run_adjudication(bench)


def propagate(
    collection: Collection = COLLECTION,
    layer: Layer = "main",
    exact: Annotated[bool, typer.Option("--exact", help="Only to exact duplicates.")] = False,
    format: Format = "table",
) -> None:
    """Pass grades on to the near-duplicates of judged documents, marked as propagated."""
    from cranfield.base.tables import table_of
    from cranfield.workflows.judge.imports import propagate as pass_on

    with console.collection(collection) as store:
        done = pass_on(store, layer=layer, exact_only=exact)
    if done.torn or format != "table":
        rows = [(one.topic, name, grade) for one in done.torn for name, grade in one.grades]
        caption = "Near-duplicates that were judged differently: nothing was passed on from them"
        console.put_table(table_of(["topic", "document", "grade"], rows, caption=caption), format)
    parts = [f"{counted(done.new, 'grade')} passed on"]
    parts += [f"{done.same:,} stood already"] if done.same else []
    parts += [f"{done.withdrawn:,} taken back"] if done.withdrawn else []
    console.say(", ".join(parts))
