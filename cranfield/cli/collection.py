"""Commands about the collection file as a whole."""

from pathlib import Path
from typing import Annotated

import typer

from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format
from cranfield.text import counted, shortened


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    for command in (demo, init, status, check, backup):
        app.command()(command)


def init(
    name: Annotated[str, typer.Argument(help="What the collection is called.")] = "",
    collection: Collection = COLLECTION,
    scale: Annotated[
        str,
        typer.Option(
            help="binary, graded, a line like '0=no, 1=partly, 2=fully', or a TOML file with [[grade]] tables."
        ),
    ] = "binary",
    relevant_from: Annotated[int | None, typer.Option(help="The lowest grade that counts as relevant.")] = None,
    guidelines: Annotated[Path | None, typer.Option(help="A Markdown file that assessors can read.")] = None,
    licence: Annotated[str, typer.Option(help="Under which terms it may be used, like CC-BY-4.0.")] = "",
) -> None:
    """Make a new collection: one SQLite file."""
    from cranfield.workflows.opening import init_collection
    from cranfield.workflows.scale import parse_scale

    chosen = parse_scale(scale, relevant_from=relevant_from)
    called = name or collection.absolute().parent.name
    init_collection(collection, name=called, scale=chosen, guidelines=guidelines, licence=licence)
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"made {collection}; scale: {steps}; relevant from {chosen.relevant_from}")
    console.say(f"next: add documents with {console.hint('corpus add FILE…', collection)}")


def status(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Say where the collection stands, and the next thing to do."""
    from cranfield.report.table import facts_table
    from cranfield.workflows.status import collection_status

    with console.collection(collection) as store:
        found = collection_status(store)
    scale = ", ".join(f"{step.grade} {step.label}" for step in found.scale.grades)
    facts: dict[str, str | int] = {
        "name": found.name,
        "scale": f"{scale} (relevant from {found.scale.relevant_from})",
        "guidelines": f"version {found.guidelines_version}" if found.guidelines_version else "none",
        "documents": found.documents,
        "duplicate clusters": found.duplicate_clusters,
        "topics": found.topics,
        "runs": len(found.runs),
        "contributing runs": found.contributing,
        "groups": found.groups,
        "withdrawn runs": found.withdrawn,
        "pools": len(found.pools),
        "pooled documents": found.pooled,
        "judged documents": found.judged,
        "pooled, not judged": found.unjudged,
        "assessors": found.assessors,
        "releases": found.releases,
    }
    if found.older:
        facts["judged under an older scale or guidelines"] = found.older
    if found.packet_for:
        facts["packet for"] = found.packet_for
    console.put_table(facts_table(facts, caption=str(collection)), format)
    if found.older:
        again = console.hint("judge --rejudge", collection)
        console.say(f"note: {counted(found.older, 'grade')} from before scale or guidelines changed: {again}")
    if found.refused_topics:
        console.say(f"note: refused and not judged: {', '.join(found.refused_topics)}")
    if found.unpooled:
        runs = counted(len(found.unpooled), "contributing run")
        extend = console.hint("pool extend", collection)
        console.say(f"note: {runs} in no pool ({shortened(', '.join(found.unpooled), 80)}): {extend} takes them in")
    for trouble in found.troubles:
        console.say(f"note: {trouble}")
    what, command = found.next_step
    console.say(f"next: {what}: {console.hint(command, collection)}")


def check(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Prove the file sound, or say what is wrong with it."""
    from cranfield.report.table import table_of
    from cranfield.workflows.check import check_collection, known_troubles

    with console.collection(collection) as store, console.progress() as progress:
        findings, troubles = check_collection(store, progress=progress), known_troubles(store)
    rows = [(one.what, one.checked, "WRONG" if one.wrong else "sound", "; ".join(one.wrong)) for one in findings]
    width = 3 if format == "table" else 4
    shown = [row[:width] for row in rows]
    console.put_table(
        table_of(["what", "checked", "result", "wrong"][:width], shown, caption=str(collection)), format
    )
    for trouble in troubles:
        console.say(f"note: {trouble}")
    wrong = [text for finding in findings for text in finding.wrong]
    for text in wrong:
        console.say(f"wrong: {text}")
    if wrong:
        console.say("cranfield: the file is not sound; restore the last good backup, or send us the lines above")
        raise typer.Exit(1)


def backup(
    file: Annotated[Path, typer.Argument(help="The copy to make; an existing file is never overwritten.")],
    collection: Collection = COLLECTION,
) -> None:
    """Copy a live collection correctly."""
    from cranfield.workflows.opening import back_up

    with console.collection(collection) as store:
        back_up(store, file)
    console.say(f"copied {collection} to {file} ({file.stat().st_size:,} bytes)")


def demo(
    folder: Annotated[Path, typer.Argument(help="A folder to make the demonstration in.")] = Path("cranfield-demo"),
) -> None:
    """Go the whole way on the shipped collection."""
    from cranfield.cli.demonstration import run_demo

    run_demo(folder)
