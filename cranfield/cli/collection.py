"""Commands about the collection file as a whole."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

from cranfield.base.errors import UsageError
from cranfield.base.text import counted, shortened
from cranfield.cli import console
from cranfield.cli.options import COLLECTION, Collection, Format


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
    from cranfield.workflows.collection import init_collection, parse_scale

    chosen = parse_scale(scale, relevant_from=relevant_from)
    called = name or collection.absolute().parent.name
    init_collection(collection, name=called, scale=chosen, guidelines=guidelines, licence=licence)
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"made {collection}; scale: {steps}; relevant from {chosen.relevant_from}")
    console.say(f"next: add documents with {console.hint('corpus add FILE…', collection)}")


def status(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Say where the collection stands, and the next thing to do."""
    from cranfield.base.tables import facts_table
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
    from cranfield.base.tables import table_of
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
    from cranfield.workflows.collection import back_up

    with console.collection(collection) as store:
        back_up(store, file)
    console.say(f"copied {collection} to {file} ({file.stat().st_size:,} bytes)")


def demo(
    folder: Annotated[Path, typer.Argument(help="A folder to make the demonstration in.")] = Path("cranfield-demo"),
) -> None:
    """Go the whole way on the shipped collection."""

    run_demo(folder)


# `cranfield demo`: the whole way on the shipped collection, by the commands a user would type.


def run_demo(folder: Path) -> None:
    """Make a collection in a new folder from the shipped files; every line is shown before it is run."""
    from cranfield.workflows.collection import shipped_collection

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: give the demonstration a folder of its own")
    folder.mkdir(parents=True, exist_ok=True)
    kitchen = shipped_collection("kitchen")
    database = folder / "collection.db"
    for sentence, words in _story(kitchen, database, folder):
        if words[:2] == ["judge", "import"] and "--layer" not in words:
            _offer_to_judge(database)
        console.say()
        console.say(f"# {sentence}")
        _run([*words, "-C", str(database)])
    console.say()
    console.say(f"The report is {folder / 'report.html'}: open it in a browser.")
    console.say(f"The collection is {database}. Go on with it, for example: {console.hint('runs list', database)}")
    if which("cranfield") is None and sys.prefix != sys.base_prefix:
        activate = Path(sys.prefix) / "bin" / "activate"
        here = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        console.say(f"This shell does not know the command yet; make it known with: . {here}")


def _offer_to_judge(database: Path) -> None:
    """Ask a person at the terminal whether he wants to sit in the assessor's chair; nobody is asked in a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    console.say()
    if typer.confirm("Do you want to judge a few documents yourself? (q ends the sitting)", err=True):
        _run(["judge", "--assessor", "you", "--topic", "T01", "-C", str(database)])


def _story(kitchen: Path, database: Path, folder: Path) -> list[tuple[str, list[str]]]:
    return [
        (
            "A collection is one file; it begins with a scale and guidelines.",
            [
                "init",
                "kitchen",
                "--scale",
                f"{kitchen / 'scale.toml'}",
                "--guidelines",
                f"{kitchen / 'guidelines.md'}",
            ],
        ),
        (
            "The documents: 240 short texts about life in the kitchen.",
            ["corpus", "add", f"{kitchen / 'documents.jsonl'}"],
        ),
        ("The topics: fifteen questions, some easy, some hard.", ["corpus", "topics", f"{kitchen / 'topics.trec'}"]),
        ("The documents can be searched at once.", ["corpus", "search", "burnt pan", "--count", "3"]),
        ("Some documents are there twice, or nearly so.", ["corpus", "duplicates", "--threshold", "0.5"]),
        (
            "No search engine at hand? Baseline systems make runs.",
            [
                "runs",
                "make",
                "fts5",
                "--depth",
                "20",
                "--tag",
                "my-first-run",
                "--output",
                f"{folder / 'my-first-run.run'}",
            ],
        ),
        (
            "Runs are checked before they enter; all problems are listed at once.",
            ["runs", "check", f"{kitchen / 'runs.toml'}", f"{folder / 'my-first-run.run'}"],
        ),
        (
            "Eleven runs of eight groups are submitted; two groups stay out of the pool.",
            ["runs", "submit", f"{kitchen / 'runs.toml'}"],
        ),
        ("Here they are.", ["runs", "list"]),
        (
            "The pool: the first five documents of each contributing run are worth judging.",
            ["pool", "build", "depth 5"],
        ),
        ("Who brought what? One group can be the only one to have a document.", ["pool", "show"]),
        ("Why is this document in the pool of topic T01?", ["pool", "explain", "T01", "K146"]),
        ("The pool can be built again, and is the same to the last byte.", ["pool", "verify"]),
        *_judging(kitchen, folder),
        ("The file can prove that it is sound.", ["check"]),
        ("And it knows what comes next.", ["status"]),
    ]


def _judging(kitchen: Path, folder: Path) -> list[tuple[str, list[str]]]:
    """From judgments to a verdict that was right: the story of an outsider that the pool wrongs."""
    measures = ["-m", "P@5", "-m", "nDCG@5", "-m", "AP"]
    return [
        (
            "Two people have read the pooled documents; their recorded judgments are played in.",
            ["judge", "import", f"{kitchen / 'judgments.csv'}"],
        ),
        (
            "The first reader's word counts where they differ.",
            ["judge", "assign", "reader-1", "reader-2", "--together", "--format", "csv"],
        ),
        ("How far do they agree?", ["judge", "agreement"]),
        ("The qrels are frozen under a name and a hash.", ["qrels", "release", "first"]),
        (
            "And written as trec_eval reads them.",
            ["qrels", "export", "first", "--output", f"{folder / 'qrels.txt'}"],
        ),
        (
            "Scores, each with a verdict: the pool knows little of what mortar-dense found, and says so.",
            ["evaluate", *measures],
        ),
        (
            "Which differences are more than chance, and which could turn once everything is read?",
            ["compare", "stove-rocchio", "larder-bm25", "mortar-dense", "-m", "nDCG@5"],
        ),
        (
            "Both outsiders, told in full: one can be trusted, the other cannot.",
            ["reuse", "mortar-dense", "whisk-bm25", "-m", "P@5", "--describe"],
        ),
        (
            "Is mortar-dense worse than ladle-rm3? These documents settle it, the heaviest first.",
            ["settle", "mortar-dense", "ladle-rm3", "-m", "P@5", "--all", "--queue", "settle", "--into", "after"],
        ),
        (
            "They were judged later, with all of the outsiders' first ten, into a layer of its own called after.",
            ["judge", "import", f"{kitchen / 'after.csv'}", "--layer", "after"],
        ),
        (
            "With them the outsider that stood behind three others leads the field.",
            ["evaluate", *measures, "--layer", "main", "--layer", "after"],
        ),
        (
            "Everything on one page, to read, print and publish.",
            ["report", "-m", "P@5", "-m", "nDCG@5", "-m", "AP", "-o", f"{folder / 'report.html'}"],
        ),
    ]


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    from cranfield.cli.main import program

    console.say(f"$ cranfield {shlex.join(words)}")
    if status := program(words[0])(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(status)
