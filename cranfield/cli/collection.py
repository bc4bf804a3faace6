"""Commands about the collection file as a whole."""

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import which
from typing import Annotated

import typer

from cranfield.base.errors import UsageError
from cranfield.base.registry import deferred
from cranfield.cli import console
from cranfield.cli.console import COLLECTION, Collection, Format

with deferred:
    from cranfield.cli import main
    from cranfield.workflows import check as check_workflow
    from cranfield.workflows import collection as collections
    from cranfield.workflows import status as status_workflow


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    for command in (demo, init, status, check, backup):
        app.command()(command)


_STORY = """
# A collection is one file; it begins with a scale and guidelines.
init kitchen --scale KITCHEN/scale.toml --guidelines KITCHEN/guidelines.md
# The documents: 240 short texts about life in the kitchen.
corpus add KITCHEN/documents.jsonl
# The topics: fifteen questions, some easy, some hard.
corpus topics KITCHEN/topics.trec
# The documents can be searched at once.
corpus search "burnt pan" --count 3
# Some documents are there twice, or nearly so.
corpus duplicates --threshold 0.5
# No search engine at hand? Baseline systems make runs.
runs make fts5 --depth 20 --tag my-first-run --output FOLDER/my-first-run.run
# Runs are checked before they enter; all problems are listed at once.
runs check KITCHEN/runs.toml FOLDER/my-first-run.run
# Eleven runs of eight groups are submitted; two groups stay out of the pool.
runs submit KITCHEN/runs.toml
# Here they are.
runs list
# The pool: the first five documents of each contributing run are worth judging.
pool build "depth 5"
# Who brought what? One group can be the only one to have a document.
pool show
# Why is this document in the pool of topic T01?
pool explain T01 K146
# The pool can be built again, and is the same to the last byte.
pool verify
# Two people have read the pooled documents; their recorded judgments are played in.
judge import KITCHEN/judgments.csv
# The first reader's word counts where they differ.
judge assign reader-1 reader-2 --together --format csv
# How far do they agree?
judge agreement
# The qrels are frozen under a name and a hash.
qrels release first
# And written as trec_eval reads them.
qrels export first --output FOLDER/qrels.txt
# Scores, each with a verdict: the pool knows little of what mortar-dense found, and says so.
evaluate -m P@5 -m nDCG@5 -m AP
# Which differences are more than chance, and which could turn once everything is read?
compare stove-rocchio larder-bm25 mortar-dense -m nDCG@5
# Both outsiders, told in full: one can be trusted, the other cannot.
reuse mortar-dense whisk-bm25 -m P@5 --describe
# Is mortar-dense worse than ladle-rm3? These documents settle it, the heaviest first.
settle mortar-dense ladle-rm3 -m P@5 --all --queue settle --into after
# They were judged later, with all of the outsiders' first ten, into a layer of its own called after.
judge import KITCHEN/after.csv --layer after
# With them the outsider that stood behind three others leads the field.
evaluate -m P@5 -m nDCG@5 -m AP --layer main --layer after
# Everything on one page, to read, print and publish.
report -m P@5 -m nDCG@5 -m AP -o FOLDER/report.html
# The file can prove that it is sound.
check
# And it knows what comes next.
status
"""
"""The whole way on the shipped collection, by the commands a user would type, each after a sentence about it."""


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
    chosen = collections.parse_scale(scale, relevant_from=relevant_from)
    called = name or collection.absolute().parent.name
    collections.init_collection(collection, name=called, scale=chosen, guidelines=guidelines, licence=licence)
    steps = ", ".join(f"{step.grade} {step.label}" for step in chosen.grades)
    console.say(f"made {collection}; scale: {steps}; relevant from {chosen.relevant_from}")
    console.say(f"next: add documents with {console.hint('corpus add FILE…', collection)}")


def status(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Say where the collection stands, and the next thing to do."""
    with console.collection(collection) as store:
        standing = status_workflow.status(store, hint=partial(console.hint, collection=collection))
    console.show(standing, format)


def check(collection: Collection = COLLECTION, format: Format = "table") -> None:
    """Prove the file sound, or say what is wrong with it."""
    with console.collection(collection) as store, console.progress() as progress:
        soundness = check_workflow.check(store, progress=progress)
    table = soundness.table()
    # In the terminal, what is wrong is said below the table.
    console.put_table(table.select([0, 1, 2]) if format == "table" else table, format)
    for remark in soundness.remarks:
        console.say(remark)
    if soundness.wrong:
        raise typer.Exit(1)


def backup(
    file: Annotated[Path, typer.Argument(help="The copy to make; an existing file is never overwritten.")],
    collection: Collection = COLLECTION,
) -> None:
    """Copy a live collection correctly."""
    with console.collection(collection) as store:
        collections.back_up(store, file)
    console.say(f"copied {collection} to {file} ({file.stat().st_size:,} bytes)")


def demo(
    folder: Annotated[Path, typer.Argument(help="A folder to make the demonstration in.")] = Path("cranfield-demo"),
) -> None:
    """Go the whole way on the shipped collection."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: give the demonstration a folder of its own")
    folder.mkdir(parents=True, exist_ok=True)
    database = folder / "collection.db"
    places = {"KITCHEN": collections.shipped_collection("kitchen"), "FOLDER": folder}
    for sentence, command in zip(*[iter(_STORY.strip().splitlines())] * 2, strict=True):
        # Places stand at the beginning of a word, and are put in after it was split: their names may have blanks.
        parts = [word.partition("/") for word in shlex.split(command)]
        words = [str(places[place] / name) if place in places else place for place, _, name in parts]
        at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if words[:2] == ["judge", "import"] and "--layer" not in words and at_terminal:
            console.say()
            if typer.confirm("Do you want to judge a few documents yourself? (q ends the sitting)", err=True):
                _run(["judge", "--assessor", "you", "--topic", "T01", "-C", str(database)])
        console.say()
        console.say(sentence)
        _run([*words, "-C", str(database)])
    console.say()
    console.say(f"The report is {folder / 'report.html'}: open it in a browser.")
    console.say(f"The collection is {database}. Go on with it, for example: {console.hint('runs list', database)}")
    if which("cranfield") is None and sys.prefix != sys.base_prefix:
        activate = Path(sys.prefix) / "bin" / "activate"
        here = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        console.say(f"This shell does not know the command yet; make it known with: . {here}")


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    console.say(f"$ cranfield {shlex.join(words)}")
    if ended := main.program(words[0])(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(ended)
