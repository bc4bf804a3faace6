"""`cranfield demo`: the whole way on the shipped collection, by the commands a user would type."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import typer

from cranfield.cli import console
from cranfield.errors import UsageError


def run_demo(folder: Path) -> None:
    """Make a collection in a new folder from the shipped files; every line is shown before it is run."""
    from cranfield.steps.shipped import shipped_collection

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: give the demonstration a folder of its own")
    folder.mkdir(parents=True, exist_ok=True)
    kitchen = shipped_collection("kitchen")
    database = folder / "collection.db"
    for sentence, words in _story(kitchen, database, folder):
        console.say()
        console.say(f"# {sentence}")
        _run([*words, "-C", str(database)])
    console.say()
    console.say(f"The collection is {database}. Go on with it, for example: {console.hint('runs list', database)}")


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
        ("The file can prove that it is sound.", ["check"]),
        ("And it knows what comes next.", ["status"]),
    ]


def _run(words: Sequence[str]) -> None:
    """Run one command in this process, as if it had been typed."""
    from cranfield.cli.main import app

    console.say(f"$ cranfield {shlex.join(words)}")
    if status := app(args=list(words), prog_name="cranfield", standalone_mode=False):
        raise typer.Exit(status)
